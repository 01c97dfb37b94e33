// SPDX-License-Identifier: Apache-2.0
#include "proxy/query_log/query_log.h"

#include <signal.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>

#include "proxy/query_log/log_writer.h"

namespace bloomwall::proxy {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kPeriod{1000}, kWatchedPeriod{250}, kIdlePeriod{3'600'000};
constexpr milliseconds kTidyPeriod{60'000};
constexpr std::size_t kMostShown = 200;  // at a time
constexpr milliseconds kEndBound{200};

Retention retention_of(const conf::QueryLog& settings) {
  return {.keep = settings.keep, .most = settings.keep_size - QueryLog::margin(settings.keep_size)};
}

// At most. A name that is new stands in a table and in its index.
std::size_t stored_octets(const RequestRow& row) {
  const std::size_t names = row.host.size() + row.client.size() + row.user.size() + row.group.size() +
                            row.method.size() + row.reason.size() + row.filter.size() + row.expression.size();
  return row.url.size() + row.id.size() + 2 * names;
}

// Rows are large, and each is moved once.
void sort_by_time(std::vector<RequestRow>& rows) {
  if (std::ranges::is_sorted(rows, {}, &RequestRow::at)) return;
  std::vector<RequestRow*> order;
  order.reserve(rows.size());
  for (RequestRow& row : rows) order.push_back(&row);
  std::ranges::stable_sort(order, {}, &RequestRow::at);
  std::vector<RequestRow> sorted;
  sorted.reserve(rows.size());
  for (RequestRow* const row : order) sorted.push_back(std::move(*row));
  rows = std::move(sorted);
}

}  // namespace

// What the thread shares with the others.
struct QueryLog::State {
  State(const ClientMask& client_mask, Hooks own_hooks) : mask(client_mask), hooks(std::move(own_hooks)) {}
  void run();

  FeedSignals signals;
  const ClientMask mask;
  std::atomic<std::uint64_t> written{0}, failed{0}, bytes{0};

  // Guarded by signals.mutex.
  Hooks hooks;
  std::deque<RequestFeed> feeds;  // grows only; addresses stay
  std::optional<Settings> next_settings;
  bool is_changed = false, is_stopping = false, has_ended = false;
  std::uint64_t flush_wanted = 0, flush_done = 0;
  std::condition_variable changed;

 private:
  struct Turn {
    std::uint64_t flush = 0;
    bool is_last = false, writes_now = false;
    std::optional<Settings> settings = {};
  };
  Turn wait_for_work();
  void adopt(const Settings& next);
  enum class Locked : std::uint8_t { waits, fails };  // what becomes of rows for a file that another program holds
  bool gather(Locked locked);                         // false: there are more than may wait here
  bool is_full() const { return batch.size() >= kMostRows || batch_octets >= kMostOctets; }
  void take(RowInRing row);
  void write(Locked locked);
  void show();
  void tidy();

  // The thread's.
  Settings settings;
  LogWriter writer;
  std::vector<RequestFeed*> known;
  std::vector<RequestRow> batch;
  std::size_t batch_octets = 0;
  Shown shown;
  std::uint64_t skipped_before = 0;
  std::int64_t tidied = 0;
  std::chrono::steady_clock::time_point wrote;
};

void QueryLog::State::run() {
  for (;;) {
    const Turn turn = wait_for_work();
    if (turn.settings) adopt(*turn.settings);
    const Locked locked = turn.is_last ? Locked::fails : Locked::waits;
    const bool has_all = gather(locked);
    show();
    // While there are watchers it wakes more often than it writes.
    if (turn.writes_now || std::chrono::steady_clock::now() - wrote >= kPeriod) write(locked);
    tidy();
    if (turn.is_last) writer.close();
    const std::lock_guard lock(signals.mutex);
    if (has_all && batch.empty()) flush_done = std::max(flush_done, turn.flush);
    has_ended = turn.is_last;
    changed.notify_all();
    if (turn.is_last) return;
  }
}

QueryLog::State::Turn QueryLog::State::wait_for_work() {
  std::unique_lock lock(signals.mutex);
  const bool is_watched = signals.watch.load() != Watch::nobody;
  const bool is_recording = settings.query_log.record != conf::QueryLog::Record::off && !settings.folder.empty();
  const milliseconds period = is_watched ? kWatchedPeriod : is_recording || !batch.empty() ? kPeriod : kIdlePeriod;
  signals.wanted.wait_for(lock, period, [this] {
    return is_changed || is_stopping || flush_wanted > flush_done || signals.is_urgent.load();
  });
  is_changed = false;
  const bool is_urgent = signals.is_urgent.exchange(false);
  while (known.size() < feeds.size()) known.push_back(&feeds[known.size()]);
  return {.flush = flush_wanted,
          .is_last = is_stopping,
          .writes_now = is_urgent || is_stopping || flush_wanted > flush_done,
          .settings = std::exchange(next_settings, std::nullopt)};
}

// What was taken under the old ones is written under them.
void QueryLog::State::adopt(const Settings& next) {
  write(Locked::fails);
  settings = next;
  writer.use(settings.folder, retention_of(settings.query_log));
  tidied = 0;
}

bool QueryLog::State::gather(Locked locked) {
  for (RequestFeed* const feed : known) {
    while (auto row = feed->next()) {
      if (is_full()) write(locked);
      if (is_full()) return false;
      feed->done_with(*row);
      take(*std::move(row));
    }
  }
  return true;
}

void QueryLog::State::take(RowInRing found) {
  RequestRow& row = found.row;
  const std::int64_t day = day_of(row.at).time_since_epoch().count();
  row.client = mask.client(row.client, settings.query_log.clients, day);
  row.user = mask.user(row.user, settings.query_log.clients, day);
  if (found.use.is_shown) {
    if (shown.rows.size() < kMostShown) {
      shown.rows.push_back(row);
    } else {
      ++shown.skipped;
    }
  }
  if (!found.use.is_kept) return;
  batch_octets += stored_octets(row);
  batch.push_back(std::move(row));
}

// Those of each day to its own file; around midnight there are two.
void QueryLog::State::write(Locked locked) {
  if (batch.empty()) return;
  sort_by_time(batch);  // they come from several workers
  std::span<const RequestRow> left = batch;
  while (!left.empty()) {
    const Day day = day_of(left.front().at);
    const auto next = std::ranges::find_if(left, [day](const RequestRow& row) { return day_of(row.at) != day; });
    const auto rows = left.first(static_cast<std::size_t>(next - left.begin()));
    const LogWriter::Outcome outcome = writer.write(rows, day, hooks.now());
    if (outcome == LogWriter::Outcome::locked && locked == Locked::waits) break;
    (outcome == LogWriter::Outcome::written ? written : failed).fetch_add(rows.size(), std::memory_order_relaxed);
    left = left.subspan(rows.size());
  }
  batch.erase(batch.begin(), batch.end() - static_cast<std::ptrdiff_t>(left.size()));
  batch_octets = 0;
  for (const RequestRow& row : batch) batch_octets += stored_octets(row);
  wrote = std::chrono::steady_clock::now();
}

void QueryLog::State::show() {
  std::uint64_t skipped = 0;
  for (const RequestFeed* const feed : known) skipped += feed->skipped();
  shown.skipped += skipped - std::exchange(skipped_before, skipped);
  if (shown.rows.empty() && shown.skipped == 0) return;
  const std::lock_guard lock(signals.mutex);  // close() takes the hook away
  Shown now = std::exchange(shown, {});
  sort_by_time(now.rows);
  if (hooks.show) hooks.show(std::move(now));
}

void QueryLog::State::tidy() {
  const std::int64_t now = hooks.now();
  const bool is_due = now - tidied >= kTidyPeriod.count() || now < tidied;
  if (is_due) {
    tidied = now;
    writer.remove_old(now);
  }
  bytes.store(writer.bytes(), std::memory_order_relaxed);
}

QueryLog::QueryLog(const ClientMask& mask, Hooks hooks) : state_(std::make_shared<State>(mask, std::move(hooks))) {
  // The new thread inherits this mask: the main thread handles signals.
  sigset_t all, before;
  ::sigfillset(&all);
  for (const int fault : {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGABRT, SIGTRAP}) ::sigdelset(&all, fault);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread([shared = state_] { shared->run(); }).detach();  // close() waits for has_ended
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

QueryLog::~QueryLog() { close(std::chrono::seconds(1)); }

RequestFeed& QueryLog::add_feed() {
  const std::lock_guard lock(state_->signals.mutex);
  return state_->feeds.emplace_back(state_->signals);
}

const ClientMask& QueryLog::mask() const { return state_->mask; }

void QueryLog::use(const Settings& settings) {
  {
    const std::lock_guard lock(state_->signals.mutex);
    state_->next_settings = settings;
    state_->is_changed = true;
  }
  state_->signals.wanted.notify_one();
}

void QueryLog::watch(Watch watch) {
  {
    const std::lock_guard lock(state_->signals.mutex);
    if (state_->signals.watch.exchange(watch) == watch) return;
    state_->is_changed = true;
  }
  state_->signals.wanted.notify_one();
}

QueryLog::Figures QueryLog::figures() const {
  Figures figures{.written = state_->written.load(std::memory_order_relaxed),
                  .failed = state_->failed.load(std::memory_order_relaxed),
                  .bytes = state_->bytes.load(std::memory_order_relaxed)};
  const std::lock_guard lock(state_->signals.mutex);
  for (const RequestFeed& feed : state_->feeds) figures.dropped += feed.dropped();
  return figures;
}

bool QueryLog::flush(milliseconds bound) {
  std::unique_lock lock(state_->signals.mutex);
  const std::uint64_t wanted = ++state_->flush_wanted;
  state_->signals.wanted.notify_one();
  return state_->changed.wait_for(lock, bound, [&] { return state_->flush_done >= wanted || state_->has_ended; });
}

void QueryLog::close(milliseconds bound) {
  {
    const std::lock_guard lock(state_->signals.mutex);
    if (std::exchange(state_->is_stopping, true)) return;
    state_->hooks.show = nullptr;
  }
  state_->signals.wanted.notify_one();
  std::unique_lock lock(state_->signals.mutex);
  // A write that hangs in the kernel cannot be called back; the thread then keeps its state to itself.
  state_->changed.wait_for(lock, std::max(bound, kEndBound), [&] { return state_->has_ended; });
}

std::filesystem::path query_log_folder(const conf::QueryLog& settings, const std::filesystem::path& state_folder) {
  if (!settings.folder.empty()) return settings.folder;
  return state_folder.empty() ? state_folder : state_folder / "log";
}

}  // namespace bloomwall::proxy
