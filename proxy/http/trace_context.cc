// SPDX-License-Identifier: Apache-2.0
#include "proxy/http/trace_context.h"

#include <cstddef>

#include "base/encoding.h"

namespace bloomwall::proxy {
namespace {

constexpr std::size_t kVersionDigits = 2, kTraceDigits = 32, kParentDigits = 16, kFlagDigits = 2;
constexpr std::size_t kTraceparentLength = kVersionDigits + 1 + kTraceDigits + 1 + kParentDigits + 1 + kFlagDigits;

bool is_all_zeros(std::string_view text) { return text.find_first_not_of('0') == std::string_view::npos; }

}  // namespace

std::string_view trace_id_of(std::string_view traceparent) {
  if (traceparent.size() < kTraceparentLength) return {};
  const std::string_view version = traceparent.substr(0, kVersionDigits);
  const std::string_view trace = traceparent.substr(kVersionDigits + 1, kTraceDigits);
  const std::string_view parent = traceparent.substr(kVersionDigits + 1 + kTraceDigits + 1, kParentDigits);
  const std::string_view flags = traceparent.substr(kTraceparentLength - kFlagDigits, kFlagDigits);
  const bool is_parted = traceparent[kVersionDigits] == '-' && traceparent[kVersionDigits + 1 + kTraceDigits] == '-' &&
                         traceparent[kTraceparentLength - kFlagDigits - 1] == '-';
  if (!is_parted || !is_lower_hex(version) || !is_lower_hex(trace) || !is_lower_hex(parent) || !is_lower_hex(flags))
    return {};
  const bool has_more = traceparent.size() > kTraceparentLength;
  if (version == "ff" || (has_more && (version == "00" || traceparent[kTraceparentLength] != '-'))) return {};
  return is_all_zeros(trace) || is_all_zeros(parent) ? std::string_view() : trace;
}

}  // namespace bloomwall::proxy
