// The answer on its way to the client: its head as the client gets it, and its body, of which no more is read than the
// client takes. Reads what the origin says by a reader that is taken from the worker's warm ones. Thread: the worker's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <span>

#include <tl/expected.hpp>

#include "proxy/exchange/origin_link.h"
#include "proxy/http/response.h"
#include "proxy/upstream/memory_wait.h"

namespace bloomwall::proxy {

class GatheredWrite;
class ResponseReader;
class Upload;
struct ExchangeContext;
template <typename Reader>
struct LentReader;  // proxy/upstream/warm_readers.h
struct ReadStep;
struct ResponseRewrite;

class Download {
 public:
  Download(ExchangeContext& context, OriginLink& link, const Upload& upload);
  ~Download();
  Download(const Download&) = delete;
  Download& operator=(const Download&) = delete;

  void begin();         // the request is being sent, perhaps again
  void end();           // gives the reader back
  bool count_memory();  // false: limits.buffer_memory

  // What the origin says, step by step; answer() is for what the steps speak of.
  tl::expected<ReadStep, HttpError> feed(std::span<const char> bytes);
  tl::expected<ReadStep, HttpError> finish();
  const ResponseReader& answer() const;
  bool is_untouched() const;  // nothing of an answer has come

  // What the client gets of it.
  void send_interim(GatheredWrite& out);
  void add_head(GatheredWrite& out);
  void add_body(GatheredWrite& out, std::span<const char> piece);
  void send_end(GatheredWrite& out);
  void send_switch(GatheredWrite& out);  // 101
  void flush(GatheredWrite& out);
  void on_drained();
  std::size_t ration();  // of the origin's transport, see Transport::Handler

  bool has_begun() const { return plan_.has_value(); }  // a final head was given to the client
  // How its body is framed, and whether the connection closes after it. From has_begun() on.
  const ResponsePlan& plan() const { return *plan_; }
  // Of a 101: whether it is to the protocol that the client asked for.
  bool switches_as_asked() const;
  // Octets have come: whether they are too early for an answer, on a connection that carried another request before.
  bool note_early();
  // Of an answer that is complete: what may become of the connection that it came on.
  OriginLink::Reuse reuse() const;

 private:
  void on_wait_over();
  // The client has logged in, or is about to, in a way that counts for the connection.
  bool is_bound() const;
  bool supports_sessions() const;
  bool is_chunked() const { return plan_ && plan_->framing == BodyFraming::chunked; }
  bool takes_trailers() const;
  ResponseRewrite rewrite() const;

  ExchangeContext& context_;
  OriginLink& link_;
  const Upload& upload_;
  MemoryWait wait_;
  std::unique_ptr<LentReader<ResponseReader>> lent_;
  std::optional<ResponsePlan> plan_;
  bool is_early_ = false;  // it began before the request's head had reached the origin's kernel
};

}  // namespace bloomwall::proxy
