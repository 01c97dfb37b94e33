// SPDX-License-Identifier: Apache-2.0
#include "filter/seen/seen_set.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <memory>
#include <random>

#include "filter/file/filter_file.h"
#include "filter/file/filter_writer.h"
#include "filter/file/identity.h"
#include "tests/filter/seen/seen_maker.h"
#include "tests/support/seed.h"
#include "tests/support/temp_dir.h"

namespace bloomwall::filter {
namespace {

TEST(SeenSet, SaysNewOnce) {
  SeenSet seen = make_set(1000, 1e-6);
  EXPECT_FALSE(holds(seen, "a"));
  EXPECT_EQ(add(seen, "a"), Added::fresh);
  EXPECT_TRUE(holds(seen, "a"));
  EXPECT_EQ(add(seen, "a"), Added::seen);
  EXPECT_EQ(add(seen, ""), Added::fresh) << "the empty text is a key like any other";
  EXPECT_EQ(seen.counts().entries, 3U);
  EXPECT_EQ(seen.counts().keys, 2U);
}

TEST(SeenSet, TakesAsManyAsItPromisedAndNotOneMore) {
  constexpr std::uint64_t kKeys = 100'000;
  SeenSet seen = make_set(kKeys, 1e-9);
  ASSERT_TRUE(seen.promise({.keys = kKeys, .error = 1e-9}).has_value());
  for (std::uint64_t i = 0; i < kKeys; ++i) ASSERT_EQ(add(seen, key_number(i)), Added::fresh) << i;
  for (std::uint64_t i = kKeys; i < kKeys + 100; ++i) ASSERT_EQ(add(seen, key_number(i)), Added::full) << i;
  for (std::uint64_t i = 0; i < 100; ++i) EXPECT_EQ(add(seen, key_number(i)), Added::seen) << "those in it are known";
  EXPECT_EQ(seen.counts().keys, kKeys);
  EXPECT_EQ(seen.counts().entries, kKeys + 100) << "what was refused did not come";
  EXPECT_FALSE(holds(seen, key_number(kKeys)));
}

TEST(SeenSet, RefusesAPromiseThatItsSizeCannotKeep) {
  SeenSet seen = make_set(1000, 1e-6);
  const auto promised = seen.promise({.keys = 10'000, .error = 1e-6});
  ASSERT_FALSE(promised.has_value());
  EXPECT_EQ(promised.error().code, Errc::unmet_target);
  EXPECT_FALSE(seen.promise({.keys = ~std::uint64_t{0}, .error = 0.5}).has_value());
}

// Half of the trials see less than the mean; five standard deviations of a count are one seed in a million.
TEST(SeenSet, ErrsAsOftenAsItSays) {
  std::mt19937_64 random(test::test_seed());
  for (const double error : {1e-2, 1e-3}) {
    constexpr std::uint64_t kKeys = 50'000;
    SeenSet seen = make_set(kKeys, error);
    for (std::uint64_t i = 0; i < kKeys; ++i) add(seen, std::to_string(random()));
    constexpr int kAsked = 400'000;
    int wrong = 0;
    for (int i = 0; i < kAsked; ++i) wrong += holds(seen, "never " + std::to_string(random())) ? 1 : 0;
    const double expected = error * kAsked;
    EXPECT_LT(wrong, expected + 6 * std::sqrt(expected)) << error;
    EXPECT_GT(wrong, expected - 6 * std::sqrt(expected) - 0.1 * expected) << error;
  }
}

TEST(SeenSize, CapacityIsWhatTheSizeWasChosenFor) {
  for (const double error : {1e-2, 1e-4, 1e-6, 1e-9}) {
    for (const std::uint64_t keys : {1'000U, 1'000'000U, 1'000'000'000U}) {
      const Geometry size = least_seen_size(keys, error);
      ASSERT_NE(size.pages, 0U);
      const auto capacity = static_cast<double>(seen_capacity(size, error));
      EXPECT_GE(capacity, static_cast<double>(keys) * 0.999999);
      EXPECT_LE(capacity, static_cast<double>(keys) * 1.01 + 4000);  // whole pages
    }
  }
}

TEST(SeenSize, FiftyMillionIn200MegabytesAndABillionInFourGigabytes) {
  EXPECT_LT(least_seen_size(50'000'000, 1e-6).bytes(), 200'000'000U);
  EXPECT_LT(least_seen_size(1'000'000'000, 1e-6).bytes(), 4'000'000'000U);
}

class SeenFile : public testing::Test {
 protected:
  std::filesystem::path file() const { return dir_.path() / "visited.bwf"; }
  test::TempDir dir_;
};

TEST_F(SeenFile, HoldsWhatWasSavedAndGoesOn) {
  constexpr MadeFor kMadeFor{.keys = 5000, .error = 1e-6};
  SeenSet seen = make_set(kMadeFor.keys, kMadeFor.error, SeenKey::host);
  ASSERT_TRUE(seen.promise(kMadeFor).has_value());
  for (std::uint64_t i = 0; i < 3000; ++i) add(seen, key_number(i));
  FormerFile former = FormerFile::of(file());
  ASSERT_TRUE(seen.save(file(), former, "a test").has_value());
  for (std::uint64_t i = 3000; i < 4000; ++i) add(seen, key_number(i));
  const auto saved = seen.save(file(), former, "a test");
  ASSERT_TRUE(saved.has_value()) << saved.error().text();
  EXPECT_EQ(saved->sequence, 2U);
  EXPECT_EQ(saved->kinds[index_of(Kind::raw)].keys, 4000U) << "each key counts once, however often it is saved";

  auto again = SeenSet::load(file());
  ASSERT_TRUE(again.has_value()) << again.error().text();
  EXPECT_TRUE(again->was_loaded());
  EXPECT_EQ(again->key(), SeenKey::host);
  EXPECT_EQ(again->made_for(), kMadeFor);
  EXPECT_EQ(again->before().keys, 4000U);
  ASSERT_TRUE(again->promise(again->made_for()).has_value());
  for (std::uint64_t i = 0; i < 4000; ++i) EXPECT_EQ(add(*again, key_number(i)), Added::seen);
  for (std::uint64_t i = 4000; i < 5000; ++i) EXPECT_EQ(add(*again, key_number(i)), Added::fresh);
  EXPECT_EQ(add(*again, key_number(5000)), Added::full) << "what the file held counts";
  ASSERT_TRUE(again->save(file(), former, "a test").has_value());
}

TEST_F(SeenFile, DoesNotReplaceWhatAnotherHasSaved) {
  SeenSet one = make_set(1000, 1e-6);
  SeenSet other = make_set(1000, 1e-6);
  FormerFile of_one = FormerFile::of(file());
  FormerFile of_other = FormerFile::of(file());
  add(other, "other");
  ASSERT_TRUE(other.save(file(), of_other, "a test").has_value());
  const auto saved = one.save(file(), of_one, "a test");
  ASSERT_FALSE(saved.has_value());
  EXPECT_TRUE(holds(*SeenSet::load(file()), "other"));
  ASSERT_TRUE(other.save(file(), of_other, "a test").has_value()) << "its own file may be replaced";
}

std::string bytes_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST_F(SeenFile, IsRefusedWhereAnyOfItsOctetsIsWrong) {
  SeenSet seen = make_set(2000, 1e-6);
  for (std::uint64_t i = 0; i < 1000; ++i) add(seen, key_number(i));
  FormerFile former = FormerFile::of(file());
  ASSERT_TRUE(seen.save(file(), former, "a test").has_value());
  const std::string whole = bytes_of(file());
  std::mt19937_64 random(test::test_seed());
  for (int i = 0; i < 300; ++i) {
    std::string torn = whole;
    const std::size_t at = random() % torn.size();
    if (i % 3 == 0) {
      torn.resize(at);
    } else if (i % 3 == 1) {
      torn[at] = static_cast<char>(torn[at] ^ (1 << (random() % 8)));
    } else {  // a page that never reached the disk
      torn.replace(at / kPageBytes * kPageBytes, kPageBytes, kPageBytes, '\0');
      if (torn == whole) continue;
    }
    const auto path = dir_.write("torn.bwf", torn);
    const auto loaded = SeenSet::load(path);
    ASSERT_FALSE(loaded.has_value()) << "damage " << i % 3 << " at " << at;
    EXPECT_NE(loaded.error().text().find("torn.bwf"), std::string::npos) << loaded.error().text();
  }
}

TEST_F(SeenFile, IsRefusedWhereItPromisesTooMuch) {
  FilterWriter::Plan plan;
  plan.header.converter_options = kOptionRaw;
  plan.raw = seen_geometry(Layout::sectors_2x8, 1);
  for (const MadeFor& made_for :
       {MadeFor{.keys = 1'000'000, .error = 1e-6}, MadeFor{.keys = ~std::uint64_t{0}, .error = 0.5}}) {
    plan.info.made_for = made_for;
    auto writer = FilterWriter::create(file(), plan);
    ASSERT_TRUE(writer.has_value());
    ASSERT_TRUE((*writer)->commit().has_value());
    const auto loaded = SeenSet::load(file());
    ASSERT_FALSE(loaded.has_value());
    EXPECT_EQ(loaded.error().code, Errc::bad_section);
  }
}

TEST(KeyText, SpellingsOfAUrlOrAHostAreOneKey) {
  KeyText texts;
  const auto key = [&](SeenKey kind, std::string_view text) { return std::string(texts.of(kind, text).octets); };
  EXPECT_EQ(key(SeenKey::url, "HTTP://EXAMPLE.com.:80/a/../b#top\r"), key(SeenKey::url, "https://example.com/b"));
  EXPECT_EQ(key(SeenKey::host, "EXAMPLE.com."), "example.com");
  EXPECT_EQ(key(SeenKey::host, "a b\r"), "a b\r");
  EXPECT_TRUE(texts.of(SeenKey::url, "http://a@b/").is_as_given);
  EXPECT_EQ(key(SeenKey::url, "http://a@b/"), "http://a@b/");
  EXPECT_EQ(key(SeenKey::line, "HTTP://A\r"), "HTTP://A\r");
  EXPECT_FALSE(texts.of(SeenKey::line, "").is_as_given);
}

}  // namespace
}  // namespace bloomwall::filter
