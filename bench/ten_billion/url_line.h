// One URL of the made-up list under way: how hosts and paths are worded. Host number and ordinal stand in it through
// permutations keyed with the seed, so that different numbers never give the same text; the words around them are
// drawn.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "filter/kind.h"

namespace bloomwall::bench {

inline constexpr unsigned kHostCodeBits = 40, kPathCodeBits = 25;  // numbers and ordinals are below 2^these

inline std::uint64_t mix(std::uint64_t v) {
  v = (v ^ (v >> 30)) * 0xbf58476d1ce4e5b9;
  v = (v ^ (v >> 27)) * 0x94d049bb133111eb;
  return v ^ (v >> 31);
}

// A short text that is copied whole, so that its length costs no branch.
struct Word {
  std::array<char, 8> text{};
  std::uint8_t size = 0;
  constexpr Word(const char* from) {  // NOLINT(google-explicit-constructor): tables of words
    while (from[size] != '\0') {
      text[size] = from[size];
      ++size;
    }
  }
};

// One line under way. Its parts are copied in whole words: room for the longest line and one word more.
class Line {
 public:
  Line() = default;
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;
  Line& operator<<(const Word& word) {
    std::memcpy(end_, word.text.data(), word.text.size());
    end_ += word.size;
    return *this;
  }
  Line& operator<<(char c) {
    *end_++ = c;
    return *this;
  }
  Line& operator<<(std::string_view text) {
    std::memcpy(end_, text.data(), text.size());
    end_ += text.size();
    return *this;
  }
  void code(std::uint64_t number, unsigned bits) {  // five bits a letter
    for (unsigned i = 0; i < bits; i += 5) *end_++ = "abcdefghijklmnopqrstuvwxyz234567"[(number >> i) & 31];
  }
  std::string_view text() const { return {text_.data(), static_cast<std::size_t>(end_ - text_.data())}; }

 private:
  std::array<char, 128> text_;
  char* end_ = text_.data();
};

struct PathShape {
  filter::Kind kind = filter::Kind::url;
  unsigned depth = 1;
  std::uint64_t host = 0;
  std::uint32_t ordinal = 0;
};

// "www.shopabcdefgh.com".
void add_host(std::uint64_t host, std::uint64_t seed, Line& out);
// "/wp/page-abcde.html?id=abcd"; a directory ends in '/'.
void add_path(const PathShape& shape, std::uint64_t seed, Line& out);

}  // namespace bloomwall::bench
