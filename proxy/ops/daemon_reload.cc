// The part of Daemon that puts a new snapshot in place of the old one.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <thread>
#include <utility>

#include "proxy/log/log.h"
#include "proxy/ops/daemon.h"
#include "proxy/ops/descriptor_limit.h"
#include "proxy/ops/doubts.h"

namespace bloomwall::proxy {
namespace {

constexpr Milliseconds kProgressEvery{1000};
constexpr Milliseconds kMoreTime{60'000};       // asked of systemd each time there is progress
constexpr Milliseconds kAdoptionBound{10'000};  // workers take a snapshot within a turn of their loop

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

ReloadOutcome Daemon::reload(std::uint64_t generation, const Stop& stop) {
  if (generation > 1) manager_.reloading("reloading");
  const ReloadOutcome outcome = load_and_publish(generation, stop);
  loop_.post([this, outcome] { after_load(outcome); });
  return outcome;
}

ReloadOutcome Daemon::load_and_publish(std::uint64_t generation, const Stop& stop) {
  const auto begin = std::chrono::steady_clock::now();
  ReloadOutcome outcome;
  auto edition = load(generation, stop, outcome.warnings);
  if (!edition) {
    outcome.status = edition.error().status;
    for (auto& line : edition.error().lines) outcome.lines.push_back(std::move(line));
    // The main loop changes it only while this thread waits in publish().
    if (served_.policy != nullptr) {
      for (auto& line : served_on(*served_.policy, generation - 1, edition.error().damaged)) {
        outcome.lines.push_back(std::move(line));
      }
    }
    return outcome;
  }
  const ReloadOutcome published = publish(*edition, stop);
  outcome.status = published.status;
  for (const auto& warning : published.warnings) outcome.warnings.push_back(warning);
  for (const auto& line : published.lines) outcome.lines.push_back(line);
  if (outcome.ok()) {
    remember(*edition, outcome.warnings);
    for (auto& line : describe_memory(*edition->policy)) outcome.lines.push_back(std::move(line));
    outcome.lines.push_back(fmt::format("generation {} is served: {}, loaded in {:.2f} s", generation,
                                        describe(*edition->policy), seconds_since(begin)));
  }
  return outcome;
}

// Settings, then filters.
Loaded<Edition> Daemon::load(std::uint64_t generation, const Stop& stop, std::vector<std::string>& warnings) {
  auto settings = generation == 1 ? Loaded<conf::Config>(started_with_) : load_settings(file_);
  if (!settings) return tl::unexpected(std::move(settings).error());
  const auto sealed = conf::needs_restart(started_with_, *settings);
  if (!sealed.empty())
    warnings.push_back(fmt::format("takes effect after a restart only: {}", fmt::join(sealed, ", ")));
  const std::uint64_t descriptors = raise_descriptor_limit(descriptors_for(*settings));
  if (auto sentence = fit_clients(*settings, descriptors); sentence && *sentence != descriptors_told_) {
    warnings.push_back(descriptors_told_ = *sentence);
  }

  const auto known = load_sequences(*settings, warnings);
  if (!known) return tl::unexpected(known.error());
  // Who removes a line from the file is obeyed; where nothing could be kept counts what this process knows.
  if (sequences_kept_) {
    sequences_ = *known;
  } else {
    sequences_.merge(*known);
  }

  manager_.extend(kMoreTime);
  const PolicyLoading loading{.verify = true,
                              .settle = true,
                              .own_copies = true,
                              .progress =
                                  [&](const std::filesystem::path& file, std::uint64_t done, std::uint64_t total) {
                                    tell_progress(file, done, total);
                                    return !stop.load();
                                  },
                              .accepted = &sequences_,
                              .warnings = &warnings};
  auto edition = load_edition(*settings, loading, generation);
  if (edition) append_doubts(*edition->snapshot, warnings);
  return edition;
}

// What is served now may not be gone back behind, in this process and after it.
void Daemon::remember(const Edition& served, std::vector<std::string>& warnings) {
  sequences_.accept(*served.policy);
  const bool asked_for = any_public_key(served.snapshot->settings);
  const auto saved = sequences_.save(state_folder(served.snapshot->settings), asked_for);
  sequences_kept_ = saved.value_or(false);
  if (saved || !asked_for) return;
  warnings.push_back(
      fmt::format("{}; after a restart an older filter could not be told from a new one", saved.error()));
}

void Daemon::tell_progress(const std::filesystem::path& file, std::uint64_t done, std::uint64_t total) {
  const Milliseconds now = monotonic_now();
  if (now - last_progress_ < kProgressEvery) return;
  last_progress_ = now;
  const auto percent =
      static_cast<int>(100.0 * static_cast<double>(done) / static_cast<double>(std::max<std::uint64_t>(total, 1)));
  const std::string text = fmt::format("verifying {}: {} %", file.filename().string(), percent);
  manager_.extend(kMoreTime);
  manager_.status(text);
  loop_.post([this, text] {
    if (control_ != nullptr) control_->say(text);
  });
}

// The main loop hands it to the workers; then every worker must have taken it, so that whoever asked for the reload sees
// its verdicts from now on. What was served before is held until then and freed here: to unmap gigabytes takes a while, and
// no loop may stand still for it.
ReloadOutcome Daemon::publish(const Edition& edition, const Stop& stop) {
  const auto promise = std::make_shared<std::promise<ReloadOutcome>>();
  auto answer = promise->get_future();
  const auto replaced = std::make_shared<PolicyPtr>();
  loop_.post([this, promise, replaced, edition] {
    *replaced = served_.policy;
    promise->set_value(serve(edition));
  });
  while (answer.wait_for(std::chrono::milliseconds(50)) != std::future_status::ready) {
    if (stop.load()) return {kExitError, {}, {"bloomwall is stopping"}};
  }
  ReloadOutcome outcome = answer.get();
  const auto deadline = std::chrono::steady_clock::now() + kAdoptionBound;
  while (outcome.ok() && server_->generation() < edition.snapshot->generation && !stop.load()) {
    if (std::chrono::steady_clock::now() > deadline) {
      outcome.warnings.emplace_back("a worker is busy and has not taken it over yet");
      break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  replaced->reset();
  return outcome;
}

void Daemon::ask_for_reload(Reloader::Done done) {
  if (phase_ == Phase::draining) {
    if (done) done({kExitError, {}, {"bloomwall is stopping"}});
    return;
  }
  log::info("reload asked for");
  reloader_->request(std::move(done));
}

ReloadOutcome Daemon::serve(const Edition& edition) {
  if (phase_ == Phase::draining) return {kExitError, {}, {"bloomwall is stopping"}};  // workers that ended take nothing
  if (server_ == nullptr) {
    if (const ReloadOutcome started = start_serving(edition); !started.ok()) return started;
  } else {
    server_->publish(edition);
    if (!(edition.snapshot->settings.log == logs_)) reopen_logs(edition.snapshot->settings.log);
  }
  served_ = edition;
  std::erase_if(policies_, [](const auto& policy) { return policy.expired(); });
  policies_.emplace_back(edition.policy);
  return {};
}

ReloadOutcome Daemon::start_serving(const Edition& edition) {
  std::vector<Endpoint> doors;
  if (admin_ != nullptr) doors.push_back(admin_->address());
  auto server = Server::create(edition, *access_log_, std::exchange(passed_, {}), doors);
  if (!server) return {kExitError, {}, {server.error()}};
  server_ = *std::move(server);
  server_->start();
  for (const Endpoint& address : server_->addresses()) log::info("listening on {}", address.text());
  phase_ = Phase::serving;
  return {};
}

// Says what came out, and to systemd that the process is itself again.
void Daemon::after_load(const ReloadOutcome& outcome) {
  const char* const what = reloads_.succeeded == 0 ? "start" : "reload";
  for (const std::string& warning : outcome.warnings) log::warning("{}: {}", what, warning);
  const log::Level level = outcome.ok() ? log::Level::info : log::Level::error;
  for (const std::string& line : outcome.lines) log::line(level, "{}: {}", what, line);
  ++(outcome.ok() ? reloads_.succeeded : reloads_.failed);
  if (outcome.ok()) reloads_.last_success = std::chrono::system_clock::now();
  if (phase_ == Phase::starting) {  // the first load, and it failed
    exit_status_ = outcome.status;
    return loop_.stop();
  }
  if (phase_ != Phase::serving) return;
  std::string status = status_text();
  if (!outcome.ok() && !outcome.lines.empty()) status += "; the last reload was refused: " + outcome.lines.front();
  manager_.ready(status);
}

}  // namespace bloomwall::proxy
