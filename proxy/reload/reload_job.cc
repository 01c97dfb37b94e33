// SPDX-License-Identifier: Apache-2.0

#include "proxy/reload/reload_job.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "proxy/check/readable.h"
#include "proxy/check/settings_check.h"
#include "proxy/reload/descriptor_limit.h"
#include "proxy/reload/file_watch.h"
#include "proxy/reload/last_good.h"

namespace bloomwall::proxy {

Reloader::Reloader(Work work) : work_(std::move(work)), thread_([this](const std::stop_token& stop) { run(stop); }) {}

bool Reloader::stop(std::chrono::milliseconds bound) {
  thread_.request_stop();
  std::unique_lock lock(mutex_);
  return over_.wait_for(lock, bound, [this] { return ended_; });
}

void Reloader::request(Done done) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(done));
  }
  wanted_.notify_all();
}

void Reloader::errand(std::function<void()> todo) {
  {
    const std::lock_guard lock(mutex_);
    errands_.push_back(std::move(todo));
  }
  wanted_.notify_all();
}

void Reloader::run(const std::stop_token& stop) {
  for (;;) {
    std::vector<Done> asked;
    std::vector<std::function<void()>> errands;
    {
      std::unique_lock lock(mutex_);
      if (!wanted_.wait(lock, stop, [this] { return !waiting_.empty() || !errands_.empty(); })) {
        ended_ = true;
        return over_.notify_all();
      }
      asked = std::exchange(waiting_, {});
      errands = std::exchange(errands_, {});
    }
    for (const auto& todo : errands) todo();
    if (asked.empty()) continue;
    const ReloadOutcome outcome =
        stop.stop_requested() ? ReloadOutcome{2, {}, {"bloomwall is stopping"}} : work_(generation_ + 1, stop);
    if (outcome.ok()) ++generation_;
    for (const Done& done : asked) {
      if (done) done(outcome);
    }
  }
}

namespace {

constexpr Milliseconds kProgressEvery{1000};
constexpr Milliseconds kMoreTime{60'000};       // asked of systemd each time there is progress
constexpr Milliseconds kAdoptionBound{10'000};  // workers take a snapshot within a turn of their loop

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

template <typename T>
void append(std::vector<T>& out, std::vector<T> more) {
  out.insert(out.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

}  // namespace

void Handover::served(ReloadOutcome outcome) {
  const std::lock_guard lock(mutex_);
  outcome_ = std::move(outcome);
  changed_.notify_all();
}

void Handover::adopted() {
  const std::lock_guard lock(mutex_);
  is_adopted_ = true;
  changed_.notify_all();
}

ReloadOutcome Handover::wait(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait(lock, stop, [this] { return outcome_.has_value(); })) {
    return {kExitError, {}, {"bloomwall is stopping"}};
  }
  if (!outcome_->ok() || changed_.wait_for(lock, stop, kAdoptionBound, [this] { return is_adopted_; }))
    return *outcome_;
  ReloadOutcome late = *outcome_;
  if (!stop.stop_requested()) late.warnings.emplace_back("a worker is busy and has not taken it over yet");
  return late;
}

ReloadJob::ReloadJob(std::filesystem::path file, conf::Config settings, Main main, bool may_fall_back)
    : file_(std::move(file)),
      started_with_(std::move(settings)),
      main_(std::move(main)),
      may_fall_back_(may_fall_back) {}

ReloadOutcome ReloadJob::run(std::uint64_t generation, const std::stop_token& stop) {
  const auto begin = std::chrono::steady_clock::now();
  if (generation > 1) manager_.reloading("reloading");
  std::vector<std::string> warnings;
  auto edition = load(generation, stop, warnings);
  if (!edition) {
    ReloadOutcome failed{.status = edition.error().status,
                         .warnings = std::move(warnings),
                         .lines = std::move(edition.error().lines),
                         .reasons = std::move(edition.error().reasons)};
    if (served_.policy != nullptr) {
      append(failed.lines, served_on(*served_.policy, generation - 1, edition.error().damaged));
    }
    return failed;
  }
  const auto handover = std::make_shared<Handover>();
  main_.serve(*edition, handover);
  ReloadOutcome outcome = handover->wait(stop);
  outcome.warnings.insert(outcome.warnings.begin(), warnings.begin(), warnings.end());
  if (!outcome.ok()) return outcome;
  // This usually releases the last reference to the previous edition: unmapping gigabytes takes a while and must not
  // block a loop.
  served_ = *edition;
  loaded_ = loading_;
  looked_at_.clear();
  LoadFailure fallbacks =
      fallbacks_of(*edition->policy, edition->snapshot->settings, LastGood(state_folder(edition->snapshot->settings)));
  outcome.alarms = std::move(fallbacks.lines);
  outcome.reasons = std::move(fallbacks.reasons);
  remember(*edition, outcome);
  append(outcome.lines, describe_memory(*edition->policy));
  outcome.lines.push_back(fmt::format("generation {} is served: {}, loaded in {:.2f} s", generation,
                                      describe(*edition->policy), seconds_since(begin)));
  return outcome;
}

// Settings, then filters.
Loaded<Edition> ReloadJob::load(std::uint64_t generation, const std::stop_token& stop,
                                std::vector<std::string>& warnings) {
  auto settings = generation == 1 ? Loaded<conf::Config>(started_with_) : load_settings(file_);
  if (!settings) return tl::unexpected(std::move(settings).error());
  loading_ = *settings;
  const auto sealed = conf::needs_restart(started_with_, *settings);
  if (!sealed.empty())
    warnings.push_back(fmt::format("takes effect after a restart only: {}", fmt::join(sealed, ", ")));
  fit_descriptors(*settings, warnings);
  if (auto known = read_sequences(*settings, warnings); !known) return tl::unexpected(std::move(known).error());

  manager_.extend(kMoreTime);
  const LastGood last_good(state_folder(*settings));
  const PolicyLoading loading{.verify = true,
                              .make_resident = true,
                              .own_copies = true,
                              .progress =
                                  [&](const std::filesystem::path& file, std::uint64_t done, std::uint64_t total) {
                                    tell_progress(file, done, total);
                                    return !stop.stop_requested();
                                  },
                              .accepted = &sequences_,
                              .warnings = &warnings,
                              .running = served_.snapshot,
                              .store = &store_,
                              .last_good = generation == 1 && may_fall_back_ ? &last_good : nullptr};
  auto edition = load_edition(*settings, loading, generation);
  if (edition) append_warnings(*edition->snapshot, warnings);
  return edition;
}

ConfigurationOnDisk ReloadJob::look_at_disk() {
  if (served_.snapshot == nullptr) return {};
  std::vector<FileState> states = states_of_files();
  if (states == looked_at_ || std::ranges::any_of(states, &FileState::is_pipe)) return on_disk_;
  looked_at_ = std::move(states);
  return on_disk_ = read_disk();
}

// Folders as well, for files that are new in them.
std::vector<ReloadJob::FileState> ReloadJob::states_of_files() const {
  std::vector<std::filesystem::path> files = named_files(loaded_);
  std::erase_if(files, [&](const std::filesystem::path& file) {
    return std::ranges::any_of(loaded_.filters, [&](const conf::Filter& each) { return each.file == file; });
  });
  files.push_back(configuration_file(file_));
  if (!loaded_.drop_in_folder.empty()) files.push_back(loaded_.drop_in_folder);
  for (const std::filesystem::path& file : loaded_.included) {
    files.push_back(file);
    files.push_back(file.parent_path());
  }
  std::vector<FileState> out;
  for (std::filesystem::path& file : files) {
    struct stat status{};
    FileState state{.file = std::move(file)};
    if (::stat(state.file.c_str(), &status) == 0) {
      state.seconds = status.st_mtim.tv_sec;
      state.nanoseconds = status.st_mtim.tv_nsec;
      state.bytes = S_ISREG(status.st_mode) ? status.st_size : 0;
      state.inode = status.st_ino;
      state.is_pipe = !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
    }
    out.push_back(std::move(state));
  }
  return out;
}

ConfigurationOnDisk ReloadJob::read_disk() const {
  const auto refused = [](const std::vector<std::string>& lines) {
    return ConfigurationOnDisk{.differs = true, .refused = lines.empty() ? "refused" : lines.front()};
  };
  const auto settings = load_settings(file_);
  if (!settings) return refused(settings.error().lines);
  const auto snapshot = make_snapshot(*settings, served_.snapshot->generation, served_.snapshot.get());
  if (!snapshot) return refused(snapshot.error());
  const auto edition_of = [](const auto& users) { return users == nullptr ? 0 : users->edition(); };
  const auto logins_of = [&](const Snapshot& each) {
    return each.authentication == nullptr ? 0 : edition_of(each.authentication->users);
  };
  const bool is_same = *settings == loaded_ && logins_of(**snapshot) == logins_of(*served_.snapshot) &&
                       edition_of((*snapshot)->admin_users) == edition_of(served_.snapshot->admin_users);
  return {.differs = !is_same, .refused = {}};
}

void ReloadJob::fit_descriptors(conf::Config& settings, std::vector<std::string>& warnings) {
  const std::uint64_t descriptors = raise_descriptor_limit(descriptors_for(settings));
  if (auto sentence = fit_clients(settings, descriptors); sentence && *sentence != descriptors_told_) {
    warnings.push_back(descriptors_told_ = *sentence);
  }
}

Loaded<void> ReloadJob::read_sequences(const conf::Config& settings, std::vector<std::string>& warnings) {
  auto known = load_sequences(settings, warnings);
  if (!known) return tl::unexpected(std::move(known).error());
  // A line that the operator removed from the file stays removed. Where the file could not be saved, the process's own
  // records count.
  if (sequences_kept_) {
    sequences_ = *std::move(known);
  } else {
    sequences_.merge(*known);
  }
  return {};
}

// Keeps what is served for the next start, and records its sequences for the rollback protection, in this process and
// in the state folder.
void ReloadJob::remember(const Edition& served, ReloadOutcome& outcome) {
  constexpr std::uint64_t kSlowDisk = 20'000;  // octets a millisecond
  LastGood::Outcome kept =
      LastGood(state_folder(served.snapshot->settings)).keep(*served.policy, [this](std::uint64_t bytes) {
        manager_.extend(kMoreTime + Milliseconds(bytes / kSlowDisk));
      });
  outcome.last_good = std::move(kept.since);
  append(outcome.warnings, std::move(kept.warnings));
  sequences_.accept(*served.policy);
  const bool asked_for = any_public_key(served.snapshot->settings);
  const auto saved = sequences_.save(state_folder(served.snapshot->settings), asked_for);
  sequences_kept_ = saved.value_or(false);
  if (saved || !asked_for) return;
  outcome.warnings.push_back(
      fmt::format("{}; after a restart an older filter could not be told from a new one", saved.error()));
}

void ReloadJob::tell_progress(const std::filesystem::path& file, std::uint64_t done, std::uint64_t total) {
  const Milliseconds now = monotonic_now();
  if (now - last_progress_ < kProgressEvery) return;
  last_progress_ = now;
  const auto percent =
      static_cast<int>(100.0 * static_cast<double>(done) / static_cast<double>(std::max<std::uint64_t>(total, 1)));
  const std::string text = fmt::format("verifying {}: {} %", file.filename().string(), percent);
  manager_.extend(kMoreTime);
  manager_.status(text);
  main_.say(text);
}

}  // namespace bloomwall::proxy
