// Pages and header of the exact side; files of it are made and asked in tests/filter/builder/exact_writer_test.cc.
// SPDX-License-Identifier: Apache-2.0
#include "filter/file/exact_side.h"

#include "filter/file/leaves.h"

#include <gtest/gtest.h>

#include <cstring>

#include <random>
#include <set>

namespace bloomwall::filter {
namespace {

using Page = std::span<const std::byte, kExactPageBytes>;

std::vector<std::vector<std::byte>> pages_of(const std::set<std::uint64_t>& fingerprints) {
  std::vector<std::vector<std::byte>> out;
  ExactPageWriter writer;
  for (const std::uint64_t f : fingerprints) {
    if (writer.add(f)) continue;
    out.push_back(writer.take());
    EXPECT_TRUE(writer.add(f));
  }
  if (!writer.empty()) out.push_back(writer.take());
  return out;
}

TEST(ExactPage, HoldsWhatWasAddedAndNothingElse) {
  std::mt19937_64 random(20260201);
  for (const unsigned bits : {12U, 20U, 30U, 48U}) {  // how far apart
    std::set<std::uint64_t> in;
    for (int i = 0; i < 3000; ++i) in.insert(random() >> (64 - bits));
    std::size_t found = 0;
    for (const auto& bytes : pages_of(in)) {
      ASSERT_EQ(bytes.size(), kExactPageBytes);
      const Page page(bytes.data(), kExactPageBytes);
      for (const std::uint64_t f : in) {
        if (ask_exact_page(page, f) == ExactAnswer::confirmed) ++found;
      }
      for (int i = 0; i < 1000; ++i) {
        const std::uint64_t absent = random() >> (64 - bits);
        if (!in.contains(absent)) {
          EXPECT_EQ(ask_exact_page(page, absent), ExactAnswer::refuted);
        }
      }
    }
    EXPECT_EQ(found, in.size()) << bits << " bits: each in one page";
  }
}

TEST(ExactPage, TakesAsManyAsTheirDistanceAllows) {
  std::set<std::uint64_t> dense;
  for (std::uint64_t i = 0; i < 40'000; ++i) dense.insert(1000 + i);
  EXPECT_EQ(pages_of(dense).size(), 15U) << "12 bits each";
  EXPECT_EQ(pages_of({0}).size(), 1U);
  const std::uint64_t most = (std::uint64_t{1} << kExactBits) - 1;
  const auto extremes = pages_of({0, most});
  ASSERT_EQ(extremes.size(), 1U);
  EXPECT_EQ(ask_exact_page(Page(extremes[0].data(), kExactPageBytes), most), ExactAnswer::confirmed);
}

TEST(ExactPage, ADamagedHeadSaysNothing) {
  const auto whole = pages_of({5, 9, 1000}).front();
  struct Case {
    const char* name;
    std::size_t at;
    int value;
  };
  for (const Case& c : {Case{"first beyond 48 bits", 7, 1}, Case{"no width", 10, 0}, Case{"too wide", 10, 49},
                        Case{"more than fit", 9, 0xFF}}) {
    auto page = whole;
    page[c.at] = static_cast<std::byte>(c.value);
    EXPECT_EQ(ask_exact_page(Page(page.data(), kExactPageBytes), 9), ExactAnswer::unknown) << c.name;
  }
  const std::vector<std::byte> zeros(kExactPageBytes);
  EXPECT_EQ(ask_exact_page(Page(zeros.data(), kExactPageBytes), 0), ExactAnswer::unknown) << "a lost file reads so";
}

// Pinned: files exist.
TEST(ExactFingerprint, TakesOnlyBitsThatChooseNothingElse) {
  const Hash128 key{.lo = 0x0123456789abcdef, .hi = 0xfedcba9876543210};
  const std::uint64_t url = exact_fingerprint(Kind::url, key);
  EXPECT_LT(url, std::uint64_t{1} << kExactBits);
  const Hash128 elsewhere{.lo = key.lo ^ (std::uint64_t{1} << 29), .hi = key.hi ^ (std::uint64_t{1} << 19)};
  EXPECT_EQ(exact_fingerprint(Kind::url, elsewhere), url);
  EXPECT_NE(exact_fingerprint(Kind::url, {.lo = key.lo ^ (1U << 28), .hi = key.hi}), url);
  EXPECT_NE(exact_fingerprint(Kind::url, {.lo = key.lo, .hi = key.hi ^ (1U << 18)}), url);
  EXPECT_EQ(exact_fingerprint(Kind::directory, key), url);
  std::set<std::uint64_t> tags;
  for (const Kind kind : {Kind::suffix, Kind::exact_host, Kind::subdomains, Kind::url, Kind::raw})
    tags.insert(exact_fingerprint(kind, key));
  EXPECT_EQ(tags.size(), 5U);
}

ExactHeader some_header() {
  ExactHeader h;
  h.filter.fill(7);
  h.fingerprints = 1000;
  h.pages = 2;
  h.file_bytes = kHeaderBytes + 2 * (kExactPageBytes + 8);
  h.xxh_root.fill(1);
  h.sha_root.fill(2);
  return h;
}

TEST(ExactHeader, ComesBackAsItWent) {
  const ExactHeader h = some_header();
  const auto bytes = serialise_exact_header(h);
  ASSERT_EQ(bytes.size(), kHeaderBytes);
  const auto parsed = parse_exact_header(bytes, h.file_bytes);
  ASSERT_TRUE(parsed.has_value()) << parsed.error().text();
  EXPECT_EQ(parsed->filter, h.filter);
  EXPECT_EQ(parsed->fingerprints, h.fingerprints);
  EXPECT_EQ(parsed->pages, h.pages);
  EXPECT_EQ(parsed->xxh_root, h.xxh_root);
  EXPECT_EQ(parsed->sha_root, h.sha_root);
  EXPECT_DOUBLE_EQ(residual_error(*parsed), 1000 / 281474976710656.0);
}

TEST(ExactHeader, RefusesWhatItCannotBe) {
  const ExactHeader good = some_header();
  const auto code = [](const ExactHeader& h, std::uint64_t size) {
    const auto parsed = parse_exact_header(serialise_exact_header(h), size);
    return parsed ? std::string("taken") : std::string(to_string(parsed.error().code));
  };
  EXPECT_EQ(code(good, good.file_bytes), "taken");
  EXPECT_EQ(code(good, good.file_bytes - 1), "too_short");
  EXPECT_EQ(code(good, good.file_bytes + 1), "bad_header");
  ExactHeader bad = good;
  bad.pages = 3;
  EXPECT_EQ(code(bad, bad.file_bytes), "bad_header");
  bad = good;
  bad.fingerprints = 1;
  EXPECT_EQ(code(bad, bad.file_bytes), "bad_header") << "a page without a fingerprint";
  bad = good;
  bad.fingerprints = ~std::uint64_t{0};
  EXPECT_EQ(code(bad, bad.file_bytes), "bad_header");
  bad = good;
  bad.pages = ~std::uint64_t{0};
  bad.file_bytes = kHeaderBytes - 8;
  EXPECT_EQ(code(bad, bad.file_bytes), "bad_header");
}

TEST(ExactHeader, FeaturesAndReservedBytes) {
  const ExactHeader h = some_header();
  const auto code = [&h](std::size_t at, std::uint8_t value, std::uint64_t compatible = 0) {
    ExactHeader changed = h;
    changed.compatible = compatible;
    auto bytes = serialise_exact_header(changed);
    bytes[at] = std::byte{value};
    const auto digest = xxh128(std::span(bytes).first(kHeaderBytes - 16));
    std::memcpy(bytes.data() + kHeaderBytes - 16, digest.data(), digest.size());
    const auto parsed = parse_exact_header(bytes, h.file_bytes);
    return parsed ? std::string("taken") : std::string(to_string(parsed.error().code));
  };
  EXPECT_EQ(code(104, 1), "unsupported") << "an incompatible feature";
  EXPECT_EQ(code(111, 128), "unsupported");
  EXPECT_EQ(code(119, 128), "taken") << "a compatible one";
  EXPECT_EQ(code(120, 1), "bad_header") << "reserved";
  EXPECT_EQ(code(4079, 1), "bad_header");
  EXPECT_EQ(code(4079, 1, 4), "taken") << "reserved bytes may be of a compatible feature";
}

TEST(ExactHeader, AnyChangedBitIsFound) {
  const ExactHeader h = some_header();
  const auto whole = serialise_exact_header(h);
  for (std::size_t at = 0; at < whole.size(); at += at < 128 ? 1 : 61) {
    auto damaged = whole;
    damaged[at] ^= std::byte{0x10};
    EXPECT_FALSE(parse_exact_header(damaged, h.file_bytes).has_value()) << "byte " << at;
  }
  for (const std::size_t size : {0UL, 7UL, 8UL, 4095UL}) {
    EXPECT_FALSE(parse_exact_header(std::span(whole).first(size), h.file_bytes).has_value());
  }
}

}  // namespace
}  // namespace bloomwall::filter
