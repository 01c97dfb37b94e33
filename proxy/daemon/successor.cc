// SPDX-License-Identifier: Apache-2.0
#include "proxy/daemon/successor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/auxv.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <system_error>
#include <utility>

#include "base/child_process.h"
#include "base/terminal.h"
#include "proxy/io/service_manager.h"

namespace bloomwall::proxy {
namespace {

constexpr int kFirstPassed = 3;  // SD_LISTEN_FDS_START
constexpr Milliseconds kLastMoment{300};
constexpr Milliseconds kMostDying{2000};  // of a process that was killed
constexpr std::size_t kPidDigits = 10;

struct ChildPlan {
  char* const* command;
  char* const* environment;
  char* pid_digits;  // of LISTEN_PID in the environment
  const int* passed;
  int passed_count;
  int err, failure;
  pid_t parent;
};

// Without leading zeros, which sd_listen_fds(3) does not take.
void write_digits(pid_t pid, char* out) noexcept {
  std::array<char, kPidDigits> digits{};
  std::size_t first = kPidDigits;
  for (pid_t rest = pid; rest > 0; rest /= 10) digits[--first] = static_cast<char>('0' + rest % 10);
  while (first < kPidDigits) *out++ = digits[first++];
  *out = '\0';
}

// Between vfork and exec: shares the memory of the parent, whose thread stands still meanwhile. System calls alone.
[[noreturn]] void become_successor(const ChildPlan& plan) noexcept {
  write_digits(::getpid(), plan.pid_digits);
  bool is_ready = begin_child() && ::getppid() == plan.parent && ::dup2(plan.err, STDERR_FILENO) >= 0;
  for (int i = 0; i < plan.passed_count && is_ready; ++i) is_ready = ::dup2(plan.passed[i], kFirstPassed + i) >= 0;
  exec_child(is_ready, plan.command, plan.environment, kFirstPassed + plan.passed_count, plan.failure);
}

// fork() would copy the page tables of gigabytes of filters.
pid_t fork_successor(const ChildPlan& plan) {
  const pid_t pid = ::vfork();  // NOLINT(bugprone-unsafe-functions)
  if (pid == 0) become_successor(plan);
  return pid;
}

std::string text_of_error(int error) { return std::generic_category().message(error); }

// Ours, with the variables of sd_listen_fds(3); the first has the room for the child's id.
std::vector<std::string> environment_with(const std::vector<Successor::Passed>& sockets) {
  std::string names;
  for (const Successor::Passed& socket : sockets) {
    if (!names.empty()) names += ':';
    names += socket.name;
  }
  std::vector<std::string> out{"LISTEN_PID=" + std::string(kPidDigits, '0'),
                               fmt::format("LISTEN_FDS={}", sockets.size()), "LISTEN_FDNAMES=" + names};
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    // The watchdog of systemd is for the main process.
    if (!text.starts_with("LISTEN_") && !text.starts_with("WATCHDOG_PID=")) out.emplace_back(text);
  }
  return out;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> out;
  out.reserve(texts.size() + 1);
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

struct Ends {
  UniqueFd near, far;
};

bool make_channel(Ends& ends) {
  std::array<int, 2> both{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, both.data()) != 0) return false;
  ends.near.reset(both[0]);
  ends.far.reset(both[1]);
  return true;
}

// What is written to `far` is read from `near`.
bool make_pipe(Ends& ends) {
  std::array<int, 2> both{};
  if (::pipe2(both.data(), O_CLOEXEC) != 0) return false;
  ends.near.reset(both[0]);
  ends.far.reset(both[1]);
  return true;
}

// Above all those that they become in the child.
tl::expected<std::vector<UniqueFd>, int> lifted(const std::vector<Successor::Passed>& sockets) {
  std::vector<UniqueFd> out;
  for (const Successor::Passed& socket : sockets) {
    const int lowest = kFirstPassed + static_cast<int>(sockets.size());
    out.emplace_back(::fcntl(socket.fd.get(), F_DUPFD_CLOEXEC, lowest));
    if (!out.back()) return tl::unexpected(errno);
  }
  return out;
}

// The id of the child, or the error.
tl::expected<pid_t, int> run_child(Successor::Plan& plan, const UniqueFd& err) {
  const auto sources = lifted(plan.sockets);
  if (!sources) return tl::unexpected(sources.error());
  std::vector<int> passed;
  for (const UniqueFd& fd : *sources) passed.push_back(fd.get());
  std::vector<std::string> environment = environment_with(plan.sockets);
  const std::vector<char*> variables = pointers_to(environment), words = pointers_to(plan.command);
  Ends failure;
  if (!make_pipe(failure)) return tl::unexpected(errno);
  const pid_t pid = fork_successor({.command = words.data(),
                                    .environment = variables.data(),
                                    .pid_digits = variables.front() + std::strlen("LISTEN_PID="),
                                    .passed = passed.data(),
                                    .passed_count = static_cast<int>(passed.size()),
                                    .err = err.get(),
                                    .failure = failure.far.get(),
                                    .parent = ::getpid()});
  if (pid < 0) return tl::unexpected(errno);
  failure.far.reset();
  int error = 0;
  if (::read(failure.near.get(), &error, sizeof error) != sizeof error) return pid;
  ::waitpid(pid, nullptr, 0);
  return tl::unexpected(error);
}

}  // namespace

Successor::Successor(EventLoop& loop, Events events)
    : loop_(loop),
      events_(std::move(events)),
      closed_(loop.timers(), [](void* self) { static_cast<Successor*>(self)->on_closed(); }, this) {}

tl::expected<std::unique_ptr<Successor>, std::string> Successor::start(EventLoop& loop, Plan plan, Events events) {
  const auto failure = [&](int error) {
    return tl::unexpected(fmt::format("{}: {}", plan.command.front(), text_of_error(error)));
  };
  Ends channel, words;
  UniqueFd errors(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, kFirstPassed));
  if (!errors || !make_channel(channel) || !make_pipe(words)) return failure(errno);
  if (::fcntl(words.near.get(), F_SETFL, O_NONBLOCK) != 0) return failure(errno);
  plan.sockets.push_back({std::move(channel.far), kPassedChannel});
  plan.sockets.push_back({std::move(errors), kPassedErrors});
  std::unique_ptr<Successor> made(new Successor(loop, std::move(events)));
  const auto pid = run_child(plan, words.far);
  if (!pid) return failure(pid.error());
  made->pid_ = *pid;
  made->channel_ = std::move(channel.near);
  made->words_ = std::move(words.near);
  made->process_.reset(static_cast<int>(::syscall(SYS_pidfd_open, *pid, 0U)));
  if (!made->process_) return failure(errno);
  made->listen();
  return made;
}

void Successor::listen() {
  ended_event_.assign(
      loop_.base(), process_.get(), EV_READ,
      [](evutil_socket_t, short, void* self) { static_cast<Successor*>(self)->on_ended(); }, this);
  channel_event_.assign(
      loop_.base(), channel_.get(), EV_READ | EV_PERSIST,
      [](evutil_socket_t, short, void* self) { static_cast<Successor*>(self)->on_channel(); }, this);
  words_event_.assign(
      loop_.base(), words_.get(), EV_READ | EV_PERSIST,
      [](evutil_socket_t, short, void* self) { static_cast<Successor*>(self)->on_words(); }, this);
  ended_event_.arm();
  channel_event_.arm();
  words_event_.arm();
}

Successor::~Successor() {
  if (is_released_ || pid_ <= 0) return;
  ::kill(-pid_, SIGKILL);
  await_end();
  ::waitpid(pid_, nullptr, WNOHANG);
}

// A program that does not know of the descriptor loses it where it reads the line.
void Successor::tell(std::string_view line, int memory) const {
  std::string text = std::string(line) + '\n';
  iovec octets{text.data(), text.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof memory)> room{};
  msghdr message{};
  message.msg_iov = &octets;
  message.msg_iovlen = 1;
  if (memory >= 0) {
    message.msg_control = room.data();
    message.msg_controllen = room.size();
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof memory);
    std::memcpy(CMSG_DATA(header), &memory, sizeof memory);
  }
  [[maybe_unused]] const ssize_t sent = ::sendmsg(channel_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void Successor::kill(std::string why) {
  if (!why_.empty() || is_released_) return;
  why_ = std::move(why);
  channel_event_.disarm();
  closed_.clear();
  ::kill(-pid_, SIGKILL);
}

void Successor::kill_at_once(std::string why) {
  if (is_released_ || pid_ <= 0) return;
  kill(std::move(why));
  await_end();
}

void Successor::await_end() const {
  pollfd ended{process_.get(), POLLIN, 0};
  while (::poll(&ended, 1, static_cast<int>(kMostDying.count())) < 0 && errno == EINTR) continue;
}

void Successor::release() {
  is_released_ = true;
  channel_event_.disarm();
  words_event_.disarm();
  closed_.clear();
  channel_.reset();
}

bool Successor::on_channel() {
  std::array<char, 4096> buffer{};
  const ssize_t got = ::recv(channel_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (got <= 0) {
    channel_event_.disarm();
    closed_.set(kLastMoment);
    return false;
  }
  line_.append(buffer.data(), static_cast<std::size_t>(got));
  std::size_t end = 0;
  while (why_.empty() && !is_released_ && (end = line_.find('\n')) != std::string::npos) {
    const std::string line = line_.substr(0, end);
    line_.erase(0, end + 1);
    if (++lines_ > kMostLines) kill("the new process says too much");
    if (why_.empty()) events_.on_line(line);
  }
  if (line_.size() > kMostLine) kill("the new process says what is not understood");
  return why_.empty();
}

void Successor::on_closed() { kill("the new process does not say that it is ready, and has closed the channel"); }

void Successor::on_words() {
  std::array<char, 4096> buffer{};
  ssize_t got = 0;
  while ((got = ::read(words_.get(), buffer.data(), buffer.size())) > 0) {
    said_.append(buffer.data(), static_cast<std::size_t>(got));
    if (said_.size() > kMostWords) said_.erase(0, said_.size() - kMostWords);
    if (static_cast<std::size_t>(got) < buffer.size()) return;
  }
  if (got == 0) words_event_.disarm();
}

// Its process group may live on; its number is not reused until it has been waited for.
void Successor::on_ended() {
  while (channel_ && why_.empty() && !is_released_ && on_channel()) continue;
  on_words();
  if (!is_released_) ::kill(-pid_, SIGKILL);
  const std::string why = why_.empty() ? end_of_it() : why_;
  if (!is_released_) ::waitpid(std::exchange(pid_, -1), nullptr, 0);
  closed_.clear();
  channel_event_.disarm();
  words_event_.disarm();
  events_.on_end(why);
}

bool Successor::has_ended() const {
  siginfo_t end{};
  return ::waitid(P_PID, static_cast<id_t>(pid_), &end, WEXITED | WNOWAIT | WNOHANG) == 0 && end.si_pid == pid_;
}

std::string Successor::end_of_it() const {
  siginfo_t end{};
  if (::waitid(P_PID, static_cast<id_t>(pid_), &end, WEXITED | WNOWAIT | WNOHANG) != 0 || end.si_pid != pid_) {
    return "the new process has ended";
  }
  if (end.si_code == CLD_EXITED) return fmt::format("the new process ended with exit status {}", end.si_status);
  return fmt::format("the new process was ended by signal {} ({})", end.si_status, ::strsignal(end.si_status));
}

std::vector<std::string> Successor::last_words() const {
  std::vector<std::string> out;
  std::string_view rest = said_;
  if (said_.size() == kMostWords) rest.remove_prefix(std::min(rest.find('\n'), rest.size() - 1) + 1);
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    if (end > 0) out.push_back(printable(rest.substr(0, end)));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return out;
}

// Of what exec() was told, where that is this program; a loader that was given the program's name is not.
std::filesystem::path own_program() {
  namespace fs = std::filesystem;
  std::error_code error;
  // The kernel's numbers are addresses where that is what they stand for.
  const auto* const told = reinterpret_cast<const char*>(::getauxval(AT_EXECFN));  // NOLINT(performance-no-int-to-ptr)
  if (told != nullptr) {
    fs::path path = fs::absolute(told, error);
    if (!error && fs::equivalent(path, "/proc/self/exe", error)) return path;
  }
  constexpr std::string_view kReplaced = " (deleted)";
  std::string path = fs::read_symlink("/proc/self/exe", error).string();
  if (path.ends_with(kReplaced)) path.resize(path.size() - kReplaced.size());
  return path;
}

}  // namespace bloomwall::proxy
