// SPDX-License-Identifier: Apache-2.0
#include "filter/file/header.h"

#include <cmath>
#include <cstring>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/encoding.h"
#include "filter/file/header_bytes.h"

namespace bloomwall::filter {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::uint64_t kHostBytes = 36 * kMiB;

// A header of three sections: H of 36 MiB, info of 100 bytes, digests of their ten leaves.
Header good() {
  Header h;
  h.file_id = {1};
  h.series_key = {9, 8, 7};
  h.sequence = 3;
  h.kinds[index_of(Kind::suffix)] = {.entries = 100, .keys = 90};
  h.hosts = 90;
  h.min_labels = 2;
  h.max_labels = 4;
  h.max_depth = 9;
  h.canonicalisation = 1;
  h.converter_options = 5;
  h.predicted.host_key = 1e-7;
  h.predicted.listed_host = {.mean = 1e-6, .p99 = 2e-6, .mean_questions = 4, .p99_questions = 9};
  h.measured = {.samples = 1000, .hits = 1};
  SectionEntry hosts{.type = SectionType::hosts, .critical = true, .offset = 2 * kMiB, .length = kHostBytes};
  hosts.geometry = {.layout = Layout::lines_4x4, .pages = kHostBytes / kPageBytes};
  hosts.xxh_root = {1, 2};
  hosts.sha_root = {3, 4};
  const SectionEntry info{.type = SectionType::info, .offset = 2 * kMiB + kHostBytes, .length = 100};
  const SectionEntry leaves{.type = SectionType::leaves, .offset = info.offset + 4096, .length = 10 * kLeafRecordBytes};
  h.sections = {hosts, info, leaves};
  h.file_bytes = leaves.offset + leaves.length;
  return h;
}

Result<Header> parse(const std::vector<std::byte>& bytes, std::uint64_t file_bytes) {
  return parse_header(bytes, file_bytes);
}
Result<Header> round_trip(const Header& h) { return parse(serialise_header(h), h.file_bytes); }

// Bytes changed behind the back of the digest, then sealed again.
Result<Header> parse_resealed(std::size_t offset, std::span<const std::uint8_t> patch) {
  const Header h = good();
  std::vector<std::byte> bytes = serialise_header(h);
  std::memcpy(bytes.data() + offset, patch.data(), patch.size());
  HeaderBytes fixed{};
  std::copy_n(bytes.begin(), kHeaderBytes, fixed.begin());
  const Digest128 digest = header_digest(fixed);
  std::memcpy(bytes.data() + kDigestOffset, digest.data(), digest.size());
  return parse(bytes, h.file_bytes);
}

TEST(HeaderTest, EveryFieldSurvivesARoundTrip) {
  Header h = good();
  h.compatible = 0xff00;  // unknown ones are passed over
  h.signatures[2] = {.algorithm = 77, .parameter = 5, .key_id = {1, 2, 3}, .bytes = {4, 5, 6}};
  const auto back = round_trip(h);
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_EQ(serialise_header(*back), serialise_header(h));
  EXPECT_EQ(back->compatible, 0xff00U);
  EXPECT_EQ(back->predicted.listed_host.p99_questions, 9);
  EXPECT_EQ(back->measured.hits, 1U);
  EXPECT_EQ(back->max_depth, 9);
  ASSERT_EQ(back->sections.size(), 3U);
  EXPECT_TRUE(back->sections[0].critical);
  EXPECT_FALSE(back->sections[1].critical);
  EXPECT_EQ(back->sections[0].geometry, h.sections[0].geometry);
  EXPECT_EQ(back->sections[0].sha_root, h.sections[0].sha_root);
}

TEST(HeaderTest, SignaturesOfUnknownAlgorithmsAreKeptAndPassedOver) {
  Header h = good();
  for (std::uint8_t i = 0; i < kMaxSignatures; ++i) {
    h.signatures[i] = {.algorithm = 1000U + i, .parameter = i, .key_id = {i, 1}, .bytes = {i, 2}};
  }
  const auto back = round_trip(h);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->signatures, h.signatures);
  EXPECT_EQ(round_trip(good())->signatures[0], Signature{}) << "all zero is none";
}

TEST(HeaderTest, FindsSectionsByType) {
  const Header h = good();
  EXPECT_EQ(h.find(SectionType::info), &h.sections[1]);
  EXPECT_EQ(h.find(SectionType::raw), nullptr);
  EXPECT_STREQ(to_string(SectionType::leaves), "leaves");
  EXPECT_STREQ(to_string(SectionType{99}), "unknown");
}

// The table at the top of header_bytes.cc, as far as a reader in another language would trust it.
TEST(HeaderTest, FieldsStandWhereTheTableSays) {
  const std::vector<std::byte> bytes = serialise_header(good());
  ASSERT_EQ(bytes.size(), kHeaderBytes);
  const auto u64 = [&](std::size_t at) {
    std::uint64_t v = 0;
    std::memcpy(&v, bytes.data() + at, 8);
    return v;
  };
  EXPECT_EQ(u64(0), 0x0a1a0a0d46574289U);
  EXPECT_EQ(u64(8), 0x0000100000000001U);  // major 1, minor 0, length 4096
  EXPECT_EQ(u64(16), good().file_bytes);
  EXPECT_EQ(u64(40), 1U);
  EXPECT_EQ(u64(72), 0x070809U);
  EXPECT_EQ(u64(104), 3U);
  EXPECT_EQ(u64(176), 100U);
  EXPECT_EQ(u64(184), 90U);
  EXPECT_EQ(u64(192), 1U) << "one set of bits a key";
  EXPECT_EQ(u64(568), 90U);
  EXPECT_EQ(u64(576), 0x0009040200000000U);  // mark mask 0, labels 2..4, depth 9
  EXPECT_EQ(u64(760), 1000U);
  EXPECT_EQ(u64(1024), 0x0000000100000001U);  // type 1, critical
  EXPECT_EQ(u64(1024 + 24), 0x0000000100000002U);
  EXPECT_EQ(u64(1024 + 32), kHostBytes / kPageBytes);
  EXPECT_EQ(u64(1024 + 128), 5U);
}

struct Refusal {
  const char* name;
  Errc code;
  void (*spoil)(Header&);
};
void PrintTo(const Refusal& r, std::ostream* out) { *out << r.name; }

class HeaderRefuses : public testing::TestWithParam<Refusal> {};

TEST_P(HeaderRefuses, It) {
  Header h = good();
  GetParam().spoil(h);
  const auto got = parse(serialise_header(h), good().file_bytes);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, GetParam().code) << got.error().text();
}

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
const Refusal kRefusals[] = {
    {"UnknownMajor", Errc::unsupported, [](Header& h) { h.major = 2; }},
    {"MajorZero", Errc::unsupported, [](Header& h) { h.major = 0; }},
    {"UnknownIncompatibleBit", Errc::unsupported, [](Header& h) { h.incompatible = std::uint64_t{1} << 63; }},
    {"UnknownHash", Errc::unsupported, [](Header& h) { h.hash_id = 2; }},
    {"UnknownKeyDerivation", Errc::unsupported, [](Header& h) { h.key_derivation = 2; }},
    {"UnknownCanonicalisation", Errc::unsupported, [](Header& h) { h.canonicalisation = 2; }},
    {"UnknownCanonicalOption", Errc::unsupported, [](Header& h) { h.canonical_options = 2; }},
    {"FileShorterThanPromised", Errc::too_short, [](Header& h) { h.file_bytes += 1; }},
    {"FileLongerThanPromised", Errc::bad_header, [](Header& h) { h.file_bytes -= 1; }},
    {"UnknownCriticalSection", Errc::unsupported,
     [](Header& h) { h.sections[1].type = SectionType{77}, h.sections[1].critical = true; }},
    {"SectionTypeZero", Errc::bad_section, [](Header& h) { h.sections[1].type = SectionType{}; }},
    {"TwoSectionsOfOneType", Errc::bad_section, [](Header& h) { h.sections[1].type = SectionType::leaves; }},
    {"NoSections", Errc::bad_header, [](Header& h) { h.sections.clear(); }},
    {"NoDigests", Errc::bad_section, [](Header& h) { h.sections[2].type = SectionType::exceptions; }},
    {"NothingToAsk", Errc::bad_section, [](Header& h) { h.sections[0].type = SectionType::exceptions; }},
    {"EmptySection", Errc::bad_section, [](Header& h) { h.sections[1].length = 0; }},
    {"OffsetInHeader", Errc::bad_section, [](Header& h) { h.sections[1].offset = 0; }},
    {"OffsetBeyondFile", Errc::bad_section, [](Header& h) { h.sections[1].offset = 1ULL << 40; }},
    {"LengthBeyondFile", Errc::bad_section, [](Header& h) { h.sections[1].length = 1ULL << 40; }},
    {"OffsetPlusLengthWrapsAround", Errc::bad_section,
     [](Header& h) { h.sections[1].length = ~std::uint64_t{0} - 4096; }},
    {"SmallSectionNotOnAPage", Errc::bad_section, [](Header& h) { h.sections[1].offset += 512; }},
    {"LargeSectionNotOn2MiB", Errc::bad_section, [](Header& h) { h.sections[0].offset -= 4096; }},
    {"Overlap", Errc::bad_section, [](Header& h) { h.sections[2].offset = h.sections[1].offset; }},
    {"SectionInsideAnother", Errc::bad_section, [](Header& h) { h.sections[1].offset = 3 * kMiB; }},
    {"LayoutZero", Errc::unsupported, [](Header& h) { h.sections[0].geometry.layout = Layout{0}; }},
    {"UnknownLayout", Errc::unsupported, [](Header& h) { h.sections[0].geometry.layout = Layout{3}; }},
    {"PagesDoNotGiveTheLength", Errc::bad_section, [](Header& h) { h.sections[0].geometry.pages = 255; }},
    {"NoPages", Errc::bad_section, [](Header& h) { h.sections[0].geometry.pages = 0; }},
    // So many that their bytes wrap around to the length.
    {"PagesThatWrapAround", Errc::bad_section,
     [](Header& h) { h.sections[0].geometry.pages += std::uint64_t{1} << 52; }},
    {"GeometryOfInfo", Errc::bad_section, [](Header& h) { h.sections[1].geometry.pages = 1; }},
    {"GeometryOfAnUnknownSection", Errc::bad_section,
     [](Header& h) { h.sections[1].type = SectionType{77}, h.sections[1].geometry.layout = Layout{9}; }},
    {"CriticalSectionThatNobodyKnows", Errc::unsupported,
     [](Header& h) { h.sections[1].type = SectionType{77}, h.sections[1].critical = true; }},
    {"NetworksThatTheHeaderDoesNotCount", Errc::bad_header,
     [](Header& h) { h.sections[1].type = SectionType::networks, h.sections[1].critical = true; }},
    {"RangesWithoutNetworks", Errc::bad_header, [](Header& h) { h.kinds[index_of(Kind::network)].keys = 1; }},
    {"TooFewDigests", Errc::bad_section, [](Header& h) { h.sections[2].length -= 1; }},
    {"PathKeysWithoutSection", Errc::bad_header, [](Header& h) { h.kinds[index_of(Kind::directory)].keys = 1; }},
    {"MarksWithoutPathSection", Errc::bad_header, [](Header& h) { h.mark_mask = 1U << kVariantMarkQuery; }},
    {"RawKeysWithoutSection", Errc::bad_header, [](Header& h) { h.kinds[index_of(Kind::raw)].keys = 1; }},
    {"HostKeysWithoutSection", Errc::bad_header, [](Header& h) { h.sections[0].type = SectionType::raw; }},
    {"MarkMaskOfAHostKind", Errc::bad_header, [](Header& h) { h.mark_mask = 1; }},
    {"MarkMaskBeyondTheLastMark", Errc::bad_header, [](Header& h) { h.mark_mask = 1U << kHostVariantCount; }},
    {"LeastLabelsOverMost", Errc::bad_header, [](Header& h) { h.min_labels = 5; }},
    {"ErrorNotANumber", Errc::bad_header, [](Header& h) { h.predicted.path_fill = kNaN; }},
    {"ErrorNegative", Errc::bad_header, [](Header& h) { h.predicted.unlisted_host.mean = -1e-9; }},
    {"ErrorOverOne", Errc::bad_header, [](Header& h) { h.predicted.raw_key = 1.0000001; }},
    {"EndlessQuestions", Errc::bad_header,
     [](Header& h) { h.predicted.listed_host.p99_questions = std::numeric_limits<double>::infinity(); }},
    {"MoreHitsThanSamples", Errc::bad_header, [](Header& h) { h.measured.hits = 1001; }},
};
INSTANTIATE_TEST_SUITE_P(Rules, HeaderRefuses, testing::ValuesIn(kRefusals),
                         [](const auto& i) { return i.param.name; });

TEST(HeaderTest, AnUnknownSectionThatIsNotCriticalIsPassedOver) {
  Header h = good();
  h.sections[1].type = SectionType{77};
  const auto back = round_trip(h);
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_EQ(back->sections[1].type, SectionType{77});
}

TEST(HeaderTest, AGapLargerThanAlignmentNeedsIsRefused) {
  Header h = good();
  h.sections[2].offset += 2 * kMiB;
  h.file_bytes += 2 * kMiB;
  EXPECT_EQ(round_trip(h).error().code, Errc::bad_section);
}

TEST(HeaderTest, BytesAfterTheLastSectionAreRefused) {
  Header h = good();
  h.file_bytes += 1;
  EXPECT_EQ(round_trip(h).error().code, Errc::bad_section);
}

TEST(HeaderTest, ReservedBytesMustBeZero) {
  const std::uint8_t one[] = {1};
  for (const std::size_t at : {134U, 193U, 696U, 808U, 1023U, 1024U + 26, 1024U + 88, 1024U + 3 * 128, 4032U, 4079U}) {
    const auto got = parse_resealed(at, one);
    ASSERT_FALSE(got) << at;
    EXPECT_EQ(got.error().code, Errc::bad_header) << at;
  }
}

// What would change the questions to be asked is refused, whatever the minor version says.
TEST(HeaderTest, UnknownRulesAreRefusedInLaterMinorVersionsToo) {
  struct Case {
    const char* name;
    std::size_t at;
    std::uint8_t value;
  };
  for (const Case& c :
       {Case{"two sets of bits for S", 192, 2}, Case{"no set of bits for R", 176 + 6 * 24 + 16, 0},
        Case{"entries of a ninth kind", 176 + 8 * 24, 1}, Case{"keys of the last kind", 176 + 15 * 24 + 8, 1},
        Case{"sets of the ninth kind", 176 + 8 * 24 + 16, 1}, Case{"sets of bits for ranges", 176 + 7 * 24 + 16, 1},
        Case{"unknown flag of H", 1024 + 4, 3}, Case{"unknown flag of info", 1024 + 128 + 7, 1},
        Case{"two segments", 1024 + 28, 2}, Case{"no segment", 1024 + 28, 0},
        Case{"a segment of info", 1024 + 128 + 28, 1}}) {
    for (const std::uint16_t minor : std::initializer_list<std::uint16_t>{0, 1, 65535}) {
      Header h = good();
      h.minor = minor;
      std::vector<std::byte> bytes = serialise_header(h);
      bytes[c.at] = std::byte{c.value};
      HeaderBytes fixed{};
      std::copy_n(bytes.begin(), kHeaderBytes, fixed.begin());
      const Digest128 digest = header_digest(fixed);
      std::memcpy(bytes.data() + kDigestOffset, digest.data(), digest.size());
      const auto got = parse(bytes, h.file_bytes);
      ASSERT_FALSE(got) << c.name << " minor " << minor;
      EXPECT_EQ(got.error().code, Errc::unsupported) << c.name << " " << got.error().text();
    }
  }
}

TEST(HeaderTest, AFileMadeOfOthersPromisesOnlyWhatThisBuildKnows) {
  Header h = good();
  h.minor = 3;
  h.compatible = kEstimatedCounts | std::uint64_t{1} << 40;
  forget_unknown(h);
  EXPECT_EQ(h.minor, 0);
  EXPECT_EQ(h.compatible, kEstimatedCounts);
}

TEST(HeaderTest, ALaterMinorVersionMayUseReservedBytes) {
  const std::uint8_t later[] = {1, 0, 1, 0};
  EXPECT_TRUE(parse_resealed(8, later));
  Header h = good();
  h.minor = 1;
  std::vector<std::byte> bytes = serialise_header(h);
  bytes[700] = std::byte{9};
  HeaderBytes fixed{};
  std::copy_n(bytes.begin(), kHeaderBytes, fixed.begin());
  const Digest128 digest = header_digest(fixed);
  std::memcpy(bytes.data() + kDigestOffset, digest.data(), digest.size());
  EXPECT_TRUE(parse(bytes, h.file_bytes));
}

TEST(HeaderTest, AHashThatDiffersIsRefused) {
  const std::uint8_t other[] = {0xff, 0xff};
  const auto got = parse_resealed(kSelfTestOffset, other);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, Errc::unsupported);
  EXPECT_EQ(got.error().where, "hash self-test");
}

TEST(HeaderTest, SectionCountAndHeaderLengthAreChecked) {
  const std::uint8_t many[] = {kMaxSections + 1, 0, 0, 0};
  EXPECT_FALSE(parse_resealed(kSectionCountOffset, many));
  const std::uint8_t huge[] = {255, 255, 255, 255};
  EXPECT_FALSE(parse_resealed(kSectionCountOffset, huge));
  EXPECT_EQ(parse_resealed(kHeaderLengthOffset, many).error().code, Errc::bad_header);
}

TEST(HeaderTest, AForeignOrDamagedMagicIsNamed) {
  std::vector<std::byte> bytes = serialise_header(good());
  auto foreign = bytes;
  foreign[1] = std::byte{'X'};
  EXPECT_EQ(parse(foreign, good().file_bytes).error().code, Errc::bad_magic);
  // What FTP in text mode does: CR LF becomes LF.
  auto text_mode = bytes;
  text_mode.erase(text_mode.begin() + 4);
  const auto got = parse(text_mode, good().file_bytes);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, Errc::bad_magic);
  EXPECT_THAT(got.error().what, testing::HasSubstr("text"));
  const std::byte html[] = {std::byte{'<'}, std::byte{'h'}, std::byte{'t'}};
  EXPECT_EQ(parse_header(html, 3).error().code, Errc::bad_magic);
}

TEST(HeaderTest, EveryFlippedBitIsFound) {
  const std::vector<std::byte> bytes = serialise_header(good());
  for (std::size_t bit = 0; bit < kHeaderBytes * 8; ++bit) {
    auto flipped = bytes;
    flipped[bit / 8] ^= static_cast<std::byte>(1 << (bit % 8));
    ASSERT_FALSE(parse(flipped, good().file_bytes)) << bit;
  }
}

TEST(HeaderTest, EveryTruncationIsTooShort) {
  const std::vector<std::byte> bytes = serialise_header(good());
  for (std::size_t n = 0; n < kHeaderBytes; ++n) {
    const std::vector<std::byte> exact(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(n));
    ASSERT_EQ(parse(exact, n).error().code, Errc::too_short) << n;
  }
}

TEST(HexTest, IdsAreWrittenAndReadAsHex) {
  FileId id{};
  for (std::uint8_t i = 0; i < 16; ++i) id[i] = static_cast<std::uint8_t>(i * 17);
  EXPECT_EQ(to_hex(id), "00112233445566778899aabbccddeeff");
  EXPECT_EQ(parse_hex<sizeof(FileId)>("00112233445566778899aabbccddeeff"), id);
  EXPECT_EQ(parse_hex<sizeof(FileId)>("00112233445566778899AABBCCDDEEFF"), id);
  for (const char* bad : {"", "0", "00112233445566778899aabbccddeef", "00112233445566778899aabbccddeefg",
                          "00112233445566778899aabbccddeeff0", "0x112233445566778899aabbccddeeff"}) {
    EXPECT_EQ(parse_hex<sizeof(FileId)>(bad), std::nullopt) << bad;
  }
}

}  // namespace
}  // namespace bloomwall::filter
