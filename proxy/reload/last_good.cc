// SPDX-License-Identifier: Apache-2.0
#include "proxy/reload/last_good.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <system_error>
#include <utility>

#include "base/encoding.h"
#include "filter/file/exact_side.h"
#include "filter/file/kept_file.h"
#include "filter/file/leaves.h"
#include "filter/file/temp_file.h"
#include "filter/policy/list_exceptions.h"

namespace bloomwall::proxy {
namespace {

namespace fs = std::filesystem;
using filter::Result;
using nlohmann::ordered_json;

constexpr const char* kRecord = "served";
constexpr const char* kFolder = "filter.";  // and the filter's name
constexpr std::size_t kMostRecord = std::size_t{64} << 10;
constexpr int kFormat = 1;

// What the record says.
struct Record {
  filter::FilterFiles configured, kept;  // kept: absolute
  std::string header;                    // SHA-256 of the header of the base
  std::int64_t since = 0;
};

std::string sum_of(std::span<const std::byte> header) { return to_hex(filter::sha256(header)); }

// Empty where it cannot be read.
std::string header_digest_of(const fs::path& file) {
  std::array<char, filter::kHeaderBytes> head{};
  std::ifstream in(file, std::ios::binary);
  if (!in.read(head.data(), head.size())) return {};
  return sum_of(std::as_bytes(std::span(head)));
}

ordered_json json_of(const filter::FilterFiles& files) {
  return {{"file", files.file.string()}, {"delta", files.delta.string()}, {"exact", files.exact.string()}};
}

std::string text_of(const Record& record) {
  const ordered_json json = {{"format", kFormat},
                             {"since", record.since},
                             {"header", record.header},
                             {"configured", json_of(record.configured)},
                             {"kept", json_of(record.kept)}};
  return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

std::optional<filter::FilterFiles> files_at(const ordered_json& json, const char* key) {
  const auto at = json.find(key);
  if (at == json.end() || !at->is_object()) return std::nullopt;
  const auto text = [&](const char* name) { return at->value(name, std::string()); };
  return filter::FilterFiles{.file = text("file"), .delta = text("delta"), .exact = text("exact")};
}

// Nothing where there is none, or it is none of ours.
std::optional<Record> read_record(const fs::path& folder) {
  std::ifstream in(folder / kRecord, std::ios::binary);
  std::string text(kMostRecord, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  try {
    const ordered_json json = ordered_json::parse(text, nullptr, false);
    if (!json.is_object() || json.value("format", 0) != kFormat) return std::nullopt;
    const auto configured = files_at(json, "configured"), kept = files_at(json, "kept");
    if (!configured || !kept) return std::nullopt;
    return Record{.configured = *configured,
                  .kept = *kept,
                  .header = json.value("header", std::string()),
                  .since = json.value("since", std::int64_t{0})};
  } catch (const ordered_json::exception&) {  // a value of another type
    return std::nullopt;
  }
}

bool is_file(const fs::path& file) {
  std::error_code ignored;
  return fs::is_regular_file(file, ignored);
}

bool are_same(const fs::path& left, const fs::path& right) {
  std::ifstream a(left, std::ios::binary), b(right, std::ios::binary);
  const auto begin = [](std::ifstream& in) { return std::istreambuf_iterator<char>(in); };
  const std::istreambuf_iterator<char> end;
  return a && b && std::equal(begin(a), end, begin(b), end);
}

// What lists except stands beside what they are excepted from; where there is no such file, none is kept.
Result<void> keep_beside(const fs::path& from, const fs::path& target) {
  const auto version = filter::version_of(from);
  std::error_code ignored;
  if (version && are_same(from, target)) return {};
  if (version) return filter::keep_copy(from, version, target);
  fs::remove(target, ignored);
  return {};
}

// Tells one text under a name from the next: a program may set the time of the last write, but not that of the last
// change.
std::string name_of_delta(const filter::FileVersion& version) {
  return fmt::format("{}.{:09}.{}.{:09}.{}.{}.delta", version.seconds, version.nanoseconds, version.stamp.seconds,
                     version.stamp.nanoseconds, version.stamp.size, version.stamp.inode);
}

// Nobody else may say, by a link, where files are removed.
bool is_own_folder(const fs::path& folder) {
  struct stat status{};
  return ::lstat(folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == ::geteuid();
}

Result<fs::path> keep_base(const filter::Policy::FilterState& state, const fs::path& folder) {
  fs::path target = folder / (sum_of(state.file->header_bytes()).substr(0, 32) + ".bwf");
  const auto is_kept = state.file->keep_served(target, is_file(target));
  if (!is_kept) return filter::unexpected(is_kept.error());
  if (!*is_kept) return fs::absolute(state.spec.file);
  if (!state.spec.public_key.empty()) return target;  // nobody signs what lists except, so it does not count
  const filter::FileId content = content_id(state.file->header());
  auto beside =
      keep_beside(filter::exceptions_file(state.spec.file, content), filter::exceptions_file(target, content));
  if (!beside) return filter::unexpected(std::move(beside).error());
  return target;
}

Result<fs::path> keep_delta(const filter::Policy::FilterState& state, const fs::path& folder) {
  if (state.spec.delta.empty()) return fs::path();
  if (!state.delta_version) {
    return filter::unexpected(
        filter::Error{filter::Errc::io, state.spec.delta.string(), "was being written as it was read"});
  }
  fs::path target = folder / name_of_delta(*state.delta_version);
  if (!is_file(target)) {
    auto copied = filter::keep_copy(state.spec.delta, state.delta_version, target);
    if (!copied) return filter::unexpected(std::move(copied).error());
  }
  if (!state.spec.public_key.empty()) return target;
  auto beside =
      keep_beside(filter::exceptions_file_of_delta(state.spec.delta), filter::exceptions_file_of_delta(target));
  if (!beside) return filter::unexpected(std::move(beside).error());
  return target;
}

Result<fs::path> keep_exact(const filter::Policy::FilterState& state, const fs::path& folder) {
  if (state.exact == nullptr) return fs::path();
  const fs::path target = folder / (to_hex(state.exact->header().sha_root).substr(0, 32) + ".bwx");
  const auto is_kept = state.exact->keep_served(target, is_file(target));
  if (!is_kept) return filter::unexpected(is_kept.error());
  return *is_kept ? target : fs::absolute(state.spec.exact);
}

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code ignored;
  for (fs::directory_iterator at(folder, ignored), end; at != end; at.increment(ignored)) entries.push_back(at->path());
  return entries;
}

// By its name, whatever process has left it.
bool is_ours(const fs::path& file) {
  const std::string name = file.filename().string();
  return name == kRecord || name.starts_with(std::string(kRecord) + ".") ||
         std::ranges::any_of(std::array{".bwf", ".bwx", ".delta"},
                             [&](const char* ending) { return name.find(ending) != std::string::npos; });
}

void remove_others(const fs::path& folder, const Record& record) {
  const auto belongs = [&](const std::string& name) {
    if (name == kRecord) return true;
    const auto& all = {record.kept.file, record.kept.delta, record.kept.exact};
    return std::ranges::any_of(all, [&](const fs::path& file) {
      return !file.empty() && file.parent_path() == folder && name.starts_with(file.filename().string());
    });
  };
  for (const fs::path& file : entries_of(folder)) {
    if (!belongs(file.filename().string()) && is_ours(file)) ::unlink(file.c_str());
  }
}

}  // namespace

LastGood::LastGood(fs::path state_folder) {
  std::error_code ignored;
  if (!state_folder.empty() && fs::is_directory(state_folder, ignored)) {
    folder_ = fs::absolute(state_folder, ignored) / "last_good";
  }
}

fs::path LastGood::folder_of(const std::string& filter) const { return folder_ / (kFolder + filter); }

std::optional<LastGood::Found> LastGood::find(const conf::Filter& filter) const {
  if (folder_.empty()) return std::nullopt;
  const auto record = read_record(folder_of(filter.name));
  if (!record || record->configured != filter::FilterFiles{filter.file, filter.delta, filter.exact})
    return std::nullopt;
  const bool is_there = (record->kept.delta.empty() || is_file(record->kept.delta)) &&
                        (record->kept.exact.empty() || is_file(record->kept.exact)) && !record->header.empty() &&
                        header_digest_of(record->kept.file) == record->header;
  if (!is_there) return std::nullopt;
  return Found{.files = record->kept, .since = record->since};
}

LastGood::Outcome LastGood::keep(const filter::Policy& policy, const MayTake& may_take) const {
  Outcome out;
  if (folder_.empty()) return out;
  std::set<fs::path> known;
  for (const auto& state : policy.filters()) {
    const std::string& name = state.spec.name;
    known.insert(folder_of(name));
    const auto before = read_record(folder_of(name));
    if (before) out.since[name] = before->since;
    if (!state.refused.empty() || state.file->lost()) continue;
    if (may_take) may_take(state.file->header().file_bytes);
    const auto since = keep(state);
    if (since) {
      out.since[name] = *since;
    } else {
      out.warnings.push_back(
          fmt::format("filter {}: what is served now was not kept for the next start: {}", name, since.error().text()));
    }
  }
  if (!is_own_folder(folder_)) return out;
  for (const fs::path& folder : entries_of(folder_)) {
    if (known.contains(folder) || !folder.filename().string().starts_with(kFolder) || !is_own_folder(folder)) continue;
    for (const fs::path& file : entries_of(folder)) {
      if (is_ours(file)) ::unlink(file.c_str());
    }
    ::rmdir(folder.c_str());
  }
  return out;
}

Result<std::int64_t> LastGood::keep(const filter::Policy::FilterState& state) const {
  const fs::path folder = folder_of(state.spec.name);
  for (const fs::path& each : {folder_, folder}) {
    if (::mkdir(each.c_str(), 0700) != 0 && errno != EEXIST) return filter::system_error(each, "make");
    if (!is_own_folder(each)) {
      return filter::unexpected(
          filter::Error{filter::Errc::io, each.string(), "is a link, or no folder of this user: remove it"});
    }
  }
  Record record{.configured = {state.spec.file, state.spec.delta, state.spec.exact},
                .kept = {},
                .header = sum_of(state.file->header_bytes()),
                .since = std::time(nullptr)};
  auto base = keep_base(state, folder);
  if (!base) return filter::unexpected(std::move(base).error());
  auto delta = keep_delta(state, folder);
  if (!delta) return filter::unexpected(std::move(delta).error());
  auto exact = keep_exact(state, folder);
  if (!exact) return filter::unexpected(std::move(exact).error());
  record.kept = {*std::move(base), *std::move(delta), *std::move(exact)};
  const auto before = read_record(folder);
  if (before && before->configured == record.configured && before->kept == record.kept &&
      before->header == record.header) {
    record.since = before->since;
  } else if (auto written = filter::replace_file(folder / kRecord, text_of(record), {.mode = 0600}); !written) {
    return filter::unexpected(std::move(written).error());
  }
  remove_others(folder, record);
  return record.since;
}

}  // namespace bloomwall::proxy
