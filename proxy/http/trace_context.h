// The id of a trace, as clients that trace their requests send it: the field traceparent of W3C Trace Context.
//   traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
// The field itself passes like any other. Pure; no allocation.
// Source: https://www.w3.org/TR/trace-context/, section 3.2.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace bloomwall::proxy {

// The 32 hexadecimal digits of the trace's id, a part of `traceparent`; empty where that is malformed, of the forbidden
// version ff, or has an id of zeros alone. Versions to come may have more behind the four parts.
std::string_view trace_id_of(std::string_view traceparent);

}  // namespace bloomwall::proxy
