// A library to be loaded before a program whose clock a test sets (LD_PRELOAD): the clock of the day is ahead by so
// many seconds, and no other clock is. BLOOMWALL_CLOCK_AHEAD says how many; or BLOOMWALL_CLOCK_FILE names a file that
// holds them, which is read anew each time and which the test replaces while the program runs.
// It takes no lock and keeps no memory, so nothing of the program can wait for it.
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstdlib>

namespace {

constexpr long kSecond = 1'000'000'000;  // in nanoseconds

// Nanoseconds. Of a file that cannot be read what it held before.
long long ahead() {
  static const char* const file = std::getenv("BLOOMWALL_CLOCK_FILE");
  static const char* const fixed = std::getenv("BLOOMWALL_CLOCK_AHEAD");
  static std::atomic<long long> last{fixed == nullptr ? 0 : std::llround(std::strtod(fixed, nullptr) * kSecond)};
  if (file == nullptr) return last;
  const int before = errno;
  std::array<char, 40> text{};
  const long fd = ::syscall(SYS_openat, AT_FDCWD, file, O_RDONLY | O_CLOEXEC);
  const long size = fd < 0 ? 0 : ::syscall(SYS_read, fd, text.data(), text.size() - 1);
  if (fd >= 0) ::syscall(SYS_close, fd);
  if (size > 0) last = std::llround(std::strtod(text.data(), nullptr) * kSecond);
  errno = before;
  return last;
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* now) noexcept {
  const long status = ::syscall(SYS_clock_gettime, clock, now);
  if (status != 0 || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE)) return static_cast<int>(status);
  const long long there = now->tv_sec * 1LL * kSecond + now->tv_nsec + ahead();
  now->tv_sec = there / kSecond;
  now->tv_nsec = there % kSecond;
  return 0;
}

int gettimeofday(timeval* now, void* /*zone*/) noexcept {
  timespec precise{};
  const int status = clock_gettime(CLOCK_REALTIME, &precise);
  *now = {precise.tv_sec, precise.tv_nsec / 1000};
  return status;
}

time_t time(time_t* now) noexcept {
  timespec precise{};
  clock_gettime(CLOCK_REALTIME, &precise);
  if (now != nullptr) *now = precise.tv_sec;
  return precise.tv_sec;
}

}  // extern "C"
