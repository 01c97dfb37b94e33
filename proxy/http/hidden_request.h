// Whether a body could be taken for requests by a server that does not read it as one ("CL.0"), and answers them on the
// same connection. Such a request ends its first line with the protocol's name and version (RFC 9112 section 3), or the
// server answers without a head, and closes (HTTP/0.9): neither leaves a connection on which its answer passes for that
// of the next request. So a body without white space, "HTTP/", digits and dots, and white space hides none. Letters of
// either case count, since some servers take both. Quoted in JSON or in an access log such a line ends with a quote.
// Cost: one memchr() for slashes. Thread: any, one at a time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <span>

namespace bloomwall::proxy {

class HiddenRequestSearch {
 public:
  void add(std::span<const char> piece);  // of the body as the server gets it, in order
  bool found() const { return found_ || in_version_; }

 private:
  static constexpr std::size_t kNameSize = 5;  // of white space and "HTTP"
  bool is_behind_name(std::span<const char> piece, std::size_t slash) const;

  std::array<char, kNameSize> last_ = {};  // octets of the pieces before
  bool in_version_ = false, found_ = false;
};

}  // namespace bloomwall::proxy
