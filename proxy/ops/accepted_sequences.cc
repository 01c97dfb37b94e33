// SPDX-License-Identifier: Apache-2.0
#include "proxy/ops/accepted_sequences.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <system_error>

#include "filter/file/temp_file.h"

namespace bloomwall::proxy {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFirstLine = "bloomwall-sequences 1";
constexpr const char* kFileName = "sequences";

std::string_view take_until(std::string_view& rest, char end) {
  const std::size_t at = std::min(rest.find(end), rest.size());
  const std::string_view word = rest.substr(0, at);
  rest.remove_prefix(std::min(at + 1, rest.size()));
  return word;
}

std::optional<std::uint64_t> number_of(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string older(const fs::path& file, std::uint64_t sequence, std::uint64_t seen, const char* what) {
  return fmt::format("{}: {} {} is older than {}, which was served before", file.string(), what, sequence, seen);
}

}  // namespace

Doubts doubts_of(const filter::Policy& policy, std::chrono::system_clock::time_point now) {
  Doubts out;
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
  for (const auto& state : policy.filters()) {
    const filter::Header& header = state.file->header();
    if (header.valid_until != 0 &&
        header.valid_until < static_cast<std::uint64_t>(std::max<std::int64_t>(seconds, 0))) {
      out.warnings.push_back(fmt::format("{}: was valid until {:%Y-%m-%d %H:%M:%S}Z alone", state.spec.file.string(),
                                         fmt::gmtime(static_cast<std::time_t>(header.valid_until))));
    }
    if (!state.rebuild_due()) continue;
    out.warnings.push_back(fmt::format(
        "{}: {} entries are {:.1f} % of the filter {}, more than {:.0f} %: a rebuild is due; the filter's error is "
        "{:.2e} "
        "on unlisted hosts, {:.2e} on listed ones",
        state.spec.delta.string(), state.delta_entries, 100 * state.delta_share(), state.spec.name,
        100 * state.spec.rebuild_at, header.predicted.unlisted_host.mean, header.predicted.listed_host.mean));
  }
  return out;
}

tl::expected<AcceptedSequences, std::string> AcceptedSequences::load(const fs::path& folder) {
  if (folder.empty()) return AcceptedSequences{};
  const fs::path file = folder / kFileName;
  std::error_code error;
  const fs::file_status status = fs::status(file, error);
  if (status.type() == fs::file_type::not_found) return AcceptedSequences{};
  std::ifstream in(file, std::ios::binary);
  std::string text(kMaxBytes + 1, '\0');
  if (in) in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (error || !fs::is_regular_file(status) || in.bad() || (in.fail() && !in.eof())) {
    return tl::unexpected(fmt::format("{}: can't be read", file.string()));
  }
  text.resize(static_cast<std::size_t>(in.gcount()));
  return parse(text, file.string());
}

tl::expected<AcceptedSequences, std::string> AcceptedSequences::parse(std::string_view text, const std::string& name) {
  AcceptedSequences out;
  std::size_t number = 1;
  const auto refuse = [&](const char* what) { return tl::unexpected(fmt::format("{}:{}: {}", name, number, what)); };
  if (text.size() > kMaxBytes) return refuse("over 1 MiB");
  if (take_until(text, '\n') != kFirstLine) return refuse("not a file of sequences");
  while (!text.empty()) {
    ++number;
    std::string_view line = take_until(text, '\n');
    const std::string_view filter_name = take_until(line, ' ');
    const auto series = filter::parse_file_id(take_until(line, ' '));
    const auto sequence = number_of(take_until(line, ' '));
    const auto base = filter::parse_file_id(take_until(line, ' '));
    const auto delta = number_of(line);
    if (filter_name.empty() || !series || !sequence || !base || !delta) return refuse("not a record of a filter");
    raise(out.records_[{std::string(filter_name), *series}], {.sequence = *sequence, .base = *base, .delta = *delta});
    if (out.records_.size() > kMaxRecords) return refuse("more than 4096 filters");
  }
  return out;
}

void AcceptedSequences::judge(const filter::Policy& policy, Doubts& doubts) const {
  for (const auto& state : policy.filters()) {
    const filter::Header& header = state.file->header();
    const auto known = records_.find({state.spec.name, header.series_id});
    if (known == records_.end()) continue;
    const Record& record = known->second;
    const auto doubt = [&](std::string what) {
      if (state.spec.public_key.empty()) return doubts.warnings.push_back(std::move(what));
      doubts.refusals.push_back(std::move(what) + "; to go back on purpose remove its line from the file of sequences");
    };
    if (header.sequence < record.sequence) {
      doubt(older(state.spec.file, header.sequence, record.sequence, "sequence"));
    }
    const bool same_base = filter::content_id(header) == record.base && !state.spec.delta.empty();
    if (same_base && state.delta_sequence < record.delta) {
      doubt(older(state.spec.delta, state.delta_sequence, record.delta, "sequence of the delta"));
    }
  }
}

void AcceptedSequences::raise(Record& record, const Record& other) {
  if (other.sequence < record.sequence) return;
  const bool same_base = other.base == record.base && other.sequence == record.sequence;
  const std::uint64_t delta = same_base ? std::max(record.delta, other.delta) : other.delta;
  record = {.sequence = other.sequence, .base = other.base, .delta = delta};
}

void AcceptedSequences::accept(const filter::Policy& policy) {
  for (const auto& state : policy.filters()) {
    const filter::Header& header = state.file->header();
    raise(records_[{state.spec.name, header.series_id}],
          {.sequence = header.sequence, .base = filter::content_id(header), .delta = state.delta_sequence});
  }
}

void AcceptedSequences::merge(const AcceptedSequences& other) {
  for (const auto& [key, record] : other.records_) raise(records_[key], record);
}

std::string AcceptedSequences::text() const {
  std::string out(kFirstLine);
  out += '\n';
  for (const auto& [key, record] : records_) {
    out += fmt::format("{} {} {} {} {}\n", key.first, filter::to_hex(key.second), record.sequence,
                       filter::to_hex(record.base), record.delta);
  }
  return out;
}

tl::expected<void, std::string> AcceptedSequences::save(const fs::path& folder, bool make_folder) const {
  if (folder.empty() || records_.empty()) return {};
  std::error_code error;
  if (make_folder) fs::create_directories(folder, error);
  if (error) return tl::unexpected(fmt::format("{}: {}", folder.string(), error.message()));
  if (!fs::is_directory(folder, error)) return {};
  if (const auto there = load(folder); there && there->records_ == records_) return {};
  if (const auto saved = filter::replace_file(folder / kFileName, text()); !saved) {
    return tl::unexpected(saved.error().text());
  }
  return {};
}

fs::path state_folder(const conf::Config& settings) {
  if (settings.state_dir != conf::kDefaultStateDir) return settings.state_dir;
  const char* const given = std::getenv("STATE_DIRECTORY");
  if (given == nullptr || *given == '\0') return settings.state_dir;
  std::string_view folders(given);
  return take_until(folders, ':');
}

bool any_public_key(const conf::Config& settings) {
  return std::any_of(settings.filters.begin(), settings.filters.end(),
                     [](const conf::Filter& filter) { return !filter.public_key.empty(); });
}

}  // namespace bloomwall::proxy
