// Recognises a URL that is canonical already, which nearly all real ones are, and says where its parts are, so that
// nothing is decoded or copied. A refusal says nothing about the URL; it only has to take the slow path.
// All of this must hold:
//   - begins with "http://" or "https://"
//   - host: 1 to 63 octets of [a-z0-9._-], no empty label, the last label does not begin with a digit; ends the URL, or
//     a '/' follows (so there is no port)
//   - path: octets 0x21..0x7E but '%' '#' '\' ';', no "//", no "/."; ends at '?'
//   - query: the same octets and ';', pairs do not matter
// Such a URL is its own canonical form and has no other one. Reads exactly [data, data + size). Thread-safe.
// Cost: about 20 ns at 50 octets with AVX2, 35 ns without, on a busy 2.6 GHz machine; bench/url_bench.cc.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace bloomwall::filter {

inline constexpr std::size_t kMaxFastHost = 63;  // so no label is too long either

// Two words, so that it is returned in registers.
struct UrlCut {
  std::uint8_t host_begin = 0;  // 0: not recognised
  std::uint8_t host_end = 0;    // where the path begins; the size of the URL where it has none
  std::size_t query = 0;        // place of '?', or npos
  friend bool operator==(const UrlCut&, const UrlCut&) = default;
};

UrlCut cut_if_canonical(std::string_view url);  // the best one for this processor, same results everywhere

// A host by the rules above, without the URL around it.
bool is_canonical_name(std::string_view host);

namespace fast_path_detail {  // for tests, benchmarks, and the two files that make up cut_if_canonical
std::size_t scheme_size(std::string_view url);  // of "http://" or "https://", else 0
bool ends_in_digit_label(std::string_view host);
UrlCut cut_scalar(std::string_view url);
UrlCut cut_avx2(std::string_view url);  // only where has_avx2()
bool has_avx2();
}  // namespace fast_path_detail

}  // namespace bloomwall::filter
