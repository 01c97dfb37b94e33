// SPDX-License-Identifier: Apache-2.0
#include "tests/support/page_cache.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>

namespace bloomwall::test {
namespace {

// A page that is mapped stays in the page cache, and so do the others of its folio.
void let_go_of_mappings(const std::filesystem::path& file) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (!line.ends_with(" " + file.string())) continue;
    std::istringstream in(line);
    std::uintptr_t begin = 0, end = 0;
    char dash = 0;
    in >> std::hex >> begin >> dash >> end;
    auto* const at = reinterpret_cast<void*>(begin);  // NOLINT: an address that was read
    ::munlock(at, end - begin);
    ::madvise(at, end - begin, MADV_DONTNEED);
  }
}

}  // namespace

bool drop_from_memory(const std::filesystem::path& file, std::size_t offset) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::seconds kPatience{2};
  const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) throw std::runtime_error("cannot open " + file.string());
  ::fsync(fd);
  ssize_t got = 0;
  const auto deadline = Clock::now() + kPatience;
  do {  // another processor may hold a page for a moment
    let_go_of_mappings(file);
    ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    char octet = 0;
    const iovec into{&octet, 1};
    got = ::preadv2(fd, &into, 1, static_cast<off_t>(offset), RWF_NOWAIT);
    if (got == 1) std::this_thread::yield();
  } while (got == 1 && Clock::now() < deadline);
  const bool is_absent = got < 0 && errno == EAGAIN;
  ::close(fd);
  return is_absent;
}

}  // namespace bloomwall::test
