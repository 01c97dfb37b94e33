// SPDX-License-Identifier: Apache-2.0
#include "proxy/query_log/log_writer.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "proxy/log/log.h"

namespace bloomwall::proxy {
namespace {

namespace fs = std::filesystem;

// The log has the same readers as the state.
tl::expected<void, DayError> make_folder(const fs::path& folder) {
  std::error_code error;
  if (fs::is_directory(folder, error)) return {};
  fs::create_directories(folder, error);
  if (error) return tl::unexpected(DayError{.what = folder.string() + ": " + error.message()});
  fs::permissions(folder, fs::perms::owner_all, error);
  return {};
}

// 0: it is not there.
std::uint64_t size_of(const fs::path& file) {
  std::error_code missing;
  const auto size = fs::file_size(file, missing);
  return missing ? 0 : size;
}

// The newest day that others stand near: one that stands alone may be of a clock that was ahead.
std::optional<std::int64_t> newest_on_record(const fs::path& folder) {
  constexpr std::chrono::days kNear{7};
  const auto all = days_in(folder);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i + 1 == all.size() || all[i].day - all[i + 1].day <= kNear) return start_of(all[i].day);
  }
  return std::nullopt;
}

}  // namespace

void LogWriter::use(const fs::path& folder, const Retention& retention) {
  if (folder != folder_) {
    file_.reset();
    clock_.reset();
  }
  folder_ = folder;
  retention_ = retention;
}

LogWriter::Outcome LogWriter::write(std::span<const RequestRow> rows, Day day, std::int64_t now) {
  auto outcome = try_to_write(rows, day, now);
  if (!outcome && outcome.error().is_damaged) {
    file_.reset();
    if (const auto aside = set_aside(folder_, day)) {
      log::error("query log: {}; it is {} now, and a new one begins", outcome.error().what, aside->string());
      outcome = try_to_write(rows, day, now);
    }
  }
  if (!outcome) file_.reset();
  tell(outcome, rows.size());
  if (outcome) return Outcome::written;
  return outcome.error().is_locked ? Outcome::locked : Outcome::failed;
}

tl::expected<void, DayError> LogWriter::try_to_write(std::span<const RequestRow> rows, Day day, std::int64_t now) {
  if (bytes_ > retention_.most && file_ != nullptr) {
    file_.reset();  // what SQLite keeps beside it goes with that
    measure();
  }
  if (bytes_ > retention_.most) remove_old(now);
  if (bytes_ > retention_.most) {
    return tl::unexpected(DayError{.what = day_path(folder_, day).string() + ": query_log.keep_size is reached"});
  }
  if (auto opened = open(day); !opened) return opened;
  auto appended = file_->append(rows);
  bytes_ = bytes_of_others_ + bytes_on_disk() + bytes_to_come();
  return appended;
}

tl::expected<void, DayError> LogWriter::open(Day day) {
  if (file_ != nullptr && day_ == day && !file_->is_disturbed()) return {};
  file_.reset();
  if (folder_.empty()) return tl::unexpected(DayError{.what = "there is no folder"});
  if (auto made = make_folder(folder_); !made) return made;
  auto opened = DayFile::open(day_path(folder_, day));
  if (!opened) return tl::unexpected(opened.error());
  file_ = *std::move(opened);
  day_ = day;
  measure();  // the file before has become smaller as it was closed
  return {};
}

void LogWriter::measure() {
  std::uint64_t on_disk = 0;
  for (const DayOnDisk& day : days_in(folder_)) on_disk += day.bytes;
  bytes_of_others_ = on_disk - std::min(on_disk, bytes_on_disk());
  bytes_ = on_disk + bytes_to_come();
}

void LogWriter::remove_old(std::int64_t now) {
  if (folder_.empty()) return;
  if (!clock_) clock_.emplace(newest_on_record(folder_));
  const bool was_held = clock_->is_held();
  const std::int64_t believed = clock_->time(now, monotonic_());
  if (clock_->is_held() && !was_held) {
    log::warning(
        "query log: the clock is ahead of what it should be by more than a day; no day is removed by its age "
        "until that has held for an hour");
  }
  const std::uint64_t to_come = bytes_to_come();
  const Retention left{.keep = retention_.keep, .most = retention_.most - std::min(retention_.most, to_come)};
  const std::uint64_t on_disk = remove_old_days(folder_, left, now, believed);
  bytes_of_others_ = on_disk - std::min(on_disk, bytes_on_disk());
  bytes_ = on_disk + to_come;
}

std::int64_t LogWriter::steady_milliseconds() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(steady_clock::now().time_since_epoch()).count();
}

std::uint64_t LogWriter::bytes_on_disk() const {
  if (file_ == nullptr) return 0;
  std::uint64_t sum = 0;
  for (const char* const end : {"", "-wal", "-shm"}) sum += size_of(fs::path(day_path(folder_, day_)) += end);
  return sum;
}

std::uint64_t LogWriter::bytes_to_come() {
  if (file_ == nullptr) return 0;
  const std::uint64_t now = size_of(day_path(folder_, day_)), later = file_->bytes();
  return later - std::min(now, later);
}

void LogWriter::tell(const tl::expected<void, DayError>& outcome, std::size_t rows) {
  if (!outcome) {
    const bool is_locked = outcome.error().is_locked;
    if (!is_locked) lost_ += rows;
    if (std::exchange(is_in_trouble_, true)) return;
    log::warning(
        "query log: {}; {}", outcome.error().what,
        is_locked ? "another program holds it, and what is to be recorded waits" : "requests are not recorded");
  } else if (std::exchange(is_in_trouble_, false)) {
    log::info("query log: requests are recorded again; {} were not", std::exchange(lost_, 0));
  }
}

}  // namespace bloomwall::proxy
