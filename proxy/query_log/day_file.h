// The requests of one day, in a file of SQLite (application_id "BWQL", user_version 1):
//   hosts     id, name                   each host once
//   names     id, name                   each client, user, group, method, reason, filter and expression once; "" is 0
//   requests  id                         in the order in which they ended, but for a second or two
//             at, duration               milliseconds since 1970 of the end; microseconds
//             host, client, user, grp, method, reason, filter, expression     hosts.id, names.id
//             before, rest               the URL: a UrlBefore, and what follows the host behind it
//             status, decision, decision_id, sent, received, tunnel
// with indexes for what is searched by; those of filters, decisions and decision ids hold only rows that have one.
// append() is one transaction. Errors leave the file as it was; a file that is damaged is told from a disk that is full
// (DayError::is_damaged), and from one that another program holds (is_locked).
// Cost: about 140 octets a row (bench/query_log_bench.cc). Memory: kMostRemembered names of each kind.
// Not thread-safe. Others may read the file meanwhile (request_search.h).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <unordered_map>

#include "proxy/query_log/request_row.h"
#include "proxy/state/database.h"

namespace bloomwall::proxy {

// What stands in a URL before its host. Written to files: append only, never renumber.
enum class UrlBefore : std::uint8_t { nothing, http, https, whole };  // whole: `rest` is all of it
struct SplitUrl {
  UrlBefore before = UrlBefore::whole;
  std::string_view rest;
};
SplitUrl split_url(std::string_view url, std::string_view host);
std::string joined_url(UrlBefore before, std::string_view host, std::string_view rest);

struct DayError {
  std::string what;
  bool is_damaged = false;
  bool is_locked = false;  // by another program; later it may go
};

class DayFile {
 public:
  static constexpr int kVersion = 1;
  static constexpr std::size_t kMostRemembered = 50'000;
  using Opened = tl::expected<std::unique_ptr<DayFile>, DayError>;

  static Opened open(const std::filesystem::path& file);
  DayFile(const DayFile&) = delete;
  DayFile& operator=(const DayFile&) = delete;

  tl::expected<void, DayError> append(std::span<const RequestRow> rows);
  // Somebody has moved, removed or overwritten it, or what SQLite keeps beside it: what is appended would be lost.
  bool is_disturbed() const;
  // The size that it has once SQLite has moved to it all that is beside it, in octets; 0 where that cannot be asked.
  std::uint64_t bytes();

 private:
  class Dictionary {
   public:
    Dictionary(Database& database, const char* insert, const char* find)
        : database_(database), insert_(database, insert), find_(database, find) {}
    // 0 for an empty name. Nothing: error().
    std::optional<std::int64_t> id_of(const std::string& name);
    void forget() { known_.clear(); }
    const std::string& error() const { return error_; }

   private:
    Database& database_;
    Statement insert_, find_;
    std::unordered_map<std::string, std::int64_t> known_;
    std::string error_;
  };

  DayFile(std::filesystem::path path_of_wal, Database database);
  tl::expected<void, std::string> insert(const RequestRow& row);

  const std::filesystem::path path_of_wal_;  // of what SQLite has not moved to the file yet
  Database database_;
  const ino_t wal_;  // the number of that file
  Dictionary hosts_, names_;
  Statement insert_, pages_;
};

}  // namespace bloomwall::proxy
