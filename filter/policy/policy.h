// All filters, deltas and allow lists of one configuration, and the one call that turns a URL into a verdict.
// Immutable once loaded; shared by all workers through shared_ptr and swapped as a whole; the last holder frees it. A
// policy is a view: names, actions and allow lists over files that it shares with other policies of the same store
// (filter_store.h).
// Rules: "Verdicts" in ARCHITECTURE.md. Look-ups go plan -> prefetch -> evaluate (lookup.h), so that pages which are
// not resident can be awaited without changing this interface (pending_verdict.h).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ip.h"
#include "filter/file/filter_file.h"
#include "filter/policy/asker.h"
#include "filter/policy/verdict.h"
#include "filter/url/canonical_url.h"

namespace bloomwall::filter {

// no_decrypt: the filter is asked about hosts alone, says Verdict::no_decrypt, and changes no decision. Allow lists and
// overrides concern it only where they name it; once its file is lost it lists nothing but what its delta adds.
// allow: the filter is a white list, what it holds passes, and no filter behind it is asked. Allow lists and overrides
// for some filters do not concern it. Once its file is lost, on_error: block blocks what comes to it; with allow the
// filters behind it decide, and Otherwise is allow.
// off: the filter is not asked.
enum class FilterAction : std::uint8_t { block, monitor, no_decrypt, allow, off };
inline constexpr std::size_t kFilterActions = 5;
const char* to_string(FilterAction action);
enum class OnFilterError : std::uint8_t { block, allow };
// The decision on a URL or a host that no filter blocks and that no filter with the action allow, allow entry for every
// filter or override for every filter lets pass.
enum class Otherwise : std::uint8_t { allow, deny };
const char* to_string(Otherwise otherwise);

// What a filter is loaded from. Of delta and exact side: empty: none.
struct FilterFiles {
  std::filesystem::path file, delta, exact;
  friend bool operator==(const FilterFiles&, const FilterFiles&) = default;
};

struct FilterSpec {
  std::string name;
  std::filesystem::path file;
  std::filesystem::path delta;       // empty: none
  std::filesystem::path exact = {};  // the exact side, .bwx; empty: none
  FilterAction action = FilterAction::block;
  OnFilterError on_error = OnFilterError::block;
  MemoryUse memory = MemoryUse::automatic;  // where LoadOptions::make_resident
  int status = 403;
  bool takes_overrides = true;  // false: no override lets pass what it holds; an allow entry does
  // PEM, one or more keys: one must have signed the file and its delta, every byte of which is then verified in full.
  std::filesystem::path public_key = {};
  // What its lists except, in place of the file beside it (list_exceptions.h): for a filter that is not in its place.
  std::optional<std::string> exceptions = {};
  // Loaded where these files cannot be; FilterState::refused says why then.
  std::optional<FilterFiles> instead = {};
  double rebuild_at = 0.02;   // share of the filter's entries that a delta may reach before a rebuild is due
  std::string category = {};  // of the file's info section, for people; set by the load; empty: it has none
};

struct PolicySpec {
  std::vector<FilterSpec> filters;
  std::vector<std::filesystem::path> allow_lists;
  Otherwise otherwise = Otherwise::allow;
  // Sets of allow lists beside these, for Policy::view().
  std::vector<std::vector<std::filesystem::path>> more_allow_lists = {};
};

// How a group of clients looks at the filters of a policy.
struct PolicyView {
  std::vector<FilterAction> actions;  // of each filter
  Otherwise otherwise = Otherwise::allow;
  std::size_t allow_lists = 0;  // 0: those of the policy; n: PolicySpec::more_allow_lists[n - 1] as well
  friend bool operator==(const PolicyView&, const PolicyView&) = default;
};

// What each step asked and was told; the story behind `explain`. Only made on request.
struct AskedQuestion {
  // Name; "exception 7" of an override; empty for the allow lists. Of overrides and allow lists only those that match
  // are recorded.
  std::string filter;
  std::string expression;  // e.g. "S example.com", "mark U example.com", "D example.com/a/", "S example.com @ads",
                           // "N 192.0.2.1"
  // overruled: the filter would have said yes, but an allow entry speaks against it (it was asked for the story only).
  // exception, refuted, confirmed: as in lookup.h.
  enum class Answer : std::uint8_t {
    no,
    yes,
    removed_by_delta,
    added_by_delta,
    overruled,
    exception,
    refuted,
    confirmed
  } answer = Answer::no;
  std::uint8_t form = 0;
};
const char* to_string(AskedQuestion::Answer answer);
struct Story {
  Verdict verdict;                       // what judge() says, to the last field
  std::vector<std::string> expressions;  // every expression the URL has, in the order asked, all forms
  std::vector<AskedQuestion> questions;  // those really put
  std::uint64_t left_out = 0;            // expressions and questions beyond kMaxStoryItems or kMaxStoryBytes, not kept
};
inline constexpr std::size_t kMaxStoryItems = 4096;  // of each of the two
inline constexpr std::size_t kMaxStoryBytes = std::size_t{4} << 20;

class ExactSide;
struct WorstHost;  // prediction.h
struct Override;
enum class Scope : std::uint8_t;

class Policy {
 public:
  struct FilterState;
  struct LoadOptions {
    // Read and check every byte of every filter before use. What is neither verified nor made resident is checked page
    // by page as it is read (FilterFile::check_reads, damage()).
    bool verify = true;
    bool make_resident = false;  // bring every filter where FilterSpec::memory says: for those who serve it
    // Likewise: take copies of filters and exact sides, with this folder for large ones (empty: none), so that nobody
    // can change what was verified. What is signed is never served from a file that others may write to.
    bool own_copies = false;
    std::filesystem::path copies_folder = {};
    std::function<bool(const std::filesystem::path& file, std::uint64_t done, std::uint64_t total)>
        progress;  // false stops
    // Why a filter that was loaded is not to be served all the same; empty: it may be.
    std::function<std::vector<Error>(const FilterState&)> refuses = {};
  };
  // Every error of every file, not just the first. Nothing of a failed load stays. Time: that of reading every filter
  // where options.verify, else of reading deltas and allow lists. Who loads again and again: FilterStore.
  static tl::expected<std::shared_ptr<const Policy>, std::vector<Error>> load(const PolicySpec& spec,
                                                                              const LoadOptions& options);
  ~Policy();

  // The same filters and allow lists with these overrides (overrides.h) instead of its own. Shares what was
  // loaded; the cost is that of the overrides.
  std::shared_ptr<const Policy> with(std::vector<Override> overrides) const;

  // The same filters and overrides in another view, which shares them. The cost is that of copying the names of the
  // filters. is(): whether this one is that already.
  std::shared_ptr<const Policy> view(const PolicyView& view) const;
  bool is(const PolicyView& view) const;

  // A whole URL. A rejected URL gives Decision::rejected. Thread-safe; allocates only where something matches, or for a
  // URL far longer than usual. Time: linear in the URL, and at most what lookup.h says for each filter.
  // `asker`: for whom, where that matters to overrides.
  Verdict judge(const CanonicalUrl& url, const Asker& asker = {}) const;
  // A host alone (CONNECT, SNI): only host kinds are asked. `host` comes from Canonicaliser::host or url.
  // Marks on the last label are ignored unless it is the whole host: a false one would decrypt a top-level domain.
  Verdict judge_host(const CanonicalUrl& host, const Asker& asker = {}) const;
  Story explain(const CanonicalUrl& url, const Asker& asker = {}) const;
  Story explain_host(const CanonicalUrl& host,
                     const Asker& asker = {}) const;  // of judge_host(); without Story::expressions

  // A raw key, byte for byte, of those filters that hold such keys; the others say no, unless they are lost. Allow
  // lists and overrides mean URLs, and are not asked. Thread-safe; allocates only where something matches. May wait for
  // the disk where a filter is paged.
  Verdict judge_raw(std::string_view bytes) const;

  // Whether any filter or delta holds ranges of addresses, so that judge_address() can say something.
  bool has_networks() const { return has_networks_; }
  // Networks alone, of an address that is about to be dialled for `url` (a host alone: Scope::host), which was judged
  // before. A filter passes where overrides or allow lists overrule it for `url`, for the address itself or for a range
  // with it; an override that denies the address means URLs that name it, and is not asked.
  // The verdict is of kind network, and its expression the range: "1.10.16.0/20". Allowed by allow_list only where a
  // filter would have hit. Filters that failed are as in judge(). Thread-safe; one binary search or two for each
  // filter, and no allocation where nothing matches.
  Verdict judge_address(const IpAddress& address, const CanonicalUrl& url, Scope scope, const Asker& asker = {}) const;

  // Whether judge() may have to wait for the disk: some filter is paged. judge_host() never does.
  bool is_paged() const { return is_paged_; }
  // judge() for who must not wait: where a page that it would read next is not in memory, nothing, and `absent` names
  // all such pages. Ask again once they are there (fault_in), from any thread; other pages may then be absent.
  std::optional<Verdict> judge_at_once(const CanonicalUrl& url, std::vector<const std::byte*>& absent,
                                       const Asker& asker = {}) const;
  // judge_raw() likewise. `filter`: of the one of that name, as if it were alone and Otherwise were allow; empty: of
  // all.
  std::optional<Verdict> judge_raw_at_once(std::string_view bytes, std::string_view filter,
                                           std::vector<const std::byte*>& absent) const;
  // Reads these pages, all at once as far as the disk can, and returns when they have been there. Any thread but a
  // loop's.
  static void fault_in(std::span<const std::byte* const> pages);
  // Then, of pages that judge_at_once named: those that are not what was written make their filter lost. Any thread.
  void check_pages(std::span<const std::byte* const> pages) const;

  struct RequestError {  // probability that a request meets it, by the class of the request
    double unlisted_host = 0, listed_host = 0;
  };
  struct FilterState {
    const FilterSpec& spec;
    const FilterFile* file;               // never null; ask its lost() and header()
    std::uint64_t delta_entries;          // Delta::size(); 0 without a delta
    std::uint64_t delta_sequence = 0;     // 0: none
    std::optional<KeyId> signed_by = {};  // the trusted key, where spec.public_key asked for one
    const ExactSide* exact = nullptr;     // null: none
    // Why FilterSpec::instead is served, and not the files that `spec` names; empty: these are.
    std::span<const Error> refused = {};
    std::optional<FileVersion> delta_version = {};  // before it was read; nothing: none, or it was not settled
    double delta_share() const;                     // of the distinct entries in the file
    RequestError predicted_error() const;  // the mean that its header predicts, less what its exact side refutes
    RequestError p99_error() const;        // the same at the 99th percentile of hosts
    WorstHost worst_host() const;          // the same of the request that asks most of the host that asks most
    bool rebuild_due() const { return delta_share() > spec.rebuild_at; }
  };
  std::vector<FilterState> filters() const;
  // What may be asked about raw keys of the filter of that name. Linear in the filters.
  enum class RawKeys : std::uint8_t {
    held,
    none,  // it has other entries alone
    off,   // it is not asked: its action is off, or no_decrypt
    lost,  // its file failed under us
    no_such_filter,
  };
  RawKeys raw_keys_of(std::string_view filter) const;
  // Of filters that are checked as they are read: what was found so far. Then no verdict counts.
  std::vector<Error> damage() const;
  std::uint64_t allow_entries() const;
  std::uint64_t list_exceptions() const;  // that the filters carry (list_exceptions.h); not among the entries
  std::size_t overrides() const;          // how many, ended ones as well
  // When the override of that number ends (Override::kForever: never); nothing: there is none. Linear in their number.
  std::optional<std::int64_t> override_end(std::uint64_t id) const;
  bool overrides_ask_who() const;  // some are not for everybody: verdicts depend on the Asker
  // The error a user sees: the sum over all blocking filters of what is predicted for each.
  RequestError predicted_error() const;
  // The same over all filters with the action allow: how often what none of them lists passes by mistake.
  RequestError predicted_leak() const;
  bool has_white_list() const;  // some filter has the action allow
  Otherwise otherwise() const;
  // The sum of false_mark_rate() over the filters whose marks count: those that block and, where `of_monitor`, those
  // that monitor.
  double false_mark_rate(bool of_monitor) const;

 private:
  friend class PendingVerdict;
  friend class FilterStore;
  struct Impl;
  explicit Policy(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
  bool is_paged_ = false;
  bool has_networks_ = false;
};

}  // namespace bloomwall::filter
