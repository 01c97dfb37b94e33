// A reload switches tls_inspection off between a connection's decision and its interception.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "filter/policy/policy.h"
#include "proxy/tunnel/interception.h"
#include "tests/proxy/worker/memory_worker.h"

namespace bloomwall::proxy {
namespace {

class InterceptionOff : public ::testing::Test, protected MemoryWorker, public Interception::Owner {
 protected:
  const ClientInfo& client_info() const override { return info_; }
  void on_intercepted(UpstreamPtr, ClientInfo::Inside, std::unique_ptr<TlsSession>) override { ++intercepted_; }
  void on_interception_failed(std::string_view why) override { why_ = why; }
  void on_interception_undone(UpstreamPtr, TunnelStart, std::string) override { ++intercepted_; }

  ClientInfo info_;
  int intercepted_ = 0;
  std::string why_;
};

TEST_F(InterceptionOff, EndsTheConnectionAndIsCounted) {
  info_.listener = &listener_;
  worker_.adopt(*make_snapshot(settings_, 1), *filter::Policy::load({}, {}));
  InterceptionStart start;
  start.inside.host = "a.test";
  start.log = std::make_unique<InterceptionLog>(worker_, info_, TunnelStart(), TunnelEnd());
  Interception interception(worker_, *this, nullptr, std::move(start));
  interception.begin();
  EXPECT_EQ(why_, "tls_inspection is off since a reload");
  EXPECT_EQ(intercepted_, 0);
  EXPECT_EQ(counters_.tls.failures[static_cast<std::size_t>(InterceptionFailure::off)].get(), 1U);
  interception.cancel();
  EXPECT_EQ(counters_.tls.failures[static_cast<std::size_t>(InterceptionFailure::client_left)].get(), 0U);
}

}  // namespace
}  // namespace bloomwall::proxy
