// SPDX-License-Identifier: Apache-2.0
#include "proxy/cli/list_run.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "base/terminal.h"
#include "filter/cli/commands.h"
#include "proxy/io/endpoint.h"
#include "proxy/reload/loading.h"

namespace bloomwall::proxy {
namespace {

constexpr const char* kFilterFile = "lists.bwf";
constexpr const char* kConfigFile = "bloomwall.yaml";

std::string configuration_text(const std::string& address) {
  return fmt::format(
      "listeners: [{{address: \"{}\"}}]\n"
      "filters: [{{name: lists, file: {}}}]\n"
      "state_dir: null\n"
      "admin: {{address: null, control_socket: null}}\n"
      "timeouts: {{announce: 0}}\n",
      address, kFilterFile);
}

void remove_folder(const std::filesystem::path& folder) {
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
}

// Only its user may look into it. Error: why there is none.
tl::expected<std::filesystem::path, std::string> make_folder(const std::string& address) {
  std::error_code failed;
  const std::filesystem::path place = std::filesystem::temp_directory_path(failed);
  if (failed) return tl::unexpected(fmt::format("$TMPDIR: {}", failed.message()));
  std::string name = (place / "bloomwall-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) return tl::unexpected(fmt::format("{}: {}", name, std::strerror(errno)));
  std::filesystem::path folder = name;
  std::ofstream file(folder / kConfigFile);
  file << configuration_text(address) << std::flush;
  if (file) return folder;
  remove_folder(folder);
  return tl::unexpected(fmt::format("{}: cannot be written", (folder / kConfigFile).string()));
}

// What people take for a list that is given here; nullptr: it may be one.
const char* why_not(const std::string& list) {
  if (list == "-") return "lists are read again by SIGHUP, and stdin cannot be: give a file";
  if (list.starts_with("http://") || list.starts_with("https://")) {
    return "lists are not fetched here: fetch it before (curl -O URL), or name it under filters[].sources of a "
           "configuration, which `bloomwall update` fetches";
  }
  if (list.ends_with(".bwf")) return "is a filter already: name it under filters[].file of a configuration";
  return nullptr;
}

int status_of(int waited) { return WIFEXITED(waited) ? WEXITSTATUS(waited) : 128 + WTERMSIG(waited); }

class ListRun {
 public:
  ListRun(const ServeCommand& command, const Streams& io, std::filesystem::path folder)
      : command_(command), io_(io), folder_(std::move(folder)) {
    ::sigemptyset(&awaited_);
    for (const int signal : {SIGHUP, SIGTERM, SIGINT, SIGUSR1, SIGCHLD}) ::sigaddset(&awaited_, signal);
    ::sigprocmask(SIG_BLOCK, &awaited_, &before_);
  }
  ListRun(const ListRun&) = delete;
  ListRun& operator=(const ListRun&) = delete;
  ~ListRun() {
    remove_folder(folder_);
    ::sigprocmask(SIG_SETMASK, &before_, nullptr);
  }

  int run() {
    build();
    while (!status_) {
      int signal = 0;
      if (::sigwait(&awaited_, &signal) == 0) on_signal(signal);
    }
    return *status_;
  }

 private:
  // `work` in a process of its own, which ends with this one.
  pid_t begin(const std::function<int()>& work) {
    io_.out.flush();
    io_.err.flush();
    const pid_t parent = ::getpid();
    const pid_t child = ::fork();
    if (child != 0) return child;
    // A terminal's Ctrl-C comes from this process, and once.
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (::getppid() != parent) ::_exit(kExitError);
    const int status = work();
    io_.out.flush();
    io_.err.flush();
    ::_exit(status);
  }

  void build() {
    wants_build_ = false;
    builder_ = begin([this] {
      ::sigprocmask(SIG_SETMASK, &before_, nullptr);
      filter::BuildCommand build;
      build.options.output = folder_ / kFilterFile;
      build.options.lists = command_.lists;
      build.quiet = true;
      return filter::run_build(build, io_);
    });
    if (builder_ < 0) fail(fmt::format("no process for the builder: {}", std::strerror(errno)));
  }

  void serve() {
    print_lines(io_.err, {fmt::format("SIGHUP to process {} reads the lists again; Ctrl-C ends it", ::getpid())});
    proxy_ = begin([this] {
      // The others stay blocked: one that comes before the proxy listens to signals must wait for it.
      sigset_t children{};
      ::sigemptyset(&children);
      ::sigaddset(&children, SIGCHLD);
      ::sigprocmask(SIG_UNBLOCK, &children, nullptr);
      const int status = run_serve({.config = folder_ / kConfigFile}, io_);
      remove_folder(folder_);
      return status;
    });
    if (proxy_ < 0) fail(fmt::format("no process for the proxy: {}", std::strerror(errno)));
  }

  void fail(const std::string& why) {
    print_lines(io_.err, {why});
    if (proxy_ <= 0) status_ = kExitError;
  }

  void on_signal(int signal) {
    if (signal == SIGCHLD) return on_ended();
    if (signal == SIGHUP) {
      wants_build_ = true;
      if (builder_ <= 0) build();
      return;
    }
    if (proxy_ > 0) ::kill(proxy_, signal);
    if (signal == SIGUSR1) return;
    if (builder_ > 0) ::kill(builder_, signal);
    is_ending_ = true;
  }

  void on_ended() {
    int waited = 0;
    for (pid_t child = ::waitpid(-1, &waited, WNOHANG); child > 0; child = ::waitpid(-1, &waited, WNOHANG)) {
      if (child == builder_) on_built(status_of(waited));
      if (child == proxy_) on_served(status_of(waited));
    }
  }

  void on_built(int status) {
    builder_ = 0;
    if (is_ending_) {
      if (proxy_ <= 0) status_ = kExitError;
      return;
    }
    if (wants_build_) return build();
    if (status == kExitDone) {
      if (proxy_ > 0) {
        ::kill(proxy_, SIGHUP);
      } else {
        serve();
      }
      return;
    }
    const bool serves = proxy_ > 0;
    print_lines(io_.err,
                {serves ? "the lists are not taken: the filter before stays in use"
                        : "no filter could be made of the lists; `bloomwall-filter build` has options for it"});
    if (!serves) status_ = status;
  }

  void on_served(int status) {
    proxy_ = 0;
    status_ = status;
    if (builder_ <= 0) return;
    ::kill(builder_, SIGTERM);
    ::waitpid(builder_, nullptr, 0);
  }

  const ServeCommand& command_;
  const Streams& io_;
  const std::filesystem::path folder_;
  sigset_t awaited_{}, before_{};
  pid_t builder_ = 0, proxy_ = 0;  // 0: there is none
  bool wants_build_ = false;       // the lists may have changed since the builder has begun
  bool is_ending_ = false;
  std::optional<int> status_;
};

}  // namespace

int run_lists(const ServeCommand& command, const Streams& io) {
  if (!Endpoint::parse(command.listen)) {
    print_lines(io.err,
                {fmt::format("--listen {}: give an address and a port, such as 127.0.0.1:3128", command.listen)});
    return kExitError;
  }
  for (const std::string& list : command.lists) {
    if (const char* const why = why_not(list); why != nullptr) {
      print_lines(io.err, {fmt::format("--list {}: {}", printable(list), why)});
      return kExitError;
    }
  }
  auto folder = make_folder(command.listen);
  if (!folder) {
    print_lines(io.err, {folder.error()});
    return kExitError;
  }
  return ListRun(command, io, *std::move(folder)).run();
}

}  // namespace bloomwall::proxy
