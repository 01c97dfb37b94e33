// Overrides: entries that people allow or deny at once, for a time and without a reload (`bloomwall allow`, `deny`,
// where they are called exceptions; in a filter's file an exception is a key that is known to be good,
// filter/file/exceptions.h). They are asked before the allow lists and the filters, form by form as those are.
// Of those that match a form and have not ended the most specific decides: the longest host, then kinds Q, U, the
// deeper D, X, S, W, then the one for fewer people (a client, a smaller network before a larger one; a user, a group,
// everybody), then the newest. A deny blocks. An allow for every filter lets the form pass whatever lists say. An allow
// for some filters overrules these alone, and the less specific ones are asked on. No allow overrules a filter whose
// FilterSpec::takes_overrides is false: such filters are asked all the same.
// Immutable; Policy::with() puts them over a policy. Const calls are thread-safe.
// Those that are made from others share with them what both hold: one more among 10,000 costs one comparison of each.
// Cost: nothing where there are none; else that of ExactSet::find_matches(). The clock is read only where one matches.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "filter/policy/asker.h"
#include "filter/policy/exact_set.h"
#include "filter/result.h"
#include "filter/url/address_range.h"
#include "filter/url/entry.h"

namespace bloomwall::filter {

struct FilterSpec;  // policy.h
struct Verdict;     // verdict.h

struct Override {
  enum class Action : std::uint8_t { allow, deny };
  static constexpr std::int64_t kForever = std::numeric_limits<std::int64_t>::max();

  std::uint64_t id = 0;  // the higher of two is the newer one
  Action action = Action::allow;
  Kind kind = Kind::suffix;
  std::string entry;                 // canonical, as text_of(Entry) gives it
  std::vector<std::string> filters;  // allow: which it overrules; empty: all. Names that no filter has mean nothing
  std::int64_t until = kForever;     // ends then; seconds since 1970
  // For whom; at most one of these, and none of them: for everybody.
  std::optional<AddressRange> client = {};
  std::string user = {}, group = {};
  friend bool operator==(const Override&, const Override&) = default;
};

// The entry that a person typed, in the forms that an allow list takes, and refused for the same reasons: no entry,
// several readings, a top-level domain, a URL of which only the host is left; a range of addresses, too, but for
// "192.0.2.1/32" that is allowed, which is the address. Error: bad_syntax. Sets kind and entry.
Result<void> read_override(std::string_view text, Override& made);
// The text of an entry so that read_override() and allow lists read it: they refuse a '*' in a path, as people write it
// for a pattern.
std::string text_to_type(std::string_view entry);

class Overrides {
 public:
  static constexpr std::size_t kMost = 10'000;

  // `filters`: the names of a policy's filters, in their order; empty ones take no overrides. What is no canonical
  // entry is left out. `before`: some that were made with the same filters; null: there are none.
  Overrides(const KeyMaker& keys, std::span<const std::string> filters, std::vector<Override> overrides,
            const Overrides* before = nullptr);
  Overrides(const Overrides&) = delete;
  Overrides& operator=(const Overrides&) = delete;

  struct Matched {
    const Override* made = nullptr;
    ExactMatch match{};
  };
  // What they say of one form. Reused: find() clears it.
  class Found {
   public:
    const Matched& decisive() const { return decisive_; }  // a deny, or an allow for every filter; none: null
    bool is_denied() const { return is_decided() && decisive_.made->action == Override::Action::deny; }
    bool is_decided() const { return decisive_.made != nullptr; }
    bool empty() const { return !is_decided() && narrow_.empty(); }
    // The one that overrules this filter alone; null: none does.
    const Matched* overrules(std::size_t filter) const;
    // Of a form without the path's parameters: what allows the path as it is spelt frees it as well (allow_list.h),
    // where nothing more specific of this form says otherwise.
    void add_spelt(const Found& spelt);

   private:
    friend class Overrides;
    struct Narrow {
      Matched matched;
      const std::uint64_t* filters;  // bit f % 64 of word f / 64
    };
    Matched decisive_;
    SmallBuffer<Narrow, 4> narrow_;
  };
  void find(UrlHashes& url, Scope scope, const Asker& asker, Found& found) const;
  // Whether some deny URLs on the host or on a parent of it, so that requests to it must be seen whole. Another one
  // that is more specific may allow all of them.
  bool denies_urls_on(UrlHashes& host, const Asker& asker) const;
  // Whether some allow URLs on a blocked host or on a parent of it: despite `denied`, which blocks the host; where that
  // is null for every filter, or for this one. `filter`: its place; kNoFilter: what blocks is none.
  static constexpr std::size_t kNoFilter = static_cast<std::size_t>(-1);
  bool allows_urls_on(UrlHashes& host, const Asker& asker, const Matched* denied, std::size_t filter) const;

  // When the one of that number ends; nothing: there is none. Linear in their number.
  std::optional<std::int64_t> end_of(std::uint64_t id) const;
  std::size_t size() const { return order_.size(); }
  bool ask_who() const { return for_some_ > 0; }  // some are for a client, a user or a group alone
  std::size_t made() const { return made_; }      // those that are not taken from others
  const KeyMaker& keys() const { return entries_.keys(); }
  // Under which a verdict names what was denied: "exceptions", status 403.
  static const FilterSpec& spec();

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  struct Item {
    Override made;
    std::vector<std::uint64_t> filters;  // empty: all
    std::uint32_t entry = 0;             // place in first_
    std::uint32_t url_host = 0;          // of a URL: 1 + place in on_host_; else 0
  };
  using ItemPtr = std::shared_ptr<const Item>;  // shared with those that are made from these

  void make_all(std::span<const std::string> filters, std::vector<Override> overrides);
  void make_changes(std::span<const std::string> filters, std::vector<Override> overrides);
  void add(EntryParser& parser, std::span<const std::string> filters, Override made);
  void remove(std::uint32_t place);
  std::uint32_t url_host_of(const Entry& entry);
  // Whether one of those that stand, and are for the asker, on the host or on a parent of it is such.
  template <typename Matches>
  bool any_on_host(UrlHashes& host, const Asker& asker, Matches matches) const;

  ExactSet entries_;                  // values: 1 + place in first_; includes those no longer used
  std::vector<ItemPtr> items_;        // null: removed, and its place is free
  std::vector<std::uint32_t> order_;  // places in items_, as they were given
  std::vector<std::uint32_t> free_;   // places in items_
  // Of each entry the place of the most decisive item, and of each item that of the next one; kNone: there is none.
  std::vector<std::uint32_t> first_, next_;
  ExactSet url_hosts_;  // of items for URLs, also of such that are gone: 1 + place in on_host_
  std::vector<std::vector<std::uint32_t>> on_host_;  // places in items_, of each such host
  std::size_t for_some_ = 0, made_ = 0;
};

// A form's verdict as an exception has it.
void note_override(Verdict& verdict, const Overrides::Matched& matched);

}  // namespace bloomwall::filter
