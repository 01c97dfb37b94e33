// Sections whose bits, bytes and pages exceed 2^31 and 2^32: where block filters have broken before. The memory is a
// sparse file of 10 GiB of which a few pages are touched.
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "filter/bits/section.h"

namespace bloomwall::filter {
namespace {

constexpr std::uint64_t kPages = (std::uint64_t{10} << 30) / kPageBytes;

class LargeSectionTest : public testing::TestWithParam<Layout> {
 protected:
  void SetUp() override {
    std::string name = std::filesystem::temp_directory_path() / "bloomwall-sparse-XXXXXX";
    fd_ = mkostemp(name.data(), O_CLOEXEC);
    ASSERT_GE(fd_, 0);
    unlink(name.c_str());
    if (ftruncate(fd_, static_cast<off_t>(kPages * kPageBytes)) != 0) GTEST_SKIP() << "no sparse files of 10 GiB here";
    void* const at = mmap(nullptr, kPages * kPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd_, 0);
    if (at == MAP_FAILED) GTEST_SKIP() << "no address space of 10 GiB here";
    pages_ = static_cast<std::byte*>(at);
  }
  ~LargeSectionTest() override {
    if (pages_ != nullptr) munmap(pages_, kPages * kPageBytes);
    if (fd_ >= 0) close(fd_);
  }

  // Pages of the file that hold data; the rest are holes.
  std::set<std::uint64_t> data_pages() const {
    std::set<std::uint64_t> out;
    off_t at = lseek(fd_, 0, SEEK_DATA);
    while (at >= 0) {
      const off_t end = lseek(fd_, at, SEEK_HOLE);
      for (; at < end; at += off_t{kPageBytes}) out.insert(static_cast<std::uint64_t>(at) / kPageBytes);
      at = lseek(fd_, end, SEEK_DATA);
    }
    return out;
  }

  int fd_ = -1;
  std::byte* pages_ = nullptr;
};
INSTANTIATE_TEST_SUITE_P(Layouts, LargeSectionTest, testing::Values(Layout::sectors_2x8, Layout::lines_4x4),
                         [](const auto& of) { return of.param == Layout::sectors_2x8 ? "Sectors2x8" : "Lines4x4"; });

// Pages where bits, bytes, and bytes again pass 2^32, 2^31 and 2^32; their neighbours; both ends.
std::vector<std::uint64_t> pages_of_interest() {
  std::vector<std::uint64_t> out{0, kPages - 1};
  for (const std::uint64_t edge :
       {std::uint64_t{1} << 17, std::uint64_t{1} << 19, std::uint64_t{1} << 20, std::uint64_t{2} << 20}) {
    out.push_back(edge - 1);
    out.push_back(edge);
  }
  return out;
}

// A key that lives in that page: the smallest high half with high * kPages >= page * 2^64, and one more.
Hash128 key_in(std::uint64_t page) {
  __extension__ using Wide = unsigned __int128;
  const Wide high = ((Wide{page} << 64) + kPages - 1) / kPages;
  return {.lo = 0x123456789abcdef0 + (page << 40), .hi = static_cast<std::uint64_t>(high)};
}

TEST_P(LargeSectionTest, KeysBeyond32BitsLieWhereTheyShouldAndNowhereElse) {
  const Geometry g{.layout = GetParam(), .pages = kPages};
  ASSERT_EQ(g.bytes(), std::uint64_t{10} << 30);
  SectionWriter writer(g, pages_, SectionKind::paths);
  std::set<std::uint64_t> want;
  for (const std::uint64_t page : pages_of_interest()) {
    const Place place = writer.place(key_in(page));
    ASSERT_EQ(place.page, page);
    page % 2 == 0 ? writer.insert(place) : writer.insert_exclusive(place);
    want.insert(page);
  }
  EXPECT_EQ(data_pages(), want) << "a page that an address cut to 32 bits would hit is still a hole";
  const SectionView view = writer.view();
  for (const std::uint64_t page : pages_of_interest()) {
    const Place place = view.place(key_in(page));
    EXPECT_TRUE(view.test(place)) << page;
    EXPECT_EQ(view.page_address(place), pages_ + page * kPageBytes);
    for (const std::uint64_t other : {page / 2 + 7, page ^ (1U << 17), page ^ (1U << 19), page ^ (1U << 20)}) {
      if (other >= kPages || want.contains(other)) continue;
      EXPECT_FALSE(view.test({.page = other, .fingerprint = place.fingerprint})) << page << " " << other;
    }
  }
}

}  // namespace
}  // namespace bloomwall::filter
