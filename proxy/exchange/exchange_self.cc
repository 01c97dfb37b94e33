// Requests for the proxy itself (declared in exchange.h).
// SPDX-License-Identifier: Apache-2.0
#include "proxy/decision/self_pages.h"
#include "proxy/decision/self_request.h"
#include "proxy/exchange/exchange.h"
#include "proxy/exchange/local_reply.h"

namespace bloomwall::proxy {

void Exchange::begin_self() {
  if (is_self_page(context_)) {
    LocalReply reply(context_, log_);
    reply.write_self_page();
    return answer(reply);
  }
  SelfHandler& handler = *this;
  self_ = std::make_unique<SelfRequest>(context_, log_.url(), handler);
  self_->begin();
}

void Exchange::on_self_answer(const ReportPage& page) {
  if (state_ != State::deciding) return;  // it was answered otherwise
  LocalReply reply(context_, log_);
  reply.write_report_page(page);
  answer(reply);
}

void Exchange::on_self_failure(const HttpError& error) {
  if (state_ == State::deciding) answer_error(error);
}

}  // namespace bloomwall::proxy
