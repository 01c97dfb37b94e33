// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "proxy/query_log/client_mask.h"
#include "proxy/query_log/day_folder.h"
#include "proxy/query_log/log_rules.h"
#include "proxy/query_log/log_writer.h"
#include "rows.h"
#include "tests/support/temp_dir.h"

namespace bloomwall::proxy {
namespace {

using Clients = conf::QueryLog::Clients;
using Record = conf::QueryLog::Record;

TEST(ClientMask, LeavesOfAnAddressWhatTheConfigurationSays) {
  const ClientMask mask(ClientMask::Secret{1});
  EXPECT_EQ(mask.client("192.0.2.77", Clients::full, 5), "192.0.2.77");
  EXPECT_EQ(mask.client("192.0.2.77", Clients::network, 5), "192.0.2.0");
  EXPECT_EQ(mask.client("2001:db8:1:2:3:4:5:6", Clients::network, 5), "2001:db8:1::");
  EXPECT_EQ(mask.client("192.0.2.77", Clients::none, 5), "");
  EXPECT_EQ(mask.client("no address", Clients::network, 5), "");
  EXPECT_EQ(mask.user("anna", Clients::full, 5), "anna");
  EXPECT_EQ(mask.user("anna", Clients::network, 5), "");
  EXPECT_EQ(mask.user("anna", Clients::none, 5), "");
}

TEST(ClientMask, PseudonymsHoldForADayAndOneProcess) {
  const ClientMask mask(ClientMask::Secret{1}), other(ClientMask::Secret{2});
  const std::string today = mask.client("192.0.2.77", Clients::keyed, 5);
  EXPECT_EQ(today.size(), 16U);
  EXPECT_EQ(mask.client("192.0.2.77", Clients::keyed, 5), today);
  EXPECT_NE(mask.client("192.0.2.77", Clients::keyed, 6), today);
  EXPECT_NE(mask.client("192.0.2.78", Clients::keyed, 5), today);
  EXPECT_NE(other.client("192.0.2.77", Clients::keyed, 5), today);
  EXPECT_NE(mask.user("192.0.2.77", Clients::keyed, 5), today) << "a user of the name of an address";
  EXPECT_NE(ClientMask::random_secret(), ClientMask::random_secret());
}

conf::Config settings_of(Record record) {
  conf::Config settings;
  settings.query_log.record = record;
  settings.query_log.folder = "/nowhere";
  return settings;
}

TEST(LogRules, KeepWhatIsToBeRecorded) {
  AccessRecord record = test::blocked_record("h.test", "http://h.test/");
  const auto kept = [&](Record what) { return LogRules::compile(settings_of(what))->use_of(record).is_kept; };
  EXPECT_FALSE(kept(Record::off));
  EXPECT_TRUE(kept(Record::blocked));
  EXPECT_TRUE(kept(Record::all));
  record.decision = filter::Decision::monitored;
  EXPECT_FALSE(kept(Record::blocked));
  EXPECT_TRUE(kept(Record::all));
  EXPECT_TRUE(LogRules::compile(settings_of(Record::off))->use_of(record).is_shown);
}

TEST(LogRules, KeepNothingWhereThereIsNoPlace) {
  conf::Config settings = settings_of(Record::all);
  settings.query_log.folder.clear();
  EXPECT_TRUE(LogRules::compile(settings)->may_keep(filter::Decision::blocked)) << "in state_dir";
  settings.state_dir.clear();
  EXPECT_FALSE(LogRules::compile(settings)->may_keep(filter::Decision::blocked));
}

TEST(LogRules, GroupsKeepLess) {
  conf::Config settings = settings_of(Record::all);
  settings.groups.resize(3);
  settings.groups[0].name = "staff";
  settings.groups[0].log = conf::Group::Log::counted;
  settings.groups[1].name = "pupils";
  settings.groups[1].log = conf::Group::Log::blocked;
  settings.groups[2].name = "lab";
  const LogRules rules = *LogRules::compile(settings);
  AccessRecord record = test::blocked_record("h.test", "http://h.test/");
  const auto uses = [&](const char* group, filter::Decision decision) {
    record.group = group;
    record.decision = decision;
    const RowUse use = rules.use_of(record);
    EXPECT_EQ(use.is_kept, use.is_shown);
    return use.is_kept;
  };
  EXPECT_FALSE(uses("staff", filter::Decision::blocked));
  EXPECT_FALSE(uses("staff", filter::Decision::allowed));
  EXPECT_TRUE(uses("pupils", filter::Decision::blocked));
  EXPECT_FALSE(uses("pupils", filter::Decision::allowed));
  EXPECT_TRUE(uses("lab", filter::Decision::allowed));
  EXPECT_TRUE(uses("", filter::Decision::allowed));
}

TEST(LogRules, WhoseGroupIsNotKnownIsTreatedAsTheMostPrivate) {
  conf::Config settings = settings_of(Record::all);
  settings.groups.resize(2);
  settings.groups[0].name = "staff";
  settings.groups[1].name = "pupils";
  AccessRecord record;
  record.url = "http://h.test/";
  const auto is_kept = [&](filter::Decision decision, bool refused) {
    record.decision = decision;
    record.refused = refused;
    return LogRules::compile(settings)->use_of(record).is_kept;
  };
  EXPECT_TRUE(is_kept(filter::Decision::allowed, true)) << "a login is asked for";
  EXPECT_TRUE(is_kept(filter::Decision::rejected, true));
  for (const auto log : {conf::Group::Log::blocked, conf::Group::Log::counted}) {
    settings.groups[1].log = log;
    EXPECT_FALSE(is_kept(filter::Decision::allowed, true));
    EXPECT_FALSE(is_kept(filter::Decision::rejected, true));
  }
  record.group = "staff";
  EXPECT_TRUE(is_kept(filter::Decision::allowed, true));
}

TEST(LogRules, LeaveOutExcludedHosts) {
  conf::Config settings = settings_of(Record::all);
  settings.query_log.exclude = {"bank.example", "10.0.0.0/8"};
  const LogRules rules = *LogRules::compile(settings);
  for (const auto& [host, is_kept] : {std::pair("www.bank.example", false), std::pair("bank.example", false),
                                      std::pair("mybank.example", true), std::pair("10.1.2.3", false)}) {
    const RowUse use = rules.use_of(test::blocked_record(host, ""));
    EXPECT_EQ(use.is_kept, is_kept) << host;
    EXPECT_EQ(use.is_shown, is_kept) << host;
  }
}

TEST(LogRules, LeaveOutTunnelsToExcludedServerNames) {
  conf::Config settings = settings_of(Record::all);
  settings.query_log.exclude = {"bank.example"};
  const LogRules rules = *LogRules::compile(settings);
  AccessRecord record = test::blocked_record("other.example", "other.example:443");
  for (const auto& [sni, is_kept] :
       {std::pair("WWW.Bank.example", false), std::pair("mybank.example", true), std::pair("", true)}) {
    record.sni = sni;
    EXPECT_EQ(rules.use_of(record).is_kept, is_kept) << sni;
    EXPECT_EQ(rules.may_name_host(record), is_kept) << sni;
  }
}

// Of what is refused before it is judged the record has no host.
TEST(LogRules, LeaveOutExcludedHostsThatWereNotJudged) {
  conf::Config settings = settings_of(Record::all);
  settings.query_log.exclude = {"bank.example", "10.0.0.0/8", "2001:db8::/32"};
  const LogRules rules = *LogRules::compile(settings);
  for (const auto& [url, is_kept] :
       {std::pair("http://bank.example/secret", false), std::pair("http://WWW.Bank.Example.:25/x", false),
        std::pair("http://www.b%61nk.example/", false), std::pair("ftp://bank.example/x", false),
        std::pair("https://anna@bank.example/", false), std::pair("bank.example:22", false),
        std::pair("http://10.1.2.3:25/", false), std::pair("[2001:db8::1]:22", false),
        std::pair("http://bank.example?x", false), std::pair("http://other.example/@bank.example/", true),
        std::pair("http://mybank.example/", true), std::pair("bank.example.test:443", true), std::pair("", true)}) {
    AccessRecord record;
    record.url = url;
    record.decision = filter::Decision::rejected;
    EXPECT_EQ(rules.use_of(record).is_kept, is_kept) << url;
    EXPECT_EQ(rules.use_of(record).is_shown, is_kept) << url;
  }
}

TEST(DayFolder, NamesDaysAndReadsThemBack) {
  const Day day = day_of(test::kNoon);
  EXPECT_EQ(day_text(day), "2026-11-02");
  EXPECT_EQ(parse_day("2026-11-02"), day);
  EXPECT_EQ(start_of(day), test::kNoon - test::kDayLong / 2);
  EXPECT_EQ(day_of(start_of(day) - 1), day - std::chrono::days(1));
  for (const char* const bad :
       {"", "2026-11-2", "2026-13-01", "2026-02-30", "2026/11/02", "2026-11-02 ", "+026-11-02"}) {
    EXPECT_FALSE(parse_day(bad)) << bad;
  }
}

std::vector<std::string> names_in(const test::TempDir& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) names.push_back(entry.path().filename());
  std::ranges::sort(names);
  return names;
}

TEST(DayFolder, RemovesDaysThatWereOverForLongEnough) {
  const test::TempDir folder;
  for (const char* const name : {"2026-10-30.db", "2026-10-31.db", "2026-10-31.db-wal", "2026-11-01.db",
                                 "2026-11-02.db", "2026-10-30.damaged", "notes.txt", "2026-10-30.db.bak"}) {
    folder.write(name, std::string(100, 'x'));
  }
  const Retention two_days{.keep = std::chrono::days(2), .most = 1 << 20};
  EXPECT_EQ(remove_old_days(folder.path(), two_days, test::kNoon, test::kNoon), 400U);
  EXPECT_EQ(names_in(folder), (std::vector<std::string>{"2026-10-30.db.bak", "2026-10-31.db", "2026-10-31.db-wal",
                                                        "2026-11-01.db", "2026-11-02.db", "notes.txt"}));
}

std::int64_t steady_now = 0;  // NOLINT: the hands that the test turns
std::int64_t steady_of_test() { return steady_now; }

TEST(LogWriterTest, RemovesNothingWhereTheClockIsWrongForAWhile) {
  const test::TempDir folder;
  const std::vector<std::string> all{"2026-10-30.db", "2026-10-31.db", "2026-11-01.db", "2026-11-02.db"};
  for (const std::string& name : all) folder.write(name, "x");
  constexpr std::int64_t kMinute = 60'000, kDays = std::int64_t{24} * 60 * kMinute, kYears = 365 * kDays;
  const Retention retention{.keep = std::chrono::days(30), .most = 1 << 20};
  LogWriter writer(&steady_of_test);
  writer.use(folder.path(), retention);
  writer.remove_old(test::kNoon);
  for (int minute = 1; minute < 59; ++minute) {
    steady_now += kMinute;
    writer.remove_old(test::kNoon + 10 * kYears + minute * kMinute);
  }
  EXPECT_EQ(names_in(folder), all);
  steady_now += kMinute;
  writer.remove_old(test::kNoon + kDays / 2);
  steady_now += 90 * kMinute;
  writer.remove_old(test::kNoon + 10 * kYears);
  EXPECT_EQ(names_in(folder), all) << "it was right in between";
  LogWriter at_start(&steady_of_test);
  at_start.use(folder.path(), retention);
  at_start.remove_old(test::kNoon + 10 * kYears);
  EXPECT_EQ(names_in(folder), all) << "a start is no better, of which the days on the disk tell";
  steady_now += 61 * kMinute;
  at_start.remove_old(test::kNoon + 10 * kYears + 61 * kMinute);
  EXPECT_EQ(names_in(folder), std::vector<std::string>{}) << "it has held";
}

TEST(DayFolder, RemovesTheOldestUntilTheRestIsSmallEnough) {
  const test::TempDir folder;
  for (const char* const name : {"2026-10-30.db", "2026-10-31.db", "2026-11-01.db", "2026-11-02.db"}) {
    folder.write(name, std::string(100, 'x'));
  }
  EXPECT_EQ(remove_old_days(folder.path(), {.keep = std::chrono::days(30), .most = 250}, test::kNoon, test::kNoon),
            200U);
  EXPECT_EQ(names_in(folder), (std::vector<std::string>{"2026-11-01.db", "2026-11-02.db"}));
  EXPECT_EQ(remove_old_days(folder.path(), {.keep = std::chrono::days(30), .most = 10}, test::kNoon, test::kNoon), 100U)
      << "the day that is under way stays";
}

TEST(DayFolder, RemovesDaysToComeWhereNothingElseMakesRoom) {
  const test::TempDir folder;
  for (const char* const name : {"2026-11-01.db", "2026-11-02.db", "2027-01-01.db"}) {
    folder.write(name, std::string(100, 'x'));
  }
  const auto remove = [&](std::uint64_t most) {
    return remove_old_days(folder.path(), {.keep = std::chrono::days(30), .most = most}, test::kNoon, test::kNoon);
  };
  EXPECT_EQ(remove(250), 200U);
  EXPECT_EQ(names_in(folder), (std::vector<std::string>{"2026-11-02.db", "2027-01-01.db"}));
  EXPECT_EQ(remove(150), 100U) << "else nothing would be recorded until that day";
  EXPECT_EQ(names_in(folder), (std::vector<std::string>{"2026-11-02.db"}));
}

}  // namespace
}  // namespace bloomwall::proxy
