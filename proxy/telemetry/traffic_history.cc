// SPDX-License-Identifier: Apache-2.0
#include "proxy/telemetry/traffic_history.h"

#include "proxy/http/http_error.h"

namespace bloomwall::proxy {
namespace {

constexpr std::int64_t kMilliseconds = 1000;
constexpr std::int64_t kLeastApart = 500;  // milliseconds, of samples that are kept

std::optional<double> milliseconds_of(const DurationCounts::Values& values, double share) {
  const auto microseconds = quantile(values, share);
  if (!microseconds) return std::nullopt;
  return static_cast<double>(*microseconds) / 1000;
}

TrafficStep between(const TrafficHistory::Sample& begin, const TrafficHistory::Sample& end) {
  const TrafficTotals &from = begin.totals, &to = end.totals;
  DurationCounts::Values durations{};
  for (std::size_t i = 0; i < durations.size(); ++i) durations[i] = to.durations[i] - from.durations[i];
  return {.at = begin.at / kMilliseconds,
          .seconds = static_cast<double>(end.at - begin.at) / kMilliseconds,
          .requests = to.requests - from.requests,
          .blocked = to.blocked - from.blocked,
          .errors = to.errors - from.errors,
          .bytes_sent = to.bytes_sent - from.bytes_sent,
          .bytes_received = to.bytes_received - from.bytes_received,
          .p50_ms = milliseconds_of(durations, 0.5),
          .p99_ms = milliseconds_of(durations, 0.99),
          .tunnels = end.tunnels,
          .in_flight = end.in_flight};
}

}  // namespace

TrafficTotals totals_of(const Counters& counters) {
  TrafficTotals totals;
  for (const Count& count : counters.responses) totals.requests += count.get();
  constexpr auto kBlocked = static_cast<std::size_t>(filter::Decision::blocked);
  for (const auto& method : counters.requests) {
    for (const Count& count : method[kBlocked]) totals.blocked += count.get();
  }
  for (std::size_t kind = 0; kind < kErrorKinds; ++kind) {
    if (!is_refusal(static_cast<ErrorKind>(kind))) totals.errors += counters.errors[kind].get();
  }
  totals.bytes_sent = counters.client_bytes_sent_total.get();
  totals.bytes_received = counters.client_bytes_received_total.get();
  totals.durations = counters.exchanges.values();
  return totals;
}

std::int64_t step_seconds(TrafficSpan span) { return span == TrafficSpan::hour ? 60 : 300; }

void TrafficHistory::Series::take(const Sample& sample) {
  const std::int64_t step = step_seconds(span) * kMilliseconds;
  if (!begin || sample.at < begin->at) {
    begin = sample;
  } else if (sample.at / step != begin->at / step) {
    over.push_back(between(*begin, sample));
    if (over.size() > most) over.pop_front();
    begin = sample;
  }
}

void TrafficHistory::take(const Sample& sample) {
  for (Series& series : series_) series.take(sample);
  if (!recent_.empty() && sample.at < recent_.back().at) recent_.clear();
  // Whoever asks often must not make it long.
  const bool is_early = recent_.size() > 1 && sample.at - recent_[recent_.size() - 2].at < kLeastApart;
  if (is_early) recent_.pop_back();
  recent_.push_back(sample);
  while (recent_.size() > 2 && recent_[1].at <= sample.at - kRecent) recent_.pop_front();
}

std::vector<TrafficStep> TrafficHistory::steps(TrafficSpan span) const {
  const Series& series = series_[span == TrafficSpan::hour ? 0 : 1];
  std::vector<TrafficStep> steps(series.over.begin(), series.over.end());
  if (series.begin && !recent_.empty()) steps.push_back(between(*series.begin, recent_.back()));
  return steps;
}

TrafficStep TrafficHistory::recent() const {
  return recent_.empty() ? TrafficStep{} : between(recent_.front(), recent_.back());
}

}  // namespace bloomwall::proxy
