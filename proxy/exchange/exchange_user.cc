// Whose request it is, before anything is decided on it (declared in exchange.h).
// SPDX-License-Identifier: Apache-2.0
#include "proxy/decision/asked_question.h"
#include "proxy/decision/client_info.h"
#include "proxy/decision/worker_state.h"
#include "proxy/exchange/exchange.h"

namespace bloomwall::proxy {

RequestContext Exchange::request() const {
  const AskedQuestion* const question = context_.client.question();
  RequestContext request{*context_.client.head(), context_.client.info(), context_.client.is_implicit_tunnel(),
                         context_.user.get(), question != nullptr};
  if (question != nullptr) request.also = question->other_readings();
  return request;
}

void Exchange::begin(GatheredWrite& out) {
  WorkerState& worker = context_.worker;
  if (const auto error = worker.decider.refuse_client(request(), worker.via)) return answer_error(*error);
  const auto most = context_.snapshot->settings.limits.requests_per_second;
  if (most > 0 && !worker.rate.allow(context_.client.info().endpoint, most)) {
    return answer_error({ErrorKind::too_many_requests, "limits.requests_per_second"});
  }
  identify(out);
}

void Exchange::identify(GatheredWrite& out) {
  switch (user_check_.step()) {
    case UserCheck::Step::go_on:
      return decide(out);
    case UserCheck::Step::wait:
      return;
    case UserCheck::Step::refuse:
      return answer_error(user_check_.error());
  }
}

void Exchange::on_decision_late(const HttpError& error) {
  user_check_.note_late();
  answer_error(error);
}

}  // namespace bloomwall::proxy
