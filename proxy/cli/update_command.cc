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
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "base/terminal.h"
#include "base/units.h"
#include "conf/catalogue.h"
#include "filter/file/temp_file.h"
#include "proxy/api/http_client.h"
#include "proxy/api/reload_api.h"
#include "proxy/check/lists_json.h"
#include "proxy/cli/commands.h"
#include "proxy/cli/owner.h"
#include "proxy/io/unix_socket.h"
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
    options.reload = [&] { return reload(settings); };
    options.stop = &g_stop;
    const auto report = run_update(settings, options);
    if (!report) {
      print_lines(io_.err, {report.error()});
      return kExitError;
    }
    next_ = report->next;
    if (command_.json) print_state(settings);
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

// Files of Config::drop_in_folder that were written for lists; removed again unless they are to stay.
class AddedFiles {
 public:
  AddedFiles() = default;
  AddedFiles(const AddedFiles&) = delete;
  AddedFiles& operator=(const AddedFiles&) = delete;
  ~AddedFiles() {
    std::error_code ignored;
    for (const auto& [name, file] : files_) std::filesystem::remove(file, ignored);
  }
  tl::expected<void, std::string> write(const std::string& name, const std::filesystem::path& file,
                                        const std::string& text) {
    std::error_code error;
    const bool is_new = std::filesystem::create_directories(file.parent_path(), error);
    if (error) return tl::unexpected(fmt::format("{}: {}", file.parent_path().string(), error.message()));
    if (is_new)
      std::filesystem::permissions(file.parent_path(), std::filesystem::perms(0755), error);  // for the service
    if (std::filesystem::exists(file, error)) return tl::unexpected(fmt::format("{}: is there already", file.string()));
    if (const auto ok = filter::replace_file(file, text, {.mode = 0644}); !ok) return tl::unexpected(ok.error().text());
    files_.emplace_back(name, file);
    return {};
  }
  void keep(const std::string& name) {
    std::erase_if(files_, [&](const auto& file) { return file.first == name; });
  }

 private:
  std::vector<std::pair<std::string, std::filesystem::path>> files_;
};

tl::expected<void, std::string> add_one(const conf::Config& settings, const conf::Catalogue& catalogue,
                                        const std::string& name, bool refuse_exceptions, AddedFiles& added) {
  const auto list = std::ranges::find(catalogue, name, &conf::ListedSource::name);
  if (list == catalogue.end()) {
    return tl::unexpected(fmt::format("{}: not in the catalogue; `bloomwall update --catalogue` shows what is", name));
  }
  if (std::ranges::find(settings.filters, name, &conf::Filter::name) != settings.filters.end()) {
    return tl::unexpected(fmt::format("{}: there is a filter of this name already", name));
  }
  const auto& filters_lie_in = settings.state_dir.empty() ? settings.update.folder : settings.state_dir;
  return added.write(name, settings.drop_in_folder / (name + ".yaml"),
                     conf::filter_file_text(*list, filters_lie_in / (name + ".bwf"), refuse_exceptions));
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
  watch_endings();  // a file that is left without its filter would keep the proxy from its next start
  AddedFiles added;
  for (const std::string& name : command.names) {
    if (auto ok = add_one(settings, *catalogue, name, command.refuse_exceptions, added); !ok)
      return fail(ok.error(), kExitRefused);
  }
  const auto with_them = load_settings(command.config);
  if (!with_them) {
    print_lines(io.err, with_them.error().lines);
    return {.status = with_them.error().status, .why = with_them.error().lines.front()};
  }
  Added done{.status = run_as_owner(command, *with_them, io)};
  for (const conf::Filter& filter : with_them->filters) {
    std::error_code ignored;
    const bool is_new = std::ranges::find(command.names, filter.name) != command.names.end();
    if (!is_new) continue;
    if (std::filesystem::exists(filter.file, ignored)) {
      added.keep(filter.name);
    } else {
      done.why = fmt::format("{}: not added: its filter could not be built", filter.name);
      print_lines(io.err, {done.why});
    }
  }
  return done;
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
