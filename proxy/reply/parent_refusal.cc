// SPDX-License-Identifier: Apache-2.0
#include "proxy/reply/parent_refusal.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

namespace bloomwall::proxy {
namespace {

constexpr std::size_t kMostReason = 200, kMostProxyStatus = 1024;
constexpr std::array kStatuses{403, 404, 429, 451, 503, 504};

bool is_plain(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= ' ' && c < 0x7f; });
}

// Whether what is appended to the list is a member of its own, and not a part of a string that has no end.
bool is_whole_list(std::string_view text) {
  bool is_in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (is_in_string && text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      is_in_string = !is_in_string;
    }
  }
  return !is_in_string && is_plain(text);
}

}  // namespace

std::optional<ParentRefusal> ParentRefusal::of(const ResponseHead& answer) {
  if (std::ranges::find(kStatuses, answer.status) == kStatuses.end()) return std::nullopt;
  ParentRefusal refusal{.status = answer.status};
  if (is_plain(answer.reason)) refusal.reason = answer.reason.substr(0, kMostReason);
  for (const Field& field : answer.fields) {
    if (field.id != FieldId::proxy_status || field.value.empty() || !is_whole_list(field.value)) continue;
    if (refusal.proxy_status.size() + field.value.size() > kMostProxyStatus) break;
    refusal.proxy_status.append(refusal.proxy_status.empty() ? "" : ", ").append(field.value);
  }
  return refusal;
}

}  // namespace bloomwall::proxy
