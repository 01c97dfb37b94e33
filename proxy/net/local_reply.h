// An answer without an origin: a denial, an error, TRACE and OPTIONS that may go no further. Puts the words of
// replies.h together with what is known of one request, and sends them. A local variable of whoever answers: one
// write_*(), then send().
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "proxy/net/gathered_write.h"

namespace bloomwall::proxy {

class ExchangeLog;
struct ExchangeContext;
struct HttpError;
struct ReplyContext;

class LocalReply {
 public:
  // What becomes of the client's connection.
  enum class Next : std::uint8_t {
    close,
    keep,   // for its next request
    drain,  // likewise, once the rest of this one was read and dropped
  };
  // What a client may still send of a request for its connection to be kept.
  static constexpr std::uint64_t kDrainBytes = std::uint64_t{64} * 1024;

  LocalReply(const ExchangeContext& context, ExchangeLog& log);

  void write_block_reply();
  void write_error(const HttpError& error, bool must_close);
  void write_trace();
  void write_options();
  Next send();

 private:
  bool may_keep_client() const;
  ReplyContext said();
  std::string_view accept();

  const ExchangeContext& context_;
  ExchangeLog& log_;
  GatheredWrite answer_;
  int status_ = 200;
  bool close_;
  std::string accept_;  // several Accept fields as one
};

}  // namespace bloomwall::proxy
