// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <pwd.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "base/terminal.h"
#include "base/units.h"
#include "conf/catalogue.h"
#include "proxy/api/http_client.h"
#include "proxy/api/reload_api.h"
#include "proxy/check/lists_json.h"
#include "proxy/cli/commands.h"
#include "proxy/cli/owner.h"
#include "proxy/io/unix_socket.h"
#include "proxy/reload/drop_in_file.h"
#include "proxy/reload/loading.h"
#include "proxy/reload/running_socket.h"
#include "proxy/state/json_members.h"
#include "proxy/update/lists_state.h"
#include "proxy/update/update_run.h"
#include "proxy/update/wanted_lists.h"

namespace bloomwall::proxy {
namespace {

using nlohmann::ordered_json;

constexpr std::int64_t kLongestSleep = 900;               // between two looks at what is due
constexpr std::size_t kMostSaid = std::size_t{64} << 10;  // of an answer; octets
constexpr timespec kWishPoll{.tv_sec = 2, .tv_nsec = 0};

std::atomic<bool> g_stop{false};
static_assert(std::atomic<bool>::is_always_lock_free);  // a signal handler writes it

Seconds now() { return static_cast<Seconds>(std::time(nullptr)); }

// From now on these signals end the work in good order, by g_stop. Returns them.
sigset_t watch_endings() {
  sigset_t endings;
  sigemptyset(&endings);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
    sigaddset(&endings, signal);
    struct sigaction action{};
    action.sa_handler = [](int) { g_stop = true; };
    ::sigaction(signal, &action, nullptr);
  }
  return endings;
}

std::string caller() {
  const struct passwd* const user = ::getpwuid(::getuid());
  return user == nullptr ? fmt::format("uid {}", ::getuid()) : fmt::format("uid {} ({})", ::getuid(), user->pw_name);
}

// Below: what `--add` does, for the lists that command.names has. The status, and why the first of them was not added.
struct Added {
  int status = kExitDone;
  std::string why = {};  // empty: all were
};
Added add(const UpdateCommand& command, const conf::Config& settings, const Streams& io);

class Updating {
 public:
  Updating(const UpdateCommand& command, const Streams& io) : command_(command), io_(io) {}

  // One run, and the reload after it.
  int once(const conf::Config& settings, UpdateRunOptions options) {
    options.say = [this](const std::string& line) { say(line); };
    options.now = now;
    options.reload = [&] { return command_.add || reload(settings); };  // what is added has no place yet: see add()
    options.stop = &g_stop;
    const auto report = run_update(settings, options);
    if (!report) {
      print_lines(io_.err, {report.error()});
      return kExitError;
    }
    next_ = report->next;
    if (command_.json && !command_.add) print_state(settings);
    return report->is_bad ? kExitRefused : kExitDone;
  }

  // What the command asks for.
  int run(const conf::Config& settings) {
    const bool is_plain = command_.names.empty() && !command_.force && !command_.missing;
    if (is_plain && add_wanted(settings)) {
      const auto with_them = load_settings(command_.config);
      if (with_them) return run_with(*with_them);
      print_lines(io_.err, with_them.error().lines);
      return with_them.error().status;
    }
    return run_with(settings, is_plain);
  }

  int run_with(const conf::Config& settings, bool is_plain = true) {
    const int wished = is_plain ? run_wish(settings) : kExitDone;
    return std::max(wished, once(settings, {.names = command_.names,
                                            .force = command_.force,
                                            .missing_only = command_.missing,
                                            .forced_by = caller()}));
  }

  // Until a signal ends it: what is due, and what the running proxy asks for.
  int loop() {
    const sigset_t endings = watch_endings();
    std::optional<conf::Config> settings;
    for (bool is_first = true; !g_stop; is_first = false) {
      auto loaded = load_settings(command_.config);
      if (!loaded) print_lines(io_.err, loaded.error().lines);
      if (loaded) settings = *std::move(loaded);
      if (!settings) return kExitConfiguration;
      if (is_first) {
        run(*settings);
      } else {
        if (add_wanted(*settings)) continue;
        run_wish(*settings);
        once(*settings, {});
      }
      wait(*settings, endings);
    }
    return kExitDone;
  }

  // If no proxy runs none is told: it reads the files when it starts.
  bool reload(const conf::Config& settings) {
    const auto socket = socket_to_ask(command_.config, settings.admin.control_socket);
    const bool is_there = !socket.empty() && (connect_to(socket) || (errno != ENOENT && errno != ECONNREFUSED));
    if (!is_there) {
      say("no running proxy was told: nobody listens at admin.control_socket");
      return true;
    }
    const auto answer = ask_to_reload(socket, [this](std::string_view line) { say(std::string(line)); });
    if (!answer) say("the running proxy was not told, and serves the files of before: " + answer.error());
    return answer && answer->exit_status == 0;
  }

  void print_state(const conf::Config& settings) {
    const ListsState state = read_lists_state(settings.update.folder).value_or(ListsState{});
    print_json(io_.out, {{"filters", lists_json(settings, state, now())},
                         {"intermediates", intermediates_json(settings, state)}});
  }

 private:
  void say(const std::string& line) {
    std::ostream& out = command_.json ? io_.err : io_.out;
    out << printable(line) << '\n' << std::flush;
  }

  // Lists that the running proxy wants. False: there was none.
  bool add_wanted(const conf::Config& settings) {
    const auto& folder = settings.update.folder;
    const std::vector<WantedList> wanted = take_wanted(folder);
    for (const WantedList& list : wanted) {
      UpdateCommand one = command_;
      one.names = {list.name};
      one.add = true;
      one.refuse_exceptions = list.refuse_exceptions;
      note_wanted(folder, list.name, "the run that adds it has not ended, or was killed: then ask for it again");
      const auto with_others = load_settings(command_.config);  // one that was added before is in it
      const std::string why = !with_others                ? with_others.error().lines.front()
                              : !with_others->admin.edits ? "admin.edits is false"
                                                          : add(one, *with_others, io_).why;
      note_wanted(folder, list.name, why);
    }
    return !wanted.empty();
  }

  int run_wish(const conf::Config& settings) {
    return has_wish(settings.update.folder) ? once(settings, {.of_wish = true}) : kExitDone;
  }

  // A signal that comes here must not be lost between a look at the flag and the wait.
  void wait(const conf::Config& settings, const sigset_t& endings) const {
    const Seconds begin = now();
    const Seconds until = std::clamp(next_ == 0 ? begin + kLongestSleep : next_, begin + 1, begin + kLongestSleep);
    sigset_t before;
    ::sigprocmask(SIG_BLOCK, &endings, &before);
    const auto& folder = settings.update.folder;
    while (!g_stop && now() < until && now() >= begin && !has_wish(folder) && !has_wanted(folder)) {
      if (::sigtimedwait(&endings, nullptr, &kWishPoll) > 0) g_stop = true;
    }
    ::sigprocmask(SIG_SETMASK, &before, nullptr);
  }

  const UpdateCommand& command_;
  const Streams& io_;
  Seconds next_ = 0;
};

int update_of(const UpdateCommand& command, const conf::Config& settings, const Streams& io) {
  Updating updating(command, io);
  const int status = command.loop ? updating.loop() : updating.run(settings);
  io.out.flush();
  io.err.flush();
  return status;
}

// Tells the running proxy, as the user who runs this, that guards are about to be overruled: for its audit.
void note_force(const UpdateCommand& command, const conf::Config& settings, const Streams& io) {
  const auto socket = socket_to_ask(command.config, settings.admin.control_socket);
  const auto fail = [&](std::string_view why) {
    print_lines(io.err, {fmt::format("the audit does not have this use of --force: {}", why)});
  };
  if (socket.empty()) return fail("admin.control_socket is null");
  const std::string body = json_line({{"filters", command.names}, {"force", true}, {"why", command.why}});
  std::string said;
  const auto take = [&](int, std::string_view piece) {
    if (said.size() < kMostSaid) said += piece;
  };
  const auto status = ask_http(socket, {.method = "POST", .path = "/api/v1/update/forced", .body = body}, take);
  if (!status) return fail(status.error());
  if (*status == 201) return;
  const auto json = ordered_json::parse(said, nullptr, false);
  fail(json.is_object() ? text_member(json, "detail").value_or("refused") : "refused");
}

int run_as_owner(const UpdateCommand& command, const conf::Config& settings, const Streams& io) {
  if (command.force) note_force(command, settings, io);
  io.out.flush();
  io.err.flush();
  const auto owner = other_owner(settings.update.folder);
  const auto work = [&] { return update_of(command, settings, io); };
  return owner ? run_as(*owner, work) : work();
}

tl::expected<conf::Catalogue, int> catalogue_of(const conf::Config& settings, const Streams& io) {
  auto catalogue = conf::load_catalogue(settings.update.catalogue);
  if (catalogue) return *std::move(catalogue);
  for (const conf::ConfigError& error : catalogue.error()) print_lines(io.err, {error.text()});
  return tl::unexpected(kExitError);
}

int show_catalogue(const conf::Config& settings, bool json, const Streams& io) {
  const auto catalogue = catalogue_of(settings, io);
  if (!catalogue) return catalogue.error();
  for (const conf::ListedSource& list : *catalogue) {
    if (json) {
      print_json(io.out, {{"name", list.name},
                          {"category", list.category},
                          {"entries", list.entries},
                          {"licence", list.licence},
                          {"homepage", list.homepage},
                          {"url", list.url}});
    } else {
      io.out << fmt::format("{}\t{}\t{}\t{}\t{}\n", list.name, list.category, list.entries, list.licence,
                            list.homepage);
    }
  }
  return kExitDone;
}

// Makes the folder where there is none, readable for the service.
tl::expected<void, std::string> make_drop_in_folder(const std::filesystem::path& folder) {
  std::error_code error;
  const bool is_new = std::filesystem::create_directories(folder, error);
  if (error) return tl::unexpected(fmt::format("{}: {}", folder.string(), error.message()));
  if (is_new) std::filesystem::permissions(folder, std::filesystem::perms(0755), error);
  return {};
}

std::filesystem::path file_of_list(const conf::Config& settings, const std::string& name) {
  return settings.drop_in_folder / (name + ".yaml");
}

// Why the list cannot be added; empty: it can.
std::string fault_of_list(const conf::Config& settings, const conf::Catalogue& catalogue, const std::string& name) {
  if (std::ranges::find(catalogue, name, &conf::ListedSource::name) == catalogue.end()) {
    return fmt::format("{}: not in the catalogue; `bloomwall update --catalogue` shows what is", name);
  }
  if (std::ranges::find(settings.filters, name, &conf::Filter::name) != settings.filters.end()) {
    return fmt::format("{}: there is a filter of this name already", name);
  }
  std::error_code ignored;
  const std::filesystem::path file = file_of_list(settings, name);
  return std::filesystem::exists(file, ignored) ? fmt::format("{}: is there already", file.string()) : std::string();
}

// Builds the filter of one list and adds it to the configuration. Its file takes its place there only once the filter
// is built: until then, and where the command is killed, a reload or a start of the proxy must not ask for a filter
// that is not there.
Added add_one(const UpdateCommand& command, const conf::Config& settings, const conf::ListedSource& list,
              const Streams& io) {
  const auto fail = [&](std::vector<std::string> lines, int status) {
    print_lines(io.err, lines);
    return Added{.status = status, .why = std::move(lines.front())};
  };
  const auto& filters_lie_in = settings.state_dir.empty() ? settings.update.folder : settings.state_dir;
  const std::filesystem::path filter = filters_lie_in / (list.name + ".bwf");
  if (const auto made = make_drop_in_folder(settings.drop_in_folder); !made) return fail({made.error()}, kExitRefused);
  auto file = DropInCandidate::write(file_of_list(settings, list.name),
                                     conf::filter_file_text(list, filter, command.refuse_exceptions));
  if (!file) return fail({file.error()}, kExitRefused);
  auto with_it = file->settings(command.config);
  if (!with_it) return fail(std::move(with_it.error().lines), with_it.error().status);
  UpdateCommand one = command;
  one.names = {list.name};
  Added done{.status = run_as_owner(one, *with_it, io)};
  std::error_code ignored;
  if (!std::filesystem::exists(filter, ignored)) {
    return fail({fmt::format("{}: not added: its filter could not be built", list.name)},
                std::max(done.status, kExitRefused));
  }
  if (const auto kept = file->take_place(); !kept) return fail({kept.error()}, kExitError);
  return done;
}

Added add(const UpdateCommand& command, const conf::Config& settings, const Streams& io) {
  const auto fail = [&](const std::string& line, int status) {
    print_lines(io.err, {line});
    return Added{.status = status, .why = line};
  };
  if (command.names.empty()) return fail("name a list; `bloomwall update --catalogue` shows all", kExitError);
  if (const auto none = built_in_defaults(command.config)) {
    return fail("there is no configuration that a filter could be added to: " + *none, kExitError);
  }
  if (settings.drop_in_folder.empty()) {
    return fail("there is no folder for filters: add `include: [conf.d/*.yaml]` to the configuration", kExitError);
  }
  const auto catalogue = catalogue_of(settings, io);
  if (!catalogue) return {.status = catalogue.error(), .why = "the catalogue cannot be read"};
  watch_endings();
  for (const std::string& name : command.names) {
    if (const std::string fault = fault_of_list(settings, *catalogue, name); !fault.empty()) {
      return fail(fault, kExitRefused);
    }
  }
  Added all;
  bool is_one_there = false;
  for (const std::string& name : command.names) {
    if (g_stop) break;
    const Added one = add_one(command, settings, *std::ranges::find(*catalogue, name, &conf::ListedSource::name), io);
    all.status = std::max(all.status, one.status);
    if (all.why.empty()) all.why = one.why;
    is_one_there = is_one_there || one.why.empty();
  }
  Updating updating(command, io);
  if (is_one_there && !updating.reload(settings)) all.status = std::max(all.status, kExitRefused);
  if (!command.json) return all;
  if (const auto with_them = load_settings(command.config)) updating.print_state(*with_them);
  return all;
}

}  // namespace

int run_update_command(const UpdateCommand& command, const Streams& io) {
  const auto settings = load_settings(command.config);
  if (!settings) {
    print_lines(io.err, settings.error().lines);
    return settings.error().status;
  }
  if (command.catalogue) return show_catalogue(*settings, command.json, io);
  if (command.add) return add(command, *settings, io).status;
  return run_as_owner(command, *settings, io);
}

}  // namespace bloomwall::proxy
