// A second opinion on serialised messages: llhttp, strict, on its own from first to last octet.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <llhttp.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace bloomwall::proxy::http_test {

struct SecondOpinion {
  bool complete = false;  // exactly one whole message, nothing behind it
  bool accepted = false;  // no error, complete or not
  std::string body;
  const char* error = "";
};

class LlhttpOracle {
 public:
  // `no_body`: a response to HEAD, or another one that has none whatever its fields say.
  static SecondOpinion read(llhttp_type_t type, std::string_view message, bool no_body = false) {
    LlhttpOracle oracle(type, no_body);
    llhttp_errno_t code = llhttp_execute(&oracle.parser_, message.data(), message.size());
    oracle.opinion_.error = llhttp_errno_name(code);
    const bool paused = code == HPE_PAUSED || code == HPE_PAUSED_UPGRADE;
    oracle.opinion_.accepted = code == HPE_OK || paused;
    if (code == HPE_PAUSED) {
      oracle.opinion_.complete = llhttp_get_error_pos(&oracle.parser_) == message.data() + message.size();
    } else {
      oracle.opinion_.complete = false;
    }
    return oracle.opinion_;
  }

 private:
  LlhttpOracle(llhttp_type_t type, bool no_body) : no_body_(no_body) {
    llhttp_settings_init(&settings_);
    settings_.on_headers_complete = [](llhttp_t* p) { return self(p).no_body_ ? 1 : 0; };
    settings_.on_body = [](llhttp_t* p, const char* at, std::size_t size) {
      self(p).opinion_.body.append(at, size);
      return 0;
    };
    settings_.on_message_complete = [](llhttp_t*) -> int { return HPE_PAUSED; };
    llhttp_init(&parser_, type, &settings_);
    parser_.data = this;
  }
  static LlhttpOracle& self(llhttp_t* parser) { return *static_cast<LlhttpOracle*>(parser->data); }

  llhttp_settings_t settings_;
  llhttp_t parser_;
  bool no_body_;
  SecondOpinion opinion_;
};

}  // namespace bloomwall::proxy::http_test
