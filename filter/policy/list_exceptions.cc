// SPDX-License-Identifier: Apache-2.0
#include "filter/policy/list_exceptions.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <system_error>
#include <utility>

#include "base/encoding.h"
#include "base/figures.h"
#include "base/text.h"
#include "filter/file/filter_file.h"
#include "filter/policy/allow_list.h"
#include "filter/policy/entry_text.h"
#include "filter/url/entry.h"

namespace bloomwall::filter {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kDigits = 16;
constexpr std::string_view kEnding = ".allow";
constexpr std::string_view kImportant = "# $important ";
constexpr std::string_view kAllHosts = "*";

// The host that a line of an allow list is about; nothing where an allow list refuses the line.
class HostOfRule {
 public:
  // Empty: a range of addresses.
  std::optional<std::string> operator()(const std::string& rule) {
    AllowLists probe(KeyMaker(SeriesKey{}), {});
    if (!probe.parse(rule, {}).empty() || probe.empty()) return std::nullopt;
    std::string_view text = rule;
    if (text.starts_with("@@|")) text.remove_prefix(2);
    const ParsedEntry& parsed = parser_.any(text);
    return parsed.entries.empty() ? std::string() : std::string(parsed.entries.front().host);
  }

 private:
  EntryParser parser_;
};

bool is_exceptions_file(std::string_view name, std::string_view filter) {
  if (!name.starts_with(filter) || !name.ends_with(kEnding)) return false;
  if (name.size() != filter.size() + 1 + kDigits + kEnding.size() || name[filter.size()] != '.') return false;
  return is_lower_hex(name.substr(filter.size() + 1, kDigits));
}

}  // namespace

fs::path exceptions_file(const fs::path& filter, const FileId& content) {
  fs::path out = filter;
  return out += "." + to_hex(content).substr(0, kDigits) + std::string(kEnding);
}

fs::path exceptions_file_of_delta(const fs::path& delta) {
  fs::path out = delta;
  return out += kEnding;
}

void ImportantHosts::add(std::string_view host) {
  if (has_too_many_ || !hosts_.insert(std::string(host)).second) return;
  for (std::size_t dot = host.find('.'); dot != std::string_view::npos; dot = host.find('.')) {
    host.remove_prefix(dot + 1);
    parents_.insert(std::string(host));
  }
  keep_to_limit();
}

void ImportantHosts::add(const ImportantHosts& others) {
  hosts_.insert(others.hosts_.begin(), others.hosts_.end());
  parents_.insert(others.parents_.begin(), others.parents_.end());
  has_too_many_ = has_too_many_ || others.has_too_many_;
  keep_to_limit();
}

void ImportantHosts::keep_to_limit() {
  has_too_many_ = has_too_many_ || hosts_.size() > kMost;
  if (!has_too_many_) return;
  hosts_.clear();
  parents_.clear();
}

bool ImportantHosts::touch(std::string_view host) const {
  if (has_too_many_ || parents_.contains(host)) return true;
  while (true) {
    if (hosts_.contains(host)) return true;
    const std::size_t dot = host.find('.');
    if (dot == std::string_view::npos) return false;
    host.remove_prefix(dot + 1);
  }
}

ListExceptions fit_exceptions(const std::vector<std::string>& rules, const ImportantHosts& important) {
  ListExceptions out;
  HostOfRule host_of;
  for (const std::string& rule : rules) {
    const auto host = host_of(rule);
    if (!host) {
      ++out.unfit;
    } else if (!host->empty() && important.touch(*host)) {
      ++out.important;
    } else {
      out.rules.push_back(rule);
    }
  }
  out.unfreed = important;
  std::ranges::sort(out.rules);
  const auto twice = std::ranges::unique(out.rules);
  out.rules.erase(twice.begin(), twice.end());
  return out;
}

ListExceptions united_exceptions(const std::vector<ListExceptions>& parts) {
  std::vector<std::string> rules;
  ImportantHosts important;
  for (const ListExceptions& part : parts) {
    rules.insert(rules.end(), part.rules.begin(), part.rules.end());
    important.add(part.unfreed);
  }
  return fit_exceptions(rules, important);
}

std::vector<std::string> notes_of(const ListExceptions& exceptions) {
  std::vector<std::string> out;
  const auto note = [&](std::size_t count, const char* what) {
    if (count > 0) out.push_back(count_text(count, "exception", "exceptions") + what);
  };
  note(exceptions.rules.size(), " of the lists free what this filter alone stops");
  note(exceptions.important, " of the lists left out: they would free what an $important rule stops");
  note(exceptions.unfit, " of the lists left out: no allow list takes them");
  return out;
}

std::string exceptions_text(const fs::path& of, const ListExceptions& exceptions) {
  std::string text = "# What the lists of " + of.filename().string() +
                     " except from being stopped. Written with that file, and only for it.\n";
  if (exceptions.unfreed.has_too_many()) text += std::string(kImportant) + std::string(kAllHosts) + '\n';
  for (const std::string& host : exceptions.unfreed.hosts()) text += std::string(kImportant) + host + '\n';
  for (const std::string& rule : exceptions.rules) text += rule + '\n';
  return text;
}

Result<ListExceptions> read_exceptions(const fs::path& file) {
  std::error_code failed;
  if (fs::status(file, failed).type() == fs::file_type::not_found) return ListExceptions{};
  const Result<std::string> text = read_entry_text(file);
  if (!text) return unexpected(text.error());
  return parse_exceptions(*text);
}

ListExceptions parse_exceptions(std::string_view text) {
  ListExceptions out;
  for (LineWalk walk(text); walk.next();) {
    std::string_view line = walk.line();
    if (line.starts_with(kImportant)) {
      line.remove_prefix(kImportant.size());
      if (line == kAllHosts) {
        out.unfreed.add_all();
      } else {
        out.unfreed.add(line);
      }
    } else if (!line.empty() && line.front() != '#') {
      out.rules.emplace_back(line);
    }
  }
  return out;
}

std::optional<std::string> text_that_frees_none(std::string_view text, const ImportantHosts& important) {
  std::string kept;
  bool is_whole = true;
  HostOfRule host_of;
  for (LineWalk walk(text); walk.next();) {
    const std::string line(walk.line());
    const auto host = line.empty() || line.front() == '#' ? std::nullopt : host_of(line);
    const bool frees = host && !host->empty() && important.touch(*host);
    is_whole = is_whole && !frees;
    kept.append(frees ? std::string_view() : std::string_view(line)).push_back('\n');
  }
  if (is_whole) return std::nullopt;
  return kept;
}

Result<void> write_exceptions(const fs::path& file, const fs::path& of, const ListExceptions& exceptions,
                              const FileAccess& access) {
  if (!exceptions.empty()) return replace_file(file, exceptions_text(of, exceptions), access);
  std::error_code failed;
  fs::remove(file, failed);
  if (failed) return unexpected(Error{Errc::io, file.string(), failed.message()});
  return {};
}

void remove_exceptions_but(const fs::path& filter, const std::vector<FileId>& kept) {
  std::vector<fs::path> others;
  const fs::path folder = filter.has_parent_path() ? filter.parent_path() : fs::path(".");
  const std::string name = filter.filename().string();
  std::error_code failed;
  for (fs::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed)) {
    const std::string here = at->path().filename().string();
    if (!is_exceptions_file(here, name)) continue;
    const bool is_kept = std::ranges::any_of(
        kept, [&](const FileId& id) { return exceptions_file(filter, id).filename().string() == here; });
    if (!is_kept) others.push_back(at->path());
  }
  for (const fs::path& other : others) fs::remove(other, failed);
}

ExceptionsBeside::ExceptionsBeside(fs::path target, ListExceptions exceptions, FileAccess access,
                                   const std::optional<Header>& replaced)
    : target_(std::move(target)), exceptions_(std::move(exceptions)), access_(access) {
  if (replaced) kept_.push_back(content_id(*replaced));
}

Result<void> ExceptionsBeside::write(const fs::path& made) {
  const auto file = FilterFile::open(made);
  if (!file) return unexpected(file.error());
  kept_.push_back(content_id((*file)->header()));
  return write_exceptions(exceptions_file(target_, kept_.back()), target_, exceptions_, access_);
}

void ExceptionsBeside::forget_others() const { remove_exceptions_but(target_, kept_); }

}  // namespace bloomwall::filter
