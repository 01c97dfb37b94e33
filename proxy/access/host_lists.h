// Lists of hosts that a rule does not apply to: of the configuration (BypassList), and of files (NeverList).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "proxy/access/access_rules.h"

namespace bloomwall::proxy {

// Hosts to which a rule does not apply: `upstream.bypass`, `authentication.exempt_hosts`. Domains cover what is below
// them; networks are about hosts that are addresses. Immutable once built, thread-safe; contains(): one hash probe a
// label.
class BypassList {
 public:
  static tl::expected<BypassList, std::string> build(
      const std::vector<std::string>& entries);  // error: the wrong entry
  bool contains(std::string_view host) const;    // canonical; O(labels)

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  std::unordered_set<std::string, Hash, std::equal_to<>> domains_;
  CidrSet networks_;
};

// Hosts whose TLS is never decrypted: `tls_inspection.never`. Text files, one host a line:
//   example.com          # covers example.com and everything below it
//   =www.example.com     # that host alone
//   192.0.2.1            # an address, also 2001:db8::1 or [2001:db8::1]
// Blank lines and lines that begin with # are passed over; what stands behind # on an entry's line is its reason. Names
// may be IDNs; they are compared in canonical form. Errors, each with file and line: what is no host (URLs, ports,
// wildcards, networks), a top-level domain without "=", a line over 64 KiB, more than
// kMostEntries entries.
// Built off the loops, then immutable and thread-safe. find(): one hash probe for each suffix of the host, no
// allocation. Memory: the texts plus about 150 bytes an entry.
class NeverList {
 public:
  static constexpr std::size_t kMostEntries = 1'000'000;
  static constexpr std::size_t kMostBytes = std::size_t{64} << 20;  // of one file

  struct Entry {
    const std::string* file = nullptr;  // as configured; lives as long as the list
    std::uint64_t line = 0;
    std::string host;  // canonical
    std::string reason;
    bool covers_subdomains = true;
    std::string place() const;  // "/etc/bloomwall/never.txt:14"
  };

  // Every error of every file, one line each.
  static tl::expected<NeverList, std::vector<std::string>> load(const std::vector<std::filesystem::path>& files);
  // The same of texts that are in memory. Appends errors; what is right is taken all the same.
  void add(std::string_view text, const std::string& name, std::vector<std::string>& errors);

  // Of a canonical host (IPv6 in brackets): its own entry, else that of the nearest domain above it; null: none. Of
  // several entries for one host the first that covers it counts.
  const Entry* find(std::string_view host) const;
  std::size_t size() const { return subdomains_.size() + hosts_.size(); }
  std::vector<const Entry*> entries() const;  // in no particular order

 private:
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  using Entries = std::unordered_map<std::string, Entry, TextHash, std::equal_to<>>;

  std::vector<std::unique_ptr<const std::string>> names_;
  Entries subdomains_;  // entries that cover what is below them
  Entries hosts_;       // of a host alone
};

}  // namespace bloomwall::proxy
