// A file of SQLite as the state and the query log need it: statements with values, and transactions, by a write-ahead
// log. Those of Use::durable are on the disk when they return (synchronous=FULL). Texts of statements are literals;
// what comes from outside is a value.
//   Statement rows(database, "SELECT id FROM audit WHERE at >= ?", {since});
//   while (rows.next()) rows.integer(0);
//   if (!rows.error().empty()) ...
// Errors: texts for people, "FILE: database disk image is malformed".
// Not thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <variant>

#include "proxy/state/handles.h"

namespace bloomwall::proxy {

using SqlValue = std::variant<std::int64_t, std::string_view>;

class Database {
 public:
  static constexpr int kLongestValue = 4 << 20;  // octets of one value or row
  // plain: the opener says how it is kept, by pragmas; existing: likewise, and it must exist.
  enum class Use : std::uint8_t { durable, plain, existing };
  // Opens or makes it, with mode 0600; an empty name: in memory. Another process may be reading: waited for, for 2 s.
  static tl::expected<Database, std::string> open(const std::filesystem::path& file, Use use = Use::durable);

  // One statement, to its end.
  tl::expected<void, std::string> run(const char* sql, std::initializer_list<SqlValue> values = {});
  std::int64_t last_id() const { return sqlite3_last_insert_rowid(handle_.get()); }
  std::int64_t changed_rows() const { return sqlite3_changes64(handle_.get()); }  // by the last statement
  std::string error() const;
  void wait_for_nobody() { sqlite3_busy_timeout(handle_.get(), 0); }
  bool has_moved() const;   // the file has another name by now, or none
  bool has_header() const;  // it begins as SQLite's files do: not cut or overwritten there
  // The last call has failed because the file is damaged, or is none of SQLite.
  bool is_damaged() const;
  bool is_locked() const;  // likewise: another connection holds it for longer than is waited
  // Later statements fail.
  using Clock = std::chrono::steady_clock;
  void set_deadline(Clock::time_point deadline);

 private:
  friend class Statement;
  Database(std::string name, SqlitePtr handle) : name_(std::move(name)), handle_(std::move(handle)) {}

  std::string name_;
  std::unique_ptr<Clock::time_point> deadline_;  // SQLite has its address
  SqlitePtr handle_;
};

class Statement {
 public:
  Statement(Database& database, const char* sql, std::initializer_list<SqlValue> values = {});

  // Once more from the beginning, with other values.
  void restart(std::initializer_list<SqlValue> values);
  bool next();  // false: there is no further row, or error() says why
  const std::string& error() const { return error_; }
  std::int64_t integer(int column) const { return sqlite3_column_int64(statement_.get(), column); }
  std::string text(int column) const;

 private:
  void bind(std::initializer_list<SqlValue> values);
  void fail();

  Database& database_;
  SqliteStatementPtr statement_;
  std::string error_;
};

// SHA-256 in hexadecimal digits: SQLite has no sums of its own, so a row keeps one beside each text that must not
// change.
std::string sum_of(std::string_view text);

// Rolled back where it was not committed.
class Transaction {
 public:
  explicit Transaction(Database& database) : database_(database), began_(database.run("BEGIN IMMEDIATE")) {}
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  const tl::expected<void, std::string>& began() const { return began_; }
  tl::expected<void, std::string> commit();

 private:
  Database& database_;
  tl::expected<void, std::string> began_;
  bool is_over_ = false;
};

}  // namespace bloomwall::proxy
