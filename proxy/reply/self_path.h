// Which of the proxy's own pages a path names, on the self host and on forward listeners. The certificate's pages are
// in authority_page.h.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "proxy/reply/report_form.h"

namespace bloomwall::proxy {

enum class SelfPath : std::uint8_t {
  home,    // "/": what was blocked
  setup,   // "/setup": how programs are told of the proxy
  pac,     // "/proxy.pac", "/wpad.dat"
  report,  // "/report" and below
  unknown,
};

// A query does not matter.
inline SelfPath self_path(std::string_view path) {
  path = path.substr(0, path.find('?'));
  if (path.empty() || path == "/") return SelfPath::home;
  if (path == "/setup") return SelfPath::setup;
  if (path == "/proxy.pac" || path == "/wpad.dat") return SelfPath::pac;
  return report_path(path, false) ? SelfPath::report : SelfPath::unknown;
}

// The home page with this query asks for a login where the client needs one: what was blocked for users is shown to
// them alone.
inline constexpr std::string_view kHomeWithLogin = "/?login";

}  // namespace bloomwall::proxy
