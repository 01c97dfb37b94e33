// Requests that other programs ask about, which are judged and go nowhere (declared in exchange.h).
// SPDX-License-Identifier: Apache-2.0
#include "proxy/decision/asked_question.h"
#include "proxy/decision/decision.h"
#include "proxy/exchange/exchange.h"
#include "proxy/exchange/local_reply.h"

namespace bloomwall::proxy {

// A CONNECT that is blocked but for URLs inside gets a denial: whether these are looked at is the asker's matter.
void Exchange::answer_question(const Decision& decision) {
  if (decision.act == Decision::Act::refuse) return answer_error(decision.error);
  if (decision.act == Decision::Act::block) return deny();
  LocalReply reply(context_, log_);
  reply.write_pass(context_.client.question()->pass_status());
  answer(reply);
}

}  // namespace bloomwall::proxy
