// Header fields as views, with the names the proxy acts on recognised once, at parse time.
// A Field's views point into the head buffer of the reader it came from and live as long as that head.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "proxy/http/http_error.h"

namespace bloomwall::proxy {

// Names that framing, routing, removal or logging depend on; every other name is `other` and passes untouched.
enum class FieldId : std::uint8_t {
  other,
  accept,
  connection,
  content_length,
  date,
  expect,
  forwarded,
  host,
  http2_settings,
  keep_alive,
  max_forwards,
  proxy_authenticate,
  proxy_authentication_info,
  proxy_authorization,
  proxy_connection,
  proxy_status,
  proxy_other,  // any other name that begins with "Proxy-"
  referer,
  sec_websocket_key,
  te,
  trailer,
  transfer_encoding,
  upgrade,
  user_agent,
  via,
  x_forwarded_for,
};

struct Field {
  std::string_view name;   // a token, as spelt
  std::string_view value;  // no surrounding SP or HTAB, no control octet but HTAB
  FieldId id = FieldId::other;
  bool nominated = false;    // named by a Connection option of the same message
  bool is_verbatim = false;  // in memory the name, ": ", the value and CRLF follow each other
};

// Names compare without regard to ASCII case. Both are O(length), without allocation.
FieldId field_id(std::string_view name);
bool same_name(std::string_view a, std::string_view b);

// First field with this id; nullptr where there is none.
const Field* find_field(std::span<const Field> fields, FieldId id);
const Field* find_field(std::span<const Field> fields, std::string_view name);

// Takes the next element off a comma-separated list, trimmed; false when none is left. Empty elements are skipped.
// Commas inside a quoted string do not separate.
bool next_element(std::string_view& list, std::string_view& element);
// Whether one element of the list is `option`, without regard to case.
bool has_element(std::string_view list, std::string_view option);

// What the Connection fields of a message say of its connection (RFC 9112 section 9.3).
struct Persistence {
  bool close = false, keep_alive = false;  // options that stand there
  void note(std::string_view list);        // one field's value
};

// Splits a field section into names and values with llhttp, all its lenient flags off: names are tokens followed at
// once by a colon, values hold no control octet. The only file that includes llhttp is fields.cc.
// llhttp also reads the framing fields its own way; callers compare that with what body_reader.h says, so that a
// message is only taken where two independent readings agree.
// Input: the complete section, lines ended by CRLF, the empty line included (body_reader.h sees to that).
// Cost: one pass, about 1 ns an octet; no allocation once `fields` has its working size.
struct SecondReading {  // what llhttp makes of the framing
  bool chunked = false;
  bool has_length = false;
  std::uint64_t length = 0;
};

enum class FieldError : std::uint8_t { too_many, too_many_options, bad_name, bad_value, bad_framing, bad_syntax };
const char* to_string(FieldError error);  // a literal for HttpError::detail

// Replaces the contents of `fields`; views point into `section`.
tl::expected<SecondReading, FieldError> parse_fields(std::string_view section, std::size_t most,
                                                     std::vector<Field>& fields);

// Marks every field that a Connection option of the same list names; Connection itself included. False where there are
// more options than kMaxOptions: honouring them all would cost options times fields.
inline constexpr std::size_t kMaxOptions = 128;
bool mark_nominated(std::vector<Field>& fields);

}  // namespace bloomwall::proxy
