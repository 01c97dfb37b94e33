// SPDX-License-Identifier: Apache-2.0
#include "filter/lists/list_archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/handles.h"
#include "filter/lists/list_folder.h"
#include "tests/filter/lists/compress.h"
#include "tests/filter/lists/list_text.h"
#include "tests/support/temp_dir.h"

namespace bloomwall::filter::test {
namespace {
namespace fs = std::filesystem;

struct Item {
  std::string path;
  std::string text = {};  // of a file, or what a link names
  mode_t type = AE_IFREG;
  bool is_hard_link = false;
};

la_ssize_t append_piece(archive* /*writer*/, void* to, const void* piece, std::size_t size) {
  static_cast<std::string*>(to)->append(static_cast<const char*>(piece), size);
  return static_cast<la_ssize_t>(size);
}

// As tar writes it, with no padding behind the two empty blocks of its end.
std::string tar(const std::vector<Item>& items, int format = ARCHIVE_FORMAT_TAR_GNUTAR) {
  std::string out;
  const std::unique_ptr<archive, FreeWith<archive_write_free>> writer(archive_write_new());
  archive_write_set_format(writer.get(), format);
  archive_write_set_bytes_in_last_block(writer.get(), 1);
  EXPECT_EQ(archive_write_open(writer.get(), &out, nullptr, append_piece, nullptr), ARCHIVE_OK);
  for (const Item& item : items) {
    const std::unique_ptr<archive_entry, FreeWith<archive_entry_free>> entry(archive_entry_new());
    archive_entry_set_pathname(entry.get(), item.path.c_str());
    archive_entry_set_filetype(entry.get(), item.type);
    archive_entry_set_perm(entry.get(), 0644);
    const bool has_text = item.type == AE_IFREG && !item.is_hard_link;
    archive_entry_set_size(entry.get(), has_text ? static_cast<la_int64_t>(item.text.size()) : 0);
    if (item.type == AE_IFLNK) archive_entry_set_symlink(entry.get(), item.text.c_str());
    if (item.is_hard_link) archive_entry_set_hardlink(entry.get(), item.text.c_str());
    // It warns of names that are not ASCII.
    EXPECT_GE(archive_write_header(writer.get(), entry.get()), ARCHIVE_WARN) << archive_error_string(writer.get());
    if (has_text) archive_write_data(writer.get(), item.text.data(), item.text.size());
  }
  EXPECT_EQ(archive_write_close(writer.get()), ARCHIVE_OK);
  return out;
}

std::vector<Item> categories() {
  return {{"blacklists/", {}, AE_IFDIR},
          {"blacklists/README", "what this is\n"},
          {"blacklists/malware/", {}, AE_IFDIR},
          {"blacklists/malware/domains", "bad.example\nworse.example\n"},
          {"blacklists/malware/urls", "example.com/kit\n"},
          {"blacklists/malware/usage", "black\n"},
          {"blacklists/malware/very_restrictive_expression", "x\n"},
          {"blacklists/bank/domains", "bank.example\n"},
          {"blacklists/bank/usage", "white\n"},
          {"blacklists/hobby/cooking/domains.zst", zstd("stove.example\n")},
          {"blacklists/.git/domains", "hidden.example\n"},
          {"blacklists/agressif", "malware", AE_IFLNK},
          {"blacklists/viruses", "../blacklists/malware", AE_IFLNK}};
}

class ListArchive : public testing::Test {
 protected:
  // What becomes of the lists of `argument`; paths from `root` on.
  static std::vector<std::string> read(const std::string& argument, const std::string& root) {
    const auto without_root = [&](std::string path) {
      EXPECT_TRUE(path.starts_with(root)) << path;
      return path.substr(root.size());
    };
    const auto files = expand_list(argument);
    if (!files) return {"error: " + files.error().text()};
    std::vector<std::string> result;
    for (const ListFile& file : *files) {
      EXPECT_EQ(file.list, argument);
      Collected sink;
      ReadOptions options;
      options.white_categories = WhiteUse::block;
      const auto report = read_list(file, options, sink);
      if (!report) return {"error: " + report.error().text()};
      std::string text = fmt::format("{} {} {} {} {}", without_root(file.path), file.category, to_string(file.format),
                                     to_string(file.usage), report->lines);
      for (const auto& alias : file.aliases) text += " =" + alias;
      for (const auto& entry : sink.entries) text += " " + entry;
      for (const auto& path : report->left_out) text += " -" + without_root(path);
      result.push_back(text);
    }
    return result;
  }
  std::string put(const std::string& name, std::string_view bytes) const { return dir_.write(name, bytes).string(); }
  std::string error_of(const std::string& name, const std::vector<Item>& items) const {
    const std::string path = put(name, tar(items));
    const auto files = expand_list(path);
    return files ? "no error" : files.error().text();
  }
  bloomwall::test::TempDir dir_;
};

TEST_F(ListArchive, IsReadAsTheFolderThatItHolds) {
  for (const Item& item : categories()) {
    const fs::path path = dir_.path() / item.path;
    fs::create_directories(path.parent_path());
    if (item.type == AE_IFREG) dir_.write(item.path, item.text);
    if (item.type == AE_IFLNK) fs::create_directory_symlink(item.text, path);
  }
  const std::string folder = (dir_.path() / "blacklists").string();
  const auto want = read(folder, folder + "/");
  ASSERT_EQ(want.size(), 4U);
  EXPECT_EQ(want[0],
            "bank/domains bank squidguard-domains white 1 S bank.example -README (no file of a category) "
            "-.git (a hidden folder) -malware/very_restrictive_expression (no file of a category)");
  EXPECT_EQ(want[2],
            "malware/domains malware squidguard-domains black 2 =agressif =viruses S bad.example S worse.example");
  for (const int format : {ARCHIVE_FORMAT_TAR_GNUTAR, ARCHIVE_FORMAT_TAR_USTAR, ARCHIVE_FORMAT_TAR_PAX_INTERCHANGE}) {
    for (const Compression how : {Compression::none, Compression::gzip, Compression::xz, Compression::zstd,
                                  Compression::bzip2, Compression::lz4}) {
      const std::string path = put("ut1.tar.gz", compress(how, tar(categories(), format)));
      EXPECT_EQ(read(path, path + ":blacklists/"), want) << to_string(how) << " " << format;
    }
  }
}

TEST_F(ListArchive, TheFolderOfOneCategoryGivesItItsName) {
  const std::string one = put("x.tar", tar({{"./adult/domains", "a.example\n"}, {"./adult/usage", "black\n"}}));
  EXPECT_EQ(read(one, one + ":adult/"),
            std::vector<std::string>{"domains adult squidguard-domains black 1 S a.example"});
  const std::string none = put("adult.tar.gz", gzip(tar({{"domains", "a.example\n"}})));
  EXPECT_EQ(read(none, none + ":"), std::vector<std::string>{"domains adult squidguard-domains unknown 1 S a.example"});
  const std::string several = put("y.tar", tar({{"a/domains", "a.example\n"}, {"b/domains", "b.example\n"}}));
  EXPECT_EQ(read(several, several + ":"),
            (std::vector<std::string>{"a/domains a squidguard-domains unknown 1 S a.example",
                                      "b/domains b squidguard-domains unknown 1 S b.example"}));
}

TEST_F(ListArchive, ListsAreReadInAnyOrderAndAfterTheArchiveIsGone) {
  const std::string path = put("x.tar", tar({{"a/domains", "a.example\n"}, {"b/domains", "b.example\n"}}));
  auto files = expand_list(path);
  ASSERT_TRUE(files);
  fs::remove(path);
  std::reverse(files->begin(), files->end());
  Collected sink;
  for (const ListFile& file : *files) {
    auto input = file.open();
    ASSERT_TRUE(input);
    EXPECT_EQ(input->stored_total(), 10U);
    ASSERT_TRUE(input->next());
    ASSERT_TRUE(input->rewind());
    ASSERT_TRUE(read_list(*std::move(input), file, {}, sink));
  }
  EXPECT_EQ(sink.entries, (std::vector<std::string>{"S b.example", "S a.example"}));
}

TEST_F(ListArchive, LongNamesAndLinksToFilesAreFollowed) {
  const std::string deep(150, 'n');
  for (const int format : {ARCHIVE_FORMAT_TAR_GNUTAR, ARCHIVE_FORMAT_TAR_PAX_INTERCHANGE}) {
    const std::string path = put("x.tar", tar({{"t/" + deep + "/domains", "a.example\n"},
                                               {"t/b/domains", "../" + deep + "/domains", AE_IFLNK},
                                               {"t/c/domains", "t/" + deep + "/domains", AE_IFREG, true},
                                               {"t/\xc3\xa9t\xc3\xa9/domains", "d.example\n"}},
                                              format));
    const auto got = read(path, path + ":t/");
    EXPECT_EQ(got, (std::vector<std::string>{
                       "b/domains b squidguard-domains unknown 1 S a.example",
                       "c/domains c squidguard-domains unknown 1 S a.example",
                       deep + "/domains " + deep + " squidguard-domains unknown 1 S a.example",
                       "\xc3\xa9t\xc3\xa9/domains \xc3\xa9t\xc3\xa9 squidguard-domains unknown 1 S d.example"}))
        << format;
  }
}

TEST_F(ListArchive, NamesInUtf8AreReadWhateverTheLocale) {
  const fs::path seed = fs::path(BLOOMWALL_SOURCE_DIR) / "tests/fuzz/corpus/list_archive/pax_long_and_not_ascii";
  const std::string path = put("x.tar", bloomwall::test::bytes_of(seed).substr(1));
  const auto got = read(path, path + ":t/");
  ASSERT_EQ(got.size(), 2U) << got.at(0);
  EXPECT_EQ(got[1], "\xc3\xa9/domains \xc3\xa9 squidguard-domains unknown 1 S b.example");
}

TEST_F(ListArchive, CutAnywhereIsAnError) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += fmt::format("host-{}.example\n", i);
  const std::string whole = tar({{"t/a/domains", text}, {"t/b/domains", text}});
  for (const Compression how : {Compression::none, Compression::gzip, Compression::xz, Compression::zstd,
                                Compression::bzip2, Compression::lz4}) {
    const std::string stored = compress(how, whole);
    const std::size_t step = how == Compression::none ? 64 : 7;
    for (std::size_t size = step; size < stored.size(); size += step) {
      const std::string path = put("x.tar", std::string_view(stored).substr(0, size));
      const auto got = read(path, "");
      ASSERT_EQ(got.size(), 1U) << to_string(how) << " cut to " << size;
      ASSERT_TRUE(got[0].starts_with("error: ")) << to_string(how) << " cut to " << size << ": " << got[0];
    }
  }
}

TEST_F(ListArchive, WhatFollowsTheEndIsReadOrAnError) {
  const std::string first = tar({{"t/a/domains", "a.example\n"}});
  const std::string path = put("x.tar", first + tar({{"t/b/domains", "b.example\n"}}) + std::string(4096, '\0'));
  EXPECT_EQ(read(path, path + ":t/").size(), 2U) << "as `tar -A` makes it";
  const auto garbage = read(put("y.tar", first + std::string(600, 'x')), "");
  EXPECT_THAT(garbage.at(0), testing::HasSubstr("damaged tar archive"));
  const auto short_garbage = read(put("z.tar", first + "garbage"), "");
  EXPECT_THAT(short_garbage.at(0), testing::StartsWith("error: "));
}

TEST_F(ListArchive, ADamagedHeaderIsAnError) {
  const std::string whole = tar({{"t/a/domains", "a.example\n"}, {"t/b/domains", "b.example\n"}});
  for (const std::size_t header : {std::size_t{0}, std::size_t{1024}}) {
    std::string damaged = whole;
    damaged[header + 3] = 'X';
    EXPECT_THAT(read(put("x.tar", damaged), "").at(0), testing::HasSubstr("damaged tar archive")) << header;
  }
}

// libarchive only warns of it, and goes on with half of what the record says.
TEST_F(ListArchive, ADamagedPaxRecordIsAnError) {
  const std::string folder = "t/" + std::string(80, 'a') + "/" + std::string(120, 'b') + "/" + std::string(90, 'c');
  std::string bytes = tar({{folder + "/domains", "a.example\n"}}, ARCHIVE_FORMAT_TAR_PAX_INTERCHANGE);
  EXPECT_THAT(read(put("whole.tar", bytes), "").at(0), testing::HasSubstr("a.example"));
  const std::size_t record = bytes.find(" path=");
  ASSERT_NE(record, std::string::npos);
  bytes[record - 1] = 'x';
  EXPECT_THAT(read(put("x.tar", bytes), "").at(0), testing::HasSubstr("damaged tar archive"));
}

TEST_F(ListArchive, WithoutAMarkItIsKnownByItsSum) {
  std::string bytes = tar({{"t/a/domains", "a.example\n"}});
  std::fill_n(bytes.begin() + 257, 8, '\0');
  unsigned sum = 8 * ' ';
  for (std::size_t i = 0; i < 512; ++i) sum += i >= 148 && i < 156 ? 0U : static_cast<unsigned char>(bytes[i]);
  bytes.replace(148, 7, fmt::format("{:06o}", sum) + '\0');
  EXPECT_THAT(read(put("x.tar", bytes), "").at(0), testing::HasSubstr("a.example"));
}

// Whatever is put in its place later in the archive.
TEST_F(ListArchive, AHardLinkKeepsTheContentThatItWasMadeFor) {
  const std::string path = put("x.tar", tar({{"t/a/domains", "old.example\n"},
                                             {"t/b/domains", "t/a/domains", AE_IFREG, true},
                                             {"t/a/domains", "new.example\n"}}));
  const auto lists = read(path, path + ":");
  ASSERT_EQ(lists.size(), 2U);
  EXPECT_THAT(lists[0], testing::HasSubstr("new.example"));
  EXPECT_THAT(lists[1], testing::HasSubstr("old.example"));
}

TEST_F(ListArchive, NamesThatLeadOutAndThingsThatAreNoListsAreErrors) {
  const Item good{"t/a/domains", "a.example\n"};
  EXPECT_THAT(error_of("x.tar", {good, {"../evil", "x\n"}}), testing::HasSubstr("leads out of the archive"));
  EXPECT_THAT(error_of("x.tar", {good, {"t/a/../../../evil", "x\n"}}), testing::HasSubstr("leads out of the archive"));
  EXPECT_THAT(error_of("x.tar", {good, {"t/b", "../../etc", AE_IFLNK}}),
              testing::EndsWith("x.tar:t/b: is a link to nowhere"));
  EXPECT_THAT(error_of("x.tar", {good, {"t/b", "/etc", AE_IFLNK}}), testing::HasSubstr("is a link to nowhere"));
  EXPECT_THAT(error_of("x.tar", {good, {"t/b", "b", AE_IFLNK}}), testing::HasSubstr("is a link to nowhere"));
  EXPECT_THAT(error_of("x.tar", {good, {"t/a/urls", {}, AE_IFIFO}}),
              testing::EndsWith("x.tar:t/a/urls: is a pipe, a socket or a device, not a list"));
  EXPECT_THAT(error_of("x.tar", {good, {"t/b", "a", AE_IFLNK}, {"t/b/urls", "x\n"}}),
              testing::HasSubstr("the parent of t/b/urls is not a folder"));
  EXPECT_THAT(error_of("x.tar", {good, {"t/a/domains", "gone", AE_IFLNK}}), testing::HasSubstr("is in it twice"));
  EXPECT_THAT(error_of("x.tar", {{"t/README", "x\n"}}), testing::HasSubstr("without the files domains"));
  EXPECT_THAT(error_of("x.tar", {good, {"t/b", "a/../a", AE_IFLNK}}), testing::HasSubstr("goes up behind a name"));
  EXPECT_THAT(error_of("x.tar", {good, {"t/..", "x\n"}}), testing::HasSubstr("a file without a name"));
}

TEST_F(ListArchive, MoreThanCanBeLookedAtIsAnError) {
  std::vector<Item> items;
  for (std::size_t i = 0; i <= kMaxFolderFiles; ++i) items.push_back({fmt::format("t/{}", i), {}, AE_IFDIR});
  EXPECT_THAT(error_of("x.tar", items), testing::HasSubstr("more than 10000 files or folders"));
  std::string deep;
  while (deep.size() < 5000) deep += "a/";
  EXPECT_THAT(error_of("x.tar", {{deep + "domains", "x\n"}}), testing::HasSubstr("a name of over 4096 octets"));
  EXPECT_THAT(error_of("x.tar", {{"t/a", deep, AE_IFLNK}}), testing::HasSubstr("a name of over 4096 octets"));
}

TEST_F(ListArchive, CountsWhatItReadsAndEndsWhereItIsTold) {
  const std::string text = tar(categories());
  std::uint64_t counted = 0;
  ASSERT_TRUE(open_archive(put("x.tar.zst", zstd(text)), {.counted = &counted}));
  EXPECT_EQ(counted, text.size());
  const std::atomic<bool> stop{true};
  for (const std::string& path : {put("x.tar", text), put("x.tar.zst", zstd(text))}) {
    const auto stopped = open_archive(path, {.stop = &stop});
    ASSERT_FALSE(stopped);
    EXPECT_EQ(stopped.error().what, "interrupted");
  }
}

TEST_F(ListArchive, AListIsNoArchive) {
  for (const std::string_view text : {"", "a.example\n"}) {
    const auto tree = open_archive(put("x.tar", text));
    ASSERT_TRUE(tree);
    EXPECT_EQ(*tree, nullptr);
  }
  // A name that begins where an archive has its mark.
  const std::string text = std::string(255, 'a') + "\n#ustar.example\n" + std::string(600, 'b') + "\n";
  const auto tree = open_archive(put("x.tar", text));
  ASSERT_TRUE(tree);
  EXPECT_EQ(*tree, nullptr);
}

}  // namespace
}  // namespace bloomwall::filter::test
