// SPDX-License-Identifier: Apache-2.0
#include "proxy/state/database.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/evp.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/encoding.h"

namespace bloomwall::proxy {
namespace {

constexpr int kBusyMilliseconds = 2000;

// SQLite would make it with the mode that the umask leaves. One that is there is not opened here: closing it would end
// the locks that other connections of this process have on it.
tl::expected<void, std::string> make_private(const std::filesystem::path& file) {
  const UniqueFd made(::open(file.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (made) return {};
  int reason = errno;
  if (reason == EEXIST) {
    std::error_code unknown;
    const auto what = std::filesystem::symlink_status(file, unknown);
    if (!std::filesystem::is_regular_file(what)) return tl::unexpected(file.string() + ": is not a file");
    if (::faccessat(AT_FDCWD, file.c_str(), R_OK | W_OK, AT_EACCESS) == 0) return {};
    reason = errno;
  }
  return tl::unexpected(fmt::format("{}: {}", file.string(), std::generic_category().message(reason)));
}

// Counting what is allocated would take a lock of all connections with every allocation. It works before the first one
// is opened.
void leave_memory_uncounted() {
  static const int done = sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
  static_cast<void>(done);
}

}  // namespace

tl::expected<Database, std::string> Database::open(const std::filesystem::path& file, Use use) {
  if (!file.empty() && use != Use::existing) {
    if (const auto made = make_private(file); !made) return tl::unexpected(made.error());
  }
  leave_memory_uncounted();
  const std::string name = file.empty() ? ":memory:" : file.string();
  sqlite3* raw = nullptr;
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | (use == Use::existing ? 0 : SQLITE_OPEN_CREATE);
  const int result = sqlite3_open_v2(name.c_str(), &raw, flags, nullptr);
  Database database(name, SqlitePtr(raw));
  if (raw == nullptr) return tl::unexpected(name + ": out of memory");
  if (result != SQLITE_OK) return tl::unexpected(database.error());
  sqlite3_busy_timeout(raw, kBusyMilliseconds);
  sqlite3_limit(raw, SQLITE_LIMIT_LENGTH, kLongestValue);
  sqlite3_limit(raw, SQLITE_LIMIT_ATTACHED, 0);
  sqlite3_db_config(raw, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(raw, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  if (use != Use::durable) return database;
  for (const char* const pragma : {"PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL"}) {
    if (const auto set = database.run(pragma); !set) return tl::unexpected(set.error());
  }
  return database;
}

std::string Database::error() const { return fmt::format("{}: {}", name_, sqlite3_errmsg(handle_.get())); }

bool Database::has_moved() const {
  int moved = 0;
  return sqlite3_file_control(handle_.get(), "main", SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK && moved != 0;
}

// By SQLite's own descriptor: closing another one of the file would end this process's locks on it.
bool Database::has_header() const {
  constexpr std::string_view kHeader = "SQLite format 3";
  sqlite3_file* file = nullptr;
  if (sqlite3_file_control(handle_.get(), "main", SQLITE_FCNTL_FILE_POINTER, static_cast<void*>(&file)) != SQLITE_OK) {
    return false;
  }
  std::array<char, kHeader.size()> begin{};
  return file->pMethods->xRead(file, begin.data(), static_cast<int>(begin.size()), 0) == SQLITE_OK &&
         std::string_view(begin.data(), begin.size()) == kHeader;
}

bool Database::is_damaged() const {
  const int code = sqlite3_errcode(handle_.get());
  return code == SQLITE_CORRUPT || code == SQLITE_NOTADB;
}

bool Database::is_locked() const {
  const int code = sqlite3_errcode(handle_.get());
  return code == SQLITE_BUSY || code == SQLITE_LOCKED;
}

void Database::set_deadline(Clock::time_point deadline) {
  constexpr int kSteps = 1000;  // of SQLite's machine between two looks at the clock: well below a millisecond
  deadline_ = std::make_unique<Clock::time_point>(deadline);
  sqlite3_progress_handler(
      handle_.get(), kSteps,
      [](void* end) { return Clock::now() >= *static_cast<const Clock::time_point*>(end) ? 1 : 0; }, deadline_.get());
}

tl::expected<void, std::string> Database::run(const char* sql, std::initializer_list<SqlValue> values) {
  Statement statement(*this, sql, values);
  while (statement.next()) {
  }
  if (!statement.error().empty()) return tl::unexpected(statement.error());
  return {};
}

Statement::Statement(Database& database, const char* sql, std::initializer_list<SqlValue> values)
    : database_(database) {
  sqlite3_stmt* raw = nullptr;
  const int result = sqlite3_prepare_v2(database.handle_.get(), sql, -1, &raw, nullptr);
  statement_.reset(raw);
  if (result == SQLITE_OK) {
    bind(values);
  } else {
    fail();
  }
}

void Statement::restart(std::initializer_list<SqlValue> values) {
  sqlite3_reset(statement_.get());
  error_.clear();
  bind(values);
}

void Statement::bind(std::initializer_list<SqlValue> values) {
  int place = 0;
  for (const SqlValue& value : values) {
    ++place;
    const auto* const text = std::get_if<std::string_view>(&value);
    const int bound = text == nullptr ? sqlite3_bind_int64(statement_.get(), place, std::get<std::int64_t>(value))
                                      : sqlite3_bind_text64(statement_.get(), place, text->empty() ? "" : text->data(),
                                                            text->size(), SQLITE_TRANSIENT, SQLITE_UTF8);
    if (bound != SQLITE_OK) return fail();
  }
}

bool Statement::next() {
  if (!error_.empty()) return false;
  const int result = sqlite3_step(statement_.get());
  if (result == SQLITE_ROW) return true;
  if (result != SQLITE_DONE) fail();
  return false;
}

std::string Statement::text(int column) const {
  const unsigned char* const begin = sqlite3_column_text(statement_.get(), column);
  if (begin == nullptr) return {};
  return {reinterpret_cast<const char*>(begin),
          static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

std::string sum_of(std::string_view text) {
  std::array<std::uint8_t, 32> sum{};
  EVP_Digest(text.data(), text.size(), sum.data(), nullptr, EVP_sha256(), nullptr);
  return to_hex(sum);
}

void Statement::fail() { error_ = database_.error(); }

Transaction::~Transaction() {
  if (began_ && !is_over_) static_cast<void>(database_.run("ROLLBACK"));
}

tl::expected<void, std::string> Transaction::commit() {
  auto committed = database_.run("COMMIT");
  is_over_ = committed.has_value();
  return committed;
}

}  // namespace bloomwall::proxy
