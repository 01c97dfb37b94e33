// SPDX-License-Identifier: Apache-2.0
#include "filter/builder/build_extras.h"

#include <fmt/format.h>

#include "filter/builder/draft_pages.h"
#include "filter/builder/quantity.h"

namespace bloomwall::filter {
Result<BuildExtras> BuildExtras::create(const Options& options, const KeyMaker& keys,
                                        const std::filesystem::path& output, std::uint64_t ram_bytes) {
  BuildExtras out;
  std::vector<KeyObserver*> all;
  if (!options.known_good.empty()) {
    out.known_good_ = std::make_unique<KnownGood>(keys, options.raw);
    for (const std::string& list : options.known_good) {
      if (auto ok = out.known_good_->load(list); !ok) return unexpected(std::move(ok).error());
    }
    all.push_back(out.known_good_.get());
  }
  if (options.exact_side) {
    out.exact_ = std::make_unique<ExactWriter>(exact_side_of(output), ram_bytes, options.access);
    all.push_back(out.exact_.get());
  }
  if (!all.empty()) out.observers_.emplace(keys, std::move(all));
  return out;
}

Result<void> BuildExtras::add_exceptions(FilterDraft& draft) {
  if (!known_good_) return {};
  const auto pages = DraftPages::map(draft);
  if (!pages) return unexpected(pages.error());
  const auto found = known_good_->exceptions(pages->views());
  if (!found) return unexpected(found.error());
  draft.plan().exceptions = serialise_exceptions(*found);
  notes_.push_back(fmt::format("known good: {} lines, {} keys; {} of them tested positive and are exceptions now",
                               format_count(known_good_->lines()), format_count(known_good_->keys()),
                               format_count(found->size())));
  if (known_good_->unusable() > 0) {
    notes_.push_back(fmt::format("known good: {} lines are no URLs", format_count(known_good_->unusable())));
  }
  return {};
}

Result<void> BuildExtras::write_exact_side(FilterDraft& draft) {
  if (!exact_) return {};
  Header& own = draft.plan().header;
  const auto header = exact_->write(own.file_id);
  if (!header) return unexpected(header.error());
  own.exact_root = header->sha_root;
  draft.commit_behind(exact_->written());
  notes_.push_back(fmt::format(
      "exact side: {} fingerprints in {}; it confirms a key that is not listed with probability {}",
      format_count(header->fingerprints), format_bytes(header->file_bytes), format_rate(residual_error(*header))));
  return {};
}

}  // namespace bloomwall::filter
