// Entries that a person typed and hardly meant: refused in a delta, where nobody counts what a line did not stop.
// Thread-safe. Cost: that of a look into the public suffix list.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "filter/url/entry.h"

namespace bloomwall::filter {

// Why the entries that `text` was read as are not taken, and what to write instead; empty where they are. Refused are
//   hosts that no request can have ("evil.example,", "a;b.example"), for nothing would ever match them;
//   a '*' in a path, which would stand for itself;
//   a URL of which only the host is left ("/#/page");
//   a top-level domain or public suffix that is added, unless it is written "*.com": it stands for everything below. What
//   takes it away takes one entry.
std::string why_not_typed(const ParsedEntry& parsed, std::string_view text, bool adds);

// "'a,.example' is a host that no request can have ...".
std::string no_request_text(std::string_view text);

}  // namespace bloomwall::filter
