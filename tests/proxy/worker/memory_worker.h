// A base of fixtures: a worker's state without threads and sockets. Whatever would have to be dialled waits for a
// resolver that the test plays.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "proxy/auth/authenticator.h"
#include "proxy/decision/worker_state.h"
#include "proxy/io/event_loop.h"
#include "proxy/log/access_log.h"
#include "proxy/upstream/addresses.h"
#include "tests/support/fake_resolver.h"

namespace bloomwall::proxy {

class MemoryWorker {
 protected:
  std::uint64_t errors(ErrorKind kind) const { return counters_.errors[static_cast<std::size_t>(kind)].get(); }
  static std::unique_ptr<AccessLog> no_log() {
    conf::AccessLog settings;
    settings.file = "off";
    return *AccessLog::open(settings);
  }

  EventLoop loop_;
  BufferPool pool_{64 << 20};
  std::vector<char> scratch_ = std::vector<char>(std::size_t{64} * 1024);
  IoContext io_{loop_, pool_, scratch_};
  Counters counters_;
  std::unique_ptr<AccessLog> log_ = no_log();
  test::FakeResolver resolver_;
  OwnAddresses own_;
  RequestRate rate_;
  Authenticator authenticator_{CredentialHasher::Secret{}, {}};  // nobody logs in
  WorkerState worker_{io_, {loop_, resolver_, own_}, counters_, *log_, "test", rate_, authenticator_, 1};
  conf::Config settings_;
  std::string listener_ = "memory";
};

}  // namespace bloomwall::proxy
