// The real program with sockets that were opened for it, as systemd's socket units do.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <signal.h>

#include <memory>

#include "tests/end_to_end/servers.h"
#include "tests/support/scripted_peer.h"

namespace bloomwall::test {
namespace {

class Activation : public testing::Test {
 protected:
  void SetUp() override {
    if (!have_program("systemd-socket-activate") || !have_program("curl")) {
      GTEST_SKIP() << "needs systemd-socket-activate and curl";
    }
  }
  // The program starts with the first who connects to `port`; its configuration says to listen on `listener`.
  std::unique_ptr<Process> start(std::uint16_t port, const std::string& listener) const {
    const std::string config =
        folder_.write("bloomwall.yaml",
                      "listeners: [{address: \"" + listener +
                          "\"}]\nworkers: 2\naccess: {deny_destinations: []}\nlog: {access: {file: off}}\n"
                          "admin: {address: null, control_socket: null}\ntimeouts: {announce: 0}\nstate_dir: null\n");
    auto process = std::make_unique<Process>(std::vector<std::string>{"systemd-socket-activate", "-l",
                                                                      "127.0.0.1:" + std::to_string(port),
                                                                      bloomwall_program(), "run", "--config", config});
    EXPECT_TRUE(process->wait_for_line("Listening on")) << process->output();
    return process;
  }
  // Of a request to where nobody listens.
  static std::string status(std::uint16_t port, Seconds bound = Seconds(20)) {
    return run({"curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "-m", std::to_string(bound.count()), "-x",
                "http://127.0.0.1:" + std::to_string(port), "http://127.0.0.1:" + std::to_string(closed_port()) + "/"})
        .out;
  }
  const TempDir folder_;
};

TEST_F(Activation, WhoeverConnectsBeforeItRunsIsServed) {
  const std::uint16_t port = free_port();
  const std::string address = "127.0.0.1:" + std::to_string(port);
  const auto process = start(port, address);
  for (int i = 0; i < 8; ++i) EXPECT_EQ(status(port), "502") << process->output();
  EXPECT_TRUE(process->wait_for_line("listening on " + address));
  process->signal(SIGTERM);
  EXPECT_EQ(process->wait(), 0) << process->output();
}

TEST_F(Activation, ASocketThatNoListenerHasIsAnError) {
  const std::uint16_t port = free_port();
  const auto process = start(port, "127.0.0.1:0");
  status(port, Seconds(5));
  EXPECT_EQ(process->wait(), 2) << process->output();
  EXPECT_TRUE(process->wait_for_line("the service manager passed a socket for 127.0.0.1:" + std::to_string(port) +
                                     ", which no listener has"))
      << process->output();
}

}  // namespace
}  // namespace bloomwall::test
