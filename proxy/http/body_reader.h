// The body of one message after its head: counted, chunked with trailers, or until the sender closes.
// Shared by request_reader.h and response_reader.h, which differ only in the name of an error.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <tl/expected.hpp>

#include "proxy/http/chunk_decoder.h"
#include "proxy/http/fields.h"
#include "proxy/http/head_buffer.h"
#include "proxy/http/http_error.h"
#include "proxy/http/message_reader.h"
#include "proxy/http/request.h"

namespace bloomwall::proxy {

class BodyReader {
 public:
  struct Rules {
    BodyFraming framing = BodyFraming::none;
    std::uint64_t length = 0;
    bool take_padding = false;                 // see ChunkDecoder
    ErrorKind error = ErrorKind::bad_request;  // of everything malformed
  };
  void begin(const Rules& rules);
  // Events body, end (repeated) and need_more.
  tl::expected<ReadStep, HttpError> feed(std::span<const char> bytes, const HeadLimits& limits);

  bool done() const { return state_ == State::done; }
  void finish_until_close() { state_ = State::done; }
  std::uint64_t left() const { return left_; }  // octets, where they are counted
  std::span<const Field> trailers() const { return trailers_; }
  std::size_t memory() const { return trailer_section_.memory(); }

 private:
  enum class State : std::uint8_t { counted, until_close, chunks, trailers, done };
  ReadStep feed_counted(std::span<const char> bytes);
  tl::expected<ReadStep, HttpError> feed_chunks(std::span<const char> bytes, const HeadLimits& limits);
  tl::expected<ReadStep, HttpError> feed_trailers(std::span<const char> bytes, const HeadLimits& limits);

  Rules rules_;
  State state_ = State::done;
  std::uint64_t left_ = 0;
  ChunkDecoder chunks_;
  HeadBuffer trailer_section_;
  std::vector<Field> trailers_;
};

}  // namespace bloomwall::proxy
