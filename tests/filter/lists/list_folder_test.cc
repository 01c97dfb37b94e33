// SPDX-License-Identifier: Apache-2.0
#include "filter/lists/list_folder.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/filter/lists/compress.h"
#include "tests/filter/lists/list_text.h"

namespace bloomwall::filter::test {
namespace {
namespace fs = std::filesystem;

class ListFolder : public testing::Test {
 protected:
  ListFolder() : root_(fs::path(testing::TempDir()) / fmt::format("bloomwall-folder-{}", getpid())) {
    fs::create_directories(root_);
  }
  ~ListFolder() override { fs::remove_all(root_); }
  void put(const std::string& path, std::string_view text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path, std::ios::binary) << text;
  }
  std::vector<std::string> expand(const std::string& below = "", const std::vector<std::string>& categories = {}) {
    const auto files = expand_list((root_ / below).string(), categories);
    if (!files) return {"error: " + files.error().what};
    std::vector<std::string> result;
    for (const ListFile& file : *files) {
      std::string text = fmt::format("{} {} {} {}", file.category, fs::path(file.path).filename().string(),
                                     to_string(file.format), to_string(file.usage));
      for (const auto& alias : file.aliases) text += " =" + alias;
      EXPECT_EQ(file.list, (root_ / below).string());
      result.push_back(text);
    }
    return result;
  }
  fs::path root_;
};

TEST_F(ListFolder, ACategoryIsItsMembers) {
  put("malware/domains", "a.example\n");
  put("malware/urls", "a.example/b\n");
  put("malware/expressions", "a|b\n");
  put("malware/usage", "black\nmalware\n");
  put("malware/very_restrictive_expression", "x\n");
  EXPECT_EQ(expand("malware"),
            (std::vector<std::string>{"malware domains squidguard-domains black", "malware urls squidguard-urls black",
                                      "malware expressions squidguard-expressions black"}));
}

TEST_F(ListFolder, AFolderOfCategoriesGivesThemInOrder) {
  put("b/domains", "");
  put("a/urls", "");
  put("c/d/domains", "");
  put("c/d/usage", "white\n");
  put("README", "");
  EXPECT_EQ(expand(),
            (std::vector<std::string>{"a urls squidguard-urls unknown", "b domains squidguard-domains unknown",
                                      "c/d domains squidguard-domains white"}));
}

TEST_F(ListFolder, AliasesAreNamedAndNotReadTwice) {
  put("malware/domains", "");
  put("malware/urls", "");
  fs::create_directory_symlink("malware", root_ / "aaa");
  fs::create_directory_symlink("malware", root_ / "viruses");
  EXPECT_EQ(expand(), (std::vector<std::string>{"malware domains squidguard-domains unknown =aaa =viruses",
                                                "malware urls squidguard-urls unknown =aaa =viruses"}));
}

TEST_F(ListFolder, CircularLinksEnd) {
  put("a/domains", "");
  fs::create_directory_symlink(root_, root_ / "loop");
  EXPECT_EQ(expand().size(), 1U);
}

TEST_F(ListFolder, MembersMayBeCompressed) {
  put("a/domains.zst", zstd("a.example\n"));
  put("a/usage.gz", gzip("black\n"));
  EXPECT_EQ(expand("a"), (std::vector<std::string>{"a domains.zst squidguard-domains black"}));
}

TEST_F(ListFolder, UsageWordsAreRead) {
  put("both/domains", "");
  put("both/usage", "White\r\n black \r\n");
  put("none/domains", "");
  put("none/usage", "whitespace\n");
  EXPECT_EQ(expand(), (std::vector<std::string>{"both domains squidguard-domains black and white",
                                                "none domains squidguard-domains unknown"}));
}

TEST_F(ListFolder, WhatIsNotReadIsNamed) {
  put("cat/domains", "");
  put("cat/domains.gz", gzip("b.example\n"));
  put("cat/README", "");
  put("cat/.git/domains", "");
  put("top.txt", "");
  const auto files = expand_list(root_.string());
  ASSERT_TRUE(files) << files.error().text();
  ASSERT_EQ(files->size(), 1U);
  EXPECT_EQ(files->front().left_out,
            (std::vector<std::string>{(root_ / "top.txt").string() + " (no file of a category)",
                                      (root_ / "cat/README").string() + " (no file of a category)",
                                      (root_ / "cat/domains.gz").string() + " (beside domains)",
                                      (root_ / "cat/.git").string() + " (a hidden folder)"}));
}

// Empty folders are neither read nor left out.
TEST_F(ListFolder, MoreThanCanBeLookedAtIsAnErrorWhateverItIs) {
  put("category/domains", "a.example\n");
  for (std::size_t i = 0; i < kMaxFolderFiles; ++i) fs::create_directory(root_ / std::to_string(i));
  EXPECT_EQ(expand(), std::vector<std::string>{"error: more than 10000 files or folders"});
}

TEST_F(ListFolder, CategoriesMayBeDeepAndWithinEachOther) {
  put("a/b/c/d/domains", "");
  put("cat/domains", "");
  put("cat/sub/domains", "");
  EXPECT_EQ(expand(), (std::vector<std::string>{"a/b/c/d domains squidguard-domains unknown",
                                                "cat domains squidguard-domains unknown",
                                                "cat/sub domains squidguard-domains unknown"}));
}

TEST_F(ListFolder, NamedCategoriesAloneAreRead) {
  put("adult/domains", "");
  put("games/domains", "");
  put("hobby/cooking/domains", "");
  put("hobbyists/domains", "");
  fs::create_symlink("adult", root_ / "porn");
  EXPECT_EQ(expand("", {"games", "adult"}), (std::vector<std::string>{"adult domains squidguard-domains unknown =porn",
                                                                      "games domains squidguard-domains unknown"}));
  EXPECT_EQ(expand("", {"porn"}), std::vector<std::string>{"adult domains squidguard-domains unknown =porn"});
  EXPECT_EQ(expand("", {"hobby"}), std::vector<std::string>{"hobby/cooking domains squidguard-domains unknown"});
  EXPECT_EQ(expand("", {"hobby/cooking"}), expand("", {"hobby"}));
  EXPECT_EQ(expand("", {"games", "cooking"}),
            std::vector<std::string>{"error: has no category cooking; it has adult, games, hobby/cooking, hobbyists"});
}

TEST_F(ListFolder, FileHasNoCategories) {
  put("list.txt", "a.example\n");
  EXPECT_EQ(expand("list.txt", {"adult"}), std::vector<std::string>{"error: has no categories, so none is adult"});
}

TEST_F(ListFolder, LinksToNowhereAndPipesAreErrors) {
  put("good/domains", "");
  fs::create_symlink("gone", root_ / "good/urls");
  EXPECT_EQ(expand(), std::vector<std::string>{"error: is a link to nowhere"});
  fs::remove(root_ / "good/urls");
  ASSERT_EQ(mkfifo((root_ / "good/urls").c_str(), 0600), 0);
  EXPECT_EQ(expand(), std::vector<std::string>{"error: is a pipe, a socket or a device, not a list"});
}

TEST_F(ListFolder, AMemberThatIsATableIsRefused) {
  put("cat/urls", "http://a.example/x,2020\nhttp://b.example/x,2020\n");
  const auto files = expand_list((root_ / "cat").string());
  ASSERT_TRUE(files);
  Collected sink;
  const auto report = read_list(files->front(), {}, sink);
  ASSERT_FALSE(report);
  EXPECT_NE(report.error().what.find("--format csv"), std::string::npos);
}

TEST_F(ListFolder, AFolderWithoutCategoriesIsAnError) {
  put("text", "a.example\n");
  EXPECT_EQ(expand(),
            std::vector<std::string>{"error: a folder without the files domains, urls or expressions of a category"});
}

TEST_F(ListFolder, AFileIsItself) {
  put("text", "a.example\n");
  EXPECT_EQ(expand("text"), std::vector<std::string>{" text auto unknown"});
  const auto standard_input = expand_list("-");
  ASSERT_TRUE(standard_input);
  EXPECT_EQ(standard_input->at(0).path, "-");
}

TEST_F(ListFolder, WhiteCategoriesAreRefusedUnlessTheUserSaysWhat) {
  put("bank/domains", "bank.example\n192.0.2.1\n");
  put("bank/urls", "bank.example/a\n");
  put("bank/usage", "white\n");
  const auto files = expand_list((root_ / "bank").string());
  ASSERT_TRUE(files);
  Collected sink;
  const auto refused = read_list(files->at(0), {}, sink);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::usage);
  EXPECT_NE(refused.error().what.find("usage: white"), std::string::npos);
  ReadOptions allow;
  allow.white_categories = WhiteUse::allow;
  for (const ListFile& file : *files) ASSERT_TRUE(read_list(file, allow, sink));
  EXPECT_TRUE(sink.entries.empty());
  EXPECT_EQ(sink.allowed, (std::vector<std::string>{"bank.example", "192.0.2.1", "bank.example/a", "bank.example/a/"}));
  ReadOptions block;
  block.white_categories = WhiteUse::block;
  Collected blocked;
  const auto report = read_list(files->at(0), block, blocked);
  ASSERT_TRUE(report);
  EXPECT_EQ(blocked.entries, (std::vector<std::string>{"S bank.example", "X 192.0.2.1"}));
  EXPECT_EQ(report->category, "bank");
}

TEST(SampleCategory, IsReadWhole) {
  const auto files = expand_list(std::string(BLOOMWALL_SOURCE_DIR) + "/tests/data/lists/category/malware");
  ASSERT_TRUE(files);
  Collected sink;
  std::vector<FileReport> reports;
  for (const ListFile& file : *files) {
    const auto report = read_list(file, {}, sink);
    ASSERT_TRUE(report) << report.error().text();
    reports.push_back(*report);
  }
  EXPECT_EQ(sink.entries,
            (std::vector<std::string>{"S bad.example.com", "S worse.example.net", "X 192.0.2.51", "U example.com/kit",
                                      "D example.com/kit/", "D example.com/~user/", "U example.net/drop.exe",
                                      "D example.net/drop.exe/", "U 192.0.2.52/x", "D 192.0.2.52/x/"}));
  const UnusableShare share = worst_unusable_share(reports);
  EXPECT_EQ(share.unusable, 1U);
  EXPECT_EQ(share.content, 8U);
  EXPECT_DOUBLE_EQ(share.share, 0.125);
}

TEST(SampleCategory, TheFolderAboveNamesTheAlias) {
  const auto files = expand_list(std::string(BLOOMWALL_SOURCE_DIR) + "/tests/data/lists/category");
  ASSERT_TRUE(files);
  ASSERT_EQ(files->size(), 4U);
  EXPECT_EQ(files->at(0).usage, Usage::white);
  EXPECT_EQ(files->at(1).category, "malware");
  EXPECT_EQ(files->at(1).aliases, std::vector<std::string>{"viruses"});
}

}  // namespace
}  // namespace bloomwall::filter::test
