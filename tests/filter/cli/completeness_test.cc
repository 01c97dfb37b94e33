// What has to be in a filter is in it, or there is no filter: --sources, shards given twice, templates, and what else
// of `build` and `merge` keeps a mistake from passing unseen. Through the command line.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/sha.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "tests/filter/cli/run.h"
#include "tests/support/temp_dir.h"

namespace bloomwall::filter {
namespace {

using bloomwall::test::Ran;
using bloomwall::test::run;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class Completeness : public testing::Test {
 protected:
  std::string write(const std::string& name, std::string_view text) const { return dir_.write(name, text).string(); }
  std::string at(const std::string& name) const { return (dir_.path() / name).string(); }
  std::string list(int number) const {
    std::string text;
    for (int i = 0; i < 2000; ++i) text += fmt::format("http://h{}.example/{}/{}\n", i % 20, number, i);
    return write(fmt::format("list{}.txt", number), text);
  }
  static std::string sum_of(const std::string& file) {
    const std::string bytes = bytes_of(file);
    std::array<unsigned char, 32> digest{};
    SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest.data());
    std::string out;
    for (const unsigned char octet : digest) out += fmt::format("{:02x}", octet);
    return out + "  " + file + "\n";
  }
  std::string sums(const std::vector<std::string>& files) const {
    std::string text;
    for (const std::string& file : files) text += sum_of(file);
    return write("sums", text);
  }
  // Shards of lists 0 to 2, each streamed for the same sizes.
  std::vector<std::string> shards(const std::string& entries = "20k") const {
    const std::string key = write("key", std::string(64, 'c'));
    std::vector<std::string> out;
    for (int i = 0; i < 3; ++i) {
      out.push_back(at(fmt::format("shard{}.bwf", i)));
      const Ran ran = run({"build", "-q", "-o", out.back(), "--series-key", key, "--entries", entries, "--kinds", "U=1",
                           "--hosts", "100", "--file-id", std::string(32, '1'), list(i)});
      EXPECT_EQ(ran.status, 0) << ran.err;
    }
    return out;
  }
  Ran merge(std::vector<std::string> inputs, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> arguments{"merge", "-o", at("all.bwf")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    arguments.insert(arguments.end(), inputs.begin(), inputs.end());
    return run(arguments);
  }
  bloomwall::test::TempDir dir_;
};

TEST_F(Completeness, ABuildOfAListThatWasCutOrForgottenIsRefused) {
  const std::vector<std::string> lists{list(0), list(1)};
  const std::string named = sums(lists);
  const std::string filter = at("f.bwf");
  for (const std::vector<std::string>& how :
       {std::vector<std::string>{}, std::vector<std::string>{"--entries", "10k", "--kinds", "U=1"}}) {
    std::vector<std::string> arguments{"build", "-q", "-o", filter, "--sources", named};
    arguments.insert(arguments.end(), how.begin(), how.end());
    auto with = [&](std::vector<std::string> more) {
      more.insert(more.begin(), arguments.begin(), arguments.end());
      return run(more);
    };
    EXPECT_EQ(with(lists).status, 0) << with(lists).err;
    const std::string before = bytes_of(filter);
    EXPECT_THAT(with({lists[0]}).err, HasSubstr("is missing"));
    EXPECT_THAT(with({lists[0], lists[1], lists[1]}).err, HasSubstr("is given twice"));
    const std::string whole = bytes_of(lists[1]);
    write("list1.txt", whole.substr(0, whole.size() / 2));
    const Ran cut = with(lists);
    EXPECT_EQ(cut.status, 2);
    EXPECT_THAT(cut.err, HasSubstr("altered or cut"));
    EXPECT_EQ(bytes_of(filter), before) << "nothing is replaced";
    write("list1.txt", whole);
    EXPECT_EQ(with({lists[1], lists[0]}).status, 0) << "order is free";
  }
}

TEST_F(Completeness, TheSumOfACompressedListIsThatOfTheFile) {
  const std::string packed = list(0) + ".gz";
  ASSERT_EQ(std::system(("gzip -k " + list(0)).c_str()), 0);  // NOLINT(cert-env33-c): a path of our own
  const std::string named = sums({packed});
  EXPECT_EQ(run({"build", "-q", "-o", at("f.bwf"), "--sources", named, packed}).status, 0);
  const auto info = run({"info", "--json", at("f.bwf")}).json();
  EXPECT_EQ(info["sources"][0]["sha256"], sum_of(packed).substr(0, 64));
}

TEST_F(Completeness, AMergeWithoutAShardIsRefused) {
  const auto files = shards();
  const std::string named = sums({at("list0.txt"), at("list1.txt"), at("list2.txt")});
  EXPECT_EQ(merge(files, {"--sources", named}).status, 0);
  std::filesystem::remove(at("all.bwf"));
  const Ran missing = merge({files[0], files[2]}, {"--sources", named});
  EXPECT_EQ(missing.status, 2);
  EXPECT_THAT(missing.err, HasSubstr("list1.txt' is missing"));
  EXPECT_FALSE(std::filesystem::exists(at("all.bwf")));
  EXPECT_EQ(merge({files[0], files[2]}).status, 0) << "nobody said what should be in";
  const Ran tree = merge({at("all.bwf"), files[1]}, {"--sources", named});
  EXPECT_EQ(tree.status, 0) << tree.err;
}

// An option behind which words of the command stand must not swallow them: the filter would lack what is in them.
TEST_F(Completeness, AnOptionTakesNoInputOfTheCommandWhereverItStands) {
  const auto files = shards();
  const std::vector<std::string> pins{"--file-id", std::string(32, '2'), "--created", "1", "--sequence", "1"};
  const std::string good = write("good.txt", "http://fine.example/\n");
  const std::string lists[] = {list(0), list(1), list(2)};
  std::vector<std::string> build{"build", "-q", "-o", at("all.bwf"), "--series-key", at("key")};
  std::vector<std::string> join{"merge", "-o", at("all.bwf"), "--no-provenance"};
  for (auto* const command : {&build, &join}) command->insert(command->end(), pins.begin(), pins.end());
  for (const auto& [words, inputs] :
       {std::pair{build, std::vector<std::string>(lists, lists + 3)}, std::pair{join, files}}) {
    std::string expected;
    for (std::size_t place = 0; place <= inputs.size(); ++place) {
      std::vector<std::string> arguments = words;
      arguments.insert(arguments.end(), inputs.begin(), inputs.end());
      const auto at_place = arguments.begin() + static_cast<std::ptrdiff_t>(words.size() + place);
      arguments.insert(at_place, {"--known-good", good, "--known-good", good});
      const Ran ran = run(arguments);
      ASSERT_EQ(ran.status, 0) << ran.err;
      if (place == 0) expected = bytes_of(at("all.bwf"));
      EXPECT_EQ(bytes_of(at("all.bwf")), expected) << words[0] << ": the option at place " << place;
      for (const char* url : {"http://h1.example/0/1", "http://h1.example/1/1", "http://h1.example/2/1"}) {
        EXPECT_EQ(run({"query", at("all.bwf"), url}).status, 1) << url;
      }
    }
  }
}

TEST_F(Completeness, ASecondWordBehindAListOptionIsRefused) {
  const auto files = shards();
  const Ran ran = run({"update", files[0], "--delta", at("d"), "--add", list(0), list(1)});
  EXPECT_EQ(ran.status, 2);
  EXPECT_THAT(ran.err, HasSubstr("unknown argument: " + list(1)));
  EXPECT_FALSE(std::filesystem::exists(at("d")));
}

TEST_F(Completeness, AShardThatIsGivenTwiceIsRefusedWithOrWithoutSources) {
  const auto files = shards();
  const Ran twice = merge({files[0], files[1], files[0]});
  EXPECT_EQ(twice.status, 2);
  EXPECT_THAT(twice.err, HasSubstr("is made from the same lists as " + files[0]));
  std::filesystem::copy_file(files[1], at("copy.bwf"));
  EXPECT_EQ(merge({files[0], files[1], at("copy.bwf")}).status, 2) << "under another name, too";
  EXPECT_FALSE(std::filesystem::exists(at("all.bwf")));
}

// Hosts that no request can have are no entries; what is built of the rest goes together with the other shards.
TEST_F(Completeness, AHostThatNoRequestCanHaveSpoilsNoShard) {
  std::string labels;
  for (int i = 0; i < 300; ++i) labels += "a.";
  std::string long_name;
  for (int i = 0; i < 5; ++i) long_name += std::string(60, 'b') + ".";
  const std::string absurd = "http://" + labels + "example/x\nhttp://" + std::string(64, 'c') + ".example/x\n" +
                             "http://" + long_name + "example/d/\n" + labels + "example\n";
  const std::string key = write("key", std::string(64, 'c'));
  std::vector<std::string> files;
  for (int i = 0; i < 2; ++i) {
    const std::string lines = write(fmt::format("odd{}.txt", i), bytes_of(list(i)) + absurd);
    files.push_back(at(fmt::format("odd{}.bwf", i)));
    const Ran ran = run({"build", "-o", files.back(), "--series-key", key, "--format", "urls", "--entries", "20k",
                         "--kinds", "U=1", "--hosts", "100", lines});
    ASSERT_EQ(ran.status, 0) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr("host that no request can have: 4"));
  }
  const Ran merged = merge(files);
  ASSERT_EQ(merged.status, 0) << merged.err;
  for (const char* url : {"http://h1.example/0/1", "http://h1.example/1/1"}) {
    EXPECT_EQ(run({"query", at("all.bwf"), url}).status, 1) << url;
  }
  EXPECT_EQ(run({"verify", at("all.bwf")}).status, 0);
}

TEST_F(Completeness, ASourceInSeveralFilesIsNamedOnce) {
  const auto files = shards();
  ASSERT_EQ(merge({files[0], files[1]}).status, 0);
  std::filesystem::rename(at("all.bwf"), at("two.bwf"));
  const Ran more = merge({at("two.bwf"), files[1], files[2]}, {"--json"});
  ASSERT_EQ(more.status, 0) << more.err;
  EXPECT_EQ(more.json()["info"]["sources"].size(), 3U);
  EXPECT_THAT(more.err, HasSubstr("1 sources stand in several of the files"));
}

TEST_F(Completeness, TooMuchIsSeenInTheSketchesBeforeAPageIsRead) {
  const auto files = shards("2.1k");
  for (const std::string& file : files) {  // a damaged page would be found while all is read
    std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekp(5000);
    bytes.put('\x55');
  }
  const Ran ran = merge(files);
  EXPECT_EQ(ran.status, 2);
  EXPECT_THAT(ran.err, HasSubstr("entries on 20 hosts with 20 marks, and err on"));
}

TEST_F(Completeness, AnEmptyTemplateGivesTheSizesToOthers) {
  const std::string one = list(1);
  const Ran empty = run({"build", "-q", "--empty", "-o", at("t.bwf"), "--entries", "10k", "--kinds", "U=1"});
  ASSERT_EQ(empty.status, 0) << empty.err;
  EXPECT_EQ(run({"query", at("t.bwf"), "http://h1.example/1/1"}).status, 0);
  EXPECT_EQ(run({"verify", at("t.bwf")}).status, 0);
  ASSERT_EQ(run({"build", "-q", "-o", at("a.bwf"), "--like", at("t.bwf"), one}).status, 0);
  const Ran merged = merge({at("t.bwf"), at("a.bwf")});
  ASSERT_EQ(merged.status, 0) << merged.err;
  EXPECT_EQ(run({"query", at("all.bwf"), "http://h1.example/1/1"}).status, 1);
  EXPECT_EQ(run({"build", "--empty", "-o", at("t.bwf")}).status, 2);
  EXPECT_THAT(run({"build", "--empty", "-o", at("t.bwf"), "--entries", "5", one}).err, HasSubstr("takes no lists"));
}

TEST_F(Completeness, TooManyMarksAreNamed) {
  std::string text;
  for (int i = 0; i < 1600; ++i) {
    text += fmt::format("http://h{}.example/", i / 8);
    for (int depth = 0; depth <= i % 8; ++depth) text += "d/";
    text += '\n';
  }
  const std::string lists = write("deep.txt", text);
  const Ran ran = run({"build", "-q", "-o", at("f.bwf"), "--entries", "160", "--kinds", "D=1", "--hosts", "20", lists});
  EXPECT_EQ(ran.status, 2);
  EXPECT_THAT(ran.err, ContainsRegex("on (19[0-9]|20[0-9]|210) hosts with "));
  EXPECT_THAT(ran.err, HasSubstr("--entries, --hosts and --marks came to 160, 20 and 20"));
  const Ran few = run({"plan", "--entries", "1600", "--kinds", "D=1", "--hosts", "200"});
  const Ran many = run({"plan", "--entries", "1600", "--kinds", "D=1", "--hosts", "200", "--marks", "1000"});
  EXPECT_THAT(few.out, HasSubstr("200 hosts, 204 marks"));
  EXPECT_THAT(many.out, HasSubstr("200 hosts, 1,000 marks"));
}

// The second time it would be empty, without a word.
TEST_F(Completeness, StandardInputIsReadOnceOnly) {
  const auto files = shards();
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"build", "-o", at("f.bwf"), "-", "-"},
        std::vector<std::string>{"build", "-o", at("f.bwf"), "-", "--known-good", "-"},
        std::vector<std::string>{"build", "-o", at("f.bwf"), list(0), "--known-good", "-", "--known-good", "-"},
        std::vector<std::string>{"merge", "-o", at("f.bwf"), files[0], "--known-good", "-", "--known-good", "-"},
        std::vector<std::string>{"update", files[0], "--delta", at("d"), "--add", "-", "--remove", "-"}}) {
    const Ran ran = run(arguments, "a.example\n");
    EXPECT_EQ(ran.status, 2) << testing::PrintToString(arguments);
    EXPECT_THAT(ran.err, HasSubstr("standard input can be read once only")) << testing::PrintToString(arguments);
  }
}

// A list of known-good URLs that is something else makes no exceptions, and nobody would notice.
TEST_F(Completeness, KnownGoodListsPassTheSameGateAsLists) {
  const auto files = shards();
  std::string random;
  std::mt19937 numbers(5);
  for (int i = 0; i < 20'000; ++i) random += static_cast<char>(numbers());
  const std::string half = write("half", "good.example\nhttp://fine.example/a b\n");
  const struct {
    std::string list;
    const char* says;
  } kCases[] = {
      {write("random", random), "of known-good URLs can't be used"},
      {files[1], "is not a list but binary data"},
      {write("page", "<!DOCTYPE html>\n<html><body>\n<p>Not found</p>\n</body></html>\n"), "is not a list but an HTML"},
      {half,
       "1 of 2 lines of known-good URLs can't be used: blanks or control octets inside: 1, as in line 2: "
       "http://fine.example/a b (50.0 %, more than 5 %); --allow-unsupported"}};
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"build", "-q", "-o", at("all.bwf"), list(0)},
        std::vector<std::string>{"merge", "-o", at("all.bwf"), files[0], files[2]}}) {
    const auto with = [&](std::vector<std::string> more) {
      more.insert(more.begin(), command.begin(), command.end());
      return run(more);
    };
    for (const auto& [list, says] : kCases) {
      const Ran ran = with({"--known-good", list});
      EXPECT_EQ(ran.status, 2) << command[0] << " " << list;
      EXPECT_THAT(ran.err, HasSubstr(says));
      EXPECT_FALSE(std::filesystem::exists(at("all.bwf")));
    }
    const Ran excused = with({"--known-good", half, "--allow-unsupported", "--json"});
    EXPECT_EQ(excused.status, 0) << excused.err;
    EXPECT_THAT(excused.out, HasSubstr("1 of 2 lines of known-good URLs can't be used"));
    EXPECT_EQ(with({"--known-good", half, "--max-unusable", "60"}).status, 0);
    std::filesystem::remove(at("all.bwf"));
  }
  EXPECT_EQ(
      run({"build", "-q", "-o", at("all.bwf"), list(0), "--known-good", half, "--allow-unsupported-of", half}).status,
      0);
}

TEST_F(Completeness, AnEmptyListAmongSeveralIsWarnedOf) {
  const std::string empty = write("empty.txt", "");
  const Ran ran = run({"build", "-q", "-o", at("f.bwf"), "--format", "urls", list(0), empty});
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("warning: " + empty + ": is empty"));
}

TEST_F(Completeness, AQuietBuildThatFailsSaysTheCauseAlone) {
  const Ran ran = run({"build", "-q", "-o", at("no/f.bwf"), list(0)});
  EXPECT_EQ(ran.status, 2);
  EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
}

TEST_F(Completeness, WhatCannotBeUsedIsExcusedForOneListOnly) {
  const std::string odd = write("odd.txt", "[Adblock Plus 2.0]\n||a.example^\nexample.com##.ad\n");
  const std::string other = write("other.txt", "[Adblock Plus 2.0]\n||b.example^\nexample.org##.ad\n");
  EXPECT_EQ(run({"build", "-q", "-o", at("f.bwf"), "--allow-unsupported-of", odd, odd, list(0)}).status, 0);
  const Ran both = run({"build", "-q", "-o", at("f.bwf"), "--allow-unsupported-of", odd, odd, other});
  EXPECT_EQ(both.status, 2);
  EXPECT_THAT(both.err, HasSubstr("bloomwall-filter: " + other + ": 1 of 2 rules"));
  EXPECT_EQ(run({"build", "-q", "-o", at("f.bwf"), "--max-unusable", "60%", odd, other}).status, 0);
  EXPECT_EQ(run({"build", "-q", "-o", at("f.bwf"), "--allow-unsupported-of", "none", odd}).status, 2);
}

TEST_F(Completeness, ModeAndGroupAreKeptOrSet) {
  const auto mode_of = [](const std::string& file) {
    struct stat status{};
    return stat(file.c_str(), &status) == 0 ? status.st_mode & 07777 : 0;
  };
  const std::string lists = list(0);
  const std::string filter = at("f.bwf");
  const std::string delta = at("f.delta");
  ASSERT_EQ(run({"build", "-q", "-o", filter, "--mode", "0604", lists}).status, 0);
  EXPECT_EQ(mode_of(filter), 0604U);
  ASSERT_EQ(run({"build", "-q", "-o", filter, lists}).status, 0);
  EXPECT_EQ(mode_of(filter), 0604U);
  ASSERT_EQ(run({"update", "-q", filter, "--delta", delta, "--add", list(1), "--mode", "640"}).status, 0);
  EXPECT_EQ(mode_of(delta), 0640U);
  ASSERT_EQ(run({"keygen", at("k")}).status, 0);
  ASSERT_EQ(run({"sign", filter, "--key", at("k"), "--group", std::to_string(getegid())}).status, 0);
  EXPECT_EQ(mode_of(filter), 0604U);
  ASSERT_EQ(run({"sign", delta, "--key", at("k")}).status, 0);
  EXPECT_EQ(mode_of(delta), 0640U);
  EXPECT_THAT(run({"build", "-o", filter, "--mode", "9", lists}).err, HasSubstr("'9' is not a file mode"));
  EXPECT_THAT(run({"build", "-o", filter, "--group", "no such", lists}).err, HasSubstr("there is no group 'no such'"));
}

TEST_F(Completeness, EmittedTwiceTheBytesAreTheSame) {
  ASSERT_EQ(run({"build", "--counting", "-q", "-o", at("f.bwc"), list(0)}).status, 0);
  ASSERT_EQ(run({"emit", at("f.bwc"), "-o", at("a.bwf")}).status, 0);
  ASSERT_EQ(run({"emit", at("f.bwc"), "-o", at("b.bwf")}).status, 0);
  EXPECT_EQ(bytes_of(at("a.bwf")), bytes_of(at("b.bwf")));
  ASSERT_EQ(run({"update", "-q", at("f.bwc"), "--add", list(1)}).status, 0);
  ASSERT_EQ(run({"emit", at("f.bwc"), "-o", at("b.bwf")}).status, 0);
  EXPECT_NE(run({"info", "--json", at("a.bwf")}).json()["file_id"],
            run({"info", "--json", at("b.bwf")}).json()["file_id"]);
  EXPECT_THAT(run({"info", at("b.bwf")}).out, Not(HasSubstr("not recorded")));
}

}  // namespace
}  // namespace bloomwall::filter
