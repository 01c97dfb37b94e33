// A filter's header and info as text for a person, and the names of what stands in it as bits.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "filter/file/file_info.h"
#include "filter/file/header.h"

namespace bloomwall::filter {

const char* layout_name(Layout layout);                        // "2x8", "4x4"
std::vector<std::string> option_names(std::uint32_t options);  // "--exact", ...; unknown bits as a number
std::vector<std::string> mark_names(std::uint32_t mark_mask);  // "U", "Q", "D1", ... "D16+"
std::string joined(const std::vector<std::string>& words, std::string_view between = ", ");

// Lines of text, ended by LF. The series key only where `show_secret`.
std::string header_text(const Header& header, bool show_secret);
std::string errors_text(const Header& header);  // predictions per key and class, as filled, measured
std::string info_text(const FileInfo& info);

}  // namespace bloomwall::filter
