// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/encoding.h"
#include "base/terminal.h"
#include "base/units.h"
#include "proxy/api/http_client.h"
#include "proxy/cli/commands.h"
#include "proxy/cli/host_argument.h"
#include "proxy/explain/client_view.h"
#include "proxy/explain/policy_of_files.h"
#include "proxy/explain/tls_explanation.h"
#include "proxy/reload/loading.h"
#include "proxy/tls/certificates.h"
#include "proxy/tunnel/origin_trial.h"

namespace bloomwall::proxy {
namespace {

class HostAnswers {
 public:
  HostAnswers(PolicyPtr all, ClientView view, TlsExplainer explainer, bool as_json, const Streams& io)
      : all_(std::move(all)),
        view_(std::move(view)),
        explainer_(std::move(explainer)),
        as_json_(as_json),
        out_(io.out),
        err_(io.err) {}

  // False: there is no answer, because a filter was found damaged.
  bool print(std::string_view raw, bool too_long) {
    if (too_long) return invalid(raw, "over 64 KiB");
    const auto host = hosts_.read(raw);
    if (!host) return invalid(raw, host.error());
    const PolicyPtr policy = view_.policy_for(host->host);
    const TlsAnswer answer = explainer_.answer(host->host, host->port, {*policy, view_.asker()}, view_.client());
    if (print_damage(*all_, err_)) return false;
    print(answer.word(), raw, printable(answer.source));
    return true;
  }
  bool all_hosts() const { return all_hosts_; }  // each line so far was one

 private:
  bool invalid(std::string_view raw, const char* why) {
    print("invalid", raw, why);
    all_hosts_ = false;
    return true;
  }
  void print(std::string_view word, std::string_view raw, const std::string& why) {
    if (as_json_) return print_json(out_, {{"action", word}, {"host", printable(raw)}, {"why", why}});
    out_ << word << '\t' << printable(raw) << '\t' << why << '\n';
  }

  PolicyPtr all_;
  ClientView view_;
  TlsExplainer explainer_;
  bool as_json_;
  std::ostream& out_;
  std::ostream& err_;
  bool all_hosts_ = true;
  HostArgumentReader hosts_;
};

}  // namespace

int run_tls(const TlsCommand& command, const Streams& io) {
  const auto settings = load_settings(command.config);
  if (!settings) {
    print_lines(io.err, settings.error().lines);
    return settings.error().status;
  }
  auto explainer = TlsExplainer::compile(*settings);
  if (!explainer) {
    print_lines(io.err, explainer.error());
    return kExitConfiguration;
  }
  ExportedState made_by_people;
  auto policy = load_policy_of_files(*settings, io.err, &made_by_people);
  if (!policy) {
    print_lines(io.err, policy.error().lines);
    return policy.error().status;
  }
  const PolicyPtr all = *policy;
  auto view = ClientView::make(*settings, *std::move(policy), made_by_people, command.asker);
  if (!view) {
    print_lines(io.err, {view.error()});
    return kExitError;
  }
  HostAnswers answers(all, *std::move(view), *std::move(explainer), command.json, io);
  if (command.hosts.empty() || command.hosts == std::vector<std::string>{"-"}) {
    say_reading("bloomwall", "a host", io);
    LineSource lines(io.in, io.out);
    while (lines.next()) {
      if (!answers.print(lines.line(), lines.too_long())) return kExitError;
    }
  } else {
    for (const std::string& host : command.hosts) {
      if (!answers.print(host, host.size() > kMaxQueryLine)) return kExitError;
    }
  }
  return answers.all_hosts() ? kExitDone : kExitRefused;
}

namespace {

using nlohmann::ordered_json;

std::string text_at(const ordered_json& json, const char* name) {
  const auto at = json.find(name);
  return at != json.end() && at->is_string() ? printable(at->get_ref<const std::string&>()) : std::string("-");
}

// "it pins its keys", in words that say what to do about it.
std::string words_for(const std::string& how) {
  if (how == "pins") return "pins: it accepts our certificates for other hosts";
  if (how == "no_ca") return "no_ca: it lacks the authority";
  return how;
}

}  // namespace

int run_tls_refused(const TlsRefusedCommand& command, const Streams& io) {
  const auto answer = ask_running(command.config, {.method = "GET", .path = "/api/v1/tls/refused"}, io);
  if (!answer) return answer.error();
  if (command.json) {
    print_json(io.out, *answer);
    return kExitDone;
  }
  for (const ordered_json& item : answer->value("items", ordered_json::array())) {
    io.out << fmt::format("{}\t{}\t{}\t{}\t{}\n", text_at(item, "client"), text_at(item, "host"),
                          text_at(item, "since"), words_for(text_at(item, "how")), text_at(item, "signal"));
  }
  return kExitDone;
}

namespace {

constexpr std::size_t kMostNames = 10, kMostNamesCounted = 100'000;
constexpr int kMostCertificates = 16;

std::string day_text(const ASN1_TIME* time) {
  return format_time(static_cast<std::uint64_t>(std::max<std::int64_t>(unix_time_of(time), 0)));
}

void print_certificate(std::ostream& out, int place, const X509* certificate) {
  const std::string subject = subject_text(certificate);
  out << fmt::format("  {}  {}\n", place, subject.empty() ? "(no subject)" : printable(subject));
  const auto names = alternative_names(certificate, kMostNamesCounted);
  std::string shown;
  for (std::size_t i = 0; i < std::min(names.size(), kMostNames); ++i) shown += " " + printable(names[i]);
  if (names.size() > kMostNames) shown += fmt::format(" and {} more", names.size() - kMostNames);
  if (!shown.empty()) out << "     names  " << shown << '\n';
  out << fmt::format("     valid   {} to {}\n     key     {}, {}\n     SPKI    {}\n",
                     day_text(X509_get0_notBefore(certificate)), day_text(X509_get0_notAfter(certificate)),
                     key_text(certificate), signature_text(certificate), to_hex(key_hash(certificate)));
}

void print_chain(std::ostream& out, const TlsSession& tls) {
  const STACK_OF(X509)* const chain = tls.peer_chain();
  const int count = chain == nullptr ? 0 : sk_X509_num(chain);
  out << (count == 0 ? "certificates: none came\n" : "certificates, as the origin sent them:\n");
  for (int i = 0; i < std::min(count, kMostCertificates); ++i) print_certificate(out, i, sk_X509_value(chain, i));
  if (count > kMostCertificates) out << fmt::format("  and {} more\n", count - kMostCertificates);
}

void print_tls(std::ostream& out, const TlsSession& tls) {
  if (tls.is_established()) {
    out << fmt::format("TLS:      {}, {}, ALPN {}\n", tls.version(), tls.cipher(),
                       tls.alpn().empty() ? "none" : printable(tls.alpn()));
  }
  if (tls.alert_received() != 0) {
    out << fmt::format("alert:    {} {}\n", tls.alert_received(), SSL_alert_desc_string_long(tls.alert_received()));
  }
  if (tls.client_certificate_asked()) {
    out << "client certificate: asked for; none is sent, and where no URLs are listed on the host it is tunnelled\n";
  }
  if (tls.by_exception()) out << "accepted by tls_inspection.verify.trust_exceptions alone\n";
  if (tls.without_scts()) out << "no embedded SCTs: browsers that reach it themselves may refuse it\n";
}

// "no: origin_certificate: expired (certificate has expired)".
std::string failure_text(const HttpError& error, const TlsSession* tls) {
  std::string text = fmt::format("{}: {}", to_string(error.kind), error.detail);
  if (tls != nullptr && !tls->why().empty()) text += fmt::format(" ({})", printable(tls->why()));
  return text;
}

// Whether the origin itself is what fails, as opposed to the way to it.
bool is_origins(ErrorKind kind) {
  return kind == ErrorKind::origin_certificate || kind == ErrorKind::origin_tls || kind == ErrorKind::origin_alert ||
         kind == ErrorKind::origin_tls_timeout;
}

}  // namespace

int run_tls_try(const TlsTryCommand& command, const Streams& io) {
  const auto fail = [&](const std::vector<std::string>& lines, int status) {
    print_lines(io.err, lines);
    return status;
  };
  const auto settings = load_settings(command.config);
  if (!settings) return fail(settings.error().lines, settings.error().status);
  HostArgumentReader hosts;
  const auto host = hosts.read(command.host);
  if (!host) return fail({fmt::format("{}: {}", command.host, host.error())}, kExitError);
  auto trial = OriginTrial::make(*settings);
  if (!trial) return fail(trial.error(), kExitConfiguration);
  const auto error = (*trial)->run(host->host, host->port);
  const TlsSession* const tls = (*trial)->tls();
  io.out << fmt::format("origin:   {}:{}\n", host->host, host->port);
  if (!(*trial)->peer().empty()) {
    io.out << fmt::format("reached:  {}{}, {} ms to connect, {} ms for TLS\n",
                          (*trial)->went_through_parent() ? "through the parent proxy " : "", (*trial)->peer(),
                          (*trial)->connected_after().count(),
                          ((*trial)->ended_after() - (*trial)->connected_after()).count());
  }
  io.out << (error ? "verified: no, " + failure_text(*error, tls) : "verified: yes") << '\n';
  if (tls != nullptr) {
    print_tls(io.out, *tls);
    print_chain(io.out, *tls);
  }
  if (!error) return kExitDone;
  return is_origins(error->kind) ? kExitRefused : kExitError;
}

}  // namespace bloomwall::proxy
