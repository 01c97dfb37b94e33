// SPDX-License-Identifier: Apache-2.0
#include "bench/ten_billion/url_line.h"

namespace bloomwall::bench {
namespace {

using filter::Kind;

constexpr std::array<Word, 8> kSubdomains{"", "", "", "", "www.", "www.", "cdn.", "a.img."};
constexpr std::array<Word, 16> kEndings{".com", ".com", ".com", ".net", ".org", ".info", ".ru",  ".de",
                                        ".cn",  ".top", ".xyz", ".br",  ".co",  ".in",   ".biz", ".fr"};
constexpr std::array<Word, 16> kHostWords{"shop",  "news", "media",  "free", "login", "bank", "cloud", "game",
                                          "video", "mail", "secure", "web",  "data",  "pay",  "host",  "blog"};
constexpr std::array<Word, 32> kPathWords{
    "wp",  "img", "js",  "css", "inc", "lib", "api", "doc", "en", "de", "old",  "new",  "tmp",  "bin",  "pub", "usr",
    "cgi", "app", "src", "a",   "b",   "c",   "it",  "id",  "up", "dl", "file", "post", "page", "user", "mod", "set"};
constexpr std::array<Word, 8> kShortWords{"a", "b", "en", "de", "js", "up", "x", "t"};
constexpr std::array<Word, 8> kSuffixes{".html", ".php", ".exe", "", ".js", ".zip", ".apk", ".htm"};
constexpr unsigned kUsualWords = 3;  // deeper paths are made of short words, so that they fit

// A permutation of the numbers of so many bits: odd factors and shifted XORs can be undone.
constexpr std::uint64_t permute(std::uint64_t v, unsigned bits, std::uint64_t seed) {
  const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
  v = (v ^ seed) & mask;
  v = (v * 0x9e3779b97f4a7c15) & mask;
  v ^= v >> (bits / 2);
  v = (v * 0xd1342543de82ef95) & mask;
  return v ^ (v >> (bits / 2));
}

template <std::size_t N>
const Word& pick(const std::array<Word, N>& words, std::uint64_t number) {
  static_assert((N & (N - 1)) == 0);
  return words[number & (N - 1)];
}

}  // namespace

void add_host(std::uint64_t host, std::uint64_t seed, Line& out) {
  const std::uint64_t look = mix(host ^ seed);
  out << pick(kSubdomains, look) << pick(kHostWords, look >> 8);
  out.code(permute(host, kHostCodeBits, seed), kHostCodeBits);
  out << pick(kEndings, look >> 16);
}

void add_path(const PathShape& shape, std::uint64_t seed, Line& out) {
  const std::uint64_t look = mix(shape.host * 0x10001 + shape.ordinal + seed);
  const bool is_deep = shape.depth > kUsualWords;
  for (unsigned d = 1; d < shape.depth; ++d) {
    out << '/' << (is_deep ? pick(kShortWords, look >> (3 * d)) : pick(kPathWords, look >> (5 * d)));
  }
  out << '/' << (is_deep ? pick(kShortWords, look >> 40) : pick(kPathWords, look >> 40)) << '-';
  out.code(permute(shape.ordinal, kPathCodeBits, seed ^ shape.host), kPathCodeBits);
  if (shape.kind == Kind::directory) {
    out << '/';
    return;
  }
  const bool has_query = shape.kind == Kind::url_query;
  if (shape.depth < kUsualWords || (shape.depth == kUsualWords && !has_query)) out << pick(kSuffixes, look >> 48);
  if (!has_query) return;
  out << '?' << pick(kPathWords, look >> 52) << '=';
  out.code(look >> 36, 20);
}

}  // namespace bloomwall::bench
