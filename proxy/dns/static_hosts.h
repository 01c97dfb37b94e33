// Names whose addresses stand in a file: dns.hosts of the configuration first, then /etc/hosts, then localhost and
// *.localhost, which always are the loopback addresses (RFC 6761 section 6.3).
// Immutable once built; a part of the snapshot, so a reload reads the file again.
// Bounds: 100,000 names and 16 addresses a name from the file; lines over 4096 octets and what is no address are
// skipped.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <unordered_map>
#include <vector>

#include "proxy/io/endpoint.h"

namespace bloomwall::proxy {

class StaticHosts {
 public:
  // The error names a host in `configured` whose value is no IP address, or a file that could not be opened for lack of
  // descriptors or memory: a temporary shortage must not lose its names. A file that cannot be read for other reasons
  // counts as empty.
  static tl::expected<StaticHosts, std::string> build(const std::map<std::string, std::string>& configured,
                                                      const std::filesystem::path& file = "/etc/hosts");
  // Every address of both families, port 0; empty: ask the resolver. `host` is lower case without a trailing dot.
  std::span<const Endpoint> find(std::string_view host) const;
  friend bool operator==(const StaticHosts& a, const StaticHosts& b) { return a.names_ == b.names_; }

 private:
  void read_line(std::string_view line);

  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  std::unordered_map<std::string, std::vector<Endpoint>, Hash, std::equal_to<>> names_;
  std::vector<Endpoint> localhost_;
};

}  // namespace bloomwall::proxy
