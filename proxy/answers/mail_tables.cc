// SPDX-License-Identifier: Apache-2.0
#include "proxy/answers/mail_tables.h"

#include <algorithm>

#include "base/encoding.h"
#include "proxy/answers/netstring.h"

namespace bloomwall::proxy {
namespace {

using Refused = tl::unexpected<std::string_view>;

constexpr std::string_view kGet = "get ";
constexpr std::size_t kMostKeptLine = 512;  // what idle connections keep memory for

// What stands for itself in a parameter of tcp_table.
constexpr bool stands_for_itself(char c) { return c > ' ' && c < 0x7f && c != '%'; }

// One line of text that a log and a terminal can show.
std::string shown_text(std::string_view text) {
  std::string out(text.substr(0, kMostTableText));
  std::ranges::replace_if(out, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 0x7f; }, ' ');
  return out;
}

std::string_view socketmap_word(TableResult result) {
  switch (result) {
    case TableResult::found:
      return "OK ";
    case TableResult::not_found:
      return "NOTFOUND ";
    case TableResult::later:
      return "TEMP ";
    case TableResult::refused:
      return "PERM ";
  }
  return "TEMP ";
}

// 500 says of a look-up that nothing was found, so there is no word for a question that is wrong.
std::string_view tcp_table_code(TableResult result) {
  switch (result) {
    case TableResult::found:
      return "200 ";
    case TableResult::not_found:
      return "500 ";
    case TableResult::later:
    case TableResult::refused:
      return "400 ";
  }
  return "400 ";
}

}  // namespace

tl::expected<TableQuestion, std::string_view> parse_socketmap(std::string_view text) {
  const std::size_t blank = text.find(' ');
  if (blank == std::string_view::npos) return Refused("a question is a name, a blank and a key");
  if (blank == 0) return Refused("the name of the map is empty");
  if (blank + 1 == text.size()) return Refused("the key is empty");
  return TableQuestion{text.substr(0, blank), std::string(text.substr(blank + 1))};
}

tl::expected<TableQuestion, std::string_view> parse_tcp_table(std::string_view line) {
  if (!line.starts_with(kGet)) return Refused("only get is answered, with one blank and a key");
  line.remove_prefix(kGet.size());
  if (line.empty()) return Refused("the key is empty");
  TableQuestion question;
  question.key.reserve(line.size());
  for (std::size_t at = 0; at < line.size(); ++at) {
    if (line[at] == '%') {
      const int octet = hex_octet(line, at + 1);
      if (octet < 0) return Refused("% stands in front of two hexadecimal digits");
      question.key += static_cast<char>(octet);
      at += 2;
    } else if (stands_for_itself(line[at]) || static_cast<unsigned char>(line[at]) >= 0x80) {
      question.key += line[at];
    } else {
      return Refused("blanks and control octets of a key are written as %XX");
    }
  }
  return question;
}

void append_socketmap_answer(std::string& out, TableResult result, std::string_view text) {
  std::string answer(socketmap_word(result));
  if (result != TableResult::not_found) answer += shown_text(text);
  append_netstring(out, answer);
}

void append_tcp_table_answer(std::string& out, TableResult result, std::string_view text) {
  out += tcp_table_code(result);
  for (const char c : shown_text(text)) {
    if (stands_for_itself(c)) {
      out += c;
    } else {
      append_percent_escape(c, out);
    }
  }
  out += '\n';
}

TableLineReader::Step TableLineReader::feed(std::string_view bytes) {
  if (event_ != Event::need_more) return {event_, 0};
  const std::size_t room = most_ - text_.size();  // for the line feed as well
  const std::size_t end = bytes.substr(0, room).find('\n');
  if (end != std::string_view::npos) {
    text_.append(bytes.substr(0, end));
    event_ = Event::line;
    return {event_, end + 1};
  }
  if (bytes.size() >= room) {
    event_ = Event::too_long;
    return {event_, room};
  }
  text_.append(bytes);
  return {Event::need_more, bytes.size()};
}

void TableLineReader::next() {
  event_ = Event::need_more;
  text_.clear();
  if (text_.capacity() > kMostKeptLine) text_.shrink_to_fit();
}

}  // namespace bloomwall::proxy
