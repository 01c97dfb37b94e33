// SPDX-License-Identifier: Apache-2.0

#include "proxy/http/fields.h"

#include <llhttp.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/names.h"
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

// Whether the octets of a word are those of a name in lower case, or its letters in upper case. Octets of such a name
// have bit 5, which tells cases apart, and letters alone have bit 6, too.
template <typename Word>
bool equals_word(const char* text, const char* lower_case) {
  constexpr Word kBit5 = static_cast<Word>(0x2020202020202020U);
  Word a, b;  // NOLINT: written by the next lines
  std::memcpy(&a, text, sizeof a);
  std::memcpy(&b, lower_case, sizeof b);
  const Word upper = a ^ b;
  return (upper & ~kBit5) == 0 && ((upper << 1) & ~b) == 0;
}

constexpr bool is_name_in_lower_case(std::string_view name) {
  const auto is_expected = [](char c) { return c == '-' || is(octets::digit, c) || (c >= 'a' && c <= 'z'); };
  return !name.empty() && std::ranges::all_of(name, is_expected);
}
static_assert(std::ranges::all_of(kKnown, is_name_in_lower_case, &KnownName::name));

// `lower_case`: is_name_in_lower_case(). Whole words, of which the last one may overlap that before it.
bool equals_lower(std::string_view text, std::string_view lower_case) {
  const std::size_t size = lower_case.size();
  const char *const a = text.data(), *const b = lower_case.data();
  if (text.size() != size) return false;
  if (size >= 8) {
    for (std::size_t at = 0; at + 8 < size; at += 8) {
      if (!equals_word<std::uint64_t>(a + at, b + at)) return false;
    }
    return equals_word<std::uint64_t>(a + size - 8, b + size - 8);
  }
  if (size >= 4) return equals_word<std::uint32_t>(a, b) && equals_word<std::uint32_t>(a + size - 4, b + size - 4);
  return std::equal(text.begin(), text.end(), b, [](char x, char y) { return lower(x) == y; });
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

namespace {

struct Sink {
  std::vector<Field>* fields;
  std::size_t most;
  const char* end;  // of the section: views never reach it
  bool too_many = false;
  bool complete = false;
};

Sink& sink_of(llhttp_t* parser) { return *static_cast<Sink*>(parser->data); }

int on_name(llhttp_t* parser, const char* at, std::size_t size) {
  Sink& sink = sink_of(parser);
  if (sink.fields->size() == sink.most) {
    sink.too_many = true;
    return HPE_USER;
  }
  sink.fields->push_back({.name = {at, size}, .value = {}});
  return HPE_OK;
}

// An empty value gives no call at all; one with inner structure (Connection, Transfer-Encoding) may give several that
// continue each other.
int on_value(llhttp_t* parser, const char* at, std::size_t size) {
  Field& field = sink_of(parser).fields->back();
  const char* const begin = field.value.empty() ? at : field.value.data();
  field.value = {begin, static_cast<std::size_t>(at + size - begin)};
  return HPE_OK;
}

int on_complete(llhttp_t* parser) {
  sink_of(parser).complete = true;
  return HPE_PAUSED;
}

const llhttp_settings_t& settings() {
  static const llhttp_settings_t made = [] {
    llhttp_settings_t s;
    llhttp_settings_init(&s);
    s.on_header_field = on_name;
    s.on_header_value = on_value;
    s.on_headers_complete = on_complete;
    return s;
  }();
  return made;
}

// A parser in the state after a request line. Start lines are parsed by request.cc and response.cc, which
// accept every method and give each error its own status.
const llhttp_t& primed() {
  static const llhttp_t made = [] {
    constexpr std::string_view kStart = "POST / HTTP/1.1\r\n";
    llhttp_t parser;
    llhttp_init(&parser, HTTP_REQUEST, &settings());
    llhttp_execute(&parser, kStart.data(), kStart.size());
    return parser;
  }();
  return made;
}

// Most lines are written as we would write them; those go on by one copy.
bool is_verbatim(const Field& field) {
  if (field.value.empty()) return false;
  const char* const behind_name = field.name.data() + field.name.size();
  const char* const behind_value = field.value.data() + field.value.size();  // CRLF at least follows
  return field.value.data() == behind_name + 2 && behind_name[0] == ':' && behind_name[1] == ' ' &&
         behind_value[0] == '\r' && behind_value[1] == '\n';
}

FieldError error_of(llhttp_errno_t code) {
  switch (code) {
    case HPE_INVALID_CONTENT_LENGTH:
    case HPE_UNEXPECTED_CONTENT_LENGTH:
    case HPE_INVALID_TRANSFER_ENCODING:
      return FieldError::bad_framing;
    case HPE_INVALID_HEADER_TOKEN:
      return FieldError::bad_name;
    default:
      return FieldError::bad_syntax;
  }
}

}  // namespace

const char* to_string(FieldError error) {
  static constexpr auto kWords = name_table<FieldError>(
      {{FieldError::too_many, "too many fields"},
       {FieldError::too_many_options, "too many Connection options"},
       {FieldError::bad_name, "a field name that is not a token, or an octet no value may hold"},
       {FieldError::bad_value, "a control octet in a field value"},
       {FieldError::bad_framing, "malformed or contradicting Content-Length or Transfer-Encoding"},
       {FieldError::bad_syntax, "a malformed field line"}});
  return kWords.text(error);
}

tl::expected<SecondReading, FieldError> parse_fields(std::string_view section, std::size_t most,
                                                     std::vector<Field>& fields) {
  fields.clear();
  Sink sink{&fields, most, section.data() + section.size()};
  llhttp_t parser = primed();
  parser.data = &sink;
  const llhttp_errno_t code = llhttp_execute(&parser, section.data(), section.size());
  if (sink.too_many) return tl::unexpected(FieldError::too_many);
  if (!sink.complete) return tl::unexpected(code == HPE_OK ? FieldError::bad_syntax : error_of(code));
  if (llhttp_get_error_pos(&parser) != sink.end) return tl::unexpected(FieldError::bad_syntax);
  for (Field& field : fields) {
    field.value = trim(field.value);
    if (!is_token(field.name)) return tl::unexpected(FieldError::bad_name);
    if (!is_field_text(field.value)) return tl::unexpected(FieldError::bad_value);
    field.id = field_id(field.name);
    field.is_verbatim = is_verbatim(field);
  }
  return SecondReading{(parser.flags & F_CHUNKED) != 0, (parser.flags & F_CONTENT_LENGTH) != 0, parser.content_length};
}

bool mark_nominated(std::vector<Field>& fields) {
  std::size_t options = 0;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].id != FieldId::connection) continue;
    fields[i].nominated = true;
    std::string_view list = fields[i].value;
    for (std::string_view option; next_element(list, option);) {
      if (++options > kMaxOptions) return false;
      for (Field& field : fields) field.nominated = field.nominated || same_name(field.name, option);
    }
  }
  return true;
}

}  // namespace bloomwall::proxy
