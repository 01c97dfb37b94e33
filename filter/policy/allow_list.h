// Allow lists: exact entries that overrule filters. One entry a line, shaped as in any list (entry.h):
//   example.com                    # overrules every filter, for the host, its subdomains, every path
//   http://example.com/a/ @ads     # overrules the filter "ads" alone, under that path
//   example.org @ads @malware
//   @@||example.net^               # as in adblock lists; also @@|example.net^| (the host alone) and $important
//   0.0.0.0 example.net            # as in hosts files: the host alone
//   10.0.0.0/8 @ads                # addresses, also 10.0.0.1-10.0.0.9: overrules every entry for URLs whose host is
//                                  # one of them, and networks for hosts that are dialled there
// Published lists are read as they are: lines that begin with '!' are comments, and so is "[Adblock Plus]".
// A top-level domain is refused unless it is written "*.com", and so are a URL of which only the host is left
// ("/#!/page") and a '*' in a path, which would stand for itself and is written "%2A". An entry on several lines
// overrules what any of them names, and so does an address in several ranges.
// An entry with alternative forms is refused: which of them would it open? All lists of a configuration go into one
// AllowLists.
// Const calls are thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "filter/policy/exact_set.h"
#include "filter/result.h"
#include "filter/url/address_range.h"

namespace bloomwall::filter {

// Whether an entry that the path matches as it is spelt frees the paths without its parameters (CanonicalUrl::asked())
// as well: who allows "/a;b" means what a server makes of it. A directory does not, for "/ok/..;/evil" lies in "/ok/".
constexpr bool frees_bare_form(Kind kind) { return kind == Kind::url || kind == Kind::url_query; }

// The one entry that a line of an allow list is, without its comment and its filters; `effect`, "allow", says in an
// error what it would do. Valid until the parser's next call. Error: bad_syntax.
Result<Entry> read_single_entry(EntryParser& parser, std::string_view text, std::string_view effect);

class AllowLists {
 public:
  static constexpr std::size_t kNoFilter = static_cast<std::size_t>(-1);
  struct OfFilter {
    std::filesystem::path file;
    std::size_t filter = 0;                // its place among the filters
    std::optional<std::string> text = {};  // what it says, where there is no such file yet
    friend bool operator==(const OfFilter&, const OfFilter&) = default;
  };
  // Filters are named by their place in `filters`.
  AllowLists(const KeyMaker& keys, std::vector<std::string> filters);

  // Reads all lists of a configuration, and appends every error of them. `former`, which may be null: what was read
  // before. Where the texts begin with what these lists were then, and nothing else is different, only what is new is
  // parsed and stored.
  // `exceptions`: files whose entries overrule one filter alone (list_exceptions.h).
  static std::shared_ptr<const AllowLists> load(const KeyMaker& keys, const std::vector<std::string>& filters,
                                                std::span<const std::filesystem::path> files,
                                                const std::shared_ptr<const AllowLists>& former,
                                                std::vector<Error>& errors, std::span<const OfFilter> exceptions = {});
  // Adds one list. Every error of it (kMaxReportedErrors), with file:line; the good lines count even so.
  std::vector<Error> load(const std::filesystem::path& file);
  // `of_filter`: the only filter that entries without names of filters overrule; kNoFilter: they overrule all.
  std::vector<Error> parse(std::string_view text, const std::string& name, std::uint64_t first_line = 1,
                           std::size_t of_filter = kNoFilter);

  // Whether these stand on entries of the others.
  bool share_entries_with(const AllowLists& others) const {
    return base_ != nullptr && (base_.get() == &others || base_ == others.base_);
  }

  std::uint64_t size() const;  // entries and ranges
  // Of these, what exceptions of filters alone say.
  std::uint64_t exceptions() const { return exceptions_; }
  bool empty() const { return entries_.size() == 0 && networks_.empty(); }
  bool has_networks() const { return !networks_.empty(); }
  const ExactSet& entries() const { return entries_; }
  // Appends a match for the host and each parent of it on which URLs are allowed. Its value says for which filters
  // some of them are.
  void find_hosts_of_urls(UrlHashes& host, ExactMatches& matches) const {
    url_hosts_.find_matches(host, Scope::host, matches);
  }
  // Appends a match of kind network for each set of filters that has a range with this address.
  void find_networks(const IpAddress& address, ExactMatches& matches) const;
  // The value of the entry of the address itself, "192.0.2.1"; 0: there is none.
  std::uint32_t find_address(const IpAddress& address) const;
  // `value` is that of a match in entries(), or of find_networks().
  bool overrules_all(std::uint32_t value) const { return value == kEveryFilter; }
  bool overrules(std::uint32_t value, std::size_t filter) const;
  // " @ads @malware", or nothing where it overrules all.
  std::string scope_text(std::uint32_t value) const;
  // "example.com/a/", "10.0.0.0/8": what matched the URL of `parts`, or of networks this address.
  std::string expression_of(const ExactMatch& match, UrlParts& parts, const IpAddress& address) const;
  std::string expression_of(const ExactMatch& match, UrlParts& parts) const;

 private:
  friend class AllowListParser;
  using Filters = std::vector<std::uint64_t>;  // bit f % 64 of word f / 64
  static constexpr std::uint32_t kEveryFilter = 1;
  // A text that was read into these lists.
  struct Source {
    std::string name;
    std::uint64_t bytes = 0, lines = 0;
    bool ends_line = true;
    Hash128 digest;  // by the keys of entries_
  };
  struct Text {
    std::string name, bytes;
    std::size_t of_filter = kNoFilter;
  };
  explicit AllowLists(const std::shared_ptr<const AllowLists>& base);
  const Source* source(const std::string& name) const;
  bool begins(const std::vector<Text>& texts) const;
  void note(const Text& text);
  void allow(const Entry& entry, const Filters& filters);  // empty: all
  void widen(std::uint32_t& value, const Filters& filters);
  std::uint32_t number_of(const Filters& filters);
  std::uint32_t value_of(const Filters& filters) { return filters.empty() ? kEveryFilter : number_of(filters); }

  std::shared_ptr<const AllowLists> base_;  // whose entries these stand on; null: on none
  std::vector<Source> sources_;             // of lists that others may stand on
  ExactSet entries_;
  ExactSet url_hosts_;  // of those for URLs; the value is that of all on the host
  std::uint64_t exceptions_ = 0;
  std::vector<std::string> names_;
  std::vector<Filters> scopes_;                    // value v > kEveryFilter stands for scopes_[v - kEveryFilter - 1]
  std::map<Filters, std::uint32_t> known_scopes_;  // each set of filters stands there once
  std::map<std::uint32_t, RangeSet> networks_;     // by the value of their filters
};

}  // namespace bloomwall::filter
