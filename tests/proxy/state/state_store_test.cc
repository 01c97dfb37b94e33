// The state over restarts, kills, losses and damage: what was confirmed is there, and what cannot be read is said.
// SPDX-License-Identifier: Apache-2.0
#include "proxy/state/state_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>

#include "proxy/state/state_thread.h"
#include "tests/proxy/state/killed_child.h"
#include "tests/support/seed.h"
#include "tests/support/temp_dir.h"

namespace bloomwall::proxy {
namespace {

using filter::Override;
using test::bytes_of;
using test::TempDir;
using testing::HasSubstr;

const Author kAnna{.who = "anna", .via = "socket"};
constexpr std::int64_t kLater = 4'000'000'000;

ExceptionItem allow_of(const std::string& host, std::int64_t until = kLater) {
  ExceptionItem item;
  item.exception.action = Override::Action::allow;
  item.exception.entry = host;
  item.exception.until = until;
  item.created = 1'700'000'000;
  item.why = "a test";
  return item;
}

std::vector<std::string> entries_of(const StateStore& store) {
  std::vector<std::string> out;
  for (const ExceptionItem& item : store.state()->exceptions) out.push_back(item.exception.entry);
  return out;
}

std::vector<std::string> audit_of(StateStore& store) {
  std::vector<std::string> out;
  const std::vector<AuditRow> rows = store.audit(0, ~std::uint64_t{0}).value();
  for (const AuditRow& row : rows) {
    out.insert(out.begin(), row.what + " " + row.subject + " by " + row.author.who);
  }
  return out;
}

class StateFile : public testing::Test {
 protected:
  StateStore open() const {
    auto store = StateStore::open(folder_.path());
    if (!store) throw std::runtime_error(store.error());
    return *std::move(store);
  }
  std::filesystem::path file() const { return folder_.path() / "state.db"; }
  void lose_file() const {
    for (const char* const end : {"", "-wal", "-shm"}) std::filesystem::remove(file().string() + end);
  }

  TempDir folder_;
};

TEST_F(StateFile, NothingIsMadeBeforeTheFirstChange) {
  const StateStore store = open();
  EXPECT_TRUE(store.is_kept());
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

TEST_F(StateFile, WhatWasConfirmedIsThereAgain) {
  {
    StateStore store = open();
    const auto first = store.add_exception(allow_of("a.test"), kAnna);
    ASSERT_TRUE(first.has_value()) << first.error().what;
    EXPECT_EQ(first->exception.id, 1U);
    ASSERT_TRUE(store.add_exception(allow_of("b.test"), kAnna).has_value());
    ASSERT_TRUE(store.remove_exception(1, kAnna, "done").has_value());
    ASSERT_TRUE(store.add_token({.name = "ci", .created = 1, .digest = digest_of("x")}, kAnna).has_value());
  }
  StateStore store = open();
  EXPECT_EQ(entries_of(store), std::vector<std::string>{"b.test"});
  EXPECT_EQ(store.state()->exceptions.front().who, "anna");
  ASSERT_NE(store.state()->tokens->find(digest_of("x")), nullptr);
  EXPECT_EQ(store.add_exception(allow_of("c.test"), kAnna)->exception.id, 3U);
  EXPECT_THAT(audit_of(store),
              testing::ElementsAre("exception.made 1 by anna", "exception.made 2 by anna",
                                   "exception.removed 1 by anna", "token.made ci by anna", "exception.made 3 by anna"));
  EXPECT_EQ(std::filesystem::status(file()).permissions() & std::filesystem::perms::others_all,
            std::filesystem::perms::none);
}

TEST_F(StateFile, AnIdIsNotGivenTwice) {
  {
    StateStore store = open();
    ASSERT_TRUE(store.add_exception(allow_of("a.test"), kAnna).has_value());
    ASSERT_TRUE(store.remove_exception(1, kAnna, "").has_value());
  }
  EXPECT_EQ(open().add_exception(allow_of("a.test"), kAnna)->exception.id, 2U);
  lose_file();
  EXPECT_EQ(open().add_exception(allow_of("b.test"), kAnna)->exception.id, 3U) << "after exceptions.json, too";
}

TEST_F(StateFile, ANewOneTakesThePlaceOfOneThatSaysTheSame) {
  StateStore store = open();
  ASSERT_TRUE(store.add_exception(allow_of("a.test"), kAnna).has_value());
  ASSERT_TRUE(store.add_exception(allow_of("a.test", kLater + 1), kAnna).has_value());
  ExceptionItem for_group = allow_of("a.test");
  for_group.exception.group = "pupils";
  ASSERT_TRUE(store.add_exception(for_group, kAnna).has_value());
  ASSERT_EQ(store.state()->exceptions.size(), 2U) << "for a group it is another one";
  EXPECT_EQ(store.state()->exceptions.front().exception.id, 2U);
  EXPECT_EQ(entries_of(open()).size(), 2U);
}

TEST_F(StateFile, WhatHasEndedIsSweptAndAudited) {
  StateStore store = open();
  ASSERT_TRUE(store.add_exception(allow_of("a.test", 1'800'000'000), kAnna).has_value());
  ASSERT_TRUE(store.add_exception(allow_of("b.test"), kAnna).has_value());
  EXPECT_EQ(store.sweep(1'799'999'999).value(), 0U);
  EXPECT_EQ(store.sweep(1'800'000'000).value(), 1U);
  EXPECT_EQ(entries_of(store), std::vector<std::string>{"b.test"});
  EXPECT_EQ(audit_of(store).back(), "exception.ended 1 by bloomwall");
  EXPECT_EQ(entries_of(open()), std::vector<std::string>{"b.test"});
}

SwitchItem switch_of(const std::string& text, Instant until) {
  SwitchItem item{.made = read_switch(text).value(), .created = 1'700'000'000, .why = "exam"};
  item.made.group = "pupils";
  item.made.until = until;
  return item;
}

TEST_F(StateFile, OneSwitchOfAGroupAndKeyCounts) {
  {
    StateStore store = open();
    EXPECT_EQ(store.state()->switches_in_force(), nullptr);
    ASSERT_TRUE(store.set_switch(switch_of("otherwise=deny", 1'800'000'000), kAnna).has_value());
    ASSERT_TRUE(store.set_switch(switch_of("otherwise=allow", kLater), kAnna).has_value());
    ASSERT_TRUE(store.set_switch(switch_of("filters.games=off", 1'800'000'000), kAnna).has_value());
    EXPECT_EQ(store.remove_switch("staff", "otherwise", kAnna).error().kind, StateError::Kind::missing);
  }
  StateStore store = open();
  ASSERT_EQ(store.state()->switches.size(), 2U);
  EXPECT_EQ(read_export(folder_.path())->switches.size(), 2U);
  EXPECT_EQ(store.sweep(1'800'000'000).value(), 1U);
  ASSERT_EQ(store.state()->switches_in_force()->size(), 1U);
  EXPECT_EQ(store.state()->switches_in_force()->front().text(), "otherwise=allow");
  ASSERT_TRUE(store.remove_switch("pupils", "otherwise", kAnna).has_value());
  EXPECT_TRUE(open().state()->switches.empty());
  EXPECT_THAT(
      audit_of(store),
      testing::ElementsAre("switch.set pupils otherwise by anna", "switch.set pupils otherwise by anna",
                           "switch.set pupils filters.games by anna", "switch.ended pupils filters.games by bloomwall",
                           "switch.removed pupils otherwise by anna"));
}

TEST_F(StateFile, ExportsSayWhatIsInForce) {
  StateStore store = open();
  ASSERT_TRUE(store.add_exception(allow_of("a.test"), kAnna).has_value());
  ExceptionItem narrow = allow_of("b.test", Override::kForever);
  narrow.exception.filters = {"ads"};
  ASSERT_TRUE(store.add_exception(narrow, kAnna).has_value());
  ExceptionItem scoped = allow_of("c.test");
  ASSERT_TRUE(set_client(scoped.exception, "192.0.2.0/24"));
  ASSERT_TRUE(store.add_exception(scoped, kAnna).has_value());
  ExceptionItem deny = allow_of("d.test");
  deny.exception.action = Override::Action::deny;
  ASSERT_TRUE(store.add_exception(deny, kAnna).has_value());
  ExceptionItem lasting = allow_of("e.test", Override::kForever);
  lasting.why = "two\nlines";
  ASSERT_TRUE(store.add_exception(lasting, kAnna).has_value());
  EXPECT_EQ(bytes_of(folder_.path() / "exceptions.txt"),
            "a.test  # exception 1, until 2096-10-02T07:06:40Z: a test\n"
            "e.test  # exception 5, ever: two lines\n");
  const auto exported = read_export(folder_.path());
  ASSERT_TRUE(exported.has_value()) << exported.error();
  ASSERT_EQ(exported->exceptions.size(), 5U);
  EXPECT_EQ(exported->next_id, 6U);
  EXPECT_EQ(client_text(exported->exceptions[2].exception), "192.0.2.0/24");
}

// It would be given to two exceptions of state.db.
TEST_F(StateFile, AnExportWithAnIdTwiceIsRefused) {
  ASSERT_TRUE(open().add_exception(allow_of("a.test"), kAnna).has_value());
  ASSERT_TRUE(open().add_exception(allow_of("b.test"), kAnna).has_value());
  lose_file();
  const std::filesystem::path file = folder_.path() / "exceptions.json";
  std::string text = bytes_of(file);
  const auto exported = read_export(folder_.path());
  ASSERT_TRUE(exported.has_value()) << exported.error();
  text.replace(text.find("\"id\":2"), 6, "\"id\":1");
  std::ofstream(file, std::ios::binary) << text;
  const auto refused = StateStore::open(folder_.path());
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error(), HasSubstr("an id is there twice"));
}

// It would be unreadable as a whole.
TEST_F(StateFile, WhatCouldNotBeReadAgainIsNotKept) {
  StateStore store = open();
  ASSERT_TRUE(store.add_exception(allow_of("a.test"), kAnna).has_value());
  ExceptionItem no_host = allow_of("a b"), narrow_deny = allow_of("b.test"), long_group = allow_of("c.test");
  narrow_deny.exception.action = Override::Action::deny;
  narrow_deny.exception.filters = {"ads"};
  long_group.exception.group = std::string(65, 'g');
  for (const ExceptionItem& item : {no_host, narrow_deny, long_group}) {
    const auto refused = store.add_exception(item, kAnna);
    ASSERT_FALSE(refused.has_value()) << item.exception.entry;
    EXPECT_THAT(refused.error().what, HasSubstr("cannot be kept: "));
  }
  EXPECT_FALSE(store.add_token({.name = "a b", .created = 1, .digest = digest_of("x")}, kAnna).has_value());
  SwitchItem long_name = switch_of("pause", kLater);
  long_name.made.group = std::string(65, 'g');
  EXPECT_FALSE(store.set_switch(long_name, kAnna).has_value());
  EXPECT_EQ(entries_of(open()), std::vector<std::string>{"a.test"});
  EXPECT_EQ(store.add_exception(allow_of("d.test"), kAnna)->exception.id, 2U);
}

// A process is killed between state.db and its exports.
TEST_F(StateFile, ExportsThatAreBehindAreMadeAnew) {
  const std::filesystem::path json = folder_.path() / "exceptions.json", list = folder_.path() / "exceptions.txt";
  ASSERT_TRUE(open().add_exception(allow_of("a.test"), kAnna).has_value());
  EXPECT_FALSE(open().are_exports_stale());
  const std::string before = bytes_of(json);
  ASSERT_TRUE(open().add_exception(allow_of("b.test"), kAnna).has_value());
  const std::string after = bytes_of(json), allowed = bytes_of(list);
  int round = 0;
  for (const std::string& left : {before, std::string("{"), std::string()}) {
    const std::string name = "ci" + std::to_string(++round);
    std::ofstream(json, std::ios::binary) << left;
    if (left.empty()) std::filesystem::remove(json);
    StateStore store = open();
    EXPECT_TRUE(store.are_exports_stale());
    {
      StateStore other = open();
      ASSERT_TRUE(other.add_token({.name = name, .created = 1, .digest = digest_of(name)}, kAnna).has_value());
      store.refresh_exports();
      EXPECT_NE(std::filesystem::exists(json) ? bytes_of(json) : "", after) << "another process has the folder";
    }
    StateStore again = open();
    again.refresh_exports();
    EXPECT_FALSE(again.are_exports_stale());
    EXPECT_EQ(bytes_of(json), after);
    EXPECT_EQ(bytes_of(list), allowed);
  }
}

TEST_F(StateFile, ExportsThatCannotBeWrittenAreTriedAgain) {
  const std::filesystem::path json = folder_.path() / "exceptions.json";
  StateStore store = open();
  ASSERT_TRUE(store.add_exception(allow_of("a.test"), kAnna).has_value());
  std::filesystem::remove(json);
  std::filesystem::create_directories(json / "in the way");
  ASSERT_TRUE(store.add_exception(allow_of("b.test"), kAnna).has_value()) << "state.db has it";
  EXPECT_TRUE(store.are_exports_stale());
  store.refresh_exports();
  EXPECT_TRUE(store.are_exports_stale());
  std::filesystem::remove_all(json);
  store.refresh_exports();
  EXPECT_FALSE(store.are_exports_stale());
  EXPECT_EQ(read_export(folder_.path())->exceptions.size(), 2U);
}

TEST_F(StateFile, AVersionCountsWhatBecomesOfExceptions) {
  StateStore store = open();
  const auto version = [&] { return store.state()->exceptions_version; };
  ASSERT_TRUE(store.add_exception(allow_of("a.test", 1'800'000'000), kAnna).has_value());
  ExceptionItem until_build = allow_of("b.test");
  until_build.until_build = true;
  ASSERT_TRUE(store.add_exception(until_build, kAnna).has_value());
  EXPECT_EQ(version(), 2U);
  ASSERT_TRUE(store.add_token({.name = "ci", .created = 1, .digest = digest_of("x")}, kAnna).has_value());
  EXPECT_EQ(version(), 2U) << "a token is none";
  ASSERT_EQ(store.note_builds({{.id = 2, .is_listed = true, .is_new_build = true, .seen = {}}}).value(), 0U);
  EXPECT_EQ(version(), 3U);
  EXPECT_EQ(read_export(folder_.path())->exceptions.back().builds, 1U) << "its line is made anew";
  ASSERT_EQ(store.sweep(1'800'000'000).value(), 1U);
  EXPECT_EQ(version(), 4U);
  ASSERT_TRUE(store.remove_exception(2, kAnna, "").has_value());
  EXPECT_EQ(version(), 5U);
}

TEST_F(StateFile, ALostOneBeginsAgainWithTheExport) {
  ASSERT_TRUE(open().add_exception(allow_of("a.test"), kAnna).has_value());
  lose_file();
  StateStore store = open();
  EXPECT_THAT(store.warning(), HasSubstr("there is no"));
  EXPECT_TRUE(store.fault().empty());
  EXPECT_EQ(entries_of(store), std::vector<std::string>{"a.test"});
  ASSERT_TRUE(store.add_exception(allow_of("b.test"), kAnna).has_value());
  EXPECT_EQ(audit_of(store).front(), "state.imported exceptions.json by bloomwall");
  StateStore again = open();
  EXPECT_EQ(entries_of(again), (std::vector<std::string>{"a.test", "b.test"}));
  EXPECT_TRUE(again.warning().empty());
}

TEST_F(StateFile, ADamagedOneIsSaidAndLeftAndTheExportServes) {
  ASSERT_TRUE(open().add_exception(allow_of("a.test"), kAnna).has_value());
  for (const char* const damage : {"no database at all, and long enough to be read as one", "SQLite format 3"}) {
    lose_file();
    std::ofstream(file(), std::ios::binary) << damage;
    StateStore store = open();
    EXPECT_FALSE(store.fault().empty());
    EXPECT_THAT(store.warning(), HasSubstr("exceptions.json are served"));
    EXPECT_EQ(entries_of(store), std::vector<std::string>{"a.test"});
    const auto refused = store.add_exception(allow_of("b.test"), kAnna);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().kind, StateError::Kind::failed);
    EXPECT_FALSE(store.audit(0, 1000).has_value());
    EXPECT_EQ(bytes_of(file()), damage) << "nobody has touched it";
  }
  std::filesystem::remove(folder_.path() / "exceptions.json");
  const auto refused = StateStore::open(folder_.path());
  ASSERT_FALSE(refused.has_value()) << "what was denied would pass";
  EXPECT_THAT(refused.error(), HasSubstr("move all three away"));
}

// As after a kill whose -wal, which has the newest changes, was lost.
TEST_F(StateFile, OneThatLacksChangesOfItsExportIsSaidAndTheExportServes) {
  ASSERT_TRUE(open().add_exception(allow_of("a.test"), kAnna).has_value());
  std::string older = bytes_of(file());
  const std::vector<std::function<void(StateStore&)>> changes{
      [](StateStore& store) { ASSERT_TRUE(store.add_exception(allow_of("b.test"), kAnna).has_value()); },
      [](StateStore& store) { ASSERT_TRUE(store.remove_exception(1, kAnna, "").has_value()); },
      [](StateStore& store) {
        ASSERT_TRUE(store.set_switch({.made = {.group = "pupils", .until = kLater}, .created = 1}, kAnna).has_value());
      },
      [](StateStore& store) { ASSERT_TRUE(store.sweep(kLater + 1).has_value()); }};
  for (const auto& change : changes) {
    {
      StateStore store = open();
      ASSERT_TRUE(store.fault().empty()) << store.fault();
      change(store);
    }
    const std::string newer = bytes_of(file());
    const auto wanted = entries_of(open());
    lose_file();
    std::ofstream(file(), std::ios::binary) << older;
    const StateStore store = open();
    EXPECT_THAT(store.fault(), HasSubstr("lacks changes that exceptions.json has"));
    EXPECT_THAT(store.warning(), HasSubstr("exceptions.json are served"));
    EXPECT_EQ(entries_of(store), wanted);
    lose_file();
    std::ofstream(file(), std::ios::binary) << newer;
    older = newer;
  }
}

// Also of a token alone, which is in no export.
TEST_F(StateFile, OneThatBeganWithTheExportIsNotOlderThanThat) {
  ASSERT_TRUE(open().add_exception(allow_of("a.test"), kAnna).has_value());
  ASSERT_TRUE(open().add_exception(allow_of("b.test"), kAnna).has_value());
  const std::string exported = bytes_of(folder_.path() / "exceptions.json");
  for (const char* const name : {"ci", "cd"}) {
    lose_file();
    ASSERT_TRUE(open().add_token({.name = name, .created = 1, .digest = digest_of(name)}, kAnna).has_value());
    std::ofstream(folder_.path() / "exceptions.json", std::ios::binary) << exported;  // killed before the next one
    EXPECT_EQ(open().fault(), "");
    EXPECT_EQ(entries_of(open()), (std::vector<std::string>{"a.test", "b.test"}));
  }
}

TEST_F(StateFile, OneOfANewerProgramOrOfAnotherOneIsLeft) {
  ASSERT_TRUE(open().add_exception(allow_of("a.test"), kAnna).has_value());
  const std::vector<std::pair<const char*, const char*>> changes{{"PRAGMA user_version=3", "version 3"},
                                                                 {"PRAGMA application_id=7", "none of bloomwall's"}};
  for (const auto& [sql, said] : changes) {
    auto database = Database::open(file());
    ASSERT_TRUE(database.has_value()) << database.error();
    ASSERT_TRUE(database->run(sql).has_value());
    EXPECT_THAT(open().fault(), HasSubstr(said));
  }
}

TEST_F(StateFile, RandomOctetsInItAreNeverTakenForAnotherState) {
  {
    StateStore store = open();
    for (int i = 0; i < 50; ++i) {
      ASSERT_TRUE(store.add_exception(allow_of("h" + std::to_string(i) + ".test"), kAnna).has_value());
    }
  }
  const std::string good = bytes_of(file());
  const std::vector<std::string> wanted = entries_of(open());
  const std::uint32_t seed = bloomwall::test::test_seed();
  std::mt19937 random(seed);
  int faults = 0;
  for (int round = 0; round < 60; ++round) {
    std::string bad = good;
    const std::size_t at = random() % bad.size(), length = std::min<std::size_t>(1 + random() % 4096, bad.size() - at);
    for (std::size_t i = at; i < at + length; ++i) bad[i] = static_cast<char>(random());
    lose_file();
    std::ofstream(file(), std::ios::binary) << bad;
    const auto store = StateStore::open(folder_.path());
    ASSERT_TRUE(store.has_value()) << "seed " << seed << ": " << store.error();
    EXPECT_EQ(entries_of(*store), wanted) << "seed " << seed << ", round " << round << ": " << store->fault();
    faults += store->fault().empty() ? 0 : 1;
  }
  EXPECT_GT(faults, 10) << "seed " << seed;
}

TEST_F(StateFile, TheAuditCannotBeChanged) {
  StateStore store = open();
  ASSERT_TRUE(store.add_exception(allow_of("a.test"), kAnna).has_value());
  auto database = Database::open(file());
  ASSERT_TRUE(database.has_value());
  EXPECT_FALSE(database->run("DELETE FROM audit").has_value());
  EXPECT_FALSE(database->run("UPDATE audit SET who = 'nobody'").has_value());
  EXPECT_EQ(audit_of(store).size(), 1U);
}

TEST_F(StateFile, TheAuditComesInPages) {
  StateStore store = open();
  for (int i = 0; i < 205; ++i) ASSERT_TRUE(store.add_exception(allow_of("a.test"), kAnna).has_value());
  const auto first = store.audit(0, ~std::uint64_t{0}).value();
  ASSERT_EQ(first.size(), StateStore::kAuditPage);
  EXPECT_EQ(first.front().id, 205U);
  const auto second = store.audit(0, first.back().id).value();
  EXPECT_EQ(second.size(), 5U);
  EXPECT_TRUE(store.audit(kLater, ~std::uint64_t{0}).value().empty());
}

TEST_F(StateFile, ThereAreNotMoreThanTheMost) {
  StateStore store = open();
  ASSERT_TRUE(store.add_token({.name = "ci", .created = 1, .digest = digest_of("x")}, kAnna).has_value());
  const auto again = store.add_token({.name = "ci", .created = 1, .digest = digest_of("y")}, kAnna);
  ASSERT_FALSE(again.has_value());
  EXPECT_EQ(again.error().kind, StateError::Kind::conflict);
  EXPECT_EQ(store.remove_token("nobody", kAnna).error().kind, StateError::Kind::missing);
  EXPECT_EQ(store.remove_exception(9, kAnna, "").error().kind, StateError::Kind::missing);
}

TEST(StateWithoutFolder, IsInMemoryAlone) {
  auto store = StateStore::open({});
  ASSERT_TRUE(store.has_value());
  ASSERT_TRUE(store->add_exception(allow_of("a.test"), kAnna).has_value());
  EXPECT_FALSE(store->is_kept());
  EXPECT_EQ(audit_of(*store).size(), 1U);
}

// A child adds exceptions and says each id once it was confirmed; it is killed at any moment.
TEST_F(StateFile, AKillAtAnyMomentLosesNothingThatWasConfirmed) {
  const std::uint32_t seed = bloomwall::test::test_seed();
  std::mt19937 random(seed);
  for (int round = 0; round < 20; ++round) {
    const std::uint64_t confirmed = last_said_before_kill(1 + random() % 12, [&](const auto& say) {
      auto store = StateStore::open(folder_.path());
      for (;;) {
        const auto made = store->add_exception(allow_of("h" + std::to_string(::getpid() % 7) + ".test"), kAnna);
        if (!made) return;
        say(made->exception.id);
      }
    });
    StateStore store = open();
    ASSERT_TRUE(store.fault().empty()) << store.fault();
    ASSERT_FALSE(store.state()->exceptions.empty());
    EXPECT_GE(store.state()->exceptions.back().exception.id, confirmed) << "seed " << seed;
    EXPECT_EQ(store.audit(0, ~std::uint64_t{0}).value().front().id, store.state()->exceptions.back().exception.id)
        << "an exception and its row of the audit are one";
  }
}

// A change would be confirmed, and gone after a restart.
TEST_F(StateFile, OneThatWasRemovedOrReplacedWhileItIsServedTakesNoChange) {
  for (const bool is_replaced : {false, true}) {
    std::filesystem::remove(folder_.path() / "exceptions.json");
    lose_file();
    StateStore store = open();
    ASSERT_TRUE(store.add_exception(allow_of("a.test"), kAnna).has_value());
    if (is_replaced) {
      std::filesystem::copy_file(file(), folder_.path() / "copy");
      std::filesystem::rename(folder_.path() / "copy", file());
    } else {
      lose_file();
    }
    const auto refused = store.add_exception(allow_of("b.test"), kAnna);
    ASSERT_FALSE(refused.has_value()) << is_replaced;
    EXPECT_EQ(refused.error().kind, StateError::Kind::failed);
    EXPECT_THAT(refused.error().what, HasSubstr("restart bloomwall"));
    EXPECT_FALSE(store.fault().empty());
    EXPECT_EQ(entries_of(store), std::vector<std::string>{"a.test"}) << "what was confirmed is served";
    EXPECT_FALSE(store.remove_exception(1, kAnna, "").has_value());
  }
}

TEST_F(StateFile, OneAtATimeChangesIt) {
  StateStore first = open(), second = open();
  ASSERT_TRUE(first.add_exception(allow_of("a.test"), kAnna).has_value());
  const auto refused = second.add_exception(allow_of("b.test"), kAnna);
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().what, HasSubstr("another bloomwall"));
  StateStore third = open();
  EXPECT_EQ(entries_of(third), std::vector<std::string>{"a.test"});
  EXPECT_TRUE(third.fault().empty());
  first.release();
  ASSERT_TRUE(third.add_exception(allow_of("c.test"), kAnna).has_value()) << "nothing was changed since it was read";
  EXPECT_FALSE(first.add_exception(allow_of("d.test"), kAnna).has_value());
  third.release();
  const auto late = first.add_exception(allow_of("e.test"), kAnna);
  ASSERT_FALSE(late.has_value());
  EXPECT_THAT(late.error().what, HasSubstr("restart bloomwall"));
  EXPECT_EQ(entries_of(open()), (std::vector<std::string>{"a.test", "c.test"}));
}

TEST_F(StateFile, IsTakenBackWhereNobodyHasChangedIt) {
  StateStore store = open();
  for (const char* const entry : {"a.test", "b.test", "c.test"}) {
    ASSERT_TRUE(store.add_exception(allow_of(entry), kAnna).has_value()) << entry << ": " << store.fault();
    store.release();
    EXPECT_TRUE(open().fault().empty()) << "whoever only reads changes nothing";
  }
  ASSERT_TRUE(
      store.note({.author = kAnna, .what = "upgrade.failed", .subject = "x", .before = {}, .after = {}, .why = {}})
          .has_value());
  EXPECT_EQ(entries_of(store), (std::vector<std::string>{"a.test", "b.test", "c.test"}));
}

TEST_F(StateFile, TheThreadEndsSoonThoughTheFileIsBusy) {
  ASSERT_TRUE(open().add_exception(allow_of("a.test"), kAnna).has_value());
  auto database = Database::open(file());
  ASSERT_TRUE(database.has_value());
  Transaction busy(*database);
  ASSERT_TRUE(busy.began().has_value());
  std::size_t failed = 0;
  const auto begun = std::chrono::steady_clock::now();
  {
    StateThread thread(open());
    for (int i = 0; i < 20; ++i) {
      thread.post([&failed](StateStore& store) { failed += store.add_exception(allow_of("b.test"), kAnna) ? 0U : 1U; });
    }
  }
  EXPECT_EQ(failed, 20U) << "each has an answer";
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(20)) << "and does not wait 2 s for it";
}

TEST_F(StateFile, TheThreadDoesAllThatItTook) {
  std::vector<std::uint64_t> ids;
  std::size_t taken = 0;
  {
    StateThread thread(open());
    for (int i = 0; i < 40; ++i) {
      taken += thread.post([&ids, i](StateStore& store) {
        ids.push_back(store.add_exception(allow_of("h" + std::to_string(i) + ".test"), kAnna)->exception.id);
      });
    }
  }
  EXPECT_EQ(taken, 40U);
  ASSERT_EQ(ids.size(), 40U);
  EXPECT_TRUE(std::ranges::is_sorted(ids));
  EXPECT_EQ(open().state()->exceptions.size(), 40U);
}

}  // namespace
}  // namespace bloomwall::proxy
