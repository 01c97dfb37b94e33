// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "filter/file/exact_side.h"
#include "filter/policy/pending_verdict.h"
#include "tests/filter/policy/policy_maker.h"

namespace bloomwall::filter {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class PolicyLoad : public testing::Test {
 protected:
  FilterSpec filter(const std::string& name, std::uint8_t id = 1) {
    FilterSpec spec;
    spec.name = name;
    spec.file = make_filter(folder_ / (name + ".bwf"), {.entries = {"S " + name + ".test"}, .file_id = id});
    return spec;
  }
  void flip_last_octet_of_bits(const std::filesystem::path& file) {
    std::uint64_t at = 0;
    {
      const auto opened = open_filter(file);
      const SectionEntry* section = opened->header().find(SectionType::hosts);
      at = section->offset + section->length - 1;
    }
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekg(static_cast<std::streamoff>(at));
    const int octet = stream.get();
    stream.seekp(static_cast<std::streamoff>(at));
    stream.put(static_cast<char>(octet ^ 1));
  }
  TempFolder folder_;
};

TEST_F(PolicyLoad, TellsWhatItHolds) {
  PolicySpec spec;
  spec.filters = {filter("a", 1), filter("b", 2)};
  spec.filters[1].delta =
      folder_.write("b.delta", Delta::first_line(content_of(spec.filters[1].file)) + "\n+x.test\n+y.test\n");
  spec.allow_lists = {folder_.write("allow", "one.test\ntwo.test @b\n")};
  const auto policy = Policy::load(spec, {});
  ASSERT_TRUE(policy) << texts_of(policy.error());
  const auto filters = (*policy)->filters();
  ASSERT_EQ(filters.size(), 2U);
  EXPECT_EQ(filters[0].spec.name, "a");
  EXPECT_EQ(filters[0].delta_entries, 0U);
  EXPECT_EQ(filters[1].delta_entries, 2U);
  EXPECT_EQ(filters[1].file->header().file_id, id_of(2));
  EXPECT_EQ((*policy)->allow_entries(), 2U);
}

TEST_F(PolicyLoad, ReportsEveryErrorOfEveryFile) {
  PolicySpec spec;
  spec.filters = {filter("whole"), filter("damaged"), filter("absent"),
                  filter("text"),  filter("rebuilt"), filter("lost_delta")};
  flip_last_octet_of_bits(spec.filters[1].file);
  std::filesystem::remove(spec.filters[2].file);
  spec.filters[2].delta = folder_.write("absent.delta", Delta::first_line(id_of(9)) + "\nno sign\n");
  folder_.write("text.bwf", "bad.example\n");
  spec.filters[4].delta = folder_.write("rebuilt.delta", Delta::first_line(id_of(9)) + "\n");
  spec.filters[5].delta = folder_ / "nothing.delta";
  spec.allow_lists = {folder_ / "no-list", folder_.write("allow", "ok.test @damaged @text\nbad.test @unknown\n")};
  const auto policy = Policy::load(spec, {});
  ASSERT_FALSE(policy);
  const std::string all = texts_of(policy.error());
  EXPECT_EQ(policy.error().size(), 8U) << all;
  EXPECT_THAT(all, AllOf(HasSubstr("bad_digest " + spec.filters[1].file.string()),
                         HasSubstr("io " + spec.filters[2].file.string()), HasSubstr("absent.delta:2: "),
                         HasSubstr(spec.filters[3].file.string()),
                         HasSubstr("wrong_base " + spec.filters[4].delta.string() + ":1: "),
                         HasSubstr("`bloomwall-filter update " + spec.filters[4].file.string() + " --delta " +
                                   spec.filters[4].delta.string() + " --rebase` carries"),
                         HasSubstr("nothing.delta --rebase` makes an empty one"), HasSubstr("no-list"),
                         HasSubstr("allow:2: no filter has the name 'unknown'")));
}

TEST_F(PolicyLoad, FilterNamesAreUnique) {
  PolicySpec spec;
  spec.filters = {filter("a"), filter("b"), filter("a")};
  const auto policy = Policy::load(spec, {});
  ASSERT_FALSE(policy);
  ASSERT_EQ(policy.error().size(), 1U);
  EXPECT_EQ(policy.error()[0].code, Errc::usage);
}

TEST_F(PolicyLoad, WithoutVerifyingTheBytesAreNotRead) {
  PolicySpec spec;
  spec.filters = {filter("damaged")};
  flip_last_octet_of_bits(spec.filters[0].file);
  EXPECT_FALSE(Policy::load(spec, {}));
  EXPECT_TRUE(Policy::load(spec, {.verify = false, .progress = {}}));
}

TEST_F(PolicyLoad, ProgressIsToldAndMayStopIt) {
  PolicySpec spec;
  spec.filters = {filter("a"), filter("b"), filter("c")};
  std::vector<std::string> told;
  const auto note = [&](const std::filesystem::path& file, std::uint64_t done, std::uint64_t total) {
    EXPECT_LE(done, total);
    if (told.empty() || told.back() != file.filename()) told.push_back(file.filename());
    return file.filename() != "b.bwf" || done < total / 2;
  };
  const auto policy = Policy::load(spec, {.verify = true, .progress = note});
  ASSERT_FALSE(policy);
  EXPECT_THAT(told, testing::ElementsAre("a.bwf", "b.bwf")) << "c is not begun";
  EXPECT_THAT(texts_of(policy.error()), HasSubstr("b.bwf"));
}

TEST(PolicyPrediction, IsTheSumOverBlockingFilters) {
  PolicyMaker policy({{.name = "a", .entries = {"S a.test", "U b.test/x"}, .claimed_keys = 5000},
                      {.name = "b", .entries = {"S a.test"}, .claimed_keys = 8000},
                      {.name = "m", .entries = {"S a.test"}, .action = FilterAction::monitor, .claimed_keys = 9000}},
                     "");
  const auto filters = policy.policy->filters();
  const auto& a = filters[0].file->header().predicted;
  const auto& b = filters[1].file->header().predicted;
  ASSERT_GT(a.unlisted_host.mean, 1e-9);
  ASSERT_GT(b.unlisted_host.mean, a.unlisted_host.mean);
  const auto predicted = policy.policy->predicted_error();
  EXPECT_DOUBLE_EQ(predicted.unlisted_host, a.unlisted_host.mean + b.unlisted_host.mean);
  EXPECT_DOUBLE_EQ(predicted.listed_host, a.listed_host.mean + b.listed_host.mean);
}

TEST(PolicyPrediction, IsWhatTheExactSideLeaves) {
  const std::filesystem::path data = std::filesystem::path(BLOOMWALL_SOURCE_DIR) / "tests/data";
  for (const FilterAction action : {FilterAction::block, FilterAction::allow}) {
    FilterSpec spec{.name = "f", .file = data / "golden_v1_exact.bwf", .delta = {}, .action = action};
    spec.exact = data / "golden_v1_exact.bwx";
    const auto policy = Policy::load({.filters = {spec}, .allow_lists = {}}, {.verify = true, .progress = {}});
    ASSERT_TRUE(policy) << texts_of(policy.error());
    const auto filters = (*policy)->filters();
    const double left = residual_error(filters[0].exact->header());
    ASSERT_GT(left, 0);
    ASSERT_LT(left, 1e-9);
    const auto& bits = filters[0].file->header().predicted;
    EXPECT_DOUBLE_EQ(filters[0].predicted_error().listed_host, left * bits.listed_host.mean);
    const auto sum = action == FilterAction::block ? (*policy)->predicted_error() : (*policy)->predicted_leak();
    EXPECT_DOUBLE_EQ(sum.unlisted_host, left * bits.unlisted_host.mean);
  }
}

TEST(PolicyPrediction, IsNeverOverOne) {
  PolicyMaker policy({{.name = "a", .entries = {"S a.test"}, .claimed_keys = 1'000'000'000},
                      {.name = "b", .entries = {"S a.test"}, .claimed_keys = 1'000'000'000}},
                     "");
  ASSERT_GT(policy.policy->filters()[0].file->header().predicted.unlisted_host.mean, 0.6);
  EXPECT_DOUBLE_EQ(policy.policy->predicted_error().unlisted_host, 1.0);
}

// Mapped files that shrink: the pages that held the bits are gone, reading them raises SIGBUS.
class LostFilter : public testing::Test {
 protected:
  static void shrink(const PolicyMaker& policy, std::string_view name) {
    std::filesystem::resize_file(policy.file_of(name), 4096);
  }
};

TEST_F(LostFilter, BlocksEverythingWhereOnErrorSaysSo) {
  PolicyMaker policy(
      {{.name = "f", .entries = {"S bad.test"}, .on_error = OnFilterError::block, .changes = "-gone.test\n"}},
      "good.test\n");
  EXPECT_EQ(policy.say("plain.test"), "allowed unlisted");
  shrink(policy, "f");
  EXPECT_EQ(policy.say("plain.test"), "blocked filter_lost f");
  EXPECT_EQ(policy.say("bad.test"), "blocked filter_lost f");
  EXPECT_EQ(policy.say("gone.test"), "blocked filter_lost f") << "what else held it is not known any more";
  EXPECT_EQ(policy.say_host("plain.test"), "blocked filter_lost f");
  EXPECT_EQ(policy.say("good.test"), "allowed allow_list S good.test") << "the allow list needs no filter";
  EXPECT_TRUE(policy.policy->filters()[0].file->lost());
}

TEST_F(LostFilter, AnswersNothingWhereOnErrorAllows) {
  PolicyMaker policy(
      {{.name = "f", .entries = {"S bad.test"}, .on_error = OnFilterError::allow, .changes = "+new.test\n"},
       {.name = "g", .entries = {"S worse.test"}}},
      "");
  EXPECT_EQ(policy.say("bad.test"), "blocked listed f S bad.test");
  shrink(policy, "f");
  EXPECT_EQ(policy.say("bad.test"), "allowed unlisted");
  EXPECT_EQ(policy.say("new.test"), "blocked delta f S new.test") << "a delta lies in memory";
  EXPECT_EQ(policy.say("worse.test"), "blocked listed g S worse.test") << "the others go on";
}

TEST_F(LostFilter, SaysSoOfHostsThatItCouldNotHold) {
  for (const bool blocks : {true, false}) {
    const OnFilterError on_error = blocks ? OnFilterError::block : OnFilterError::allow;
    PolicyMaker policy({{.name = "f", .entries = {"S bad.test"}, .on_error = on_error},
                        {.name = "n", .entries = {"S worse.test", "N 192.0.2.0/24"}, .on_error = on_error},
                        {.name = "g", .entries = {"X single"}}},
                       "");
    ASSERT_GT(policy.policy->filters()[0].file->header().min_labels, 1) << "hosts of one label are not asked";
    EXPECT_EQ(policy.say("localhost"), "allowed unlisted");
    EXPECT_EQ(policy.say("single"), "blocked listed g X single");
    EXPECT_EQ(policy.say("192.0.2.7"), "blocked listed n N 192.0.2.0/24");
    EXPECT_EQ(policy.say("198.51.100.7"), "allowed unlisted");
    policy.policy->filters()[0].file->mark_lost();
    for (const char* const host : {"localhost", "198.51.100.7"}) {
      EXPECT_EQ(policy.say(host), blocks ? "blocked filter_lost f" : "allowed unlisted");
      EXPECT_EQ(policy.say_host(host), blocks ? "blocked filter_lost f" : "allowed unlisted");
    }
    EXPECT_EQ(policy.say("single"), blocks ? "blocked filter_lost f" : "blocked listed g X single");
  }
}

TEST_F(LostFilter, OfAMonitorBlocksNothing) {
  PolicyMaker policy({{.name = "m", .entries = {"S bad.test"}, .action = FilterAction::monitor}}, "");
  shrink(policy, "m");
  EXPECT_EQ(policy.say("plain.test"), "monitored filter_lost m");
}

TEST(PendingVerdict, NamesThePagesItWillReadAndEndsWithTheVerdictOfJudge) {
  PolicyMaker policy(
      {{.name = "f", .entries = {"U a.test/x", "D a.test/d/"}}, {.name = "g", .entries = {"D a.test/e/f/"}}}, "");
  for (const std::string_view text :
       {"a.test/x", "a.test/e/f/g", "a.test/z", "b.test/", "http://a.test/d/%252e%252e/e/f"}) {
    const CanonicalUrl& url = policy.canonicaliser.url(text);
    const Asker anybody;
    PendingVerdict pending(*policy.policy, url, Scope::url, anybody);
    std::size_t stops = 0;
    while (!pending.advance()) {
      ++stops;
      ASSERT_FALSE(pending.pages().empty());
      for (const std::byte* page : pending.pages()) EXPECT_EQ(reinterpret_cast<std::uintptr_t>(page) % 4096, 0U);
    }
    EXPECT_TRUE(pending.pages().empty());
    EXPECT_EQ(stops > 0, url.host == "a.test") << text;
    EXPECT_EQ(PolicyMaker::say(pending.take()), policy.say(text));
  }
}

}  // namespace
}  // namespace bloomwall::filter
