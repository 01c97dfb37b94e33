// One parsed response head, as views into the reader's head buffer.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "proxy/http/fields.h"
#include "proxy/http/request.h"

namespace bloomwall::proxy {

struct ResponseHead {
  int status = 0;                // 100 .. 999
  std::string_view reason = {};  // may be empty
  Version version = Version::http11;
  BodyFraming framing = BodyFraming::none;  // of the octets that follow: none for HEAD, 1xx, 204, 304
  std::uint64_t content_length = 0;
  bool has_content_length = false;  // kept also where there is no body (HEAD, 304) so that it can be forwarded
  bool keep_alive = false;          // the origin's offer
  std::vector<Field> fields = {};   // Content-Length and Transfer-Encoding included, as received
};

// How the body must be sent after the head that was written, and whether the connection closes after it.
struct ResponsePlan {
  BodyFraming framing = BodyFraming::none;
  bool close = false;
};

}  // namespace bloomwall::proxy
