// Lines of a stream, bounded in length, and answers sent out whenever the asker may be waiting for them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <istream>
#include <ostream>
#include <string>
#include <string_view>

namespace bloomwall::filter {

inline constexpr std::size_t kMaxQueryLine = std::size_t{64} << 10;

// `answers` is flushed before a read that may have to wait: someone who types a URL gets the answer at once, a pipe of
// millions does not pay for it. A line ends with LF, or CR LF; what is over kMaxQueryLine octets is dropped.
class LineSource {
 public:
  LineSource(std::istream& in, std::ostream& answers) : in_(in), answers_(answers) {}
  bool next();  // false at the end
  std::string_view line() const { return line_; }
  bool too_long() const { return too_long_; }

 private:
  std::istream& in_;
  std::ostream& answers_;
  std::string line_;
  bool too_long_ = false;
};

}  // namespace bloomwall::filter
