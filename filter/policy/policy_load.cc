// Opens everything a policy names, and collects what is wrong with any of it.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "filter/file/signature.h"
#include "filter/policy/policy_impl.h"

namespace bloomwall::filter {
namespace {

class Loader {
 public:
  Loader(const PolicySpec& spec, const Policy::LoadOptions& options) : spec_(spec), options_(options) {}

  void check_names() {
    for (std::size_t i = 0; i < spec_.filters.size(); ++i) {
      const auto same = [&](const FilterSpec& other) { return other.name == spec_.filters[i].name; };
      const auto here = spec_.filters.begin() + static_cast<std::ptrdiff_t>(i);
      if (std::find_if(spec_.filters.begin(), here, same) == here) continue;
      errors.push_back({Errc::usage, spec_.filters[i].name, "two filters have this name; give each its own"});
    }
  }

  void load_filters() {
    filters.reserve(spec_.filters.size());
    for (const FilterSpec& spec : spec_.filters) {
      if (!is_stopped_) load_filter(spec);
    }
  }

  AllowLists load_allow_lists() {
    std::vector<std::string> names;
    names.reserve(spec_.filters.size());
    for (const FilterSpec& spec : spec_.filters) names.push_back(spec.name);
    // The keys of the first filter, whose hashes every request needs anyway. Text decides, so any keys would do.
    AllowLists allow(filters.empty() ? KeyMaker(SeriesKey{}) : filters.front().file->keys(), std::move(names));
    if (is_stopped_) return allow;
    for (const std::filesystem::path& file : spec_.allow_lists) add(allow.load(file));
    return allow;
  }

  std::vector<LoadedFilter> filters;
  std::vector<Error> errors;

 private:
  void add(std::vector<Error> more) {
    errors.insert(errors.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  }

  void load_filter(const FilterSpec& spec) {
    const std::optional<TrustedKeys> trusted = read_keys(spec);
    Result<std::unique_ptr<FilterFile>> file = FilterFile::open(spec.file);
    std::optional<KeyId> signer;
    if (!file) {
      errors.push_back(file.error());
    } else if (!trusted || (signer = signer_of(**file, *trusted))) {
      if (settle(**file, spec) && options_.verify)
        verify(**file, trusted ? FilterFile::Depth::tampering : FilterFile::Depth::accident);
    }
    if (is_stopped_) return;
    std::optional<Delta> delta;
    if (!spec.delta.empty()) {
      const DeltaReading reading{.trusted = trusted ? &*trusted : nullptr};
      // Where the filter can't be opened its delta's text is checked all the same.
      auto loaded = file ? Delta::load(spec.delta, (*file)->keys(), content_id((*file)->header()), reading)
                         : Delta::load(spec.delta, KeyMaker(SeriesKey{}), std::nullopt, reading);
      if (!loaded) {
        name_remedy(loaded.error(), spec.file, spec.delta);
        return add(std::move(loaded.error()));
      }
      delta = std::move(*loaded);
    }
    if (!file) return;
    auto exact = load_exact(spec, (*file)->header().exact_root);
    if (exact && !is_stopped_) {
      filters.emplace_back(spec, std::move(*file), std::move(delta), signer, *std::move(exact));
    }
  }

  // Nothing where none are asked for, or they can't be read, which is an error of the load.
  std::optional<TrustedKeys> read_keys(const FilterSpec& spec) {
    if (spec.public_key.empty()) return std::nullopt;
    auto keys = TrustedKeys::read(spec.public_key);
    if (keys) return *std::move(keys);
    errors.push_back(std::move(keys).error());
    return std::nullopt;
  }

  std::optional<KeyId> signer_of(const FilterFile& file, const TrustedKeys& trusted) {
    const auto signer = check_signature(file, trusted);
    if (signer) return *signer;
    errors.push_back(signer.error());
    return std::nullopt;
  }

  OwnCopy own_copy(const FilterSpec& spec) const {
    return {.wanted = options_.own_copies, .required = !spec.public_key.empty(), .folder = options_.copies_folder};
  }

  bool settle(FilterFile& file, const FilterSpec& spec) {
    if (!options_.settle) return true;
    const auto progress = [&](std::uint64_t done, std::uint64_t total) {
      is_stopped_ = options_.progress && !options_.progress(file.path(), done, total);
      return !is_stopped_;
    };
    const Result<void> outcome = file.settle(spec.memory, progress, own_copy(spec));
    if (!outcome) errors.push_back(outcome.error());
    return outcome.has_value();
  }

  // Null: none is configured. Nothing: it can't be used.
  std::optional<std::unique_ptr<ExactSide>> load_exact(const FilterSpec& spec, const Sha256& root) {
    if (spec.exact.empty()) return nullptr;
    auto exact = ExactSide::open(spec.exact, root, own_copy(spec));
    if (!exact) {
      errors.push_back(std::move(exact).error());
      return std::nullopt;
    }
    const bool is_signed = !spec.public_key.empty();  // by its filter, whose header holds its root
    if (options_.verify) verify(**exact, is_signed ? FilterFile::Depth::tampering : FilterFile::Depth::accident);
    return *std::move(exact);
  }

  template <typename File>
  void verify(const File& file, FilterFile::Depth depth) {
    const auto progress = [&](std::uint64_t done, std::uint64_t total) {
      is_stopped_ = options_.progress && !options_.progress(file.path(), done, total);
      return !is_stopped_;
    };
    const Result<void> outcome = file.verify(depth, progress);
    if (!outcome) errors.push_back(outcome.error());
  }

  const PolicySpec& spec_;
  const Policy::LoadOptions& options_;
  bool is_stopped_ = false;
};

}  // namespace

tl::expected<std::shared_ptr<const Policy>, std::vector<Error>> Policy::load(const PolicySpec& spec,
                                                                             const LoadOptions& options) {
  Loader loader(spec, options);
  loader.check_names();
  loader.load_filters();
  AllowLists allow = loader.load_allow_lists();
  if (!loader.errors.empty()) return tl::unexpected(std::move(loader.errors));
  auto impl = std::make_unique<Impl>(std::move(loader.filters), std::move(allow));
  return std::shared_ptr<const Policy>(new Policy(std::move(impl)));
}

}  // namespace bloomwall::filter
