// Defanged hosts and URLs, as reports and feeds write them so that nobody follows them by mistake:
//   hxxp://a[.]example/x   hxxps[:]//a(.)example   a[dot]example   192[.]0[.]2[.]1   http[:]//a{.}example
// No host has a bracket in it and no scheme is called hxxp, so that what is meant is never in doubt. A path may hold
// anything, so that "[.]" in it is a dot only behind a scheme or a host that is defanged. Pure; no errors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace bloomwall::filter {

// Whether a text of many lines may hold a defanged host. A scheme is looked for in each line.
// A search for each bracket: one for all of them calls memchr for each octet of the text, a quarter of a build's time.
inline bool may_be_defanged(std::string_view text) {
  return text.find('[') != std::string_view::npos || text.find('(') != std::string_view::npos ||
         text.find('{') != std::string_view::npos;
}
// Whether a line may begin with a defanged scheme; cheaper still.
inline bool has_odd_scheme(std::string_view line) { return line.size() > 3 && (line[1] == 'x' || line[1] == 'X'); }

// What `text` means, in `scratch`; `text` itself where nothing in it is defanged.
std::string_view refanged(std::string_view text, std::string& scratch);

}  // namespace bloomwall::filter
