// SPDX-License-Identifier: Apache-2.0
#include "proxy/reply/decision_id.h"

#include <bit>

namespace bloomwall::proxy {
namespace {

struct SipState {
  std::uint64_t v0, v1, v2, v3;
  void round() {
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
  void absorb(std::uint64_t word) {
    v3 ^= word;
    round();
    round();
    v0 ^= word;
  }
};

}  // namespace

std::uint64_t siphash(const DecisionIds::Key& key, std::uint64_t word) {
  SipState state{key[0] ^ 0x736f6d6570736575, key[1] ^ 0x646f72616e646f6d, key[0] ^ 0x6c7967656e657261,
                 key[1] ^ 0x7465646279746573};
  state.absorb(word);
  state.absorb(std::uint64_t{8} << 56);  // the message's length in the last word
  state.v2 ^= 0xff;
  for (int i = 0; i < 4; ++i) state.round();
  return state.v0 ^ state.v1 ^ state.v2 ^ state.v3;
}

DecisionId DecisionIds::next() {
  static constexpr std::string_view kLetters = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
  DecisionId id;
  for (std::size_t half = 0; half < 2; ++half) {
    std::uint64_t bits = siphash(key_, counter_++);
    for (std::size_t i = 0; i < 8; ++i, bits >>= 5) id.text_[half * 8 + i] = kLetters[bits & 31U];
  }
  id.length_ = static_cast<std::uint8_t>(id.text_.size());
  return id;
}

}  // namespace bloomwall::proxy
