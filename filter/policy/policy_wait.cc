// Verdicts whose pages may have to come from disk.
// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>

#include <cstdint>

#include "filter/file/system_page.h"
#include "filter/policy/pending_verdict.h"
#include "filter/policy/policy.h"
#include "filter/policy/policy_impl.h"

namespace bloomwall::filter {

std::optional<Verdict> Policy::judge_at_once(const CanonicalUrl& url, std::vector<const std::byte*>& absent) const {
  absent.clear();
  PendingVerdict pending(*this, url, Scope::url);
  while (!pending.advance()) {
    pending.append_absent(absent);
    if (!absent.empty()) return std::nullopt;
  }
  return pending.take();
}

void Policy::bring_in(std::span<const std::byte* const> pages) {
  for (const std::byte* page : pages) {
    const std::span<std::byte> whole = system_pages_of({page, kPageBytes});
    madvise(whole.data(), whole.size(), MADV_WILLNEED);
  }
  for (const std::byte* page : pages) static_cast<void>(*const_cast<const volatile std::byte*>(page));
}

void Policy::check_pages(std::span<const std::byte* const> pages) const {
  for (const std::byte* page : pages) {
    for (const LoadedFilter& filter : impl_->filters) {
      filter.file->check_page(page);
      if (filter.exact && filter.exact->holds(page)) filter.exact->note_awaited(page);
    }
  }
}

}  // namespace bloomwall::filter
