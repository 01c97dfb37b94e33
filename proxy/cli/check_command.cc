// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "base/encoding.h"
#include "base/figures.h"
#include "base/terminal.h"
#include "base/time_zone.h"
#include "base/units.h"
#include "conf/config.h"
#include "conf/config_files.h"
#include "filter/cli/header_json.h"
#include "filter/cli/header_text.h"
#include "filter/file/prediction.h"
#include "filter/policy/list_exceptions.h"
#include "proxy/auth/password_load.h"
#include "proxy/check/port_holders.h"
#include "proxy/check/readable.h"
#include "proxy/check/settings_check.h"
#include "proxy/cli/ca_files.h"
#include "proxy/cli/commands.h"
#include "proxy/cli/configuration_review.h"
#include "proxy/cli/lasting_text.h"
#include "proxy/cli/restart_notice.h"
#include "proxy/decision/tls_inspection.h"
#include "proxy/explain/allowed_urls.h"
#include "proxy/explain/client_view.h"
#include "proxy/explain/name_review.h"
#include "proxy/explain/tls_explanation.h"
#include "proxy/reload/descriptor_limit.h"
#include "proxy/reload/last_good.h"
#include "proxy/reload/loading.h"
#include "proxy/tls/certificates.h"

namespace bloomwall::proxy {
namespace {

using nlohmann::ordered_json;

ordered_json filter_json(const filter::Policy::FilterState& state) {
  const filter::Header& header = state.file->header();
  const filter::Policy::RequestError error = state.predicted_error();
  const filter::Policy::RequestError p99 = state.p99_error();
  return {{"name", state.spec.name},
          {"file", state.spec.file.string()},
          {"action", to_string(state.spec.action)},
          {"entries", entries_of(state)},
          {"delta_entries", state.delta_entries},
          {"bytes", header.file_bytes},
          {"created", header.created},
          {"sequence", header.sequence},
          {"signed_by", state.signed_by ? ordered_json(to_hex(*state.signed_by)) : ordered_json()},
          {"delta_share", state.delta_share()},
          {"rebuild_due", state.rebuild_due()},
          {"predicted_error", {{"unlisted_host", error.unlisted_host}, {"listed_host", error.listed_host}}},
          {"p99_error", {{"unlisted_host", p99.unlisted_host}, {"listed_host", p99.listed_host}}},
          {"worst_host", filter::to_json(state.worst_host())}};
}

// Null where there is no white list that could let pass by mistake.
ordered_json leak_json(const filter::Policy& policy) {
  if (!policy.has_white_list()) return {};
  const auto leak = policy.predicted_leak();
  return {{"unlisted_host", leak.unlisted_host}, {"listed_host", leak.listed_host}};
}

// Null where no host is decrypted because of its marks.
ordered_json needless_json(const filter::Policy& policy, const conf::TlsInspection& tls) {
  if (tls.mode != conf::TlsInspection::Mode::urls) return {};
  return policy.false_mark_rate(tls.urls_of_monitor);
}

ordered_json policy_json(const filter::Policy& policy, const std::vector<std::string>& warnings,
                         const conf::TlsInspection& tls) {
  ordered_json filters = ordered_json::array();
  for (const auto& state : policy.filters()) filters.push_back(filter_json(state));
  const auto error = policy.predicted_error();
  return {{"ok", true},
          {"warnings", warnings},
          {"filters", std::move(filters)},
          {"allow_entries", policy.allow_entries()},
          {"list_exceptions", policy.list_exceptions()},
          {"predicted_error", {{"unlisted_host", error.unlisted_host}, {"listed_host", error.listed_host}}},
          {"otherwise", to_string(policy.otherwise())},
          {"predicted_leak", leak_json(policy)},
          {"needless_interception", needless_json(policy, tls)}};
}

// For these the filter is a white list, at times at least, though it is none where no group says otherwise.
std::vector<std::string> groups_with_white_list(const conf::Config& settings, const filter::FilterSpec& spec) {
  std::vector<std::string> names;
  if (spec.action == filter::FilterAction::allow) return names;
  for (const conf::Group& group : settings.groups) {
    const auto own = group.filters.find(spec.name);
    if (own == group.filters.end()) continue;
    const auto is_allow = [](const auto& choice) { return choice.second == conf::Group::Action::allow; };
    const bool is_white_list =
        own->second.otherwise == conf::Group::Action::allow || std::ranges::any_of(own->second.by_schedule, is_allow);
    if (is_white_list) names.push_back(group.name);
  }
  return names;
}

void print_errors(std::ostream& out, std::string_view what, const filter::Policy::FilterState& state) {
  const filter::Policy::RequestError error = state.predicted_error();
  out << fmt::format("  {}: {} on unlisted hosts, {} on listed ones\n", what, one_in(error.unlisted_host),
                     one_in(error.listed_host));
}

// What p99 leaves out, a hundredth of the hosts, may be the busy ones.
void print_worst_errors(std::ostream& out, const filter::Policy::FilterState& state) {
  const filter::Policy::RequestError p99 = state.p99_error();
  out << fmt::format("  at p99: {} on unlisted hosts, {} on listed ones; on the worst host: {}\n",
                     one_in(p99.unlisted_host), one_in(p99.listed_host), filter::worst_host_text(state.worst_host()));
}

void print_policy(std::ostream& out, const filter::Policy& policy, const conf::Config& settings) {
  const conf::TlsInspection& tls = settings.tls_inspection;
  const PeopleTime time(TimeZone::find(settings.time_zone).value_or(TimeZone()));
  for (const auto& state : policy.filters()) {
    const filter::Header& header = state.file->header();
    out << fmt::format("filter {}: {}, {}, {}, built {}, sequence {}", state.spec.name, to_string(state.spec.action),
                       count_text(entries_of(state), "entry", "entries"), size_text(header.file_bytes),
                       time.text(static_cast<std::int64_t>(header.created)), header.sequence);
    if (state.signed_by) out << fmt::format(", signed by {}", to_hex(*state.signed_by));
    if (!state.spec.delta.empty()) {
      out << fmt::format(", delta of {} ({:.1f} %)", count_text(state.delta_entries, "entry", "entries"),
                         100 * state.delta_share());
    }
    const bool admits = state.spec.action == filter::FilterAction::allow;
    out << '\n';
    print_errors(out, admits ? "passes although it is not listed" : "predicted error per request", state);
    if (const auto names = groups_with_white_list(settings, state.spec); !names.empty()) {
      print_errors(out, fmt::format("passes in {} although it is not listed", fmt::join(names, ", ")), state);
    }
    print_worst_errors(out, state);
  }
  const auto error = policy.predicted_error();
  out << fmt::format("all blocking filters: {} on unlisted hosts, {} on listed ones\n", one_in(error.unlisted_host),
                     one_in(error.listed_host));
  if (policy.has_white_list()) {
    const auto leak = policy.predicted_leak();
    out << fmt::format("all white lists let pass what they do not list: {} on unlisted hosts, {} on listed ones\n",
                       one_in(leak.unlisted_host), one_in(leak.listed_host));
  }
  if (policy.otherwise() == filter::Otherwise::deny) {
    out << "otherwise: deny: what no white list and no allow list holds is blocked\n";
  }
  if (tls.mode == conf::TlsInspection::Mode::urls) {
    out << fmt::format("decrypted without need (false marks): {}, of hosts of three labels\n",
                       one_in(policy.false_mark_rate(tls.urls_of_monitor)));
  }
  out << fmt::format("allow lists: {}\n", count_text(policy.allow_entries(), "entry", "entries"));
  if (policy.list_exceptions() > 0) {
    out << fmt::format("exceptions that lists of filters carry: {}\n", format_count(policy.list_exceptions()));
  }
}

ordered_json group_names(const GroupRules* rules) {
  ordered_json names = ordered_json::array();
  for (std::size_t group = 0; rules != nullptr && group < rules->size(); ++group) names.push_back(rules->name(group));
  return names;
}

void print_groups(std::ostream& out, const GroupRules& rules) {
  const Instant now = instant_now();
  for (std::size_t group = 0; group < rules.size(); ++group) {
    out << fmt::format("group {} ({} of {}): now {}\n", rules.name(group), group + 1, rules.size(),
                       actions_text(rules, group, now));
  }
}

// Of `admin.tls: internal`.
void print_admin_certificate(std::ostream& out, const AdminCertificate& certificate) {
  out << fmt::format("admin.tls: a certificate for {}; browsers must trust what signs it, {} (`bloomwall ca export`)\n",
                     fmt::join(certificate.names(), ", "), printable(subject_text(certificate.authority()->anchor())));
}

int refuse(const LoadFailure& failure, bool json, const Streams& io) {
  if (json) {
    print_json(io.out, {{"ok", false}, {"errors", failure.lines}});
  } else {
    print_lines(io.err, failure.lines);
  }
  return failure.status;
}

// Percent on one line of a terminal, overwritten; nothing elsewhere.
bool show_progress(const Streams& io, const std::filesystem::path& file, std::uint64_t done, std::uint64_t total) {
  if (io.err_is_terminal) {
    const double share = static_cast<double>(done) / static_cast<double>(std::max<std::uint64_t>(total, 1));
    io.err << fmt::format("\rverifying {}: {:3.0f} %", printable(file.filename().string()), 100 * share)
           << (done >= total ? "\r\x1b[K" : "") << std::flush;
  }
  return true;
}

// Of tls_inspection. Warns of entries in the never files that are there although URLs are listed on their hosts.
std::vector<std::string> inspection_errors(const Edition& edition, std::vector<std::string>& warnings) {
  const TlsInspection* const inspection = edition.snapshot->inspection.get();
  if (inspection == nullptr) return {};
  for (std::string& line : never_entries_with_marks(inspection->rules(), *edition.policy)) {
    warnings.push_back(std::move(line));
  }
  const conf::Config& settings = edition.snapshot->settings;
  AuthorityReview review =
      review_authority(inspection->mint().authority(), authority_files(settings),
                       {.now = std::time(nullptr), .leaf_days = static_cast<int>(settings.tls_inspection.leaf.days)});
  for (std::string& line : review.warnings) warnings.push_back("tls_inspection.ca: " + line);
  for (std::string& line : review.errors) line.insert(0, "tls_inspection.ca: ");
  return std::move(review.errors);
}

// What the proxy does about an authority that it cannot use: see TlsInspection::compile().
void switch_inspection_off(conf::Config& settings, std::vector<std::string>& warnings) {
  using Tls = conf::TlsInspection;
  const Tls& tls = settings.tls_inspection;
  if (conf::greatest_inspection_mode(settings) == Tls::Mode::off || tls.on_ca_failure != Tls::OnCaFailure::off) return;
  if (!InspectionRules::compile(settings)) return;  // which is an error all the same
  const auto authority = CertificateAuthority::load(
      authority_files(settings), {.now = std::time(nullptr), .leaf_days = static_cast<int>(tls.leaf.days)});
  if (authority) return;
  warnings.push_back(
      fmt::format("tls_inspection.ca: {}; TLS is not inspected (on_ca_failure: off)", authority.error()));
  conf::switch_inspection_off(settings);
}

// Raw keys are asked by programs; a request has none.
void warn_of_raw_filters(const filter::Policy& policy, std::vector<std::string>& warnings) {
  for (const auto& state : policy.filters()) {
    const filter::Header& header = state.file->header();
    if (header.find(filter::SectionType::hosts) != nullptr || state.delta_entries != 0) continue;
    warnings.push_back(fmt::format(
        "filters.{}: {} holds raw keys alone, which no request can match, so that it can never {}; it is for "
        "`bloomwall-filter query --raw`. Without --raw a build reads hosts and URLs",
        state.spec.name, state.spec.file.string(), to_string(state.spec.action)));
  }
}

// Anybody could write what a filter excepts beside one that has to be signed.
void warn_of_unsigned_exceptions(const filter::Policy& policy, std::vector<std::string>& warnings) {
  for (const auto& state : policy.filters()) {
    if (state.spec.public_key.empty()) continue;
    const auto file = filter::exceptions_file(state.spec.file, content_id(state.file->header()));
    std::error_code ignored;
    if (!std::filesystem::exists(file, ignored)) continue;
    warnings.push_back(fmt::format(
        "filters.{}: what its lists except ({}) does not count, since public_key is set and nobody signs it; an allow "
        "list may hold it: `example.com @{}`",
        state.spec.name, file.string(), state.spec.name));
  }
}

// Tokens are in state.db alone, which another program must not open while the proxy may be writing to it.
void append_void_names(const conf::Config& settings, const Snapshot& snapshot, std::vector<std::string>& warnings) {
  const NameReview names(snapshot, nullptr);
  for (std::string& line : names.configured()) warnings.push_back(std::move(line));
  const auto exported = read_export(state_folder(settings));  // none where this user may not read it
  if (!exported) return;
  for (std::string& line : find_void_names(names, exported->exceptions, exported->switches, nullptr).warnings) {
    warnings.push_back(std::move(line));
  }
}

Loaded<conf::Config> load_settings_of(const CheckCommand& command) {
  if (command.place.empty()) return load_settings(command.config);
  if (!command.config.empty()) return load_settings_in_place(command.config, command.place);
  return tl::unexpected(LoadFailure{kExitError, {"--as needs --config: the file that is to stand there"}});
}

std::filesystem::path place_of(const CheckCommand& command) {
  if (!command.place.empty()) return command.place;
  return command.config.empty() ? std::filesystem::path(conf::kDefaultConfigFile) : command.config;
}

// Of the first file of the configuration.
std::filesystem::path main_place(const CheckCommand& command) {
  if (command.place.empty()) return command.config;
  std::error_code failed;
  return conf::main_file_of(
      {.file = command.config, .place = std::filesystem::absolute(command.place, failed).lexically_normal()});
}

// Files that root can read and the service's user cannot, one line each; errors if --user was given, else warnings.
tl::expected<std::vector<std::string>, std::string> unreadable_files(const CheckCommand& command,
                                                                     const conf::Config& settings) {
  if (command.as_user.empty() && !service_user_may_differ()) return {};
  std::vector<std::filesystem::path> files = named_files(settings);
  files.insert(files.begin(), place_of(command));
  if (std::error_code ignored; !std::filesystem::exists(files.front(), ignored)) files.erase(files.begin());
  return unreadable_for(command.as_user.empty() ? kServiceUser : command.as_user, files);
}

}  // namespace

Loaded<ConfigurationReview> review_configuration(const CheckCommand& command, const Streams& io) {
  auto settings = load_settings_of(command);
  if (!settings) return tl::unexpected(settings.error());
  std::vector<std::string> warnings;
  for (const auto& file : settings->left_out) {
    warnings.push_back(fmt::format("{}: not read, since no pattern of `include` takes its name: call it {}",
                                   file.string(), std::filesystem::path(file).replace_extension(".yaml").string()));
  }
  switch_inspection_off(*settings, warnings);
  const auto accepted = load_sequences(*settings, warnings);
  if (!accepted) return tl::unexpected(accepted.error());
  const LastGood last_good(state_folder(*settings));
  const PolicyLoading loading{.verify = true,
                              .progress = [&](const std::filesystem::path& file, std::uint64_t done,
                                              std::uint64_t total) { return show_progress(io, file, done, total); },
                              .accepted = &*accepted,
                              .warnings = &warnings,
                              .last_good = &last_good};
  auto edition = load_edition(*settings, loading, 1);
  if (!edition) return tl::unexpected(edition.error());
  // A start would serve, and a reload would be refused.
  if (auto refused = fallbacks_of(*edition->policy, *settings, last_good); refused.status != kExitDone) {
    return tl::unexpected(std::move(refused));
  }
  const auto refused = [](int status, std::vector<std::string> lines) {
    return tl::unexpected(LoadFailure{status, std::move(lines)});
  };
  auto errors = log_errors(settings->log);
  for (auto& line : listener_errors(*settings)) errors.push_back(std::move(line));
  if (!errors.empty()) return refused(kExitError, std::move(errors));
  append_warnings(*edition->snapshot, warnings);
  if (edition->snapshot->authentication != nullptr) {
    if (auto told = find_password_overload(*edition->snapshot->authentication)) warnings.push_back(*std::move(told));
  }
  append_void_names(*settings, *edition->snapshot, warnings);
  for (std::string& line : taken_addresses(*settings, HeldBy::other_programs)) warnings.push_back(std::move(line));
  if (const auto told = built_in_defaults(command.config)) warnings.push_back(*told);
  auto unreadable = unreadable_files(command, *settings);
  if (!unreadable) return refused(kExitError, {unreadable.error()});
  if (!command.as_user.empty() && !unreadable->empty()) return refused(kExitRefused, *std::move(unreadable));
  warnings.insert(warnings.end(), unreadable->begin(), unreadable->end());
  warn_of_raw_filters(*edition->policy, warnings);
  warn_of_unsigned_exceptions(*edition->policy, warnings);
  for (std::string& line : allowed_urls_without_effect(*settings, *edition)) warnings.push_back(std::move(line));
  if (auto lines = inspection_errors(*edition, warnings); !lines.empty()) {
    return refused(kExitConfiguration, std::move(lines));
  }
  return ConfigurationReview{*std::move(settings), *std::move(edition), std::move(warnings)};
}

int run_check(const CheckCommand& command, const Streams& io) {
  auto review = review_configuration(command, io);
  if (!review) return refuse(review.error(), command.json, io);
  if (auto told = restart_notice(main_place(command), review->settings)) review->warnings.push_back(*std::move(told));
  const auto& [settings, edition, warnings] = *review;
  const filter::Policy& policy = *edition.policy;
  if (command.json) {
    ordered_json json = policy_json(policy, warnings, settings.tls_inspection);
    json["groups"] = group_names(edition.snapshot->groups.get());
    print_json(io.out, json);
    return kExitDone;
  }
  for (const std::string& warning : warnings) print_lines(io.err, {"warning: " + warning});
  print_policy(io.out, policy, settings);
  if (edition.snapshot->groups != nullptr) print_groups(io.out, *edition.snapshot->groups);
  if (const auto& shown = edition.snapshot->admin_tls; shown != nullptr && shown->authority() != nullptr) {
    print_admin_certificate(io.out, *shown);
  }
  io.out << descriptors_text(settings, raise_descriptor_limit(descriptors_for(settings))) << "\nok\n";
  return kExitDone;
}

}  // namespace bloomwall::proxy
