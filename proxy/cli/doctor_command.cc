// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/terminal.h"
#include "proxy/api/http_client.h"
#include "proxy/check/port_holders.h"
#include "proxy/check/readable.h"
#include "proxy/cli/commands.h"
#include "proxy/cli/configuration_review.h"
#include "proxy/decision/admin_certificate.h"
#include "proxy/doctor/checks.h"
#include "proxy/doctor/doors.h"
#include "proxy/doctor/facts.h"
#include "proxy/doctor/finding.h"
#include "proxy/io/interfaces.h"
#include "proxy/io/unit_state.h"
#include "proxy/reload/descriptor_limit.h"
#include "proxy/reload/loading.h"
#include "proxy/reload/running_socket.h"
#include "proxy/state/time_text.h"
#include "proxy/tls/certificates.h"
#include "proxy/update/lists_state.h"

namespace bloomwall::proxy {
namespace {

using nlohmann::ordered_json;

constexpr HttpPatience kDoctorPatience{.head = Milliseconds(5000), .silence = Milliseconds(5000)};
constexpr std::size_t kMostAnswer = std::size_t{16} << 20;

struct Answer {
  int status = 0;
  std::string body;
};
tl::expected<Answer, std::string> ask(const std::filesystem::path& socket, std::string_view path) {
  Answer out;
  const auto take = [&out](int, std::string_view piece) {
    out.body.append(piece.substr(0, kMostAnswer - std::min(out.body.size(), kMostAnswer)));
  };
  const auto status = ask_http(socket, {.method = "GET", .path = path}, take, kDoctorPatience);
  if (!status) return tl::unexpected(status.error());
  out.status = *status;
  while (out.body.ends_with('\n')) out.body.pop_back();
  return out;
}

Running ask_running_proxy(const std::filesystem::path& socket) {
  Running out;
  if (socket.empty()) {
    out.why = "admin.control_socket is null: nobody can be asked";
    return out;
  }
  const auto ready = ask(socket, "/readyz");
  if (!ready) {
    out.why = ready.error();
    const bool is_forbidden = ::access(socket.c_str(), W_OK) != 0 && errno == EACCES;
    out.answer = is_forbidden ? Running::Answer::not_allowed : Running::Answer::nobody;
    return out;
  }
  out.answer = Running::Answer::yes;
  out.is_ready = ready->status == 200;
  out.readiness = printable(ready->body);
  const auto take = [&](std::string_view path, void (*into)(const ordered_json&, Running&)) {
    const auto answer = ask(socket, path);
    if (!answer || answer->status != 200) return;
    const ordered_json json = ordered_json::parse(answer->body, nullptr, false);
    if (json.is_object()) into(json, out);
  };
  take("/api/v1/status", take_status);
  take("/api/v1/filters", take_filters);
  take("/api/v1/reloads", take_reloads);
  return out;
}

std::vector<FilterIdentity> filters_of(const filter::Policy& policy) {
  std::vector<FilterIdentity> out;
  for (const auto& state : policy.filters()) {
    const filter::Header& header = state.file->header();
    out.push_back({.name = state.spec.name,
                   .created = time_text(static_cast<std::int64_t>(header.created)),
                   .sequence = header.sequence,
                   .bytes = header.file_bytes});
  }
  return out;
}

// Of the configuration and of what it names, but for filters, which check_served() compares.
std::vector<FileTime> file_times(const conf::Config& settings, const std::filesystem::path& configuration) {
  std::vector<std::filesystem::path> files = named_files(settings);
  std::erase_if(files, [&](const std::filesystem::path& file) {
    return std::ranges::any_of(settings.filters, [&](const conf::Filter& filter) { return filter.file == file; });
  });
  files.push_back(configuration);
  files.insert(files.end(), settings.included.begin(), settings.included.end());
  std::ranges::sort(files);
  files.erase(std::ranges::unique(files).begin(), files.end());
  std::vector<FileTime> out;
  for (const std::filesystem::path& file : files) {
    struct stat status{};
    if (::stat(file.c_str(), &status) == 0) out.push_back({file, std::int64_t{status.st_mtim.tv_sec}});
  }
  return out;
}

class Doctor {
 public:
  Doctor(const DoctorCommand& command, const Streams& io) : command_(command), io_(io) {}

  int run() {
    const auto settings = load_settings(command_.config);
    if (!settings) {
      look_without_configuration(settings.error());
    } else {
      settings_ = *settings;
      running_ = ask_running_proxy(socket_to_ask(command_.config, settings_.admin.control_socket));
      look_at_configuration();
      look_at_service();
      look_at_machine();
    }
    print();
    if (is_blind_) return kExitError;
    const bool is_wrong = std::ranges::any_of(findings_, [](const Finding& f) { return f.grade == Grade::wrong; });
    return is_wrong ? kExitRefused : kExitDone;
  }

 private:
  void add(Finding finding) { findings_.push_back(std::move(finding)); }
  void add(Diagnosis findings) {
    for (Finding& each : findings) add(std::move(each));
  }

  // Whether all lines are about files that the caller, who is not root, may not read.
  static bool is_denied(const std::vector<std::string>& lines) {
    const std::string denied = std::generic_category().message(EACCES);
    return ::geteuid() != 0 &&
           std::ranges::all_of(lines, [&](const std::string& line) { return line.find(denied) != std::string::npos; });
  }
  void add_failure(const LoadFailure& failure, const std::string& subject) {
    const bool denied = is_denied(failure.lines);
    for (const std::string& line : failure.lines) {
      add(denied ? Finding{Grade::unseen, subject, line, "ask as root, or as a user of the group bloomwall"}
                 : Finding{Grade::wrong, subject, line, "mend it; `bloomwall check` says whether it is well then"});
    }
  }

  void look_without_configuration(const LoadFailure& failure) {
    is_blind_ = is_denied(failure.lines);
    add_failure(failure, "configuration");
    if (const auto unit = unit_state("bloomwall.service")) {
      add(*unit == "active"
              ? Finding{Grade::good, "service", "systemd says: active; it serves what it had read before"}
              : Finding{Grade::wrong, "service", "systemd says: " + *unit, "journalctl -u bloomwall says why"});
    }
    add(check_clock(read_clock(), {}));
  }

  void look_at_configuration() {
    const auto review = review_configuration({.config = command_.config}, io_);
    if (!review) {
      add({Grade::good, "configuration", configuration_file(command_.config).string() + " is read"});
      return add_failure(review.error(), "check");
    }
    for (const std::string& line : review->warnings) {
      add({Grade::wrong, "check", line, "see bloomwall.yaml(5) of the key it names"});
    }
    filters_ = filters_of(*review->edition.policy);
    const auto& shown = review->edition.snapshot->admin_tls;
    if (shown != nullptr && shown->authority() != nullptr) {
      internal_certificate_ = {shown->names(), shown->forbidden(), subject_text(shown->authority()->anchor())};
    }
    if (review->warnings.empty()) {
      add({Grade::good, "check",
           fmt::format("{}: {}", configuration_file(command_.config).string(), describe(*review->edition.policy))});
    }
  }

  void look_at_service() {
    add(check_service(running_, unit_state("bloomwall.service")));
    const std::filesystem::path file = configuration_file(command_.config);
    add(check_reload(running_, printable(file.string()), file_times(settings_, file)));
    if (filters_) add(check_served(*filters_, running_));
    add(check_fallbacks(running_));
    add(check_holders(configured_addresses(settings_), running_));
    add(check_reach(settings_, interfaces()));
    add(check_doors(look_at_doors(settings_), settings_));
    if (filters_) add(check_dashboard(settings_, internal_certificate_, interfaces()));
    const auto limit = running_.pid != 0 ? descriptor_limit_of(running_.pid) : std::nullopt;
    add(check_descriptors(descriptors_for(settings_), limit, running_));
  }

  void look_at_machine() {
    std::vector<Made> made;
    const auto state = read_lists_state(settings_.update.folder);
    if (state) {
      add(check_lists(settings_, *state));
      add(check_intermediates(settings_, *state));
      for (const ListFilterState& each : state->filters)
        made.push_back({"the last build of " + each.filter, each.built});
    } else {
      const bool denied = is_denied({state.error()});
      add({denied ? Grade::unseen : Grade::wrong, "lists", state.error(), denied ? "ask as root" : "bloomwall update"});
    }
    if (auto timer = check_timer(settings_, unit_state("bloomwall-update.timer"))) add(*std::move(timer));
    for (const FilterIdentity& each : filters_.value_or(std::vector<FilterIdentity>())) {
      made.push_back({"filter " + each.name, parse_time(each.created).value_or(0)});
    }
    look_at_folders();
    add(check_clock(read_clock(), made));
  }

  // Who writes into the folders: whoever has made the control socket; else the service's user, of its configuration;
  // else whoever asks.
  std::optional<uid_t> writer() const {
    struct stat status{};
    const std::filesystem::path socket = socket_to_ask(command_.config, settings_.admin.control_socket);
    if (!socket.empty() && ::stat(socket.c_str(), &status) == 0) return status.st_uid;
    const bool is_of_service = command_.config.empty() || command_.config == conf::kDefaultConfigFile;
    return is_of_service ? user_id(kServiceUser) : std::nullopt;
  }

  void look_at_folders() {
    const auto user = writer();
    std::uint64_t needed = 0;
    for (const FilterIdentity& each : filters_.value_or(std::vector<FilterIdentity>()))
      needed = std::max(needed, each.bytes);
    const auto look = [&](const std::string& key, const std::filesystem::path& path, std::uint64_t bytes) {
      if (!path.empty()) add(check_folder(look_at_folder(key, path, user), bytes));
    };
    look("state_dir", settings_.state_dir, needed);
    const bool has_lists =
        std::ranges::any_of(settings_.filters, [](const conf::Filter& f) { return !f.sources.empty(); });
    if (has_lists) look("update.folder", settings_.update.folder, needed);
    for (const auto& [key, file] :
         {std::pair("log.file", settings_.log.file), std::pair("log.access.file", settings_.log.access.file)}) {
      const std::filesystem::path path = file;
      if (path.is_absolute()) look(key, path.parent_path(), 0);
    }
  }

  void print() const {
    if (command_.json) {
      ordered_json items = ordered_json::array();
      bool ok = true;
      for (const Finding& each : findings_) {
        ok = ok && each.grade != Grade::wrong;
        items.push_back({{"grade", to_string(each.grade)},
                         {"subject", each.subject},
                         {"what", printable(each.what)},
                         {"cure", each.cure.empty() ? ordered_json() : ordered_json(printable(each.cure))}});
      }
      return print_json(io_.out, {{"ok", ok && !is_blind_}, {"findings", std::move(items)}});
    }
    for (const Finding& each : findings_) {
      io_.out << fmt::format("{:<7} {:<13} {}\n", to_string(each.grade), each.subject, printable(each.what));
      if (!each.cure.empty()) io_.out << fmt::format("{:<21} do: {}\n", "", printable(each.cure));
    }
    const auto count = std::ranges::count(findings_, Grade::wrong, &Finding::grade);
    io_.out << (count == 0 ? std::string("nothing is wrong") : fmt::format("{} wrong", count)) << '\n';
  }

  const DoctorCommand& command_;
  const Streams& io_;
  conf::Config settings_;
  Running running_;
  std::optional<std::vector<FilterIdentity>> filters_;       // nothing: they could not be loaded
  std::optional<InternalCertificate> internal_certificate_;  // nothing: there is none
  Diagnosis findings_;
  bool is_blind_ = false;  // the configuration may not be read
};

}  // namespace

int run_doctor(const DoctorCommand& command, const Streams& io) { return Doctor(command, io).run(); }

}  // namespace bloomwall::proxy
