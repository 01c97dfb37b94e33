// SPDX-License-Identifier: Apache-2.0
#include "tests/support/page_cache.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

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
    ::madvise(at, end - begin, MADV_RANDOM);  // a neighbour that is asked for does not bring it back
  }
}

// Not preadv2() with RWF_NOWAIT, which begins to read what is not there. Of a file that is the process's own.
bool is_in_memory(int fd, std::size_t offset) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  void* const at = ::mmap(nullptr, page, PROT_READ, MAP_SHARED, fd, static_cast<off_t>(offset / page * page));
  if (at == MAP_FAILED) return true;
  unsigned char state = 1;
  const bool known = ::mincore(at, page, &state) == 0;
  ::munmap(at, page);
  return !known || (state & 1) != 0;
}

}  // namespace

bool drop_from_memory(const std::filesystem::path& file, std::size_t offset) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::seconds kPatience{2};
  const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) throw std::runtime_error("cannot open " + file.string());
  ::fsync(fd);
  bool is_there = true;
  for (const auto deadline = Clock::now() + kPatience; is_there && Clock::now() < deadline;) {
    let_go_of_mappings(file);
    ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    is_there = is_in_memory(fd, offset);
    if (is_there) std::this_thread::yield();  // another processor may hold a page for a moment
  }
  ::close(fd);
  return !is_there;
}

}  // namespace bloomwall::test
