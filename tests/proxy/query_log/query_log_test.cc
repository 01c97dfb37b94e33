// The log's thread and the search of what it has written.
// SPDX-License-Identifier: Apache-2.0
#include "proxy/query_log/query_log.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <iterator>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "proxy/query_log/day_file.h"
#include "proxy/query_log/request_search.h"
#include "proxy/state/database.h"
#include "rows.h"
#include "tests/support/temp_dir.h"

namespace bloomwall::proxy {
namespace {

using namespace std::chrono_literals;

std::atomic<std::int64_t> the_time = test::kNoon;
constexpr auto kBound = 20s;

conf::Config everything(const std::filesystem::path& folder) {
  conf::Config settings;
  settings.query_log.record = conf::QueryLog::Record::all;
  settings.query_log.folder = folder;
  return settings;
}

class QueryLogTest : public testing::Test {
 protected:
  QueryLogTest() { the_time = test::kNoon; }

  void use(const conf::Config& settings) {
    rules_ = *LogRules::compile(settings);
    log_.use({.query_log = settings.query_log, .folder = settings.query_log.folder});
  }
  void tell(const std::string& host, const std::string& path = "/a", const std::string& user = {}) {
    const std::string url = "http://" + host + path;
    AccessRecord record = test::blocked_record(host, url);
    record.user = user;
    record.start = TimePoint(std::chrono::milliseconds(the_time.load()));
    feed_.note(record, rules_);
  }
  std::vector<std::string> urls(const RequestQuery& query = {}, const SearchLimits& limits = {}) {
    EXPECT_TRUE(log_.flush(kBound));
    page_ = search_requests(folder_.path(), query, limits);
    std::vector<std::string> urls;
    for (const RequestRow& row : page_.rows) urls.push_back(row.url);
    return urls;
  }
  using Urls = std::vector<std::string>;

  void add_shown(QueryLog::Shown shown) {
    const std::lock_guard lock(guard_);
    std::ranges::move(shown.rows, std::back_inserter(shown_.rows));
    shown_.skipped += shown.skipped;
    has_shown_.notify_all();
  }

  test::TempDir folder_;
  std::mutex guard_;
  std::condition_variable has_shown_;
  QueryLog::Shown shown_ = {};  // all of it so far
  QueryLog log_{
      ClientMask(ClientMask::Secret{7}),
      {.show = [this](QueryLog::Shown shown) { add_shown(std::move(shown)); }, .now = [] { return the_time.load(); }}};
  RequestFeed& feed_ = log_.add_feed();
  LogRules rules_;
  RequestPage page_;
};

TEST_F(QueryLogTest, WritesWhatItIsTold) {
  use(everything(folder_.path()));
  tell("h.test", "/a?b=c");
  tell("other.test");
  EXPECT_EQ(urls(), (Urls{"http://other.test/a", "http://h.test/a?b=c"}));
  EXPECT_FALSE(page_.next);
  const RequestRow& row = page_.rows.back();
  EXPECT_EQ(row.client, "127.0.0.2");
  EXPECT_EQ(row.filter, "ads");
  EXPECT_EQ(row.decision, RowDecision::blocked);
  EXPECT_EQ(row.at, test::kNoon);
  EXPECT_EQ(log_.figures().written, 2U);
  EXPECT_GT(log_.figures().bytes, 0U);
  EXPECT_EQ(std::filesystem::status(folder_.path() / "2026-11-02.db").permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
}

TEST_F(QueryLogTest, BeginsAFileForEachDayAndFindsTheNewestFirst) {
  use(everything(folder_.path()));
  for (int day = 0; day < 3; ++day) {
    tell(fmt::format("day{}.test", day));
    ASSERT_TRUE(log_.flush(kBound));
    the_time += test::kDayLong;
  }
  EXPECT_EQ(urls(), (Urls{"http://day2.test/a", "http://day1.test/a", "http://day0.test/a"}));
  EXPECT_TRUE(std::filesystem::exists(folder_.path() / "2026-11-04.db"));
  EXPECT_EQ(urls({}, {.rows = 2}), (Urls{"http://day2.test/a", "http://day1.test/a"}));
  ASSERT_TRUE(page_.next);
  EXPECT_EQ(urls({.cursor = page_.next}), (Urls{"http://day0.test/a"}));
  EXPECT_FALSE(page_.next);
}

TEST_F(QueryLogTest, RemovesDaysThatAreTooOld) {
  conf::Config settings = everything(folder_.path());
  settings.query_log.keep = std::chrono::days(2);
  use(settings);
  for (int day = 0; day < 5; ++day) {
    tell(fmt::format("day{}.test", day));
    ASSERT_TRUE(log_.flush(kBound));
    the_time += test::kDayLong;
  }
  EXPECT_EQ(urls(), (Urls{"http://day4.test/a", "http://day3.test/a"}));
}

// At each look, between any two transactions: neither a transaction that is large nor what SQLite moves later goes
// beyond it.
TEST_F(QueryLogTest, StaysBelowItsSizeHoweverLongItsRowsAre) {
  struct Length {
    std::size_t path, name;  // each name is new
  };
  for (const auto& [path, name] : {Length{50, 20}, Length{1900, 20}, Length{2100, 20}, Length{10, 244}}) {
    conf::Config settings = everything(folder_.path() / fmt::format("{}-{}", path, name));
    settings.query_log.keep_size = 4 << 20;
    use(settings);
    const std::uint64_t failed = log_.figures().failed;
    std::uint64_t told = 0;
    for (int full = 0; full < 2;) {
      ASSERT_LT(++told, 1'000'000U);
      const std::string user = fmt::format("{:u>{}}", told, name);
      tell(fmt::format("{:h>{}}", told, name), fmt::format("/{:0>{}}", told, path), user);
      if (told % 300 != 0) continue;
      ASSERT_TRUE(log_.flush(kBound));
      std::uint64_t bytes = 0;
      for (const DayOnDisk& day : days_in(settings.query_log.folder)) bytes += day.bytes;
      ASSERT_LE(bytes, settings.query_log.keep_size) << path << ", " << name << ": after " << told << " rows";
      full += log_.figures().failed > failed ? 1 : 0;
      ASSERT_TRUE(full == 0 || bytes > settings.query_log.keep_size / 4) << path << ", " << name;
    }
  }
}

TEST_F(QueryLogTest, StaysBelowItsSizeAndDropsWhatDoesNotFit) {
  conf::Config settings = everything(folder_.path());
  settings.query_log.keep_size = 4 << 20;
  use(settings);
  std::uint64_t told = 0;
  while (log_.figures().failed == 0) {
    ASSERT_LT(told, 1'000'000U);
    for (int i = 0; i < 2000; ++i) tell("h.test", fmt::format("/{:0>200}", told++));
    ASSERT_TRUE(log_.flush(kBound));
  }
  std::uint64_t bytes = 0;
  for (const DayOnDisk& day : days_in(folder_.path())) bytes += day.bytes;
  EXPECT_LE(bytes, settings.query_log.keep_size);
  EXPECT_GT(bytes, settings.query_log.keep_size / 2);
  const auto figures = log_.figures();
  EXPECT_EQ(figures.written + figures.failed + figures.dropped, told);
  the_time += test::kDayLong;  // the next day has room again, for which the full one goes
  for (int i = 0; i < 5000; ++i) tell("next.test", fmt::format("/{:0>200}", told++));
  EXPECT_EQ(urls({.host = "h.test"}), Urls{});
  EXPECT_EQ(urls({}, {.rows = 1}).size(), 1U);
  EXPECT_EQ(log_.figures().failed, figures.failed);
}

TEST_F(QueryLogTest, SetsADamagedFileAside) {
  use(everything(folder_.path()));
  folder_.write("2026-11-02.db", std::string(8192, 'x'));
  tell("h.test");
  EXPECT_EQ(urls(), (Urls{"http://h.test/a"}));
  EXPECT_EQ(page_.unreadable, (Urls{"2026-11-02.damaged"}));
  EXPECT_EQ(test::bytes_of(folder_.path() / "2026-11-02.damaged"), std::string(8192, 'x'));
}

TEST_F(QueryLogTest, GoesOnAfterItsFileWasTakenAway) {
  use(everything(folder_.path()));
  tell("h.test");
  ASSERT_TRUE(log_.flush(kBound));
  for (const char* const end : {"", "-wal", "-shm"}) {
    std::filesystem::remove(folder_.path() / (std::string("2026-11-02.db") + end));
  }
  tell("next.test");
  EXPECT_EQ(urls(), (Urls{"http://next.test/a"}));
}

TEST_F(QueryLogTest, CountsRowsThatItCannotWrite) {
  conf::Config settings = everything(folder_.path());
  settings.query_log.folder = folder_.write("file", "") / "log";  // below what is no folder
  use(settings);
  tell("h.test");
  ASSERT_TRUE(log_.flush(kBound));
  EXPECT_EQ(log_.figures().failed, 1U);
  use(everything(folder_.path()));  // a reload
  tell("next.test");
  EXPECT_EQ(urls(), (Urls{"http://next.test/a"}));
}

TEST_F(QueryLogTest, AFullQueueDropsAndNeverWaits) {
  QueryLog stuck(ClientMask(ClientMask::Secret{7}), {.now = [] { return the_time.load(); }});  // nothing wakes it: off
  RequestFeed& feed = stuck.add_feed();
  const LogRules rules = *LogRules::compile(everything(folder_.path()));
  const std::string url = "http://h.test/" + std::string(1900, 'a');
  const std::uint64_t told = 2 * RequestFeed::kQueueBytes / url.size();
  for (std::uint64_t i = 0; i < told; ++i) feed.note(test::blocked_record("h.test", url), rules);
  const std::uint64_t dropped = stuck.figures().dropped;
  EXPECT_LT(dropped, told);
  ASSERT_TRUE(stuck.flush(kBound));
  EXPECT_EQ(stuck.figures().failed + dropped, told) << "it has no folder";
}

TEST_F(QueryLogTest, WhileAnotherProgramHoldsTheFileRowsWait) {
  use(everything(folder_.path()));
  tell("before.test");
  ASSERT_TRUE(log_.flush(kBound));
  auto other = Database::open(folder_.path() / "2026-11-02.db", Database::Use::existing);
  ASSERT_TRUE(other && other->run("BEGIN IMMEDIATE"));
  const std::uint64_t told = 3 * QueryLog::kMostRows;  // more than wait outside their feed
  for (std::uint64_t i = 0; i < told; ++i) tell(fmt::format("host{}.test", i));
  EXPECT_FALSE(log_.flush(50ms));
  ASSERT_TRUE(other->run("COMMIT"));
  ASSERT_TRUE(log_.flush(kBound));
  EXPECT_EQ(log_.figures().written, told + 1);
  EXPECT_EQ(log_.figures().failed + log_.figures().dropped, 0U);
}

TEST_F(QueryLogTest, AtItsEndItWaitsForNobodyWhoHoldsTheFile) {
  use(everything(folder_.path()));
  tell("before.test");
  ASSERT_TRUE(log_.flush(kBound));
  auto other = Database::open(folder_.path() / "2026-11-02.db", Database::Use::existing);
  ASSERT_TRUE(other && other->run("BEGIN IMMEDIATE"));
  tell("last.test");
  log_.close(kBound);
  EXPECT_EQ(log_.figures().failed, 1U);
}

TEST_F(QueryLogTest, ShowsRequestsToThoseWhoWatch) {
  conf::Config settings = everything(folder_.path());
  settings.query_log.record = conf::QueryLog::Record::off;
  settings.query_log.clients = conf::QueryLog::Clients::network;
  use(settings);
  tell("nobody-watches.test");
  log_.watch(Watch::blocked);
  AccessRecord allowed = test::blocked_record("allowed.test", "http://allowed.test/");
  allowed.decision = filter::Decision::allowed;
  EXPECT_FALSE(feed_.wants(allowed.decision, rules_));
  feed_.note(allowed, rules_);
  constexpr std::size_t kRequests = 3000;
  const auto begun = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < kRequests; ++i) tell("h.test");
  std::unique_lock lock(guard_);
  ASSERT_TRUE(has_shown_.wait_for(lock, kBound, [&] { return shown_.rows.size() + shown_.skipped >= kRequests; }));
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(std::chrono::steady_clock::now() - begun).count();
  EXPECT_EQ(shown_.rows.size() + shown_.skipped, kRequests);
  EXPECT_GE(shown_.rows.size(), 20U) << "a second's allowance";
  EXPECT_LE(shown_.rows.size(), 20U * static_cast<std::size_t>(seconds + 1));
  EXPECT_EQ(shown_.rows.front().host, "h.test");
  EXPECT_EQ(shown_.rows.front().client, "127.0.0.0");
  lock.unlock();
  log_.watch(Watch::nobody);
  EXPECT_EQ(urls(), Urls{});
}

TEST_F(QueryLogTest, CountsTheNamesOfWhatIsBlocked) {
  tell("h.test");
  tell("h.test");
  tell("other.test");
  const BlockedTops tops = feed_.take_sums().tops;
  EXPECT_EQ(tops.hosts.rows(), (std::vector<TopNames::Row>{{"h.test", 2, 0}, {"other.test", 1, 0}}));
  EXPECT_EQ(tops.filters.rows(), (std::vector<TopNames::Row>{{"ads", 3, 0}}));
  EXPECT_EQ(tops.clients.rows(), (std::vector<TopNames::Row>{{"127.0.0.2", 3, 0}}));
  EXPECT_TRUE(tops.groups.empty());
  EXPECT_TRUE(feed_.take_sums().tops.empty());
}

TEST_F(QueryLogTest, CountsNoNamesThatAreNotToBeKept) {
  conf::Config settings = everything(folder_.path());
  settings.query_log.exclude = {"bank.example"};
  settings.groups.resize(2);
  settings.groups[0].name = "staff";
  settings.groups[0].log = conf::Group::Log::counted;
  settings.groups[1].name = "pupils";
  settings.groups[1].log = conf::Group::Log::blocked;
  use(settings);
  for (const char* const group : {"staff", "pupils"}) {
    const std::string url = "http://h.test/a";
    AccessRecord record = test::blocked_record("h.test", url);
    record.group = record.client = group;
    feed_.note(record, rules_);
  }
  tell("www.bank.example");
  const BlockedTops tops = feed_.take_sums().tops;
  EXPECT_EQ(tops.hosts.rows(), (std::vector<TopNames::Row>{{"h.test", 2, 0}}));
  EXPECT_EQ(tops.filters.rows(), (std::vector<TopNames::Row>{{"ads", 3, 0}}));
  EXPECT_EQ(tops.groups.rows().size(), 2U);
  EXPECT_EQ(tops.clients.rows(), (std::vector<TopNames::Row>{{"pupils", 1, 0}}));
}

TEST_F(QueryLogTest, SeesClientsButThoseWhoAreNotToBeNamed) {
  conf::Config settings = everything(folder_.path());
  settings.query_log.record = conf::QueryLog::Record::off;
  settings.query_log.exclude = {"bank.example"};
  settings.groups.resize(2);
  settings.groups[0].name = "staff";
  settings.groups[0].log = conf::Group::Log::counted;
  settings.groups[1].name = "pupils";
  settings.groups[1].log = conf::Group::Log::blocked;
  use(settings);
  const auto see = [this](std::string_view client, std::string_view host, std::string_view group,
                          filter::Decision decision) {
    AccessRecord record;
    record.client = client;
    record.host = host;
    record.group = group;
    record.decision = decision;
    feed_.see(record, rules_);
  };
  see("10.0.0.1", "h.test", "", filter::Decision::allowed);
  see("10.0.0.1", "h.test", "", filter::Decision::blocked);
  see("10.0.0.2", "www.bank.example", "", filter::Decision::allowed);
  see("10.0.0.3", "h.test", "staff", filter::Decision::blocked);
  see("10.0.0.4", "h.test", "pupils", filter::Decision::allowed);
  see("10.0.0.5", "h.test", "pupils", filter::Decision::blocked);
  std::vector<std::string> clients;
  for (const ClientsSeen::Row& row : feed_.take_sums().clients.rows()) {
    clients.push_back(fmt::format("{} {} {}", row.client, row.requests, row.blocked));
  }
  EXPECT_THAT(clients, testing::UnorderedElementsAre("10.0.0.1 2 1", "10.0.0.5 1 1"));
  EXPECT_TRUE(feed_.take_sums().clients.empty());
}

TEST_F(QueryLogTest, TakesRowsOfManyThreads) {
  use(everything(folder_.path()));
  constexpr int kThreads = 4, kRows = 3000;
  std::vector<std::thread> workers;
  for (int i = 0; i < kThreads; ++i) {
    workers.emplace_back([this, i, &feed = log_.add_feed()] {
      const std::string host = fmt::format("h{}.test", i), url = "http://" + host + "/";
      for (int row = 0; row < kRows; ++row) feed.note(test::blocked_record(host, url), rules_);
    });
  }
  for (std::thread& worker : workers) worker.join();
  ASSERT_TRUE(log_.flush(kBound));
  const auto figures = log_.figures();
  EXPECT_EQ(figures.written + figures.dropped, std::uint64_t{kThreads} * kRows);
  EXPECT_EQ(figures.dropped, 0U);
}

// Files of one day that are filled without the thread.
class RequestSearchTest : public testing::Test {
 protected:
  void fill(const std::vector<RequestRow>& rows) {
    auto file = DayFile::open(folder_.path() / "2026-11-02.db");
    ASSERT_TRUE(file) << file.error().what;
    const auto done = (*file)->append(rows);
    ASSERT_TRUE(done) << done.error().what;
  }
  std::vector<std::string> hosts(const RequestQuery& query, const SearchLimits& limits = {}) {
    page_ = search_requests(folder_.path(), query, limits);
    std::vector<std::string> hosts;
    for (const RequestRow& row : page_.rows) hosts.push_back(row.host);
    return hosts;
  }
  using Hosts = std::vector<std::string>;

  test::TempDir folder_;
  RequestPage page_;
};

std::vector<RequestRow> mixed_rows() {
  std::vector<RequestRow> rows{test::blocked_row("a.example.test"), test::blocked_row("b.example.test"),
                               test::blocked_row("c.test"), test::blocked_row("a.example.test")};
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].at += static_cast<std::int64_t>(i) * 60'000;
  rows[1].client = "10.0.0.9";
  rows[1].filter = "malware";
  rows[1].user = "anna";
  rows[1].group = "pupils";
  rows[2].decision = RowDecision::allowed;
  rows[2].id = rows[2].filter = rows[2].expression = "";
  rows[2].url = "https://c.test:8443/deep/path?x=1";
  return rows;
}

TEST_F(RequestSearchTest, GivesRowsBackWhole) {
  const std::vector<RequestRow> rows = mixed_rows();
  fill(rows);
  EXPECT_EQ(hosts({}), (Hosts{"a.example.test", "c.test", "b.example.test", "a.example.test"}));
  for (std::size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(page_.rows[rows.size() - 1 - i], rows[i]) << i;
  EXPECT_EQ(page_.looked_to, start_of(day_of(test::kNoon)));
}

TEST_F(RequestSearchTest, FindsByWhatIsAskedFor) {
  fill(mixed_rows());
  const Hosts a_twice{"a.example.test", "a.example.test"};
  EXPECT_EQ(hosts({.host = "example"}), (Hosts{"a.example.test", "b.example.test", "a.example.test"}));
  EXPECT_EQ(hosts({.host = "a.ex"}), a_twice);
  EXPECT_EQ(hosts({.host = "nowhere"}), Hosts{});
  EXPECT_EQ(hosts({.path = "/deep/"}), Hosts{"c.test"});
  EXPECT_EQ(hosts({.path = "example"}), Hosts{}) << "of the host";
  EXPECT_EQ(hosts({.client = "10.0.0.9"}), Hosts{"b.example.test"});
  EXPECT_EQ(hosts({.client = "10.0.0"}), Hosts{});
  EXPECT_EQ(hosts({.user = "anna"}), Hosts{"b.example.test"});
  EXPECT_EQ(hosts({.group = "pupils"}), Hosts{"b.example.test"});
  EXPECT_EQ(hosts({.filter = "ads"}), a_twice);
  EXPECT_EQ(hosts({.id = "ID-b.example.test"}), Hosts{"b.example.test"});
  EXPECT_EQ(hosts({.id = "ID"}), Hosts{});
  EXPECT_EQ(hosts({.decision = RowDecision::allowed}), Hosts{"c.test"});
  EXPECT_EQ(hosts({.decision = RowDecision::monitored}), Hosts{});
  EXPECT_EQ(hosts({.since = test::kNoon + 60'000}), (Hosts{"a.example.test", "c.test", "b.example.test"}));
  EXPECT_EQ(hosts({.host = "example", .client = "127.0.0.2", .filter = "ads", .since = test::kNoon + 1}),
            Hosts{"a.example.test"});
  EXPECT_EQ(hosts({.since = test::kNoon + test::kDayLong}), Hosts{});
}

TEST_F(RequestSearchTest, PagesHaveEachRowOnceByAnyWay) {
  std::vector<RequestRow> rows;
  for (int i = 0; i < 1000; ++i) {  // more hosts of one part than are merged
    rows.push_back(test::blocked_row(fmt::format("h{}.{}.test", i, i % 3 == 0 ? "few" : "many")));
    rows.back().url += fmt::format("/{}", i);
  }
  fill(rows);
  for (const RequestQuery& asked : {RequestQuery{}, RequestQuery{.host = ".many."}, RequestQuery{.host = "h1"},
                                    RequestQuery{.filter = "ads"}, RequestQuery{.client = "127.0.0.2"}}) {
    std::vector<std::string> wanted, got;
    for (const RequestRow& row : rows) {
      if (row.host.find(asked.host) != std::string::npos) wanted.push_back(row.url);
    }
    std::ranges::reverse(wanted);
    RequestQuery query = asked;
    do {
      const RequestPage page = search_requests(folder_.path(), query, {.rows = 7});
      for (const RequestRow& row : page.rows) got.push_back(row.url);
      query.cursor = page.next;
    } while (query.cursor);
    EXPECT_EQ(got, wanted) << asked.host << asked.filter << asked.client;
  }
}

// A tunnel from before the clock was set ends with the time of a clock that is gone.
TEST_F(RequestSearchTest, FindsWhatIsBelowRowsOfAnotherClock) {
  std::vector<RequestRow> rows(300, test::blocked_row("old.test", test::kNoon - 8 * 3'600'000));
  rows.insert(rows.begin(), 3, test::blocked_row("new.test"));
  rows.push_back(test::blocked_row("new.test"));
  fill(rows);
  EXPECT_EQ(hosts({.since = test::kNoon - 900'000}), Hosts(4, "new.test"));
  EXPECT_EQ(hosts({.filter = "ads", .since = test::kNoon - 900'000}), Hosts(4, "new.test"));
}

TEST_F(RequestSearchTest, EndsWhereAllIsOlder) {
  fill(std::vector<RequestRow>(20'000, test::blocked_row("old.test", test::kNoon - 60'000)));
  unsigned looks = 0;
  const auto look = [&looks] { return ++looks == 0; };
  EXPECT_EQ(hosts({.since = test::kNoon}, {.stop = look}), Hosts{});
  EXPECT_FALSE(page_.next);
  EXPECT_LT(looks, 10U);
}

TEST_F(RequestSearchTest, EndsInTimeAndSaysHowFarItLooked) {
  std::vector<RequestRow> rows(20'000, test::blocked_row("h.test"));
  fill(rows);
  bool is_stopped = false;
  const auto stop = [&is_stopped] { return std::exchange(is_stopped, true); };  // at the second look
  EXPECT_EQ(hosts({.path = "/nowhere"}, {.time = 1h, .stop = stop}), Hosts{});
  ASSERT_TRUE(page_.next);
  EXPECT_EQ(page_.next->row, 20'000 - 2 * 256 + 1);
  EXPECT_EQ(page_.looked_to, test::kNoon);
  EXPECT_EQ(hosts({.path = "/nowhere", .cursor = page_.next}), Hosts{});
  EXPECT_FALSE(page_.next);
}

TEST_F(RequestSearchTest, NamesFilesThatItCannotRead) {
  folder_.write("2026-11-01.db", std::string(4096, 'x'));
  fill({test::blocked_row("h.test")});
  EXPECT_EQ(hosts({}), Hosts{"h.test"});
  EXPECT_EQ(page_.unreadable, std::vector<std::string>{"2026-11-01.db"});
  EXPECT_EQ(search_requests(folder_.path() / "nowhere", {}, {}).rows.size(), 0U);
}

TEST(SearchCursor, IsReadBackAndNothingElseIs) {
  const SearchCursor cursor{day_of(test::kNoon), 123};
  EXPECT_EQ(cursor_text(cursor), "2026-11-02.123");
  EXPECT_EQ(parse_cursor("2026-11-02.123"), cursor);
  for (const char* const bad :
       {"", "123", "2026-11-02", "2026-11-02.", "2026-11-02.-1", "2026-11-02.1234567890123456789", "2026-11-31.1",
        "2026-11-02 1", "2026-11-02.1x", "../2026-11-02.1"}) {
    EXPECT_FALSE(parse_cursor(bad)) << bad;
  }
}

}  // namespace
}  // namespace bloomwall::proxy
