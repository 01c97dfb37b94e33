// Rings and releases as texts: one spelling, and everything else refused; signed by a key that is trusted, or refused.
// SPDX-License-Identifier: Apache-2.0
#include "filter/release/release_text.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "filter/release/signed_text.h"
#include "tests/filter/policy/filter_maker.h"

namespace bloomwall::filter {
namespace {

using testing::HasSubstr;

const std::string kRing =
    "bloomwall-ring 1 filter=malware ring=all release=42 sequence=317 created=1795777683 valid_until=1796382483\n";
const std::string kId = "00112233445566778899aabbccddeeff";
const std::string kSum = kId + kId;
const std::string kHead = "bloomwall-release 1 filter=malware series=" + kId + " release=42 created=1795777683\n";
const std::string kBase = "base file=files/a.bwf content=" + kId + " size=30000000000 header=" + kSum + "\n";
const std::string kExact = "exact file=files/a.bwx content=" + kId + " size=8192 header=" + kSum + "\n";
const std::string kDelta =
    "delta file=deltas/" + kId + "/0000000042 from=0 to=42 size=310 sha256=" + kSum + " changes=1\n";
const std::string kRelease = kHead + kBase + kExact + kDelta;

// "x=1" becomes "x=2".
std::string with(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  if (at == std::string::npos) throw std::invalid_argument("no " + from);
  return text.replace(at, from.size(), to);
}

TEST(ReleaseText, ARingSaysWhatItSays) {
  const auto ring = parse_ring(kRing, "ring");
  ASSERT_TRUE(ring) << ring.error().text();
  EXPECT_EQ(*ring, (RingText{.filter = "malware",
                             .ring = "all",
                             .release = 42,
                             .sequence = 317,
                             .created = 1795777683,
                             .valid_until = 1796382483}));
  EXPECT_EQ(text_of(*ring), kRing);
}

TEST(ReleaseText, AReleaseSaysWhatItSays) {
  for (const std::string& text : {kRelease, kHead + kBase, kHead + kBase + kExact, kHead + kBase + kDelta}) {
    const auto release = parse_release(text, "release");
    ASSERT_TRUE(release) << release.error().text();
    EXPECT_EQ(text_of(*release), text);
    EXPECT_EQ(release->release, 42U);
    EXPECT_EQ(release->base.size, 30000000000U);
    EXPECT_EQ(release->base.file, "files/a.bwf");
  }
  EXPECT_EQ(parse_release(kRelease, "release")->delta->to, 42U);
}

struct Refused {
  const char* name;
  std::string text;
  Errc code;
};
void PrintTo(const Refused& row, std::ostream* out) { *out << row.name; }

class RefusedRing : public testing::TestWithParam<Refused> {};
TEST_P(RefusedRing, WithItsReason) {
  const auto got = parse_ring(GetParam().text, "ring");
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, GetParam().code) << got.error().text();
  EXPECT_THAT(got.error().where, HasSubstr("ring"));
}
INSTANTIATE_TEST_SUITE_P(
    Rules, RefusedRing,
    testing::Values(
        Refused{"Empty", "", Errc::bad_syntax},
        Refused{"NoLineEnd", kRing.substr(0, kRing.size() - 1), Errc::bad_syntax},
        Refused{"ARelease", kRelease, Errc::bad_syntax},
        Refused{"AnotherVersion", with(kRing, "ring 1", "ring 2"), Errc::unsupported},
        Refused{"NoVersion", with(kRing, "ring 1 ", "ring "), Errc::bad_syntax},
        Refused{"AnUnknownWord", with(kRing, "\n", " next=1\n"), Errc::unsupported},
        Refused{"ASecondLine", kRing + kRing, Errc::unsupported},
        Refused{"AnEmptySecondLine", kRing + "\n", Errc::unsupported},
        Refused{"AWordTwice", with(kRing, "ring=all ", "ring=all ring=all "), Errc::bad_syntax},
        Refused{"AWordMissing", with(kRing, "sequence=317 ", ""), Errc::bad_syntax},
        Refused{"WordsExchanged", with(kRing, "filter=malware ring=all", "ring=all filter=malware"), Errc::bad_syntax},
        Refused{"TwoBlanks", with(kRing, " ring=", "  ring="), Errc::bad_syntax},
        Refused{"ATab", with(kRing, " ring=", "\tring="), Errc::bad_syntax},
        Refused{"ABlankAtTheEnd", with(kRing, "\n", " \n"), Errc::bad_syntax},
        Refused{"ACarriageReturn", with(kRing, "\n", "\r\n"), Errc::bad_syntax},
        Refused{"AZero", kRing + std::string(1, '\0'), Errc::unsupported},
        Refused{"AByteOrderMark", "\xef\xbb\xbf" + kRing, Errc::bad_syntax},
        Refused{"ALeadingZero", with(kRing, "release=42", "release=042"), Errc::bad_syntax},
        Refused{"ASign", with(kRing, "release=42", "release=+42"), Errc::bad_syntax},
        Refused{"ReleaseZero", with(kRing, "release=42", "release=0"), Errc::limit},
        Refused{"SequenceZero", with(kRing, "sequence=317", "sequence=0"), Errc::limit},
        Refused{"AReleaseWithoutANext", with(kRing, "release=42", "release=18446744073709551615"), Errc::limit},
        Refused{"ANumberTooLong", with(kRing, "release=42", "release=18446744073709551616"), Errc::bad_syntax},
        Refused{"ATimeAfterTheYear9999", with(kRing, "valid_until=1796382483", "valid_until=253402300800"),
                Errc::limit},
        Refused{"EndsBeforeItBegins", with(kRing, "valid_until=1796382483", "valid_until=1795777683"),
                Errc::bad_syntax},
        Refused{"ANameWithASlash", with(kRing, "ring=all", "ring=a/b"), Errc::bad_syntax},
        Refused{"ANameThatIsAFolder", with(kRing, "filter=malware", "filter=.."), Errc::bad_syntax},
        Refused{"ANameTooLong", with(kRing, "ring=all", "ring=" + std::string(65, 'a')), Errc::bad_syntax},
        Refused{"TooLong", kRing + std::string(kMostReleaseText, 'a'), Errc::limit}),
    [](const auto& row) { return row.param.name; });

class RefusedRelease : public testing::TestWithParam<Refused> {};
TEST_P(RefusedRelease, WithItsReason) {
  const auto got = parse_release(GetParam().text, "release");
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, GetParam().code) << got.error().text();
  EXPECT_THAT(got.error().where, HasSubstr("release"));
}
INSTANTIATE_TEST_SUITE_P(
    Rules, RefusedRelease,
    testing::Values(Refused{"NoBase", kHead, Errc::bad_syntax},
                    Refused{"NoBaseButADelta", kHead + kDelta, Errc::bad_syntax},
                    Refused{"TwoBases", kHead + kBase + kBase, Errc::unsupported},
                    Refused{"TwoDeltas", kRelease + kDelta, Errc::unsupported},
                    Refused{"TwoExactSides", kHead + kBase + kExact + kExact, Errc::unsupported},
                    Refused{"DeltaFirst", kHead + kDelta + kBase, Errc::bad_syntax},
                    Refused{"AnUnknownPart", kRelease + "patch file=a\n", Errc::unsupported},
                    Refused{"AnEmptyLine", kHead + "\n" + kBase, Errc::unsupported},
                    Refused{"ALink", with(kRelease, "from=0", "from=40"), Errc::unsupported},
                    Refused{"ADeltaOfALaterRelease", with(kRelease, "to=42", "to=43"), Errc::bad_syntax},
                    Refused{"AnExactSideOfAnotherBase",
                            with(kRelease, kExact, with(kExact, "content=00", "content=01")), Errc::bad_syntax},
                    Refused{"AFileAbove", with(kRelease, "files/a.bwf", "../a.bwf"), Errc::bad_syntax},
                    Refused{"AFileAboveInside", with(kRelease, "files/a.bwf", "files/../../a.bwf"), Errc::bad_syntax},
                    Refused{"AFileHere", with(kRelease, "files/a.bwf", "./a.bwf"), Errc::bad_syntax},
                    Refused{"AFileAtTheRoot", with(kRelease, "files/a.bwf", "/etc/passwd"), Errc::bad_syntax},
                    Refused{"AnotherHost", with(kRelease, "files/a.bwf", "//other.example/a.bwf"), Errc::bad_syntax},
                    Refused{"AScheme", with(kRelease, "files/a.bwf", "https://other.example/a.bwf"), Errc::bad_syntax},
                    Refused{"AFileScheme", with(kRelease, "files/a.bwf", "file:a.bwf"), Errc::bad_syntax},
                    Refused{"AnEscape", with(kRelease, "files/a.bwf", "files/%2e%2e/a.bwf"), Errc::bad_syntax},
                    Refused{"AQuery", with(kRelease, "files/a.bwf", "files/a.bwf?b"), Errc::bad_syntax},
                    Refused{"AFragment", with(kRelease, "files/a.bwf", "files/a.bwf#b"), Errc::bad_syntax},
                    Refused{"AUser", with(kRelease, "files/a.bwf", "user@host"), Errc::bad_syntax},
                    Refused{"ABackslash", with(kRelease, "files/a.bwf", "files\\a.bwf"), Errc::bad_syntax},
                    Refused{"AFolder", with(kRelease, "files/a.bwf", "files/"), Errc::bad_syntax},
                    Refused{"AnEmptyName", with(kRelease, "file=files/a.bwf", "file="), Errc::bad_syntax},
                    Refused{"APathTooLong",
                            with(kRelease, "files/a.bwf",
                                 "files/" + std::string(60, 'a') + "/" + std::string(60, 'b') + "/" +
                                     std::string(60, 'c') + "/" + std::string(60, 'd')),
                            Errc::bad_syntax},
                    Refused{"CapitalDigits",
                            with(kRelease, "series=00112233445566778899aa", "series=00112233445566778899AA"),
                            Errc::bad_syntax},
                    Refused{"ADigestTooShort", with(kRelease, "header=00", "header="), Errc::bad_syntax},
                    Refused{"ABaseShorterThanItsHeader", with(kRelease, "size=30000000000", "size=4095"), Errc::limit},
                    Refused{"ABaseTooLong", with(kRelease, "size=30000000000", "size=1125899906842625"), Errc::limit},
                    Refused{"ADeltaTooLong", with(kRelease, "size=310", "size=1073741825"), Errc::limit},
                    Refused{"TooManyChanges", with(kRelease, "changes=1", "changes=10000001"), Errc::limit}),
    [](const auto& row) { return row.param.name; });

class SignedTexts : public testing::Test {
 protected:
  SignedTexts() {
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      EXPECT_TRUE(keys_[i].write(folder_ / fmt::format("{}.key", i), folder_ / fmt::format("{}.pub", i)));
    }
  }
  TrustedKeys trusted(std::size_t i) const { return *TrustedKeys::read(folder_ / fmt::format("{}.pub", i)); }
  std::span<const SigningKey> first(std::size_t count) const { return std::span(keys_).first(count); }
  TempFolder folder_;
  const std::array<SigningKey, 2> keys_{SigningKey::generate(), SigningKey::generate()};
};

TEST_F(SignedTexts, WhatIsSignedIsGivenOut) {
  const std::string whole = sign_text(kRing, kRingDomain, first(1));
  const auto opened = open_text(whole, "ring", kRingDomain, trusted(0));
  ASSERT_TRUE(opened) << opened.error().text();
  EXPECT_EQ(opened->text, kRing);
  EXPECT_EQ(opened->signer, keys_[0].id());
}

TEST_F(SignedTexts, EitherOfTwoKeysWillDo) {
  const std::string whole = sign_text(kRing, kRingDomain, first(2));
  for (const std::size_t i : {0U, 1U}) EXPECT_TRUE(open_text(whole, "ring", kRingDomain, trusted(i))) << i;
  EXPECT_TRUE(open_text(whole, "ring", kRingDomain, std::span(keys_).last(1)));
}

TEST_F(SignedTexts, UnsignedForeignAndOfAnotherKindAreUntrusted) {
  const std::string whole = sign_text(kRing, kRingDomain, first(1));
  for (const auto& opened :
       {open_text(kRing, "ring", kRingDomain, trusted(0)), open_text("", "ring", kRingDomain, trusted(0)),
        open_text(whole, "ring", kRingDomain, trusted(1)), open_text(whole, "ring", kReleaseDomain, trusted(0)),
        open_text(whole, "ring", kRingDomain, std::span(keys_).last(1)),
        open_text(kRing, "ring", kRingDomain, first(2))}) {
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, Errc::untrusted) << opened.error().text();
    EXPECT_THAT(opened.error().where, HasSubstr("ring"));
  }
}

TEST_F(SignedTexts, AFlippedBitOfAnyOctetIsFoundOut) {
  const std::string whole = sign_text(kRelease, kReleaseDomain, first(1));
  const TrustedKeys keys = trusted(0);
  std::size_t tried = 0;
  for (std::size_t at = 0; at < whole.size(); ++at, ++tried) {
    std::string altered = whole;
    altered[at] = static_cast<char>(static_cast<unsigned char>(altered[at]) ^ (1U << at % 8));
    const auto opened = open_text(altered, "release", kReleaseDomain, keys);
    ASSERT_FALSE(opened) << "octet " << at;
  }
  EXPECT_EQ(tried, whole.size());
}

TEST_F(SignedTexts, NothingStandsBehindTheSignatures) {
  const std::string whole = sign_text(kRing, kRingDomain, first(1));
  const auto opened = open_text(whole + "bloomwall-ring 1\n", "ring", kRingDomain, trusted(0));
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Errc::bad_syntax);
  EXPECT_FALSE(open_text(whole.substr(0, whole.size() - 1), "ring", kRingDomain, trusted(0))) << "cut";
  EXPECT_FALSE(open_text(whole + "\n", "ring", kRingDomain, trusted(0)));
}

TEST(ReleaseText, NamesOfFilesSortAsNumbers) {
  EXPECT_EQ(release_file(42), "releases/0000000042");
  EXPECT_EQ(release_file(12345678901), "releases/12345678901");
  EXPECT_EQ(ring_file("all"), "rings/all");
}

}  // namespace
}  // namespace bloomwall::filter
