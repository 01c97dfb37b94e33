// What the lists of a filter except from being stopped ("@@||example.com^", rpz-passthru, {-block}), in a file beside
// it: an allow list that overrules this filter alone. Its name says of which bits it is, so that a filter that is
// replaced never meets the exceptions of another build:
//   ads.bwf    ads.bwf.0011223344556677.allow     the first 16 digits of the content id (header.h)
// What lists carry that a delta was made of stands beside the delta, and holds as long as it is there:
//   ads.delta  ads.delta.allow
// Either overrules the whole filter, its delta too, but no entry of an important rule. Lines are those of an allow list
// without names of filters; comments "# $important example.com" name the hosts of such rules ("*": more than kMost),
// for whoever adds exceptions later (merge, deltas, counting filters) and for the policy: those of a delta withdraw the
// filter's own exceptions that would free them. Beside a filter that has to be signed neither
// counts, because nobody signs them.
// Threads: any.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "filter/file/header.h"
#include "filter/file/temp_file.h"
#include "filter/result.h"

namespace bloomwall::filter {

std::filesystem::path exceptions_file(const std::filesystem::path& filter, const FileId& content);
std::filesystem::path exceptions_file_of_delta(const std::filesystem::path& delta);

// Hosts of entries that no exception frees; beyond kMost, all are. Not thread-safe.
class ImportantHosts {
 public:
  static constexpr std::size_t kMost = 100'000;
  void add(std::string_view host);
  void add(const ImportantHosts& others);
  // Whether an exception for this host, or below it, would free such an entry.
  bool touch(std::string_view host) const;
  void add_all() { has_too_many_ = true, keep_to_limit(); }
  bool has_too_many() const { return has_too_many_; }
  const std::set<std::string, std::less<>>& hosts() const { return hosts_; }
  bool empty() const { return hosts_.empty() && !has_too_many_; }

 private:
  void keep_to_limit();
  std::set<std::string, std::less<>> hosts_;
  std::set<std::string, std::less<>> parents_;  // of these
  bool has_too_many_ = false;                   // and none is kept
};

// As lists have them.
struct CarriedRules {
  std::vector<std::string> rules = {};
  ImportantHosts important = {};
};

struct ListExceptions {
  std::vector<std::string> rules = {};  // lines of an allow list, each once, sorted
  ImportantHosts unfreed = {};          // hosts of important rules
  std::size_t important = 0;            // left out because they would free an important entry
  std::size_t unfit = 0;                // left out because an allow list would refuse them
  bool empty() const { return rules.empty() && unfreed.empty(); }
};
ListExceptions fit_exceptions(const std::vector<std::string>& rules, const ImportantHosts& important);
// Of several filters that become one: each frees what any of them stops, as if their lists had been built together.
ListExceptions united_exceptions(const std::vector<ListExceptions>& parts);
// What became of them, as a sentence each; of exceptions that are not there none.
std::vector<std::string> notes_of(const ListExceptions& exceptions);

std::string exceptions_text(const std::filesystem::path& of, const ListExceptions& exceptions);
// Of a text that exceptions_text() has made.
ListExceptions parse_exceptions(std::string_view text);
// Where there is no file, none.
Result<ListExceptions> read_exceptions(const std::filesystem::path& file);
// The text of such a file without what would free an entry of an important rule of others, line by line; nothing where
// all of it may stay.
std::optional<std::string> text_that_frees_none(std::string_view text, const ImportantHosts& important);
// Writes the file of these; where there are none, there is no file afterwards. Replaced whole or not at all. `of`: the
// filter or delta that it belongs to.
Result<void> write_exceptions(const std::filesystem::path& file, const std::filesystem::path& of,
                              const ListExceptions& exceptions, const FileAccess& access);
// Removes those of other bits than these.
void remove_exceptions_but(const std::filesystem::path& filter, const std::vector<FileId>& kept);

// Puts them beside a file of bits that is about to take its place. `replaced`: what is there now; its exceptions stay,
// since a proxy may be about to load it. Not thread-safe.
class ExceptionsBeside {
 public:
  ExceptionsBeside(std::filesystem::path target, ListExceptions exceptions, FileAccess access,
                   const std::optional<Header>& replaced);
  Result<void> write(const std::filesystem::path& made);  // the whole file, under its temporary name
  void forget_others() const;                             // once it is in its place

 private:
  std::filesystem::path target_;
  ListExceptions exceptions_;
  FileAccess access_;
  std::vector<FileId> kept_;
};

}  // namespace bloomwall::filter
