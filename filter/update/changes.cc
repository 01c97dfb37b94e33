// SPDX-License-Identifier: Apache-2.0
#include "filter/update/changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "filter/builder/build_extras.h"
#include "filter/builder/builder.h"

namespace bloomwall::filter {
namespace {

class CallingStore final : public KeyStore, private KeySink {
 public:
  explicit CallingStore(const OnEntry& on_entry) : on_entry_(on_entry) {}
  KeySink& sink(unsigned /*worker*/) override { return *this; }
  Result<void> check() override { return {}; }

 private:
  void add(const Entry& entry) override { on_entry_(entry); }
  void flush() override {}
  const OnEntry& on_entry_;
};

Result<void> check_usable_share(const std::vector<IngestedFile>& files, std::size_t first) {
  std::vector<FileReport> reports;
  for (std::size_t i = first; i < files.size(); ++i) reports.push_back(files[i].report);
  const UnusableShare worst = worst_unusable_share(reports);
  if (worst.share <= kMostUnusable) return {};
  return unexpected(
      Error{Errc::bad_syntax, worst.list,
            fmt::format("{} of {} rules can't be used; nothing was changed; --allow-unsupported takes the "
                        "rest",
                        worst.unusable, worst.content)});
}

// `ranges`: null where such lines can't be used.
Result<CarriedRules> read_with(RangeCollector* ranges, KeyStore& store, const std::vector<std::string>& lists,
                               const ChangeLists& options, unsigned threads, std::vector<IngestedFile>& files) {
  const IngestOptions ingest_options{
      .read = options.read, .raw = options.raw, .keep_allow_rules = !options.raw, .threads = threads, .ranges = ranges};
  Ingest ingest(store, ingest_options);
  for (const std::string& list : lists) {
    if (auto ok = ingest.read(list, {}); !ok) return unexpected(std::move(ok).error());
  }
  const std::size_t first = files.size();
  files.insert(files.end(), ingest.files().begin(), ingest.files().end());
  if (!options.allow_unsupported) {
    if (auto ok = check_usable_share(files, first); !ok) return unexpected(std::move(ok).error());
  }
  return CarriedRules{.rules = ingest.allow_rules(), .important = ingest.important_hosts()};
}

}  // namespace

Result<CarriedRules> read_changes(const std::vector<std::string>& lists, const ChangeLists& options,
                                  std::vector<IngestedFile>& files, const OnEntry& on_entry, const OnRange& on_range) {
  CallingStore store(on_entry);
  RangeCollector collected;
  collected.expect_workers(1);
  auto carried = read_with(&collected, store, lists, options, 1, files);
  if (!carried) return carried;
  const auto networks = collected.networks();
  if (!networks) return unexpected(networks.error());
  for (const AddressRange& range : networks->ranges()) on_range(range);
  return carried;
}

Result<CarriedRules> read_into(KeyStore& store, const std::vector<std::string>& lists, const ChangeLists& options,
                               unsigned threads, std::vector<IngestedFile>& files) {
  return read_with(nullptr, store, lists, options, threads, files);
}

ListExceptions changed_exceptions(ListExceptions before, const CarriedRules& removed, const CarriedRules& added,
                                  const ImportantHosts& others) {
  const std::set<std::string_view> gone(removed.rules.begin(), removed.rules.end());
  std::erase_if(before.rules, [&](const std::string& rule) { return gone.contains(rule); });
  before.rules.insert(before.rules.end(), added.rules.begin(), added.rules.end());
  before.unfreed.add(added.important);
  ImportantHosts all = before.unfreed;
  all.add(others);
  ListExceptions out = fit_exceptions(before.rules, all);
  out.unfreed = std::move(before.unfreed);
  return out;
}

Result<void> check_change_lists(const ChangeLists& lists) {
  const auto stdins =
      std::count(lists.add.begin(), lists.add.end(), "-") + std::count(lists.remove.begin(), lists.remove.end(), "-");
  if (stdins > 1) return unexpected(Error{Errc::usage, {}, "standard input can be read once only"});
  if (!lists.add.empty() || !lists.remove.empty()) return {};
  return unexpected(Error{Errc::usage, {}, "nothing to do: name lists with --add and --remove"});
}

}  // namespace bloomwall::filter
