// What a client is told of its parent's refusal of a CONNECT: status, reason phrase and Proxy-Status, which say who
// refused and why. Body, cookies and redirects are not passed on: they would be taken for the origin's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "proxy/http/response.h"

namespace bloomwall::proxy {

struct ParentRefusal {
  int status = 0;
  std::string reason = {};  // visible ASCII; empty: that of the status
  std::string proxy_status =
      {};  // members of Proxy-Status, nearest the origin first; empty: none that can be passed on

  // Nothing for statuses that do not say of the request that it is refused: 403, 404, 429, 451, 503 and 504 do.
  static std::optional<ParentRefusal> of(const ResponseHead& answer);
};

}  // namespace bloomwall::proxy
