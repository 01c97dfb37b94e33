// Runs a message reader over bytes cut into pieces and writes down what it reported, so that two runs can be compared.
// Each piece is fed from a heap block of exactly its size: AddressSanitizer sees any over-read.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "proxy/http/http1_reader.h"

namespace bloomwall::proxy::http_test {

inline std::string fields_text(std::span<const Field> fields) {
  std::string out;
  for (const Field& field : fields) {
    out.append("[").append(field.name).append("]=[").append(field.value).append(field.nominated ? "]*\n" : "]\n");
  }
  return out;
}
inline std::string framing_text(BodyFraming framing, std::uint64_t length) {
  switch (framing) {
    case BodyFraming::none:
      return "none";
    case BodyFraming::length:
      return "length " + std::to_string(length);
    case BodyFraming::chunked:
      return "chunked";
    case BodyFraming::until_close:
      return "until_close";
  }
  return "?";
}
inline std::string head_text(const RequestHead& head) {
  std::string out = "head ";
  out.append(head.method_name).append(" ").append(head.target.raw);
  out.append(head.version == Version::http10 ? " 1.0 " : " 1.1 ");
  out.append(framing_text(head.framing, head.content_length)).append(head.keep_alive ? " keep" : " close");
  out.append(head.expect_continue ? " expect" : "").append(head.wants_upgrade ? " upgrade" : "").append("\n");
  return out + fields_text(head.fields);
}
inline std::string head_text(const ResponseHead& head) {
  std::string out = "head " + std::to_string(head.status) + " [" + std::string(head.reason) + "]";
  out.append(head.version == Version::http10 ? " 1.0 " : " 1.1 ");
  out.append(framing_text(head.framing, head.content_length)).append(head.keep_alive ? " keep" : " close").append("\n");
  return out + fields_text(head.fields);
}
inline std::string error_text(const HttpError& error) {
  return "error " + std::string(to_string(error.kind)) + " " + std::to_string(facts(error.kind).status) + "\n";
}

struct Transcript {
  std::string events;  // heads, ends, errors
  std::string body;    // all body octets in a row
  std::string rest;    // what was not consumed
  bool operator==(const Transcript&) const = default;
};

// One message. `pieces` in order; stops at end or error.
template <typename Reader>
Transcript run(Reader& reader, const std::vector<std::string_view>& pieces, bool finish = false) {
  Transcript t;
  bool over = false;
  for (const std::string_view piece : pieces) {
    const std::vector<char> exact(piece.begin(), piece.end());
    std::span<const char> bytes(exact);
    while (!over) {
      const auto step = reader.feed(bytes);
      if (!step) {
        t.events += error_text(step.error());
        over = true;
        bytes = {};
        break;
      }
      bytes = bytes.subspan(step->consumed);
      if (step->event == ReadEvent::need_more) break;
      if (step->event == ReadEvent::body) t.body.append(step->body.begin(), step->body.end());
      if (step->event == ReadEvent::head || step->event == ReadEvent::interim) t.events += head_text(reader.head());
      if (step->event == ReadEvent::end) {
        t.events += "end\n" + fields_text(reader.trailers());
        over = true;
      }
    }
    t.rest.append(bytes.begin(), bytes.end());
  }
  if constexpr (std::is_same_v<Reader, ResponseReader>) {
    if (finish && !over) {
      const auto step = reader.finish();
      t.events += step ? "end\n" + fields_text(reader.trailers()) : error_text(step.error());
    }
  }
  return t;
}

// All ways to cut `text` in two, and octet by octet.
inline std::vector<std::vector<std::string_view>> all_cuts(std::string_view text) {
  std::vector<std::vector<std::string_view>> cuts;
  cuts.reserve(text.size());
  for (std::size_t at = 1; at < text.size(); ++at) cuts.push_back({text.substr(0, at), text.substr(at)});
  std::vector<std::string_view> single;
  single.reserve(text.size());
  for (std::size_t at = 0; at < text.size(); ++at) single.push_back(text.substr(at, 1));
  cuts.push_back(single);
  return cuts;
}

}  // namespace bloomwall::proxy::http_test
