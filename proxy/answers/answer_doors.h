// Where other programs connect to ask, of one worker: the sockets of `answers:` and the connections on them.
// Whoever is in neither `trust` nor access.clients is refused at accept. Connections count against
// limits.client_connections and .connections_per_client as those of clients do; at a limit the one here that has been
// idle longest is closed, and where there is none, the new one.
// Thread: the worker's, but for share(), add() and start(), as of Worker.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "proxy/answers/answer_session.h"
#include "proxy/io/intrusive_list.h"
#include "proxy/upstream/acceptor.h"
#include "proxy/upstream/client_limits.h"

namespace bloomwall::proxy {

struct AnswerRules;
struct Snapshot;

class AnswerDoors final : public Acceptor::Handler, public AnswerSession::Owner {
 public:
  // `on_empty`: the last connection has ended. All of them outlive this.
  AnswerDoors(WorkerState& worker, ClientLimits& limits, std::function<void()> on_empty);
  ~AnswerDoors();
  AnswerDoors(const AnswerDoors&) = delete;
  AnswerDoors& operator=(const AnswerDoors&) = delete;

  void adopt(const Snapshot& next);                     // first before add(); doors themselves stay as they are
  void add(ListeningSocket socket, std::size_t index);  // its place in settings.answers
  tl::expected<void, std::string> share(std::vector<ListeningSocket>& out) const;
  void start();
  void drain(bool has_successor);
  void close();                   // the doors, and at once every connection
  std::size_t questions() const;  // not answered yet
  bool empty() const { return sessions_.empty(); }

 private:
  void on_accepted(UniqueFd fd, const Endpoint& client, const Acceptor& from) override;
  void on_accept_paused() override;
  void on_asker_idle(AnswerSession& asker, bool is_idle) override;
  void on_asker_closed(AnswerSession& asker) override;
  bool shed_idle();

  WorkerState& worker_;
  ClientLimits& limits_;
  std::function<void()> on_empty_;
  std::vector<std::unique_ptr<AnswerRules>> rules_;  // by Acceptor::index(); sessions refer to them
  std::vector<std::unique_ptr<Acceptor>> acceptors_;
  std::vector<std::unique_ptr<AnswerSession>> sessions_;  // each knows its place
  IntrusiveList<AnswerSession, AnswerSession> idle_;      // longest idle first
};

}  // namespace bloomwall::proxy
