// What a damaged file is asked gets an error and no answer, whichever command asks and whichever section is damaged.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include "filter/file/filter_file.h"
#include "filter/file/leaves.h"
#include "tests/filter/cli/run.h"
#include "tests/support/temp_dir.h"

namespace bloomwall::filter {
namespace {

using bloomwall::test::Ran;
using bloomwall::test::run;
using testing::AnyOf;
using testing::HasSubstr;

enum class Harm : std::uint8_t { one_bit_cleared, all_zero };

struct Range {
  std::uint64_t offset = 0, length = 0;
};

Range section_of(const std::string& file, SectionType type, Form form = Form::bits) {
  const auto opened = FilterFile::open(file, form);
  if (!opened) return {};
  const SectionEntry* const section = (*opened)->header().find(type);
  return section == nullptr ? Range{} : Range{section->offset, section->length};
}

void harm(const std::string& path, Range range, Harm how) {
  ASSERT_GT(range.length, 0U);
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  std::string bytes(range.length, '\0');
  file.seekg(static_cast<std::streamoff>(range.offset));
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (how == Harm::all_zero) {
    std::ranges::fill(bytes, '\0');
  } else {
    for (char& octet : bytes) {
      if (octet == 0) continue;
      octet = static_cast<char>(octet & (octet - 1));  // without its lowest bit
      break;
    }
  }
  file.seekp(static_cast<std::streamoff>(range.offset));
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

// Makes the section one of a type that nobody knows, and the header's digest right again.
void take_page_sums_away(const std::string& path) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  std::vector<char> head(kHeaderBytes);
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  for (std::size_t entry = 1024; entry < 1024 + 18 * 128; entry += 128) {
    if (head[entry] == static_cast<char>(SectionType::page_sums)) head[entry] = 99;
  }
  std::fill(head.end() - 16, head.end(), '\0');
  const auto digest = xxh128(std::as_bytes(std::span(head)));
  std::copy(digest.begin(), digest.end(), head.end() - 16);
  file.seekp(0);
  file.write(head.data(), static_cast<std::streamsize>(head.size()));
}

class Damaged : public testing::TestWithParam<Harm> {
 protected:
  std::string at(const std::string& name) const { return (dir_.path() / name).string(); }
  std::string write(const std::string& name, std::string_view text) const { return dir_.write(name, text).string(); }
  // One page of H and of P each, so that every question reads them.
  void build(const std::vector<std::string>& more = {}) const {
    const std::string list = write("list", "bad.example\nhttp://h.example/a/b.html\nhttp://h.example/d/\n");
    std::vector<std::string> arguments{"build", "-q", "-o", at("f.bwf"), list};
    arguments.insert(arguments.end(), more.begin(), more.end());
    ASSERT_EQ(run(arguments).status, 0);
  }
  void expect_refused(const std::vector<std::string>& command, std::vector<std::string> more,
                      const std::string& input = {}) const {
    expect_refused(command, std::move(more), 2, input);
  }
  void expect_refused(const std::vector<std::string>& command, std::vector<std::string> more, int status,
                      const std::string& input = {}) const {
    more.insert(more.begin(), command.begin(), command.end());
    const Ran ran = run(more, input);
    EXPECT_EQ(ran.status, status) << ran.out << ran.err;
    EXPECT_EQ(ran.out, "");
    EXPECT_THAT(ran.err, AnyOf(HasSubstr("damaged"), HasSubstr("digest"))) << testing::PrintToString(more);
  }
  // Every way to put a question to it.
  void expect_no_answer(const std::string& url, const std::vector<std::string>& options = {}) const {
    std::vector<std::string> command{"query", at("f.bwf")};
    command.insert(command.end(), options.begin(), options.end());
    expect_refused(command, {url});
    expect_refused(command, {"--json", url});
    expect_refused(command, {}, url + "\n" + url + "\n");
    expect_refused(command, {"--json", "-"}, url + "\n");
  }
  test::TempDir dir_;
};

TEST_P(Damaged, HostsGiveNoAnswer) {
  build();
  harm(at("f.bwf"), section_of(at("f.bwf"), SectionType::hosts), GetParam());
  for (const char* url : {"bad.example", "unlisted.example", "http://h.example/a/b.html"}) expect_no_answer(url);
}

TEST_P(Damaged, PathsGiveNoAnswerAndHostsStillDo) {
  build();
  harm(at("f.bwf"), section_of(at("f.bwf"), SectionType::paths), GetParam());
  for (const char* url : {"http://h.example/a/b.html", "http://h.example/d/x"}) expect_no_answer(url);
  EXPECT_EQ(run({"query", at("f.bwf"), "bad.example"}).status, 1);
  const Ran ran = run({"query", at("f.bwf")}, "bad.example\nhttp://h.example/d/x\nbad.example\n");
  EXPECT_EQ(ran.status, 2);
  EXPECT_EQ(ran.out, "listed\tbad.example\tbad.example\n") << "what was answered before stands, then it ends";
}

TEST_P(Damaged, RawKeysGiveNoAnswer) {
  build({"--raw"});
  harm(at("f.bwf"), section_of(at("f.bwf"), SectionType::raw), GetParam());
  expect_no_answer("bad.example", {"--raw"});
}

TEST_P(Damaged, NetworksGiveNoAnswer) {
  const std::string list = write("nets", "192.0.2.0/24\n198.51.100.0/24\n");
  ASSERT_EQ(run({"build", "-q", "-o", at("f.bwf"), list}).status, 0);
  harm(at("f.bwf"), section_of(at("f.bwf"), SectionType::networks), GetParam());
  expect_no_answer("192.0.2.7");
}

TEST_P(Damaged, AnExactSideRefutesNothing) {
  build({"--exact-side"});
  harm(at("f.bwx"), {.offset = 4096, .length = 4096}, GetParam());
  expect_no_answer("bad.example", {"--exact", at("f.bwx")});
}

TEST_P(Damaged, NoDeltaIsMadeFromWhatItSays) {
  build();
  const std::string gone = write("gone", "bad.example\n");
  harm(at("f.bwf"), section_of(at("f.bwf"), SectionType::hosts), GetParam());
  const std::vector<std::string> update{"update", at("f.bwf"), "--delta", at("f.delta"), "--remove", gone};
  const Ran ran = run(update);
  EXPECT_EQ(ran.status, 1);
  EXPECT_THAT(ran.err, HasSubstr("section hosts is damaged"));
  EXPECT_FALSE(std::filesystem::exists(at("f.delta")));
}

// What is compared then is the leaf.
TEST_P(Damaged, AFileWithoutPageSumsGivesNoAnswerEither) {
  build();
  take_page_sums_away(at("f.bwf"));
  ASSERT_EQ(section_of(at("f.bwf"), SectionType::page_sums).length, 0U);
  EXPECT_EQ(run({"query", at("f.bwf"), "unlisted.example"}).status, 0);
  EXPECT_EQ(run({"query", at("f.bwf"), "http://h.example/d/x"}).status, 1);
  harm(at("f.bwf"), section_of(at("f.bwf"), SectionType::paths), GetParam());
  expect_no_answer("http://h.example/d/x");
  harm(at("f.bwf"), section_of(at("f.bwf"), SectionType::hosts), GetParam());
  expect_no_answer("unlisted.example");
}

// What lists it was made of, and what share of its counters is in use.
TEST_P(Damaged, InfoSaysNothingOfWhatIsNotAsItWasWritten) {
  build();
  harm(at("f.bwf"), section_of(at("f.bwf"), SectionType::info), GetParam());
  expect_refused({"info", at("f.bwf")}, {}, 1);
  expect_refused({"query", at("f.bwf"), "--json"}, {"unlisted.example"});
  ASSERT_EQ(run({"build", "-q", "--counting", "-o", at("f.bwc"), at("list")}).status, 0);
  for (const SectionType type : {SectionType::hosts, SectionType::info}) {
    const std::string copy = at("copy.bwc");
    std::filesystem::copy_file(at("f.bwc"), copy, std::filesystem::copy_options::overwrite_existing);
    EXPECT_EQ(run({"info", copy}).status, 0);
    harm(copy, section_of(copy, type, Form::counters), GetParam());
    expect_refused({"info", copy}, {}, 1);
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, Damaged, testing::Values(Harm::one_bit_cleared, Harm::all_zero),
                         [](const auto& way) { return way.param == Harm::all_zero ? "AllZero" : "OneBitCleared"; });

}  // namespace
}  // namespace bloomwall::filter
