// SPDX-License-Identifier: Apache-2.0
#include "proxy/http/hidden_request.h"

#include <algorithm>
#include <string_view>

#include "proxy/http/fields.h"

namespace bloomwall::proxy {
namespace {

bool is_white(char octet) { return octet == ' ' || (octet >= '\t' && octet <= '\r'); }
bool is_of_version(char octet) { return octet == '.' || (octet >= '0' && octet <= '9'); }

}  // namespace

bool HiddenRequestSearch::is_behind_name(std::span<const char> piece, std::size_t slash) const {
  std::array<char, kNameSize> name;
  for (std::size_t i = 0; i < kNameSize; ++i) {
    const std::size_t at = slash + i;  // counted from kNameSize octets before the piece
    name[i] = at < kNameSize ? last_[at] : piece[at - kNameSize];
  }
  return is_white(name[0]) && same_name(std::string_view(name.data() + 1, kNameSize - 1), "http");
}

void HiddenRequestSearch::add(std::span<const char> piece) {
  if (found_) return;
  for (std::size_t at = 0; at < piece.size();) {
    if (in_version_) {
      if (!is_of_version(piece[at])) {
        in_version_ = false;
        if (is_white(piece[at])) found_ = true;
        if (found_) return;
        continue;
      }
      ++at;
      continue;
    }
    const std::string_view rest(piece.data() + at, piece.size() - at);
    const std::size_t slash = rest.find('/');
    if (slash == std::string_view::npos) break;
    in_version_ = is_behind_name(piece, at + slash);
    at += slash + 1;
  }
  if (piece.size() >= kNameSize) {
    std::ranges::copy(piece.last(kNameSize), last_.begin());
  } else {
    std::ranges::rotate(last_, last_.begin() + static_cast<std::ptrdiff_t>(piece.size()));
    std::ranges::copy(piece, last_.end() - static_cast<std::ptrdiff_t>(piece.size()));
  }
}

}  // namespace bloomwall::proxy
