// SPDX-License-Identifier: Apache-2.0
#include "filter/policy/filter_store.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "filter/file/signature.h"
#include "filter/policy/entry_text.h"
#include "filter/policy/list_exceptions.h"
#include "filter/policy/policy_impl.h"

namespace bloomwall::filter {
namespace {

// The version that bytes read from now on are of; nothing where they could not be told from what is written later.
std::optional<FileVersion> stable_version_of(const std::filesystem::path& path) {
  const auto version = version_of(path);
  return version && is_stable(*version) ? version : std::nullopt;
}

// The digests of all other bytes are in it.
bool has_header(const MappedFile& there, std::span<const std::byte> header) {
  std::array<std::byte, kHeaderBytes> head{};
  return there.read_at(0, head).value_or(std::size_t{0}) == head.size() && std::ranges::equal(head, header);
}
bool has_header_of(const MappedFile& there, const FilterFile& file) { return has_header(there, file.header_bytes()); }
bool has_header_of(const MappedFile& there, const ExactSide& exact) {
  return has_header(there, serialise_exact_header(exact.header()));
}

// Whether a file with the header of one that is served from a copy says that it holds what was verified. One that was
// written to since it was opened is read, so that whoever has damaged it is told.
bool may_stay_unread(const FileStamp& there, const FileStamp& opened, ServedFrom from) {
  const bool is_written_to = there.same_file(opened) && there != opened;
  return from != ServedFrom::original && there.size == opened.size && !is_written_to;
}

}  // namespace

template <typename File>
std::shared_ptr<const File> FilterStore::find(OpenedFiles<File>& files, const std::filesystem::path& path,
                                              const Terms& terms) {
  const auto [begin, end] = files.equal_range(path);
  for (auto at = begin; at != end; ++at) {
    Opened<File>& opened = at->second;
    auto file = opened.file.lock();
    if (file == nullptr || opened.terms != terms || file->notice_change() || file->lost()) continue;
    const auto there = MappedFile::open(path);
    if (!there || !has_header_of(**there, *file)) continue;
    const FileVersion& version = (*there)->version();
    if (version == opened.version) return file;
    if (!may_stay_unread(version.stamp, opened.version.stamp, file->served_from())) continue;
    opened.version = version;
    return file;
  }
  return nullptr;
}

void FilterStore::forget_expired() {
  const auto is_gone = [](const auto& item) { return item.second.file.expired(); };
  std::erase_if(filters_, is_gone);
  std::erase_if(exact_sides_, is_gone);
  std::erase_if(deltas_, [](const auto& item) { return item.second.delta.expired(); });
  std::erase_if(allow_lists_, [](const ReadAllowLists& read) { return read.lists.expired(); });
}

// One load: opens what the policy names as far as the store does not have it, and collects what is wrong with any of
// it.
class PolicyLoader {
 public:
  PolicyLoader(FilterStore& store, const PolicySpec& spec, const Policy::LoadOptions& options)
      : store_(store), spec_(spec), options_(options) {}

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

  // Those of all, and the files of `more`. `on`: lists that these may stand on, of which they have all files, or null.
  std::shared_ptr<const AllowLists> load_allow_lists(const std::vector<std::filesystem::path>& more,
                                                     std::shared_ptr<const AllowLists> on) {
    FilterStore::ReadAllowLists read{
        .files = spec_.allow_lists, .filters = {}, .exceptions = exceptions(), .versions = {}, .lists = {}};
    read.files.insert(read.files.end(), more.begin(), more.end());
    for (const FilterSpec& spec : spec_.filters) read.filters.push_back(spec.name);
    // The keys of the first filter, whose hashes every request needs anyway. Text decides, so any keys would do.
    // A query of an allow entry means what it says, however the filter reads those of its own.
    const KeyMaker keys =
        filters.empty() ? KeyMaker(SeriesKey{}) : filters.front().file->keys().with(QueryReading::as_spelt);
    if (is_stopped_) return std::make_shared<const AllowLists>(keys, read.filters);
    for (const auto& file : read.files) read.versions.push_back(stable_version_of(file));
    for (const auto& each : read.exceptions) read.versions.push_back(stable_version_of(each.file));
    std::shared_ptr<const AllowLists> former = std::move(on);
    for (const FilterStore::ReadAllowLists& known : store_.allow_lists_) {
      auto lists = known.lists.lock();
      const bool is_same =
          known.files == read.files && known.filters == read.filters && known.exceptions == read.exceptions;
      if (!is_same || lists == nullptr || lists->entries().keys() != keys) continue;
      if (known.versions == read.versions && std::ranges::all_of(read.versions, is_known)) return lists;
      former = std::move(lists);
    }
    auto lists = AllowLists::load(keys, read.filters, read.files, former, errors, read.exceptions);
    read.lists = lists;
    store_.allow_lists_.push_back(std::move(read));
    return lists;
  }

  // Those that lists of filters carry, as far as their filters are there.
  std::vector<AllowLists::OfFilter> exceptions() const {
    std::vector<AllowLists::OfFilter> out;
    for (const LoadedFilter& filter : filters) {
      const auto at = std::ranges::find(spec_.filters, filter.spec.name, &FilterSpec::name);
      if (at == spec_.filters.end() || !filter.spec.public_key.empty()) continue;
      const auto index = static_cast<std::size_t>(at - spec_.filters.begin());
      std::filesystem::path file = exceptions_file(filter.files.file, content_id(filter.file->header()));
      std::error_code ignored;
      if (filter.spec.exceptions) {
        out.push_back({std::move(file), index, filter.spec.exceptions});
      } else if (std::filesystem::exists(file, ignored)) {
        out.push_back({std::move(file), index});
      }
      if (filter.files.delta.empty()) continue;
      file = exceptions_file_of_delta(filter.files.delta);
      if (!std::filesystem::exists(file, ignored)) continue;
      if (!out.empty() && out.back().filter == index) keep_from_freeing(out.back(), file);
      out.push_back({std::move(file), index});
    }
    return out;
  }
  // The important rules that the delta beside which `of_delta` stands was made of.
  static void keep_from_freeing(AllowLists::OfFilter& of_filter, const std::filesystem::path& of_delta) {
    const auto delta = read_exceptions(of_delta);
    if (!delta || delta->unfreed.empty()) return;
    const auto text = of_filter.text ? Result<std::string>(*of_filter.text) : read_entry_text(of_filter.file);
    if (!text) return;  // whoever loads it says why
    if (auto kept = text_that_frees_none(*text, delta->unfreed)) of_filter.text = std::move(kept);
  }

  // Of the errors from this place on those that stand before it already.
  void forget_repeated(std::size_t from) {
    const auto begin = errors.begin() + static_cast<std::ptrdiff_t>(from);
    const auto is_known = [&](const Error& error) {
      return std::any_of(errors.begin(), begin, [&](const Error& before) { return before.text() == error.text(); });
    };
    errors.erase(std::remove_if(begin, errors.end(), is_known), errors.end());
  }

  std::vector<LoadedFilter> filters;
  std::vector<Error> errors;

 private:
  static bool is_known(const std::optional<FileVersion>& version) { return version.has_value(); }

  void add(std::vector<Error> more) {
    errors.insert(errors.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  }

  // From its own files, else from FilterSpec::instead. Where neither can be loaded, the errors of both are errors.
  void load_filter(const FilterSpec& spec) {
    const std::size_t known = errors.size();
    whole_ = nullptr;
    const FilterFiles own{spec.file, spec.delta, spec.exact};
    if (load_from(spec, own) || !spec.instead || *spec.instead == own || is_stopped_) return;
    const auto first = errors.begin() + static_cast<std::ptrdiff_t>(known);
    std::vector<Error> refused(first, errors.end());
    if (!load_from(spec, *spec.instead)) return;
    errors.erase(errors.begin() + static_cast<std::ptrdiff_t>(known), errors.end());
    filters.back().refused = std::move(refused);
  }

  // False: there are new errors, and no new filter.
  bool load_from(const FilterSpec& spec, const FilterFiles& files) {
    const std::size_t errors_before = errors.size(), filters_before = filters.size();
    FilterSpec from = spec;
    from.file = files.file;
    from.delta = files.delta;
    from.exact = files.exact;
    load_files(from);
    const bool is_loaded = filters.size() > filters_before;
    if (is_loaded) {
      LoadedFilter& loaded = filters.back();
      loaded.files = files;
      loaded.spec.file = spec.file;
      loaded.spec.delta = spec.delta;
      loaded.spec.exact = spec.exact;
      if (options_.refuses) add(options_.refuses(loaded.state()));
    }
    if (errors.size() == errors_before) return is_loaded;
    if (is_loaded) filters.pop_back();
    return false;
  }

  void load_files(const FilterSpec& spec) {
    const std::optional<TrustedKeys> keys = read_keys(spec);
    const TrustedKeys* const trusted = keys ? &*keys : nullptr;
    std::optional<KeyId> signer;
    const std::shared_ptr<const FilterFile> file = open_filter(spec, trusted, signer);
    if (is_stopped_) return;
    std::shared_ptr<const Delta> delta;
    const auto delta_version = spec.delta.empty() ? std::nullopt : stable_version_of(spec.delta);
    if (!spec.delta.empty()) {
      delta = load_delta(spec, file.get(), trusted);
      if (delta == nullptr) return;
    }
    if (file == nullptr) return;
    auto exact = load_exact(spec, file->header().exact_root);
    if (!exact || is_stopped_) return;
    FilterSpec loaded = spec;
    auto info = file->info();
    if (!info) return errors.push_back(std::move(info).error());
    loaded.category = std::move(info->category);
    filters.emplace_back(std::move(loaded), file, std::move(delta), signer, *std::move(exact));
    filters.back().delta_version = delta_version;
  }

  // Nothing where none are asked for, or they can't be read, which is an error of the load.
  std::optional<TrustedKeys> read_keys(const FilterSpec& spec) {
    if (spec.public_key.empty()) return std::nullopt;
    auto keys = TrustedKeys::read(spec.public_key);
    if (keys) return *std::move(keys);
    errors.push_back(std::move(keys).error());
    return std::nullopt;
  }

  // The whole file where `spec` has a public key, which speaks for its exact side, too: the header holds its root.
  FilterStore::Terms terms_of(const FilterSpec& spec) const {
    const bool is_signed = !spec.public_key.empty();
    return {.is_verified = options_.verify,
            .depth = is_signed ? FilterFile::Depth::tampering : FilterFile::Depth::accident,
            .copy = {.wanted = options_.own_copies, .required = is_signed, .folder = options_.copies_folder}};
  }

  // Null where it can't be opened. What is wrong with it otherwise is an error, too, but its delta is looked at all the
  // same.
  std::shared_ptr<const FilterFile> open_filter(const FilterSpec& spec, const TrustedKeys* trusted,
                                                std::optional<KeyId>& signer) {
    FilterStore::Terms terms = terms_of(spec);
    terms.is_resident = options_.make_resident;
    terms.memory = spec.memory;
    if (auto known = FilterStore::find(store_.filters_, spec.file, terms)) {
      if (trusted != nullptr) signer = signer_of(*known, *trusted);
      return whole_ = known;
    }
    if (is_whole_at(spec.file)) {
      if (trusted != nullptr) signer = signer_of(*whole_, *trusted);
      return whole_;
    }
    const auto version = stable_version_of(spec.file);
    auto opened = FilterFile::open(spec.file);
    if (!opened) {
      errors.push_back(opened.error());
      return nullptr;
    }
    std::shared_ptr<FilterFile> file = *std::move(opened);
    if (trusted != nullptr && !(signer = signer_of(*file, *trusted))) return file;
    if (!make_resident(*file, spec, terms.copy) || !verify(*file, terms) || !check_reads(*file)) return file;
    if (version == file->version()) {
      store_.filters_.emplace(spec.file, FilterStore::Opened<FilterFile>{terms, *version, file});
    }
    return whole_ = file;
  }

  // Whether what was loaded of this filter from another place, where its delta or exact side was at fault, is the file
  // at this one.
  bool is_whole_at(const std::filesystem::path& file) const {
    if (whole_ == nullptr || whole_->served_from() == ServedFrom::original) return false;
    const auto there = MappedFile::open(file);
    return there && has_header_of(**there, *whole_) && (*there)->stamp().size == whole_->stamp().size;
  }

  std::optional<KeyId> signer_of(const FilterFile& file, const TrustedKeys& trusted) {
    const auto signer = check_signature(file, trusted);
    if (signer) return *signer;
    errors.push_back(signer.error());
    return std::nullopt;
  }

  bool make_resident(FilterFile& file, const FilterSpec& spec, OwnCopy copy) {
    if (!options_.make_resident) return true;
    // The copy that a process before has kept; once this one is served, it is kept in its place.
    std::error_code missing;
    if (spec.instead && spec.instead->file != spec.file) {
      const auto bytes = std::filesystem::file_size(spec.instead->file, missing);
      if (!missing) copy.replaces = bytes;
    }
    const Result<void> outcome = file.make_resident(spec.memory, progress_of(file.path()), copy);
    if (!outcome) errors.push_back(outcome.error());
    return outcome.has_value();
  }

  bool checks_reads() const { return !options_.verify && !options_.make_resident; }

  bool check_reads(FilterFile& file) {
    if (!checks_reads()) return true;
    const Result<void> outcome = file.check_reads();
    if (!outcome) errors.push_back(outcome.error());
    return outcome.has_value();
  }

  template <typename File>
  bool verify(const File& file, const FilterStore::Terms& terms) {
    if (!terms.is_verified) return true;
    const Result<void> outcome = file.verify(terms.depth, progress_of(file.path()));
    if (!outcome) errors.push_back(outcome.error());
    return outcome.has_value();
  }

  Progress progress_of(const std::filesystem::path& file) {
    return [this, &file](std::uint64_t done, std::uint64_t total) {
      is_stopped_ = options_.progress && !options_.progress(file, done, total);
      return !is_stopped_;
    };
  }

  // Null: it can't be used. Where the filter can't be opened its delta's text is checked all the same.
  std::shared_ptr<const Delta> load_delta(const FilterSpec& spec, const FilterFile* file, const TrustedKeys* trusted) {
    const KeyMaker keys = file == nullptr ? KeyMaker(SeriesKey{}) : file->keys();
    const auto base = file == nullptr ? std::nullopt : std::optional<FileId>(content_id(file->header()));
    const auto version = stable_version_of(spec.delta);
    DeltaReading reading{.trusted = trusted};
    const auto [begin, end] = store_.deltas_.equal_range(spec.delta);
    for (auto at = begin; at != end; ++at) {
      auto former = at->second.delta.lock();
      if (former == nullptr || former->entries().keys() != keys) continue;
      const bool is_unchanged = version && at->second.version == version && former->base() == base;
      if (is_unchanged && (trusted == nullptr || former->is_signed_by(*trusted))) return former;
      reading.former = std::move(former);
    }
    auto loaded = Delta::load(spec.delta, keys, base, reading);
    if (!loaded) {
      name_remedy(loaded.error(), spec.file, spec.delta);
      add(std::move(loaded.error()));
      return nullptr;
    }
    auto delta = std::make_shared<const Delta>(*std::move(loaded));
    if (file != nullptr) store_.deltas_.emplace(spec.delta, FilterStore::ReadDelta{version, delta});
    return delta;
  }

  // Null: none is configured. Nothing: it can't be used.
  std::optional<std::shared_ptr<const ExactSide>> load_exact(const FilterSpec& spec, const Sha256& root) {
    if (spec.exact.empty()) return nullptr;
    FilterStore::Terms terms = terms_of(spec);
    terms.root = root;
    if (auto known = FilterStore::find(store_.exact_sides_, spec.exact, terms)) return known;
    const auto version = stable_version_of(spec.exact);
    auto opened = ExactSide::open(spec.exact, root, terms.copy);
    if (!opened) {
      errors.push_back(std::move(opened).error());
      return std::nullopt;
    }
    std::shared_ptr<ExactSide> exact = *std::move(opened);
    if (checks_reads()) exact->check_reads();
    const bool is_whole = verify(*exact, terms);
    if (is_whole && version == exact->version()) {
      store_.exact_sides_.emplace(spec.exact, FilterStore::Opened<ExactSide>{terms, *version, exact});
    }
    return exact;
  }

  FilterStore& store_;
  const PolicySpec& spec_;
  const Policy::LoadOptions& options_;
  std::shared_ptr<const FilterFile> whole_;  // of the filter that is being loaded; null: none is
  bool is_stopped_ = false;
};

tl::expected<std::shared_ptr<const Policy>, std::vector<Error>> FilterStore::load(const PolicySpec& spec,
                                                                                  const Policy::LoadOptions& options) {
  forget_expired();
  PolicyLoader loader(*this, spec, options);
  loader.check_names();
  loader.load_filters();
  auto allow = loader.load_allow_lists({}, nullptr);
  std::vector<std::shared_ptr<const AllowLists>> more;
  for (const auto& files : spec.more_allow_lists) {
    const std::size_t known = loader.errors.size();
    more.push_back(loader.load_allow_lists(files, allow));
    loader.forget_repeated(known);
  }
  if (!loader.errors.empty()) return tl::unexpected(std::move(loader.errors));
  auto impl = std::make_unique<Policy::Impl>(std::move(loader.filters), std::move(allow), spec.otherwise);
  impl->more_allow_lists = std::move(more);
  return std::shared_ptr<const Policy>(new Policy(std::move(impl)));
}

}  // namespace bloomwall::filter
