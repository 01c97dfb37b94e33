// SPDX-License-Identifier: Apache-2.0
#include "proxy/query_log/day_file.h"

#include <sys/stat.h>

#include <array>
#include <utility>

namespace bloomwall::proxy {
namespace {

constexpr std::array kTables{
    "CREATE TABLE hosts(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT",
    "CREATE TABLE names(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT",
    "CREATE TABLE requests(id INTEGER PRIMARY KEY, at INTEGER NOT NULL, duration INTEGER NOT NULL, host INTEGER NOT "
    "NULL, client INTEGER NOT NULL, user INTEGER NOT NULL, grp INTEGER NOT NULL, method INTEGER NOT NULL, reason "
    "INTEGER NOT NULL, filter INTEGER NOT NULL, expression INTEGER NOT NULL, before INTEGER NOT NULL, rest TEXT NOT "
    "NULL, status INTEGER NOT NULL, decision INTEGER NOT NULL, decision_id TEXT NOT NULL, sent INTEGER NOT NULL, "
    "received INTEGER NOT NULL, tunnel INTEGER NOT NULL) STRICT",
    "CREATE INDEX by_host ON requests(host)",
    "CREATE INDEX by_client ON requests(client)",
    "CREATE INDEX by_filter ON requests(filter) WHERE filter <> 0",
    "CREATE INDEX by_decision ON requests(decision) WHERE decision <> 0",
    "CREATE INDEX by_decision_id ON requests(decision_id) WHERE decision_id <> ''",
    "PRAGMA application_id=1112101196",
    "PRAGMA user_version=1"};

// 0: there is no such file.
ino_t number_of(const std::filesystem::path& file) {
  struct stat status{};
  return ::stat(file.c_str(), &status) == 0 ? status.st_ino : 0;
}

DayError error_of(const std::string& why, const Database& database) {
  return {.what = why, .is_damaged = database.is_damaged(), .is_locked = database.is_locked()};
}

tl::expected<void, std::string> make_tables(Database& database) {
  std::int64_t version = 0;
  {
    Statement asked(database, "PRAGMA user_version");
    if (!asked.next()) return tl::unexpected(asked.error());
    version = asked.integer(0);
  }
  if (version == DayFile::kVersion) return {};
  if (version != 0) return tl::unexpected(std::string("a newer bloomwall has written it"));
  Transaction transaction(database);
  if (!transaction.began()) return transaction.began();
  for (const char* const table : kTables) {
    if (auto made = database.run(table); !made) return made;
  }
  return transaction.commit();
}

}  // namespace

SplitUrl split_url(std::string_view url, std::string_view host) {
  if (host.empty()) return {UrlBefore::whole, url};
  constexpr std::string_view kHttp = "http://", kHttps = "https://";
  const auto behind = [&](std::string_view before) {
    return url.starts_with(before) && url.substr(before.size()).starts_with(host);
  };
  if (behind(kHttp)) return {UrlBefore::http, url.substr(kHttp.size() + host.size())};
  if (behind(kHttps)) return {UrlBefore::https, url.substr(kHttps.size() + host.size())};
  if (behind("")) return {UrlBefore::nothing, url.substr(host.size())};
  return {UrlBefore::whole, url};
}

std::string joined_url(UrlBefore before, std::string_view host, std::string_view rest) {
  std::string url;
  if (before == UrlBefore::http) url = "http://";
  if (before == UrlBefore::https) url = "https://";
  if (before != UrlBefore::whole) url += host;
  return url += rest;
}

std::optional<std::int64_t> DayFile::Dictionary::id_of(const std::string& name) {
  if (name.empty()) return 0;
  if (const auto at = known_.find(name); at != known_.end()) return at->second;
  if (known_.size() >= kMostRemembered) known_.clear();
  insert_.restart({std::string_view(name)});
  insert_.next();
  if (!insert_.error().empty()) {
    error_ = insert_.error();
    return std::nullopt;
  }
  std::int64_t id = database_.last_id();
  if (database_.changed_rows() == 0) {  // it was there
    find_.restart({std::string_view(name)});
    if (!find_.next()) {
      error_ = find_.error();
      return std::nullopt;
    }
    id = find_.integer(0);
    find_.restart({std::string_view()});  // an open one would keep the transaction from its end
  }
  known_.emplace(name, id);
  return id;
}

DayFile::DayFile(std::filesystem::path path_of_wal, Database database)
    : path_of_wal_(std::move(path_of_wal)),
      database_(std::move(database)),
      wal_(number_of(path_of_wal_)),
      hosts_(database_, "INSERT OR IGNORE INTO hosts(name) VALUES(?)", "SELECT id FROM hosts WHERE name = ?"),
      names_(database_, "INSERT OR IGNORE INTO names(name) VALUES(?)", "SELECT id FROM names WHERE name = ?"),
      insert_(database_,
              "INSERT INTO requests(at, duration, host, client, user, grp, method, reason, filter, expression, before, "
              "rest, status, decision, decision_id, sent, received, tunnel) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
              "?, ?, ?, ?, ?, ?)"),
      pages_(database_, "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size") {}

DayFile::Opened DayFile::open(const std::filesystem::path& file) {
  auto database = Database::open(file, Database::Use::plain);
  if (!database) return tl::unexpected(DayError{.what = database.error()});
  // What was written last may be gone after a power failure; the file is whole all the same.
  for (const char* const pragma : {"PRAGMA journal_mode=WAL", "PRAGMA synchronous=NORMAL",
                                   "PRAGMA wal_autocheckpoint=256", "PRAGMA journal_size_limit=1048576"}) {
    const auto set = database->run(pragma);
    if (!set) return tl::unexpected(error_of(set.error(), *database));
  }
  if (const auto made = make_tables(*database); !made) {
    return tl::unexpected(error_of(made.error(), *database));
  }
  return std::unique_ptr<DayFile>(new DayFile(std::filesystem::path(file) += "-wal", *std::move(database)));
}

bool DayFile::is_disturbed() const {
  return database_.has_moved() || !database_.has_header() || number_of(path_of_wal_) != wal_;
}

std::uint64_t DayFile::bytes() {
  pages_.restart({});
  const std::uint64_t bytes = pages_.next() ? static_cast<std::uint64_t>(pages_.integer(0)) : 0;
  pages_.restart({});  // an open one would keep what is beside the file from being moved
  return bytes;
}

tl::expected<void, DayError> DayFile::append(std::span<const RequestRow> rows) {
  if (rows.empty()) return {};
  const auto failure = [this](const std::string& why) {
    const DayError error = error_of(why, database_);  // before the rollback, which succeeds
    hosts_.forget();                                  // ids that are no longer there
    names_.forget();
    return tl::unexpected(error);
  };
  Transaction transaction(database_);
  if (!transaction.began()) return failure(transaction.began().error());
  for (const RequestRow& row : rows) {
    if (const auto done = insert(row); !done) return failure(done.error());
  }
  if (const auto done = transaction.commit(); !done) return failure(done.error());
  return {};
}

tl::expected<void, std::string> DayFile::insert(const RequestRow& row) {
  const auto host = hosts_.id_of(row.host);
  if (!host) return tl::unexpected(hosts_.error());
  std::array<std::int64_t, 7> ids{};
  const std::array<const std::string*, 7> names{&row.client, &row.user,   &row.group,     &row.method,
                                                &row.reason, &row.filter, &row.expression};
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto id = names_.id_of(*names[i]);
    if (!id) return tl::unexpected(names_.error());
    ids[i] = *id;
  }
  const SplitUrl url = split_url(row.url, row.host);
  insert_.restart({row.at, row.microseconds, *host, ids[0], ids[1], ids[2], ids[3], ids[4], ids[5], ids[6],
                   std::int64_t{static_cast<std::uint8_t>(url.before)}, url.rest, std::int64_t{row.status},
                   std::int64_t{static_cast<std::uint8_t>(row.decision)}, std::string_view(row.id),
                   static_cast<std::int64_t>(row.bytes_sent), static_cast<std::int64_t>(row.bytes_received),
                   std::int64_t{row.is_tunnel ? 1 : 0}});
  insert_.next();
  if (!insert_.error().empty()) return tl::unexpected(insert_.error());
  return {};
}

}  // namespace bloomwall::proxy
