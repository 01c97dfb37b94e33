// SPDX-License-Identifier: Apache-2.0
#include "filter/cli/line_source.h"

#include <streambuf>

namespace bloomwall::filter {

bool LineSource::next() {
  using Traits = std::char_traits<char>;
  std::streambuf& buffer = *in_.rdbuf();
  line_.clear();
  too_long_ = false;
  bool any = false;
  while (true) {
    if (buffer.in_avail() <= 0) answers_.flush();
    const auto c = buffer.sbumpc();
    if (Traits::eq_int_type(c, Traits::eof())) break;
    any = true;
    if (c == '\n') break;
    if (line_.size() < kMaxQueryLine + 1) {  // one more, for a CR that does not count
      line_.push_back(Traits::to_char_type(c));
    } else {
      too_long_ = true;
    }
  }
  if (!too_long_ && line_.ends_with('\r')) line_.pop_back();
  if (line_.size() > kMaxQueryLine) {
    too_long_ = true;
    line_.resize(kMaxQueryLine);
  }
  return any;
}

}  // namespace bloomwall::filter
