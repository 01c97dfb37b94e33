// SPDX-License-Identifier: Apache-2.0
#include "proxy/access/access_rules.h"

#include <algorithm>

namespace bloomwall::proxy {
namespace {

struct Group {
  std::string_view name;
  std::string_view blocks;  // separated by spaces
};
constexpr std::array kGroups{
    Group{"loopback", "127.0.0.0/8 ::1/128"},
    Group{"private", "10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 fc00::/7 fec0::/10"},
    Group{"link_local", "169.254.0.0/16 fe80::/10"},
    Group{"shared", "100.64.0.0/10"},
    Group{"multicast", "224.0.0.0/4 ff00::/8 255.255.255.255/32"},
    Group{"unspecified", "0.0.0.0/8 ::/128"},
    Group{"reserved",
          "192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 240.0.0.0/4 "
          "::ffff:0:0:0/96 64:ff9b:1::/48 100::/64 100:0:0:1::/64 2001:2::/48 2001:10::/28 2001:20::/28 2001:db8::/32 "
          "2620:4f:8000::/48 3fff::/20 5f00::/16"},
};

// RFC 6052 section 2.2: behind the prefix, around octet 8, which is zero.
std::uint32_t behind_prefix(const IpAddress& address, unsigned prefix) {
  constexpr std::size_t kSkipped = 8;
  std::uint32_t word = 0;
  std::size_t at = prefix / 8;
  for (int i = 0; i < 4; ++i, ++at) {
    if (at == kSkipped) ++at;
    word = word << 8 | address.octets[at];
  }
  return word;
}

bool is_isatap(const IpAddress& address) {
  return (address.word(8) & ~0x02000000U) == 0x00005efe;  // the bit says that the IPv4 address is a global one
}

// 64:ff9b::/96, and of the local 64:ff9b:1::/48 (RFC 8215) what its last 96 bits or the /48 itself make of it.
std::optional<std::uint32_t> in_known_nat64(const IpAddress& address) {
  if (address.word(0) != 0x0064ff9b) return std::nullopt;
  const bool local = address.word(4) >> 16 == 1;
  const bool last = !local || (address.word(4) == 0x00010000 && address.word(8) == 0);
  return last ? address.word(12) : behind_prefix(address, 48);
}

bool less(const IpNetwork& a, const IpNetwork& b) {
  return a.prefix != b.prefix ? a.prefix > b.prefix : a.base.octets < b.base.octets;
}

bool append_rule(std::string_view rule, std::vector<IpNetwork>& blocks) {
  for (const Group& group : kGroups) {
    if (group.name != rule) continue;
    for (std::string_view rest = group.blocks; !rest.empty();) {
      const std::size_t end = std::min(rest.find(' '), rest.size());
      if (const auto block = IpNetwork::parse(rest.substr(0, end))) blocks.push_back(*block);
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return true;
  }
  const auto block = IpNetwork::parse(rule);
  if (block) blocks.push_back(*block);
  return block.has_value();
}

}  // namespace

tl::expected<CidrSet, std::string> CidrSet::build(const std::vector<std::string>& rules) {
  std::vector<IpNetwork> blocks;
  for (const std::string& rule : rules) {
    if (!append_rule(rule, blocks)) return tl::unexpected(rule);
  }
  std::sort(blocks.begin(), blocks.end(), less);
  IpAddress ones;
  ones.octets.fill(0xff);
  CidrSet set;
  for (const IpNetwork& block : blocks) {
    const auto at = static_cast<std::uint32_t>(set.bases_.size());
    if (set.lengths_.empty() || set.lengths_.back().prefix != block.prefix) {
      set.lengths_.push_back({block.prefix, AddressWords::of(ones.masked(block.prefix)), at, at});
    }
    set.bases_.push_back(AddressWords::of(block.base));
    ++set.lengths_.back().end;
  }
  return set;
}

std::optional<unsigned> CidrSet::longest(const IpAddress& address) const {
  if (bases_.empty()) return std::nullopt;
  const AddressWords asked = AddressWords::of(address);
  for (const Length& length : lengths_) {
    const auto begin = bases_.begin() + length.begin, end = bases_.begin() + length.end;
    if (std::binary_search(begin, end, asked & length.mask)) return length.prefix;
  }
  return std::nullopt;
}

tl::expected<AccessRules, std::string> AccessRules::build(const conf::Access& access,
                                                          const std::vector<std::string>& nat64_prefixes) {
  AccessRules rules;
  const auto read = [](CidrSet& set, std::string_view key, const std::vector<std::string>& from) -> std::string {
    auto built = CidrSet::build(from);
    if (!built) return std::string("access.") + std::string(key) + ": no address, network or group: " + built.error();
    set = *std::move(built);
    return {};
  };
  if (auto error = read(rules.clients_, "clients", access.clients); !error.empty()) return tl::unexpected(error);
  if (auto error = read(rules.deny_, "deny_destinations", access.deny_destinations); !error.empty()) {
    return tl::unexpected(error);
  }
  std::vector<std::string> allowed = access.allow_destinations;
  for (const std::string& text : nat64_prefixes) {
    const auto prefix = IpNetwork::parse(text);
    if (!prefix) return tl::unexpected("dns.nat64_prefixes: no network: " + text);
    rules.nat64_.push_back(*prefix);
    allowed.push_back(text);
  }
  std::sort(rules.nat64_.begin(), rules.nat64_.end(), less);
  if (auto error = read(rules.allow_, "allow_destinations", allowed); !error.empty()) return tl::unexpected(error);
  rules.ports_ = access.connect_ports;
  rules.denied_ports_ = access.deny_ports;
  std::sort(rules.ports_.begin(), rules.ports_.end());
  std::sort(rules.denied_ports_.begin(), rules.denied_ports_.end());
  return rules;
}

bool AccessRules::client_allowed(const IpAddress& client) const { return clients_.contains(client); }

bool AccessRules::port_allowed(std::uint16_t connect_port) const {
  return ports_.empty() || std::binary_search(ports_.begin(), ports_.end(), connect_port);
}

bool AccessRules::http_port_allowed(std::uint16_t port) const {
  return !std::binary_search(denied_ports_.begin(), denied_ports_.end(), port);
}

EmbeddedAddresses AccessRules::embedded_in(const IpAddress& destination) const {
  EmbeddedAddresses found;
  if (destination.is_v4()) return found;
  const auto prefix = std::ranges::find_if(nat64_, [&](const IpNetwork& cidr) { return cidr.contains(destination); });
  const std::uint32_t first = destination.word(0), last = destination.word(12);
  const bool zeros = first == 0 && destination.word(4) == 0;
  const bool compatible = zeros && destination.word(8) == 0 && last > 0xffff;
  const bool translated = zeros && destination.word(8) == 0xffff0000;  // SIIT
  if (prefix != nat64_.end()) {
    found.add(behind_prefix(destination, prefix->prefix));
  } else if (const auto known = in_known_nat64(destination)) {
    found.add(*known);
  } else if (compatible || translated || is_isatap(destination)) {
    found.add(last);
  }
  if (first >> 16 == 0x2002) {  // 6to4, perhaps with ISATAP inside
    found.add(destination.word(2));
  } else if (first == 0x20010000) {  // Teredo: server, and client with inverted bits
    found.add(destination.word(4));
    found.add(~last);
  }
  return found;
}

bool AccessRules::destination_allowed(const IpAddress& destination) const {
  const auto one = [this](const IpAddress& address) {
    const auto denied = deny_.longest(address);
    if (!denied) return true;
    const auto allowed = allow_.longest(address);
    return allowed && *allowed >= *denied;
  };
  const EmbeddedAddresses embedded = embedded_in(destination);
  return one(destination) && std::ranges::all_of(embedded.view(), one);
}

}  // namespace bloomwall::proxy
