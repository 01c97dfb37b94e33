// SPDX-License-Identifier: Apache-2.0
#include "proxy/access/host_lists.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace bloomwall::proxy {
namespace {

std::vector<std::string> errors_of(std::string_view text) {
  NeverList list;
  std::vector<std::string> errors;
  list.add(text, "n.txt", errors);
  return errors;
}

TEST(NeverList, CoversWhatItsLinesSay) {
  NeverList list;
  std::vector<std::string> errors;
  list.add(
      "\xef\xbb\xbf# our own\r\n\r\nexample.com  # pinned # really\r\n=www.only.test\r\n  Spaced.Test.\t#\r\n"
      "192.0.2.1\n2001:DB8::1 # by address\n[2001:db8::2]\nb\xc3\xbc"
      "cher.example\nintranet\n=both.test\nboth.test\n=com\n",
      "/etc/n.txt", errors);
  EXPECT_EQ(errors, std::vector<std::string>{});
  EXPECT_EQ(list.size(), 11U);
  const struct {
    std::string_view host, place, entry, reason;
  } rows[] = {
      {"example.com", "/etc/n.txt:3", "example.com", "pinned # really"},
      {"a.b.example.com", "/etc/n.txt:3", "example.com", "pinned # really"},
      {"notexample.com", "", "", ""},
      {"com", "/etc/n.txt:13", "com", ""},
      {"www.only.test", "/etc/n.txt:4", "www.only.test", ""},
      {"a.www.only.test", "", "", ""},
      {"only.test", "", "", ""},
      {"x.spaced.test", "/etc/n.txt:5", "spaced.test", ""},
      {"192.0.2.1", "/etc/n.txt:6", "192.0.2.1", ""},
      {"192.0.2.2", "", "", ""},
      {"[2001:db8::1]", "/etc/n.txt:7", "[2001:db8::1]", "by address"},
      {"[2001:db8::2]", "/etc/n.txt:8", "[2001:db8::2]", ""},
      {"www.xn--bcher-kva.example", "/etc/n.txt:9", "xn--bcher-kva.example", ""},
      {"intranet", "/etc/n.txt:10", "intranet", ""},
      {"wiki.intranet", "/etc/n.txt:10", "intranet", ""},
      {"both.test", "/etc/n.txt:11", "both.test", ""},
      {"a.both.test", "/etc/n.txt:12", "both.test", ""},
      {"", "", "", ""},
  };
  for (const auto& row : rows) {
    const NeverList::Entry* const found = list.find(row.host);
    EXPECT_EQ(found != nullptr, !row.place.empty()) << row.host;
    if (found == nullptr || row.place.empty()) continue;
    EXPECT_EQ(found->place(), row.place) << row.host;
    EXPECT_EQ(found->host, row.entry) << row.host;
    EXPECT_EQ(found->reason, row.reason) << row.host;
  }
}

TEST(NeverList, SaysWhatIsWrongWithALine) {
  const struct {
    std::string_view line, error;
  } rows[] = {
      {"https://example.com/", "a URL; write its host alone"},
      {"*.example.com", "a wildcard; write example.com, which covers everything below it"},
      {".example.com", "a wildcard; write example.com, which covers everything below it"},
      {"10.0.0.0/8", "neither networks nor paths are taken, hosts alone"},
      {"example.com/x", "neither networks nor paths are taken, hosts alone"},
      {"a.test b.test", "one host a line, and # before a reason"},
      {"=", "a host is missing"},
      {"= # why", "a host is missing"},
      {"com", "com is a top-level domain: everything below it would be exempt"},
      {"a..test", "no host: leading or doubled dots in the host"},
      {"256.1.1.1", ""},
      {"a.test:443", ""},
      {"a@b.test", ""},
      {"[::zz]", "no host: malformed IPv6 address"},
      {"a.test\x01", ""},
  };
  for (const auto& row : rows) {
    const auto errors = errors_of("ok.test\n" + std::string(row.line) + "\n");
    ASSERT_EQ(errors.size(), 1U) << row.line;
    EXPECT_TRUE(errors[0].starts_with("n.txt:2: ")) << errors[0];
    if (row.error.empty()) {
      EXPECT_TRUE(errors[0].starts_with("n.txt:2: no host: ")) << errors[0];
    } else {
      EXPECT_EQ(errors[0], "n.txt:2: " + std::string(row.error));
    }
  }
  EXPECT_EQ(errors_of(std::string(70'000, 'a') + "\nx.test\n"),
            (std::vector<std::string>{"n.txt:1: a line over 64 KiB"}));
}

TEST(NeverList, LoadsFilesAndNamesEveryError) {
  std::string folder = (std::filesystem::temp_directory_path() / "bloomwall-never-XXXXXX").string();
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  const std::filesystem::path first = folder + "/first.txt", second = folder + "/second.txt";
  std::ofstream(first) << "a.test\nshared.test # one\n";
  std::ofstream(second) << "b.test\nshared.test # two\n";
  const auto loaded = NeverList::load({first, second});
  ASSERT_TRUE(loaded.has_value());
  EXPECT_EQ(loaded->size(), 3U);
  EXPECT_EQ(loaded->find("b.test")->place(), second.string() + ":1");
  EXPECT_EQ(loaded->find("shared.test")->place(), first.string() + ":2") << "the first that covers it";
  std::ofstream(second) << "b.test\n*.c.test\n/\n";
  const auto failed = NeverList::load({first, folder + "/none.txt", second, folder});
  ASSERT_FALSE(failed.has_value());
  ASSERT_EQ(failed.error().size(), 4U);
  EXPECT_EQ(failed.error()[0], folder + "/none.txt: No such file or directory");
  EXPECT_TRUE(failed.error()[1].starts_with(second.string() + ":2: a wildcard"));
  EXPECT_TRUE(failed.error()[2].starts_with(second.string() + ":3: "));
  EXPECT_EQ(failed.error()[3], folder + ": Is a directory");
  std::filesystem::resize_file(first, NeverList::kMostBytes + 1);
  EXPECT_EQ(NeverList::load({first}).error().at(0), first.string() + ": larger than 64 MiB");
  std::filesystem::remove_all(folder);
}

// Each line has a reason, and none is there for nothing.
TEST(NeverList, TheShippedOneIsInOrder) {
  const auto list = NeverList::load({BLOOMWALL_SOURCE_DIR "/conf/never-decrypt.txt"});
  ASSERT_TRUE(list.has_value()) << list.error().front();
  EXPECT_GE(list->size(), 150U);
  for (const NeverList::Entry* entry : list->entries()) {
    EXPECT_FALSE(entry->reason.empty()) << entry->place();
    const std::size_t dot = entry->host.find('.');
    ASSERT_NE(dot, std::string::npos) << entry->place();
    EXPECT_EQ(list->find(entry->host.substr(dot + 1)), nullptr) << entry->place() << " is covered already";
  }
  std::ifstream in(BLOOMWALL_SOURCE_DIR "/conf/never-decrypt.txt");
  std::size_t lines = 0;
  for (std::string line; std::getline(in, line);) lines += line.empty() || line.starts_with('#') ? 0U : 1U;
  EXPECT_EQ(list->size(), lines) << "a host twice";
  for (const char* host : {"www.example.com", "github.com", "www.google.com", "docs.google.com", "microsoft.com"}) {
    EXPECT_EQ(list->find(host), nullptr) << host << " is where URL lists have entries";
  }
}

}  // namespace
}  // namespace bloomwall::proxy
