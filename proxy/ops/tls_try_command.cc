// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "base/units.h"
#include "filter/cli/terminal.h"
#include "proxy/net/origin_trial.h"
#include "proxy/ops/commands.h"
#include "proxy/ops/host_argument.h"
#include "proxy/ops/loading.h"
#include "proxy/tls/certificates.h"

namespace bloomwall::proxy {
namespace {

using filter::printable;

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
