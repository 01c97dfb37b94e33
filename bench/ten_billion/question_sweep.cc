// SPDX-License-Identifier: Apache-2.0
#include "bench/ten_billion/question_sweep.h"

#include <sys/mman.h>

#include <algorithm>

#include "filter/parallel.h"

namespace bloomwall::bench {
namespace {

constexpr std::uint64_t kWindowPages = std::uint64_t{32} << 20 >> 12;  // read, asked, and let go together
constexpr unsigned kPageShift = filter::fingerprint_bits(filter::SectionKind::paths);

// A run of pages of the section, given to the kernel's care: hints alone, answers do not depend on them.
class Window {
 public:
  Window(const filter::SectionView& section, std::uint64_t first, std::uint64_t pages)
      : at_(const_cast<std::byte*>(section.page_address({.page = first, .fingerprint = 0}))),
        bytes_(pages * filter::kPageBytes) {
    madvise(at_, bytes_, MADV_WILLNEED);
#ifdef MADV_POPULATE_READ
    madvise(at_, bytes_, MADV_POPULATE_READ);
#endif
  }
  ~Window() { madvise(at_, bytes_, MADV_DONTNEED); }  // not this process's any more; the kernel may keep it
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

 private:
  std::byte* at_;
  std::size_t bytes_;
};

}  // namespace

SweepQuestion sweep_question(const filter::Place& place, std::uint32_t request) {
  return {place.page << kPageShift | place.fingerprint, request};
}

void QuestionSweep::add(const std::vector<SweepQuestion>& questions) {
  questions_.insert(questions_.end(), questions.begin(), questions.end());
}

bool QuestionSweep::ask(unsigned threads, const std::function<void(std::uint32_t request)>& hit) {
  if (questions_.empty()) return !file_.lost();
  const auto by_place = [](const SweepQuestion& a, const SweepQuestion& b) { return a.where < b.where; };
  std::sort(questions_.begin(), questions_.end(), by_place);
  const filter::SectionView& section = file_.paths();
  const std::uint64_t pages = section.geometry().pages;
  const std::uint64_t windows = (pages + kWindowPages - 1) / kWindowPages;
  filter::for_each_index(windows, threads, [&](std::size_t w) {
    const std::uint64_t first = w * kWindowPages;
    const std::uint64_t count = std::min(kWindowPages, pages - first);
    auto at = std::lower_bound(questions_.begin(), questions_.end(), SweepQuestion{first << kPageShift, 0}, by_place);
    const Window window(section, first, count);
    for (; at != questions_.end() && at->where >> kPageShift < first + count; ++at) {
      const filter::Place place{.page = at->where >> kPageShift,
                                .fingerprint = at->where & ((std::uint64_t{1} << kPageShift) - 1)};
      if (section.test(place)) hit(at->request);
    }
  });
  return !file_.lost();
}

}  // namespace bloomwall::bench
