// SPDX-License-Identifier: Apache-2.0
#include "proxy/reload/rollback_protection.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <system_error>
#include <tuple>
#include <utility>

#include "base/encoding.h"
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

filter::Error older(const fs::path& file, std::uint64_t sequence, std::uint64_t seen, const char* what) {
  return {filter::Errc::outdated, file.string(),
          fmt::format("{} {} is older than {}, which was served before", what, sequence, seen)};
}

}  // namespace

Findings findings_of(const filter::Policy& policy, std::chrono::system_clock::time_point now) {
  Findings out;
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
  for (const auto& state : policy.filters()) {
    const filter::Header& header = state.file->header();
    if (header.valid_until != 0 &&
        header.valid_until < static_cast<std::uint64_t>(std::max<std::int64_t>(seconds, 0))) {
      out.warnings.push_back(fmt::format("{}: was valid until {:%Y-%m-%d %H:%M:%S}Z alone", state.spec.file.string(),
                                         fmt::gmtime(static_cast<std::time_t>(header.valid_until))));
    }
    if (!state.rebuild_due()) continue;
    const filter::Policy::RequestError error = state.predicted_error();
    out.warnings.push_back(fmt::format(
        "{}: {} entries are {:.1f} % of the filter {}, more than {:.0f} %: a rebuild is due; the filter's error is "
        "{:.2e} "
        "on unlisted hosts, {:.2e} on listed ones",
        state.spec.delta.string(), state.delta_entries, 100 * state.delta_share(), state.spec.name,
        100 * state.spec.rebuild_at, error.unlisted_host, error.listed_host));
  }
  return out;
}

tl::expected<RollbackProtection, std::string> RollbackProtection::load(const fs::path& folder) {
  if (folder.empty()) return RollbackProtection{};
  const fs::path file = folder / kFileName;
  RollbackProtection none;
  none.file_ = file;
  std::error_code error;
  const fs::file_status status = fs::status(file, error);
  if (status.type() == fs::file_type::not_found) return none;
  std::ifstream in(file, std::ios::binary);
  std::string text(kMaxBytes + 1, '\0');
  if (in) in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (error || !fs::is_regular_file(status) || in.bad() || (in.fail() && !in.eof())) {
    return tl::unexpected(fmt::format("{}: can't be read", file.string()));
  }
  text.resize(static_cast<std::size_t>(in.gcount()));
  auto out = parse(text, file.string());
  if (out) out->file_ = file;
  return out;
}

tl::expected<RollbackProtection, std::string> RollbackProtection::parse(std::string_view text,
                                                                        const std::string& name) {
  RollbackProtection out;
  std::size_t number = 1;
  const auto refuse = [&](const char* what) { return tl::unexpected(fmt::format("{}:{}: {}", name, number, what)); };
  if (text.size() > kMaxBytes) return refuse("over 1 MiB");
  if (take_until(text, '\n') != kFirstLine) return refuse("not a file of sequences");
  while (!text.empty()) {
    ++number;
    std::string_view line = take_until(text, '\n');
    const std::string_view filter_name = take_until(line, ' ');
    const auto series = parse_hex<sizeof(filter::FileId)>(take_until(line, ' '));
    const auto sequence = number_of(take_until(line, ' '));
    const auto content = parse_hex<sizeof(filter::FileId)>(take_until(line, ' '));
    const auto delta = number_of(take_until(line, ' '));
    const auto created = line.empty() ? std::optional<std::uint64_t>(0) : number_of(line);
    if (filter_name.empty() || !series || !sequence || !content || !delta || !created) {
      return refuse("not a record of a filter");
    }
    if (number > kMaxRecords + 1) return refuse("more than 4096 records");
    Known& known = out.known_[std::string(filter_name)];
    if (known.series != *series) known = {.series = *series, .contents = {}};
    raise(known, {.sequence = *sequence, .created = *created, .content = *content, .delta = *delta});
  }
  return out;
}

std::string RollbackProtection::override_hint(const std::string& name) const {
  if (file_.empty()) return "; to accept it on purpose restart bloomwall (there is no state_dir)";
  return fmt::format("; to accept it on purpose remove the lines of {} from {} and reload", name, file_.string());
}

void RollbackProtection::check(const filter::Policy& policy, Findings& findings) const {
  for (const auto& state : policy.filters()) check(state, findings);
}

void RollbackProtection::check(const filter::Policy::FilterState& state, Findings& findings) const {
  const auto known = known_.find(state.spec.name);
  if (known != known_.end()) check(state, known->second, findings);
}

void RollbackProtection::check(const filter::Policy::FilterState& state, const Known& known, Findings& findings) const {
  const bool is_signed = !state.spec.public_key.empty();
  const auto report = [&](filter::Error what) {
    if (!is_signed) return findings.warnings.push_back(what.text());
    what.what += override_hint(state.spec.name);
    findings.refusals.push_back(std::move(what));
  };
  const filter::Header& header = state.file->header();
  if (header.series_id != known.series) {
    if (is_signed) {
      report({filter::Errc::outdated, state.spec.file.string(),
              fmt::format("is of another series than what was served as {} before: the file of another filter?",
                          state.spec.name)});
    }
    return;
  }
  const Record& last = known.contents.back();
  const filter::FileId content = filter::content_id(header);
  if (header.sequence < last.sequence) {
    report(older(state.spec.file, header.sequence, last.sequence, "sequence"));
  } else if (header.sequence == last.sequence && content != last.content && header.created <= last.created) {
    report({filter::Errc::outdated, state.spec.file.string(),
            fmt::format("has the sequence {} of what was served before and another content, but was not made later",
                        header.sequence)});
  }
  const std::uint64_t delta = known.delta_of(content);
  if (!state.spec.delta.empty() && state.delta_sequence < delta) {
    report(older(state.spec.delta, state.delta_sequence, delta, "sequence of the delta"));
  }
}

std::uint64_t RollbackProtection::Known::delta_of(const filter::FileId& content) const {
  const auto at = std::find_if(contents.begin(), contents.end(), [&](const Record& r) { return r.content == content; });
  return at == contents.end() ? 0 : at->delta;
}

void RollbackProtection::raise(Known& known, const Record& other) {
  std::vector<Record>& all = known.contents;
  const auto age = [](const Record& record) { return std::pair(record.sequence, record.created); };
  const bool is_newest = all.empty() || age(other) >= age(all.back());
  const auto at = std::find_if(all.begin(), all.end(), [&](const Record& r) { return r.content == other.content; });
  Record record = other;
  if (at != all.end()) {
    record.delta = std::max(record.delta, at->delta);
    if (age(*at) > age(record)) std::tie(record.sequence, record.created) = age(*at);
    if (!is_newest) {
      *at = record;
      return;
    }
    all.erase(at);
  }
  std::erase_if(all, [&](const Record& r) { return is_newest && r.delta == 0; });
  if (is_newest) all.push_back(record);
  if (!is_newest && record.delta != 0) all.insert(all.begin(), record);
  if (all.size() > kMaxContents) all.erase(all.begin());
}

void RollbackProtection::accept(const filter::Policy& policy) {
  for (const auto& state : policy.filters()) {
    const filter::Header& header = state.file->header();
    Known& known = known_[state.spec.name];
    if (known.series != header.series_id) known = {.series = header.series_id, .contents = {}};
    raise(known, {.sequence = header.sequence,
                  .created = header.created,
                  .content = filter::content_id(header),
                  .delta = state.delta_sequence});
  }
}

void RollbackProtection::merge(const RollbackProtection& other) {
  if (file_.empty()) file_ = other.file_;
  for (const auto& [name, theirs] : other.known_) {
    const auto [mine, is_new] = known_.try_emplace(name, theirs);
    if (is_new || mine->second.series != theirs.series) continue;
    for (const Record& record : theirs.contents) raise(mine->second, record);
  }
}

std::string RollbackProtection::text() const {
  std::string out(kFirstLine);
  out += '\n';
  for (const auto& [name, known] : known_) {
    for (const Record& record : known.contents) {
      out += fmt::format("{} {} {} {} {} {}\n", name, to_hex(known.series), record.sequence, to_hex(record.content),
                         record.delta, record.created);
    }
  }
  return out;
}

tl::expected<bool, std::string> RollbackProtection::save(const fs::path& folder, bool make_folder) const {
  if (folder.empty()) return false;
  if (known_.empty()) return true;
  std::error_code error;
  if (make_folder) fs::create_directories(folder, error);
  if (error) return tl::unexpected(fmt::format("{}: {}", folder.string(), error.message()));
  if (!fs::is_directory(folder, error)) return false;
  if (const auto there = load(folder); there && there->known_ == known_) return true;
  if (const auto saved = filter::replace_file(folder / kFileName, text()); !saved) {
    return tl::unexpected(saved.error().text());
  }
  return true;
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
