// SPDX-License-Identifier: Apache-2.0
#include "filter/file/leaves.h"

#include <string_view>

#include <gtest/gtest.h>

#include "base/encoding.h"

namespace bloomwall::filter {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

TEST(LeavesTest, DigestsArePublishedOnes) {
  EXPECT_EQ(to_hex(sha256(bytes_of("abc"))), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(to_hex(sha256({})), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  // XXH3-128 of nothing is 99aa06d3014798d86001c324468d497f; written low half first, little-endian.
  EXPECT_EQ(to_hex(xxh128({})), "7f498d4624c30160d8984701d306aa99");
}

TEST(LeavesTest, AStreamInPiecesIsTheWhole) {
  Sha256Stream stream;
  stream.add(bytes_of("a"));
  stream.add({});
  stream.add(bytes_of("bc"));
  EXPECT_EQ(stream.finish(), sha256(bytes_of("abc")));
  stream.add(bytes_of("abc"));
  EXPECT_EQ(stream.finish(), sha256(bytes_of("abc"))) << "finish() starts again";
}

TEST(LeavesTest, ASectionIsCutInto4MiB) {
  std::vector<std::byte> section(static_cast<std::size_t>(kLeafBytes) * 17 + 5);  // enough for several threads
  for (std::size_t i = 0; i < section.size(); i += 997) section[i] = static_cast<std::byte>(i % 251);
  const auto leaves = digest_leaves(section);
  ASSERT_EQ(leaves.size(), 18U);
  EXPECT_EQ(leaf_count(section.size()), 18U);
  for (std::size_t i = 0; i < 17; ++i) {
    EXPECT_EQ(leaves[i], digest_leaf(std::span(section).subspan(i * kLeafBytes, kLeafBytes))) << i;
  }
  EXPECT_EQ(leaves[17], digest_leaf(std::span(section).last(5)));
}

TEST(LeavesTest, RootsAreDigestsOfDigests) {
  const LeafDigest a = digest_leaf(bytes_of("a"));
  const LeafDigest b = digest_leaf(bytes_of("b"));
  const Roots roots = roots_of(std::array{a, b});
  std::vector<std::uint8_t> joined(a.sha.begin(), a.sha.end());
  joined.insert(joined.end(), b.sha.begin(), b.sha.end());
  EXPECT_EQ(roots.sha, sha256(std::as_bytes(std::span(joined))));
  joined.assign(a.xxh.begin(), a.xxh.end());
  joined.insert(joined.end(), b.xxh.begin(), b.xxh.end());
  EXPECT_EQ(roots.xxh, xxh128(std::as_bytes(std::span(joined))));
  EXPECT_NE(roots_of(std::array{b, a}).sha, roots.sha);
}

TEST(LeavesTest, LeafCountDoesNotOverflow) {
  EXPECT_EQ(leaf_count(0), 0U);
  EXPECT_EQ(leaf_count(1), 1U);
  EXPECT_EQ(leaf_count(kLeafBytes), 1U);
  EXPECT_EQ(leaf_count(~std::uint64_t{0}), std::uint64_t{1} << 42);
}

}  // namespace
}  // namespace bloomwall::filter
