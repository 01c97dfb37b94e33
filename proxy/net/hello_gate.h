// Holds back what a client sends first through a CONNECT tunnel until it is known to be allowed: reads the ClientHello,
// judges its server name, compares it with the authority. Holds at most what ClientHelloReader allows.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "filter/policy/policy.h"
#include "proxy/http/client_hello.h"
#include "proxy/io/chain.h"
#include "proxy/net/worker_state.h"

namespace bloomwall::proxy {

class HelloGate {
 public:
  enum class Result : std::uint8_t {
    wait,  // for more of the hello
    pass,  // relay what is held, and everything after it
    cut,   // close; why() and verdict() say why
  };
  explicit HelloGate(WorkerState& state) : state_(state), held_(state.io.pool) {}

  // The client's next octets; all of them are kept. `authority` is the canonical host of the CONNECT.
  Result feed(std::span<const char> bytes, std::string_view authority, const Snapshot& snapshot);

  Chain& held() { return held_; }
  bool has_name() const { return has_name_; }
  std::string_view name() const { return host_; }              // canonical; empty: none
  const filter::Verdict& verdict() const { return verdict_; }  // of the name
  const char* why() const { return why_; }

 private:
  Result judge(std::string_view authority, const Snapshot& snapshot);

  WorkerState& state_;
  ClientHelloReader reader_;
  Chain held_;
  filter::Verdict verdict_;
  std::string host_;
  const char* why_ = "";
  bool has_name_ = false;
};

}  // namespace bloomwall::proxy
