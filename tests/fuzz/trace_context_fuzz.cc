// Fuzzes the field traceparent: what is taken for the id of a trace is 32 digits of the field, whatever it is.
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "proxy/http/trace_context.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view field(reinterpret_cast<const char*>(data), size);
  const std::string_view trace = bloomwall::proxy::trace_id_of(field);
  if (trace.empty()) return 0;
  const bool is_inside = trace.data() >= field.data() && trace.data() + trace.size() <= field.data() + field.size();
  const bool is_id = trace.size() == 32 && trace.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  if (!is_inside || !is_id || trace.find_first_not_of('0') == std::string_view::npos) std::abort();
  return 0;
}
