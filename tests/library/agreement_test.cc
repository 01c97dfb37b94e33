// The C calls say what the policy says that the proxy asks, of every spelling in the tables of URLs.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/filter/policy/policy_maker.h"
#include "tests/library/library_maker.h"

namespace bloomwall::library {
namespace {

using filter::Canonicaliser;
using filter::CanonicalUrl;
using filter::FilterAction;
using filter::Policy;
using filter::PolicyMaker;
using filter::Verdict;

// The texts as they stand there: escapes of the table are spellings like any other here.
void add_inputs(const std::string& file, std::size_t column, std::vector<std::string>& inputs) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with('#')) continue;
    std::size_t begin = 0;
    for (std::size_t i = 0; i < column && begin != std::string::npos; ++i) {
      begin = line.find('\t', begin);
      if (begin != std::string::npos) ++begin;
    }
    if (begin != std::string::npos) inputs.push_back(line.substr(begin, line.find('\t', begin) - begin));
  }
}

const std::vector<std::string>& inputs() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> out;
    add_inputs(BLOOMWALL_SOURCE_DIR "/tests/data/canonical_urls.tsv", 1, out);
    const std::string published = BLOOMWALL_SOURCE_DIR "/../shared/url/vectors.tsv";
    if (std::filesystem::exists(published)) add_inputs(published, 0, out);
    for (const char* const text : {"http://listed.test/", "http://a.listed.test:8080/x", "seen.test", "192.0.2.9",
                                   "http://192.0.2.9/x", "http://3221225993/", "[2001:db8::1]", "2001:db8::1", "",
                                   "http://free.listed.test/", "me@example.com", "ME@example.com"}) {
      out.emplace_back(text);
    }
    return out;
  }();
  return all;
}

// URL entries for every second spelling, so that the others find neighbours of theirs.
std::vector<std::string> entries_of_inputs() {
  std::set<std::string> entries;
  Canonicaliser canonicaliser;
  for (std::size_t i = 0; i < inputs().size(); i += 2) {
    const CanonicalUrl& url = canonicaliser.url(inputs()[i]);
    if (!url.has_canonical) continue;
    entries.insert((url.forms[0].has_query_mark ? "Q " : "U ") + url.expression());
  }
  return {entries.begin(), entries.end()};
}

std::string say(const Verdict& verdict, const std::string& reason) {
  std::string out = std::to_string(static_cast<int>(verdict.decision)) + " " + reason;
  if (verdict.filter != nullptr) out += " " + verdict.filter->name;
  return verdict.expression.empty() ? out : out + " " + verdict.expression;
}
std::string say(const Verdict& verdict, const CanonicalUrl& url) {
  return say(verdict,
             verdict.decision == filter::Decision::rejected ? to_string(url.reason) : to_string(verdict.reason));
}

class LibraryAgreement : public testing::Test {
 protected:
  LibraryAgreement()
      : maker_({{.name = "urls", .entries = entries_of_inputs()},
                {.name = "monitored", .entries = {"S seen.test", "S listed.test"}, .action = FilterAction::monitor},
                {.name = "hosts",
                 .entries = {"S listed.test", "N 192.0.2.0/28", "R me@example.com"},
                 .changes = "+new.test\n+R new@example.com\n"}},
               "free.listed.test @hosts\n"),
        policy_(bw_new()) {
    for (const char* const name : {"urls", "monitored", "hosts"}) {
      EXPECT_EQ(bw_add_filter(policy_.get(), nullptr, maker_.file_of(name).c_str()), 0);
      if (name == std::string_view("monitored")) {
        EXPECT_EQ(bw_set(policy_.get(), "action", "monitor"), 0);
      }
      if (name == std::string_view("hosts")) {
        EXPECT_EQ(bw_set(policy_.get(), "delta", (maker_.folder / "hosts.delta").c_str()), 0);
      }
    }
    EXPECT_EQ(bw_add_allow_list(policy_.get(), (maker_.folder / "allow.txt").c_str()), 0);
    EXPECT_EQ(bw_reload(policy_.get()), 0) << bw_error_text();
  }

  PolicyMaker maker_;
  OwnPolicy policy_;
};

TEST_F(LibraryAgreement, OfUrls) {
  std::size_t blocked = 0;
  std::size_t rejected = 0;
  for (const std::string& input : inputs()) {
    const CanonicalUrl& url = maker_.canonicaliser.url(input);
    const Verdict verdict = maker_.policy->judge(url);
    EXPECT_EQ(library::say(policy_, BW_URL, input), say(verdict, url)) << input;
    blocked += is_blocked(verdict) ? 1U : 0U;
    rejected += verdict.decision == filter::Decision::rejected ? 1U : 0U;
  }
  EXPECT_GT(inputs().size(), 280U);
  EXPECT_GT(blocked, 50U);
  EXPECT_GT(rejected, 20U);
}

TEST_F(LibraryAgreement, OfHosts) {
  for (const std::string& input : inputs()) {
    const CanonicalUrl& url = maker_.canonicaliser.host(input);
    EXPECT_EQ(library::say(policy_, BW_HOST, input), say(maker_.policy->judge_host(url), url)) << input;
  }
}

TEST_F(LibraryAgreement, OfRawKeys) {
  for (const std::string& input : inputs()) {
    const Verdict verdict = maker_.policy->judge_raw(input);
    EXPECT_EQ(library::say(policy_, BW_RAW, input), say(verdict, to_string(verdict.reason))) << input;
  }
  EXPECT_EQ(library::say(policy_, BW_RAW, "me@example.com"), "2 listed hosts me@example.com");
  EXPECT_EQ(library::say(policy_, BW_RAW, "new@example.com"), "2 delta hosts new@example.com");
  EXPECT_EQ(library::say(policy_, BW_RAW, "ME@example.com"), "0 unlisted");
}

TEST_F(LibraryAgreement, OfAddresses) {
  EXPECT_EQ(library::say(policy_, BW_ADDRESS, "192.0.2.9"), "2 listed hosts 192.0.2.0/28");
  EXPECT_EQ(library::say(policy_, BW_ADDRESS, "::ffff:192.0.2.9"), "2 listed hosts 192.0.2.0/28");
  EXPECT_EQ(library::say(policy_, BW_ADDRESS, "192.0.2.16"), "0 unlisted");
  EXPECT_EQ(library::say(policy_, BW_ADDRESS, "2001:db8::1"), "0 unlisted");
  EXPECT_EQ(library::say(policy_, BW_ADDRESS, "[2001:db8::1]"), "0 unlisted");
  for (const char* const text : {"", "listed.test", "192.0.2", "192.0.2.9:80", "2001:db8::1]"}) {
    EXPECT_EQ(library::say(policy_, BW_ADDRESS, text), "3 not an address") << text;
  }
}

TEST_F(LibraryAgreement, OfManyAtOnce) {
  std::vector<const char*> texts;
  std::vector<std::size_t> lengths;
  std::string lines;
  std::string lines_of_windows;
  for (const std::string& input : inputs()) {
    texts.push_back(input.c_str());
    lengths.push_back(input.size());
    lines += input + "\n";
    lines_of_windows += input + "\r\n";
  }
  std::vector<unsigned char> expected;
  for (const std::string& input : inputs()) {
    expected.push_back(static_cast<unsigned char>(ask(policy_, BW_URL, input)));
  }
  std::vector<unsigned char> verdicts(texts.size(), 99);
  ASSERT_EQ(bw_ask_many(policy_.get(), BW_URL, texts.size(), texts.data(), lengths.data(), verdicts.data()), 0);
  EXPECT_EQ(verdicts, expected);
  std::ranges::fill(verdicts, static_cast<unsigned char>(99));
  ASSERT_EQ(bw_ask_many(policy_.get(), BW_URL, texts.size(), texts.data(), nullptr, verdicts.data()), 0);
  EXPECT_EQ(verdicts, expected);
  for (const std::string& text : {lines, lines_of_windows, lines.substr(0, lines.size() - 1)}) {
    std::ranges::fill(verdicts, static_cast<unsigned char>(99));
    std::size_t count = 0;
    ASSERT_EQ(bw_ask_lines(policy_.get(), BW_URL, text.data(), text.size(), verdicts.data(), verdicts.size(), &count),
              0);
    EXPECT_EQ(count, texts.size());
    EXPECT_EQ(verdicts, expected);
  }
}

}  // namespace
}  // namespace bloomwall::library
