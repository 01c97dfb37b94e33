// Real lists and ordinary URLs beside the checkout, where they are, and an exact set to hold a filter against: plain
// strings, cut and compared with nothing of the code under test but the canonical form.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "filter/file/filter_file.h"
#include "filter/lists/list_reader.h"

namespace bloomwall::test {

// The folder of lists; empty where it is absent.
std::filesystem::path lists_folder();
// All lines of a text file, compressed or not.
std::vector<std::string> lines_of(const std::filesystem::path& path);
// Ordinary URLs: `urls` one a line, `domains` as http://domain/.
std::vector<std::string> benign_urls(bool urls, bool domains);

struct StoredEntry {
  filter::Kind kind;
  filter::HostKind host_kind;
  std::string host, path, query;
};

class ExactEntries final : public filter::ListSink {
 public:
  // Reads a file or a folder as `build` does.
  filter::Result<void> read(const std::string& argument, const filter::ReadOptions& options);
  void entry(const filter::Entry& entry, std::uint64_t line) override;
  void allow(std::string_view text, std::uint64_t line) override;

  const std::vector<StoredEntry>& entries() const { return entries_; }  // duplicates too
  // By any form of the URL.
  bool holds(const filter::CanonicalUrl& url) const;
  // Whether URL entries exist on the host or a parent of it.
  bool has_marks(const filter::CanonicalUrl& url) const;

 private:
  bool holds(std::string_view host, bool is_parent, const filter::UrlForm& form) const;
  bool has(filter::Kind kind, std::string_view text) const;
  std::vector<StoredEntry> entries_;
  std::unordered_set<std::string> set_;
  std::unordered_set<std::string> marked_;
};

// How many of the entries the filter does not hold, and the first of them: must be none.
struct Missing {
  std::uint64_t asked = 0, missing = 0, by_text = 0;  // by_text: asked as a URL typed by a person, too
  std::string first;
};
Missing find_missing(const filter::FilterFile& file, const std::vector<StoredEntry>& entries);

// What a filter says of URLs that the exact set does not hold.
struct FalsePositives {
  std::uint64_t unlisted = 0, listed = 0;  // asked: on hosts without and with URL entries
  std::uint64_t unlisted_hits = 0, listed_hits = 0;
  std::uint64_t held = 0;  // left out: the exact set holds them
};
FalsePositives count_false_positives(const filter::FilterFile& file, const ExactEntries& exact,
                                     const std::vector<std::string>& urls);
// Expected hits plus three standard deviations.
double most_hits(double asked, double rate);

}  // namespace bloomwall::test
