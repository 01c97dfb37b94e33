// SPDX-License-Identifier: Apache-2.0
#include "filter/slices/work_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace bloomwall::filter {
namespace {

// A slice of ranges of addresses has the largest one; indexes and digests of 2^36 pages are below it.
constexpr std::uint64_t kMostSectionBytes = std::uint64_t{8} << 30;

Error in_file(Error error, const std::filesystem::path& path) {
  if (!error.where.empty()) error.what = error.where + ": " + error.what;
  error.where = path.string();
  return error;
}

}  // namespace

Result<WorkFile> WorkFile::open(const std::filesystem::path& path, WorkKind kind) {
  auto out = open(path);
  if (!out || out->header_.kind == kind) return out;
  return unexpected(Error{Errc::usage, path.string(),
                          fmt::format("is {}, where {} is wanted", to_string(out->header_.kind), to_string(kind))});
}

Result<WorkFile> WorkFile::open(const std::filesystem::path& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return system_error(path, "open");
  struct stat status{};
  if (fstat(fd.get(), &status) != 0) return system_error(path, "look at");
  if (!S_ISREG(status.st_mode)) return unexpected(Error{Errc::io, path.string(), "is no regular file"});
  WorkFile out(path, std::move(fd));
  const auto bytes = static_cast<std::uint64_t>(status.st_size);
  std::vector<std::byte> head(std::min<std::uint64_t>(bytes, kHeaderBytes));
  if (auto ok = out.read_at(0, head); !ok) return unexpected(std::move(ok).error());
  auto header = parse_work(head, bytes);
  if (!header) return unexpected(in_file(std::move(header).error(), path));
  out.header_ = *std::move(header);
  return out;
}

Result<void> WorkFile::read_at(std::uint64_t offset, std::span<std::byte> into) const {
  while (!into.empty()) {
    const ssize_t done = pread(file_.get(), into.data(), into.size(), static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return system_error(path_, "read");
    if (done == 0) return unexpected(Error{Errc::too_short, path_.string(), "was cut short while it was read"});
    into = into.subspan(static_cast<std::size_t>(done));
    offset += static_cast<std::uint64_t>(done);
  }
  return {};
}

void WorkFile::forget_cached(std::uint64_t offset, std::uint64_t bytes) const {
  posix_fadvise(file_.get(), static_cast<off_t>(offset), static_cast<off_t>(bytes), POSIX_FADV_DONTNEED);
}

Result<std::vector<std::byte>> WorkFile::section(WorkSection type) const {
  const WorkEntry* const entry = header_.find(type);
  if (entry == nullptr) return std::vector<std::byte>{};
  if (entry->length > kMostSectionBytes)
    return unexpected(Error{Errc::limit, path_.string(), "has a section that is larger than any can be"});
  std::vector<std::byte> out(entry->length);
  if (auto ok = read_at(entry->offset, out); !ok) return unexpected(std::move(ok).error());
  if (xxh128(out) == entry->sum) return out;
  return unexpected(Error{Errc::bad_digest, path_.string(),
                          fmt::format("section {} is damaged; make the file again", static_cast<unsigned>(type))});
}

Result<WorkWriter> WorkWriter::create(const std::filesystem::path& target, const FileAccess& access) {
  auto file = TempFile::create(target, access);
  if (!file) return unexpected(std::move(file).error());
  return WorkWriter(*std::move(file));
}

Result<void> WorkWriter::write_at(std::uint64_t offset, std::span<const std::byte> bytes) const {
  while (!bytes.empty()) {
    const ssize_t done = pwrite(file_.descriptor(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return system_error(file_.path(), "write");
    bytes = bytes.subspan(static_cast<std::size_t>(done));
    offset += static_cast<std::uint64_t>(done);
  }
  return {};
}

Result<void> WorkWriter::add(WorkSection type, std::span<const std::byte> bytes) {
  if (bytes.empty()) return {};
  const std::uint64_t at = begin(type);
  table_.back().sum = xxh128(bytes);
  end(bytes.size());
  return write_at(at, bytes);
}

std::uint64_t WorkWriter::begin(WorkSection type) {
  const std::uint64_t at = (end_ + kPageBytes - 1) / kPageBytes * kPageBytes;
  table_.push_back({.type = type, .offset = at});
  appended_ = 0;
  return at;
}

Result<void> WorkWriter::append(std::span<const std::byte> bytes) {
  const std::uint64_t at = table_.back().offset + appended_;
  appended_ += bytes.size();
  return write_at(at, bytes);
}

void WorkWriter::end(std::uint64_t length) {
  table_.back().length = length;
  if (length == 0) {
    table_.pop_back();
  } else {
    end_ = table_.back().offset + length;
  }
}

Result<void> WorkWriter::commit(WorkHeader& header) {
  header.sections = table_;
  header.file_bytes = end_;
  const std::vector<std::byte> bytes = serialise_work(header);
  if (auto ok = parse_work(bytes, end_); !ok) return unexpected(in_file(std::move(ok).error(), file_.target()));
  if (auto ok = write_at(0, bytes); !ok) return ok;
  return file_.commit();
}

}  // namespace bloomwall::filter
