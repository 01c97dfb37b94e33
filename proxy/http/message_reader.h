// What request_reader.h and response_reader.h have in common: limits and the steps they report.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace bloomwall::proxy {

struct HeadLimits {
  std::size_t head_bytes = 65'536;      // start line and fields; more: 431 (414 where the request line alone is longer)
  std::size_t fields = 256;             // more: 431
  std::size_t chunk_line_bytes = 4096;  // one chunk-size line with its extensions
  std::uint64_t extension_bytes = 65'536;  // by which all chunk extensions of a message may outweigh its body
  std::size_t trailer_bytes = 16'384;      // whole trailer section
  std::size_t trailer_fields = 64;
  unsigned empty_lines = 8;          // before a request line
  unsigned interim_responses = 100;  // 1xx before the final response
};

enum class ReadEvent : std::uint8_t {
  need_more,  // everything given was consumed; nothing else to say
  interim,    // responses: a 1xx head; head() holds it until the next feed()
  head,       // head() is complete
  body,       // `body` holds the next octets of the body, chunked coding removed
  end,        // the message is over, trailers() is complete; stays so until next() is called
};

struct ReadStep {
  ReadEvent event = ReadEvent::need_more;
  std::size_t consumed = 0;         // of the bytes given; the rest must be given again
  std::span<const char> body = {};  // inside the bytes given: relay or copy before they go away
};

}  // namespace bloomwall::proxy
