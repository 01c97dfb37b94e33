// SPDX-License-Identifier: Apache-2.0
#include <event2/event.h>
#include <fmt/format.h>
#include <malloc.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "proxy/cli/commands.h"
#include "proxy/cli/list_run.h"
#include "proxy/daemon/daemon.h"
#include "proxy/daemon/predecessor.h"
#include "proxy/daemon/signals.h"
#include "proxy/io/service_manager.h"
#include "proxy/log/access_log.h"
#include "proxy/log/log.h"
#include "proxy/reload/loading.h"

namespace bloomwall::proxy {
namespace {

constexpr std::chrono::milliseconds kLastWordsBound{2000};
constexpr Milliseconds kSayAgain{60'000};

// libevent's messages go to our log, rate-limited: while epoll_ctl fails libevent reports every socket.
void on_libevent_message(int severity, const char* text) {
  static std::atomic<Milliseconds::rep> told{0};  // when it was last warned; 0: never
  if (severity >= EVENT_LOG_ERR) return log::error("libevent: {}", text);
  if (severity < EVENT_LOG_WARN) return log::debug("libevent: {}", text);
  const Milliseconds::rep now = monotonic_now().count();
  Milliseconds::rep last = told.load(std::memory_order_relaxed);
  if (last != 0 && now - last < kSayAgain.count()) return;
  if (told.compare_exchange_strong(last, now, std::memory_order_relaxed)) log::warning("libevent: {}", text);
}

int serve(const std::filesystem::path& config, conf::Config settings, std::unique_ptr<AccessLog> access_log,
          PassedSockets passed) {
  try {
    Daemon daemon(config, std::move(settings), std::move(access_log), std::move(passed));
    return daemon.run();
  } catch (const std::exception& error) {  // no epoll, no signalfd, no thread: nothing can be served
    log::error("{}", error.what());
    return kExitError;
  }
}

// Memory of a peak goes back to the system: large allocations (mostly heads) use mmap() and are unmapped when freed,
// while the heap could not shrink below a small block at its end.
void give_memory_back() {
  constexpr int kOwnPages = 32 * 1024, kHeapTop = 256 * 1024;  // bytes
  ::mallopt(M_MMAP_THRESHOLD, kOwnPages);
  ::mallopt(M_TRIM_THRESHOLD, kHeapTop);
}

// Of an upgrade: what goes wrong from here on can be said to the process before, and stderr is that of the service,
// which outlives that process.
void leave_errors_to_channel(PassedSockets& passed) {
  ServiceManager::be_silent();
  if (passed.errors) ::dup2(passed.errors.get(), STDERR_FILENO);
  passed.errors.reset();
}

}  // namespace

int run_serve(const ServeCommand& command, const Streams& io) {
  if (!command.lists.empty()) {
    ServeCommand all = command;
    all.lists.insert(all.lists.end(), command.more_lists.begin(), command.more_lists.end());
    return run_lists(all, io);
  }
  if (!command.more_lists.empty()) {
    print_lines(io.err, {command.more_lists.front() + ": `run` takes lists behind --list alone"});
    return kExitError;
  }
  auto settings = load_settings(command.config);
  if (!settings) {
    print_lines(io.err, settings.error().lines);
    return settings.error().status;
  }
  give_memory_back();
  auto passed = passed_sockets();  // before there are threads
  if (!passed) {
    print_lines(io.err, {passed.error()});
    return kExitError;
  }
  block_signals();
  if (passed->is_upgrade()) leave_errors_to_channel(*passed);
  const auto fail = [&](const std::string& why) {
    print_lines(io.err, {why});
    Predecessor::tell(passed->channel.get(), why);
    return kExitError;
  };
  if (const auto opened = open_log(settings->log); !opened) return fail(opened.error());
  auto access_log = AccessLog::open(settings->log.access);
  if (!access_log) return fail(access_log.error());
  event_set_log_callback(on_libevent_message);
  log::info("bloomwall {} starts", BLOOMWALL_VERSION);
  if (const auto told = built_in_defaults(command.config)) log::warning("{}", *told);
  const std::string log_file = settings->log.file;
  const int status = serve(command.config, *std::move(settings), *std::move(access_log), *std::move(passed));
  close_log(kLastWordsBound);
  const bool says_elsewhere = log_file != "stderr" && log_file != "stdout";
  if (status != kExitDone && says_elsewhere) print_lines(io.err, {fmt::format("{} says why it ended", log_file)});
  return status;
}

}  // namespace bloomwall::proxy
