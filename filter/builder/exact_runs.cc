// SPDX-License-Identifier: Apache-2.0
#include "filter/builder/exact_runs.h"

#include <fcntl.h>

#include <algorithm>
#include <queue>
#include <utility>

namespace bloomwall::filter {
namespace {

constexpr std::size_t kLeastHeld = std::size_t{1} << 18;  // 2 MiB
constexpr std::size_t kReadNumbers = std::size_t{1} << 14;

}  // namespace

ExactRuns::ExactRuns(std::filesystem::path folder, std::uint64_t ram_bytes)
    : folder_(std::move(folder)), most_held_(std::max<std::size_t>(kLeastHeld, ram_bytes / sizeof(std::uint64_t))) {}

Result<void> ExactRuns::add(std::span<const std::uint64_t> numbers) {
  if (held_.size() + numbers.size() > most_held_) {
    if (auto ok = spill(); !ok) return ok;
  }
  // Growth by doubling would take half as much again as is allowed.
  if (held_.capacity() < held_.size() + numbers.size()) {
    held_.reserve(std::min(most_held_, std::max(kLeastHeld, 2 * held_.capacity())));
  }
  held_.insert(held_.end(), numbers.begin(), numbers.end());
  return {};
}

void ExactRuns::sort_held() {
  std::sort(held_.begin(), held_.end());
  held_.erase(std::unique(held_.begin(), held_.end()), held_.end());
}

Result<void> ExactRuns::spill() {
  if (held_.empty()) return {};
  if (!file_) {
    file_ = Descriptor(::open(folder_.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
    if (!file_) return system_error(folder_, "make a temporary file in it");
  }
  sort_held();
  auto bytes = std::as_bytes(std::span(held_));
  runs_.push_back({.offset = end_, .count = held_.size()});
  while (!bytes.empty()) {
    const ssize_t done = ::pwrite(file_.get(), bytes.data(), bytes.size(), static_cast<off_t>(end_));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return system_error(folder_, "write a temporary file in it");
    bytes = bytes.subspan(static_cast<std::size_t>(done));
    end_ += static_cast<std::uint64_t>(done);
  }
  held_.clear();
  return {};
}

Result<void> ExactRuns::read(Run& run, std::vector<std::uint64_t>& into) const {
  into.resize(std::min<std::uint64_t>(run.count, kReadNumbers));
  auto bytes = std::as_writable_bytes(std::span(into));
  std::uint64_t at = run.offset;
  while (!bytes.empty()) {
    const ssize_t got = ::pread(file_.get(), bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error(folder_, "read a temporary file in it");
    if (got == 0) return system_error(folder_, "read a temporary file in it", EIO);
    bytes = bytes.subspan(static_cast<std::size_t>(got));
    at += static_cast<std::uint64_t>(got);
  }
  run.offset = at;
  run.count -= into.size();
  return {};
}

Result<void> ExactRuns::drain(const std::function<Result<void>(std::uint64_t)>& take) {
  if (!runs_.empty()) {
    if (auto ok = spill(); !ok) return ok;
    held_ = {};
    return merge(take);
  }
  sort_held();
  for (const std::uint64_t number : held_) {
    if (auto ok = take(number); !ok) return ok;
  }
  held_ = {};
  return {};
}

Result<void> ExactRuns::merge(const std::function<Result<void>(std::uint64_t)>& take) {
  struct Source {
    std::vector<std::uint64_t> numbers;
    std::size_t at = 0;
  };
  std::vector<Source> sources(runs_.size());
  using Head = std::pair<std::uint64_t, std::size_t>;  // smallest number left, source
  std::priority_queue<Head, std::vector<Head>, std::greater<>> heads;
  const auto refill = [&](std::size_t i) -> Result<void> {
    Source& source = sources[i];
    if (source.at == source.numbers.size()) {
      source.at = 0;
      if (auto ok = read(runs_[i], source.numbers); !ok) return ok;
    }
    if (!source.numbers.empty()) heads.emplace(source.numbers[source.at++], i);
    return {};
  };
  for (std::size_t i = 0; i < sources.size(); ++i) {
    if (auto ok = refill(i); !ok) return ok;
  }
  for (std::optional<std::uint64_t> last; !heads.empty();) {
    const auto [number, source] = heads.top();
    heads.pop();
    if (number != last) {
      if (auto ok = take(number); !ok) return ok;
    }
    last = number;
    if (auto ok = refill(source); !ok) return ok;
  }
  return {};
}

}  // namespace bloomwall::filter
