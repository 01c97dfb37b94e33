// SPDX-License-Identifier: Apache-2.0
#include "proxy/auth/helper_pool.h"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "proxy/log/log.h"

namespace bloomwall::proxy {
namespace {

constexpr std::size_t kMostSaid = 1000;  // octets of a process's stderr that are logged
constexpr int kLookAround = 50;          // milliseconds: how late a time-out may be noticed
constexpr Milliseconds kToldAgain{1000};

void wipe_all(std::string& text) {
  OPENSSL_cleanse(text.data(), text.capacity());
  text.clear();
}

Milliseconds steady_now() {
  return std::chrono::duration_cast<Milliseconds>(std::chrono::steady_clock::now().time_since_epoch());
}

// Whether `message` holds so many octets of `secret` one after the other, or all of a shorter one.
bool quotes(std::string_view message, std::string_view secret) {
  constexpr std::size_t kMany = 8;
  const std::size_t run = std::min(kMany, secret.size());
  for (std::size_t at = 0; at + run <= message.size(); ++at) {
    if (secret.find(message.substr(at, run)) != std::string_view::npos) return true;
  }
  return false;
}

std::size_t slots_of(const conf::AuthHelper& settings) { return std::max<std::size_t>(settings.concurrency, 1); }

}  // namespace

HelperPool::Question::~Question() { wipe_all(words); }

HelperPool::Process::Process(std::unique_ptr<HelperProcess> made, const conf::AuthHelper& of)
    : helper(std::move(made)), settings(of), slots(slots_of(of)) {}

HelperPool::Process::~Process() {
  wipe_all(out);
  wipe_all(in);
}

std::size_t HelperPool::Process::load() const {
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

bool HelperPool::ask(const CredentialKey& key, const ClientKey& client, std::string words, Done done) {
  const std::scoped_lock lock(mutex_);
  if (settings_.command.empty() || words.size() + 16 > kMostHelperLine || !bell_ || !has_thread()) return false;
  Question question(std::move(words), steady_now() + settings_.timeout);
  if (!queue_.add({key, edition_}, client, std::move(question), std::move(done), settings_.queue)) return false;
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
    const Milliseconds now = steady_now();
    bury(now);
    expire(now);
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
  if (std::exchange(is_renewed_, false)) {
    current_ = settings_;
    failures_ = 0;
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
      if (process->settings != current_ && process->load() == 0) process.reset();
      continue;
    }
    note_death(now);
    if (now - told_ >= kToldAgain || told_ == Milliseconds(0)) {
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

void HelperPool::dispatch(Milliseconds now) {
  while (has_waiting()) {
    Process* const process = choose(now);
    if (process == nullptr) return;
    ItemPtr item;
    {
      const std::scoped_lock lock(mutex_);
      item = queue_.take();
      ++figures_.asked;
    }
    send(*process, std::move(item), now);
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
    return;
  }
  note_death(now);
  log::error("authentication.{}: {} cannot be started: {}", name_, current_.command.front(), made.error());
}

void HelperPool::send(Process& process, ItemPtr item, Milliseconds now) {
  const auto slot = std::ranges::find_if(process.slots, [](const Slot& free) { return free.item == nullptr; });
  process.has_complained = false;
  if (process.settings.concurrency > 0) process.out += fmt::format("{} ", slot - process.slots.begin());
  process.out.append(item->question.words).push_back('\n');
  *slot = {std::move(item), now};
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

// Once: what is left is there the next time.
void HelperPool::read_answers(Process& process) {
  std::array<char, 65536> piece{};
  const ssize_t got = ::read(process.helper->answers(), piece.data(), piece.size());
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (got <= 0 && process.fault.empty()) process.fault = "has ended";
  if (got <= 0) return;
  process.in.append(piece.data(), static_cast<std::size_t>(got));
  std::size_t begin = 0;
  for (std::size_t end = 0; process.fault.empty(); begin = end + 1) {
    end = process.in.find('\n', begin);
    if (end == std::string::npos) break;
    take_line(process, std::string_view(process.in).substr(begin, end - begin));
  }
  process.in.erase(0, begin);
  if (process.in.size() >= kMostHelperLine && process.fault.empty()) process.fault = "says a line of over 64 KiB";
  OPENSSL_cleanse(piece.data(), piece.size());
}

void HelperPool::take_line(Process& process, std::string_view line) {
  std::optional<std::uint32_t> channel = 0;
  if (process.settings.concurrency > 0) channel = take_channel(line);
  if (!channel || *channel >= process.slots.size() || process.slots[*channel].item == nullptr) {
    process.fault = "answers what it was not asked";
    return;
  }
  auto answer = parse_helper_answer(line);
  if (!answer) {
    process.fault = "says what is no answer; run it by hand and see";
    return;
  }
  failures_ = 0;
  next_start_ = Milliseconds(0);
  const ItemPtr item = std::move(process.slots[*channel].item);
  if (is_refusal(process, *answer)) answer->result = HelperAnswer::Result::error;
  if (answer->result == HelperAnswer::Result::broken) tell_fault(*answer, item->question.words);
  settle(*item, {.has_answer = true, .answer = *std::move(answer)});
}

bool HelperPool::is_refusal(Process& process, const HelperAnswer& answer) {
  if (answer.result != HelperAnswer::Result::broken || answer.message != "Success") return false;
  if (!process.is_mute) read_words(process);  // a complaint is there before the answer
  return !process.has_complained;
}

void HelperPool::tell_fault(const HelperAnswer& answer, std::string_view words) {
  const Milliseconds now = steady_now();
  if (fault_told_ != Milliseconds(0) && now - fault_told_ < kToldAgain) return;
  fault_told_ = now;
  switch (secrets_) {
    case Secrets::passwords:
      return log::warning("authentication.{}: BH: it could not tell; run it by hand to see why", name_);
    case Secrets::tickets:
      if (!quotes(answer.message, words.substr(words.rfind(' ') + 1))) break;
      return log::warning("authentication.{}: BH (quotes the question)", name_);
    case Secrets::none:
      break;
  }
  log::warning("authentication.{}: BH {}", name_, answer.message);
}

// What it says while every octet of the questions lies in the pipe still cannot hold any of them.
void HelperPool::read_words(Process& process) {
  std::array<char, 4096> piece{};
  const ssize_t got = ::read(process.helper->words(), piece.data(), piece.size());
  process.is_mute = got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN);
  if (got <= 0) return;
  process.has_complained = true;
  int unread = 0;
  const bool is_asked = ::ioctl(process.helper->questions(), FIONREAD, &unread) == 0;
  process.has_read |= !is_asked || static_cast<std::size_t>(unread) != process.sent;
  if (!process.has_read && process.said < kMostSaid) {
    std::size_t shown = std::min(static_cast<std::size_t>(got), kMostSaid - process.said);
    process.said += shown;
    while (shown > 0 && piece[shown - 1] == '\n') --shown;
    log::info("authentication.{}: process {} says: {}", name_, process.helper->pid(),
              std::string_view(piece.data(), shown));
  }
  OPENSSL_cleanse(piece.data(), piece.size());
}

}  // namespace bloomwall::proxy
