// SPDX-License-Identifier: Apache-2.0
#include "proxy/http/fields.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>

#include "proxy/http/octets.h"

namespace bloomwall::proxy {
namespace {

struct KnownName {
  std::string_view name;  // lower case
  FieldId id;
};
constexpr std::array kKnown{
    KnownName{"accept", FieldId::accept},
    KnownName{"connection", FieldId::connection},
    KnownName{"content-length", FieldId::content_length},
    KnownName{"date", FieldId::date},
    KnownName{"expect", FieldId::expect},
    KnownName{"forwarded", FieldId::forwarded},
    KnownName{"host", FieldId::host},
    KnownName{"http2-settings", FieldId::http2_settings},
    KnownName{"keep-alive", FieldId::keep_alive},
    KnownName{"max-forwards", FieldId::max_forwards},
    KnownName{"proxy-authenticate", FieldId::proxy_authenticate},
    KnownName{"proxy-authentication-info", FieldId::proxy_authentication_info},
    KnownName{"proxy-authorization", FieldId::proxy_authorization},
    KnownName{"proxy-connection", FieldId::proxy_connection},
    KnownName{"proxy-status", FieldId::proxy_status},
    KnownName{"referer", FieldId::referer},
    KnownName{"sec-websocket-key", FieldId::sec_websocket_key},
    KnownName{"te", FieldId::te},
    KnownName{"trailer", FieldId::trailer},
    KnownName{"transfer-encoding", FieldId::transfer_encoding},
    KnownName{"upgrade", FieldId::upgrade},
    KnownName{"user-agent", FieldId::user_agent},
    KnownName{"via", FieldId::via},
    KnownName{"x-forwarded-for", FieldId::x_forwarded_for},
};
constexpr std::size_t kLongestKnown = 25;

// Bit i is set where kKnown[i] has that length: few names share one.
constexpr std::array<std::uint32_t, kLongestKnown + 1> known_by_length() {
  static_assert(kKnown.size() <= 32);
  std::array<std::uint32_t, kLongestKnown + 1> known{};
  for (std::size_t i = 0; i < kKnown.size(); ++i) known[kKnown[i].name.size()] |= 1U << i;
  return known;
}
constexpr auto kOfLength = known_by_length();

bool equals_lower(std::string_view text, std::string_view lower_case) {
  return text.size() == lower_case.size() &&
         std::equal(text.begin(), text.end(), lower_case.begin(), [](char a, char b) { return lower(a) == b; });
}

}  // namespace

FieldId field_id(std::string_view name) {
  if (name.empty()) return FieldId::other;
  const char first = lower(name.front());
  const std::uint32_t candidates = name.size() <= kLongestKnown ? kOfLength[name.size()] : 0;
  for (std::uint32_t rest = candidates; rest != 0; rest &= rest - 1) {
    const KnownName& known = kKnown[static_cast<std::size_t>(std::countr_zero(rest))];
    if (first == known.name.front() && equals_lower(name, known.name)) return known.id;
  }
  return name.size() > 6 && equals_lower(name.substr(0, 6), "proxy-") ? FieldId::proxy_other : FieldId::other;
}

bool same_name(std::string_view a, std::string_view b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) { return lower(x) == lower(y); });
}

const Field* find_field(std::span<const Field> fields, FieldId id) {
  const auto at = std::find_if(fields.begin(), fields.end(), [&](const Field& f) { return f.id == id; });
  return at == fields.end() ? nullptr : &*at;
}

const Field* find_field(std::span<const Field> fields, std::string_view name) {
  const auto at = std::find_if(fields.begin(), fields.end(), [&](const Field& f) { return same_name(f.name, name); });
  return at == fields.end() ? nullptr : &*at;
}

bool next_element(std::string_view& list, std::string_view& element) {
  while (!list.empty()) {
    std::size_t at = 0;
    for (bool quoted = false; at < list.size() && (quoted || list[at] != ','); ++at) {
      if (list[at] == '"') quoted = !quoted;
      if (quoted && list[at] == '\\' && at + 1 < list.size()) ++at;
    }
    element = trim(list.substr(0, at));
    list.remove_prefix(std::min(at + 1, list.size()));
    if (!element.empty()) return true;
  }
  return false;
}

bool has_element(std::string_view list, std::string_view option) {
  for (std::string_view element; next_element(list, element);) {
    if (same_name(element, option)) return true;
  }
  return false;
}

void Persistence::note(std::string_view list) {
  for (std::string_view option; next_element(list, option);) {
    close = close || same_name(option, "close");
    keep_alive = keep_alive || same_name(option, "keep-alive");
  }
}

}  // namespace bloomwall::proxy
