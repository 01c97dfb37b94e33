// SPDX-License-Identifier: Apache-2.0
#include "proxy/update/unpacked_archives.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <span>
#include <utility>

#include "base/encoding.h"
#include "base/handles.h"
#include "filter/file/leaves.h"

namespace bloomwall::proxy {

std::string digest_of_file(const std::filesystem::path& file) {
  const UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  filter::Sha256Stream digest;
  std::array<std::byte, 65536> piece{};
  while (fd) {
    const ssize_t got = ::read(fd.get(), piece.data(), piece.size());
    if (got == 0) return to_hex(digest.finish());
    if (got > 0) digest.add(std::span(piece).first(static_cast<std::size_t>(got)));
    if (got < 0 && errno != EINTR) break;
  }
  return {};
}

UnpackedArchives::Archive UnpackedArchives::find(const std::string& sha256) const {
  const auto at = known_.find(sha256);
  return at == known_.end() ? Archive{} : at->second;
}

void UnpackedArchives::keep(const std::string& sha256, Archive archive) {
  known_.insert_or_assign(sha256, std::move(archive));
}

void UnpackedArchives::end_filter() {
  std::erase_if(known_, [](const auto& known) { return !known.second.is_shared; });
}

}  // namespace bloomwall::proxy
