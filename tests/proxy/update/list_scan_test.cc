// SPDX-License-Identifier: Apache-2.0
#include "proxy/update/list_scan.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "conf/config.h"
#include "conf/forms.h"
#include "filter/lists/list_format.h"
#include "proxy/update/guards.h"
#include "proxy/update/list_copies.h"

namespace bloomwall::proxy {
namespace {

class ListScanTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "bloomwall-scan-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  tl::expected<ListScan, ScanFailure> scan(const std::string& text,
                                           ScanOptions options = {.most_bytes = 1 << 20}) const {
    std::ofstream(folder_ / "list") << text;
    return scan_list(folder_ / "list", options);
  }
  // What a list of this line stops, of these.
  std::string canary_of(const std::string& line, std::vector<std::string> must_pass) const {
    const auto found =
        scan("a.test\nb.test\n" + line + "\n", {.most_bytes = 1 << 20, .must_pass = std::move(must_pass)});
    return found && found->canary ? found->canary->canary : "";
  }
  std::filesystem::path folder_;
};

TEST_F(ListScanTest, CountsWhatIsThere) {
  const auto found =
      scan("! Expires: 2 days\n! a comment\n||a.test^\n||b.test^\nexample.test##.ad\n", {.most_bytes = 1 << 20});
  ASSERT_TRUE(found.has_value()) << found.error().what;
  EXPECT_EQ(found->entries, 2U);
  EXPECT_EQ(found->rules, 3U);
  EXPECT_EQ(found->unusable, 1U);
  EXPECT_NEAR(found->unusable_share, 1.0 / 3, 1e-9);
  EXPECT_EQ(found->expires, 2 * 86'400);
  EXPECT_EQ(found->sha256.size(), 64U);
  EXPECT_FALSE(found->canary.has_value());
}

TEST_F(ListScanTest, SaysWhatIsNotTakenInTheKeysOfASource) {
  const auto found = scan("a.test\nb.test\n10.0.0.0/3\nzip\n", {.most_bytes = 1 << 20});
  ASSERT_TRUE(found.has_value()) << found.error().what;
  EXPECT_NE(found->loss.find("2 of 4 rules are not taken"), std::string::npos) << found->loss;
  EXPECT_NE(found->loss.find("allow_wide_ranges: true takes it"), std::string::npos) << found->loss;
  EXPECT_EQ(found->loss.find("--"), std::string::npos) << found->loss;
  EXPECT_EQ(scan("a.test\nb.test\n")->loss, "");
}

TEST_F(ListScanTest, ListThatHasFewerEntriesThanItSaysIsRefused) {
  std::string text = "# Number of entries: 1000\n";
  for (int i = 0; i < 601; ++i) text += "h" + std::to_string(i) + ".test\n";
  const auto found = scan(text);
  ASSERT_TRUE(found.has_value()) << found.error().what;
  EXPECT_EQ(found->stated.count, 1000U);
  EXPECT_EQ(found->stated.missing, 399U);
  const auto refused = refusal_of(*found, {}, {});
  ASSERT_TRUE(refused.has_value());
  EXPECT_EQ(refused->guard, "stated");
  EXPECT_NE(refused->what.find("line 1 says that it has 1,000 entries, and 399 of them are missing, 39.9 %"),
            std::string::npos)
      << refused->what;
  EXPECT_FALSE(refusal_of(*found, {}, {.stated = 40}).has_value());
}

TEST_F(ListScanTest, ExceptionsAreTheEntriesOfAWhiteList) {
  const std::string published = "[Adblock Plus]\n! Title: allowed\n@@||a.test^\n@@|b.test^|\n@@||c.test^$important\n";
  EXPECT_EQ(scan(published)->entries, 0U);
  EXPECT_EQ(scan(published, {.read = {.exceptions_as_entries = true}, .most_bytes = 1 << 20})->entries, 3U);
}

TEST_F(ListScanTest, KnowsWhatStopsAHostThatMustPass) {
  const std::vector<std::string> canaries{"www.bank.test", "https://shop.test/pay"};
  EXPECT_EQ(canary_of("www.bank.test", canaries), "www.bank.test");
  EXPECT_EQ(canary_of("bank.test", canaries), "www.bank.test");
  EXPECT_EQ(canary_of("shop.test", canaries), "https://shop.test/pay");
  EXPECT_EQ(canary_of("ww.bank.test", canaries), "");
  EXPECT_EQ(canary_of("sub.www.bank.test", canaries), "");
  EXPECT_EQ(canary_of("notbank.test", canaries), "");
}

TEST_F(ListScanTest, HostsFilesMeanTheHostAlone) {
  const auto of_hosts = [&](const std::string& name) {
    const auto found =
        scan("0.0.0.0 a.test\n0.0.0.0 " + name + "\n",
             {.read = {.format = filter::Format::hosts}, .most_bytes = 1 << 20, .must_pass = {"www.bank.test"}});
    return found && found->canary.has_value();
  };
  EXPECT_TRUE(of_hosts("www.bank.test"));
  EXPECT_FALSE(of_hosts("bank.test"));
}

// One file in a tar archive, as ustar has it.
std::string tar_of(const std::string& name, const std::string& text) {
  std::string head(512, '\0');
  const auto put = [&head](std::size_t at, const std::string& field) { head.replace(at, field.size(), field); };
  put(0, name);
  put(100, "0000644");
  put(124, fmt::format("{:011o}", text.size()));
  put(136, "00000000000");
  put(148, "        ");
  put(156, "0");
  put(257, std::string("ustar\00000", 8));
  unsigned sum = 0;
  for (const char c : head) sum += static_cast<unsigned char>(c);
  put(148, fmt::format("{:06o}", sum) + std::string("\0 ", 2));
  return head + text + std::string((512 - text.size() % 512) % 512 + 1024, '\0');
}

// Octets that this process has read; nothing where the kernel does not count them.
std::optional<std::uint64_t> octets_read() {
  std::ifstream counts("/proc/self/io");
  std::string name;
  for (std::uint64_t count = 0; counts >> name >> count;) {
    if (name == "rchar:") return count;
  }
  return std::nullopt;
}

TEST_F(ListScanTest, ReadsAnArchiveOnceToUnpackIt) {
  std::string list;
  for (int i = 0; i < 200'000; ++i) list += "h" + std::to_string(i) + ".test\n";
  const std::string text = tar_of("hosts", list);
  const auto before = octets_read();
  if (!before) GTEST_SKIP() << "needs /proc/self/io";
  UnpackedArchives archives;
  const auto found = scan(text, {.most_bytes = 2 * text.size(), .archives = &archives});
  const std::uint64_t read = *octets_read() - *before;
  ASSERT_TRUE(found.has_value()) << found.error().what;
  EXPECT_EQ(found->entries, 200'000U);
  EXPECT_EQ(archives.find(found->sha256).bytes, text.size());
  EXPECT_LT(read, 3 * text.size() + text.size() / 2) << "for its digest, to unpack it, and the list in it";
  const std::atomic<bool> stop{true};
  EXPECT_EQ(scan(text, {.most_bytes = 2 * text.size(), .stop = &stop}).error().kind, ScanFailure::Kind::stopped);
  EXPECT_EQ(scan(text, {.most_bytes = text.size() - 1}).error().kind, ScanFailure::Kind::too_large);
}

TEST_F(ListScanTest, RefusesWhatIsNoListOrTooLarge) {
  EXPECT_EQ(scan("<!DOCTYPE html>\n<html><body>no</body></html>\n").error().kind, ScanFailure::Kind::no_list);
  EXPECT_EQ(scan(std::string("\x1f\x8b\x08\x00", 4)).error().kind, ScanFailure::Kind::no_list);
  EXPECT_EQ(scan("a.test\nb.test\n", {.most_bytes = 5}).error().kind, ScanFailure::Kind::too_large);
  const std::atomic<bool> stop{true};
  EXPECT_EQ(scan("a.test\n", {.most_bytes = 100, .stop = &stop}).error().kind, ScanFailure::Kind::stopped);
}

TEST(ListFormats, TheConfigurationKnowsAllOfThem) {
  for (const filter::Format format : filter::kFormats) {
    std::string name = filter::to_string(format);
    EXPECT_TRUE(conf::kListFormat.check(name).has_value()) << name;
  }
  std::string wrong = "pdf";
  EXPECT_FALSE(conf::kListFormat.check(wrong).has_value());
}

struct GuardCase {
  std::string_view name;
  ListScan scan;
  std::uint64_t before;
  std::string_view guard;
};
class GuardTest : public testing::TestWithParam<GuardCase> {};

TEST_P(GuardTest, RefusesOrNot) {
  const GuardCase& c = GetParam();
  const auto refusal = refusal_of(c.scan, {.entries = c.before}, {});
  EXPECT_EQ(refusal ? refusal->guard : "", c.guard) << (refusal ? refusal->what : "");
}

INSTANTIATE_TEST_SUITE_P(
    Limits, GuardTest,
    testing::Values(
        GuardCase{"FirstOfAll", {.entries = 1}, 0, ""}, GuardCase{"Nothing", {.entries = 0}, 0, "least"},
        GuardCase{"HalfOfIt", {.entries = 50}, 100, ""}, GuardCase{"LessThanHalf", {.entries = 49}, 100, "shrink"},
        GuardCase{"FourTimes", {.entries = 400}, 100, ""},
        GuardCase{"MoreThanFourTimes", {.entries = 401}, 100, "grow"},
        GuardCase{"FivePercentUnusable", {.entries = 95, .unusable_share = 0.05}, 0, ""},
        GuardCase{"SixPercentUnusable", {.entries = 94, .unusable_share = 0.06}, 0, "unusable"},
        GuardCase{"Poisoned", {.entries = 94, .canary = CanaryLine{"google.com", 3, "google.com"}}, 94, "must_pass"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(CopyName, HasNothingOfAUrlThatAFileMustNotHave) {
  const std::string digest(64, 'a');
  for (const char* const url : {"https://h.test/a.txt", "https://h.test/", "https://h.test/../../x?y=/z",
                                "https://h.test/%2e%2e", "/lists/.hidden", "https://h.test/a b\n", ""}) {
    const std::string name = copy_name(url, digest, true);
    EXPECT_EQ(name.find('/'), std::string::npos) << name;
    EXPECT_NE(name.front(), '.') << name;
    EXPECT_TRUE(name.ends_with("-aaaaaaaaaaaaaaaa.zst")) << name;
  }
  EXPECT_NE(copy_name("https://a.test/x", digest, true), copy_name("https://b.test/x", digest, true));
}

}  // namespace
}  // namespace bloomwall::proxy
