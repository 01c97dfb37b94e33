// SPDX-License-Identifier: Apache-2.0
#include "proxy/dns/static_hosts.h"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <system_error>
#include <utility>

#include "base/text.h"

namespace bloomwall::proxy {
namespace {

constexpr std::size_t kMaxNames = 100'000;
constexpr std::size_t kMaxStaticAddresses = 16;
constexpr std::size_t kMaxLine = 4096;

std::string canonical(std::string_view name) {
  if (name.ends_with('.')) name.remove_suffix(1);
  std::string lower(name);
  make_lower(lower);
  return lower;
}

}  // namespace

tl::expected<StaticHosts, std::string> StaticHosts::build(const std::map<std::string, std::string>& configured,
                                                          const std::filesystem::path& file) {
  StaticHosts hosts;
  std::ifstream in(file);
  const int why = in.is_open() ? 0 : errno;
  if (why == EMFILE || why == ENFILE || why == ENOMEM) {
    return tl::unexpected(file.string() + ": " + std::generic_category().message(why));
  }
  for (std::string line; hosts.names_.size() < kMaxNames && std::getline(in, line);) {
    if (line.size() <= kMaxLine) hosts.read_line(line);
  }
  for (const auto& [name, text] : configured) {
    const auto address = Endpoint::parse_ip(text);
    if (!address) return tl::unexpected("dns.hosts." + name + ": not an IP address");
    hosts.names_[canonical(name)] = {*address};  // instead of the file's
  }
  hosts.localhost_ = {*Endpoint::parse_ip("127.0.0.1"), *Endpoint::parse_ip("::1")};
  return hosts;
}

void StaticHosts::read_line(std::string_view line) {
  line = line.substr(0, line.find('#'));
  const auto address = Endpoint::parse_ip(next_word(line));
  if (!address) return;
  for (std::string_view word = next_word(line); !word.empty(); word = next_word(line)) {
    auto& addresses = names_[canonical(word)];
    if (addresses.size() < kMaxStaticAddresses) addresses.push_back(*address);
  }
}

std::span<const Endpoint> StaticHosts::find(std::string_view host) const {
  if (const auto found = names_.find(host); found != names_.end()) return found->second;
  if (host == "localhost" || host.ends_with(".localhost")) return localhost_;
  return {};
}

}  // namespace bloomwall::proxy
