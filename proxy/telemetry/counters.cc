// SPDX-License-Identifier: Apache-2.0

#include "proxy/telemetry/counters.h"

#include <algorithm>

#include "base/names.h"

namespace bloomwall::proxy {

const char* to_string(TlsSide side) { return side == TlsSide::client ? "client" : "origin"; }

const char* to_string(InterceptionFailure reason) {
  static constexpr auto kWords = name_table<InterceptionFailure>({{InterceptionFailure::off, "off"},
                                                                  {InterceptionFailure::handshakes, "handshakes"},
                                                                  {InterceptionFailure::no_hello, "no_hello"},
                                                                  {InterceptionFailure::bad_host, "bad_host"},
                                                                  {InterceptionFailure::client_rate, "client_rate"},
                                                                  {InterceptionFailure::overload, "overload"},
                                                                  {InterceptionFailure::mint, "mint"},
                                                                  {InterceptionFailure::client_left, "client_left"}});
  return kWords.text(reason);
}

const char* to_string(TunnelEndCause cause) {
  static constexpr auto kWords = name_table<TunnelEndCause>({{TunnelEndCause::closed, "closed"},
                                                             {TunnelEndCause::idle, "idle"},
                                                             {TunnelEndCause::lifetime, "lifetime"},
                                                             {TunnelEndCause::rules, "rules"},
                                                             {TunnelEndCause::refused, "refused"},
                                                             {TunnelEndCause::shutdown, "shutdown"}});
  return kWords.text(cause);
}

void HandshakeCounts::count_done(bool resumed, std::chrono::microseconds took) {
  done[resumed ? 1 : 0].add();
  const double time = std::chrono::duration<double>(took).count();
  const auto bound = std::lower_bound(kBounds.begin(), kBounds.end(), time);
  seconds[static_cast<std::size_t>(bound - kBounds.begin())].add();
  microseconds.add(static_cast<std::uint64_t>(took.count()));
}

void TlsCounts::add(const TlsCounts& other) {
  for (std::size_t action = 0; action < kActions; ++action) add_table(decisions[action], other.decisions[action]);
  add_table(refusals, other.refusals);
  for (std::size_t side = 0; side < handshakes.size(); ++side) {
    add_table(handshakes[side].done, other.handshakes[side].done);
    add_table(handshakes[side].seconds, other.handshakes[side].seconds);
    handshakes[side].failed.add(other.handshakes[side].failed.get());
    handshakes[side].microseconds.add(other.handshakes[side].microseconds.get());
  }
  add_table(failures, other.failures);
  add_table(certificate_errors, other.certificate_errors);
}

void Counters::count_request(MethodClass method, filter::Decision decision, filter::VerdictReason reason) {
  requests[static_cast<std::size_t>(method)][static_cast<std::size_t>(decision)][static_cast<std::size_t>(reason)]
      .add();
}

void Counters::count_verdict(MethodClass method, const filter::Verdict& verdict, std::string_view group) {
  count_request(method, verdict.decision, verdict.reason);
  if (!group.empty()) groups.count(group, static_cast<std::size_t>(verdict.decision));
  if (verdict.exception != 0) exception_hits[verdict.reason == filter::VerdictReason::denied ? 1 : 0].add();
  const bool matched = verdict.decision == filter::Decision::blocked ||
                       verdict.decision == filter::Decision::monitored ||
                       verdict.reason == filter::VerdictReason::allow_filter;
  if (matched && verdict.filter != nullptr) filters.count(verdict.filter->name, verdict.filter->action);
  if (!verdict.overtaken.empty()) filters.count(verdict.overtaken, filter::FilterAction::monitor);
}

void Counters::count_error(ErrorKind kind) { errors[static_cast<std::size_t>(kind)].add(); }

void Counters::count_status(int status) {
  responses[static_cast<std::size_t>(std::clamp(status / 100, 0, int{kStatusClasses} - 1))].add();
}

void Counters::count_response(int status, std::uint64_t microseconds) {
  count_status(status);
  const double seconds = static_cast<double>(microseconds) * 1e-6;
  const auto bound = std::lower_bound(kDurationBounds.begin(), kDurationBounds.end(), seconds);
  request_duration[static_cast<std::size_t>(bound - kDurationBounds.begin())].add();
  request_duration_microseconds.add(microseconds);
}

void add_counters(Counters& into, const Counters& from) {
  for (const CounterRow& row : kCounterRows) (into.*row.member).add((from.*row.member).get());
  for (std::size_t method = 0; method < kMethodClasses; ++method) {
    for (std::size_t decision = 0; decision < kDecisions; ++decision) {
      add_table(into.requests[method][decision], from.requests[method][decision]);
    }
  }
  add_table(into.errors, from.errors);
  add_table(into.responses, from.responses);
  add_table(into.request_duration, from.request_duration);
  into.exchanges.add(from.exchanges);
  into.filters.add(from.filters);
  into.groups.add(from.groups);
  add_table(into.exception_hits, from.exception_hits);
  add_table(into.tunnels_ended, from.tunnels_ended);
  into.logins.add(from.logins);
  into.safe_search.add(from.safe_search);
  into.answers.add(from.answers);
  into.tls.add(from.tls);
  into.request_duration_microseconds.add(from.request_duration_microseconds.get());
}

std::string_view to_string(MethodClass method) {
  static constexpr auto kWords = name_table<MethodClass>({{MethodClass::get, "GET"},
                                                          {MethodClass::head, "HEAD"},
                                                          {MethodClass::post, "POST"},
                                                          {MethodClass::put, "PUT"},
                                                          {MethodClass::connect, "CONNECT"},
                                                          {MethodClass::options, "OPTIONS"},
                                                          {MethodClass::other, "other"}});
  return kWords.text(method);
}

MethodClass class_of(Method method) {
  switch (method) {
    case Method::get:
      return MethodClass::get;
    case Method::head:
      return MethodClass::head;
    case Method::post:
      return MethodClass::post;
    case Method::put:
      return MethodClass::put;
    case Method::connect:
      return MethodClass::connect;
    case Method::options:
      return MethodClass::options;
    case Method::delete_resource:
    case Method::trace:
    case Method::patch:
    case Method::other:
      return MethodClass::other;
  }
  return MethodClass::other;
}

}  // namespace bloomwall::proxy
