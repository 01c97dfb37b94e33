// Reports in the state: one transaction with what is decided on them, over restarts, builds and the file of an older
// program.
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "proxy/state/json_members.h"
#include "proxy/state/state_store.h"
#include "tests/proxy/state/killed_child.h"
#include "tests/support/seed.h"
#include "tests/support/temp_dir.h"

namespace bloomwall::proxy {
namespace {

using filter::Override;
using test::bytes_of;
using test::TempDir;
using testing::ElementsAre;
using testing::HasSubstr;

const Author kClient{.who = "client 192.0.2.7", .via = "form"}, kReviewer{.who = "token anna", .via = "api"};

ReportItem report_of(const std::string& url, const std::string& group = "") {
  ReportItem report;
  report.url = url;
  report.host = "shop.test";
  report.filter = "ads";
  report.reason = "listed";
  report.expression = "S shop.test";
  report.group = group;
  report.client = "192.0.2.7";
  report.comment = "it is a shop";
  report.first = report.last = 1'700'000'000;
  return report;
}

ExceptionItem opening_of(const ReportItem& report, bool until_build = true) {
  ExceptionItem item;
  item.exception.entry = report.host;
  item.exception.filters = {"ads"};
  item.until_build = until_build;
  item.seen = {{"ads", "1"}};
  item.created = 1'700'000'000;
  item.why = "a report";
  return item;
}

class ReportsOfState : public testing::Test {
 protected:
  StateStore open() const {
    auto store = StateStore::open(folder_.path());
    if (!store) throw std::runtime_error(store.error());
    return *std::move(store);
  }
  static std::vector<std::string> audit_of(StateStore& store) {
    std::vector<std::string> out;
    const std::vector<AuditRow> rows = store.audit(0, ~std::uint64_t{0}).value();
    for (const AuditRow& row : rows) {
      out.insert(out.begin(), row.what + " " + row.subject + " of report " + std::to_string(row.report));
    }
    return out;
  }
  TempDir folder_;
};

TEST_F(ReportsOfState, AreThereAgainAsTheyWere) {
  std::string wanted;
  {
    StateStore store = open();
    ReportItem report = report_of("http://shop.test/a");
    report.user = "anna";
    report.name = "Änna <b>";
    report.decision = "7K3MAAAABBBBCCCC";
    const auto kept = store.add_report(report, kClient);
    ASSERT_TRUE(kept.has_value()) << kept.error().what;
    EXPECT_EQ(kept->id, 1U);
    wanted = json_line(to_json(*kept));
  }
  StateStore store = open();
  ASSERT_EQ(store.state()->reports->size(), 1U);
  EXPECT_EQ(json_line(to_json(store.state()->reports->front())), wanted);
  EXPECT_EQ(store.add_report(report_of("http://shop.test/b"), kClient)->id, 2U);
}

TEST_F(ReportsOfState, OfTheSameAreOneWhileItIsOpen) {
  StateStore store = open();
  ASSERT_TRUE(store.add_report(report_of("http://shop.test/a"), kClient).has_value());
  ReportItem again = report_of("http://shop.test/a");
  again.client = "192.0.2.8";
  again.comment = {};
  again.last = 1'700'000'100;
  const auto merged = store.add_report(again, kClient);
  EXPECT_EQ(merged->id, 1U);
  EXPECT_EQ(merged->count, 2U);
  EXPECT_EQ(merged->client, "192.0.2.7") << "it is opened for whom a reviewer has been shown";
  EXPECT_EQ(merged->comment, "it is a shop");
  EXPECT_EQ(merged->last - merged->first, 100);
  ReportItem other_filter = report_of("http://shop.test/a");
  other_filter.filter = "malware";
  EXPECT_EQ(store.add_report(other_filter, kClient)->id, 2U);
  EXPECT_EQ(store.add_report(report_of("http://shop.test/a", "pupils"), kClient)->id, 3U) << "of another group";
  ASSERT_TRUE(store.reject_report(1, "no", kReviewer).has_value());
  EXPECT_EQ(store.add_report(report_of("http://shop.test/a"), kClient)->id, 4U) << "the first is decided on";
  EXPECT_THAT(audit_of(store),
              ElementsAre("report.made 1 of report 1", "report.again 1 of report 1", "report.made 2 of report 2",
                          "report.made 3 of report 3", "report.rejected 1 of report 1", "report.made 4 of report 4"));
}

TEST_F(ReportsOfState, KeepTheWordsOfEachReporter) {
  StateStore store = open();
  ASSERT_TRUE(store.add_report(report_of("http://shop.test/a"), kClient).has_value());
  ReportItem other = report_of("http://shop.test/a");
  other.client = "192.0.2.8";
  other.comment = "my teacher is strict";
  EXPECT_EQ(store.add_report(other, kClient)->asker, 1U);
  other.comment = "still";
  const auto again = store.add_report(other, kClient);
  EXPECT_EQ(again->asker, 1U);
  EXPECT_EQ(again->count, 3U);
  EXPECT_EQ(again->comment, "it is a shop") << "of the client that is shown with it";
  ASSERT_EQ(again->reporters.size(), 2U);
  EXPECT_EQ(again->reporters[1].client, "192.0.2.8");
  EXPECT_EQ(again->reporters[1].comment, "still");
  EXPECT_EQ(again->reporters[1].count, 2U);
  for (std::size_t i = 0; i < 2 * ReportItem::kMostReporters; ++i) {
    other.client = "192.0.2." + std::to_string(100 + i);
    ASSERT_TRUE(store.add_report(other, kClient).has_value());
  }
  const ReportItem& kept = store.state()->reports->front();
  EXPECT_EQ(kept.reporters.size(), ReportItem::kMostReporters);
  EXPECT_EQ(kept.count, 3 + 2 * ReportItem::kMostReporters);
  EXPECT_EQ(json_line(to_json(*report_from(to_json(kept)))), json_line(to_json(kept)));
}

// One whose page stays blocked is not told that it was opened, and is not forgotten.
TEST_F(ReportsOfState, AreSplitWhereAnExceptionIsForSomeReportersAlone) {
  StateStore store = open();
  ASSERT_TRUE(store.add_report(report_of("http://shop.test/a"), kClient).has_value());
  ReportItem other = report_of("http://shop.test/a");
  other.client = "192.0.2.8";
  other.comment = "mine";
  ASSERT_TRUE(store.add_report(other, kClient).has_value());
  ExceptionItem opening = opening_of(store.state()->reports->front());
  ASSERT_TRUE(set_client(opening.exception, "192.0.2.7"));
  const auto accepted = store.accept_report(1, opening, "opened", kReviewer);
  ASSERT_TRUE(accepted.has_value()) << accepted.error().what;
  EXPECT_EQ(accepted->report.count, 1U);
  EXPECT_EQ(accepted->report.moved, 2U);
  ASSERT_EQ(store.state()->reports->size(), 2U);
  const ReportItem& rest = store.state()->reports->back();
  EXPECT_EQ(rest.state, ReportItem::State::open);
  EXPECT_EQ(rest.client, "192.0.2.8");
  EXPECT_EQ(rest.comment, "mine");
  EXPECT_EQ(rest.count, 1U);
  EXPECT_EQ(store.add_report(other, kClient)->id, 2U);
  EXPECT_EQ(store.add_report(report_of("http://other.test/"), kClient)->id, 3U);
  StateStore again = open();
  EXPECT_EQ(again.state()->reports->size(), 3U);
}

TEST_F(ReportsOfState, AreAcceptedWithTheirExceptionInOneTransaction) {
  {
    StateStore store = open();
    ASSERT_TRUE(store.add_report(report_of("http://shop.test/a"), kClient).has_value());
    const auto accepted = store.accept_report(1, opening_of(store.state()->reports->front()), "opened", kReviewer);
    ASSERT_TRUE(accepted.has_value()) << accepted.error().what;
    EXPECT_EQ(accepted->exception.report, 1U);
    EXPECT_EQ(accepted->report.exception, accepted->exception.exception.id);
    const auto again = store.accept_report(1, opening_of(accepted->report), "", kReviewer);
    EXPECT_EQ(again.error().kind, StateError::Kind::conflict);
    EXPECT_EQ(store.reject_report(1, "", kReviewer).error().kind, StateError::Kind::conflict);
    EXPECT_EQ(store.reject_report(7, "", kReviewer).error().kind, StateError::Kind::missing);
  }
  StateStore store = open();
  ASSERT_EQ(store.state()->exceptions.size(), 1U);
  const ReportItem& report = store.state()->reports->front();
  EXPECT_EQ(report.state, ReportItem::State::accepted);
  EXPECT_EQ(report.words, "opened");
  EXPECT_EQ(report.reviewer, "token anna");
  EXPECT_EQ(store.state()->exceptions.front().report, 1U);
  EXPECT_THAT(audit_of(store), ElementsAre("report.made 1 of report 1", "exception.made 1 of report 1",
                                           "report.accepted 1 of report 1"));
}

TEST_F(ReportsOfState, AreCuredByTheBuildThatCuresTheirException) {
  StateStore store = open();
  ASSERT_TRUE(store.add_report(report_of("http://shop.test/a"), kClient).has_value());
  ASSERT_TRUE(store.accept_report(1, opening_of(store.state()->reports->front()), "", kReviewer).has_value());
  for (int build = 2; build < 5; ++build) {
    const StateStore::BuildFinding listed{
        .id = 1, .is_listed = true, .is_new_build = true, .seen = {{"ads", std::to_string(build)}}};
    ASSERT_EQ(store.note_builds({listed}).value(), 0U);
  }
  EXPECT_EQ(store.state()->exceptions.front().builds, ExceptionItem::kInsists);
  EXPECT_EQ(store.state()->reports->front().state, ReportItem::State::accepted);
  ASSERT_EQ(store.note_builds({{.id = 1, .is_listed = false, .seen = {}}}).value(), 1U);
  EXPECT_EQ(store.state()->reports->front().state, ReportItem::State::cured);
  EXPECT_EQ(open().state()->reports->front().state, ReportItem::State::cured);
  const auto rows = audit_of(store);
  ASSERT_EQ(rows.size(), 5U);
  EXPECT_EQ(rows[3], "report.cured 1 of report 1");
  EXPECT_EQ(rows[4], "exception.cured 1 of report 1");
}

TEST_F(ReportsOfState, ThatAreOpenByOneExceptionAreCuredTogether) {
  StateStore store = open();
  for (const char* const url : {"http://shop.test/a", "http://shop.test/b", "http://shop.test/c"}) {
    ASSERT_TRUE(store.add_report(report_of(url), kClient).has_value());
  }
  const ExceptionItem opening = opening_of(store.state()->reports->front());
  ASSERT_TRUE(store.accept_report(1, opening, "", kReviewer).has_value());
  ASSERT_TRUE(store.accept_report(2, opening, "", kReviewer).has_value());
  ExceptionItem by_hand = opening;  // for the same, and with another end
  by_hand.until_build = false;
  by_hand.exception.until = 4'000'000'000;
  ASSERT_EQ(store.add_exception(by_hand, kReviewer)->exception.id, 3U);
  const auto reports = [&] { return *open().state()->reports; };
  for (std::size_t i : {0U, 1U}) {
    EXPECT_EQ(reports()[i].exception, 3U) << i;
    EXPECT_EQ(reports()[i].until, 4'000'000'000) << i;
    EXPECT_FALSE(reports()[i].until_build) << i;
  }
  ASSERT_EQ(store.accept_report(3, opening, "", kReviewer)->exception.exception.id, 4U);
  ASSERT_EQ(store.note_builds({{.id = 4, .is_listed = false, .seen = {}}}).value(), 1U);
  for (const ReportItem& report : reports()) EXPECT_EQ(report.state, ReportItem::State::cured) << report.id;
}

TEST_F(ReportsOfState, OfALostFileAreNotCuredByExceptionsOfTheExport) {
  {
    StateStore store = open();
    ASSERT_TRUE(store.add_report(report_of("http://shop.test/a"), kClient).has_value());
    ASSERT_TRUE(store.accept_report(1, opening_of(store.state()->reports->front()), "", kReviewer).has_value());
  }
  for (const char* const end : {"", "-wal", "-shm"}) {
    std::filesystem::remove((folder_.path() / "state.db").string() + end);
  }
  StateStore store = open();
  ASSERT_EQ(store.state()->exceptions.front().report, 1U);
  ASSERT_EQ(store.add_report(report_of("http://other.test/"), kClient)->id, 1U);
  ASSERT_EQ(store.note_builds({{.id = 1, .is_listed = false, .seen = {}}}).value(), 1U);
  EXPECT_EQ(store.state()->reports->front().state, ReportItem::State::open);
}

TEST_F(ReportsOfState, AreNotMoreThanTheMostAndGoWhenTheyAreOld) {
  StateStore store = open();
  for (std::size_t i = 0; i < ReportItem::kMostOpen; ++i) {
    ASSERT_TRUE(store.add_report(report_of("http://shop.test/" + std::to_string(i)), kClient).has_value());
  }
  const auto refused = store.add_report(report_of("http://shop.test/one-more"), kClient);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().kind, StateError::Kind::conflict);
  EXPECT_TRUE(store.add_report(report_of("http://shop.test/7"), kClient).has_value()) << "it is there already";
  const auto rejected = store.reject_report(1, "", kReviewer);
  EXPECT_TRUE(store.add_report(report_of("http://shop.test/one-more"), kClient).has_value());
  const std::int64_t end = rejected->decided + ReportItem::kKept;
  EXPECT_EQ(store.sweep(end - 1).value(), 0U);
  EXPECT_EQ(store.state()->reports->size(), ReportItem::kMostOpen + 1);
  EXPECT_EQ(store.sweep(end).value(), 0U) << "no exception has ended";
  EXPECT_EQ(store.state()->reports->size(), ReportItem::kMostOpen);
  EXPECT_EQ(open().state()->reports->front().id, 2U);
}

// A build may come much later, and what is listed is known by the report where that is a network.
TEST_F(ReportsOfState, ThoseThatWaitForABuildAreKept) {
  StateStore store = open();
  ASSERT_TRUE(store.add_report(report_of("http://shop.test/a"), kClient).has_value());
  const auto accepted = store.accept_report(1, opening_of(store.state()->reports->front()), "", kReviewer);
  ASSERT_TRUE(accepted.has_value());
  const std::int64_t end = accepted->report.decided + ReportItem::kKept;
  ASSERT_TRUE(store.sweep(end).has_value());
  ASSERT_EQ(store.state()->reports->size(), 1U);
  ASSERT_EQ(store.note_builds({{.id = 1, .is_listed = false, .seen = {}}}).value(), 1U);
  ASSERT_TRUE(store.sweep(end).has_value());
  EXPECT_EQ(store.state()->reports->size(), 0U);
}

TEST(ReportItems, SayWhichNetworkIsListed) {
  ReportItem report;
  for (const char* const none : {"", "S shop.test", "X 192.0.2.1", "N ", "N shop.test", "192.0.2.0/24"}) {
    report.expression = none;
    EXPECT_FALSE(network_of(report)) << none;
  }
  for (const char* const network : {"192.0.2.0/24", "192.0.2.7/32", "[2001:db8::]/32", "192.0.2.1-192.0.2.9"}) {
    report.expression = std::string("N ") + network;
    ASSERT_TRUE(network_of(report)) << network;
    EXPECT_EQ(filter::text_of(*network_of(report)), network);
  }
}

TEST_F(ReportsOfState, AFileOfAnOlderProgramGetsThemWithItsFirstChange) {
  {
    StateStore store = open();
    ASSERT_TRUE(store.add_exception(opening_of(report_of("http://a.test/")), kReviewer).has_value());
  }
  {
    auto database = Database::open(folder_.path() / "state.db");
    for (const char* const sql : {"DROP TABLE reports", "DROP TABLE secrets", "PRAGMA user_version=1"}) {
      ASSERT_TRUE(database->run(sql).has_value()) << sql;
    }
  }
  const std::string before = bytes_of(folder_.path() / "state.db");
  {
    StateStore store = open();
    ASSERT_TRUE(store.fault().empty()) << store.fault();
    EXPECT_EQ(store.state()->exceptions.size(), 1U);
    EXPECT_TRUE(store.state()->reports->empty());
  }
  EXPECT_EQ(bytes_of(folder_.path() / "state.db"), before) << "reading changes nothing";
  ASSERT_TRUE(open().add_report(report_of("http://shop.test/a"), kClient).has_value());
  StateStore store = open();
  EXPECT_EQ(store.state()->reports->size(), 1U);
  EXPECT_EQ(store.state()->exceptions.size(), 1U);
}

TEST_F(ReportsOfState, OneThatCouldNotBeReadAgainIsRefused) {
  StateStore store = open();
  ReportItem report = report_of("http://shop.test/a");
  report.user = std::string(255, '\xff');  // each octet is kept as three
  const auto refused = store.add_report(report, kClient);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().kind, StateError::Kind::failed);
  EXPECT_TRUE(store.state()->reports->empty());
  EXPECT_TRUE(open().fault().empty());
}

TEST_F(ReportsOfState, AChangedOneIsNotTakenForAnother) {
  ASSERT_TRUE(open().add_report(report_of("http://shop.test/a"), kClient).has_value());
  std::ofstream(folder_.path() / "exceptions.json") << R"({"next_id":1,"items":[]})";
  auto database = Database::open(folder_.path() / "state.db");
  ASSERT_TRUE(database->run("UPDATE reports SET item = replace(item, 'shop', 'evil')").has_value());
  EXPECT_THAT(open().fault(), HasSubstr("report 1: it is not what was written"));
}

TEST_F(ReportsOfState, TheSecretIsTheSameAfterARestart) {
  const auto secret = open().report_secret();
  ASSERT_TRUE(secret.has_value()) << secret.error().what;
  EXPECT_NE(*secret, StateStore::Secret{});
  EXPECT_EQ(open().report_secret().value(), *secret);
  std::ofstream(folder_.path() / "exceptions.json") << R"({"next_id":1,"items":[]})";
  std::ofstream(folder_.path() / "state.db", std::ios::trunc) << "no database at all, and long enough to be one";
  for (const char* const end : {"-wal", "-shm"}) {
    std::filesystem::remove((folder_.path() / "state.db").string() + end);
  }
  EXPECT_FALSE(open().report_secret().has_value());
}

TEST_F(ReportsOfState, KnownGoodHasEachEntryOnce) {
  const StateStore store = open();
  std::ofstream(folder_.path() / "known-good.txt") << "hand.test";
  for (const char* const entry : {"http://shop.test/a", "b.test", "http://shop.test/a"}) {
    ASSERT_TRUE(store.add_known_good(entry).has_value());
  }
  EXPECT_EQ(bytes_of(folder_.path() / "known-good.txt"), "hand.test\nhttp://shop.test/a\nb.test\n");
}

// A child accepts reports and says each once it was confirmed; it is killed at any moment.
TEST_F(ReportsOfState, AKillLeavesNoReportWithoutItsExceptionNorTheOtherWayRound) {
  const std::uint32_t seed = bloomwall::test::test_seed();
  std::mt19937 random(seed);
  for (int round = 0; round < 15; ++round) {
    const std::uint64_t confirmed = last_said_before_kill(1 + random() % 6, [&](const auto& say) {
      auto store = StateStore::open(folder_.path());
      for (int i = 0;; ++i) {
        ReportItem report = report_of("http://shop.test/" + std::to_string(::getpid()) + "/" + std::to_string(i));
        report.host = "h" + std::to_string(i) + "-" + std::to_string(::getpid()) + ".test";
        const auto made = store->add_report(report, kClient);
        if (!made || !store->accept_report(made->id, opening_of(*made), "", kReviewer)) return;
        say(made->id);
      }
    });
    StateStore store = open();
    ASSERT_TRUE(store.fault().empty()) << store.fault();
    const ReportItem* const last = find_report(*store.state()->reports, confirmed);
    ASSERT_NE(last, nullptr) << "seed " << seed;
    EXPECT_EQ(last->state, ReportItem::State::accepted) << "seed " << seed;
    std::size_t accepted = 0;
    for (const ReportItem& report : *store.state()->reports) {
      if (report.state != ReportItem::State::accepted) continue;
      ++accepted;
      const ExceptionItem* const exception = store.state()->find(report.exception);
      ASSERT_NE(exception, nullptr) << "seed " << seed << ", report " << report.id;
      EXPECT_EQ(exception->report, report.id);
    }
    EXPECT_EQ(accepted, store.state()->exceptions.size()) << "seed " << seed;
  }
}

TEST(ReportItems, AreForTheEntryThatTheFilterLists) {
  ReportItem report = report_of("http://www.shop.test/a/b?c");
  report.host = "www.shop.test";
  EXPECT_EQ(entry_of(report), "www.shop.test") << "not all of shop.test";
  report.expression = "D shop.test/a/";
  EXPECT_EQ(entry_of(report), "http://shop.test/a/");
  report.expression = "U shop.test/a*?*";
  EXPECT_EQ(entry_of(report), "http://shop.test/a%2A?*") << "as an allow list takes it";
  report.expression = "N 192.0.2.0/24";
  EXPECT_EQ(entry_of(report), "www.shop.test");
  report.expression = {};
  EXPECT_EQ(entry_of(report), "www.shop.test");
}

TEST(ReportItems, AreReadOnlyWithinTheirBounds) {
  const ReportItem good = report_of("http://shop.test/a");
  nlohmann::ordered_json json = to_json(good);
  EXPECT_TRUE(report_from(json).has_value());
  const std::vector<std::pair<const char*, nlohmann::ordered_json>> bad{{"url", nullptr},
                                                                        {"url", std::string(2001, 'a')},
                                                                        {"filter", std::string(65, 'a')},
                                                                        {"state", "lost"},
                                                                        {"count", 0},
                                                                        {"count", -1},
                                                                        {"first", "now"},
                                                                        {"until", 5},
                                                                        {"id", "seven"},
                                                                        {"comment", std::string(2001, 'a')}};
  for (const auto& [name, value] : bad) {
    nlohmann::ordered_json changed = json;
    changed[name] = value;
    EXPECT_FALSE(report_from(changed).has_value()) << name;
  }
}

}  // namespace
}  // namespace bloomwall::proxy
