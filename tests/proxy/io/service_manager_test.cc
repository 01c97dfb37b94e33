// SPDX-License-Identifier: Apache-2.0
#include "proxy/io/service_manager.h"

#include <gtest/gtest.h>
#include <time.h>

#include "tests/support/notify_socket.h"

namespace bloomwall::proxy {
namespace {

using namespace std::chrono_literals;
using test::NotifySocket;

TEST(ServiceManager, SpeaksTheLanguageOfSdNotify) {
  const NotifySocket systemd;
  ServiceManager manager;
  manager.ready("serving");
  EXPECT_EQ(systemd.next(), "READY=1\nSTATUS=serving");
  manager.stopping("draining");
  EXPECT_EQ(systemd.next(), "STOPPING=1\nSTATUS=draining");
  manager.status("verifying a.bwf: 10 %");
  EXPECT_EQ(systemd.next(), "STATUS=verifying a.bwf: 10 %");
  manager.extend(90s);
  EXPECT_EQ(systemd.next(), "EXTEND_TIMEOUT_USEC=90000000");
  manager.alive();
  EXPECT_EQ(systemd.next(), "WATCHDOG=1");
}

TEST(ServiceManager, AReloadCarriesTheTimeItBegan) {
  const NotifySocket systemd;
  timespec before{}, after{};
  ::clock_gettime(CLOCK_MONOTONIC, &before);
  ServiceManager().reloading("reloading");
  ::clock_gettime(CLOCK_MONOTONIC, &after);
  const std::string message = systemd.next();
  const std::string mark = "RELOADING=1\nMONOTONIC_USEC=";
  ASSERT_TRUE(message.starts_with(mark)) << message;
  const auto microseconds = std::stoll(message.substr(mark.size()));
  EXPECT_GE(microseconds, before.tv_sec * 1'000'000LL + before.tv_nsec / 1000);
  EXPECT_LE(microseconds, after.tv_sec * 1'000'000LL + after.tv_nsec / 1000);
  EXPECT_TRUE(message.ends_with("\nSTATUS=reloading")) << message;
}

TEST(ServiceManager, AStatusIsOneLine) {
  const NotifySocket systemd;
  ServiceManager().status("a\nREADY=1\rb");
  EXPECT_EQ(systemd.next(), "STATUS=a READY=1 b");
}

TEST(ServiceManager, WithoutASocketNothingHappens) {
  const NotifySocket systemd;
  ::unsetenv("NOTIFY_SOCKET");
  ServiceManager manager;
  manager.ready("a");
  manager.alive();
  EXPECT_EQ(systemd.next(50ms), "");
}

TEST(ServiceManager, TheWatchdogIsAskedHalfItsTime) {
  ::unsetenv("WATCHDOG_USEC");
  EXPECT_EQ(ServiceManager::watchdog_interval(), std::nullopt);
  ::setenv("WATCHDOG_USEC", "3000000", 1);
  EXPECT_EQ(ServiceManager::watchdog_interval(), 1500ms);
  ::setenv("WATCHDOG_PID", "1", 1);  // meant for another process
  EXPECT_EQ(ServiceManager::watchdog_interval(), std::nullopt);
  ::unsetenv("WATCHDOG_PID");
  ::unsetenv("WATCHDOG_USEC");
}

}  // namespace
}  // namespace bloomwall::proxy
