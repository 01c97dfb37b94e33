// SPDX-License-Identifier: Apache-2.0
#include "base/whole_pages.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <span>

namespace bloomwall::test {
namespace {

constexpr std::size_t kKi = 1024;

// Ranges of 16 KiB, as blocks of buffers lie, under the pages that kernels have.
TEST(WholePages, HoldNothingBeyondTheRange) {
  const auto at = [](std::size_t address) { return reinterpret_cast<std::byte*>(address * kKi); };  // never read
  const struct {
    const char* name;
    std::size_t begin, bytes, page, want_begin, want_bytes;  // KiB
  } cases[] = {
      {"pages of 4 KiB fill it", 16, 16, 4, 16, 16},
      {"pages of 16 KiB are it", 16, 16, 16, 16, 16},
      {"a page of 64 KiB begins where it does, and holds three others", 64, 16, 64, 0, 0},
      {"a page of 64 KiB ends where it does", 112, 16, 64, 0, 0},
      {"parts of pages at both ends", 10, 40, 16, 16, 32},
      {"parts of pages alone", 10, 12, 16, 0, 0},
      {"nothing", 16, 0, 16, 0, 0},
  };
  for (const auto& c : cases) {
    const auto got = whole_pages_within({at(c.begin), c.bytes * kKi}, c.page * kKi);
    EXPECT_EQ(got.size(), c.want_bytes * kKi) << c.name;
    if (c.want_bytes != 0) {
      EXPECT_EQ(got.data(), at(c.want_begin)) << c.name;
    }
  }
}

}  // namespace
}  // namespace bloomwall::test
