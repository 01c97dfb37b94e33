// SPDX-License-Identifier: Apache-2.0
#include "proxy/http/request_line_peek.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "proxy/http/octets.h"

namespace bloomwall::proxy {
namespace {

constexpr std::array<std::string_view, 43> kMethodNames{"ACL",
                                                        "BASELINE-CONTROL",
                                                        "BIND",
                                                        "CHECKIN",
                                                        "CHECKOUT",
                                                        "CONNECT",
                                                        "COPY",
                                                        "DELETE",
                                                        "GET",
                                                        "HEAD",
                                                        "LABEL",
                                                        "LINK",
                                                        "LOCK",
                                                        "MERGE",
                                                        "MKACTIVITY",
                                                        "MKCALENDAR",
                                                        "MKCOL",
                                                        "MKREDIRECTREF",
                                                        "MKWORKSPACE",
                                                        "MOVE",
                                                        "OPTIONS",
                                                        "ORDERPATCH",
                                                        "PATCH",
                                                        "POST",
                                                        "PRI",
                                                        "PROPFIND",
                                                        "PROPPATCH",
                                                        "PURGE",
                                                        "PUT",
                                                        "QUERY",
                                                        "REBIND",
                                                        "REPORT",
                                                        "SEARCH",
                                                        "TRACE",
                                                        "UNBIND",
                                                        "UNCHECKOUT",
                                                        "UNLINK",
                                                        "UNLOCK",
                                                        "UPDATE",
                                                        "UPDATEREDIRECTREF",
                                                        "VERSION-CONTROL",
                                                        "M-SEARCH",
                                                        "NOTIFY"};
constexpr std::string_view kVersion = "HTTP/";

// What some server takes for white space between the words of a request line.
bool is_gap(char c) {
  switch (static_cast<std::uint8_t>(c)) {
    case '\t':
    case '\v':
    case '\f':
    case '\r':
    case ' ':
    case 0x1c:
    case 0x1d:
    case 0x1e:
    case 0x1f:
    case 0x85:
    case 0xa0:
      return true;
    default:
      return false;
  }
}

char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }
bool begins_a_method(std::string_view text) {
  return std::any_of(kMethodNames.begin(), kMethodNames.end(),
                     [&](std::string_view name) { return name.starts_with(text); });
}
bool is_method(std::string_view text) {
  return std::find(kMethodNames.begin(), kMethodNames.end(), text) != kMethodNames.end();
}

}  // namespace

RequestLinePeek::Result RequestLinePeek::feed(std::span<const char> bytes) {
  for (const char c : bytes) {
    if (result_ != Result::hold && result_ != Result::relay) break;
    result_ = step(c);
    held_ = result_ == Result::hold ? held_ + 1 : 0;
    if (held_ > kMostHeld) result_ = Result::http;
  }
  return result_;
}

RequestLinePeek::Result RequestLinePeek::step(char c) {
  switch (place_) {
    case Place::before:
      if (c == '\r' || c == '\n') return Result::relay;
      if (is_gap(c)) {
        blank_has_passed_ = true;
        return Result::relay;
      }
      place_ = Place::method;
      return in_method(c);
    case Place::method:
      return in_method(c);
    case Place::gap:
    case Place::target:
    case Place::rest:
      return in_line(c);
  }
  return Result::other;
}

RequestLinePeek::Result RequestLinePeek::in_method(char c) {
  if (is(octets::token, c)) {
    if (!is_alike_) return Result::relay;
    method_.push_back(upper(c));
    is_alike_ = begins_a_method(method_);
    is_known_ = is_known_ && is_alike_ && c == upper(c);
    return undecided();
  }
  if (!is_gap(c)) return Result::other;
  is_alike_ = is_alike_ && is_method(method_);
  is_known_ = is_known_ && is_alike_;
  place_ = Place::gap;
  version_ = 1;
  return is_known_ && method_ == "GET" ? found() : undecided();
}

// Behind the method.
RequestLinePeek::Result RequestLinePeek::in_line(char c) {
  if (c == '\n') return at_line_end();
  const bool gap = is_gap(c);
  if (!gap && place_ == Place::gap) {
    place_ = Place::target;
    if (is_alike_ && c == '/') return found();
  }
  if (gap && place_ == Place::target) place_ = Place::rest;
  if (place_ == Place::rest) look_at_word(c, gap);
  if (gap) {
    version_ = 1;  // "HTTP/" may begin
  } else if (version_ > 0) {
    const char wanted = lower(kVersion[version_ - std::size_t{1}]);
    version_ = lower(c) == wanted ? static_cast<std::uint8_t>(version_ + 1) : std::uint8_t{0};
    if (version_ == kVersion.size() + 1) return found();
  }
  return undecided();
}

void RequestLinePeek::look_at_word(char c, bool gap) {
  const bool letter = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
  const bool digit = c >= '0' && c <= '9';
  if (gap) {
    if (word_ != Word::none) ends_in_version_ = word_ == Word::version;
    word_ = Word::none;
  } else if (letter && (word_ == Word::none || word_ == Word::name)) {
    word_ = Word::name;
  } else if (c == '/' && word_ == Word::name) {
    word_ = Word::slash;
  } else if (digit && word_ == Word::slash) {
    word_ = Word::version;
  } else if ((!digit && c != '.') || word_ != Word::version) {
    word_ = Word::other;
  }
}

RequestLinePeek::Result RequestLinePeek::at_line_end() const {
  const bool version = word_ == Word::none ? ends_in_version_ : word_ == Word::version;
  return is_known_ && !version ? found() : Result::other;
}

}  // namespace bloomwall::proxy
