// What the desk takes, by its clocks and limits, and what it tells whoever reported.
// SPDX-License-Identifier: Apache-2.0
#include "proxy/api/report_desk.h"

#include <gtest/gtest.h>

#include <future>
#include <optional>
#include <string>

#include "tests/support/loop_thread.h"
#include "tests/support/temp_dir.h"

namespace bloomwall::proxy {
namespace {

using namespace std::chrono_literals;
using Says = ReportPage::Says;
using Steady = std::chrono::steady_clock;

TEST(ReportRate, TakesFiveOfAClientOverAnyHour) {
  ReportRate rate;
  const Steady::time_point begin{};
  for (int i = 0; i < 5; ++i) EXPECT_EQ(rate.take("a", begin + i * 10min), 0s);
  EXPECT_EQ(rate.take("a", begin + 50min), 600s) << "until the first is an hour old";
  EXPECT_EQ(rate.take("b", begin + 50min), 0s);
  EXPECT_EQ(rate.take("a", begin + 1h - 1ms), 1s);
  EXPECT_EQ(rate.take("a", begin + 1h), 0s);
  EXPECT_EQ(rate.take("a", begin + 1h), 600s) << "what was refused has not counted";
}

TEST(ReportRate, TakesSixtyOfAll) {
  ReportRate rate;
  const Steady::time_point begin{};
  for (int i = 0; i < 60; ++i) EXPECT_EQ(rate.take(std::to_string(i), begin), 0s) << i;
  EXPECT_EQ(rate.take("x", begin + 1min), 3540s);
  EXPECT_EQ(rate.take("x", begin + 1h), 0s);
}

std::int64_t seconds_of_test = 0;
Steady::time_point monotonic_of_test{};

class Desk : public testing::Test {
 protected:
  void SetUp() override {
    seconds_of_test = 1'800'000'000;
    monotonic_of_test = {};
    open();
  }
  void TearDown() override { close(); }
  void open() {
    loop_.call([this] {
      auto store = StateStore::open(folder_.path());
      ASSERT_TRUE(store.has_value()) << store.error();
      const auto secret = store->report_secret();
      ASSERT_TRUE(secret.has_value()) << secret.error().what;
      state_.emplace(loop_.loop, *std::move(store));
      desk_.emplace(
          loop_.loop, *state_, *secret, [this] { return is_ending_; }, counts_,
          ReportDesk::Clocks{.seconds = [] { return seconds_of_test; }, .monotonic = [] { return monotonic_of_test; }});
    });
  }
  void close() {
    EXPECT_TRUE(loop_.call_until([this] {
      if (state_->is_asked()) return false;  // what comes of it is still to be taken
      desk_.reset();
      state_.reset();
      return true;
    }));
  }
  std::string ticket(const std::string& url, const std::string& client = "192.0.2.7") {
    return desk_->tickets().make({.url = url, .host = "shop.test", .filter = "ads", .client = client}, client,
                                 seconds_of_test);
  }
  ReportPage ask(SelfQuestion question) {
    std::promise<ReportPage> page;
    if (!desk_->ask(std::move(question), [&page](const ReportPage& said) { page.set_value(said); })) {
      return {.says = Says::nothing};
    }
    auto said = page.get_future();
    if (said.wait_for(20s) != std::future_status::ready) throw std::runtime_error("no answer");
    return said.get();
  }
  ReportPage submit(const std::string& ticket, const std::string& client = "192.0.2.7") {
    return ask({.kind = SelfQuestion::Kind::submit, .text = "comment=a+shop&ticket=" + ticket, .client = client});
  }
  ReportPage look(const std::string& text) { return ask({.kind = SelfQuestion::Kind::look, .text = text}); }

  test::TempDir folder_;
  test::LoopThread loop_;
  bool is_ending_ = false;
  ReportCounts counts_;
  std::optional<StateService> state_;
  std::optional<ReportDesk> desk_;
};

TEST_F(Desk, KeepsAReportAndShowsWhatBecameOfIt) {
  const ReportPage taken = submit(ticket("http://shop.test/a"));
  EXPECT_EQ(taken.says, Says::taken);
  EXPECT_EQ(taken.report, 1U);
  EXPECT_EQ(submit(ticket("http://shop.test/a")).report, 1U);
  const std::string page = desk_->tickets().page_of({.report = 1});
  EXPECT_EQ(look(page).says, Says::open);
  EXPECT_EQ(look("1").says, Says::unknown);
  EXPECT_EQ(look(desk_->tickets().page_of({.report = 2})).says, Says::unknown);
  close();
  {
    auto store = StateStore::open(folder_.path());
    ASSERT_TRUE(store->reject_report(1, "no <shop>", {.who = "root", .via = "socket"}).has_value());
  }
  open();
  EXPECT_EQ(look(page).says, Says::rejected) << "the page has its address over a restart";
  EXPECT_EQ(look(page).words, "no <shop>");
  EXPECT_EQ(counts_.taken, 1U);
  EXPECT_EQ(counts_.merged, 1U);
}

TEST_F(Desk, SaysThatAPageIsOpenForAsLongAsItIs) {
  const Author root{.who = "root", .via = "socket"};
  const auto change = [&](const auto& how) {
    close();
    {
      auto store = StateStore::open(folder_.path());
      ASSERT_TRUE(store.has_value()) << store.error();
      how(*store);
    }
    open();
  };
  ExceptionItem opening;
  opening.exception.entry = "shop.test";
  opening.exception.until = seconds_of_test + 3600;
  opening.created = seconds_of_test;
  opening.why = "a report";
  ASSERT_EQ(submit(ticket("http://shop.test/a")).says, Says::taken);
  const std::string page = desk_->tickets().page_of({.report = 1});
  change([&](StateStore& store) { ASSERT_TRUE(store.accept_report(1, opening, "for now", root).has_value()); });
  EXPECT_EQ(look(page).says, Says::accepted);
  EXPECT_EQ(look(page).until, "2027-01-15T09:00:00Z");
  seconds_of_test += 3600;
  EXPECT_EQ(look(page).says, Says::ended);
  EXPECT_EQ(look(page).until, "");
  EXPECT_EQ(look(page).words, "for now");
  seconds_of_test -= 3600;
  change([&](StateStore& store) { ASSERT_TRUE(store.remove_exception(1, root, "").has_value()); });
  EXPECT_EQ(look(page).says, Says::ended) << "it was removed";
}

TEST_F(Desk, TellsEachReporterWhatBecameOfThePageForThatOne) {
  const auto page_of_client = [&](const std::string& client) {
    const ReportPage taken = submit(ticket("http://shop.test/a", client), client);
    EXPECT_EQ(taken.says, Says::taken);
    EXPECT_EQ(taken.report, 1U);
    return desk_->tickets().page_of({.report = taken.report, .reporter = taken.reporter});
  };
  const std::string first = page_of_client("192.0.2.7"), second = page_of_client("192.0.2.8");
  EXPECT_NE(first, second);
  ExceptionItem opening;
  opening.exception.entry = "shop.test";
  opening.exception.until = seconds_of_test + 3600;
  ASSERT_TRUE(set_client(opening.exception, "192.0.2.7"));
  opening.created = seconds_of_test;
  opening.why = "a report";
  const Author root{.who = "root", .via = "socket"};
  const auto change = [&](const auto& how) {
    close();
    {
      auto store = StateStore::open(folder_.path());
      ASSERT_TRUE(store.has_value()) << store.error();
      how(*store);
    }
    open();
  };
  change([&](StateStore& store) { ASSERT_TRUE(store.accept_report(1, opening, "for you", root).has_value()); });
  EXPECT_EQ(look(first).says, Says::accepted);
  EXPECT_EQ(look(first).words, "for you");
  EXPECT_EQ(look(second).says, Says::open) << "it is still blocked there";
  EXPECT_EQ(look(second).words, "");
  change([&](StateStore& store) { ASSERT_TRUE(store.reject_report(2, "not for you", root).has_value()); });
  EXPECT_EQ(look(first).says, Says::accepted);
  EXPECT_EQ(look(second).says, Says::rejected);
  EXPECT_EQ(look(second).words, "not for you");
}

TEST_F(Desk, RefusesWhatItDidNotSealAndWhatIsOld) {
  const std::string sealed = ticket("http://shop.test/a");
  EXPECT_EQ(submit(sealed, "192.0.2.8").says, Says::refused);
  EXPECT_EQ(submit("AAAA").says, Says::refused);
  EXPECT_EQ(ask({.kind = SelfQuestion::Kind::submit, .text = "comment=x", .client = "192.0.2.7"}).says,
            Says::not_a_form);
  seconds_of_test += ReportTickets::kHolds;
  EXPECT_EQ(submit(sealed).says, Says::late);
  EXPECT_TRUE(state_->state().reports->empty());
  EXPECT_EQ(counts_.forged, 2U);
  EXPECT_EQ(counts_.late, 1U);
}

TEST_F(Desk, KeepsUsersOfAnyName) {
  const ReportFacts facts{.url = "http://shop.test/a",
                          .host = "shop.test",
                          .user = std::string(100, '\xff') + " anna\x1b" + std::string(150, '\xfe'),
                          .client = "192.0.2.7"};
  EXPECT_EQ(submit(desk_->tickets().make(facts, "192.0.2.7", seconds_of_test)).says, Says::taken);
  EXPECT_EQ(state_->state().reports->front().user, "anna");
}

TEST_F(Desk, TakesNoMoreThanItsRate) {
  for (int i = 0; i < 5; ++i) EXPECT_EQ(submit(ticket("http://shop.test/" + std::to_string(i))).says, Says::taken);
  const ReportPage often = submit(ticket("http://shop.test/5"));
  EXPECT_EQ(often.says, Says::often);
  EXPECT_EQ(often.again_in, 3600U);
  seconds_of_test += 3600;
  EXPECT_EQ(submit(ticket("http://shop.test/5")).says, Says::often) << "a step of the clock is no hour";
  monotonic_of_test += 1h;
  EXPECT_EQ(submit(ticket("http://shop.test/5")).says, Says::taken);
}

TEST_F(Desk, TakesNothingWhileTheProcessEnds) {
  loop_.call([this] { is_ending_ = true; });
  EXPECT_EQ(submit(ticket("http://shop.test/a")).says, Says::unavailable);
  EXPECT_EQ(look("1-aa").says, Says::unknown);
}

TEST_F(Desk, AnswersSoManyQuestionsAtATime) {
  std::promise<void> held, go_on;
  loop_.loop.post([&] {
    held.set_value();
    go_on.get_future().wait();
  });
  held.get_future().wait();
  std::atomic<std::size_t> answered = 0;
  std::size_t asked = 0;
  while (asked < 1000 && desk_->ask({.text = "1-aa"}, [&](const ReportPage&) { ++answered; })) ++asked;
  EXPECT_EQ(asked, ReportDesk::kMostQuestions);
  go_on.set_value();
  loop_.call([] {});
  EXPECT_EQ(answered, asked);
  EXPECT_EQ(look("1-aa").says, Says::unknown) << "there is room again";
}

}  // namespace
}  // namespace bloomwall::proxy
