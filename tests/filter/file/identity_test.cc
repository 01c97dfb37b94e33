// SPDX-License-Identifier: Apache-2.0
#include "filter/file/identity.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <ctime>
#include <limits>

#include "base/encoding.h"
#include "filter/file/filter_writer.h"
#include "tests/support/temp_dir.h"

namespace bloomwall::filter {
namespace {

SeriesKey counting_key() {
  SeriesKey key{};
  for (std::size_t i = 0; i < key.size(); ++i) key[i] = static_cast<std::uint8_t>(i);
  return key;
}
constexpr const char* kCountingHex = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

Header header_of_series(std::uint64_t sequence) {
  Header h;
  h.series_key = counting_key();
  h.sequence = sequence;
  return h;
}

TEST(SeriesKey, IsHexOrBytes) {
  EXPECT_EQ(*parse_series_key(kCountingHex), counting_key());
  EXPECT_EQ(*parse_series_key(std::string(kCountingHex) + "\n"), counting_key());
  EXPECT_EQ(*parse_series_key(std::string(kCountingHex) + "\r\n"), counting_key());
  std::string upper = kCountingHex;
  for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  EXPECT_EQ(*parse_series_key(upper), counting_key());
  const SeriesKey key = counting_key();
  EXPECT_EQ(*parse_series_key({reinterpret_cast<const char*>(key.data()), key.size()}), key);
}

TEST(SeriesKey, AnythingElseIsRefused) {
  for (const std::string& text : {std::string(), std::string(31, 'a'), std::string(33, 'a'), std::string(63, 'a'),
                                  std::string(65, 'a'), std::string(64, 'g'), std::string(200, 'a')}) {
    const auto key = parse_series_key(text);
    ASSERT_FALSE(key) << text.size();
    EXPECT_EQ(key.error().text(), "a series key is 64 hexadecimal digits, or 32 bytes");
  }
}

TEST(SeriesKey, FromAFileWarnsWhereOthersMayReadIt) {
  const test::TempDir dir;
  const auto path = dir.write("key", kCountingHex);
  std::vector<std::string> warnings;
  ASSERT_EQ(chmod(path.c_str(), 0600), 0);
  EXPECT_EQ(*read_series_key(path, warnings), counting_key());
  EXPECT_TRUE(warnings.empty());
  ASSERT_EQ(chmod(path.c_str(), 0644), 0);
  EXPECT_EQ(*read_series_key(path, warnings), counting_key());
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_EQ(warnings[0], path.string() + ": others than its owner may read the series key; mode 0600 keeps it secret");
}

TEST(SeriesKey, FileErrorsNameTheFile) {
  const test::TempDir dir;
  std::vector<std::string> warnings;
  const auto missing = read_series_key(dir.path() / "none", warnings);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Errc::io);
  EXPECT_EQ(missing.error().where, (dir.path() / "none").string());
  const auto wrong = read_series_key(dir.write("key", "short"), warnings);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, Errc::bad_syntax);
  EXPECT_EQ(wrong.error().where, (dir.path() / "key").string());
}

TEST(SeriesId, FollowsFromTheKeyAndDoesNotShowIt) {
  const FileId id = series_id_of(counting_key());
  EXPECT_EQ(id, series_id_of(counting_key()));
  SeriesKey other = counting_key();
  other[31] ^= 1;
  EXPECT_NE(id, series_id_of(other)) << "every byte counts";
  EXPECT_EQ(std::string(kCountingHex).find(to_hex(id)), std::string::npos);
  EXPECT_EQ(to_hex(id), "e7fe51292abd9e9eb38788fd8df191af") << "pinned: shards built apart must agree on it";
}

TEST(ChooseIdentity, IsRandomAndNowForTheFirstOfASeries) {
  const auto before = static_cast<std::uint64_t>(std::time(nullptr));
  const auto a = choose_identity({}, std::nullopt);
  const auto b = choose_identity({}, std::nullopt);
  ASSERT_TRUE(a && b);
  EXPECT_NE(a->series_key, b->series_key);
  EXPECT_NE(a->file_id, b->file_id);
  EXPECT_EQ(a->series_id, series_id_of(a->series_key));
  EXPECT_EQ(a->sequence, 1U);
  EXPECT_GE(a->created, before);
  EXPECT_LE(a->created, before + 60);
}

TEST(ChooseIdentity, KeepsTheSeriesOfTheFileThatIsReplaced) {
  const auto next = choose_identity({}, header_of_series(41));
  ASSERT_TRUE(next);
  EXPECT_EQ(next->series_key, counting_key());
  EXPECT_EQ(next->sequence, 42U);
}

TEST(ChooseIdentity, NewSeriesBeginsAtOne) {
  const auto next = choose_identity({.series_key_file = {}, .new_series = true}, header_of_series(41));
  ASSERT_TRUE(next);
  EXPECT_NE(next->series_key, counting_key());
  EXPECT_EQ(next->sequence, 1U);
}

TEST(ChooseIdentity, AGivenKeyGoesOnOrBeginsASeries) {
  const test::TempDir dir;
  const auto same = choose_identity({.series_key_file = dir.write("same", kCountingHex)}, header_of_series(41));
  ASSERT_TRUE(same);
  EXPECT_EQ(same->sequence, 42U);
  const auto other =
      choose_identity({.series_key_file = dir.write("other", std::string(64, '0'))}, header_of_series(41));
  ASSERT_TRUE(other);
  EXPECT_EQ(other->sequence, 1U);
}

TEST(ChooseIdentity, PinnedFieldsAreTaken) {
  const FileId id{1, 2, 3};
  IdentityOptions options;
  options.file_id = id;
  options.created = 1234;
  options.sequence = 77;
  options.valid_until = 5678;
  const auto got = choose_identity(options, std::nullopt);
  ASSERT_TRUE(got);
  Header h;
  set_identity(h, *got);
  EXPECT_EQ(h.file_id, id);
  EXPECT_EQ(h.created, 1234U);
  EXPECT_EQ(h.sequence, 77U);
  EXPECT_EQ(h.valid_until, 5678U);
  EXPECT_EQ(h.series_key, got->series_key);
  EXPECT_EQ(h.series_id, got->series_id);
}

TEST(ChooseIdentity, ASequenceNeverGoesBack) {
  IdentityOptions options;
  options.sequence = 41;
  EXPECT_TRUE(choose_identity(options, header_of_series(41))) << "a rebuild with pinned fields";
  options.sequence = 40;
  const auto back = choose_identity(options, header_of_series(41));
  ASSERT_FALSE(back);
  EXPECT_EQ(back.error().text(), "sequence 40 is below 41 of the file that is replaced");
  const auto end = choose_identity({}, header_of_series(std::numeric_limits<std::uint64_t>::max()));
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().code, Errc::limit);
}

TEST(ChooseIdentity, TwoKeysAreOneTooMany) {
  const auto both = choose_identity({.series_key_file = "x", .new_series = true}, std::nullopt);
  ASSERT_FALSE(both);
  EXPECT_EQ(both.error().text(), "--new-series and --series-key exclude each other");
}

void write_filter(const std::filesystem::path& path) {
  FilterWriter::Plan plan;
  plan.header = header_of_series(5);
  plan.hosts = Geometry{};
  auto writer = FilterWriter::create(path, plan);
  ASSERT_TRUE(writer);
  ASSERT_TRUE((*writer)->commit());
}

TEST(ReplacedHeader, IsThatOfTheFileWhereThereIsOne) {
  const test::TempDir dir;
  const auto none = replaced_header(dir.path() / "none.bwf", {});
  ASSERT_TRUE(none);
  EXPECT_FALSE(none->has_value());
  write_filter(dir.path() / "f.bwf");
  const auto found = replaced_header(dir.path() / "f.bwf", {});
  ASSERT_TRUE(found && *found);
  EXPECT_EQ((*found)->sequence, 5U);
}

TEST(ReplacedHeader, WhatIsNoFilterIsNotReplacedByMistake) {
  const test::TempDir dir;
  const auto notes = dir.write("notes.txt", "my notes");
  const auto refused = replaced_header(notes, {});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().what.find("exists and can't be read as a filter"), std::string::npos);
  EXPECT_NE(refused.error().what.find("--new-series"), std::string::npos);
  const auto forced = replaced_header(notes, {.series_key_file = {}, .new_series = true});
  ASSERT_TRUE(forced);
  EXPECT_FALSE(forced->has_value());
  const auto folder = replaced_header(dir.path(), {.series_key_file = {}, .new_series = true});
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().what, "exists and is not a regular file");
}

}  // namespace
}  // namespace bloomwall::filter
