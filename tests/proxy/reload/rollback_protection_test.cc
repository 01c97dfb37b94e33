// Older files and deltas, and files of another series: refused where a public key is asked for, told of elsewhere,
// across restarts.
// SPDX-License-Identifier: Apache-2.0
#include "proxy/reload/rollback_protection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <fstream>

#include "filter/file/signature.h"
#include "filter/policy/delta.h"
#include "filter/policy/delta_signature.h"
#include "proxy/reload/loading.h"
#include "tests/filter/file/sample_filter.h"
#include "tests/support/site.h"

namespace bloomwall::proxy {
namespace {

using test::Site;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Sequences : public testing::Test {
 protected:
  Sequences() { EXPECT_TRUE(key_.write(at("k"), at("k.pub"))); }
  std::filesystem::path at(const std::string& name) const { return site_.dir.path() / name; }
  // A filter of that sequence in the place of ads.bwf.
  void put_filter(std::uint64_t sequence, bool is_signed, std::uint64_t valid_until = 0) const {
    put({.sequence = sequence, .is_signed = is_signed, .valid_until = valid_until});
  }
  struct Made {
    std::uint64_t sequence = 7;
    bool is_signed = true;
    std::uint64_t valid_until = 0;
    std::uint8_t series = 0, content = 0;
    std::uint64_t created = 1'700'000'000;
  };
  void put(const Made& made) const {
    auto plan = filter::testing_support::sample_plan();
    plan.header.sequence = made.sequence;
    plan.header.valid_until = made.valid_until;
    plan.header.created = made.created;
    plan.header.series_id[0] ^= made.series;
    plan.header.series_key[0] ^= made.content;  // its bits fall elsewhere
    filter::testing_support::write_sample(at("ads.bwf"), plan);
    if (made.is_signed) {
      EXPECT_TRUE(filter::sign_filter(at("ads.bwf"), at("ads.bwf"), key_));
    }
  }
  void put_delta(std::uint64_t sequence, const std::string& changes, bool is_signed) const {
    const auto id = filter::content_id((*filter::FilterFile::open(at("ads.bwf")))->header());
    std::string text = filter::Delta::first_line(id, sequence) + "\n" + changes;
    if (is_signed) text = *filter::sign_delta(text, "d", key_);
    site_.dir.write("ads.delta", text);
  }
  struct Loaded {
    std::shared_ptr<const filter::Policy> policy;
    std::string refusals;
    std::vector<std::string> warnings;
  };
  Loaded load(const std::string& more = "") const {
    Loaded out;
    const auto file = site_.dir.write("c.yaml", "filters: [{name: ads, file: ads.bwf" + more + "}]\n");
    const auto settings = load_settings(file);
    if (!settings) return {.policy = nullptr, .refusals = settings.error().lines.front(), .warnings = {}};
    auto policy = load_policy(*settings, {.accepted = &known_, .warnings = &out.warnings});
    if (policy) out.policy = *std::move(policy);
    if (!policy) {
      for (const auto& line : policy.error().lines) out.refusals += line + "\n";
    }
    return out;
  }
  void serve(const std::string& more) {
    const auto policy = load(more).policy;
    ASSERT_TRUE(policy);
    known_.accept(*policy);
  }
  static constexpr const char* kSigned = ", public_key: k.pub";
  const Site site_;
  const filter::SigningKey key_ = filter::SigningKey::generate();
  RollbackProtection known_;
};

TEST_F(Sequences, AnOlderFileIsToldOfAndASignedOneRefused) {
  put_filter(7, true);
  known_.accept(*load(kSigned).policy);
  put_filter(6, true);
  EXPECT_THAT(load(kSigned).refusals, HasSubstr("ads.bwf: sequence 6 is older than 7, which was served before"));
  const Loaded without_key = load();
  EXPECT_THAT(without_key.refusals, "");
  EXPECT_THAT(without_key.warnings, ElementsAre(HasSubstr("sequence 6 is older than 7")));
  put_filter(7, true);
  EXPECT_THAT(load(kSigned).refusals, "");
  put_filter(8, true);
  EXPECT_THAT(load(kSigned).warnings, IsEmpty());
}

TEST_F(Sequences, WhatIsNotSignedOrAlteredIsRefused) {
  put_filter(7, false);
  EXPECT_THAT(load(kSigned).refusals, HasSubstr("ads.bwf: is not signed"));
  put_filter(7, true);
  EXPECT_EQ(load(kSigned).policy->filters().front().signed_by, key_.id());
  auto bytes = filter::testing_support::read_bytes(at("ads.bwf"));
  bytes[8192] ^= std::byte{1};
  filter::testing_support::write_bytes(at("ads.bwf"), bytes);
  EXPECT_THAT(load(kSigned).refusals, HasSubstr("is damaged"));
  put_filter(7, true);
  EXPECT_THAT(load(", public_key: none.pub").refusals, HasSubstr("none.pub"));
  put_delta(1, "+a.example\n", false);
  EXPECT_THAT(load(std::string(kSigned) + ", delta: ads.delta").refusals, HasSubstr("ads.delta: is not signed"));
  put_delta(1, "+a.example\n", true);
  EXPECT_THAT(load(std::string(kSigned) + ", delta: ads.delta").refusals, "");
}

TEST_F(Sequences, AnOlderDeltaIsRefusedToo) {
  const std::string both = std::string(kSigned) + ", delta: ads.delta";
  put_filter(7, true);
  put_delta(3, "+a.example\n", true);
  known_.accept(*load(both).policy);
  put_delta(2, "+b.example\n", true);
  EXPECT_THAT(load(both).refusals, HasSubstr("sequence of the delta 2 is older than 3"));
  put_delta(0, "+b.example\n", true);
  EXPECT_THAT(load(both).refusals, HasSubstr("sequence of the delta 0 is older than 3"));
  put_delta(4, "+b.example\n", true);
  EXPECT_THAT(load(both).refusals, "");
}

TEST_F(Sequences, TheFileOfAnotherSeriesIsRefusedUntilTheLinesAreRemoved) {
  put({.series = 0});
  serve(kSigned);
  ASSERT_TRUE(known_.save(at("state"), true));
  known_ = *RollbackProtection::load(at("state"));
  for (const std::uint64_t sequence : {1U, 7U, 1000U}) {
    put({.sequence = sequence, .series = 1, .created = 1'800'000'000});
    EXPECT_THAT(load(kSigned).refusals,
                testing::AllOf(HasSubstr("ads.bwf: is of another series than what was served as ads before"),
                               HasSubstr("remove the lines of ads from " + at("state/sequences").string())));
    EXPECT_THAT(load().warnings, IsEmpty()) << "each build into a new place begins a series";
  }
  site_.dir.write("state/sequences", "bloomwall-sequences 1\n");
  known_ = *RollbackProtection::load(at("state"));
  serve(kSigned);
  put({.series = 0});
  EXPECT_THAT(load(kSigned).refusals, HasSubstr("is of another series"));
}

TEST_F(Sequences, AnotherContentOfTheSameSequenceMustBeMadeLater) {
  put({.created = 1'700'000'000});
  serve(kSigned);
  for (const std::uint64_t created : {1'600'000'000U, 1'700'000'000U}) {
    put({.content = 1, .created = created});
    EXPECT_THAT(load(kSigned).refusals, HasSubstr("ads.bwf: has the sequence 7 of what was served before")) << created;
    EXPECT_THAT(load().warnings, ElementsAre(HasSubstr("was not made later")));
  }
  put({.content = 1, .created = 1'700'000'001});
  serve(kSigned);
  put({.created = 1'700'000'000});
  EXPECT_THAT(load(kSigned).refusals, HasSubstr("was not made later"));
  put({.sequence = 8, .content = 2, .created = 1'600'000'000});
  EXPECT_THAT(load(kSigned).refusals, "") << "a higher sequence is a later file whatever the clock said";
}

TEST_F(Sequences, OldDeltasFitNoLaterBuildOfTheSameContent) {
  const std::string both = std::string(kSigned) + ", delta: ads.delta";
  put({.sequence = 7, .content = 0});
  put_delta(3, "+a.example\n", true);
  serve(both);
  put({.sequence = 8, .content = 1});
  put_delta(1, "+b.example\n", true);
  serve(both);
  ASSERT_TRUE(known_.save(at("state"), true));
  known_ = *RollbackProtection::load(at("state"));
  put({.sequence = 9, .content = 0});
  put_delta(2, "+a.example\n", true);
  EXPECT_THAT(load(both).refusals, HasSubstr("sequence of the delta 2 is older than 3"));
  put_delta(3, "+a.example\n", true);
  EXPECT_THAT(load(both).refusals, "");
}

TEST_F(Sequences, SurviveTheProcess) {
  put_filter(7, false);
  known_.accept(*load().policy);
  ASSERT_TRUE(known_.save(at("state"), false)) << "no folder, nothing kept";
  EXPECT_FALSE(std::filesystem::exists(at("state")));
  ASSERT_TRUE(known_.save(at("state"), true));
  const auto again = RollbackProtection::load(at("state"));
  ASSERT_TRUE(again) << again.error();
  EXPECT_EQ(again->text(), known_.text());
  EXPECT_THAT(known_.text(), HasSubstr("\nads 80818283"));
  EXPECT_TRUE(RollbackProtection::load(at("nowhere"))->empty());
  EXPECT_TRUE(RollbackProtection::load({})->empty());
  EXPECT_FALSE(known_.save(at("k") / "below-a-file", true));
}

TEST_F(Sequences, MergingKeepsTheHigher) {
  const std::string series(32, 'a'), other_series(32, 'b');
  const auto parse = [](const std::string& record) {
    return *RollbackProtection::parse("bloomwall-sequences 1\nx " + record + "\n", "s");
  };
  const std::string one(32, '1'), two(32, '2');
  const auto record = [&](const std::string& numbers) { return series + " " + numbers; };
  RollbackProtection mine = parse(record("5 " + one + " 9 100"));
  mine.merge(parse(record("5 " + one + " 3 50")));
  EXPECT_EQ(mine.text(), parse(record("5 " + one + " 9 100")).text());
  mine.merge(parse(record("4 " + two + " 20 100")));
  EXPECT_THAT(mine.text(), testing::EndsWith(" 20 100\nx " + series + " 5 " + one + " 9 100\n"))
      << "older, kept before it";
  mine.merge(parse(other_series + " 900 " + two + " 900 900"));
  EXPECT_THAT(mine.text(), testing::Not(HasSubstr("900"))) << "what this process served counts";
  mine.merge(parse(record("6 " + two + " 1")));
  EXPECT_THAT(mine.text(), testing::EndsWith("x " + series + " 6 " + two + " 20 0\n"));
}

TEST(SequencesText, ContentsWithDeltasAreRememberedUpToABound) {
  std::string text = "bloomwall-sequences 1\n";
  const std::string series(32, 'a');
  for (int i = 10; i < 40; ++i) {
    text += "x " + series + " " + std::to_string(i) + " " + std::string(30, '0') + std::to_string(i) + " 5 1\n";
  }
  const std::string kept = RollbackProtection::parse(text, "s")->text();
  EXPECT_EQ(std::count(kept.begin(), kept.end(), '\n'), 1 + static_cast<int>(RollbackProtection::kMaxContents));
  EXPECT_TRUE(text.ends_with(kept.substr(kept.find('\n') + 1))) << "the latest of them";
}

TEST(SequencesText, WhatIsNoRecordIsAnErrorWithItsLine) {
  const std::string id(32, 'a');
  const auto error_of = [](const std::string& text) {
    const auto parsed = RollbackProtection::parse(text, "s");
    return parsed ? "taken" : parsed.error();
  };
  EXPECT_EQ(error_of("bloomwall-sequences 1\n"), "taken");
  EXPECT_EQ(error_of("bloomwall-sequences 1\nads " + id + " 3 " + id + " 0\n"), "taken");
  EXPECT_EQ(error_of("bloomwall-sequences 1\nads " + id + " 3 " + id + " 0 1700000000\n"), "taken");
  EXPECT_EQ(error_of(""), "s:1: not a file of sequences");
  EXPECT_EQ(error_of("bloomwall-sequences 2\n"), "s:1: not a file of sequences");
  for (const std::string& bad :
       {"ads " + id + " 3 " + id, "ads " + id + " x " + id + " 0", " " + id + " 3 " + id + " 0",
        "ads 00 3 " + id + " 0", "ads " + id + " 3 " + id + " 0 x", "ads " + id + " 3 " + id + " 0 1 1",
        "ads " + id + " 3 " + id + " 18446744073709551616"}) {
    EXPECT_EQ(error_of("bloomwall-sequences 1\n" + bad + "\n"), "s:2: not a record of a filter") << bad;
  }
  std::string many = "bloomwall-sequences 1\n";
  for (int i = 0; i < 4097; ++i) many += "f" + std::to_string(i) + " " + id + " 3 " + id + " 0\n";
  EXPECT_THAT(error_of(many), HasSubstr("more than 4096"));
  EXPECT_THAT(error_of("bloomwall-sequences 1\n" + std::string(2'000'000, 'x')), HasSubstr("over 1 MiB"));
}

TEST_F(Sequences, ABrokenFileOfThemRefusesWhereItMatters) {
  site_.dir.write("sequences", "garbage");
  conf::Config settings;
  settings.state_dir = site_.dir.path();
  settings.filters.push_back({.name = "ads", .file = at("ads.bwf"), .delta = {}, .legal_link = ""});
  std::vector<std::string> warnings;
  EXPECT_TRUE(load_sequences(settings, warnings));
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("not a file of sequences")));
  settings.filters.front().public_key = at("k.pub");
  const auto refused = load_sequences(settings, warnings);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().status, kExitRefused);
}

TEST_F(Sequences, TheServiceManagersFolderComesBeforeTheDefaultAlone) {
  conf::Config settings;
  unsetenv("STATE_DIRECTORY");
  EXPECT_EQ(state_folder(settings), "/var/lib/bloomwall");
  setenv("STATE_DIRECTORY", "/srv/one:/srv/two", 1);
  EXPECT_EQ(state_folder(settings), "/srv/one");
  settings.state_dir = "/mine";
  EXPECT_EQ(state_folder(settings), "/mine");
  settings.state_dir.clear();
  EXPECT_EQ(state_folder(settings), "");
  unsetenv("STATE_DIRECTORY");
}

TEST_F(Sequences, WhatIsPastItsTimeOrDueForARebuildIsToldOf) {
  put_filter(7, false, 1'800'000'000);
  put_delta(1, "+a.example\n", false);
  const auto policy = load(", delta: ads.delta, rebuild_at: 3%").policy;
  ASSERT_TRUE(policy);
  const auto at_time = [](std::int64_t seconds) {
    return std::chrono::system_clock::time_point(std::chrono::seconds(seconds));
  };
  EXPECT_THAT(findings_of(*policy, at_time(1'799'999'999)).warnings, IsEmpty()) << "1 of 35 entries is 2.9 %";
  EXPECT_THAT(findings_of(*policy, at_time(1'800'000'001)).warnings,
              ElementsAre(HasSubstr("was valid until 2027-01-15 08:00:00Z alone")));
  put_delta(1, "+a.example\n+b.example\n", false);
  const auto due = load(", delta: ads.delta, rebuild_at: 3%");
  EXPECT_TRUE(due.policy->filters().front().rebuild_due());
  EXPECT_THAT(due.warnings, testing::Contains(testing::AllOf(HasSubstr("a rebuild is due"), HasSubstr("5.7 %"))));
}

}  // namespace
}  // namespace bloomwall::proxy
