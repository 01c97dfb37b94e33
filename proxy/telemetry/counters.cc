// SPDX-License-Identifier: Apache-2.0
#include "proxy/telemetry/counters.h"

#include <algorithm>

namespace bloomwall::proxy {

void Counters::count_request(MethodClass method, filter::Decision decision, filter::VerdictReason reason) {
  requests[static_cast<std::size_t>(method)][static_cast<std::size_t>(decision)][static_cast<std::size_t>(reason)]
      .add();
}

void Counters::count_verdict(MethodClass method, const filter::Verdict& verdict) {
  count_request(method, verdict.decision, verdict.reason);
  const bool matched = verdict.decision == filter::Decision::blocked || verdict.decision == filter::Decision::monitored;
  if (matched && verdict.filter != nullptr) filters.count(verdict.filter->name, verdict.filter->action);
}

void Counters::count_error(ErrorKind kind) { errors[static_cast<std::size_t>(kind)].add(); }

void Counters::count_response(int status, std::uint64_t microseconds) {
  const auto status_class = static_cast<std::size_t>(std::clamp(status / 100, 0, int{kStatusClasses} - 1));
  responses[status_class].add();
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
  into.filters.add(from.filters);
  into.tls.add(from.tls);
  into.request_duration_microseconds.add(from.request_duration_microseconds.get());
}

std::string_view to_string(MethodClass method) {
  switch (method) {
    case MethodClass::get:
      return "GET";
    case MethodClass::head:
      return "HEAD";
    case MethodClass::post:
      return "POST";
    case MethodClass::put:
      return "PUT";
    case MethodClass::connect:
      return "CONNECT";
    case MethodClass::options:
      return "OPTIONS";
    case MethodClass::other:
      return "other";
  }
  return "other";
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
