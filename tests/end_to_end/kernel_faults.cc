// SPDX-License-Identifier: Apache-2.0
#include "tests/end_to_end/kernel_faults.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

namespace bloomwall::test {
namespace {

// Puts the filter over this process and all it becomes; the descriptor of the notifications, or -1. Runs after fork().
int install_filter() {
  constexpr std::size_t kCalls = KernelFaults::kWatched.size();
  std::array<sock_filter, kCalls + 3> program{};
  program.front() = {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)};
  for (std::size_t i = 0; i < kCalls; ++i) {
    const auto to_last = static_cast<unsigned char>(kCalls - i);
    program[1 + i] = {BPF_JMP | BPF_JEQ | BPF_K, to_last, 0, KernelFaults::kWatched[i]};
  }
  program[kCalls + 1] = {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW};
  program[kCalls + 2] = {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_USER_NOTIF};
  const sock_fprog filter{program.size(), program.data()};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
  return static_cast<int>(::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &filter));
}

// Room for one descriptor in a message.
struct Ancillary {
  msghdr message{};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  char byte = 0;
  iovec piece{&byte, 1};
  Ancillary() {
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
  }
};

bool send_descriptor(int socket, int fd) {
  Ancillary letter;
  cmsghdr* const header = CMSG_FIRSTHDR(&letter.message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof fd);
  std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
  return ::sendmsg(socket, &letter.message, MSG_NOSIGNAL) == 1;
}

int receive_descriptor(int socket) {
  Ancillary letter;
  int fd = -1;
  if (::recvmsg(socket, &letter.message, MSG_CMSG_CLOEXEC) != 1) return -1;
  if (const cmsghdr* const header = CMSG_FIRSTHDR(&letter.message)) std::memcpy(&fd, CMSG_DATA(header), sizeof fd);
  return fd;
}

// False: it is time to stop.
bool wait_for_input(int fd, int stop) {
  std::array<pollfd, 2> ready{{{fd, POLLIN, 0}, {stop, POLLIN, 0}}};
  while (::poll(ready.data(), ready.size(), -1) < 0 && errno == EINTR) {
  }
  return ready[1].revents == 0 && (ready[0].revents & POLLIN) != 0;
}

// The path that the caller, which waits, wants to open; as far as it can be read.
std::string path_of(const seccomp_notif& call) {
  std::string path(4096, '\0');
  const iovec here{path.data(), path.size()};
  const std::uint64_t begin = call.data.args[1], page = 4096;
  // No further than the page of each half: what lies behind the text may not be mapped.
  const std::size_t first = static_cast<std::size_t>(page - begin % page);
  const std::array<iovec, 2> there{{{reinterpret_cast<void*>(begin), first},  // NOLINT: an address of another process
                                    {reinterpret_cast<void*>(begin + first), path.size() - first}}};  // NOLINT
  const auto got = ::process_vm_readv(static_cast<pid_t>(call.pid), &here, 1, there.data(), there.size(), 0);
  path.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
  return path.substr(0, path.find('\0'));
}

}  // namespace

bool KernelFaults::available() {
  seccomp_notif_sizes sizes{};
  if (::syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes) != 0) return false;
  if (sizes.seccomp_notif > sizeof(seccomp_notif) || sizes.seccomp_notif_resp > sizeof(seccomp_notif_resp)) {
    return false;
  }
  const pid_t trial = ::fork();
  if (trial == 0) ::_exit(install_filter() >= 0 ? 0 : 1);
  int status = -1;
  return trial > 0 && ::waitpid(trial, &status, 0) == trial && status == 0;
}

KernelFaults::KernelFaults() : stop_(::eventfd(0, EFD_CLOEXEC)) {
  if (stop_ < 0 || ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, handover_.data()) != 0) {
    throw std::system_error(errno, std::generic_category(), "kernel faults");
  }
  supervisor_ = std::thread([this] { supervise(); });
}

KernelFaults::~KernelFaults() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(stop_, &one, sizeof one);
  supervisor_.join();
  for (const int fd : {handover_[0], handover_[1], stop_}) ::close(fd);
}

BeforeExec KernelFaults::before_exec() {
  return [socket = handover_[1]] {
    const int notifications = install_filter();
    return notifications >= 0 && send_descriptor(socket, notifications);
  };
}

void KernelFaults::supervise() {
  if (!wait_for_input(handover_[0], stop_)) return;
  const int notifications = receive_descriptor(handover_[0]);
  while (notifications >= 0 && wait_for_input(notifications, stop_)) {
    seccomp_notif call{};
    if (::ioctl(notifications, SECCOMP_IOCTL_NOTIF_RECV, &call) != 0) continue;  // who called was killed
    const int error = decide(call);
    seccomp_notif_resp answer{};
    answer.id = call.id;
    answer.error = -error;
    answer.flags = error == 0 ? SECCOMP_USER_NOTIF_FLAG_CONTINUE : 0;
    [[maybe_unused]] const int sent = ::ioctl(notifications, SECCOMP_IOCTL_NOTIF_SEND, &answer);
  }
  ::close(notifications);
}

int KernelFaults::decide(const seccomp_notif& call) {
  const std::lock_guard lock(mutex_);
  if (error_ == 0 || static_cast<unsigned>(call.data.nr) != call_ || times_ == 0) return 0;
  if (call_ == SYS_epoll_ctl && call.data.args[1] != EPOLL_CTL_ADD) return 0;
  if (!ending_.empty() && !path_of(call).ends_with(ending_)) return 0;
  if (after_ > 0) {
    --after_;
    return 0;
  }
  --times_;
  ++failed_;
  changed_.notify_all();
  return error_;
}

void KernelFaults::begin(unsigned call, int error, std::size_t times, std::size_t after) {
  const std::lock_guard lock(mutex_);
  call_ = call;
  error_ = error;
  times_ = times;
  after_ = after;
  failed_ = 0;
  ending_.clear();
}

void KernelFaults::begin_for_files(const std::string& ending, int error) {
  begin(SYS_openat, error);
  const std::lock_guard lock(mutex_);
  ending_ = ending;
}

void KernelFaults::end() {
  const std::lock_guard lock(mutex_);
  error_ = 0;
}

std::size_t KernelFaults::failed() const {
  const std::lock_guard lock(mutex_);
  return failed_;
}

bool KernelFaults::wait_for_failed(std::size_t calls, std::chrono::milliseconds bound) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, bound, [&] { return failed_ >= calls; });
}

}  // namespace bloomwall::test
