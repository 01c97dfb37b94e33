// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace bloomwall::conf {

// Where `text` stops being readable text: the first octet that is not well-formed UTF-8 (RFC 3629), or a control
// character other than TAB, LF and CR. Nothing where all of it is text.
std::optional<std::size_t> find_non_text(std::string_view text);

}  // namespace bloomwall::conf
