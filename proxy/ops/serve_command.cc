// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <exception>
#include <utility>

#include "proxy/log/log.h"
#include "proxy/ops/commands.h"
#include "proxy/ops/daemon.h"
#include "proxy/ops/passed_sockets.h"

namespace bloomwall::proxy {
namespace {

constexpr std::chrono::milliseconds kFlushBound{2000};

int serve(const std::filesystem::path& config, conf::Config settings, std::unique_ptr<AccessLog> access_log,
          std::vector<ListeningSocket> passed) {
  try {
    Daemon daemon(config, std::move(settings), std::move(access_log), std::move(passed));
    return daemon.run();
  } catch (const std::exception& error) {  // no epoll, no signalfd, no thread: nothing can be served
    log::error("{}", error.what());
    return kExitError;
  }
}

}  // namespace

int run_serve(const ServeCommand& command, const Streams& io) {
  auto settings = load_settings(command.config);
  if (!settings) {
    print_lines(io.err, settings.error().lines);
    return settings.error().status;
  }
  auto passed = passed_sockets();  // before there are threads
  if (!passed) {
    print_lines(io.err, {passed.error()});
    return kExitError;
  }
  block_signals();
  if (const auto opened = open_log(settings->log); !opened) {
    print_lines(io.err, {opened.error()});
    return kExitError;
  }
  auto access_log = AccessLog::open(settings->log.access);
  if (!access_log) {
    print_lines(io.err, {access_log.error()});
    return kExitError;
  }
  log::info("bloomwall {} starts", BLOOMWALL_VERSION);
  const int status = serve(command.config, *std::move(settings), *std::move(access_log), *std::move(passed));
  close_log(kFlushBound);
  return status;
}

}  // namespace bloomwall::proxy
