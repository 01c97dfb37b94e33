// Who is told what becomes of a SelfRequest: its exchange. Apart from self_request.h, so that exchange.h need not know
// what such a request is made of.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace bloomwall::proxy {

struct HttpError;
struct ReportPage;

class SelfHandler {
 public:
  virtual void on_self_answer(const ReportPage& page) = 0;
  virtual void on_self_failure(const HttpError& error) = 0;

 protected:
  ~SelfHandler() = default;
};

}  // namespace bloomwall::proxy
