// What workers ask the owner of the state, to answer requests for the proxy itself: reports of mistakes, and their
// outcome.
// Threads: any.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "proxy/reply/report_page.h"
#include "proxy/reply/report_ticket.h"

namespace bloomwall::proxy {

struct SelfQuestion {
  enum class Kind : std::uint8_t {
    submit,  // text: the body of the form, at most ReportForm::kMaxBody octets
    look,    // text: what stands behind the slash, "12-TAG"
  };
  Kind kind = Kind::look;
  std::string text = {};
  std::string client = {};  // who counts as one client (report_client())
};

class SelfService {
 public:
  using Done = std::function<void(const ReportPage&)>;

  // `done` is called once, on any thread, or never where the process ends. The link of the page is left to the caller.
  // False: too many questions are being answered, and `done` is not called.
  virtual bool ask(SelfQuestion question, Done done) = 0;
  virtual const ReportTickets& tickets() const = 0;

 protected:
  ~SelfService() = default;
};

}  // namespace bloomwall::proxy
