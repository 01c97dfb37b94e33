// How lists are fetched and made into filters: filters[].sources, .build and .guards, and `update:`. All of it is for
// `bloomwall update`; the running proxy uses it to say how old lists are.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"

namespace bloomwall::conf {

class MapReader;

inline constexpr std::size_t kMostSources = 64;    // of a filter
inline constexpr std::size_t kMostCanaries = 100;  // hosts or URLs in each of must_pass and must_block

// An item of `filters[].sources:`: a list that the filter is made of.
struct Source {
  std::string url;                         // https://..., http://... where sha256 is given, or an absolute path
  std::string format = "auto";             // a name of filter/lists/list_format.h
  Milliseconds every{86'400'000};          // 15 minutes to 30 days between two requests; of a path: unused
  std::filesystem::path header_file = {};  // one header line with a secret, that nobody else may read; empty: none
  std::optional<std::string> sha256 = {};  // what is fetched must have it
  // Of an archive: these of its categories, and those within them; empty: all.
  std::vector<std::string> categories = {};
  // What becomes of categories that are meant to be allowed, unless the filter itself allows: then they are entries.
  enum class White : std::uint8_t { refuse, allow, block } white = White::refuse;
  // How its lines are read: filter/lists/list_reader.h.
  std::optional<std::string> column = {};  // of a table, by number or name
  bool exact = false, hosts_as_suffix = false, strict_wildcard = false, allow_tld = false, aggressive = false,
       path_info = false, index_files = false, allow_wide_ranges = false;
  friend bool operator==(const Source&, const Source&) = default;
};

// `filters[].build:` how the file is made.
struct Build {
  double fpr = 1e-6;                                   // error of a request, 1e-9 to 0.1
  bool exact_side = false;                             // also the .bwx beside it
  bool query_spellings = false;                        // entries with a query match its other spellings
  std::vector<std::filesystem::path> known_good = {};  // lists of URLs that must not be stopped by mistake
  friend bool operator==(const Build&, const Build&) = default;
};

// `filters[].guards:` what a new list or a new file must be like to replace the old one.
struct Guards {
  std::uint32_t shrink = 50;                          // percent of the entries that a list may lose, 1 to 100
  std::uint32_t grow = 300;                           // percent by which it may grow, 1 to 100,000
  std::uint64_t least = 1;                            // entries of a list
  std::uint64_t most_bytes = std::uint64_t{1} << 30;  // of a list, as fetched and as unpacked, 1KiB to 64GiB
  std::uint32_t unusable = 5;                         // percent of the rules of a list that cannot be used, 0 to 100
  std::uint32_t stated = 10;  // percent of the entries that a list says it has that may be missing, 0 to 100
  // Hosts or URLs that the new file must let pass, and those that it must stop.
  std::vector<std::string> must_pass{"google.com",        "www.google.com", "www.wikipedia.org", "github.com",
                                     "www.microsoft.com", "www.apple.com",  "example.com",       "letsencrypt.org"};
  std::vector<std::string> must_block = {};
  friend bool operator==(const Guards&, const Guards&) = default;
};

// `update:` what all of them have in common.
struct Update {
  std::filesystem::path folder = "/var/lib/bloomwall/lists";                // fetched lists and lists.json
  std::filesystem::path catalogue = "/usr/share/bloomwall/catalogue.yaml";  // catalogue.h
  std::optional<std::string> proxy;        // an http(s) URL or "direct"; nothing: upstream.parent where there is one
  std::filesystem::path credentials_file;  // user:password for `proxy`; empty: none
  std::filesystem::path ca_file;           // PEM, who may vouch for servers of lists; empty: the system's
  Milliseconds timeout{1'800'000};         // of one fetch in all, 1 second to 1 day
  double most_error = 1e-4;                // of all filters together: what a new file may not lead beyond
  friend bool operator==(const Update&, const Update&) = default;
};

// Whether a source is fetched; else it is a file.
bool is_fetched(const Source& source);

void read(MapReader& map, Source& out);
void read(MapReader& map, Build& out);
void read(MapReader& map, Guards& out);
void read(MapReader& map, Update& out);

}  // namespace bloomwall::conf
