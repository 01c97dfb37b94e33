// SPDX-License-Identifier: Apache-2.0
#include "proxy/answers/answer_doors.h"

#include <algorithm>
#include <utility>

#include "proxy/decision/worker_state.h"
#include "proxy/io/unix_socket.h"
#include "proxy/log/log.h"

namespace bloomwall::proxy {
namespace {

using Admission = ClientLimits::Admission;

}  // namespace

AnswerDoors::AnswerDoors(WorkerState& worker, ClientLimits& limits, std::function<void()> on_empty)
    : worker_(worker), limits_(limits), on_empty_(std::move(on_empty)) {}

AnswerDoors::~AnswerDoors() { close(); }

void AnswerDoors::adopt(const Snapshot& next) {
  if (rules_.empty()) {
    for (const AnswerRules& rules : next.answers) rules_.push_back(std::make_unique<AnswerRules>(rules));
    return;
  }
  for (const auto& running : rules_) {
    const auto same = std::ranges::find_if(next.answers, [&](const AnswerRules& rules) {
      return rules.address == running->address && rules.protocol == running->protocol;
    });
    if (same != next.answers.end()) *running = *same;
  }
}

void AnswerDoors::add(ListeningSocket socket, std::size_t index) {
  const std::string& address = rules_[index]->address;
  std::string name = unix_path_of(address).empty() ? std::string() : address;
  acceptors_.push_back(std::make_unique<Acceptor>(worker_.io.loop, *this, std::move(socket), index, std::move(name)));
}

tl::expected<void, std::string> AnswerDoors::share(std::vector<ListeningSocket>& out) const {
  for (const auto& acceptor : acceptors_) {
    auto shared = acceptor->share_socket();
    if (!shared) return tl::unexpected(shared.error());
    out.push_back(*std::move(shared));
  }
  return {};
}

void AnswerDoors::start() {
  for (const auto& acceptor : acceptors_) acceptor->start();
}

void AnswerDoors::on_accept_paused() { worker_.counters.accept_pauses_total.add(); }

// The peer of a unix socket has no address; it is on this machine.
void AnswerDoors::on_accepted(UniqueFd fd, const Endpoint& client, const Acceptor& from) {
  const AnswerRules& rules = *rules_[from.index()];
  const bool is_local = !unix_path_of(rules.address).empty();
  const Endpoint asker = is_local ? *Endpoint::parse_ip("127.0.0.1") : client;
  if (!rules.trust.contains(asker.address()) && !worker_.snapshot->access.client_allowed(asker.address())) {
    worker_.counters.client_connections_refused_total.add();
    return log::debug("answers {}: {} is in neither trust nor access.clients and was refused", from.name(),
                      asker.unmapped().ip());
  }
  const conf::Limits& limits = worker_.snapshot->settings.limits;
  bool counted = false;
  Admission admission = limits_.enter(asker, limits, counted);
  if (admission != Admission::admitted && shed_idle()) admission = limits_.enter(asker, limits, counted);
  if (admission != Admission::admitted) return worker_.counters.client_connections_refused_total.add();
  auto session = std::make_unique<AnswerSession>(worker_, *this, std::move(fd), asker, from.name(), rules);
  session->table_index = sessions_.size();
  session->counted_by_address = counted;
  sessions_.push_back(std::move(session));
}

bool AnswerDoors::shed_idle() {
  for (auto* asker = idle_.empty() ? nullptr : &idle_.front(); asker != nullptr; asker = idle_.after(*asker)) {
    if (asker->has_unseen()) continue;
    worker_.counters.client_connections_shed_total.add();
    asker->close();
    return true;
  }
  return false;
}

void AnswerDoors::on_asker_idle(AnswerSession& asker, bool is_idle) {
  if (is_idle) {
    idle_.push_back(asker);
    worker_.counters.client_connections_idle.add();
  } else {
    asker.leave();
    worker_.counters.client_connections_idle.subtract();
  }
}

void AnswerDoors::on_asker_closed(AnswerSession& asker) {
  limits_.leave(asker.address(), asker.counted_by_address);
  const std::size_t index = asker.table_index;
  worker_.io.loop.deferred().delete_later(std::move(sessions_[index]));
  if (index + 1 != sessions_.size()) {
    sessions_[index] = std::move(sessions_.back());
    sessions_[index]->table_index = index;
  }
  sessions_.pop_back();
  if (sessions_.empty()) on_empty_();
}

void AnswerDoors::drain(bool has_successor) {
  for (const auto& acceptor : acceptors_) acceptor->finish(has_successor);
  for (const auto& session : sessions_) session->drain();
}

void AnswerDoors::close() {
  for (const auto& acceptor : acceptors_) acceptor->finish();
  while (!sessions_.empty()) sessions_.back()->close();
}

std::size_t AnswerDoors::questions() const {
  std::size_t sum = 0;
  for (const auto& session : sessions_) sum += session->open();
  return sum;
}

}  // namespace bloomwall::proxy
