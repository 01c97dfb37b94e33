// `protocol: http`: what nginx (auth_request), Traefik (ForwardAuth), Caddy (forward_auth) and Envoy (ext_authz) ask
// before they forward a request of their client. The answer is 204, or 200 to Envoy, and else that of the proxy: 403
// with its page, Proxy-Status and decision id.
//
// The question is in one of these, and where a request holds more than one it is refused, since the client of the asker
// may have written one of them:
//   X-Original-URL                                              the whole URL
//   X-Original-URI, and Host; X-Forwarded-Proto                 a path and the asker's Host
//   X-Forwarded-Uri, X-Forwarded-Host; X-Forwarded-Proto        a path and a host
//   the target, behind /ask (Envoy's path_prefix), and Host     likewise
// The method: X-Original-Method or X-Forwarded-Method. Of askers that are trusted also the client, which is the last
// address in X-Forwarded-For that is not trusted itself, and, where users are believed, X-Forwarded-User.
// A body is dropped. Pipelined questions are answered in order.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tl/expected.hpp>

#include "proxy/answers/answers.h"
#include "proxy/http/http1_reader.h"
#include "proxy/upstream/warm_readers.h"

namespace bloomwall::proxy {

// What a request asks about; views into the head that it was read from.
struct ForwardAuthQuestion {
  std::string target;  // absolute URL
  std::string_view method = {};
  std::optional<std::string> forwarded_for = {};  // the list, in its order; nothing: no such field
  std::string_view user = {};
  bool is_envoy = false;
};
// Errors: bad_target and bad_request, where there is no question or more than one.
tl::expected<ForwardAuthQuestion, HttpError> read_forward_auth(const RequestHead& head);
// The client that such a list speaks of: the last one that `is_trusted` does not hold for, else the first. Nothing: an
// element of it is no address.
template <typename IsTrusted>
std::optional<Endpoint> forwarded_client(std::string_view list, const IsTrusted& is_trusted) {
  std::optional<Endpoint> client;
  while (!list.empty()) {
    const std::size_t comma = list.rfind(',');
    std::string_view element = comma == std::string_view::npos ? list : list.substr(comma + 1);
    list = comma == std::string_view::npos ? std::string_view() : list.substr(0, comma);
    while (!element.empty() && (element.front() == ' ' || element.front() == '\t')) element.remove_prefix(1);
    while (!element.empty() && (element.back() == ' ' || element.back() == '\t')) element.remove_suffix(1);
    client = Endpoint::parse_ip(element);
    if (!client || !is_trusted(*client)) return client;
  }
  return client;
}

class HttpAnswers final : public AnswerProtocol {
 public:
  explicit HttpAnswers(Asker& asker) : asker_(asker) {}
  ~HttpAnswers() override;

  std::size_t on_data(std::span<const char> octets) override;
  void on_answer(std::uint64_t tag, const Answer& answer) override;
  bool is_idle() const override { return request_ == nullptr; }

 private:
  void begin();
  void end();
  void ask(const RequestHead& head);
  void fail(const HttpError& error);

  Asker& asker_;
  WarmReaders<RequestReader>::Ptr request_;  // from its first octet until its answer
  std::uint64_t body_ = 0;                   // octets of it that were dropped
};

}  // namespace bloomwall::proxy
