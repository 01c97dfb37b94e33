// Filter files for the tests of this folder, written straight from the rules of kinds and hashing (key.h): keys are
// made here with KeyMaker alone, not by the code under test.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "filter/file/filter_writer.h"
#include "filter/file/networks.h"
#include "filter/url/address_range.h"
#include "filter/url/entry.h"

namespace bloomwall::filter {

class TempFolder {
 public:
  TempFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "bloomwall-policy-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp " + pattern);
    path_ = pattern;
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  std::filesystem::path operator/(std::string_view name) const { return path_ / name; }
  std::filesystem::path write(std::string_view name, std::string_view text) const {
    std::ofstream(path_ / name, std::ios::binary) << text;
    return path_ / name;
  }

 private:
  std::filesystem::path path_;
};

// An entry that owns its texts. "S example.com", "U example.com/a", "Q example.com/a?q", "D example.com/a/", "R bytes":
// canonical already, taken as it stands. "N 192.0.2.0/24", "N 192.0.2.1-192.0.2.5": a network, of a filter alone.
struct OwnEntry {
  Kind kind;
  std::string host, path, query;

  explicit OwnEntry(std::string_view text) : kind(static_cast<Kind>(text.at(0))) {
    text.remove_prefix(2);
    if (kind == Kind::raw) {
      path = text;
      return;
    }
    const std::size_t slash = std::min(text.find('/'), text.size());
    host = text.substr(0, slash);
    path = text.substr(slash);
    if (kind != Kind::url_query) return;
    const std::size_t mark = path.find('?');
    query = path.substr(mark + 1);
    path.resize(mark);
  }
  OwnEntry(Kind k, std::string h, std::string p, std::string q)
      : kind(k), host(std::move(h)), path(std::move(p)), query(std::move(q)) {}

  HostKind host_kind() const {
    if (host.starts_with('[')) return HostKind::ipv6;
    const bool is_address = !host.empty() && host.find_first_not_of("0123456789.") == std::string::npos;
    return is_address ? HostKind::ipv4 : HostKind::name;
  }
  Entry view() const { return {.kind = kind, .host_kind = host_kind(), .host = host, .path = path, .query = query}; }
  std::vector<std::string_view> segments() const {
    std::vector<std::string_view> out;
    const std::string_view text = path;
    for (std::size_t at = 1; at < text.size();) {
      const std::size_t end = std::min(text.find('/', at), text.size());
      out.push_back(text.substr(at, end - at));
      at = end + 1;
    }
    return out;
  }
  friend auto operator<=>(const OwnEntry&, const OwnEntry&) = default;
};

struct FilterRecipe {
  std::vector<std::string> entries;
  std::uint8_t series = 1;   // every octet of the series key
  std::uint8_t file_id = 1;  // every octet of the file id
  std::uint64_t host_pages = 8, path_pages = 8, raw_pages = 1;
  Layout layout = Layout::sectors_2x8;
  std::uint64_t created = 1'700'000'000;
  std::uint64_t claimed_keys = 0;  // S keys that the header counts and the bits lack: worsens its predictions
};

// Writes a filter file that holds `entries`, with a header that says what is in it.
class FilterMaker {
 public:
  explicit FilterMaker(const FilterRecipe& recipe) : recipe_(recipe) {
    header_.series_key.fill(recipe.series);
    header_.series_id.fill(recipe.series);
    header_.file_id.fill(recipe.file_id);
    header_.created = recipe.created;
  }

  void add(const OwnEntry& entry) {
    if (entry.kind != Kind::network) {
      entries_.push_back(entry);
      return;
    }
    const RangeReading reading = read_address_range(entry.host + entry.path);
    if (reading.outcome != RangeReading::Outcome::range) throw std::runtime_error(entry.host + entry.path);
    ranges_.push_back(reading.range);
  }

  void write(const std::filesystem::path& file) {
    for (const std::string& text : recipe_.entries) add(OwnEntry(text));
    for (const OwnEntry& entry : entries_) count(entry);
    header_.kinds[index_of(Kind::suffix)].keys += recipe_.claimed_keys;
    header_.hosts += recipe_.claimed_keys;
    const RangeSet networks(ranges_);
    header_.kinds[index_of(Kind::network)] = {.entries = ranges_.size(), .keys = networks.size()};
    const auto geometry = [&](bool wanted, std::uint64_t pages) {
      return wanted ? std::optional(Geometry{.layout = recipe_.layout, .pages = pages}) : std::nullopt;
    };
    const bool any_path = header_.mark_mask != 0;
    const bool any_host = any_path || has_any({Kind::suffix, Kind::exact_host, Kind::subdomains});
    FilterWriter::Plan plan{.header = header_,
                            .hosts = geometry(any_host, recipe_.host_pages),
                            .paths = geometry(any_path, recipe_.path_pages),
                            .raw = geometry(has_any({Kind::raw}), recipe_.raw_pages),
                            .info = {},
                            .networks = serialise_networks(networks)};
    auto writer = FilterWriter::create(file, std::move(plan));
    ASSERT_TRUE(writer) << writer.error().text();
    const KeyMaker keys(header_.series_key);
    for (const OwnEntry& entry : entries_) insert(**writer, keys, entry);
    const auto done = (*writer)->commit();
    ASSERT_TRUE(done) << done.error().text();
  }

 private:
  bool has_any(std::initializer_list<Kind> kinds) const {
    return std::any_of(kinds.begin(), kinds.end(), [&](Kind k) { return header_.kinds[index_of(k)].keys != 0; });
  }
  static Variant mark_of(const OwnEntry& entry) {
    if (entry.kind == Kind::url) return 3;
    if (entry.kind == Kind::url_query) return 4;
    return 4 + static_cast<Variant>(std::min<std::size_t>(entry.segments().size(), 16));
  }

  void count(const OwnEntry& entry) {
    KindCounts& counts = header_.kinds[index_of(entry.kind)];
    ++counts.entries;
    ++counts.keys;
    if (entry.kind == Kind::raw) return;
    ++header_.hosts;
    if (is_path_kind(entry.kind)) {
      ++header_.marks;
      header_.mark_mask |= std::uint32_t{1} << mark_of(entry);
    }
    if (entry.kind == Kind::directory) {
      header_.max_depth = std::max(header_.max_depth, static_cast<std::uint16_t>(entry.segments().size()));
    }
    if (entry.host_kind() != HostKind::name) return;
    const auto labels = static_cast<std::uint8_t>(1 + std::count(entry.host.begin(), entry.host.end(), '.'));
    header_.min_labels = header_.max_labels == 0 ? labels : std::min(header_.min_labels, labels);
    header_.max_labels = std::max(header_.max_labels, labels);
  }

  void insert(FilterWriter& writer, const KeyMaker& keys, const OwnEntry& entry) const {
    const Hash128 host = keys.host(entry.host);
    switch (entry.kind) {
      case Kind::suffix:
        return writer.hosts()->insert(host, 0);
      case Kind::exact_host:
        return writer.hosts()->insert(host, 1);
      case Kind::subdomains:
        return writer.hosts()->insert(host, 2);
      case Kind::raw:
        return writer.raw()->insert(keys.raw(entry.path));
      case Kind::url:
      case Kind::url_query:
      case Kind::directory:
        break;
      case Kind::network:
        return;
    }
    Hash128 path = keys.empty_path();
    for (const std::string_view segment : entry.segments()) path = keys.segment(segment, path);
    const Hash128 key = entry.kind == Kind::url         ? keys.url(host, path)
                        : entry.kind == Kind::directory ? keys.directory(host, path)
                                                        : keys.url_query(host, path, keys.hash(entry.query));
    writer.hosts()->insert(host, mark_of(entry));
    writer.paths()->insert(key);
  }

  FilterRecipe recipe_;
  Header header_;
  std::vector<OwnEntry> entries_;
  std::vector<AddressRange> ranges_;
};

inline std::filesystem::path make_filter(const std::filesystem::path& file, const FilterRecipe& recipe) {
  FilterMaker(recipe).write(file);
  return file;
}

inline std::unique_ptr<FilterFile> open_filter(const std::filesystem::path& file) {
  auto opened = FilterFile::open(file);
  if (!opened) throw std::runtime_error(opened.error().text());
  return *std::move(opened);
}

inline FileId content_of(const std::filesystem::path& file) { return content_id(open_filter(file)->header()); }

inline FileId id_of(std::uint8_t octet) {
  FileId id;
  id.fill(octet);
  return id;
}

// Messages of errors, one a line, for comparison and for gtest's output.
inline std::string texts_of(const std::vector<Error>& errors) {
  std::string out;
  for (const Error& error : errors) out += std::string(to_string(error.code)) + " " + error.text() + "\n";
  return out;
}

}  // namespace bloomwall::filter
