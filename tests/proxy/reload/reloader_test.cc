// SPDX-License-Identifier: Apache-2.0
#include "proxy/reload/reload_job.h"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>

namespace bloomwall::proxy {
namespace {

using namespace std::chrono_literals;

// A run that says which generation it was asked for and then does what the test tells it.
class FakeWork {
 public:
  Reloader::Work work() {
    return [this](std::uint64_t generation, const std::stop_token& stop) {
      std::unique_lock lock(mutex_);
      asked_.push_back(generation);
      changed_.notify_all();
      while (!changed_.wait_for(lock, 5ms, [this] { return !answers_.empty(); })) {
        if (stop.stop_requested()) return ReloadOutcome{2, {}, {"told to stop"}};
      }
      const ReloadOutcome outcome = answers_.front();
      answers_.erase(answers_.begin());
      return outcome;
    };
  }
  void answer(int status) {
    const std::lock_guard lock(mutex_);
    answers_.push_back({status, {}, {"answer " + std::to_string(status)}});
    changed_.notify_all();
  }
  // Waits until so many runs have begun.
  std::vector<std::uint64_t> wait_for_runs(std::size_t count) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, 20s, [&] { return asked_.size() >= count; }));
    return asked_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::uint64_t> asked_;
  std::vector<ReloadOutcome> answers_;
};

using Answer = std::future<ReloadOutcome>;

Answer ask(Reloader& reloader) {
  auto promise = std::make_shared<std::promise<ReloadOutcome>>();
  auto answer = promise->get_future();
  reloader.request([promise](const ReloadOutcome& outcome) { promise->set_value(outcome); });
  return answer;
}

ReloadOutcome get(Answer& answer) {
  if (answer.wait_for(20s) != std::future_status::ready) return {-1, {}, {"no answer"}};
  return answer.get();
}

TEST(Reloader, GenerationsGrowWithSuccessOnly) {
  FakeWork work;
  Reloader reloader(work.work());
  for (const int status : {0, 1, 78, 0, 0}) {
    work.answer(status);
    Answer answer = ask(reloader);
    EXPECT_EQ(get(answer).status, status);
  }
  EXPECT_EQ(work.wait_for_runs(5), (std::vector<std::uint64_t>{1, 2, 2, 2, 3}));
}

TEST(Reloader, RequestsDuringARunLeadToOneMoreThatBeganAfterThem) {
  FakeWork work;
  Reloader reloader(work.work());
  Answer first = ask(reloader);
  work.wait_for_runs(1);
  std::vector<Answer> later;
  for (int i = 0; i < 5; ++i) later.push_back(ask(reloader));
  work.answer(1);
  EXPECT_EQ(get(first).status, 1);
  for (Answer& answer : later) EXPECT_EQ(answer.wait_for(0ms), std::future_status::timeout);
  work.answer(0);
  for (Answer& answer : later) EXPECT_EQ(get(answer).lines, (std::vector<std::string>{"answer 0"}));
  EXPECT_EQ(work.wait_for_runs(2).size(), 2U) << "five requests, one run";
}

TEST(Reloader, NobodyNeedsToWait) {
  FakeWork work;
  Reloader reloader(work.work());
  work.answer(0);
  reloader.request({});
  work.wait_for_runs(1);
  work.answer(0);
  Answer answer = ask(reloader);
  EXPECT_TRUE(get(answer).ok());
}

TEST(Reloader, ARunThatDoesNotGiveUpIsToldOf) {
  std::promise<void> begun, release;
  Reloader reloader([&](std::uint64_t, const std::stop_token&) {
    begun.set_value();
    release.get_future().wait();
    return ReloadOutcome{};
  });
  Answer answer = ask(reloader);
  begun.get_future().wait();
  EXPECT_FALSE(reloader.stop(50ms));
  release.set_value();
  EXPECT_TRUE(reloader.stop(20s));
  EXPECT_TRUE(get(answer).ok());
}

TEST(Reloader, StoppingEndsTheRunAndAnswersWhoeverWaits) {
  FakeWork work;
  auto reloader = std::make_unique<Reloader>(work.work());
  Answer first = ask(*reloader);
  work.wait_for_runs(1);
  Answer second = ask(*reloader);
  reloader.reset();
  EXPECT_EQ(get(first).lines, (std::vector<std::string>{"told to stop"}));
  EXPECT_EQ(get(second).status, 2);
  EXPECT_EQ(work.wait_for_runs(1).size(), 1U);
}

}  // namespace
}  // namespace bloomwall::proxy
