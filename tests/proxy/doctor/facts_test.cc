// What is seen of this machine, and what the control socket says.
// SPDX-License-Identifier: Apache-2.0
#include "proxy/doctor/facts.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <nlohmann/json.hpp>

#include "proxy/io/interfaces.h"
#include "tests/support/temp_dir.h"

namespace bloomwall::proxy {
namespace {

using nlohmann::ordered_json;

TEST(DoctorFacts, InterfacesHaveNetworks) {
  const auto all = interfaces();
  const auto loopback = std::ranges::find(all, "127.0.0.1", &Interface::address);
  if (loopback == all.end()) GTEST_SKIP() << "no loopback interface is up";
  EXPECT_TRUE(loopback->is_loopback);
  EXPECT_EQ(loopback->network, "127.0.0.0/8");
}

TEST(DoctorFacts, FoldersAreLookedAt) {
  const test::TempDir place;
  const FolderState seen = look_at_folder("k", place.path(), std::nullopt);
  EXPECT_EQ(seen.error, 0);
  EXPECT_TRUE(seen.is_writable);
  EXPECT_GT(seen.bytes, 0U);
  EXPECT_EQ(look_at_folder("k", place.path() / "absent", std::nullopt).error, ENOENT);
  std::ofstream(place.path() / "file") << "x";
  EXPECT_EQ(look_at_folder("k", place.path() / "file", std::nullopt).error, ENOTDIR);
}

TEST(DoctorFacts, AFolderOfAnotherIsNotWritable) {
  const test::TempDir place;
  EXPECT_FALSE(look_at_folder("k", place.path(), uid_t{65'533}).is_writable);
  EXPECT_TRUE(look_at_folder("k", place.path(), ::geteuid()).is_writable);
}

TEST(DoctorFacts, DescriptorLimits) {
  EXPECT_GT(descriptor_limit_of(::getpid()).value_or(0), 0U);
  EXPECT_FALSE(descriptor_limit_of(-1));
}

TEST(DoctorFacts, StatusIsRead) {
  Running running;
  take_status(ordered_json::parse(R"({"pid":7,"configuration":"/c.yaml","started":"1970-01-01T00:00:10Z"})"), running);
  EXPECT_EQ(running.pid, 7);
  EXPECT_EQ(running.configuration, "/c.yaml");
  EXPECT_EQ(running.loaded, 10);
}

TEST(DoctorFacts, OfReloadsTheNewestCounts) {
  const auto taken = [](const char* items) {
    Running running{.loaded = 10};
    take_reloads(ordered_json::parse(items), running);
    return running;
  };
  EXPECT_EQ(taken(R"({"items":[{"at":"1970-01-01T00:00:20Z","ok":true},{"at":"1970-01-01T00:00:15Z","ok":false}]})")
                .has_failed_reload,
            false);
  const Running failed = taken(
      R"({"items":[{"at":"1970-01-01T00:00:30Z","ok":false,"lines":["why"]},{"at":"1970-01-01T00:00:20Z","ok":true}]})");
  EXPECT_TRUE(failed.has_failed_reload);
  EXPECT_EQ(failed.failed_at, 30);
  EXPECT_EQ(failed.failure, "why");
  EXPECT_EQ(failed.loaded, 20);
}

TEST(DoctorFacts, WhatIsNotUnderstoodIsLeftOut) {
  for (const char* text : {"{}", R"({"items":3})", R"({"items":[1,null,{"at":7,"ok":"x","lines":5,"name":[]}]})"}) {
    Running running;
    const ordered_json json = ordered_json::parse(text);
    take_status(json, running);
    take_filters(json, running);
    take_reloads(json, running);
    EXPECT_EQ(running.pid, 0);
    EXPECT_EQ(running.loaded, 0);
  }
}

}  // namespace
}  // namespace bloomwall::proxy
