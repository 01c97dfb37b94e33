// SPDX-License-Identifier: Apache-2.0
#include "proxy/auth/helper_pool.h"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <system_error>
#include <utility>

#include "proxy/log/log.h"

namespace bloomwall::proxy {
namespace {

constexpr int kLookAround = 50;  // milliseconds: how late a time-out may be noticed

void wipe_all(std::string& text) {
  OPENSSL_cleanse(text.data(), text.capacity());
  text.clear();
}

std::size_t slots_of(const conf::AuthHelper& settings) { return std::max<std::size_t>(settings.concurrency, 1); }

}  // namespace

Milliseconds HelperPool::clock() {
  return std::chrono::duration_cast<Milliseconds>(std::chrono::steady_clock::now().time_since_epoch());
}

HelperPool::Question::~Question() { wipe_all(words); }

HelperPool::Process::Process(std::unique_ptr<HelperProcess> made, const conf::AuthHelper& of)
    : helper(std::move(made)), settings(of), slots(slots_of(of)) {}

HelperPool::Process::~Process() {
  wipe_all(out);
  wipe_all(in);
}

std::size_t HelperPool::Process::load() const {
  return static_cast<std::size_t>(std::ranges::count_if(slots, [](const Slot& slot) { return !slot.is_free(); }));
}

std::size_t HelperPool::Process::asked() const {
  return static_cast<std::size_t>(std::ranges::count_if(slots, [](const Slot& slot) { return slot.item != nullptr; }));
}

HelperPool::HelperPool(std::string name, Secrets secrets)
    : name_(std::move(name)), secrets_(secrets), bell_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

HelperPool::~HelperPool() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  wake();
  if (thread_.joinable()) thread_.join();
}

void HelperPool::wake() const {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t rung = ::write(bell_.get(), &one, sizeof one);
}

void HelperPool::use(const conf::AuthHelper& settings) {
  const std::scoped_lock lock(mutex_);
  if (settings_ == settings) return;
  settings_ = settings;
  ++edition_;
  is_renewed_ = true;
  wake();
}

bool HelperPool::ask(const CredentialKey& key, const ClientKey& client, std::string words, Done done, Room room) {
  const std::scoped_lock lock(mutex_);
  if (settings_.command.empty() || words.size() + 16 > kMostHelperLine || !bell_ || !has_thread()) return false;
  Question question(std::move(words), clock() + settings_.timeout, std::move(room));
  if (!queue_.add({key, edition_}, client, std::move(question), std::move(done), settings_.queue)) return false;
  wake();
  return true;
}

bool HelperPool::go_on(const HelperConversation& conversation, const CredentialKey& key, const ClientKey& client,
                       std::string words, Done done) {
  const std::scoped_lock lock(mutex_);
  if (settings_.command.empty() || words.size() + 16 > kMostHelperLine) return false;
  Question question(std::move(words), clock() + settings_.timeout, {});
  question.was_asked = true;  // no other process can be
  ItemPtr item = queue_.add_out({key, edition_}, client, std::move(question), std::move(done));
  if (item == nullptr) return false;
  legs_.push_back({conversation.id(), std::move(item)});
  wake();
  return true;
}

HelperPool::Figures HelperPool::figures() const {
  const std::scoped_lock lock(mutex_);
  Figures now = figures_;
  now.waiting = queue_.waiting();
  return now;
}

bool HelperPool::has_thread() {
  if (thread_.joinable()) return true;
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);  // a helper that is gone must not end this process
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error& error) {  // tried again with the next question
    log::error("authentication.{}: no thread: {}", name_, error.what());
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread_.joinable();
}

void HelperPool::run() {
  ::pthread_setname_np(::pthread_self(), "helpers");
  while (take_settings()) {
    const Milliseconds now = clock();
    bury(now);
    expire(now);
    call_back();  // what an answer has led to says how much may be asked
    dispatch_legs(now);
    dispatch(now);
    call_back();
    wait_for_events(now);
  }
  processes_.clear();
}

// False: it is over.
bool HelperPool::take_settings() {
  const std::scoped_lock lock(mutex_);
  figures_.processes = processes_.size();
  const auto busy = std::ranges::count_if(processes_, [](const auto& process) { return process->asked() > 0; });
  figures_.busy = static_cast<std::uint64_t>(busy);
  if (std::exchange(is_renewed_, false)) {
    current_ = settings_;
    failures_ = 0;
    unreplaced_ = 0;
    next_start_ = Milliseconds(0);
  }
  return !stopping_;
}

bool HelperPool::has_waiting() const {
  const std::scoped_lock lock(mutex_);
  return !queue_.empty();
}

void HelperPool::call_back() {
  for (const Called& called : std::exchange(called_, {})) {
    for (const Done& done : called.askers) done(called.reply);
  }
}

void HelperPool::settle(Queue::Item& item, HelperReply reply) {
  const std::scoped_lock lock(mutex_);
  std::vector<Done> askers = queue_.finish(item);
  if (askers.empty()) return;
  ++(reply.has_answer ? figures_.answered : figures_.unanswered);
  called_.push_back({std::move(askers), std::move(reply)});
}

// Those whose time is over, and all where no process will be there in time.
void HelperPool::expire(Milliseconds now) {
  std::vector<ItemPtr> over;
  {
    const std::scoped_lock lock(mutex_);
    over = queue_.take_if([&](const Queue::Item& item) {
      const bool is_lost = processes_.empty() && next_start_ > item.question.deadline;
      return item.question.deadline <= now || is_lost || current_.command.empty();
    });
  }
  for (const ItemPtr& item : over) settle(*item, {});
  for (const ProcessPtr& process : processes_) {
    for (Slot& slot : process->slots) {
      if (slot.conversation != 0 && slot.kept_until <= now) slot.conversation = 0;
      if (slot.item == nullptr) continue;
      if (slot.item->question.deadline <= now) settle(*slot.item, {});
      if (slot.sent + process->settings.timeout > now || !process->fault.empty()) continue;
      process->fault = fmt::format("has not answered within {}", format_duration(process->settings.timeout));
    }
  }
  bury(now);
}

void HelperPool::note_death(Milliseconds now) {
  failures_ = std::min(failures_ + 1, 16U);
  next_start_ = now + std::min(kFirstPause * (1U << (failures_ - 1)), kMostPause);
  const std::scoped_lock lock(mutex_);
  ++figures_.deaths;
}

// Ends processes that are at fault, and those of other settings that have nothing left to answer.
void HelperPool::bury(Milliseconds now) {
  for (ProcessPtr& process : processes_) {
    if (process->fault.empty()) {
      if (process->settings != current_ && process->asked() == 0) process.reset();
      continue;
    }
    note_death(now);
    ++unreplaced_;
    if (now - told_ >= kTellAgain || told_ == Milliseconds(0)) {
      told_ = now;
      log::warning("authentication.{}: process {} {}", name_, process->helper->pid(), process->fault);
    }
    return_questions(*process);
    process.reset();
  }
  std::erase(processes_, nullptr);
}

void HelperPool::return_questions(Process& process) {
  for (Slot& slot : process.slots) {
    if (slot.item == nullptr) continue;
    const bool is_last = std::exchange(slot.item->question.was_asked, true) || slot.item->askers.empty();
    if (is_last) {
      settle(*slot.item, {});
      slot.item.reset();
    } else {
      const std::scoped_lock lock(mutex_);
      queue_.put_back(std::move(slot.item));
    }
  }
}

bool HelperPool::may_go(const Queue::Item& item, std::size_t out) {
  if (!item.question.room) return true;
  const std::size_t room = item.question.room();
  return room == 0 || out < room;
}

bool HelperPool::has_next() const {
  const std::scoped_lock lock(mutex_);
  return queue_.has_next(may_go);
}

void HelperPool::dispatch(Milliseconds now) {
  while (has_next()) {
    Process* const process = choose(now);
    if (process == nullptr) return;
    ItemPtr item;
    bool is_dropped = false;
    {
      const std::scoped_lock lock(mutex_);
      if (is_renewed_) return;  // later questions are not for the former processes
      item = queue_.take(may_go);
      if (item == nullptr) return;
      is_dropped = item->question.room && item->question.room() == 0;
      if (!is_dropped) ++figures_.asked;
    }
    is_dropped ? settle(*item, {}) : send(*process, std::move(item), now);
  }
}

// The one with the fewest questions; another is started where all have some.
HelperPool::Process* HelperPool::choose(Milliseconds now) {
  const auto find_best = [this] {
    Process* best = nullptr;
    for (const ProcessPtr& process : processes_) {
      if (process->settings != current_ || !process->fault.empty() || !process->has_room()) continue;
      if (best == nullptr || process->load() < best->load()) best = process.get();
    }
    return best;
  };
  Process* const best = find_best();
  if (best != nullptr && best->load() == 0) return best;
  const auto started = std::ranges::count_if(processes_, [this](const auto& p) { return p->settings == current_; });
  if (static_cast<std::size_t>(started) >= current_.processes || now < next_start_) return best;
  start_process(now);
  return find_best();
}

void HelperPool::start_process(Milliseconds now) {
  auto made = HelperProcess::start(current_.command);
  if (made) {
    processes_.push_back(std::make_unique<Process>(*std::move(made), current_));
    if (unreplaced_ == 0) return;
    --unreplaced_;
    const std::scoped_lock lock(mutex_);
    ++figures_.restarts;
    return;
  }
  note_death(now);
  log::error("authentication.{}: {} cannot be started: {}", name_, current_.command.front(), made.error());
}

void HelperPool::send(Process& process, ItemPtr item, Milliseconds now) {
  put(process, *std::ranges::find_if(process.slots, &Slot::is_free), std::move(item), now);
}

void HelperPool::put(Process& process, Slot& slot, ItemPtr item, Milliseconds now) {
  process.has_complained = false;
  if (process.settings.concurrency > 0) process.out += fmt::format("{} ", &slot - process.slots.data());
  process.out.append(item->question.words).push_back('\n');
  slot = {.item = std::move(item), .sent = now, .end = process.sent + process.out.size()};
  flush(process);
}

void HelperPool::flush(Process& process) {
  while (!process.out.empty()) {
    const ssize_t written = ::write(process.helper->questions(), process.out.data(), process.out.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EAGAIN) return;
    if (written < 0) {
      if (process.fault.empty()) process.fault = "has ended";
      return;
    }
    process.sent += static_cast<std::size_t>(written);
    OPENSSL_cleanse(process.out.data(), static_cast<std::size_t>(written));
    process.out.erase(0, static_cast<std::size_t>(written));
  }
}

// For processes, time-outs and other threads.
void HelperPool::wait_for_events(Milliseconds now) {
  std::vector<pollfd> descriptors{{bell_.get(), POLLIN, 0}};
  bool has_questions = has_waiting();
  for (const ProcessPtr& process : processes_) {
    const short writes = process->out.empty() ? 0 : POLLOUT;
    descriptors.push_back({process->helper->answers(), POLLIN, 0});
    descriptors.push_back({process->is_mute ? -1 : process->helper->words(), POLLIN, 0});
    descriptors.push_back({writes != 0 ? process->helper->questions() : -1, writes, 0});
    has_questions |= process->load() > 0 || !process->fault.empty();
  }
  const int longest = !has_questions ? -1 : now < next_start_ ? kLookAround / 5 : kLookAround;
  if (::poll(descriptors.data(), descriptors.size(), longest) <= 0) return;
  std::uint64_t rung = 0;
  while (descriptors[0].revents != 0 && ::read(bell_.get(), &rung, sizeof rung) > 0) continue;
  for (std::size_t i = 0; i < processes_.size(); ++i) {
    Process& process = *processes_[i];
    if (descriptors[3 * i + 2].revents != 0) read_words(process);
    if (descriptors[3 * i + 3].revents != 0) flush(process);
    if (descriptors[3 * i + 1].revents != 0) read_answers(process);
  }
}

}  // namespace bloomwall::proxy
