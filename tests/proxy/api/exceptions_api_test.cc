// The API of exceptions without a server: what becomes of changes that overlap, and of what ends by its time.
// SPDX-License-Identifier: Apache-2.0
#include "proxy/api/exceptions_api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <ctime>
#include <map>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

#include "proxy/state/time_text.h"
#include "tests/proxy/api/fake_served.h"
#include "tests/support/loop_thread.h"
#include "tests/support/temp_dir.h"

namespace bloomwall::proxy {
namespace {

using testing::HasSubstr;
constexpr std::chrono::seconds kLongest{20};

// Replies that came later, by the number of their request.
class Replies final : public HttpStream::Sink {
 public:
  HttpReply of(std::uint64_t id) {
    std::unique_lock lock(mutex_);
    if (!came_.wait_for(lock, kLongest, [&] { return replies_.contains(id); })) throw std::runtime_error("no reply");
    return replies_.at(id);
  }

 private:
  void write(std::uint64_t, std::string_view) override {}
  void end(std::uint64_t) override {}
  bool goes_on(std::uint64_t) const override { return true; }
  void reply(std::uint64_t id, const HttpReply& whole) override {
    const std::lock_guard lock(mutex_);
    replies_[id] = whole;
    came_.notify_all();
  }
  std::mutex mutex_;
  std::condition_variable came_;
  std::map<std::uint64_t, HttpReply> replies_;  // guarded by mutex_
};

class ExceptionsOverTheApi : public testing::Test {
 protected:
  void SetUp() override {
    loop_.call([this] {
      auto store = StateStore::open(folder_.path());
      ASSERT_TRUE(store.has_value()) << store.error();
      state_.emplace(loop_.loop, *std::move(store));
      api_.emplace(*state_, served_);
      routes_ = api_->routes();
    });
  }
  void TearDown() override {
    EXPECT_TRUE(loop_.call_until([this] {
      if (state_->is_asked()) return false;  // what comes of it is still to be taken
      api_.reset();
      state_.reset();
      return true;
    }));
  }
  // On the loop. Its reply comes at once, or to replies_ under `id`.
  HttpReply ask(std::string_view method, std::uint64_t id, const Caller& caller, std::string_view body,
                const std::string& argument = {}) {
    const RequestHead head;
    const std::vector<std::string_view> arguments{argument};
    const HttpRequest http{head, arguments, body, HttpStream(replies_, id)};
    for (const ApiRoute& route : routes_) {
      if (route.method == method) return route.handler({http, caller});
    }
    throw std::runtime_error("no route");
  }
  static std::string allow(const std::string& entry, std::int64_t until) {
    return R"({"action":"allow","entry":")" + entry + R"(","why":"x","until":")" + time_text(until) + "\"}";
  }
  const Caller admin_{.author = {.who = "root", .via = "socket"}, .role = Role::admin};
  const Caller teacher_{.author = {.who = "anna", .via = "token"}, .role = Role::reviewer, .groups = {"pupils"}};

  test::TempDir folder_;
  test::LoopThread loop_;
  Replies replies_;
  test::FakeServed served_{loop_.loop};
  std::optional<StateService> state_;
  std::optional<ExceptionsApi> api_;
  std::vector<ApiRoute> routes_;
};

// Ids are given in order, so the next one can be guessed.
TEST_F(ExceptionsOverTheApi, OneThatIsBeingMadeIsNotRemovedByAReviewerOfOtherGroups) {
  const std::int64_t later = std::time(nullptr) + 600;
  loop_.call([&] {
    EXPECT_TRUE(ask("POST", 1, admin_, allow("a.test", later)).is_later);
    const HttpReply refused = ask("DELETE", 2, teacher_, "", "1");
    EXPECT_FALSE(refused.is_later);
    EXPECT_EQ(refused.status, 404);
  });
  EXPECT_EQ(replies_.of(1).status, 201);
  loop_.call([&] {
    EXPECT_EQ(state_->state().exceptions.size(), 1U);
    EXPECT_EQ(ask("DELETE", 3, teacher_, "", "1").status, 403);
    EXPECT_TRUE(ask("DELETE", 4, admin_, "", "1").is_later);
  });
  EXPECT_EQ(replies_.of(4).status, 200);
}

// Tunnels that it let in must end then, also while somebody else holds the file.
TEST_F(ExceptionsOverTheApi, OneThatEndsIsPublishedThoughTheFileIsBusy) {
  const std::int64_t end = std::time(nullptr) + 2;
  loop_.call([&] { EXPECT_TRUE(ask("POST", 1, admin_, allow("a.test", end)).is_later); });
  ASSERT_EQ(replies_.of(1).status, 201);
  auto database = Database::open(folder_.path() / "state.db");
  ASSERT_TRUE(database.has_value()) << database.error();
  Transaction busy(*database);
  ASSERT_TRUE(busy.began().has_value());
  const auto sweep = [this] {
    int published = 0;
    loop_.call([&] {
      api_->sweep();
      published = served_.published;
    });
    return published;
  };
  const int before = sweep();
  while (std::time(nullptr) < end) std::this_thread::yield();
  EXPECT_EQ(sweep(), before + 1) << "while the state's thread waits for the file";
  EXPECT_EQ(sweep(), before + 1) << "once for what has ended";
}

}  // namespace
}  // namespace bloomwall::proxy
