// What the API sees of a daemon, and workers that do nothing but remember. On the loop alone.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "proxy/access/tls_refusals.h"
#include "proxy/api/served.h"
#include "proxy/decision/snapshot.h"
#include "proxy/io/event_loop.h"
#include "proxy/query_log/request_feed.h"
#include "proxy/telemetry/counters.h"
#include "proxy/worker/workers.h"

namespace bloomwall::test {

class FakeWorkers final : public proxy::Workers {
 public:
  void publish(const proxy::Edition& next, const std::function<void()>& adopted) override {
    posted.push_back(next);
    if (adopts && adopted) adopted();
    adoptions.push_back(adopted);
  }
  void add_counters_to(proxy::Counters& sum) const override { add_counters(sum, counters); }
  proxy::Gauges gauges() const override { return held; }
  void collect_refusals(const std::function<void(std::vector<proxy::TlsRefusals::Row>)>& done) override { done({}); }
  void collect_sums(const std::function<void(proxy::FeedSums)>& done) override { done(std::exchange(sums, {})); }

  bool adopts = true;  // at once; false: the test calls what stands in `adoptions`
  // In the order of posts; the functions may be empty.
  std::vector<proxy::Edition> posted;
  std::vector<std::function<void()>> adoptions;
  proxy::Counters counters;
  proxy::Gauges held;
  proxy::FeedSums sums;
};

class FakeServed final : public proxy::Served {
 public:
  explicit FakeServed(proxy::EventLoop& loop, proxy::Workers* workers = nullptr) : loop_(loop), workers_(workers) {}

  const proxy::Edition& edition() const override { return what; }
  proxy::Phase phase() const override { return now; }
  bool takes_changes() const override { return true; }
  void publish(std::function<void()> adopted) override {
    ++published;
    loop_.post(std::move(adopted));
  }
  proxy::Workers* workers() const override { return workers_; }

  proxy::Edition what;  // nothing
  proxy::Phase now = proxy::Phase::serving;
  int published = 0;

 private:
  proxy::EventLoop& loop_;
  proxy::Workers* const workers_;
};

}  // namespace bloomwall::test
