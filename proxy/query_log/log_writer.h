// The files of the query log as its thread writes them: one after the other, day by day.
// Errors are told to the daemon's log, once when they begin and once when they are over. Not thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tl/expected.hpp>

#include "base/held_clock.h"
#include "proxy/query_log/day_file.h"
#include "proxy/query_log/day_folder.h"

namespace bloomwall::proxy {

class LogWriter {
 public:
  // An empty folder: write() fails.
  // `monotonic`: a clock in milliseconds; a test has its own.
  explicit LogWriter(std::int64_t (*monotonic)() = &steady_milliseconds) : monotonic_(monotonic) {}
  void use(const std::filesystem::path& folder, const Retention& retention);
  // Rows of one day.
  enum class Outcome : std::uint8_t {
    written,
    locked,  // by another program: they may be written later
    failed
  };
  Outcome write(std::span<const RequestRow> rows, Day day, std::int64_t now);
  // By age nothing that only a jump of the clock makes old (base/held_clock.h); the newest day on the disk says what
  // the clock should be.
  void remove_old(std::int64_t now);
  std::uint64_t bytes() const { return bytes_; }  // of all files, as of the last look; with what is to come
  void close() { file_.reset(); }

 private:
  static std::int64_t steady_milliseconds();
  tl::expected<void, DayError> try_to_write(std::span<const RequestRow> rows, Day day, std::int64_t now);
  tl::expected<void, DayError> open(Day day);
  void measure();                       // bytes_ and bytes_of_others_, by a look at the folder
  std::uint64_t bytes_on_disk() const;  // of file_, and what SQLite keeps beside it
  // By how much that may grow without a further row: SQLite moves what is beside the file to it whenever it likes.
  std::uint64_t bytes_to_come();
  void tell(const tl::expected<void, DayError>& outcome, std::size_t rows);

  std::int64_t (*const monotonic_)();
  std::filesystem::path folder_;
  Retention retention_;
  std::optional<HeldClock> clock_;  // of folder_, from the first look on
  Day day_;
  std::unique_ptr<DayFile> file_;  // of day_
  std::uint64_t bytes_ = 0;
  std::uint64_t bytes_of_others_ = 0;  // than file_, as of the last look at the folder
  bool is_in_trouble_ = false;
  std::uint64_t lost_ = 0;  // rows, since the trouble began
};

}  // namespace bloomwall::proxy
