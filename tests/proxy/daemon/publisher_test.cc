// What is served and when workers are told of a change, with reloads from files and a state on the disk, but without
// signals, sockets and workers; the clock is the test's.
// SPDX-License-Identifier: Apache-2.0
#include "proxy/daemon/publisher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <future>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "filter/url/canonical_url.h"
#include "proxy/reload/loading.h"
#include "tests/proxy/api/fake_served.h"
#include "tests/support/loop_thread.h"
#include "tests/support/site.h"

namespace bloomwall::proxy {
namespace {

using filter::Decision;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr Instant kMondayAtEight = 1'795'420'800;  // 2026-11-23, UTC
constexpr std::string_view kNothing = "state_dir: null\n";
constexpr std::string_view kLessons =
    "state_dir: null\ntime_zone: UTC\nschedules: [{name: lessons, times: [mon-fri 08:00-12:30]}]\n"
    "groups: [{name: pupils, filters: {ads: {lessons: block, otherwise: \"off\"}}}]\n";

Decision decision_on(const PolicyPtr& policy, std::string_view host) {
  filter::Canonicaliser canonicaliser;
  return policy->judge_host(canonicaliser.host(host)).decision;
}

class PublisherTest : public testing::Test {
 protected:
  void SetUp() override {
    loop_.call([this] {
      auto store = StateStore::open(folder_.path());
      ASSERT_TRUE(store.has_value()) << store.error();
      state_.emplace(loop_.loop, *std::move(store));
      publisher_.emplace(loop_.loop,
                         Publisher::Process{.start = [this](const Edition& first) { return start(first); },
                                            .on_reloaded = [this] { ++reloads_; }},
                         [this] {
                           ++looks_;
                           return now_.load();
                         });
      publisher_->use(*state_);
    });
  }
  void TearDown() override {
    EXPECT_TRUE(loop_.call_until([this] {
      if (state_->is_asked()) return false;
      publisher_.reset();
      state_.reset();
      return true;
    }));
  }
  tl::expected<Workers*, ReloadOutcome> start(const Edition& first) {
    if (!refusal_.empty()) return tl::unexpected(ReloadOutcome{kExitError, {}, {refusal_}});
    workers_.posted.push_back(first);
    workers_.adoptions.emplace_back();
    return &workers_;
  }
  // From the files, and through the main loop. On the test's thread.
  ReloadOutcome reload() { return job_.run(++generation_, stop_.get_token()); }
  void deny(const std::string& entry) {
    std::promise<void> stored;
    loop_.call([&] {
      ExceptionItem item{.exception = {}, .created = 1, .why = "a test"};
      item.exception.action = filter::Override::Action::deny;
      ASSERT_TRUE(filter::read_override(entry, item.exception).has_value());
      ASSERT_TRUE(
          state_->ask([item](StateStore& store) { return store.add_exception(item, {.who = "root", .via = "socket"}); },
                      [&](const StateResult<ExceptionItem>& made) {
                        EXPECT_TRUE(made.has_value());
                        stored.set_value();
                      }));
    });
    stored.get_future().wait();
  }
  // The generation of each edition that workers were given, with a '+' where it denies denied.test.
  std::vector<std::string> posted() {
    std::vector<std::string> out;
    loop_.call([&] {
      for (const Edition& edition : workers_.posted) {
        const bool denies = decision_on(edition.policy, "denied.test") == Decision::blocked;
        out.push_back(std::to_string(edition.snapshot->generation) + (denies ? "+" : ""));
      }
    });
    return out;
  }
  Decision of_pupils(const Edition& edition) const { return decision_on(edition.groups->of(0), "listed.example.test"); }
  bool looks_at_the_clock(unsigned times) {
    const unsigned before = looks_;
    return loop_.call_until([&] { return looks_ >= before + times; });
  }

  test::Site site_;
  test::TempDir folder_;
  test::LoopThread loop_;
  test::FakeWorkers workers_;  // the loop's, likewise all of these
  std::string refusal_;
  std::optional<StateService> state_;
  std::optional<Publisher> publisher_;
  int reloads_ = 0;
  std::atomic<Instant> now_ = kMondayAtEight - 3600;
  std::atomic<unsigned> looks_ = 0;

  const std::filesystem::path config_ = site_.configure(std::string(kNothing));
  std::uint64_t generation_ = 0;
  std::stop_source stop_;
  ReloadJob job_{config_, *load_settings(config_),
                 ReloadJob::Main{.serve =
                                     [this](const Edition& edition, std::shared_ptr<Handover> handover) {
                                       loop_.loop.post([this, edition, handover = std::move(handover)] {
                                         publisher_->serve(edition, handover);
                                       });
                                     },
                                 .say = [](const std::string&) {}}};
};

TEST_F(PublisherTest, AReloadThatFailsLeavesWhatIsServed) {
  deny("denied.test");
  ASSERT_TRUE(reload().ok());
  site_.dir.write("bloomwall.yaml", "state_dir: null\nfilters: [{name: ads, file: gone.bwf}]\n");
  EXPECT_FALSE(reload().ok());
  site_.configure("workers: many\n");
  EXPECT_EQ(reload().status, kExitConfiguration);
  site_.configure(std::string(kNothing));
  site_.dir.write("ads.bwf", "this is no filter");
  EXPECT_FALSE(reload().ok());
  EXPECT_THAT(posted(), ElementsAre("1+"));
  loop_.call([this] {
    EXPECT_EQ(reloads_, 1);
    EXPECT_EQ(publisher_->phase(), Phase::serving);
    EXPECT_EQ(publisher_->generation(), 1U);
    EXPECT_EQ(publisher_->edition().policy, workers_.posted.front().policy);
    EXPECT_EQ(publisher_->policies_alive(), 1U);
  });
  site_.make_filter({"S other.test"});
  EXPECT_TRUE(reload().ok());
  EXPECT_EQ(posted().size(), 2U);
}

TEST_F(PublisherTest, AStartThatFailsServesNothing) {
  refusal_ = "listeners[0]: taken";
  EXPECT_THAT(reload().lines, ElementsAre("listeners[0]: taken"));
  std::promise<void> answered;
  loop_.call([&] {
    EXPECT_EQ(publisher_->phase(), Phase::starting);
    EXPECT_EQ(publisher_->snapshot(), nullptr);
    EXPECT_EQ(publisher_->generation(), 0U);
    EXPECT_EQ(publisher_->workers(), nullptr);
    EXPECT_EQ(reloads_, 0);
    publisher_->publish([&] { answered.set_value(); });
    EXPECT_TRUE(publisher_->is_awaited()) << "not before publish() has returned";
  });
  answered.get_future().wait();
  refusal_.clear();
  EXPECT_TRUE(reload().ok());
  loop_.call([&] { EXPECT_EQ(publisher_->phase(), Phase::serving); });
}

TEST_F(PublisherTest, ChangedExceptionsReachTheWorkersOnceAndTheAskerAfterThem) {
  ASSERT_TRUE(reload().ok());
  deny("denied.test");
  EXPECT_THAT(posted(), ElementsAre("1")) << "nobody has asked for them to be served";
  int answers = 0;
  loop_.call([&] {
    workers_.adopts = false;
    publisher_->publish([&] { ++answers; });
  });
  EXPECT_THAT(posted(), ElementsAre("1", "1+"));
  loop_.call([&] {
    EXPECT_EQ(answers, 0) << "no worker has them";
    EXPECT_TRUE(publisher_->is_awaited());
    EXPECT_EQ(publisher_->edition().snapshot, workers_.posted.front().snapshot) << "no reload";
    workers_.adoptions.back()();
  });
  EXPECT_TRUE(loop_.call_until([&] { return answers == 1; }));
  loop_.call([&] { EXPECT_FALSE(publisher_->is_awaited()); });
  EXPECT_THAT(posted(), ElementsAre("1", "1+"));
}

TEST_F(PublisherTest, PostsComeInTheOrderOfChangesAndAReloadKeepsExceptions) {
  ASSERT_TRUE(reload().ok());
  deny("denied.test");
  loop_.call([&] { publisher_->publish([] {}); });
  ASSERT_TRUE(reload().ok());
  loop_.call([&] { publisher_->publish([] {}); });
  EXPECT_THAT(posted(), ElementsAre("1", "1+", "2+", "2+"));
  loop_.call([&] { EXPECT_EQ(publisher_->edition().policy, workers_.posted.back().policy); });
}

TEST_F(PublisherTest, TheBorderOfAScheduleIsPublishedOnceAtItsTime) {
  ASSERT_TRUE(reload().ok());
  site_.configure(std::string(kLessons));
  ASSERT_TRUE(reload().ok());
  now_ = kMondayAtEight - 1;
  ASSERT_TRUE(looks_at_the_clock(2));
  EXPECT_THAT(posted(), ElementsAre("1", "2")) << "nothing has changed yet";
  now_ = kMondayAtEight;
  EXPECT_TRUE(loop_.call_until([&] { return workers_.posted.size() == 3; }));
  ASSERT_TRUE(looks_at_the_clock(2));
  EXPECT_THAT(posted(), ElementsAre("1", "2", "2"));
  loop_.call([&] {
    EXPECT_EQ(of_pupils(workers_.posted[1]), Decision::allowed);
    EXPECT_EQ(of_pupils(workers_.posted[2]), Decision::blocked);
    EXPECT_EQ(publisher_->edition().groups, workers_.posted[2].groups);
  });
  now_ = kMondayAtEight - 600;  // a step of the clock
  EXPECT_TRUE(loop_.call_until([&] { return workers_.posted.size() == 4; }));
  loop_.call([&] { EXPECT_EQ(of_pupils(workers_.posted[3]), Decision::allowed); });
}

TEST_F(PublisherTest, WhileItDrainsReloadsAreRefusedAndEveryAskerIsAnswered) {
  ASSERT_TRUE(reload().ok());
  int answers = 0;
  loop_.call([&] {
    workers_.adopts = false;
    publisher_->publish([&] { ++answers; });
    publisher_->drain();
    publisher_->publish([&] { ++answers; });
    EXPECT_FALSE(publisher_->takes_changes());
  });
  EXPECT_TRUE(loop_.call_until([&] { return answers == 2; }));
  const ReloadOutcome refused = reload();
  EXPECT_EQ(refused.status, kExitError);
  EXPECT_THAT(refused.lines, Contains(HasSubstr("is stopping")));
  EXPECT_THAT(posted(), ElementsAre("1", "1", "1"));
  loop_.call([&] {
    workers_.adoptions[1]();  // of a worker that ended later
    EXPECT_EQ(publisher_->generation(), 1U);
  });
  loop_.call([&] { EXPECT_EQ(answers, 2) << "once each"; });
}

TEST_F(PublisherTest, WhileChangesAreHeldNoneIsTaken) {
  ASSERT_TRUE(reload().ok());
  loop_.call([&] {
    EXPECT_TRUE(publisher_->takes_changes());
    publisher_->hold(true);
    EXPECT_FALSE(publisher_->takes_changes());
    publisher_->hold(false);
    EXPECT_TRUE(publisher_->takes_changes());
  });
}

}  // namespace
}  // namespace bloomwall::proxy
