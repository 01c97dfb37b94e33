// What the targets of filter files have in common: a header with the right digest, so that the checks behind it are
// reached, and bytes as a file that can be opened by name.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "filter/file/header_bytes.h"

namespace bloomwall::fuzz {

// Magic, lengths and digests as a careful attacker would set them; everything else is the fuzzer's. At least a header
// long.
inline void seal(std::vector<std::byte>& file) {
  filter::HeaderBytes head{};
  std::copy_n(file.begin(), filter::kHeaderBytes, head.begin());
  std::memcpy(head.data(), filter::kMagic.data(), filter::kMagic.size());
  filter::SeriesKey key{};
  std::memcpy(key.data(), head.data() + 72, key.size());
  const filter::Digest128 test = filter::hash_self_test(key);
  std::memcpy(head.data() + filter::kSelfTestOffset, test.data(), test.size());
  const filter::Digest128 digest = filter::header_digest(head);
  std::memcpy(head.data() + filter::kDigestOffset, digest.data(), digest.size());
  std::copy(head.begin(), head.end(), file.begin());
}

class MemoryFile {
 public:
  explicit MemoryFile(const std::vector<std::byte>& bytes) : fd_(memfd_create("filter", MFD_CLOEXEC)) {
    if (fd_ < 0 || write(fd_, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) std::abort();
  }
  ~MemoryFile() { close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

}  // namespace bloomwall::fuzz
