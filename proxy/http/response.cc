// SPDX-License-Identifier: Apache-2.0

#include "proxy/http/response.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "proxy/http/body_reader.h"
#include "proxy/http/fields.h"
#include "proxy/http/octets.h"

namespace bloomwall::proxy {
namespace {

using MaybeError = std::optional<HttpError>;
constexpr std::string_view kPrefix = "HTTP/1.";
constexpr std::string_view kIcyPrefix = "ICY ";        // of SHOUTcast servers, whose answers are those of HTTP/1.0
constexpr std::string_view kNextVersion = "HTTP/2.0";  // of programs that take it from a request to their server
constexpr std::size_t kVersionSize = 8;                // "HTTP/1.1"
constexpr std::size_t kReasonAt = 13;                  // in a status line

// "HTTP/1.x SP 3DIGIT [SP reason]"
MaybeError parse_status_line(std::string_view line, ResponseHead& head) {
  if (line.size() < 12 || !line.starts_with(kPrefix) || !is(octets::digit, line[7]) || line[8] != ' ' ||
      !all(octets::digit, line.substr(9, 3)) || (line.size() > 12 && line[12] != ' ')) {
    return bad_response("no HTTP/1 status line");
  }
  head.version = line[7] == '0' ? Version::http10 : Version::http11;
  head.status = (line[9] - '0') * 100 + (line[10] - '0') * 10 + (line[11] - '0');
  if (head.status < 100) return bad_response("a status below 100");
  head.reason = line.substr(std::min(kReasonAt, line.size()));
  if (!is_field_text(head.reason)) return bad_response("a control octet in the status line");
  return std::nullopt;
}

MaybeError read_response_framing(ResponseHead& head, const SecondReading& second) {
  const auto framing = response_framing(head.fields);
  if (!framing) return framing.error();
  const bool chunked = framing->kind == BodyFraming::chunked;
  if (chunked != second.chunked || framing->has_length != second.has_length || framing->length != second.length) {
    return bad_response("framing that can be read in two ways");
  }
  head.framing = framing->kind;
  head.content_length = framing->length;
  head.has_content_length = framing->has_length;
  return std::nullopt;
}

void read_response_wishes(ResponseHead& head) {
  Persistence said;
  for (const Field& field : head.fields) {
    if (field.id == FieldId::connection || field.id == FieldId::proxy_connection) said.note(field.value);
  }
  // Chunked from HTTP/1.0 is faulty framing: readable, but the connection is not to be trusted (RFC 9112 section 6.1).
  const bool faulty = head.version == Version::http10 && head.framing == BodyFraming::chunked;
  head.keep_alive = !said.close && !faulty && (head.version == Version::http11 || said.keep_alive);
}

MaybeError parse_once(std::string_view text, std::size_t most_fields, ResponseHead& head) {
  std::vector<Field> fields = std::move(head.fields);
  head = ResponseHead();
  head.fields = std::move(fields);
  const std::size_t line_end = text.find("\r\n");
  if (const MaybeError error = parse_status_line(text.substr(0, line_end), head)) return error;
  const auto second = parse_fields(text.substr(line_end + 2), most_fields, head.fields);
  if (!second) {
    const bool many = second.error() == FieldError::too_many;
    return HttpError{many ? ErrorKind::upstream_head_too_large : ErrorKind::upstream_protocol,
                     to_string(second.error())};
  }
  if (!mark_nominated(head.fields)) return bad_response(to_string(FieldError::too_many_options));
  if (const MaybeError error = read_response_framing(head, *second)) return error;
  read_response_wishes(head);
  return std::nullopt;
}

// Control octets are blanks to every reader (RFC 9110 section 5.5), but NUL, which ends the text for some. Not in what
// says where the message ends: what a blank parts is one to some readers, and two to others.
void blank_controls(std::string& line, std::size_t from) {
  for (std::size_t at = from; at < line.size(); ++at) {
    if (is_control(line[at]) && line[at] != '\0') line[at] = ' ';
  }
}

// Lines without their ends; folded ones joined, no space before the colon of a field.
std::vector<std::string> clean_lines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) break;
    if (lines.size() > 1 && (line.front() == ' ' || line.front() == '\t')) {
      lines.back().append(" ").append(trim(line));
      continue;
    }
    const std::size_t colon = lines.empty() ? std::string_view::npos : line.find(':');
    if (colon == std::string_view::npos) {
      lines.emplace_back(line);
    } else {
      lines.emplace_back(trim(line.substr(0, colon)));
      lines.back().append(line.substr(colon));
    }
  }
  return lines;
}

FieldId line_id(std::string_view line) { return field_id(line.substr(0, line.find(':'))); }

// The one number all Content-Length lines and elements give; nothing where they differ or are none.
std::optional<std::uint64_t> agreed_length(const std::vector<std::string>& lines) {
  std::optional<std::uint64_t> agreed;
  for (const std::string_view line : lines) {
    if (line_id(line) != FieldId::content_length) continue;
    std::string_view list = line.substr(line.find(':') + 1);
    bool any = false;
    for (std::string_view element; next_element(list, element); any = true) {
      const auto length = parse_length(element);
      if (!length || (agreed && *agreed != *length)) return std::nullopt;
      agreed = length;
    }
    if (!any) return std::nullopt;
  }
  return agreed;
}

void repair_status_line(std::string& line) {
  if (line.starts_with(kIcyPrefix)) line.replace(0, kIcyPrefix.size(), "HTTP/1.0 ");
  if (line.starts_with(kNextVersion)) line.replace(0, kVersionSize, "HTTP/1.1");
  const std::size_t status = line.find_first_not_of(" \t", kVersionSize);
  if (status != std::string::npos && status > kVersionSize) line.replace(kVersionSize, status - kVersionSize, " ");
  if (line.size() >= kReasonAt && line[kReasonAt - 1] == '\t') line[kReasonAt - 1] = ' ';
  blank_controls(line, kReasonAt);
}

void repair_texts(std::vector<std::string>& lines) {
  if (lines.empty()) return;
  repair_status_line(lines.front());
  for (std::string& line : std::span(lines).subspan(1)) {
    const FieldId id = line_id(line);
    const bool is_framing = id == FieldId::content_length || id == FieldId::transfer_encoding;
    const std::size_t colon = line.find(':');
    if (!is_framing && id != FieldId::connection && colon != std::string::npos) blank_controls(line, colon + 1);
  }
}

// Identity, where it is the only coding that is named, is none (RFC 2616 section 3.6). Empty elements of a list say
// nothing (RFC 9110 section 5.6.1).
void repair_coding(std::vector<std::string>& lines) {
  const auto is_coding = [](std::string_view line) { return line_id(line) == FieldId::transfer_encoding; };
  const auto found = std::ranges::find_if(lines, is_coding);
  if (found == lines.end() || std::ranges::count_if(lines, is_coding) > 1) return;
  const std::string_view line = *found;
  std::string_view list = line.substr(line.find(':') + 1), coding, other;
  if (!next_element(list, coding) || next_element(list, other)) return;
  if (same_name(coding, "identity")) {
    lines.erase(found);
  } else if (same_name(coding, "chunked")) {
    *found = "Transfer-Encoding: chunked";
  }
}

}  // namespace

bool may_start_response(std::string_view text) {
  const auto may_be = [&](std::string_view prefix) {
    const std::size_t known = std::min(text.size(), prefix.size());
    return text.substr(0, known) == prefix.substr(0, known);
  };
  return may_be(kPrefix) || may_be(kIcyPrefix) || may_be(kNextVersion) || text == "\r";  // of an empty line
}

std::string repair_response_head(std::string_view text) {
  std::vector<std::string> lines = clean_lines(text);
  repair_texts(lines);
  repair_coding(lines);
  const auto is_length = [](std::string_view line) { return line_id(line) == FieldId::content_length; };
  const bool coded = std::any_of(lines.begin(), lines.end(),
                                 [](std::string_view line) { return line_id(line) == FieldId::transfer_encoding; });
  const auto agreed = agreed_length(lines);
  if (coded || agreed) lines.erase(std::remove_if(lines.begin(), lines.end(), is_length), lines.end());
  if (agreed && !coded) lines.push_back("Content-Length: " + std::to_string(*agreed));
  std::string repaired;
  repaired.reserve(text.size() + 64);
  for (const std::string& line : lines) repaired.append(line).append("\r\n");
  return repaired.append("\r\n");
}

std::optional<HttpError> parse_response_head(std::string& text, bool& repair, std::size_t most_fields,
                                             ResponseHead& head) {
  if (!repair && !parse_once(text, most_fields, head)) return std::nullopt;
  repair = true;
  const bool is_other_version = text.starts_with(kNextVersion);
  text = repair_response_head(text);
  const MaybeError error = parse_once(text, most_fields, head);
  // With both framing fields the sender may mean the other one, so the octets after this message cannot be trusted (RFC
  // 9112 section 6.3); nor those of a sender that speaks of another version.
  if (head.framing == BodyFraming::chunked || is_other_version) head.keep_alive = false;
  return error;
}

}  // namespace bloomwall::proxy
