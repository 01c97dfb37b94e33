// Decides what is served: an edition that a reload has loaded, with the exceptions and switches of the state and the
// schedules of groups as they are now. A change of any of them makes an edition of the same snapshot and filters, which
// is posted to the workers once; the generation stays. An edition that says what the one before says is not posted.
//   starting --serve(), and Process::start succeeds--> serving --drain()--> draining
// A reload that fails, or comes while draining, leaves what is served.
// Call order: construct, use(), then the rest. Thread: the loop's. It must outlive what it posts to the loop.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "proxy/api/served.h"
#include "proxy/api/state_service.h"
#include "proxy/decision/snapshot.h"
#include "proxy/explain/name_review.h"
#include "proxy/io/event_loop.h"
#include "proxy/reload/reload_job.h"

namespace bloomwall::proxy {

class Publisher final : public Served {
 public:
  static constexpr Milliseconds kSchedulePeriod{500};  // how late a change of a schedule may be

  struct Process {
    // Makes the workers, which serve this edition from then on. Error: why there are none. They outlive the publisher.
    std::function<tl::expected<Workers*, ReloadOutcome>(const Edition& first)> start;
    std::function<void()> on_reloaded;  // the edition of a reload is served now
  };
  Publisher(EventLoop& loop, Process process, std::function<Instant()> now = &instant_now);
  Publisher(const Publisher&) = delete;
  Publisher& operator=(const Publisher&) = delete;

  void use(const StateService& state) { state_ = &state; }  // which outlives the publisher

  // The edition of a reload. `handover` is told that it is served, or why not, and once every worker has it.
  void serve(const Edition& loaded, const std::shared_ptr<Handover>& handover);
  void hold(bool is_held) { is_held_ = is_held; }  // true: no change is taken
  void drain();                                    // no reload is taken any more, and whoever waits is answered

  const Edition& edition() const override { return served_; }
  Phase phase() const override { return phase_; }
  bool takes_changes() const override { return phase_ != Phase::draining && !is_held_; }
  void publish(std::function<void()> adopted) override;
  Workers* workers() const override { return workers_; }

  // Whoever has asked for a change of the state was not answered yet.
  bool is_awaited() const;
  NameReview names() const;  // of what is served, which there must be
  // Of all that is stored, by what is served; looked at again when either has changed.
  const VoidNames& void_names() const;
  // Policies that were served and that somebody still holds, the one that is served included.
  std::size_t policies_alive() const;

 private:
  using Waiting = std::shared_ptr<std::function<void()>>;
  ReloadOutcome take(const Edition& loaded, const std::shared_ptr<Handover>& handover);
  Edition with_state(const Edition& edition) const;
  void post(const Edition& edition, const std::function<void()>& adopted);
  void keep(const Edition& edition);
  void on_schedule_tick();

  EventLoop& loop_;
  const Process process_;
  const std::function<Instant()> now_;
  const StateService* state_ = nullptr;
  Workers* workers_ = nullptr;
  Phase phase_ = Phase::starting;
  bool is_held_ = false;
  Edition served_;
  std::vector<std::weak_ptr<const filter::Policy>> policies_;  // all that were served and may still be held
  std::vector<Waiting> waiting_;                               // of publish(); empty functions once called
  mutable VoidNames void_names_;                               // these two: void_names()
  mutable std::pair<SnapshotPtr, StatePtr> void_names_of_;
  Timer schedule_tick_;
};

}  // namespace bloomwall::proxy
