// Which class speaks which protocol of `answers:` (declared in answers.h).
// SPDX-License-Identifier: Apache-2.0
#include "proxy/answers/answers.h"
#include "proxy/answers/http_answers.h"
#include "proxy/answers/icap_answers.h"
#include "proxy/answers/mail_answers.h"
#include "proxy/answers/resp_answers.h"
#include "proxy/answers/squid_answers.h"

namespace bloomwall::proxy {

std::unique_ptr<AnswerProtocol> make_answer_protocol(conf::Answers::Protocol protocol, Asker& asker) {
  switch (protocol) {
    case conf::Answers::Protocol::http:
      return std::make_unique<HttpAnswers>(asker);
    case conf::Answers::Protocol::squid:
      return std::make_unique<SquidAnswers>(asker);
    case conf::Answers::Protocol::icap:
      return std::make_unique<IcapAnswers>(asker);
    case conf::Answers::Protocol::resp:
      return std::make_unique<RespAnswers>(asker);
    case conf::Answers::Protocol::socketmap:
      return std::make_unique<SocketmapAnswers>(asker);
    case conf::Answers::Protocol::tcp_table:
      return std::make_unique<TcpTableAnswers>(asker);
  }
  return nullptr;
}

}  // namespace bloomwall::proxy
