// A filter file as a later minor version of the format might write it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "filter/file/header_bytes.h"

namespace bloomwall::filter::testing_support {

inline constexpr std::uint64_t kLaterFeature = std::uint64_t{1} << 40;  // one that readers may pass over

// Sealed again, so that readers of today take it.
inline void promise_more(const std::filesystem::path& path) {
  constexpr std::size_t kMinorOffset = kMajorOffset + 2;
  constexpr std::size_t kCompatibleOffset = kIncompatibleOffset + 8;
  constexpr std::uint16_t kLaterMinor = 3;
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  HeaderBytes head{};
  file.read(reinterpret_cast<char*>(head.data()), static_cast<std::streamsize>(head.size()));
  std::uint64_t compatible = 0;
  std::memcpy(&compatible, head.data() + kCompatibleOffset, sizeof compatible);
  compatible |= kLaterFeature;
  std::memcpy(head.data() + kCompatibleOffset, &compatible, sizeof compatible);
  std::memcpy(head.data() + kMinorOffset, &kLaterMinor, sizeof kLaterMinor);
  const Digest128 digest = header_digest(head);
  std::memcpy(head.data() + kDigestOffset, digest.data(), digest.size());
  file.seekp(0);
  file.write(reinterpret_cast<const char*>(head.data()), static_cast<std::streamsize>(head.size()));
  file.close();
  EXPECT_TRUE(file.good()) << path;
}

}  // namespace bloomwall::filter::testing_support
