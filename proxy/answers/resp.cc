// SPDX-License-Identifier: Apache-2.0
#include "proxy/answers/resp.h"

#include <algorithm>

#include "base/text.h"

namespace bloomwall::proxy {
namespace {

constexpr std::string_view kEnd = "\r\n";
constexpr std::size_t kMostErrorText = 200;
constexpr std::size_t kMostKeptCommand = 1024;  // what idle connections keep memory for

void append_header(std::string& out, char type, std::uint64_t number) {
  out += type;
  out += std::to_string(number);
  out += kEnd;
}

}  // namespace

void RespReader::fail(std::string_view error) {
  error_ = error;
  state_ = State::error;
}

void RespReader::expect(char got, char wanted, State next, std::string_view else_error) {
  if (got != wanted) return fail(else_error);
  state_ = next;
}

// The first digit may be 0 only where it is the only one.
void RespReader::on_digit(char c, std::size_t most, std::string_view too_many) {
  if (!is_digit(c)) return fail("Protocol error: a number is decimal digits and CRLF");
  if (has_digits_ && number_ == 0) return fail("Protocol error: a number has no leading zeros");
  has_digits_ = true;
  number_ = number_ * 10 + static_cast<std::size_t>(c - '0');
  if (number_ > most) fail(too_many);
}

void RespReader::on_count() {
  if (number_ == 0) return fail("Protocol error: a command has at least one argument");
  wanted_ = number_;
  state_ = State::string;
}

void RespReader::on_size() {
  left_ = number_;
  if (text_.size() + left_ > kMostCommand) return fail("Protocol error: the command is too long");
  state_ = left_ == 0 ? State::octets_cr : State::octets;
}

void RespReader::on_string_end() {
  ends_.push_back(text_.size());
  state_ = ends_.size() == wanted_ ? State::command : State::string;
}

void RespReader::on_frame_octet(char c) {
  const bool is_number_end = c == '\r' && has_digits_;
  switch (state_) {
    case State::array:
      has_digits_ = false;
      number_ = 0;
      return expect(c, '*', State::count, "Protocol error: expected '*'; inline commands are not taken");
    case State::count:
      if (!is_number_end) return on_digit(c, kMostArguments, "Protocol error: too many arguments");
      state_ = State::count_lf;
      return;
    case State::count_lf:
      return c == '\n' ? on_count() : fail("Protocol error: a number is decimal digits and CRLF");
    case State::string:
      has_digits_ = false;
      number_ = 0;
      return expect(c, '$', State::size, "Protocol error: expected '$'");
    case State::size:
      if (!is_number_end) return on_digit(c, kMostArgument, "Protocol error: an argument is too long");
      state_ = State::size_lf;
      return;
    case State::size_lf:
      return c == '\n' ? on_size() : fail("Protocol error: a number is decimal digits and CRLF");
    case State::octets_cr:
      return expect(c, '\r', State::octets_lf, "Protocol error: an argument does not end with CRLF");
    case State::octets_lf:
      return c == '\n' ? on_string_end() : fail("Protocol error: an argument does not end with CRLF");
    case State::octets:
    case State::command:
    case State::error:
      return;
  }
}

RespReader::Step RespReader::feed(std::span<const char> bytes) {
  std::size_t used = 0;
  while (used < bytes.size() && state_ < State::command) {
    if (state_ != State::octets) {
      on_frame_octet(bytes[used++]);
      continue;
    }
    const std::size_t taken = std::min(left_, bytes.size() - used);
    text_.append(bytes.data() + used, taken);
    used += taken;
    left_ -= taken;
    if (left_ == 0) state_ = State::octets_cr;
  }
  if (state_ == State::command) return {Event::command, used};
  return {state_ == State::error ? Event::error : Event::need_more, used};
}

std::string_view RespReader::argument(std::size_t place) const {
  const std::size_t begin = place == 0 ? 0 : ends_[place - 1];
  return std::string_view(text_).substr(begin, ends_[place] - begin);
}

void RespReader::next() {
  state_ = State::array;
  text_.clear();
  ends_.clear();
  if (text_.capacity() > kMostKeptCommand) text_.shrink_to_fit();
  if (ends_.capacity() * sizeof(std::size_t) > kMostKeptCommand) ends_.shrink_to_fit();
}

void append_resp_simple(std::string& out, std::string_view text) {
  out += '+';
  out += text;
  out += kEnd;
}

void append_resp_error(std::string& out, std::string_view text) {
  out += '-';
  for (const char c : text.substr(0, kMostErrorText)) out += c >= ' ' && c < 0x7f ? c : ' ';
  out += kEnd;
}

void append_resp_bulk(std::string& out, std::string_view octets) {
  append_header(out, '$', octets.size());
  out += octets;
  out += kEnd;
}

void append_resp_integer(std::string& out, std::uint64_t number) { append_header(out, ':', number); }

void append_resp_boolean(std::string& out, unsigned version, bool is_true) {
  if (version < 3) return append_resp_integer(out, is_true ? 1 : 0);
  out += is_true ? "#t\r\n" : "#f\r\n";
}

void append_resp_array(std::string& out, std::size_t elements) { append_header(out, '*', elements); }

void append_resp_map(std::string& out, unsigned version, std::size_t pairs) {
  if (version < 3) return append_resp_array(out, 2 * pairs);
  append_header(out, '%', pairs);
}

}  // namespace bloomwall::proxy
