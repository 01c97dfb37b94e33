// SPDX-License-Identifier: Apache-2.0
#include "filter/file/file_kind.h"

#include <fcntl.h>

#include <array>
#include <string_view>

#include "filter/file/descriptor.h"
#include "filter/file/header_bytes.h"

namespace bloomwall::filter {

Result<FileKind> file_kind(const std::filesystem::path& file) {
  constexpr std::string_view kDelta = "bloomwall-delta";
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  const Descriptor opened(open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!opened) return system_error(file, "open");
  std::array<char, 32> bytes{};
  const ssize_t got = pread(opened.get(), bytes.data(), bytes.size(), 0);
  if (got < 0) return system_error(file, "read");
  std::string_view text(bytes.data(), static_cast<std::size_t>(got));
  const std::string_view magic(reinterpret_cast<const char*>(kMagic.data()), kMagic.size());
  if (text.size() == bytes.size() && text.starts_with(magic)) {
    const bool counters = (static_cast<unsigned char>(text[kIncompatibleOffset]) & kCountersFeature) != 0;
    return counters ? FileKind::counting : FileKind::filter;
  }
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  return text.starts_with(kDelta) ? FileKind::delta : FileKind::filter;
}

}  // namespace bloomwall::filter
