// SPDX-License-Identifier: Apache-2.0
#include "proxy/daemon/reloads.h"

#include <utility>

#include "proxy/decision/snapshot.h"
#include "proxy/log/log.h"
#include "proxy/reload/loading.h"

namespace bloomwall::proxy {
namespace {

constexpr Milliseconds kDiskPeriod{5000};  // between two looks at the configuration's files

}  // namespace

Reloads::Reloads(EventLoop& loop, const Served& served, const std::filesystem::path& file, conf::Config started_with,
                 Process process)
    : loop_(loop),
      served_(served),
      job_(std::make_shared<ReloadJob>(
          file, std::move(started_with),
          ReloadJob::Main{
              .serve =
                  [this](const Edition& edition, std::shared_ptr<Handover> handover) {
                    loop_.post([this, edition, handover = std::move(handover)] { process_.serve(edition, handover); });
                  },
              .say = [this](const std::string& text) { loop_.post([this, text] { process_.on_progress(text); }); }},
          process.may_fall_back)),
      process_(std::move(process)),
      api_(loop, configuration_file(file), [this](Reloader::Done done) { ask(std::move(done)); }),
      file_tick_(
          loop.timers(), [](void* self) { static_cast<Reloads*>(self)->on_file_tick(); }, this),
      disk_tick_(loop.timers(), [](void* self) { static_cast<Reloads*>(self)->on_disk_tick(); }, this) {}

// The thread uses only the job; its results are posted to the loop.
void Reloads::start() {
  file_tick_.set(kFileWatchPeriod);
  reloader_ = std::make_unique<Reloader>([this, job = job_](std::uint64_t generation, const std::stop_token& stop) {
    const ReloadOutcome outcome = job->run(generation, stop);
    loop_.post([this, outcome] { after_load(outcome); });
    return outcome;
  });
  reloader_->request({});
}

bool Reloads::stop(std::chrono::milliseconds bound) {
  if (reloader_ == nullptr) return true;
  if (!reloader_->stop(bound)) return false;
  reloader_.reset();
  return true;
}

void Reloads::ask(Reloader::Done done) {
  if (served_.phase() == Phase::draining) {
    if (done) done({kExitError, {}, {"bloomwall is stopping"}});
    return;
  }
  if (!process_.may_reload()) return held_.push_back(std::move(done));
  log::info("reload asked for");
  ++under_way_;
  reloader_->request([this, done = std::move(done)](const ReloadOutcome& outcome) {
    loop_.post([this] { --under_way_; });
    if (done) done(outcome);
  });
}

void Reloads::ask_for_held() {
  for (Reloader::Done& done : std::exchange(held_, {})) ask(std::move(done));
}

void Reloads::answer_held(const std::string& line) {
  for (const Reloader::Done& done : std::exchange(held_, {})) {
    if (done) done({kExitDone, {}, {line}});
  }
}

void Reloads::after_load(const ReloadOutcome& outcome) {
  const char* const what = counts_.succeeded == 0 ? "start" : "reload";
  for (const std::string& warning : outcome.warnings) log::warning("{}: {}", what, warning);
  for (const std::string& alarm : outcome.alarms) log::error("{}: {}", what, alarm);
  const log::Level level = outcome.ok() ? log::Level::info : log::Level::error;
  for (const std::string& line : outcome.lines) log::line(level, "{}: {}", what, line);
  ++(outcome.ok() ? counts_.succeeded : counts_.failed);
  for (const RefusalReason reason : outcome.reasons) ++counts_.refused[static_cast<std::size_t>(reason)];
  if (!outcome.ok() && outcome.reasons.empty()) ++counts_.refused[static_cast<std::size_t>(RefusalReason::other)];
  if (outcome.ok()) {
    counts_.last_success = std::chrono::system_clock::now();
    last_good_ = outcome.last_good;
  }
  on_disk_tick();  // the files say what was just loaded
  process_.on_outcome(outcome);
}

void Reloads::on_file_tick() {
  file_tick_.set(kFileWatchPeriod);
  const Edition& served = served_.edition();
  if (served.policy == nullptr || served_.phase() == Phase::draining) return;
  const FileWatch::Seen seen = files_.look(*served.policy, served.snapshot->generation);
  for (const std::string& error : seen.errors) log::error("{}", error);
  if (seen.reload_wanted) ask({});
}

void Reloads::on_disk_tick() {
  disk_tick_.set(kDiskPeriod);
  if (std::exchange(is_looking_at_disk_, true)) return;
  reloader_->errand([this, job = job_] { loop_.post([this, seen = job->look_at_disk()] { note_disk(seen); }); });
}

void Reloads::note_disk(const ConfigurationOnDisk& seen) {
  is_looking_at_disk_ = false;
  if (!seen.refused.empty() && seen.refused != on_disk_.refused) {
    log::warning("the configuration on the disk would be refused, by a reload and by the next start: {}", seen.refused);
  }
  on_disk_ = seen;
}

}  // namespace bloomwall::proxy
