// SPDX-License-Identifier: Apache-2.0
#include "proxy/http2/http2_fields.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "proxy/http/octets.h"
#include "proxy/http/request.h"
#include "proxy/http/rewrite.h"
#include "proxy/http/serialise.h"

namespace bloomwall::proxy {
namespace {

using MaybeError = std::optional<HttpError>;
using Words = const char*;  // what is wrong; nullptr: nothing

bool is_pseudo(std::string_view name) { return name.starts_with(':'); }

bool is_lower_token(std::string_view name) {
  return is_token(name) && std::ranges::none_of(name, [](char c) { return c >= 'A' && c <= 'Z'; });
}

bool is_value(std::string_view value) { return is_field_text(value) && trim(value).size() == value.size(); }

Http2Field trimmed(Http2Field field) {
  field.value = trim(field.value);
  return field;
}

bool is_of_connection(FieldId id) {
  switch (id) {
    case FieldId::connection:
    case FieldId::keep_alive:
    case FieldId::proxy_connection:
    case FieldId::transfer_encoding:
    case FieldId::upgrade:
      return true;
    default:
      return false;
  }
}

// RFC 9113 sections 8.2.1 and 8.2.2.
Words wrong_in_field(const Http2Field& field) {
  if (!is_lower_token(field.name)) return "a field name that is not a token in lower case";
  if (!is_value(field.value)) return "a control octet in a field value, or white space around it";
  const FieldId id = field_id(field.name);
  if (is_of_connection(id)) return "a connection-specific field in HTTP/2";
  if (id == FieldId::te && field.value != "trailers") return "TE other than trailers in HTTP/2";
  return nullptr;
}

struct Pseudo {
  std::string_view name;
  std::optional<std::string_view> value = {};
};

// Section 8.3: known ones, each once, before all others.
Words read_pseudo(const Http2FieldList& list, std::span<Pseudo> known) {
  bool is_behind = false;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Http2Field field = list[i];
    if (!is_pseudo(field.name)) {
      is_behind = true;
      continue;
    }
    if (is_behind) return "a pseudo-header field behind others";
    const auto at = std::ranges::find(known, field.name, &Pseudo::name);
    if (at == known.end()) return "an unknown pseudo-header field";
    if (at->value) return "a pseudo-header field twice";
    if (!is_value(field.value)) return "a control octet in a pseudo-header field";
    at->value = field.value;
  }
  return nullptr;
}

// What is wrong; nullptr: nothing.
Words append_fields(std::string& text, const Http2FieldList& list, Http2Sender sender, bool skip_host,
                    std::size_t& lines) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Http2Field field = sender == Http2Sender::origin ? trimmed(list[i]) : list[i];
    if (is_pseudo(field.name)) continue;
    if (const Words wrong = wrong_in_field(field)) return wrong;
    if (skip_host && field.name == "host") continue;
    append_field(text, field.name, field.value);
    ++lines;
  }
  return nullptr;
}

struct RequestLine {
  std::string_view method, target;
  std::optional<std::string_view> authority;
};

MaybeError read_request_line(const Http2FieldList& list, RequestLine& line) {
  Pseudo known[] = {{":method"}, {":scheme"}, {":authority"}, {":path"}};
  if (const Words wrong = read_pseudo(list, known)) return bad_request(wrong);
  const auto& [method, scheme, authority, path] = known;
  if (!method.value || !is_token(*method.value)) return bad_request("no :method that is a token");
  line.method = *method.value;
  line.authority = authority.value;
  if (authority.value && authority.value->empty()) return bad_request("an empty :authority");
  if (method_of(line.method) == Method::connect) {
    if (scheme.value || path.value || !authority.value) return bad_request("CONNECT with more than an authority");
    line.target = *authority.value;
  } else {
    if (!scheme.value || !path.value) return bad_request("no :scheme, or no :path");
    if (!same_name(*scheme.value, name_of(Scheme::https))) {
      return HttpError{ErrorKind::misdirected, "a scheme other than https"};
    }
    line.target = *path.value;
    const bool is_asterisk = line.target == "*" && line.method == "OPTIONS";
    if (!line.target.starts_with('/') && !is_asterisk) return bad_request("an invalid :path");
  }
  // Before it stands between the spaces of a request line.
  if (!is_target_text(line.target)) return HttpError{ErrorKind::bad_target, "an octet that no request target has"};
  return std::nullopt;
}

// Section 8.3.1: two names for one server are two requests to those who believe either.
MaybeError check_host(const Http2FieldList& list, const std::optional<std::string_view>& authority) {
  std::size_t hosts = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i].name != "host") continue;
    ++hosts;
    if (authority && !same_name(list[i].value, *authority)) return bad_request("a Host that is not :authority");
  }
  if (hosts > 1) return bad_request("several Host fields");
  if (hosts == 0 && !authority) return bad_request("neither :authority nor Host");
  return std::nullopt;
}

// 0 where it is none: whoever reads the head refuses that.
std::uint64_t length_of(const Http2FieldList& list) {
  const std::string_view text = list.find("content-length").value_or("");
  std::uint64_t length = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
  return error == std::errc() && end == text.data() + text.size() ? length : 0;
}

}  // namespace

void Http2FieldList::begin(const Limits& limits) {
  limits_ = limits;
  text_.clear();
  fields_.clear();
  seen_bytes_ = seen_fields_ = 0;
  is_too_large_ = false;
}

void Http2FieldList::trim() {
  constexpr std::size_t kKept = 4096;  // octets
  if (text_.capacity() > kKept) *this = Http2FieldList();
}

bool Http2FieldList::add(const Http2Field& field) {
  constexpr std::size_t kOverhead = 32;
  seen_bytes_ += field.name.size() + field.value.size() + kOverhead;
  ++seen_fields_;
  is_too_large_ = is_too_large_ || seen_bytes_ > limits_.bytes || seen_fields_ > limits_.fields;
  if (is_too_large_) return seen_bytes_ <= kFarOver * limits_.bytes && seen_fields_ <= kFarOver * limits_.fields;
  fields_.push_back({text_.size(), field.name.size(), field.value.size(), field.never_indexed});
  text_.append(field.name).append(field.value);
  return true;
}

Http2Field Http2FieldList::operator[](std::size_t i) const {
  const Place& place = fields_[i];
  const std::string_view both = std::string_view(text_).substr(place.begin, place.name + place.value);
  return {both.substr(0, place.name), both.substr(place.name), place.never_indexed};
}

std::optional<std::string_view> Http2FieldList::find(std::string_view name) const {
  for (std::size_t i = 0; i < size(); ++i) {
    if ((*this)[i].name == name) return (*this)[i].value;
  }
  return std::nullopt;
}

void note_never_indexed(NeverIndexed& names, const Http2FieldList& list) {
  for (std::size_t i = 0; i < list.size() && names.size() < kMostNeverIndexed; ++i) {
    const Http2Field field = list[i];
    if (field.never_indexed && std::ranges::find(names, field.name) == names.end()) names.emplace_back(field.name);
  }
}

void mark_never_indexed(std::vector<Http2Field>& list, const NeverIndexed& names) {
  if (names.empty()) return;
  for (Http2Field& field : list) {
    const auto is_it = [&](const std::string& name) { return same_name(name, field.name); };
    field.never_indexed = names.size() == kMostNeverIndexed || std::ranges::any_of(names, is_it);
  }
}

std::optional<HttpError> read_request(const Http2FieldList& list, bool is_end, std::size_t most_fields,
                                      std::string& text, RequestHead& head) {
  if (list.is_too_large()) return HttpError{ErrorKind::head_too_large, "header section over its limit"};
  RequestLine line;
  if (const MaybeError error = read_request_line(list, line)) return error;
  if (const MaybeError error = check_host(list, line.authority)) return error;
  text.assign(line.method);
  append(text, {" ", line.target, " HTTP/1.1\r\n"});
  std::size_t lines = 0;
  if (line.authority) {
    append_field(text, "host", *line.authority);
    ++lines;
  }
  if (const Words wrong = append_fields(text, list, Http2Sender::client, line.authority.has_value(), lines))
    return bad_request(wrong);
  const bool is_chunked = !is_end && method_of(line.method) != Method::connect && !list.find("content-length");
  if (is_chunked) {
    append_field(text, "transfer-encoding", "chunked");
    ++lines;
  }
  text.append(kLineEnd);
  if (const MaybeError error = parse_request_head(text, most_fields + 2, head)) return error;
  if (head.fields.size() != lines) return bad_request("fields that can be read in two ways");
  if (is_end && head.framing != BodyFraming::none) return bad_request("a Content-Length without a body");
  head.version = Version::http2;
  head.keep_alive = true;
  return std::nullopt;
}

std::optional<HttpError> write_answer_text(const Http2FieldList& list, const Http2AnswerTo& to, std::string& text,
                                           Http2Answer& answer) {
  if (list.is_too_large()) return HttpError{ErrorKind::upstream_head_too_large, "header section over its limit"};
  Pseudo known[] = {{":status"}};
  if (const Words wrong = read_pseudo(list, known)) return bad_response(wrong);
  const std::string_view status = known[0].value.value_or("");
  if (status.size() != 3 || !all(octets::digit, status) || status[0] == '0') return bad_response("no :status");
  answer.status = (status[0] - '0') * 100 + (status[1] - '0') * 10 + (status[2] - '0');
  if (answer.status == 101) return bad_response("status 101 in HTTP/2");
  const bool is_interim = answer.status < 200;
  if (is_interim && to.is_end) return bad_response("an interim response and nothing else");
  text.assign("HTTP/1.1 ");
  append(text, {status, " ", kLineEnd});
  std::size_t lines = 0;
  if (const Words wrong = append_fields(text, list, Http2Sender::origin, false, lines)) return bad_response(wrong);
  const bool has_no_body = is_interim || to.method == Method::head || answer.status == 204 || answer.status == 304;
  answer.is_chunked = !has_no_body && !list.find("content-length");
  if (answer.is_chunked) append_field(text, "transfer-encoding", "chunked");
  answer.length = has_no_body || answer.is_chunked ? 0 : length_of(list);
  text.append(kLineEnd);
  return std::nullopt;
}

std::optional<HttpError> write_trailer_lines(const Http2FieldList& list, Http2Sender sender, std::string& text) {
  if (list.is_too_large()) return HttpError{ErrorKind::head_too_large, "trailers over their limit"};
  if (const Words wrong = read_pseudo(list, {})) return bad_request(wrong);
  std::size_t lines = 0;
  if (const Words wrong = append_fields(text, list, sender, false, lines)) return bad_request(wrong);
  text.append(kLineEnd);
  return std::nullopt;
}

bool Http2Trailers::read(const Http2FieldList& list, Http2Sender sender, const HeadLimits& limits) {
  clear();
  return list.size() <= limits.trailer_fields && !write_trailer_lines(list, sender, text_) &&
         text_.size() <= limits.trailer_bytes && parse_fields(text_, limits.trailer_fields, fields_);
}

void Http2Trailers::clear() {
  text_.clear();
  fields_.clear();
}

void list_request(std::vector<Http2Field>& out, const RequestHead& head) {
  out.clear();
  out.push_back({":method", head.method_name});
  out.push_back({":scheme", name_of(Scheme::https)});
  const Field* const host = find_field(head.fields, FieldId::host);
  if (host != nullptr) out.push_back({":authority", host->value});
  out.push_back({":path", head.target.raw});
  for (const Field& field : head.fields) {
    const bool is_te = field.id == FieldId::te && !same_name(field.value, "trailers");
    if (!is_of_connection(field.id) && field.id != FieldId::host && !is_te) out.push_back({field.name, field.value});
  }
}

void list_answer(std::vector<Http2Field>& out, const ResponseHead& head, StatusText& status) {
  for (int rest = head.status, i = 2; i >= 0; --i, rest /= 10) status.digits[i] = static_cast<char>('0' + rest % 10);
  out.clear();
  out.push_back({":status", {status.digits, sizeof status.digits}});
  for (const Field& field : head.fields) {
    if (!is_of_connection(field.id)) out.push_back({field.name, field.value});
  }
}

void list_trailers(std::vector<Http2Field>& out, std::span<const Field> trailers) {
  out.clear();
  for (const Field& field : trailers) {
    if (may_trail(field)) out.push_back({field.name, field.value});
  }
}

}  // namespace bloomwall::proxy
