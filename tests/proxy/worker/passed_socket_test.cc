// Listening sockets that somebody else opened and keeps open, as a service manager does.
// SPDX-License-Identifier: Apache-2.0
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <chrono>
#include <future>
#include <vector>

#include "proxy/io/endpoint.h"
#include "tests/proxy/worker/proxy_fixture.h"

namespace bloomwall::test {
namespace {

using namespace std::chrono_literals;

class PassedSocket : public ProxyTest {
 protected:
  PassedSocket() {
    given.passed = held_->fd.get();
    given.settings.listeners.front().address = held_->address.text();
  }
  const tl::expected<proxy::ListeningSocket, std::string> held_ =
      proxy::listen_on(*proxy::Endpoint::parse("127.0.0.1:0"));
};

std::chrono::microseconds processor_time() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  return std::chrono::seconds(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
         std::chrono::microseconds(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

TEST_F(PassedSocket, IsServedByEveryWorker) {
  given.settings.workers = 3;
  EXPECT_EQ(the_proxy().addresses().front().port(), held_->address.port());
  for (int i = 0; i < 20; ++i) expect_alive();
}

TEST_F(PassedSocket, ThatNoListenerHasIsAnError) {
  given.settings.listeners.front().address = "127.0.0.1:0";
  try {
    the_proxy();
    FAIL() << "taken";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find(held_->address.text() + ", which no listener has"), std::string::npos)
        << error.what();
  }
}

TEST_F(PassedSocket, IsLeftAloneWhileWhatIsUnderWayEnds) {
  given.settings.timeouts.request_header = 1s;  // all of them have come before
  auto [client, server] = tunnel();
  auto idle = new_client();
  wait_for_counter(&Counters::client_connections_active, 2);
  the_proxy().drain(kPatience);
  idle.expect_end();  // from here on nobody is accepted

  auto next = new_client();
  const auto before = processor_time();
  EXPECT_TRUE(next.is_quiet_for(400ms));
  EXPECT_LT(processor_time() - before, 100ms) << "woken again and again for somebody else's";
  const UniqueFd accepted(::accept4(held_->fd.get(), nullptr, nullptr, SOCK_CLOEXEC));
  EXPECT_TRUE(static_cast<bool>(accepted)) << "who waits is left to whoever comes next";
  client.send("still");
  server.expect("still");
}

// accept() fails from then on, and the kernel goes on saying that it is ready.
TEST_F(PassedSocket, ThatSomebodyShutsDownIsNotSpunOn) {
  auto [client, server] = tunnel();
  const auto before = processor_time();
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_EQ(::shutdown(held_->fd.get(), SHUT_RDWR), 0);
  EXPECT_TRUE(client.is_quiet_for(500ms));
  EXPECT_LT(processor_time() - before, 100ms);
  const std::uint64_t pauses = counter(&Counters::accept_pauses_total);
  EXPECT_GE(pauses, 1U);
  constexpr auto kBackOff = 200ms;
  const auto begun = (std::chrono::steady_clock::now() - begin) / kBackOff + 1;
  EXPECT_LE(pauses, static_cast<std::uint64_t>(begun) + 1);
  client.send("still");
  server.expect("still");
}

using SharedListeners = ProxyTest;

TEST_F(SharedListeners, AreOneForEachQueue) {
  given.settings.workers = 3;
  const auto shared = the_proxy().share_listeners();
  ASSERT_TRUE(shared.has_value()) << shared.error();
  ASSERT_EQ(shared->size(), 3U);
  for (const auto& socket : *shared) {
    EXPECT_EQ(socket.address.port(), the_proxy().addresses().front().port());
    EXPECT_FALSE(socket.is_passed);
  }
}

TEST_F(PassedSocket, IsSharedAsOneQueueOfAllWorkers) {
  given.settings.workers = 3;
  const auto shared = the_proxy().share_listeners();
  ASSERT_TRUE(shared.has_value()) << shared.error();
  ASSERT_EQ(shared->size(), 1U);
  EXPECT_TRUE(shared->front().is_passed);
}

TEST_F(SharedListeners, KeepTheirClientsForASuccessor) {
  given.list = "blocked.test\n";
  auto [client, server] = tunnel();
  auto kept = new_client(get("blocked.test"));
  EXPECT_EQ(status_of(read_answer(kept).head), 403);
  const auto shared = the_proxy().share_listeners();
  ASSERT_TRUE(shared.has_value()) << shared.error();
  ASSERT_EQ(shared->size(), 1U);
  the_proxy().drain(kPatience, true);
  do {
    kept.send(get("blocked.test"));
  } while (field_of(read_answer(kept).head, "Connection") != "close");  // from here on nobody is accepted

  auto next = new_client();
  pollfd ready{shared->front().fd.get(), POLLIN, 0};
  ASSERT_EQ(::poll(&ready, 1, static_cast<int>(kPatience.count())), 1) << "refused";
  const UniqueFd accepted(::accept4(shared->front().fd.get(), nullptr, nullptr, SOCK_CLOEXEC));
  EXPECT_TRUE(static_cast<bool>(accepted));
  client.send("still");
  server.expect("still");
}

// Whoever connects once the drain has said so is in the queues, for the successor.
TEST_F(SharedListeners, AreClosedByEveryWorkerWhenTheDrainSaysSo) {
  given.settings.workers = 4;
  const auto shared = the_proxy().share_listeners();
  ASSERT_TRUE(shared.has_value()) << shared.error();
  std::promise<void> closed;
  the_proxy().drain(kPatience, true, [&] { closed.set_value(); });
  ASSERT_EQ(closed.get_future().wait_for(kPatience), std::future_status::ready);
  constexpr int kClients = 64;  // some for each queue
  std::vector<ScriptedPeer> clients;
  for (int i = 0; i < kClients; ++i) clients.push_back(new_client());
  std::vector<pollfd> queues;
  for (const auto& socket : *shared) queues.push_back({socket.fd.get(), POLLIN, 0});
  int waiting = 0;
  while (waiting < kClients && ::poll(queues.data(), queues.size(), static_cast<int>(kPatience.count())) > 0) {
    for (const pollfd& queue : queues) {
      while (UniqueFd(::accept4(queue.fd, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK))) ++waiting;
    }
  }
  EXPECT_EQ(waiting, kClients);
}

}  // namespace
}  // namespace bloomwall::test
