// Zip archives, and archives of either kind that hold a single list.
// SPDX-License-Identifier: Apache-2.0
#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/handles.h"
#include "filter/lists/list_archive.h"
#include "filter/lists/list_folder.h"
#include "filter/lists/utf8_locale.h"
#include "tests/filter/lists/compress.h"
#include "tests/filter/lists/list_text.h"
#include "tests/support/temp_dir.h"

namespace bloomwall::filter::test {
namespace {

struct ZipItem {
  std::string path;
  std::string text = {};
  mode_t type = AE_IFREG;
};

la_ssize_t append_zip(archive* /*writer*/, void* to, const void* piece, std::size_t size) {
  static_cast<std::string*>(to)->append(static_cast<const char*>(piece), size);
  return static_cast<la_ssize_t>(size);
}

std::string pack(const std::vector<ZipItem>& items, int format = ARCHIVE_FORMAT_ZIP, const char* password = nullptr) {
  std::string out;
  const std::unique_ptr<archive, FreeWith<archive_write_free>> writer(archive_write_new());
  archive_write_set_format(writer.get(), format);
  archive_write_set_bytes_in_last_block(writer.get(), 1);
  if (password != nullptr) {
    archive_write_set_options(writer.get(), "zip:encryption=zipcrypt");
    archive_write_set_passphrase(writer.get(), password);
  }
  EXPECT_EQ(archive_write_open(writer.get(), &out, nullptr, append_zip, nullptr), ARCHIVE_OK);
  for (const ZipItem& item : items) {
    const std::unique_ptr<archive_entry, FreeWith<archive_entry_free>> entry(archive_entry_new());
    archive_entry_set_pathname(entry.get(), item.path.c_str());
    archive_entry_set_filetype(entry.get(), item.type);
    archive_entry_set_perm(entry.get(), 0644);
    const bool has_text = item.type == AE_IFREG;
    archive_entry_set_size(entry.get(), has_text ? static_cast<la_int64_t>(item.text.size()) : 0);
    if (item.type == AE_IFLNK) archive_entry_set_symlink(entry.get(), item.text.c_str());
    EXPECT_GE(archive_write_header(writer.get(), entry.get()), ARCHIVE_WARN) << archive_error_string(writer.get());
    if (has_text) archive_write_data(writer.get(), item.text.data(), item.text.size());
  }
  EXPECT_EQ(archive_write_close(writer.get()), ARCHIVE_OK);
  return out;
}

class PackedLists : public testing::Test {
 protected:
  std::string put(const std::string& name, std::string_view bytes) const { return dir_.write(name, bytes).string(); }

  // What the lists of an archive give, each as "path: entries"; or the error.
  std::string read(const std::string& name, std::string_view bytes) const {
    const std::string path = put(name, bytes);
    const auto files = expand_list(path);
    if (!files) return "error: " + files.error().text();
    std::string text;
    for (const ListFile& file : *files) {
      EXPECT_EQ(file.list, path);
      Collected sink;
      const auto report = read_list(file, {}, sink);
      if (!report) return "error: " + report.error().text();
      text += fmt::format("{}{}:", text.empty() ? "" : "; ", file.path.substr(path.size() + 1));
      for (const std::string& entry : sink.entries) text += " " + entry;
      for (const std::string& left : report->left_out) text += " -" + left.substr(path.size() + 1);
    }
    return text;
  }
  bloomwall::test::TempDir dir_;
};

const std::string kFeed = "# feed\nid,url\n1,http://a.test/x\n2,http://b.test/y\n";

TEST_F(PackedLists, AnArchiveOfOneListStandsForIt) {
  for (const int format : {ARCHIVE_FORMAT_ZIP, ARCHIVE_FORMAT_TAR_GNUTAR}) {
    EXPECT_EQ(read("x", pack({{"csv.txt", kFeed}}, format)), "csv.txt: U a.test/x U b.test/y");
    EXPECT_EQ(read("x", pack({{"dump/csv.txt", kFeed}}, format)), "dump/csv.txt: U a.test/x U b.test/y");
    EXPECT_EQ(
        read("x", pack({{"a.txt", "a.test\n"}, {"README.md", "x"}, {"LICENSE", "y"}, {".hidden", "z"}}, format)),
        "a.txt: S a.test -.hidden (no file of a category) -LICENSE (no file of a category) -README.md (no file of "
        "a category)");
    EXPECT_EQ(read("x", pack({{"a.txt.gz", gzip("a.test\n")}}, format)), "a.txt.gz: S a.test");
  }
  EXPECT_EQ(read("x.zip", pack({{"a.txt", "a.test\n"}, {"__MACOSX/._a.txt", "z"}})),
            "a.txt: S a.test -__MACOSX (a hidden folder)");
}

TEST_F(PackedLists, CompressedArchivesAreReadToo) {
  for (const Compression how : {Compression::gzip, Compression::xz, Compression::zstd, Compression::bzip2}) {
    EXPECT_EQ(read("x", compress(how, pack({{"a.txt", "a.test\n"}}))), "a.txt: S a.test") << to_string(how);
    EXPECT_EQ(read("x", compress(how, pack({{"a.txt", "a.test\n"}}, ARCHIVE_FORMAT_TAR_GNUTAR))), "a.txt: S a.test");
  }
}

TEST_F(PackedLists, AZipOfCategoriesIsTheFolder) {
  EXPECT_EQ(read("x.zip", pack({{"ut1/adult/domains", "a.test\n"}, {"ut1/malware/urls", "b.test/x\n"}})),
            "ut1/adult/domains: S a.test; ut1/malware/urls: U b.test/x D b.test/x/");
}

// The tests run where text is ASCII, as services often do.
TEST_F(PackedLists, ANameInAZipIsTakenInAnyEncoding) {
  const std::string unicode = "publicit\xc3\xa9/domains";
  const std::string latin = "publicit\xe9/domains";
  std::string as_utf8;
  {
    const Utf8Locale locale;
    as_utf8 = pack({{unicode, "a.test\n"}, {"z/domains", "b.test\n"}});
  }
  EXPECT_EQ(read("x.zip", as_utf8), unicode + ": S a.test; z/domains: S b.test");
  EXPECT_EQ(read("x.zip", pack({{latin, "a.test\n"}, {"z/domains", "b.test\n"}})),
            latin + ": S a.test; z/domains: S b.test");
}

TEST_F(PackedLists, SeveralListsAreNotGuessedAt) {
  for (const int format : {ARCHIVE_FORMAT_ZIP, ARCHIVE_FORMAT_TAR_GNUTAR}) {
    EXPECT_THAT(read("x", pack({{"a.txt", "a.test\n"}, {"b.txt", "b.test\n"}, {"c/d.txt", "c.test\n"}}, format)),
                testing::HasSubstr("holds 3 files (a.txt, b.txt, ...) and no category: unpack it and name the lists"));
  }
}

TEST_F(PackedLists, WhatIsHostileIsRefused) {
  EXPECT_THAT(read("x.zip", pack({{"../a.txt", "a.test\n"}})), testing::HasSubstr("leads out of the archive"));
  EXPECT_THAT(read("x.zip", pack({{"a.txt", "a.test\n"}}, ARCHIVE_FORMAT_ZIP, "secret")),
              testing::HasSubstr("a.txt in it is encrypted"));
  EXPECT_THAT(read("x.zip", pack({{"a.txt", "a.test\n"}, {"b.txt", "/etc/passwd", AE_IFLNK}})),
              testing::HasSubstr("b.txt: is a link to nowhere"));
  EXPECT_THAT(read("x.zip", pack({{"a.zip", pack({{"a.txt", "a.test\n"}})}})),
              testing::HasSubstr("a zip archive in a stream or in another archive"));
  EXPECT_THAT(read("x.zip", pack({})), testing::HasSubstr("error: "));
  std::vector<ZipItem> many;
  for (std::size_t i = 0; i <= kMaxFolderFiles; ++i) many.push_back({fmt::format("{}/", i), {}, AE_IFDIR});
  EXPECT_THAT(read("x.zip", pack(many)), testing::HasSubstr("more than 10000 files or folders"));
  // A member that unpacks to a thousand times its size.
  EXPECT_THAT(read("x.zip", pack({{"a.txt", std::string(kMostZipBytes + 1, 'a')}})),
              testing::HasSubstr("unpacks to more than 200 times its size"));
  EXPECT_EQ(read("x.zip", pack({{"a.txt", std::string(1000, '\n') + "a.test\n"}})), "a.txt: S a.test")
      << "a small one may be as dense as it likes";
}

TEST_F(PackedLists, NoMoreIsUnpackedThanIsAllowed) {
  const std::string text(5000, '\n');
  for (const int format : {ARCHIVE_FORMAT_ZIP, ARCHIVE_FORMAT_TAR_USTAR}) {
    const std::string path = put("x", pack({{"a.txt", text}, {"b.txt", text}}, format));
    for (const std::uint64_t most : {std::uint64_t{0}, std::uint64_t{9999}, std::uint64_t{20'000}}) {
      bool is_passed = false;
      const auto tree = open_archive(path, {.most_bytes = most, .is_passed = &is_passed});
      EXPECT_EQ(is_passed, most < 10'000) << format << " " << most;
      ASSERT_EQ(tree.has_value(), most >= 10'000) << format << " " << most;
      if (tree) {
        EXPECT_EQ((*tree)->unpacked_bytes(), 10'000U);
      } else {
        EXPECT_EQ(tree.error().code, Errc::limit);
      }
    }
  }
}

TEST_F(PackedLists, WhatIsUnpackedHasTheNameOfWhoReadsIt) {
  const auto tree = open_archive(put("first.zip", pack({{"bad/domains", "a.test\n"}, {"good/domains", "b.test\n"}})));
  ASSERT_TRUE(tree);
  const auto files = expand_list("second.zip", {"bad"}, *tree);
  ASSERT_TRUE(files) << files.error().text();
  ASSERT_EQ(files->size(), 1U);
  EXPECT_EQ(files->front().path, "second.zip:bad/domains");
  EXPECT_EQ(files->front().list, "second.zip");
  Collected sink;
  EXPECT_TRUE(read_list(files->front(), {}, sink));
  EXPECT_THAT(sink.entries, testing::ElementsAre("S a.test"));
}

TEST_F(PackedLists, ACutOrDamagedZipIsAnError) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += fmt::format("host-{}.test\n", i);
  const std::string whole = pack({{"a.txt", text}});
  for (std::size_t size = 4; size < whole.size(); size += 13) {
    ASSERT_THAT(read("x.zip", std::string_view(whole).substr(0, size)), testing::StartsWith("error: ")) << size;
  }
  for (std::size_t at = 60; at < whole.size() - 200; at += 17) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
    ASSERT_THAT(read("x.zip", damaged), testing::StartsWith("error: ")) << at;
  }
}

TEST_F(PackedLists, AZipInAStreamIsRefusedByName) {
  EXPECT_THAT(read_text(pack({{"a.txt", "a.test\n"}}), ReadOptions{}).error,
              testing::HasSubstr("a zip archive in a stream"));
}

}  // namespace
}  // namespace bloomwall::filter::test
