// Recognises a URL that is canonical already, which nearly all real ones are, and says where its parts are, so that
// nothing is decoded or copied. A refusal says nothing about the URL; it only has to take the slow path.
// All of this must hold:
//   - begins with "http://" or "https://"
//   - host: octets of [a-z0-9._-], no empty label, the last label does not begin with a digit
//   - behind it nothing, or ':' and 1 to 5 digits up to 65535; both together have 1 to 63 octets. Then the URL ends, or
//     a '/' follows
//   - path: octets 0x21..0x7E but '%' '#' '\' ';', no "//", no "/."; ends at '?'
//   - query: the same octets and ';', pairs do not matter
//   - in both, '%' as well where it begins an escape that stays as it is, with digits in upper case: of an octet >=
//     0x7F, and in the query of one <= 0x20 or of '#', too (in a path some servers end there, see forms.h, and so they
//     do at a lone 0x85 or 0xA0). It can't be
//     a part of another escape, and no origin reads a separator or a dot in it.
// Such a URL, but for its port, is its own canonical form and has no other one. Reads exactly [data, data + size).
// Thread-safe.
// Cost: about 20 ns at 50 octets with AVX2, 35 ns without, on a busy 2.6 GHz machine; bench/url_bench.cc.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace bloomwall::filter {

inline constexpr std::size_t kMaxFastHost = 63;  // with its port; so no label is too long either

// Two words, so that it is returned in registers.
struct UrlCut {
  std::uint8_t host_begin = 0;  // 0: not recognised
  std::uint8_t host_end = 0;    // the size of the URL where nothing follows
  std::uint8_t port_size = 0;   // with its colon; 0: no port
  std::uint16_t port = 0;
  std::size_t query = 0;  // place of '?', or npos
  std::size_t path_begin() const { return std::size_t{host_end} + port_size; }
  friend bool operator==(const UrlCut&, const UrlCut&) = default;
};

UrlCut cut_if_canonical(std::string_view url);  // the best one for this processor, same results everywhere

// Parts of a URL by the rules above, without what stands around them.
bool is_canonical_name(std::string_view host);
enum class UrlPart : std::uint8_t { path, query };
// A path is empty or begins with '/', and a query stands behind its '?'.
bool is_canonical(UrlPart part, std::string_view text);

namespace fast_path_detail {                    // for tests, benchmarks, and the two files that make these up
std::size_t scheme_size(std::string_view url);  // of "http://" or "https://", else 0
bool ends_in_digit_label(std::string_view host);
struct PortCut {
  std::uint8_t size = 0;  // with its colon; 0: no such port
  std::uint16_t number = 0;
};
PortCut read_port(std::string_view url, std::size_t host_begin, std::size_t host_end);
bool is_kept_escape(UrlPart part, std::string_view url, std::size_t at);
UrlCut cut_scalar(std::string_view url);
bool is_canonical_scalar(UrlPart part, std::string_view text);
UrlCut cut_avx2(std::string_view url);  // these two only where has_avx2()
bool is_canonical_avx2(UrlPart part, std::string_view text);
bool has_avx2();
}  // namespace fast_path_detail

}  // namespace bloomwall::filter
