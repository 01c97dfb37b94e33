// SPDX-License-Identifier: Apache-2.0
#include "proxy/auth/helper_line.h"

#include <algorithm>

#include "base/encoding.h"
#include "base/text.h"
#include "base/units.h"

namespace bloomwall::proxy {
namespace {

constexpr std::size_t kMostHelperName = 255, kMostHelperGroup = 64, kMostHelperMessage = 200;

bool is_plain_text(std::string_view text, std::size_t most) {
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  return !text.empty() && text.size() <= most && std::ranges::none_of(text, is_control) && trim(text) == text;
}

// The value at the front of `rest`, which loses it; nothing: a quote is not closed.
std::optional<std::string> take_value(std::string_view& rest) {
  if (!rest.starts_with('"')) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    std::string value = unescape_of_helper(rest.substr(0, end));
    rest.remove_prefix(end);
    return value;
  }
  std::string value;
  for (std::size_t i = 1; i < rest.size(); ++i) {
    if (rest[i] == '"') {
      rest.remove_prefix(i + 1);
      return value;
    }
    if (rest[i] == '\\' && i + 1 < rest.size()) ++i;
    value.push_back(rest[i]);
  }
  return std::nullopt;
}

// It is passed on as it came: whether it is whole is for the client and the helper to say.
bool is_word_of_base64(std::string_view text) {
  while (text.ends_with('=')) text.remove_suffix(1);
  return !text.empty() &&
         std::ranges::all_of(text, [](char c) { return is_alpha(c) || is_digit(c) || c == '+' || c == '/'; });
}

// Of TT token=... or of an older helper's TT token; empty: it is none.
std::string token_of(std::string_view rest) {
  rest = trim(rest);
  if (rest.starts_with("token=")) rest.remove_prefix(6);
  const auto token = take_value(rest);
  return token && token->size() <= kMostHelperToken && is_word_of_base64(*token) ? *token : std::string();
}

std::string message_of(std::string_view text) {
  std::string message(text.substr(0, kMostHelperMessage));
  std::ranges::replace_if(message, [](char c) { return c < ' ' || c > '~'; }, '?');
  return message;
}

// The length of a key at the front of `text`; 0: there is none.
std::size_t key_length(std::string_view text) {
  std::size_t length = 0;
  while (length < text.size() &&
         (is_alpha(text[length]) || is_digit(text[length]) || text[length] == '_' || text[length] == '-')) {
    ++length;
  }
  return length < text.size() && text[length] == '=' ? length : 0;
}

void take_pair(std::string_view key, const std::string& value, HelperAnswer& out) {
  if (key == "user" && is_plain_text(value, kMostHelperName)) out.user = value;
  if (key == "message" || key == "log") out.message = message_of(value);
  if (key == "group" && out.groups.size() < kMostHelperGroups && is_plain_text(value, kMostHelperGroup)) {
    out.groups.push_back(value);
  }
}

// False: a quote is not closed. What is no pair is a message, as older helpers give it.
bool take_pairs(std::string_view rest, HelperAnswer& out) {
  for (rest = trim(rest); !rest.empty(); rest = trim(rest)) {
    const std::size_t length = key_length(rest);
    if (length == 0) {
      if (out.message.empty()) out.message = message_of(rest);
      return true;
    }
    const std::string_view key = rest.substr(0, length);
    rest.remove_prefix(length + 1);
    const auto value = take_value(rest);
    if (!value) return false;
    take_pair(key, *value, out);
  }
  return true;
}

}  // namespace

std::string escape_for_helper(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (is_alpha(c) || is_digit(c) || c == '-' || c == '.' || c == '_') {
      out.push_back(c);
    } else {
      append_percent_escape(c, out);
    }
  }
  return out;
}

// What is no escape stands for itself.
std::string unescape_of_helper(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const int octet = text[i] == '%' ? hex_octet(text, i + 1) : -1;
    out.push_back(octet < 0 ? text[i] : static_cast<char>(octet));
    if (octet >= 0) i += 2;
  }
  return out;
}

std::optional<std::uint32_t> take_channel(std::string_view& line) {
  const std::size_t end = line.find(' ');
  if (end == std::string_view::npos || end == 0 || end > 6) return std::nullopt;
  const auto channel = parse_integer(line.substr(0, end));
  if (!channel) return std::nullopt;
  line.remove_prefix(end + 1);
  return static_cast<std::uint32_t>(*channel);
}

std::optional<HelperAnswer> parse_helper_answer(std::string_view line) {
  using Result = HelperAnswer::Result;
  if (line.ends_with('\r')) line.remove_suffix(1);
  const std::string_view word = next_part(line, ' ');
  HelperAnswer answer;
  if (word == "AF") {  // AF token name
    next_part(line, ' ');
    answer.result = Result::ok;
    if (!is_plain_text(trim(line), kMostHelperName)) return std::nullopt;
    answer.user = trim(line);
    return answer;
  }
  if (word == "OK") {
    answer.result = Result::ok;
  } else if (word == "ERR" || word == "NA") {
    answer.result = Result::error;
  } else if (word == "TT") {
    answer.token = token_of(line);
    if (answer.token.empty()) return std::nullopt;
    answer.result = Result::more;
    return answer;
  } else if (word != "BH") {
    return std::nullopt;
  }
  if (!take_pairs(line, answer)) return std::nullopt;
  return answer;
}

}  // namespace bloomwall::proxy
