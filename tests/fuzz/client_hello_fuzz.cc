// Any bytes a client sends into a tunnel: cut anywhere they give the same result, in bounded memory, and a name is only
// handed out where it is one plain name.
// Input: one octet that seeds the cuts, then the bytes.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "proxy/tls/client_hello.h"
#include "tests/fuzz/require.h"

namespace {

using bloomwall::proxy::ClientHelloReader;
using bloomwall::proxy::HelloFacts;
using bloomwall::proxy::HelloResult;
using bloomwall::proxy::UnknownRecordPeek;

using bloomwall::fuzz::require;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  unsigned seed = data[0];
  const std::span<const char> bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  ClientHelloReader whole, pieces;
  whole.feed(bytes);
  for (std::size_t at = 0; at < bytes.size();) {
    seed = seed * 1103515245 + 12345;
    const std::size_t take = std::min<std::size_t>(1 + (seed >> 16) % 60, bytes.size() - at);
    const std::vector<char> exact(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                                  bytes.begin() + static_cast<std::ptrdiff_t>(at + take));
    pieces.feed(exact);
    at += take;
  }
  require(whole.result() == pieces.result() && whole.name() == pieces.name());
  require(std::string_view(whole.why()) == pieces.why());
  const HelloFacts &facts = whole.facts(), &same = pieces.facts();
  require(facts.alpn == same.alpn && facts.has_alpn == same.has_alpn && facts.has_ech == same.has_ech &&
          facts.offers_early_data == same.offers_early_data && facts.highest_version == same.highest_version &&
          facts.takes_rsa_alone == same.takes_rsa_alone);
  const bool is_hello = whole.result() == HelloResult::name || whole.result() == HelloResult::no_name;
  require(is_hello || (!facts.has_alpn && !facts.has_ech && facts.alpn.empty() && facts.highest_version == 0));
  require(facts.has_alpn || facts.alpn.empty());
  require(facts.protocols() <= facts.alpn.size() / 2 && (facts.protocols() == 0) == facts.alpn.empty());
  require(facts.alpn.size() <= 65'535 && !facts.offers(""));
  const std::string_view name = whole.name();
  require((whole.result() == HelloResult::name) == !name.empty());
  require(std::all_of(name.begin(), name.end(), [](char c) { return c > 0x20 && c < 0x7f; }));
  if (!bytes.empty() && bytes[0] >= 0x14 && bytes[0] <= 0x18 && bytes[0] != 0x16) {
    require(whole.result() == HelloResult::malformed);
  }
  if (!bytes.empty() && bytes[0] >= 0 && (bytes[0] < 0x14 || bytes[0] > 0x18)) {
    require(whole.result() == HelloResult::not_tls);
  }
  UnknownRecordPeek record, octets;
  record.feed(bytes);
  for (const char& c : bytes) octets.feed({&c, 1});
  require(record.result() == octets.result());
  if (bytes.size() > 5 && bytes[1] == 3) require(record.result() == UnknownRecordPeek::Result::record);
  if (bytes.size() > 90 * 1024) require(whole.result() != HelloResult::need_more);
  return 0;
}
