// Older files and deltas: refused where a public key is asked for, told of elsewhere, across restarts.
// SPDX-License-Identifier: Apache-2.0
#include "proxy/ops/accepted_sequences.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>

#include "filter/file/signature.h"
#include "filter/policy/delta.h"
#include "filter/policy/delta_signature.h"
#include "proxy/ops/loading.h"
#include "tests/filter/file/sample_filter.h"
#include "tests/proxy/ops/site.h"

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
    auto plan = filter::testing_support::sample_plan();
    plan.header.sequence = sequence;
    plan.header.valid_until = valid_until;
    filter::testing_support::write_sample(at("ads.bwf"), plan);
    if (is_signed) {
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
  static constexpr const char* kSigned = ", public_key: k.pub";
  const Site site_;
  const filter::SigningKey key_ = filter::SigningKey::generate();
  AcceptedSequences known_;
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

TEST_F(Sequences, SurviveTheProcess) {
  put_filter(7, false);
  known_.accept(*load().policy);
  ASSERT_TRUE(known_.save(at("state"), false)) << "no folder, nothing kept";
  EXPECT_FALSE(std::filesystem::exists(at("state")));
  ASSERT_TRUE(known_.save(at("state"), true));
  const auto again = AcceptedSequences::load(at("state"));
  ASSERT_TRUE(again) << again.error();
  EXPECT_EQ(again->text(), known_.text());
  EXPECT_THAT(known_.text(), HasSubstr("\nads 80818283"));
  EXPECT_TRUE(AcceptedSequences::load(at("nowhere"))->empty());
  EXPECT_TRUE(AcceptedSequences::load({})->empty());
  EXPECT_FALSE(known_.save(at("k") / "below-a-file", true));
}

TEST_F(Sequences, MergingKeepsTheHigher) {
  const std::string series(32, 'a');
  const auto parse = [&](const std::string& numbers) {
    return *AcceptedSequences::parse("bloomwall-sequences 1\nx " + series + " " + numbers + "\n", "s");
  };
  const std::string one(32, '1'), two(32, '2');
  AcceptedSequences mine = parse("5 " + one + " 9");
  mine.merge(parse("4 " + two + " 20"));
  EXPECT_EQ(mine.text(), parse("5 " + one + " 9").text());
  mine.merge(parse("5 " + one + " 3"));
  EXPECT_EQ(mine.text(), parse("5 " + one + " 9").text());
  mine.merge(parse("6 " + two + " 1"));
  EXPECT_EQ(mine.text(), parse("6 " + two + " 1").text());
}

TEST(SequencesText, WhatIsNoRecordIsAnErrorWithItsLine) {
  const std::string id(32, 'a');
  const auto error_of = [](const std::string& text) {
    const auto parsed = AcceptedSequences::parse(text, "s");
    return parsed ? "taken" : parsed.error();
  };
  EXPECT_EQ(error_of("bloomwall-sequences 1\n"), "taken");
  EXPECT_EQ(error_of("bloomwall-sequences 1\nads " + id + " 3 " + id + " 0\n"), "taken");
  EXPECT_EQ(error_of(""), "s:1: not a file of sequences");
  EXPECT_EQ(error_of("bloomwall-sequences 2\n"), "s:1: not a file of sequences");
  for (const std::string& bad :
       {"ads " + id + " 3 " + id, "ads " + id + " x " + id + " 0", " " + id + " 3 " + id + " 0",
        "ads 00 3 " + id + " 0", "ads " + id + " 3 " + id + " 18446744073709551616"}) {
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
  EXPECT_THAT(doubts_of(*policy, at_time(1'799'999'999)).warnings, IsEmpty()) << "1 of 35 entries is 2.9 %";
  EXPECT_THAT(doubts_of(*policy, at_time(1'800'000'001)).warnings,
              ElementsAre(HasSubstr("was valid until 2027-01-15 08:00:00Z alone")));
  put_delta(1, "+a.example\n+b.example\n", false);
  const auto due = load(", delta: ads.delta, rebuild_at: 3%");
  EXPECT_TRUE(due.policy->filters().front().rebuild_due());
  EXPECT_THAT(due.warnings, testing::Contains(testing::AllOf(HasSubstr("a rebuild is due"), HasSubstr("5.7 %"))));
}

}  // namespace
}  // namespace bloomwall::proxy
