// SPDX-License-Identifier: Apache-2.0

#include "filter/update/update_delta.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/encoding.h"
#include "filter/file/temp_file.h"
#include "filter/keys/keys.h"
#include "filter/policy/delta_line.h"
#include "filter/policy/delta_signature.h"
#include "filter/policy/entry_text.h"
#include "filter/update/delta_text.h"

namespace bloomwall::filter {

bool may_hold(const FilterFile& file, const Entry& entry) {
  const KeyMaker& keys = file.keys();
  const EntryKeys made = keys_of(keys, entry, entry.kind == Kind::raw ? Hash128{} : keys.host(entry.host));
  const auto asks = [&](const SectionView& section, const Hash128& key, Variant variant) {
    if (!section) return false;
    const Place place = section.place(key);
    if (file.checks_reads()) file.check_read(section.page_address(place));
    return section.test(place, variant);
  };
  if (entry.kind == Kind::raw) return asks(file.raw(), made.key, 0);
  if (is_host_kind(entry.kind)) return asks(file.hosts(), made.host, made.host_variant);
  return asks(file.hosts(), made.host, made.host_variant) && asks(file.paths(), made.key, 0);
}

namespace {

// Of a range that is removed no more are looked for among the filter's hosts: a /24 of IPv4.
constexpr unsigned kMostAddressesAsked = 256;

// Nothing where there are more.
template <typename Use>
void for_each_address(const AddressRange& range, unsigned most, const Use& use) {
  IpAddress end = range.first;
  for (unsigned count = 1; end != range.last && count < most; ++count) end = end.next();
  if (end != range.last) return;
  for (IpAddress at = range.first;; at = at.next()) {
    use(at);
    if (at == range.last) return;
  }
}

class DeltaRun {
 public:
  DeltaRun(const DeltaUpdate& update, DeltaUpdateReport& report, const FilterFile& file)
      : update_(update), report_(report), file_(file), text_(content_id(file.header()), file.keys()) {}

  std::vector<Error> run() {
    if (auto errors = read_delta(); !errors.empty()) return errors;
    const auto removing = [this](const Entry& entry) { remove(entry); };
    const auto adding = [this](const Entry& entry) { add(entry); };
    const auto closing = [this](const AddressRange& range) { note(text_.set(range, DeltaAnswer::added)); };
    const auto opening = [this](const AddressRange& range) {
      const bool was_network = open_network(range);
      const bool was_host = remove_addresses(range);
      report_.not_there += was_network || was_host ? 0U : 1U;
    };
    const ChangeLists& lists = update_.lists;
    const auto removed = read_changes(lists.remove, lists, report_.files, removing, opening);
    if (!removed) return {removed.error()};
    const auto added = read_changes(lists.add, lists, report_.files, adding, closing);
    if (!added) return {added.error()};
    if (auto ok = change_exceptions(*removed, *added); !ok) return {ok.error()};
    if (auto damage = file_.damage()) return {*std::move(damage)};
    if (file_.lost()) return {{Errc::io, update_.filter.string(), "shrank or failed while it was read"}};
    return write();
  }

 private:
  std::vector<Error> read_delta() {
    former_ = FormerFile::of(update_.delta);
    std::error_code error;
    const auto status = std::filesystem::status(update_.delta, error);
    if (status.type() == std::filesystem::file_type::not_found) return {};
    const auto text = read_entry_text(update_.delta);
    if (!text) return {text.error()};
    const std::string name = update_.delta.string();
    const FileId base = content_id(file_.header());
    if (auto ok = check_signature(*text, name); !ok) return {ok.error()};
    auto read = DeltaText::read(*text, name, file_.keys(), base);
    if (!read && update_.rebase && read.error().front().code == Errc::wrong_base) {
      read = DeltaText::read(*text, name, file_.keys(), base, true);
      if (read) report_.dropped = read->drop_removals();
    }
    if (!read) {
      name_remedy(read.error(), update_.filter, update_.delta);
      return std::move(read.error());
    }
    text_ = *std::move(read);
    return {};
  }

  // A delta that was changed without the key must not be signed unseen.
  Result<void> check_signature(std::string_view text, const std::string& name) {
    const auto parts = split_signatures(text, name);
    if (!parts) return unexpected(parts.error());
    report_.was_signed = !parts->signatures.empty();
    if (update_.key == nullptr || update_.take_unsigned) return {};
    const auto& there = parts->signatures;  // Ed25519 signs the same text in one way only
    if (std::find(there.begin(), there.end(), update_.key->sign(signed_message(parts->text))) != there.end()) return {};
    return unexpected(Error{Errc::untrusted, name,
                            fmt::format("{} of the key {}, so that anybody may have changed it since; look through it, "
                                        "--take-unsigned signs what it says",
                                        report_.was_signed ? "bears no fitting signature" : "bears no signature",
                                        to_hex(update_.key->id()))});
  }

  void note(bool changed) { report_.changed += changed ? 1 : 0; }

  void add(const Entry& entry) {
    note(text_.set(entry, DeltaAnswer::added));
    // Where the filter holds it the delta need not.
    const auto address = address_of(entry);
    if (address && file_.networks().find(*address)) text_.set(range_of(*address), DeltaAnswer::nothing);
  }

  // A list of another format may have meant another host kind; one of them being there is enough.
  void remove(Entry entry) {
    bool was_there = remove_one(entry);
    if (entry.kind == Kind::suffix && entry.host_kind == HostKind::name) {
      Entry below = entry;
      below.kind = Kind::subdomains;
      was_there = remove_one(below) || was_there;
    }
    if (entry.kind == Kind::suffix || entry.kind == Kind::exact_host) {
      entry.kind = entry.kind == Kind::suffix ? Kind::exact_host : Kind::suffix;
      was_there = remove_one(entry) || was_there;
    }
    // An address may have been listed by a list of hosts or by a list of networks; both are removed.
    if (const auto address = address_of(entry)) {
      was_there = open_network(range_of(*address), DeltaAnswer::removed) || was_there;
    }
    if (!was_there) ++report_.not_there;
  }

  bool remove_one(const Entry& entry) {
    const bool held = may_hold(file_, entry);
    const bool was_there = held || text_.answer(entry) == DeltaAnswer::added;
    note(text_.set(entry, held ? DeltaAnswer::removed : DeltaAnswer::nothing));
    return was_there;
  }

  // Takes addresses out of the networks. `where_added`: what is said of them then where only the delta had them. That a
  // single address was in a range is remembered, for when it is added again. False: none of them was in one.
  bool open_network(const AddressRange& range, DeltaAnswer where_added = DeltaAnswer::nothing) {
    const bool held = file_.networks().overlaps(range);
    const bool was_added = text_.adds_some_of(range);
    if (!held && !was_added && text_.removes(range)) return false;
    note(text_.set(range, held ? DeltaAnswer::removed : was_added ? where_added : DeltaAnswer::nothing));
    return held || was_added;
  }

  // Of a range that is removed, those of its addresses that are listed as hosts: the ones that the delta has added, and
  // of a small range the ones that the filter has. False: there is none.
  bool remove_addresses(const AddressRange& range) {
    bool was_there = false;
    const auto remove_address = [&](const IpAddress& address) {
      was_there = remove_one(entries_.domain(text_of(address)).entries.front()) || was_there;
    };
    for (const IpAddress& address : text_.added_addresses(range)) remove_address(address);
    if (file_.header().kinds[index_of(Kind::exact_host)].entries == 0) return was_there;
    for_each_address(range, kMostAddressesAsked, remove_address);
    return was_there;
  }

  // The delta's own: what the filter's lists except holds as long as the filter.
  Result<void> change_exceptions(const CarriedRules& removed, const CarriedRules& added) {
    auto before = read_exceptions(exceptions_file_of_delta(update_.delta));
    if (!before) return unexpected(before.error());
    const auto of_filter = read_exceptions(exceptions_file(update_.filter, content_id(file_.header())));
    if (!of_filter) return unexpected(of_filter.error());
    report_.exceptions = changed_exceptions(*std::move(before), removed, added, of_filter->unfreed);
    return {};
  }

  // Once the delta is written: until then nothing more may pass. Beside a signed delta they would be without effect.
  Result<void> write_delta_exceptions() {
    if (update_.key != nullptr) report_.exceptions_unsigned = std::exchange(report_.exceptions, {}).rules.size();
    return write_exceptions(exceptions_file_of_delta(update_.delta), update_.delta, report_.exceptions, update_.access);
  }

  std::vector<Error> write() {
    if (text_.size() > kMaxExactEntries) {
      return {{Errc::limit, update_.delta.string(),
               fmt::format("would hold {} entries, of at most {}; build a new filter instead", text_.size(),
                           kMaxExactEntries)}};
    }
    if (text_.sequence() == std::numeric_limits<std::uint64_t>::max()) {
      return {{Errc::limit, update_.delta.string(), "its sequence can't grow; build a new filter instead"}};
    }
    text_.set_sequence(text_.sequence() + 1);
    const std::string name = update_.delta.string();
    // A text that a proxy would refuse is not written.
    if (auto readable = Delta::parse(text_.changed_text(), name, file_.keys(), content_id(file_.header())); !readable) {
      return std::move(readable.error());
    }
    std::string text = text_.text();
    if (update_.key != nullptr) {
      auto made = sign_delta(text, name, *update_.key);
      if (!made) return {made.error()};
      text = *std::move(made);
    }
    if (auto ok = check_entry_text_size(text.size(), update_.delta); !ok) return {ok.error()};
    if (auto ok = replace_file(update_.delta, text, update_.access, former_); !ok) return {ok.error()};
    if (auto ok = write_delta_exceptions(); !ok) return {ok.error()};
    report_.added = text_.added();
    report_.removed = text_.removed();
    report_.bytes = text.size();
    return {};
  }

  const DeltaUpdate& update_;
  DeltaUpdateReport& report_;
  const FilterFile& file_;
  FormerFile former_;
  DeltaText text_;
  EntryParser entries_;
};

}  // namespace

double DeltaUpdateReport::share() const { return delta_share(added + removed, filter); }

std::vector<Error> update_delta(const DeltaUpdate& update, DeltaUpdateReport& report) {
  const bool has_lists = !update.lists.add.empty() || !update.lists.remove.empty();
  if (has_lists || !update.rebase) {
    if (auto ok = check_change_lists(update.lists); !ok) return {ok.error()};
  }
  const auto file = FilterFile::open(update.filter);
  if (!file) return {file.error()};
  if (auto ok = (*file)->check_reads(); !ok) return {ok.error()};
  report.filter = (*file)->header();
  return DeltaRun(update, report, **file).run();
}

}  // namespace bloomwall::filter
