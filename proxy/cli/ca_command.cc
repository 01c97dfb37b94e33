// bloomwall ca init, show, check, export, next, activate.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <ctime>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/terminal.h"
#include "base/units.h"
#include "proxy/cli/ca_files.h"
#include "proxy/cli/commands.h"
#include "proxy/reload/loading.h"
#include "proxy/tls/authority_faults.h"
#include "proxy/tls/authority_maker.h"

namespace bloomwall::proxy {
namespace {

using nlohmann::ordered_json;

constexpr std::int64_t kDaySeconds = 86'400;

constexpr const char* kNotice =
    "\nRead this before you go on:\n"
    "  With this CA the proxy can read what the devices that trust it send and receive over HTTPS: addresses, forms,\n"
    "  passwords, contents; of which hosts, tls_inspection.mode says. Nothing is read while that is off (the "
    "default).\n"
    "  Who has the key can pretend to be any site towards these devices. It belongs to this machine alone.\n"
    "  Users must be told: that it happens, for which hosts, what is logged and for how long, and whom to ask. In the\n"
    "  European Union a works council may have to agree, and a data protection impact assessment may be needed.\n"
    "  What users lose: client certificates on decrypted hosts, certificate transparency, post-quantum key exchange.\n"
    "  Begin with a few devices and mode blocked; then urls; all only where that is needed. Banks and health belong\n"
    "  into the never lists.\n"
    "Clients install ca.crt: `bloomwall ca export`, `bloomwall ca show` for the fingerprint.\n";

int refuse(int status, const std::string& why, const Streams& io) {
  print_lines(io.err, {why});
  return status;
}

struct Setting {
  AuthorityFiles files;
  AuthorityTerms terms;
};

// The files that the command line names, else those of the configuration. What went wrong is printed.
tl::expected<Setting, int> setting_of(const CaCommand& command, const Streams& io) {
  Setting out{.files = {}, .terms = {.now = std::time(nullptr)}};
  if (command.certificate.empty()) {
    const auto settings = load_settings(command.config);
    if (!settings) {
      print_lines(io.err, settings.error().lines);
      return tl::unexpected(settings.error().status);
    }
    out.files = authority_files(*settings);
    out.terms.leaf_days = static_cast<int>(settings->tls_inspection.leaf.days);
  } else {
    out.files.certificate = command.certificate;
    out.files.key = key_beside(command.certificate);
  }
  if (!command.key.empty()) out.files.key = command.key;
  if (!command.passphrase_file.empty()) out.files.passphrase_file = command.passphrase_file;
  std::error_code ignored;
  const auto next = with_word(out.files.certificate, "next");
  if (out.files.next.empty() && std::filesystem::exists(next, ignored)) out.files.next = next;
  return out;
}

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "localhost";
}

// The text of a small file. Errors: one line.
tl::expected<std::string, std::string> small_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file.is_open() || file.bad()) return tl::unexpected(path.string() + ": cannot read it");
  return text;
}

tl::expected<MadeAuthority, std::string> made_as_asked(const CaCommand& command, std::int64_t now) {
  AuthorityRequest request{.organisation = command.name,
                           .host = host_name(),
                           .days = command.days,
                           .with_intermediate = command.with_intermediate,
                           .now = now};
  if (!command.constraints.empty()) {
    const auto text = small_text(command.constraints);
    if (!text) return tl::unexpected(text.error());
    auto names = parse_name_limits(*text);
    if (!names) return tl::unexpected(fmt::format("{}: {}", command.constraints.string(), names.error()));
    request.names = *std::move(names);
  }
  Secret passphrase;
  if (!command.passphrase_file.empty()) {
    auto read = read_passphrase(command.passphrase_file);
    if (!read) return tl::unexpected(read.error());
    passphrase = *std::move(read);
    request.passphrase = passphrase.text();
  }
  return make_authority(request);
}

std::string fingerprint_line(const std::filesystem::path& certificate) {
  const auto read = read_authority_file(certificate);
  if (!read) return read.error() + "\n";
  const X509* const anchor = read->back().get();
  return fmt::format("{}\nSHA-256 {}\n", subject_text(anchor), fingerprint_text(fingerprint_of(anchor)));
}

void print_written(const WrittenAuthority& written, const Streams& io) {
  for (const std::string& file : written.files) io.out << printable(file) << '\n';
  for (const std::string& warning : written.warnings) print_lines(io.err, {"warning: " + warning});
}

// Whether the command says itself where to write, so that no configuration is needed.
tl::expected<Setting, int> target_of(const CaCommand& command, const Streams& io) {
  if (command.folder.empty()) return setting_of(command, io);
  CaCommand named = command;
  named.certificate = command.folder / "ca.crt";
  return setting_of(named, io);
}

struct Facts {
  std::string role, subject, fingerprint, key, begins, ends;
  std::int64_t days_left = 0;
};

Facts facts_of(const PublishedAuthority& one, std::int64_t now) {
  const X509* const certificate = one.certificate.get();
  const std::int64_t begin = unix_time_of(X509_get0_notBefore(certificate));
  const std::int64_t end = unix_time_of(X509_get0_notAfter(certificate));
  return {.role = to_string(one.role),
          .subject = subject_text(certificate),
          .fingerprint = fingerprint_text(fingerprint_of(certificate)),
          .key = key_text(certificate),
          .begins = format_time(static_cast<std::uint64_t>(std::max<std::int64_t>(begin, 0))),
          .ends = format_time(static_cast<std::uint64_t>(std::max<std::int64_t>(end, 0))),
          .days_left = (end - now) / kDaySeconds};
}

std::string text_of_facts(const Facts& facts) {
  return fmt::format("{}: {}\n  SHA-256  {}\n  key      {}\n  valid    {} to {}, {} days left\n", facts.role,
                     printable(facts.subject), facts.fingerprint, facts.key, facts.begins, facts.ends, facts.days_left);
}

// Certificates that are published, with what went wrong printed.
tl::expected<std::vector<PublishedAuthority>, int> published(const Setting& setting, const Streams& io) {
  auto found = published_authorities(setting.files, setting.terms);
  if (found) return *std::move(found);
  return tl::unexpected(refuse(kExitConfiguration, found.error(), io));
}

}  // namespace

int run_ca_init(const CaCommand& command, const Streams& io) {
  const auto setting = target_of(command, io);
  if (!setting) return setting.error();
  const auto made = made_as_asked(command, setting->terms.now);
  if (!made) return refuse(kExitError, made.error(), io);
  const AuthorityFiles& files = setting->files;
  const auto written = write_authority(*made, files.certificate, files.key, command.force);
  if (!written) {
    std::error_code ignored;
    const bool is_there =
        std::filesystem::exists(files.certificate, ignored) || std::filesystem::exists(files.key, ignored);
    return refuse(is_there && !command.force ? kExitRefused : kExitError, written.error(), io);
  }
  io.out << fingerprint_line(files.certificate);
  print_written(*written, io);
  if (command.with_intermediate) {
    io.out << fmt::format("Take {} to a safe place offline: it is not needed here.\n",
                          with_word(files.key, "root").string());
  }
  io.out << kNotice;
  return kExitDone;
}

int run_ca_show(const CaCommand& command, const Streams& io) {
  const auto setting = setting_of(command, io);
  if (!setting) return setting.error();
  const auto found = published(*setting, io);
  if (!found) return found.error();
  ordered_json json = ordered_json::array();
  for (const PublishedAuthority& one : *found) {
    const Facts facts = facts_of(one, setting->terms.now);
    if (!command.json) {
      io.out << text_of_facts(facts);
      continue;
    }
    json.push_back({{"role", facts.role},
                    {"subject", facts.subject},
                    {"sha256", facts.fingerprint},
                    {"key", facts.key},
                    {"not_before", facts.begins},
                    {"not_after", facts.ends},
                    {"days_left", facts.days_left}});
  }
  if (command.json) print_json(io.out, json);
  return kExitDone;
}

int run_ca_check(const CaCommand& command, const Streams& io) {
  const auto setting = setting_of(command, io);
  if (!setting) return setting.error();
  const auto& [files, terms] = *setting;
  const auto authority = CertificateAuthority::load(files, terms);
  if (!authority) return refuse(kExitConfiguration, authority.error(), io);
  const AuthorityReview review = review_authority(*authority, files, terms);
  if (!review.errors.empty()) return refuse(kExitConfiguration, review.errors.front(), io);
  const auto found = published(*setting, io);
  if (!found) return found.error();
  for (const std::string& warning : review.warnings) print_lines(io.err, {"warning: " + warning});
  if (const auto warning = expiry_warning(**authority, terms.now)) {
    print_lines(io.err, {"warning: " + warning->text});
  }
  for (const PublishedAuthority& one : *found) io.out << text_of_facts(facts_of(one, terms.now));
  io.out << "ok: strict clients accept what it signs\n";
  return kExitDone;
}

int run_ca_export(const CaCommand& command, const Streams& io) {
  const auto setting = setting_of(command, io);
  if (!setting) return setting.error();
  const auto found = published(*setting, io);
  if (!found) return found.error();
  if (command.as_der) {
    io.out << der_of(found->front().certificate.get());
  } else if (command.as_profile) {
    io.out << mobile_profile(*found);
  } else if (command.as_bundle) {
    const auto bundle = bundle_with_system_roots(*found, setting->terms.roots);
    if (!bundle) return refuse(kExitError, bundle.error(), io);
    io.out << *bundle;
  } else {
    io.out << published_pem(*found);
  }
  return kExitDone;
}

int run_ca_next(const CaCommand& command, const Streams& io) {
  const auto setting = setting_of(command, io);
  if (!setting) return setting.error();
  AuthorityFiles files = setting->files;
  std::error_code ignored;
  if (!std::filesystem::exists(files.certificate, ignored)) {
    return refuse(kExitConfiguration,
                  fmt::format("{}: there is no CA yet; `bloomwall ca init` makes one", files.certificate.string()), io);
  }
  const auto next = files.next.empty() ? with_word(files.certificate, "next") : files.next;
  if (std::filesystem::exists(next, ignored)) {
    return refuse(kExitRefused,
                  fmt::format("{}: is there already; `bloomwall ca activate` puts it to use", next.string()), io);
  }
  CaCommand asked = command;
  if (asked.passphrase_file.empty()) asked.passphrase_file = files.passphrase_file;
  const auto made = made_as_asked(asked, setting->terms.now);
  if (!made) return refuse(kExitError, made.error(), io);
  const auto written = write_authority(*made, next, key_beside(next), false);
  if (!written) return refuse(kExitError, written.error(), io);
  io.out << fingerprint_line(next);
  print_written(*written, io);
  io.out << fmt::format(
      "Set tls_inspection.ca.next: {}, reload, and let clients install it beside the one in use. When they have:\n"
      "`bloomwall ca activate`, and reload.\n",
      next.string());
  return kExitDone;
}

int run_ca_activate(const CaCommand& command, const Streams& io) {
  const auto setting = setting_of(command, io);
  if (!setting) return setting.error();
  const auto done = activate_next(setting->files, setting->terms);
  if (!done) return refuse(kExitConfiguration, done.error(), io);
  io.out << fingerprint_line(setting->files.certificate);
  print_written(*done, io);
  io.out << "Remove tls_inspection.ca.next from the configuration if it is set, and reload.\n";
  return kExitDone;
}

}  // namespace bloomwall::proxy
