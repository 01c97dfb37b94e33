// SPDX-License-Identifier: Apache-2.0
#include "proxy/daemon/upgrade.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "base/terminal.h"
#include "proxy/api/json_body.h"
#include "proxy/log/log.h"

namespace bloomwall::proxy {
namespace {

using nlohmann::ordered_json;

constexpr Milliseconds kTick{20};
constexpr std::size_t kMostBody = 8192;

std::string line_of(const ordered_json& json) {
  std::ostringstream out;
  print_json(out, json);
  return std::move(out).str();
}

std::string last_line(int status, pid_t pid) { return line_of({{"exit_status", status}, {"pid", pid}}); }

}  // namespace

Upgrade::Upgrade(EventLoop& loop, std::filesystem::path configuration, std::vector<std::string> command,
                 const Served& served, Process process)
    : loop_(loop),
      configuration_(std::move(configuration)),
      command_(std::move(command)),
      served_(served),
      process_(std::move(process)),
      tick_(loop.timers(), [](void* self) { static_cast<Upgrade*>(self)->on_tick(); }, this) {}

ApiRoute Upgrade::route() {
  return {.method = "POST",
          .path = kPath,
          .role = Role::admin,
          .handler = [this](const ApiRequest& request) { return begin(request); },
          .most_body = kMostBody};
}

HttpReply Upgrade::begin(const ApiRequest& request) {
  const std::string introduction =
      line_of({{"pid", ::getpid()}, {"configuration", printable(configuration_.string())}});
  const auto refuse = [&](const std::string& why) {
    return HttpReply{
        .type = "application/x-ndjson",
        .body = introduction + line_of({{"text", printable(why)}}) + last_line(1, is_serving() ? ::getpid() : 0)};
  };
  if (phase_ != Phase::idle) return refuse("another upgrade is under way");
  if (!is_serving()) return refuse("bloomwall starts or stops");
  if (::getpid() == 1) return refuse("this is process 1, with whose end its container ends: start another container");
  if (const auto wrong = read_body(request.http.body)) return refuse(*wrong);
  auto sockets = process_.sockets();
  if (!sockets) return refuse(sockets.error());
  auto started = Successor::start(loop_, {.command = command_, .sockets = *std::move(sockets)},
                                  {.on_line = [this](std::string_view line) { on_line(line); },
                                   .on_end = [this](const std::string& why) { on_end(why); }});
  author_ = request.caller.author;
  if (!started) {
    ++counts_.failed;
    process_.note_failure(author_, started.error());
    log::error("upgrade: {}", started.error());
    return refuse(started.error());
  }
  successor_ = *std::move(started);
  phase_ = Phase::loading;
  has_reloaded_ = process_.is_reloading();
  has_reopened_ = false;
  asker_ = request.http.stream;
  reason_.clear();
  extend(silence_);
  tick_.set(kTick);
  log::info("upgrade: process {} loads", successor_->pid());
  return {.type = "application/x-ndjson", .body = introduction, .goes_on = true};
}

// Why it is refused; nothing where it is not.
std::optional<std::string> Upgrade::read_body(std::string_view body) {
  silence_ = kSilence;
  if (body.empty()) return std::nullopt;
  const auto json = read_json_body(body);
  if (!json) return json.error();
  for (const auto& [key, value] : json->items()) {
    if (key == "configuration" && value.is_string()) {
      const std::string& meant = value.get_ref<const std::string&>();
      if (meant == printable(configuration_.string())) continue;
      return fmt::format("process {} serves {} and not {}: admin.control_socket is another's", ::getpid(),
                         configuration_.string(), meant);
    }
    if (key != "silence" || !value.is_number_unsigned()) return "unknown or wrong: " + key;
    const auto seconds = value.get<std::uint64_t>();
    if (seconds < 1 || seconds > std::uint64_t{kMostSilence.count()}) return std::string("silence: expected 1 to 3600");
    silence_ = std::chrono::seconds(seconds);
  }
  return std::nullopt;
}

void Upgrade::on_line(std::string_view line) {
  constexpr std::string_view kText = "text ";
  extend(silence_);
  if (line.starts_with(kText)) {
    reason_ = line.substr(kText.size());
    return say(reason_);
  }
  if (line == "ready" && phase_ == Phase::loading) {
    phase_ = Phase::reloads;
    return settle();
  }
  if (line == "serving" && phase_ == Phase::handing_over && !successor_->has_ended()) return succeed();
  successor_->kill("the new process says what is not understood: " + printable(line.substr(0, 80)));
}

void Upgrade::on_tick() {
  if (phase_ == Phase::idle || phase_ == Phase::done) return;
  tick_.set(kTick);
  if (phase_ == Phase::reloads || phase_ == Phase::changes) settle();
  if (monotonic_now() < deadline_) return;
  if (has_to_end_) return successor_->kill("bloomwall is stopping");
  if (phase_ == Phase::loading || phase_ == Phase::handing_over) {
    return successor_->kill(fmt::format("the new process has said nothing for {} s", silence_.count() / 1000));
  }
  if (phase_ == Phase::reloads) return successor_->kill("a reload does not end");
  if (phase_ == Phase::changes) successor_->kill("a change of the state does not end");
}

void Upgrade::settle() {
  if (phase_ == Phase::reloads && !process_.is_reloading()) {
    phase_ = Phase::changes;
    extend(kSettlingBound);
    process_.hold(true);
  }
  if (phase_ == Phase::changes && !process_.is_changing()) hand_over();
}

void Upgrade::hand_over() {
  phase_ = Phase::handing_over;
  extend(silence_);
  const pid_t pid = successor_->pid();
  const auto go = [this, pid](const std::string& fault) {
    if (phase_ != Phase::handing_over || successor_ == nullptr || successor_->pid() != pid) return;
    if (!fault.empty()) return successor_->kill(fault);
    const UniqueFd logins = process_.logins();
    successor_->tell(fmt::format("go {} {}", counts_.succeeded, counts_.failed), logins.get());
  };
  process_.release_state(author_, fmt::format("process {} to {}", ::getpid(), pid), go);
}

void Upgrade::succeed() {
  phase_ = Phase::done;
  tick_.clear();
  const pid_t pid = successor_->pid();
  process_.hand_over(pid, [this, pid] { on_closed(pid); });
  successor_->release();
  if (has_reloaded_ || has_reopened_) ::kill(pid, has_reloaded_ ? SIGHUP : SIGUSR1);  // SIGHUP does both
  ++counts_.succeeded;
}

// What connects from here on is the other process's.
void Upgrade::on_closed(pid_t pid) {
  say(fmt::format("process {} serves; process {} ends when its connections have", pid, ::getpid()));
  finish(0, pid);
}

// It has ended, and no process of its group is left.
void Upgrade::on_end(const std::string& why) {
  if (phase_ == Phase::done) return process_.lost(why);
  std::vector<std::string> words = successor_->last_words();
  loop_.deferred().delete_later(std::move(successor_));
  constexpr std::size_t kShown = 10;
  if (words.size() > kShown) words.erase(words.begin(), words.end() - kShown);
  for (const std::string& line : words) {
    log::error("upgrade: {}", line);
    say(line);
  }
  fail(why);
}

void Upgrade::fail(const std::string& why) {
  const bool was_held = is_holding();
  phase_ = Phase::idle;
  tick_.clear();
  if (was_held) process_.hold(false);
  process_.reload();
  ++counts_.failed;
  const bool has_to_end = std::exchange(has_to_end_, false);
  const bool serves_on = is_serving() && !has_to_end;
  log::error("upgrade: {}; this process {}", why, serves_on ? "serves on" : "ends");
  if (serves_on) process_.note_failure(author_, reason_.empty() ? why : why + ": " + reason_);
  say(why);
  finish(1, serves_on ? ::getpid() : 0);
  if (has_to_end) process_.end();
}

bool Upgrade::postpone_end() {
  if (phase_ != Phase::handing_over || has_to_end_) return false;
  extend(std::min(kSettlingBound, std::max(deadline_ - monotonic_now(), Milliseconds(0))));
  has_to_end_ = true;
  return true;
}

void Upgrade::cancel(const std::string& why) {
  has_to_end_ = false;
  if (successor_ != nullptr && phase_ != Phase::done) successor_->kill_at_once(why);
}

void Upgrade::note_signal(int number) {
  if (phase_ == Phase::done && !successor_->has_ended()) ::kill(successor_->pid(), number);
  if (number == SIGUSR1) has_reopened_ = true;
}

bool Upgrade::may_reload() {
  if (phase_ != Phase::idle) has_reloaded_ = true;
  return !is_holding();
}

void Upgrade::say(std::string_view text) {
  if (asker_) asker_->write(line_of({{"text", printable(text)}}));
}

void Upgrade::finish(int status, pid_t pid) {
  if (!asker_) return;
  asker_->write(last_line(status, pid));
  asker_->end();
  asker_.reset();
}

void Upgrade::extend(Milliseconds more) {
  if (!has_to_end_) deadline_ = monotonic_now() + more;
}

}  // namespace bloomwall::proxy
