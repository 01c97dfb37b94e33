// What editors leave in files of text, and how a program edits such a file without a loss: a byte order mark and line
// ends of CR LF, as Windows has them, are taken off before and put back behind.
// Refused, with the line and what to do: UTF-16, line ends of two kinds, a CR inside of a line, directives of YAML and
// marks of its documents (... and ---, but the first one), behind which a line more would mean another thing.
// Errors: one line, "line 3: ...". Pure; linear. Threads: any.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace bloomwall::conf {

using TextEdit = std::function<tl::expected<std::string, std::string>(std::string_view text)>;

// What `edit` makes of the text, which it gets with line ends of LF alone.
tl::expected<std::string, std::string> edit_text(std::string_view text, const TextEdit& edit);

}  // namespace bloomwall::conf
