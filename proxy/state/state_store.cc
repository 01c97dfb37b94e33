// SPDX-License-Identifier: Apache-2.0
#include "proxy/state/state_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <iterator>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "proxy/state/item_table.h"

namespace bloomwall::proxy {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;
using Done = tl::expected<void, std::string>;

constexpr std::int64_t kApplication = 0x42575354;  // "BWST"
constexpr const char* kStateFile = "state.db";
const Author kItself{.who = "bloomwall", .via = "itself"};

constexpr std::array kSchemaStatements{
    "CREATE TABLE exceptions (id INTEGER PRIMARY KEY AUTOINCREMENT, item TEXT NOT NULL, sum TEXT NOT NULL)",
    "CREATE TABLE switches (group_name TEXT NOT NULL, key TEXT NOT NULL, item TEXT NOT NULL, sum TEXT NOT NULL, "
    "PRIMARY KEY (group_name, key))",
    "CREATE TABLE tokens (name TEXT PRIMARY KEY, item TEXT NOT NULL, sum TEXT NOT NULL)",
    "CREATE TABLE audit (id INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, who TEXT NOT NULL, "
    "via TEXT NOT NULL, what TEXT NOT NULL, subject TEXT NOT NULL, before TEXT NOT NULL, after TEXT NOT NULL, "
    "why TEXT NOT NULL, report INTEGER NOT NULL)",
    "CREATE INDEX audit_by_time ON audit (at)",
    "CREATE TRIGGER audit_keeps BEFORE DELETE ON audit BEGIN SELECT RAISE(ABORT, 'audit rows stay'); END",
    "CREATE TRIGGER audit_stays BEFORE UPDATE ON audit BEGIN SELECT RAISE(ABORT, 'audit rows stay'); END",
    "PRAGMA application_id=1113019220",
};
// What older programs did not make.
constexpr std::array kLaterStatements{
    "CREATE TABLE reports (id INTEGER PRIMARY KEY AUTOINCREMENT, item TEXT NOT NULL, sum TEXT NOT NULL)",
    "CREATE TABLE secrets (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    "PRAGMA user_version=2",
};

tl::expected<std::int64_t, std::string> number_of(Database& database, const char* sql) {
  Statement statement(database, sql);
  if (statement.next()) return statement.integer(0);
  return tl::unexpected(statement.error().empty() ? "no answer" : statement.error());
}

// Of a row of the audit: it is about what exceptions.json says.
bool is_of_exports(std::string_view what) {
  return what.starts_with("exception.") || what.starts_with("switch.") || what.starts_with("state.");
}

// The number after the highest that a row of the table ever had.
tl::expected<std::uint64_t, std::string> next_number(Database& database, std::string_view table) {
  Statement last(database, "SELECT seq FROM sqlite_sequence WHERE name = ?", {table});
  if (last.next()) return static_cast<std::uint64_t>(last.integer(0)) + 1;
  if (!last.error().empty()) return tl::unexpected(last.error());
  return 1;
}

}  // namespace

std::vector<filter::Override> State::overrides() const {
  std::vector<filter::Override> out;
  out.reserve(exceptions.size());
  for (const ExceptionItem& item : exceptions) out.push_back(item.exception);
  return out;
}

const ExceptionItem* State::find(std::uint64_t id) const {
  const auto at = std::ranges::find(exceptions, id, [](const ExceptionItem& item) { return item.exception.id; });
  return at == exceptions.end() ? nullptr : &*at;
}

StateStore::StateStore(fs::path folder) : folder_(std::move(folder)) {
  State empty;
  empty.tokens = std::make_shared<const TokenTable>(std::vector<Token>());
  empty.reports = std::make_shared<const Reports>();
  state_ = std::make_shared<const State>(std::move(empty));
}

tl::expected<StateStore, std::string> StateStore::open(const fs::path& folder) {
  StateStore store(folder);
  if (folder.empty()) return store;
  const auto is_loaded = store.load_file();
  if (is_loaded && *is_loaded) return store;
  if (const auto done = store.load_export(is_loaded ? std::string() : is_loaded.error()); !done) {
    return tl::unexpected(done.error());
  }
  return store;
}

// False: there is no file, or one that nothing was written to.
tl::expected<bool, std::string> StateStore::load_file() {
  const fs::path file = folder_ / kStateFile;
  std::error_code error;
  if (fs::symlink_status(file, error).type() == fs::file_type::not_found) return false;
  auto database = Database::open(file);
  if (!database) return tl::unexpected(database.error());
  const auto tables = number_of(*database, "SELECT count(*) FROM sqlite_schema");
  if (!tables) return tl::unexpected(tables.error());
  if (*tables == 0) return false;
  database_ = *std::move(database);
  Done ready = read_version();
  if (ready) ready = check();
  if (ready) ready = check_changes();
  if (ready) ready = load();
  if (ready) compare_exports();
  if (ready) return true;
  database_.reset();
  return tl::unexpected(ready.error());
}

// `fault`: why what state.db would say is not known; empty: there is none.
Done StateStore::load_export(const std::string& fault) {
  auto exported = read_export(folder_);
  if (!fault.empty() && (!exported || !exported->is_there)) {
    return tl::unexpected(fmt::format(
        "{}; put back a copy of state.db with its -wal and -shm, or move all three away to begin without its "
        "exceptions and tokens{}",
        fault, exported ? "" : "; " + exported.error()));
  }
  if (!exported) return tl::unexpected(exported.error());
  fault_ = fault;
  is_imported_ = exported->is_there;
  last_change_ = exported->changes;
  next_id_ = std::max(exported->next_id, std::uint64_t{1});
  State state = *state_;
  state.exceptions = std::move(exported->exceptions);
  state.switches = std::move(exported->switches);
  if (is_imported_) {
    warning_ = fmt::format("{}: the {} exceptions of exceptions.json are served, and no token is known",
                           fault.empty() ? fmt::format("there is no {}", (folder_ / kStateFile).string()) : fault,
                           state.exceptions.size());
  }
  state_ = std::make_shared<const State>(std::move(state));
  return {};
}

// It is one that this program can read, whole.
Done StateStore::check() {
  const auto application = number_of(*database_, "PRAGMA application_id");
  const auto version = number_of(*database_, "PRAGMA user_version");
  if (!application || !version) return tl::unexpected(application ? version.error() : application.error());
  if (*application != kApplication) return tl::unexpected(fmt::format("{} is none of bloomwall's", kStateFile));
  if (*version < 1 || *version > kSchema) {
    return tl::unexpected(
        fmt::format("{} is of version {}; this program reads versions up to {}", kStateFile, *version, kSchema));
  }
  is_older_ = *version < kSchema;
  Statement pages(*database_, "PRAGMA quick_check(1)");
  if (pages.next() && pages.text(0) == "ok") return {};
  return tl::unexpected(
      fmt::format("{} is damaged: {}", kStateFile, pages.error().empty() ? pages.text(0) : pages.error()));
}

Done StateStore::load() {
  State state;
  auto exceptions = load_items<ExceptionItem>(*database_);
  if (!exceptions) return tl::unexpected(exceptions.error());
  state.exceptions = *std::move(exceptions);
  auto switches = load_items<SwitchItem>(*database_);
  if (!switches) return tl::unexpected(switches.error());
  state.switches = *std::move(switches);
  auto tokens = load_items<Token>(*database_);
  if (!tokens) return tl::unexpected(tokens.error());
  state.tokens = std::make_shared<const TokenTable>(*std::move(tokens));
  auto reports = is_older_ ? Reports() : load_items<ReportItem>(*database_);
  if (!reports) return tl::unexpected(reports.error());
  state.reports = std::make_shared<const Reports>(*std::move(reports));
  const auto next_id = next_number(*database_, "exceptions"), next_report = next_number(*database_, "reports");
  if (!next_id || !next_report) return tl::unexpected(next_id ? next_report.error() : next_id.error());
  next_id_ = *next_id;
  next_report_ = *next_report;
  state_ = std::make_shared<const State>(std::move(state));
  return {};
}

Done StateStore::make_file() {
  if (database_ && !is_older_) return {};
  std::error_code error;
  if (!folder_.empty()) fs::create_directories(folder_, error);
  if (!folder_.empty() && !fs::is_directory(folder_, error)) folder_.clear();
  if (const Done claimed = claim(); !claimed) return claimed;
  if (database_) return bring_up_to_date();
  auto database = Database::open(folder_.empty() ? fs::path() : folder_ / kStateFile);
  if (!database) return tl::unexpected(database.error());
  database_ = *std::move(database);
  if (!waits_) database_->wait_for_nobody();
  Done begun = begin_with_state();
  if (!begun) database_.reset();
  return begun;
}

// In one transaction: it never has the tables without the exceptions.
Done StateStore::begin_with_state() {
  Transaction transaction(*database_);
  if (!transaction.began()) return transaction.began();
  changing_ = last_change_;
  const auto tables = number_of(*database_, "SELECT count(*) FROM sqlite_schema");
  if (!tables || *tables != 0) {
    return tl::unexpected(tables ? "state.db was made by another process meanwhile: restart bloomwall"
                                 : tables.error());
  }
  Done done;
  for (const char* const sql : kSchemaStatements) {
    if (done) done = database_->run(sql);
  }
  for (const char* const sql : kLaterStatements) {
    if (done) done = database_->run(sql);
  }
  for (const ExceptionItem& item : state_->exceptions) {
    if (done) done = insert_item(*database_, item);
  }
  for (const SwitchItem& item : state_->switches) {
    if (done) done = insert_item(*database_, item);
  }
  const auto last_id = static_cast<std::int64_t>(next_id_) - 1;
  if (done && last_id > 0) {  // no id is given twice
    done =
        database_->run("INSERT INTO exceptions (id, item, sum) VALUES (?, '', '') ON CONFLICT DO NOTHING", {last_id});
    if (done) done = database_->run("DELETE FROM exceptions WHERE id = ? AND item = ''", {last_id});
  }
  if (done && last_change_ > 0) {  // nor is the number of a change
    done = database_->run("INSERT INTO sqlite_sequence (name, seq) VALUES ('audit', ?)",
                          {static_cast<std::int64_t>(last_change_)});
  }
  if (done && is_imported_) {
    done = write({.author = kItself,
                  .what = "state.imported",
                  .subject = "exceptions.json",
                  .before = {},
                  .after = {},
                  .why = "there was no state.db"});
  }
  if (done) done = transaction.commit();
  if (done) last_change_ = changing_;
  return done;
}

Done StateStore::bring_up_to_date() {
  Transaction transaction(*database_);
  Done done = transaction.began();
  for (const char* const sql : kLaterStatements) {
    if (done) done = database_->run(sql);
  }
  if (done) done = transaction.commit();
  if (done) is_older_ = false;
  return done;
}

Done StateStore::write(const AuditRow& row) {
  writing_.push_back(row);
  writing_.back().at = std::time(nullptr);
  Done written = database_->run(
      "INSERT INTO audit (at, who, via, what, subject, before, after, why, report) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
      {writing_.back().at, row.author.who, row.author.via, row.what, row.subject, row.before, row.after, row.why,
       static_cast<std::int64_t>(row.report)});
  if (!written || !is_of_exports(row.what)) return written;
  const auto id = number_of(*database_, "SELECT last_insert_rowid()");
  if (!id) return tl::unexpected(id.error());
  changing_ = static_cast<std::uint64_t>(*id);
  return {};
}

StateResult<void> StateStore::commit(State next, const Change& change) { return commit_after(change, next); }

StateResult<void> StateStore::note(const AuditRow& row) {
  return commit(*state_, [&] { return write(row); });
}

StateResult<void> StateStore::commit_after(const Change& change, State& next) {
  if (!fault_.empty()) return state_error(StateError::Kind::failed, fault_);
  if (const Done made = make_file(); !made) return state_error(StateError::Kind::failed, made.error());
  if (const Done claimed = claim(); !claimed) return state_error(StateError::Kind::failed, claimed.error());
  writing_.clear();
  changing_ = last_change_;
  Transaction transaction(*database_);
  Done done = transaction.began();
  if (done) done = find_file();
  if (done) done = change();
  if (done) done = transaction.commit();
  if (!done) return state_error(StateError::Kind::failed, done.error());
  std::ranges::move(writing_, std::back_inserter(written_));
  last_change_ = changing_;
  state_ = std::make_shared<const State>(std::move(next));
  return {};
}

StateResult<StateStore::Placed> StateStore::place(ExceptionItem& item, const Author& author, State& next) const {
  Placed placed;
  std::erase_if(next.exceptions, [&](const ExceptionItem& other) {
    if (!says_the_same(other.exception, item.exception)) return false;
    placed.replaced.push_back(other);
    return true;
  });
  if (next.exceptions.size() >= filter::Overrides::kMost) {
    return state_error(
        StateError::Kind::conflict,
        fmt::format("there are {} exceptions, the most there may be; remove some, or put lasting ones into "
                    "an allow list",
                    filter::Overrides::kMost));
  }
  item.exception.id = next_id_;
  item.who = author.who;
  if (auto refused = refuse_unreadable(item)) return tl::unexpected(*std::move(refused));
  next.exceptions.push_back(item);
  ++next.exceptions_version;
  placed.reports = hand_over_reports(placed.replaced, item, next);
  return placed;
}

Done StateStore::write_exception(const ExceptionItem& item, const Placed& placed, const Author& author) {
  Done changed;
  std::string before;
  for (const ExceptionItem& other : placed.replaced) {
    before = Kept<ExceptionItem>::audited(other);
    if (changed) changed = erase_item(*database_, other);
  }
  for (const ReportItem& report : placed.reports) {
    if (changed) changed = update_item(*database_, report);
  }
  if (changed) changed = insert_item(*database_, item);
  if (changed) changed = write(row_of_made("exception.made", author, item, before, item.why));
  return changed;
}

StateResult<ExceptionItem> StateStore::add_exception(ExceptionItem item, const Author& author) {
  State next = *state_;
  const auto placed = place(item, author, next);
  if (!placed) return tl::unexpected(placed.error());
  const auto done = commit(std::move(next), [&] { return write_exception(item, *placed, author); });
  if (!done) return tl::unexpected(done.error());
  ++next_id_;
  write_exports();
  return item;
}

StateResult<ExceptionItem> StateStore::remove_exception(std::uint64_t id, const Author& author, std::string_view why) {
  const ExceptionItem* const found = state_->find(id);
  if (found == nullptr) return state_error(StateError::Kind::missing, fmt::format("there is no exception {}", id));
  ExceptionItem item = *found;
  State next = *state_;
  std::erase_if(next.exceptions, [&](const ExceptionItem& other) { return other.exception.id == id; });
  ++next.exceptions_version;
  const auto done = commit(std::move(next), [&] {
    Done removed = erase_item(*database_, item);
    return removed ? write(row_of_gone("exception.removed", author, item, why)) : removed;
  });
  if (!done) return tl::unexpected(done.error());
  write_exports();
  return item;
}

}  // namespace bloomwall::proxy
