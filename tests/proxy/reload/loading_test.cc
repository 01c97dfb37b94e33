// SPDX-License-Identifier: Apache-2.0
#include "proxy/reload/loading.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/support/site.h"

namespace bloomwall::proxy {
namespace {

using test::Site;

std::string lines_of(const LoadFailure& failure) {
  std::string all;
  for (const auto& line : failure.lines) all += line + "\n";
  return all;
}

TEST(Loading, SettingsBecomeAPolicySpec) {
  conf::Config settings;
  settings.filters.push_back({.name = "a",
                              .file = "/a.bwf",
                              .delta = "/a.delta",
                              .action = conf::Filter::Action::monitor,
                              .status = 451,
                              .legal_link = "",
                              .on_error = conf::Filter::OnError::allow});
  settings.filters.push_back({.name = "b", .file = "/b.bwf", .delta = {}, .legal_link = ""});
  settings.allow_lists = {"/allow.txt"};
  const filter::PolicySpec spec = policy_spec(settings);
  ASSERT_EQ(spec.filters.size(), 2U);
  EXPECT_EQ(spec.filters[0].name, "a");
  EXPECT_EQ(spec.filters[0].file, "/a.bwf");
  EXPECT_EQ(spec.filters[0].delta, "/a.delta");
  EXPECT_EQ(spec.filters[0].action, filter::FilterAction::monitor);
  EXPECT_EQ(spec.filters[0].on_error, filter::OnFilterError::allow);
  EXPECT_EQ(spec.filters[0].status, 451);
  EXPECT_EQ(spec.filters[1].action, filter::FilterAction::block);
  EXPECT_EQ(spec.filters[1].on_error, filter::OnFilterError::block);
  EXPECT_EQ(spec.allow_lists, settings.allow_lists);
}

TEST(Loading, ASnapshotHoldsWhatTheFilesSay) {
  const Site site;
  site.dir.write("allow.txt", "ok.example.test\n");
  const auto settings = load_settings(site.configure("allow_lists: [allow.txt]\n"));
  ASSERT_TRUE(settings.has_value()) << lines_of(settings.error());
  const auto edition = load_edition(*settings, {}, 7);
  ASSERT_TRUE(edition.has_value()) << lines_of(edition.error());
  EXPECT_EQ(edition->snapshot->generation, 7U);
  EXPECT_EQ(describe(*edition->policy), "1 filter (2 entries), 1 allow entry");
  filter::Canonicaliser canonicaliser;
  EXPECT_EQ(edition->policy->judge(canonicaliser.url("http://listed.example.test/")).decision,
            filter::Decision::blocked);
}

TEST(Loading, CountsDistinctEntries) {
  const Site site;
  filter::make_filter(site.dir.path() / "ads.bwf", {.entries = {"S a.example.test"}, .claimed_keys = 4});
  const auto settings = load_settings(site.configure());
  ASSERT_TRUE(settings.has_value()) << lines_of(settings.error());
  const auto edition = load_edition(*settings, {}, 1);
  ASSERT_TRUE(edition.has_value()) << lines_of(edition.error());
  EXPECT_EQ(describe(*edition->policy), "1 filter (5 entries), 0 allow entries") << "of lists that held one line";
}

TEST(Loading, StatusesTellWhatMayStillCome) {
  const Site site;
  const auto status_of = [&](const std::string& more) {
    const auto settings = load_settings(site.configure(more));
    if (!settings) return settings.error().status;
    const auto edition = load_edition(*settings, {}, 1);
    return edition ? 0 : edition.error().status;
  };
  EXPECT_EQ(status_of(""), kExitDone);
  EXPECT_EQ(status_of("workers: many\n"), kExitConfiguration);
  EXPECT_EQ(status_of("allow_lists: [missing.txt]\n"), kExitError) << "it may appear";
  site.dir.write("broken.txt", "http://\n");
  EXPECT_EQ(status_of("allow_lists: [broken.txt]\n"), kExitRefused);
  EXPECT_EQ(status_of("allow_lists: [broken.txt, missing.txt]\n"), kExitError);
  site.dir.write("page.html", "<p>{{no_such_name}}</p>");
  EXPECT_EQ(status_of("block_page: {template: page.html}\n"), kExitConfiguration);
  site.dir.write("ads.bwf", "not a filter");
  EXPECT_EQ(status_of(""), kExitRefused);
  std::filesystem::remove(site.dir.path() / "ads.bwf");
  EXPECT_EQ(status_of(""), kExitError);
}

TEST(Loading, EveryErrorOfEveryFileIsThere) {
  const Site site;
  std::filesystem::remove(site.dir.path() / "ads.bwf");
  const auto settings = load_settings(site.configure("allow_lists: [one.txt, two.txt]\n"));
  ASSERT_TRUE(settings.has_value());
  const auto policy = load_policy(*settings, {});
  ASSERT_FALSE(policy.has_value());
  const std::string all = lines_of(policy.error());
  for (const char* file : {"ads.bwf", "one.txt", "two.txt"})
    EXPECT_NE(all.find(file), std::string::npos) << file << all;
}

// Opening it would last until somebody writes to it.
TEST(Loading, APipeIsRefusedUnopened) {
  const Site site;
  ASSERT_EQ(::mkfifo((site.dir.path() / "pipe").c_str(), 0600), 0);
  for (const char* more : {"allow_lists: [pipe]\n", "block_page: {template: pipe}\n",
                           "upstream: {parent: \"127.0.0.1:1\", credentials_file: pipe}\n"}) {
    const auto settings = load_settings(site.configure(more));
    ASSERT_TRUE(settings.has_value()) << lines_of(settings.error());
    const auto edition = load_edition(*settings, {}, 1);
    ASSERT_FALSE(edition.has_value()) << more;
    EXPECT_EQ(edition.error().status, kExitRefused) << more;
    EXPECT_NE(lines_of(edition.error()).find("pipe: is a pipe"), std::string::npos) << lines_of(edition.error());
  }
}

// Reading it would never end.
TEST(Loading, ADeviceIsRefusedUnread) {
  const Site site;
  for (const char* more : {"allow_lists: [/dev/zero]\n", "block_page: {template: /dev/zero}\n",
                           "upstream: {parent: \"127.0.0.1:1\", credentials_file: /dev/null}\n"}) {
    const auto settings = load_settings(site.configure(more));
    ASSERT_TRUE(settings.has_value()) << lines_of(settings.error());
    const auto edition = load_edition(*settings, {}, 1);
    ASSERT_FALSE(edition.has_value()) << more;
    EXPECT_EQ(edition.error().status, kExitRefused) << more;
    EXPECT_NE(lines_of(edition.error()).find(" is a device"), std::string::npos) << lines_of(edition.error());
  }
}

TEST(Loading, AnAllowListBeyondReasonIsRefusedUnread) {
  const Site site;
  const auto list = site.dir.write("huge.txt", "");
  std::filesystem::resize_file(list, (std::uintmax_t{1} << 30U) + 1);  // a hole: it takes no disk
  const auto settings = load_settings(site.configure("allow_lists: [huge.txt]\n"));
  ASSERT_TRUE(settings.has_value());
  const auto policy = load_policy(*settings, {});
  ASSERT_FALSE(policy.has_value());
  EXPECT_NE(lines_of(policy.error()).find("an allow list may have"), std::string::npos) << lines_of(policy.error());
}

TEST(Loading, ALoadCanBeStopped) {
  const Site site;
  const auto settings = load_settings(site.configure());
  ASSERT_TRUE(settings.has_value());
  std::uint64_t told = 0;
  const auto policy = load_policy(*settings, {.verify = true, .progress = [&](const auto& file, auto done, auto total) {
                                                EXPECT_EQ(file.filename(), "ads.bwf");
                                                EXPECT_LE(done, total);
                                                ++told;
                                                return false;
                                              }});
  EXPECT_FALSE(policy.has_value());
  EXPECT_EQ(told, 1U);
}

}  // namespace
}  // namespace bloomwall::proxy
