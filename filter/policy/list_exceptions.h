// What the lists of a filter except from being stopped ("@@||example.com^", rpz-passthru, {-block}), in a file beside
// it: an allow list that overrules this filter alone. Its name says of which bits it is, so that a filter that is
// replaced never meets the exceptions of another build:
//   ads.bwf    ads.bwf.0011223344556677.allow     the first 16 digits of the content id (header.h)
// Lines are those of an allow list without names of filters. Beside a filter that has to be signed it does not count,
// because nobody signs it.
// Threads: any.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "filter/file/header.h"
#include "filter/file/temp_file.h"
#include "filter/result.h"

namespace bloomwall::filter {

std::filesystem::path exceptions_file(const std::filesystem::path& filter, const FileId& content);

// Hosts of entries that no exception frees; beyond kMost, all are. Not thread-safe.
class ImportantHosts {
 public:
  static constexpr std::size_t kMost = 100'000;
  void add(std::string_view host);
  void add(const ImportantHosts& others);
  // Whether an exception for this host, or below it, would free such an entry.
  bool touch(std::string_view host) const;
  bool empty() const { return hosts_.empty() && !has_too_many_; }

 private:
  void keep_to_limit();
  std::set<std::string, std::less<>> hosts_;
  std::set<std::string, std::less<>> parents_;  // of these
  bool has_too_many_ = false;                   // and none is kept
};

struct ListExceptions {
  std::vector<std::string> rules = {};  // lines of an allow list, each once, sorted
  std::size_t important = 0;            // left out because they would free an important entry
  std::size_t unfit = 0;                // left out because an allow list would refuse them
};
ListExceptions fit_exceptions(const std::vector<std::string>& rules, const ImportantHosts& important);

// Writes the file for these bits; without rules there is none afterwards. Replaced whole or not at all.
Result<void> write_exceptions(const std::filesystem::path& filter, const FileId& content,
                              const std::vector<std::string>& rules, const FileAccess& access);
// Removes those of other bits than these.
void remove_exceptions_but(const std::filesystem::path& filter, const std::vector<FileId>& kept);

}  // namespace bloomwall::filter
