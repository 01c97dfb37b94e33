// SPDX-License-Identifier: Apache-2.0
#include "filter/builder/exact_writer.h"

#include <fcntl.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

#include "base/handles.h"
#include "filter/file/leaves.h"
#include "filter/file/temp_file.h"
#include "filter/result.h"

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
  // Reserved at once: growth by doubling would take half as much again as is allowed.
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
    file_ = UniqueFd(::open(folder_.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
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

namespace {

constexpr std::size_t kFingerprintsABatch = 4096;

// What follows the header, leaf by leaf.
class BodyWriter {
 public:
  explicit BodyWriter(const TempFile& file) : file_(file) { leaf_.reserve(kLeafBytes); }

  Result<void> add(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const std::size_t part = std::min<std::size_t>(bytes.size(), kLeafBytes - leaf_.size());
      leaf_.insert(leaf_.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(part));
      bytes = bytes.subspan(part);
      if (leaf_.size() < kLeafBytes) continue;
      if (auto ok = put(); !ok) return ok;
    }
    return {};
  }
  Result<Roots> finish() {
    if (auto ok = leaf_.empty() ? Result<void>{} : put(); !ok) return unexpected(ok.error());
    return roots_.finish();
  }
  std::uint64_t end() const { return end_; }
  Result<void> write_at(std::uint64_t offset, std::span<const std::byte> bytes) const {
    while (!bytes.empty()) {
      const ssize_t done = ::pwrite(file_.descriptor(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
      if (done < 0 && errno == EINTR) continue;
      if (done < 0) return system_error(file_.path(), "write");
      bytes = bytes.subspan(static_cast<std::size_t>(done));
      offset += static_cast<std::uint64_t>(done);
    }
    return {};
  }

 private:
  Result<void> put() {
    roots_.add(digest_leaf(leaf_));
    if (auto ok = write_at(end_, leaf_); !ok) return ok;
    end_ += leaf_.size();
    leaf_.clear();
    return {};
  }
  const TempFile& file_;
  std::vector<std::byte> leaf_;
  RootStream roots_;
  std::uint64_t end_ = kHeaderBytes;
};

}  // namespace

struct ExactWriter::State {
  State(std::filesystem::path its_target, std::filesystem::path folder, std::uint64_t ram_bytes)
      : target(std::move(its_target)), runs(std::move(folder), ram_bytes) {}

  std::filesystem::path target;
  FileAccess access;
  mutable std::mutex mutex;  // of the two below, while entries are read
  ExactRuns runs;
  Result<void> outcome;
  std::vector<std::vector<std::uint64_t>> batches;  // one a worker
  std::optional<TempFile> written;

  void hand_over(std::vector<std::uint64_t>& batch) {
    const std::lock_guard lock(mutex);
    if (outcome) outcome = runs.add(batch);
    batch.clear();
  }
  Result<void> write_pages(BodyWriter& body, ExactHeader& header);
};

std::filesystem::path exact_side_of(const std::filesystem::path& filter) {
  std::filesystem::path out = filter;
  return out.replace_extension(".bwx");
}

ExactWriter::ExactWriter(const std::filesystem::path& target, std::uint64_t ram_bytes, const FileAccess& access) {
  const std::filesystem::path folder = target.parent_path();
  state_ = std::make_unique<State>(target, folder.empty() ? "." : folder, ram_bytes);
  state_->access = access;
}
ExactWriter::~ExactWriter() = default;

void ExactWriter::expect_workers(unsigned workers) {
  if (state_->batches.size() < workers) state_->batches.resize(workers);
}

void ExactWriter::seen(unsigned worker, const EntryKeys& keys) {
  std::vector<std::uint64_t>& batch = state_->batches[worker];
  batch.push_back(exact_fingerprint(keys.kind, is_host_kind(keys.kind) ? keys.host : keys.key));
  if (batch.size() >= kFingerprintsABatch) state_->hand_over(batch);
}

Result<void> ExactWriter::check() const {
  const std::lock_guard lock(state_->mutex);
  return state_->outcome;
}

Result<void> ExactWriter::State::write_pages(BodyWriter& body, ExactHeader& header) {
  ExactPageWriter page;
  std::vector<std::uint64_t> directory;
  const auto put_page = [&]() -> Result<void> {
    directory.push_back(page.first());
    return body.add(page.take());
  };
  const auto take = [&](std::uint64_t fingerprint) -> Result<void> {
    ++header.fingerprints;
    if (page.add(fingerprint)) return {};
    if (auto ok = put_page(); !ok) return ok;
    page.add(fingerprint);
    return {};
  };
  if (auto ok = runs.drain(take); !ok) return ok;
  if (!page.empty()) {
    if (auto ok = put_page(); !ok) return ok;
  }
  header.pages = directory.size();
  return body.add(std::as_bytes(std::span(directory)));
}

Result<ExactHeader> ExactWriter::write(const FileId& filter) {
  for (std::vector<std::uint64_t>& batch : state_->batches) state_->hand_over(batch);
  if (!state_->outcome) return unexpected(state_->outcome.error());
  ExactHeader header;
  header.filter = filter;
  auto file = TempFile::create(state_->target, state_->access);
  if (!file) return unexpected(std::move(file).error());
  BodyWriter body(*file);
  if (auto ok = state_->write_pages(body, header); !ok) return unexpected(std::move(ok).error());
  const auto roots = body.finish();
  if (!roots) return unexpected(roots.error());
  header.file_bytes = body.end();
  header.xxh_root = roots->xxh;
  header.sha_root = roots->sha;
  if (auto ok = body.write_at(0, serialise_exact_header(header)); !ok) return unexpected(std::move(ok).error());
  if (auto ok = file->prepare(); !ok) return unexpected(std::move(ok).error());
  state_->written.emplace(*std::move(file));
  return header;
}

TempFile& ExactWriter::written() { return *state_->written; }

}  // namespace bloomwall::filter
