// SPDX-License-Identifier: Apache-2.0
#include "proxy/auth/siphash.h"

#include <bit>
#include <cstddef>
#include <cstring>

namespace bloomwall::proxy {
namespace {

static_assert(std::endian::native == std::endian::little);

struct SipState {
  std::uint64_t v0, v1, v2, v3;

  void rounds(int count) {
    for (int i = 0; i < count; ++i) {
      v0 += v1;
      v1 = std::rotl(v1, 13) ^ v0;
      v0 = std::rotl(v0, 32);
      v2 += v3;
      v3 = std::rotl(v3, 16) ^ v2;
      v0 += v3;
      v3 = std::rotl(v3, 21) ^ v0;
      v2 += v1;
      v1 = std::rotl(v1, 17) ^ v2;
      v2 = std::rotl(v2, 32);
    }
  }
  void take(std::uint64_t word) {
    v3 ^= word;
    rounds(2);
    v0 ^= word;
  }
  std::uint64_t sum() const { return v0 ^ v1 ^ v2 ^ v3; }
};

}  // namespace

SipHash siphash(const SipKey& key, std::string_view text) {
  constexpr std::size_t kWord = sizeof(std::uint64_t);
  SipState state{key[0] ^ 0x736f6d6570736575U, key[1] ^ 0x646f72616e646f6dU ^ 0xeeU, key[0] ^ 0x6c7967656e657261U,
                 key[1] ^ 0x7465646279746573U};
  std::size_t at = 0;
  std::uint64_t word = 0;
  for (; at + kWord <= text.size(); at += kWord) {
    std::memcpy(&word, text.data() + at, kWord);
    state.take(word);
  }
  word = std::uint64_t{text.size()} << 56;
  for (std::size_t i = at; i < text.size(); ++i) {
    word |= std::uint64_t{static_cast<std::uint8_t>(text[i])} << (8 * (i - at));
  }
  state.take(word);
  state.v2 ^= 0xee;
  state.rounds(4);
  SipHash hash{state.sum(), 0};
  state.v1 ^= 0xdd;
  state.rounds(4);
  hash[1] = state.sum();
  return hash;
}

}  // namespace bloomwall::proxy
