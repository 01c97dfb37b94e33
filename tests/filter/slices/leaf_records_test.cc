// SPDX-License-Identifier: Apache-2.0
#include "filter/slices/leaf_records.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>

#include "tests/support/seed.h"

namespace bloomwall::filter {
namespace {

struct Kept {
  std::string name;
  SectionKind kind;
  std::size_t count;
};

std::vector<RecordValue> random_values(std::mt19937_64& random, SectionKind kind, std::size_t count) {
  std::vector<RecordValue> out;
  for (std::size_t i = 0; i < count; ++i) {
    const unsigned bits = fingerprint_bits(kind);
    const std::uint64_t fingerprint = bits == 64 ? random() : random() >> (64 - bits);
    out.push_back(value_of(kind, {.page = random() % kPagesOfLeaf, .fingerprint = fingerprint},
                           kind == SectionKind::hosts ? static_cast<Variant>(random() % kHostVariantCount) : 0));
  }
  std::ranges::sort(out);
  out.erase(std::ranges::unique(out).begin(), out.end());
  return out;
}

class LeafRecordsTest : public testing::TestWithParam<Kept> {};

TEST_P(LeafRecordsTest, ComeBack) {
  std::mt19937_64 random(test::test_seed());
  const Kept& kept = GetParam();
  const auto values = random_values(random, kept.kind, kept.count);
  std::vector<std::byte> code;
  const LeafIndex leaf = encode_leaf(values, code);
  std::vector<LeafKey> keys;
  const auto ok = decode_leaf(leaf, code, kept.kind, kPagesOfLeaf, keys);
  ASSERT_TRUE(ok) << ok.error().text();
  ASSERT_EQ(keys.size(), values.size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    EXPECT_TRUE(value_of(kept.kind, keys[i].place, keys[i].variant) == values[i]) << i;
  }
}

TEST(LeafRecords, AreNearTheLeastSize) {
  constexpr std::size_t kCount = 20'000;
  std::mt19937_64 random(test::test_seed());
  for (const SectionKind kind : {SectionKind::paths, SectionKind::raw}) {
    std::vector<std::byte> code;
    encode_leaf(random_values(random, kind, kCount), code);
    const double least = value_bits(kind) - std::log2(double{kCount}) + std::log2(std::exp(1.0));
    EXPECT_LT(static_cast<double>(code.size()) * 8 / double{kCount}, least + 0.15);
  }
}

// With a sum that fits, so that the checks behind it are reached.
TEST_P(LeafRecordsTest, ThatAreDamagedAreRefusedOrOthersInOrder) {
  std::mt19937_64 random(test::test_seed());
  const Kept& kept = GetParam();
  std::vector<std::byte> code;
  const LeafIndex leaf = encode_leaf(random_values(random, kept.kind, std::min<std::size_t>(kept.count, 200)), code);
  for (std::size_t at = 0; at < code.size(); ++at) {
    std::vector<std::byte> bad = code;
    bad[at] ^= static_cast<std::byte>(1U << random() % 8);
    std::vector<LeafKey> keys;
    const auto refused = decode_leaf(leaf, bad, kept.kind, kPagesOfLeaf, keys);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Errc::bad_digest);
    LeafIndex sealed = leaf;
    sealed.sum = xxh64(bad);
    if (!decode_leaf(sealed, bad, kept.kind, kPagesOfLeaf, keys)) continue;
    EXPECT_TRUE(std::ranges::is_sorted(keys, [&](const LeafKey& a, const LeafKey& b) {
      return value_of(kept.kind, a.place, a.variant) < value_of(kept.kind, b.place, b.variant);
    }));
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, LeafRecordsTest,
                         testing::Values(Kept{"None", SectionKind::paths, 0}, Kept{"OneOfPaths", SectionKind::paths, 1},
                                         Kept{"OneOfHosts", SectionKind::hosts, 1},
                                         Kept{"OneOfRaw", SectionKind::raw, 1},
                                         Kept{"Paths", SectionKind::paths, 20'000},
                                         Kept{"Hosts", SectionKind::hosts, 20'000},
                                         Kept{"Raw", SectionKind::raw, 20'000}),
                         [](const auto& each) { return each.param.name; });

struct BadIndex {
  std::string name;
  std::vector<LeafIndex> leaves;
  std::size_t cut = 0;
};

class LeafIndexTest : public testing::TestWithParam<BadIndex> {};

TEST_P(LeafIndexTest, IsRefused) {
  auto bytes = serialise_index(GetParam().leaves);
  bytes.resize(bytes.size() - GetParam().cut);
  const auto parsed = parse_index(bytes, 100);
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().code, Errc::bad_section);
}

INSTANTIATE_TEST_SUITE_P(Rules, LeafIndexTest,
                         testing::Values(BadIndex{"BeginsLate", {{.offset = 1}}},
                                         BadIndex{"GoesBack", {{.offset = 0}, {.offset = 50}, {.offset = 49}}},
                                         BadIndex{"GoesOut", {{.offset = 0}, {.offset = 101}}},
                                         BadIndex{"ParameterTooLarge", {{.k = kMostValueBits + 1}}},
                                         BadIndex{"Cut", {{.offset = 0}, {.offset = 50}}, 1}),
                         [](const auto& each) { return each.param.name; });

TEST(LeafIndex, ComesBack) {
  const std::vector<LeafIndex> index{{.offset = 0, .records = 7, .k = 31, .sum = 5}, {.offset = 40}, {.offset = 40}};
  const auto parsed = parse_index(serialise_index(index), 100);
  ASSERT_TRUE(parsed);
  ASSERT_EQ(parsed->size(), index.size());
  EXPECT_EQ(parsed->front().records, 7U);
  EXPECT_EQ(parsed->front().k, 31U);
  EXPECT_EQ(parsed->front().sum, 5U);
  EXPECT_EQ(parsed->back().offset, 40U);
}

}  // namespace
}  // namespace bloomwall::filter
