// SPDX-License-Identifier: Apache-2.0
#include "filter/file/exceptions.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "filter/file/filter_writer.h"
#include "tests/support/temp_dir.h"

namespace bloomwall::filter {
namespace {

const std::vector<Exception> kThree{
    {.key = {.lo = 9, .hi = 1}, .kinds = kind_bit(Kind::suffix) | kind_bit(Kind::exact_host)},
    {.key = {.lo = 2, .hi = 5}, .kinds = kind_bit(Kind::url)},
    {.key = {.lo = 3, .hi = 5}, .kinds = kind_bit(Kind::raw)},
};

TEST(Exceptions, ComeBackAsTheyWent) {
  const auto bytes = serialise_exceptions(kThree);
  EXPECT_EQ(bytes.size(), kExceptionHeaderBytes + 3 * kExceptionBytes);
  const auto parsed = Exceptions::parse(bytes);
  ASSERT_TRUE(parsed.has_value()) << parsed.error().text();
  ASSERT_EQ(parsed->size(), 3U);
  for (const Exception& e : kThree) EXPECT_EQ(parsed->of(e.key), e.kinds);
  EXPECT_EQ(parsed->of({.lo = 9, .hi = 0}), 0U);
  EXPECT_EQ(parsed->of({.lo = 4, .hi = 5}), 0U);
  EXPECT_EQ(parsed->of({.lo = 0, .hi = 9}), 0U);
}

TEST(Exceptions, NoneMakeNoSection) {
  EXPECT_TRUE(serialise_exceptions({}).empty());
  EXPECT_EQ(Exceptions().of({.lo = 1, .hi = 1}), 0U);
}

TEST(Exceptions, EveryDamageIsRefusedOrHarmless) {
  const auto whole = serialise_exceptions(kThree);
  for (std::size_t cut = 0; cut < whole.size(); ++cut) {
    EXPECT_FALSE(Exceptions::parse(std::span(whole).first(cut)).has_value()) << cut << " bytes";
  }
  struct Case {
    const char* name;
    std::size_t at;
    int value;
  };
  const Case cases[] = {
      {"magic", 0, 'X'},
      {"record size", 4, 25},
      {"count", 8, 2},
      {"a count that would wrap", 15, 0xFF},
      {"order", 16, 7},
      {"no kind", 32, 0},
      {"an unknown kind", 32, 0x80},
      {"a host kind beside a path kind", 32, 0x9},
      {"two path kinds", 56, 0x18},
      {"reserved bytes", 36, 1},
  };
  for (const Case& c : cases) {
    auto damaged = whole;
    damaged[c.at] = static_cast<std::byte>(c.value);
    const auto parsed = Exceptions::parse(damaged);
    ASSERT_FALSE(parsed.has_value()) << c.name;
    EXPECT_EQ(parsed.error().code, Errc::bad_section) << c.name;
  }
}

TEST(Exceptions, EqualKeysAreOutOfOrder) {
  const std::vector<Exception> twice{kThree[0], kThree[0]};
  EXPECT_FALSE(Exceptions::parse(serialise_exceptions(twice)).has_value());
}

// Files with one host section, in which `listed` are suffix entries, with these exceptions.
class MergedExceptionsTest : public testing::Test {
 protected:
  std::unique_ptr<FilterFile> make(const std::string& name, const std::vector<Hash128>& listed,
                                   const std::vector<Exception>& exceptions) const {
    Header header;
    header.kinds[index_of(Kind::suffix)].keys = listed.size();
    header.hosts = listed.size();
    header.min_labels = header.max_labels = 2;
    auto writer = FilterWriter::create(dir_.path() / name, {.header = header,
                                                            .hosts = Geometry{.pages = 4},
                                                            .paths = {},
                                                            .raw = {},
                                                            .info = {},
                                                            .exceptions = serialise_exceptions(exceptions)});
    EXPECT_TRUE(writer.has_value());
    for (const Hash128& host : listed) (*writer)->hosts()->insert(host, kVariantSuffix);
    const auto done = (*writer)->commit();
    EXPECT_TRUE(done.has_value()) << done.error().text();
    auto file = FilterFile::open(dir_.path() / name);
    EXPECT_TRUE(file.has_value()) << file.error().text();
    return *std::move(file);
  }
  test::TempDir dir_;
};

TEST_F(MergedExceptionsTest, KeepsWhatEveryInputHasOrTestsNegative) {
  constexpr Hash128 kInBoth{.lo = std::uint64_t{1} << 50, .hi = 1};
  constexpr Hash128 kOnlyHere{.lo = std::uint64_t{2} << 50, .hi = 2};
  constexpr Hash128 kListedThere{.lo = std::uint64_t{3} << 50, .hi = 3};
  const KindMask suffix = kind_bit(Kind::suffix);
  const auto one = make("one.bwf", {kInBoth, kOnlyHere, kListedThere},
                        {{kInBoth, suffix}, {kOnlyHere, suffix}, {kListedThere, suffix}});
  const auto two = make("two.bwf", {kInBoth, kListedThere}, {{kInBoth, suffix}});
  const std::array<const FilterFile*, 2> inputs{one.get(), two.get()};
  const auto merged = merged_exceptions(inputs);
  ASSERT_TRUE(merged.has_value()) << merged.error().text();
  const std::vector<Exception> want{{kInBoth, suffix}, {kOnlyHere, suffix}};
  EXPECT_EQ(*merged, want);
}

TEST_F(MergedExceptionsTest, TakesOfWhatIsAskedAgainOnlyWhatNobodyListed) {
  constexpr Hash128 kListed{.lo = std::uint64_t{1} << 50, .hi = 1};
  constexpr Hash128 kByAccident{.lo = std::uint64_t{2} << 50, .hi = 2};  // of the bits of both together
  const KindMask suffix = kind_bit(Kind::suffix);
  const auto one = make("one.bwf", {kListed}, {});
  const auto two = make("two.bwf", {{.lo = 7, .hi = 7}}, {});
  const std::array<const FilterFile*, 2> inputs{one.get(), two.get()};
  const std::vector<Exception> asked{{kListed, suffix}, {kByAccident, suffix | kind_bit(Kind::exact_host)}};
  const auto merged = merged_exceptions(inputs, asked);
  ASSERT_TRUE(merged.has_value()) << merged.error().text();
  EXPECT_EQ(*merged, std::vector<Exception>{asked[1]});
}

TEST_F(MergedExceptionsTest, RefusesMoreThanAFileHolds) {
  const auto one = make("one.bwf", {{.lo = 1, .hi = 1}}, {});
  const std::array<const FilterFile*, 1> inputs{one.get()};
  std::vector<Exception> asked(kMaxExceptions + 1);
  for (std::size_t i = 0; i < asked.size(); ++i) asked[i] = {{.lo = 0, .hi = i}, kind_bit(Kind::raw)};
  const auto merged = merged_exceptions(inputs, asked);
  ASSERT_FALSE(merged.has_value());
  EXPECT_EQ(merged.error().code, Errc::limit);
}

// They take hits away, so what is used is what the header's digests say, before anything else of the file is verified.
TEST_F(MergedExceptionsTest, EveryBitOfThemThatChangesIsFoundWhenTheFileIsOpened) {
  const auto file = make("one.bwf", {{.lo = 1, .hi = 1}}, kThree);
  ASSERT_EQ(file->exceptions().size(), 3U);
  const SectionEntry section = *file->header().find(SectionType::exceptions);
  std::ifstream in(dir_.path() / "one.bwf", std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(in), {}};
  for (std::uint64_t at = section.offset; at < section.offset + section.length; ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    const auto opened = FilterFile::open(dir_.write("damaged.bwf", damaged));
    ASSERT_FALSE(opened) << at;
    EXPECT_EQ(opened.error().code, Errc::bad_digest) << at;
  }
  // Those that were read stay what they were, whatever is written to the file.
  dir_.write("one.bwf", std::string(whole.size(), '\0'));
  for (const Exception& e : kThree) EXPECT_EQ(file->exceptions().of(e.key), e.kinds);
}

TEST_F(MergedExceptionsTest, AFileWithExceptionsIsReadVerifiedAndSmallInTheHeader) {
  const auto file = make("one.bwf", {{.lo = 1, .hi = 1}}, {{{.lo = 7, .hi = 7}, kind_bit(Kind::subdomains)}});
  EXPECT_EQ(file->exceptions().size(), 1U);
  EXPECT_EQ(file->exceptions().of({.lo = 7, .hi = 7}), kind_bit(Kind::subdomains));
  EXPECT_TRUE(file->verify(FilterFile::Depth::tampering).has_value());
  const SectionEntry* section = file->header().find(SectionType::exceptions);
  ASSERT_NE(section, nullptr);
  EXPECT_FALSE(section->critical);
}

}  // namespace
}  // namespace bloomwall::filter
