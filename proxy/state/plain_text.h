// Text that strangers have typed, made plain: what is left shows as it reads, wherever it is shown. Left out are
// controls (C0, DEL, C1), marks that turn the direction of text (bidirectional embeddings, overrides, isolates and
// marks), invisible format characters and octets that are no UTF-8. Each run of blanks and ends of lines becomes one
// blank; none is left at either end.
// Pure; linear. Fuzzed (tests/fuzz/report_form_fuzz.cc).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace bloomwall::proxy {

// At most `most` characters (code points) of it.
std::string plain_text(std::string_view text, std::size_t most);

}  // namespace bloomwall::proxy
