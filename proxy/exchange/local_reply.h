// A local reply, made by the proxy and not by an origin: the answer to a blocked request, an error, TRACE and OPTIONS
// with Max-Forwards 0. Fills a reply of replies.h with the facts of one request and sends it. A local variable: call
// one write_*(), then send().
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "proxy/upstream/gathered_write.h"

namespace bloomwall::proxy {

class ExchangeLog;
struct Decision;
struct ExchangeContext;
struct HttpError;
struct ReplyContext;
struct ReportPage;

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
  void write(const Decision& decision);  // to answer here
  void write_report_page(const ReportPage& page);
  void write_self_page();       // of self_pages.h
  void write_pass(int status);  // to a question: it may pass
  Next send();

 private:
  bool may_keep_client() const;
  bool is_failed_connect() const;
  void write_authority();
  bool is_read_by_person() const;
  std::string report_ticket();
  ReplyContext said();
  std::string_view list_of(std::string_view name, std::string& memory);
  std::string_view accept() { return list_of("accept", accept_); }

  const ExchangeContext& context_;
  ExchangeLog& log_;
  GatheredWrite answer_;
  int status_ = 200;
  bool close_;
  std::string accept_, accept_language_;  // several fields as one
  std::string leg_;                       // the challenge with a token for the client
};

}  // namespace bloomwall::proxy
