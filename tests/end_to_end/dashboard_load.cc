// SPDX-License-Identifier: Apache-2.0
#include "tests/end_to_end/dashboard_load.h"

#include <array>
#include <chrono>
#include <exception>
#include <stdexcept>
#include <utility>

#include "tests/support/scripted_peer.h"

namespace bloomwall::test {
namespace {

constexpr std::chrono::milliseconds kPause{50};  // between two questions: a few people at once
constexpr std::array kQuestions{"/status",
                                "/counters",
                                "/history?span=1h",
                                "/tops?span=1h&limit=20",
                                "/requests?decision=blocked&limit=20",
                                "/requests?host=marked&limit=50",
                                "/exceptions",
                                "/groups",
                                "/filters",
                                "/lists",
                                "/reloads",
                                "/audit",
                                "/reports",
                                "/tokens",
                                "/session",
                                "/explain?url=http://a.example.test/",
                                "/metrics"};

}  // namespace

DashboardLoad::DashboardLoad(std::uint16_t port, std::string token) : port_(port), token_(std::move(token)) {
  threads_.emplace_back([this] { run_stream(); });
  threads_.emplace_back([this] { run_questions(); });
}

DashboardLoad::~DashboardLoad() { stop(); }

DashboardReport DashboardLoad::stop() {
  stopping_ = true;
  for (auto& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
  const std::lock_guard lock(mutex_);
  return report_;
}

void DashboardLoad::fail(const std::string& what) {
  const std::lock_guard lock(mutex_);
  ++report_.failure_count;
  if (report_.failures.size() < 10) report_.failures.push_back(what);
}

void DashboardLoad::count(std::uint64_t& what) {
  const std::lock_guard lock(mutex_);
  ++what;
}

std::string DashboardLoad::question(const std::string& path) const {
  const std::string full = path == "/metrics" ? path : "/api/v1" + path;
  return "GET " + full + " HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer " + token_ +
         "\r\nConnection: close\r\n\r\n";
}

// A stream ends with its process; as a browser does, this opens it again then.
void DashboardLoad::run_stream() {
  while (!stopping_) {
    try {
      ScriptedPeer peer = ScriptedPeer::connect(port_);
      peer.send(question("/stream"));
      const auto head = peer.read_head();
      if (!head.starts_with("HTTP/1.1 200 ")) throw std::runtime_error("no stream: " + head);
      count(report_.streams);
      while (!stopping_ && peer.read_until("\n") != "0\r\n") count(report_.lines);
    } catch (const std::exception& e) {
      fail(e.what());
    }
  }
}

void DashboardLoad::run_questions() {
  for (std::size_t i = 0; !stopping_; ++i) {
    const std::string path = kQuestions[i % kQuestions.size()];
    try {
      ScriptedPeer peer = ScriptedPeer::connect(port_);
      peer.send(question(path));
      const std::string answer = peer.read_to_end();
      if (!answer.starts_with("HTTP/1.1 200 ")) throw std::runtime_error(answer.substr(0, 300));
      count(report_.answers);
    } catch (const std::exception& e) {
      fail(path + ": " + e.what());
    }
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace bloomwall::test
