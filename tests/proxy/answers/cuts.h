// The same octets in other pieces: a reader must come to the same outcome.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bloomwall::proxy::answers_test {

using Pieces = std::vector<std::string_view>;

inline Pieces octet_by_octet(std::string_view text) {
  Pieces pieces;
  for (std::size_t at = 0; at < text.size(); ++at) pieces.push_back(text.substr(at, 1));
  return pieces;
}

inline Pieces cut_at_random(std::string_view text, std::mt19937& random) {
  Pieces pieces;
  while (!text.empty()) {
    const std::size_t most = random() % 3 == 0 ? 3 : text.size();
    const std::size_t size = std::min<std::size_t>(text.size(), 1 + random() % most);
    pieces.push_back(text.substr(0, size));
    text.remove_prefix(size);
  }
  return pieces;
}

// `reader_text(reader, bytes, out)` feeds bytes until none is left or the reader wants no more (false), and writes down
// what it says. Each piece lies in a block of its size, so that a sanitizer sees who reads beyond it.
template <typename Reader, typename Feed>
std::string outcome(Reader reader, const Pieces& pieces, Feed feed) {
  std::string out;
  for (const std::string_view piece : pieces) {
    const std::vector<char> exact(piece.begin(), piece.end());
    if (!feed(reader, std::span<const char>(exact), out)) break;
  }
  return out;
}

// How `text` reads in one piece; the test fails where other pieces read otherwise.
template <typename MakeReader, typename Feed>
std::string in_any_pieces(std::string_view text, MakeReader make, Feed feed, std::mt19937& random, bool& is_same) {
  const std::string whole = outcome(make(), {text}, feed);
  is_same = outcome(make(), octet_by_octet(text), feed) == whole;
  for (int round = 0; round < 8 && is_same; ++round)
    is_same = outcome(make(), cut_at_random(text, random), feed) == whole;
  return whole;
}

}  // namespace bloomwall::proxy::answers_test
