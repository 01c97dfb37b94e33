// Safe search without decryption: a search engine keeps its strict filter on for whoever reaches it under another name.
// A request for one of its hosts is judged as asked, and goes out to that name; Host and server name stay as they are.
//
// SafeSearchMap is the text that says which hosts these are (conf/safe-search.txt, or safe_search_map):
//   ENGINE DIALLED HOST...      "#" begins a comment; a HOST that ends in "." stands before each word behind it
// A host may be of several engines, but of one engine only once.
// Errors, with their line: a word that is not a host name or no name of an engine, a line without hosts, a host that is
// there twice, too much of anything.
// SafeSearch is what groups make of it. Both are immutable once built, thread-safe. A question costs one hash look-up.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitset>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <tl/expected.hpp>

#include "conf/config.h"

namespace bloomwall::proxy {

// conf/safe-search.txt as it was when this was compiled.
std::string_view built_in_safe_search();

struct SafeSearchRule {
  std::size_t engine = 0;  // SafeSearchMap::engines()
  std::string dialled;     // canonical
};

class SafeSearchMap {
 public:
  static constexpr std::size_t kMostBytes = std::size_t{1} << 20;
  static constexpr std::size_t kMostEngines = 64;
  static constexpr std::size_t kMostHosts = 10'000;

  static tl::expected<SafeSearchMap, std::string> parse(std::string_view text);  // error: "3: ..."
  const std::vector<std::string>& engines() const { return engines_; }
  // Of a canonical host: one for each engine whose host it is, in the order of the text; nullptr: of none.
  const std::vector<SafeSearchRule>* find(std::string_view host) const;
  std::size_t size() const { return hosts_.size(); }
  std::vector<std::string> hosts() const;  // in no particular order

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  class Reader;
  std::vector<std::string> engines_;
  std::unordered_map<std::string, std::vector<SafeSearchRule>, Hash, std::equal_to<>> hosts_;
};

class SafeSearch {
 public:
  // Null where no group names an engine. Reads safe_search_map. Errors: one line each.
  using Made = tl::expected<std::shared_ptr<const SafeSearch>, std::vector<std::string>>;
  static Made compile(const conf::Config& settings);

  struct Found {
    std::string_view engine, dialled;  // empty: the host is dialled as it is. They live as long as this
    explicit operator bool() const { return !dialled.empty(); }
  };
  // `group`: GroupRules::group_of(); `host`: canonical. Of several engines of the group the first in the map counts.
  Found find(std::size_t group, std::string_view host) const;
  const std::vector<std::string>& engines() const { return map_.engines(); }

 private:
  explicit SafeSearch(SafeSearchMap map) : map_(std::move(map)) {}
  std::string add_group(const std::vector<std::string>& engines);  // what is wrong, or empty
  SafeSearchMap map_;
  std::vector<std::bitset<SafeSearchMap::kMostEngines>> groups_;  // engines of each
};

}  // namespace bloomwall::proxy
