// Lines of lists that say something, found again in any format.
// SPDX-License-Identifier: Apache-2.0
#include "filter/builder/list_search.h"

#include <gtest/gtest.h>

#include <openssl/evp.h>

#include <fstream>

#include "base/encoding.h"
#include "tests/support/temp_dir.h"

namespace bloomwall::filter {
namespace {

using Wanted = std::set<std::string, std::less<>>;

class ListSearch : public testing::Test {
 protected:
  SearchedList search(const std::string& text, const Wanted& wanted, QueryReading queries = QueryReading::as_spelt) {
    const auto file = folder_.write("list.txt", text);
    const auto files = expand_list(file.string());
    if (!files) throw std::runtime_error(files.error().text());
    auto found = search_list(files->front(), wanted, {}, {}, queries);
    if (!found) throw std::runtime_error(found.error().text());
    return *std::move(found);
  }
  static std::vector<std::string> lines_of(const SearchedList& list) {
    std::vector<std::string> out;
    for (const FoundLine& line : list.lines) out.push_back(std::to_string(line.line) + " " + line.text);
    return out;
  }
  test::TempDir folder_;
};

TEST_F(ListSearch, SaysLineAndTextOfPlainLists) {
  const auto found = search("# a list\nother.test\nSHOP.test  # mine\n\nhttp://shop.test/a/\nshop.test\n",
                            {"shop.test", "shop.test/a/"});
  EXPECT_EQ(lines_of(found), (std::vector<std::string>{"3 SHOP.test  # mine", "5 http://shop.test/a/", "6 shop.test"}));
}

TEST_F(ListSearch, FindsOtherSpellingsOfAQueryWhereTheFilterDoes) {
  const std::string list = "http://shop.test/a?id=1&\nhttp://shop.test/a?id=2\nhttp://shop.test/a?&id=1\n";
  EXPECT_EQ(lines_of(search(list, {"shop.test/a?id=1"})), std::vector<std::string>{});
  EXPECT_EQ(lines_of(search(list, {"shop.test/a?id=1;"}, QueryReading::by_parameters)),
            (std::vector<std::string>{"1 http://shop.test/a?id=1&", "3 http://shop.test/a?&id=1"}));
}

// What a name of a zone means is known once its other half may no longer come: at the end, when its text is gone.
TEST_F(ListSearch, SaysTheTextOfNamesOfZones) {
  std::string zone = "$TTL 60\n@ SOA a. b. 1 2 3 4 5\npay.test CNAME rpz-passthru.\n";
  for (int i = 0; i < 40'000; ++i) zone += "h" + std::to_string(i) + ".test CNAME .\n";  // several blocks
  zone += "shop.test CNAME .\n*.both.test CNAME .\nboth.test CNAME .\n";
  EXPECT_EQ(lines_of(search(zone, {"shop.test", "pay.test", "both.test", "h39999.test"})),
            (std::vector<std::string>{"3 pay.test CNAME rpz-passthru.", "40003 h39999.test CNAME .",
                                      "40004 shop.test CNAME .", "40005 *.both.test CNAME ."}));
}

TEST_F(ListSearch, ReadsOtherFormats) {
  EXPECT_EQ(lines_of(search("127.0.0.1 localhost\n0.0.0.0 a.test\n0.0.0.0 shop.test b.test\n", {"shop.test"})),
            std::vector<std::string>{"3 0.0.0.0 shop.test b.test"});
  EXPECT_EQ(lines_of(search("[Adblock Plus 2.0]\n||a.test^\n||shop.test^\n@@||b.test^\n", {"shop.test", "b.test"})),
            (std::vector<std::string>{"3 ||shop.test^", "4 @@||b.test^"}));
  EXPECT_EQ(lines_of(search("[Adblock Plus 2.0]\n||a.test^\n@@|b.test^|\n@@||*.c.test^\n", {"b.test", "c.test"})),
            (std::vector<std::string>{"3 @@|b.test^|", "4 @@||*.c.test^"}));
  EXPECT_EQ(lines_of(search("192.0.2.0/24\n198.51.100.0/24\n", {"198.51.100.0/24"})),
            std::vector<std::string>{"2 198.51.100.0/24"});
}

TEST_F(ListSearch, FindsRangesByAnAddress) {
  const std::string netset =
      "192.0.2.0/25\n192.0.2.128/25\n192.0.2.0/24\n198.51.100.7\n2001:db8::/32\n203.0.113.0/24\n";
  EXPECT_EQ(lines_of(search(netset, {"192.0.2.200"})),
            (std::vector<std::string>{"2 192.0.2.128/25", "3 192.0.2.0/24"}));
  EXPECT_EQ(lines_of(search(netset, {"198.51.100.7"})), std::vector<std::string>{"4 198.51.100.7"});
  EXPECT_EQ(lines_of(search(netset, {"[2001:db8::5]"})), std::vector<std::string>{"5 2001:db8::/32"});
  EXPECT_EQ(lines_of(search(netset, {"198.51.100.8", "192.0.3.0", "192.0.2.9/x/"})), std::vector<std::string>{});
}

TEST_F(ListSearch, FindsLinesBeyondTheFirstBlock) {
  std::string text;
  for (int i = 0; i < 200'000; ++i) text += "host" + std::to_string(i) + ".test\n";
  const auto found = search(text, {"host150000.test", "host7.test"});
  EXPECT_EQ(lines_of(found), (std::vector<std::string>{"8 host7.test", "150001 host150000.test"}));
}

TEST_F(ListSearch, KnowsTheListByItsDigest) {
  const std::string text = "shop.test\n";
  std::array<std::uint8_t, 32> wanted{};
  EVP_Digest(text.data(), text.size(), wanted.data(), nullptr, EVP_sha256(), nullptr);
  EXPECT_EQ(to_hex(search(text, {}).digest), to_hex(wanted));
}

TEST_F(ListSearch, KeepsBoundsAndStops) {
  std::string text;
  for (std::size_t i = 0; i < kMaxFoundLines + 50; ++i) text += "shop.test # " + std::string(1000, 'x') + "\n";
  const auto found = search(text, {"shop.test"});
  EXPECT_EQ(found.lines.size(), kMaxFoundLines);
  EXPECT_EQ(found.lines.front().text.size(), kMaxFoundLineBytes);
  const auto files = expand_list((folder_.path() / "list.txt").string());
  EXPECT_FALSE(search_list(files->front(), {"shop.test"}, [] { return true; }).has_value());
}

TEST_F(ListSearch, ListsOfAFolderAreInOrderAndNotHidden) {
  for (const char* const name : {"b.txt", "a.txt", ".cache"}) folder_.write(name, "x.test\n");
  const auto lists = lists_of_folder(folder_.path());
  ASSERT_TRUE(lists.has_value());
  EXPECT_EQ(*lists, (std::vector<std::string>{folder_.path() / "a.txt", folder_.path() / "b.txt"}));
  EXPECT_FALSE(lists_of_folder(folder_.path() / "none").has_value());
}

}  // namespace
}  // namespace bloomwall::filter
