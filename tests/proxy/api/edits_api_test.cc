// The API of edits without a server: what becomes of an edit whose reload is refused while the state's thread takes no
// more.
// SPDX-License-Identifier: Apache-2.0
#include "proxy/api/edits_api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "proxy/reload/reload_job.h"
#include "tests/proxy/api/fake_served.h"
#include "tests/support/loop_thread.h"
#include "tests/support/temp_dir.h"

namespace bloomwall::proxy {
namespace {

using testing::HasSubstr;

class OneReply final : public HttpStream::Sink {
 public:
  HttpReply get() {
    std::unique_lock lock(mutex_);
    if (!came_.wait_for(lock, std::chrono::seconds(20), [&] { return reply_.has_value(); })) {
      throw std::runtime_error("no reply");
    }
    return *reply_;
  }

 private:
  void write(std::uint64_t, std::string_view) override {}
  void end(std::uint64_t) override {}
  bool goes_on(std::uint64_t) const override { return true; }
  void reply(std::uint64_t, const HttpReply& whole) override {
    const std::lock_guard lock(mutex_);
    reply_ = whole;
    came_.notify_all();
  }
  std::mutex mutex_;
  std::condition_variable came_;
  std::optional<HttpReply> reply_;  // guarded by mutex_
};

class EditsWhileTheStateIsBusy : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directory(file_.parent_path());
    std::ofstream(main_) << "listeners: [{address: \"127.0.0.1:0\"}]\ninclude: [conf.d/*.yaml]\n";
    std::ofstream(file_) << kText;
    loop_.call([this] {
      auto snapshot = std::make_shared<Snapshot>();
      snapshot->settings.admin.edits = true;
      served_.what.snapshot = snapshot;
      auto store = StateStore::open(folder_.path());
      ASSERT_TRUE(store.has_value()) << store.error();
      state_.emplace(loop_.loop, *std::move(store));
      api_.emplace(EditsApi::Process{loop_.loop, *state_, served_, main_, [this](auto done) {
                                       fill_the_queue();
                                       done(outcome_);
                                     }});
      routes_ = api_->routes();
    });
  }
  void TearDown() override {
    go_on_.set_value();
    EXPECT_TRUE(loop_.call_until([this] {
      if (state_->is_asked()) return false;
      api_.reset();
      state_.reset();
      return true;
    }));
  }
  // Once a question is being answered, for until then it has a place in the queue.
  void fill_the_queue() {
    const auto begun = std::make_shared<std::promise<void>>();
    const auto until = go_on_.get_future().share();
    const auto done = [](const StateResult<void>&) {};
    ASSERT_TRUE(state_->ask(
        [begun, until](StateStore&) -> StateResult<void> {
          begun->set_value();
          until.wait();
          return {};
        },
        done));
    begun->get_future().wait();
    while (state_->ask([](StateStore&) -> StateResult<void> { return {}; }, done)) {
    }
  }
  HttpReply put(const std::string& body) {
    loop_.call([&] {
      const RequestHead head;
      const std::vector<std::string_view> arguments{"bedtime"};
      const HttpRequest http{head, arguments, body, HttpStream(reply_, 1)};
      const auto route = std::ranges::find_if(routes_, [](const ApiRoute& each) {
        return each.method == "PUT" && each.path.find("/schedules/") != std::string_view::npos;
      });
      EXPECT_TRUE(route->handler({http, admin_}).is_later);
    });
    return reply_.get();
  }
  std::string text() const {
    std::ifstream in(file_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  static constexpr const char* kText = "schedules:\n- {name: bedtime, times: [mon]}\n";
  const Caller admin_{.author = {.who = "root", .via = "socket"}, .role = Role::admin};
  test::TempDir folder_;
  const std::filesystem::path main_ = folder_.path() / "bloomwall.yaml";
  const std::filesystem::path file_ = folder_.path() / "conf.d/edits.yaml";
  ReloadOutcome outcome_;
  std::promise<void> go_on_;
  test::LoopThread loop_;
  OneReply reply_;
  test::FakeServed served_{loop_.loop};
  std::optional<StateService> state_;
  std::optional<EditsApi> api_;
  std::vector<ApiRoute> routes_;
};

TEST_F(EditsWhileTheStateIsBusy, AFileThatIsRefusedIsPutBackAllTheSame) {
  outcome_ = {78, {}, {"a filter is lost"}};
  const HttpReply reply = put(R"({"times":["tue"]})");
  EXPECT_EQ(reply.status, 409) << reply.body;
  EXPECT_THAT(reply.body, HasSubstr("as it was before, since the reload was refused"));
  EXPECT_THAT(reply.body, HasSubstr("a filter is lost"));
  EXPECT_EQ(text(), kText);
}

TEST_F(EditsWhileTheStateIsBusy, WhatIsInForceIsSaidToBe) {
  const HttpReply reply = put(R"({"times":["tue"]})");
  EXPECT_EQ(reply.status, 200) << reply.body;
  EXPECT_THAT(reply.body, HasSubstr("the audit does not have this edit"));
  EXPECT_THAT(reply.body, HasSubstr(R"("if_match":"\")"));
  EXPECT_THAT(text(), HasSubstr("[tue]"));
}

}  // namespace
}  // namespace bloomwall::proxy
