// What a build makes of its entries besides the bits, where it is asked for: exceptions for known-good URLs (KnownGood)
// and the exact side (exact_writer.h). Neither depends on how the keys get into the file.
//   create -> observers() see every entry -> all pages written -> add_exceptions -> write_exact_side -> draft.commit
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "filter/builder/draft_pages.h"
#include "filter/builder/exact_writer.h"
#include "filter/builder/ingest.h"
#include "filter/builder/key_store.h"
#include "filter/file/exceptions.h"
#include "filter/file/filter_writer.h"
#include "filter/file/networks.h"
#include "filter/keys/keys.h"
#include "filter/lists/list_report.h"
#include "filter/result.h"
#include "filter/url/address_range.h"
#include "filter/url/entry.h"

namespace bloomwall::filter {

// URLs that must not be stopped by mistake. load() comes before the lists: it stores every key that a request for one
// of these URLs asks. While entries are read, seen() marks the keys that are listed. Afterwards each other key that
// tests positive becomes an exception (filter/file/exceptions.h): a known-good URL is stopped only where it is listed.
//   Input: one URL, host or domain a line, as a person would type it (with --raw: one key). Blank lines and lines that
//   begin with # are skipped; compressed lists are read. A domain stands for its root, not for the URLs on it.
//   What is no list (binary data, a page) is refused, and so is a list of which too many lines are no URLs.
// Memory: about 64 bytes a key, at most kMaxKnownGoodKeys of them; a URL of five labels and two folders has some 25.

inline constexpr std::size_t kMaxKnownGoodKeys = std::size_t{1} << 26;

class KnownGood final : public KeyObserver {
 public:
  KnownGood(const KeyMaker& keys, bool raw) : keys_(keys), raw_(raw) {}
  // Errors: those of ListInput; bad_syntax where it is no list or the gate is closed to it; limit.
  Result<void> load(const std::string& list, const UsableGate& gate);

  void expect_workers(unsigned /*workers*/) override {}
  void seen(unsigned worker, const EntryKeys& keys) override;
  Result<void> check() const override { return {}; }

  // After the last entry: the keys that test positive and were not seen, sorted as the file's records. All of them are
  // exceptions where every entry of the filter was seen.
  std::vector<Exception> positives(const PageViews& pages) const;
  // The same. Errors: limit where there are too many.
  Result<std::vector<Exception>> exceptions(const PageViews& pages) const;

  // Of a build in slices: what a slice has seen, sorted as the file's records, and the same of another slice, taken as
  // if it had been seen here. What no loaded list asks is passed over.
  std::vector<Exception> listed() const;
  void take_listed(std::span<const Exception> seen_elsewhere);
  // SHA-256 over all keys and the kinds that are asked of each, ascending: equal for equal questions.
  Sha256 digest() const;

  std::uint64_t lines() const { return lines_; }        // taken
  std::uint64_t unusable() const { return unusable_; }  // no URLs
  // Lines for the report: of each list of which something was not taken how much, why, and the first of it.
  const std::vector<std::string>& notes() const { return notes_; }
  std::size_t keys() const { return known_.size(); }

 private:
  struct HashOf {
    std::size_t operator()(const Hash128& key) const { return key.lo; }  // seeded by the series key
  };
  struct Known {
    KindMask asked = 0;
    KindMask listed = 0;  // written atomically while entries pass
  };
  Result<void> read(const std::string& list, ReasonTally& refused);
  // Why it is not taken; empty: it was, or says nothing.
  std::string_view take_line(std::string_view line);
  void take_form(UrlParts& parts, UrlHashes& hashes);
  void ask(const Hash128& key, Kind kind) { known_[key].asked |= kind_bit(kind); }

  KeyMaker keys_;
  bool raw_;
  Canonicaliser canonicaliser_;
  EntryParser entries_;
  std::vector<std::string> notes_;
  std::unordered_map<Hash128, Known, HashOf> known_;
  std::uint64_t lines_ = 0, unusable_ = 0;
};

// Gives the keys of entries to several observers, which it borrows.
class KeyObservers {
 public:
  KeyObservers(const KeyMaker& keys, std::vector<KeyObserver*> all) : keys_(keys), all_(std::move(all)) {}
  void expect_workers(unsigned workers) const {
    for (KeyObserver* observer : all_) observer->expect_workers(workers);
  }
  // By one thread for one worker at a time.
  void seen(unsigned worker, const Entry& entry) const {
    const Hash128 host = entry.kind == Kind::raw ? Hash128{} : keys_.host(entry.host);
    const EntryKeys keys = keys_of(keys_, entry, host);
    for (KeyObserver* observer : all_) observer->seen(worker, keys);
  }
  // The first error so far: a full disk, for instance, ends a build at once. Thread-safe.
  Result<void> check() const {
    Result<void> ok;
    for (std::size_t i = 0; ok && i < all_.size(); ++i) ok = all_[i]->check();
    return ok;
  }

 private:
  KeyMaker keys_;
  std::vector<KeyObserver*> all_;
};

class BuildExtras {
 public:
  struct Options {
    std::vector<std::string> known_good;  // lists
    UsableGate gate = {};                 // of these
    bool exact_side = false;
    bool raw = false;
    FileAccess access = {};  // of the exact side
  };
  // Reads the known-good lists. `ram_bytes`: of the exact side.
  static Result<BuildExtras> create(const Options& options, const KeyMaker& keys, const std::filesystem::path& output,
                                    std::uint64_t ram_bytes);

  KnownGood* known_good() const { return known_good_.get(); }  // null: there is none
  const KeyObservers* observers() const { return observers_ ? &*observers_ : nullptr; }
  // Once every bit is in the draft's file. Reads pages in order, as many as there are keys of known-good URLs at most.
  Result<void> add_exceptions(FilterDraft& draft);
  // Writes and syncs the exact side; its root goes into the draft's header. The draft's commit() renames it right
  // before the draft, under one lock: a process that is killed between the two renames leaves a pair that is refused.
  // Must outlive that commit().
  Result<void> write_exact_side(FilterDraft& draft);
  std::filesystem::path exact_side() const;  // after that: its temporary name; empty: there is none

  // Lines for the report: known-good URLs, their exceptions, the size of the exact side.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  std::unique_ptr<KnownGood> known_good_;
  std::unique_ptr<ExactWriter> exact_;
  std::optional<KeyObservers> observers_;
  std::vector<std::string> notes_;
};

// Domains that a build marks as a whole: registrable domains ("example.com") and public suffixes under which strangers
// have hosts ("github.io") that have URL entries of their own. A mark counts for every host below, so with
// tls_inspection.mode urls one such entry decrypts the whole domain. The file cannot list them later: it holds bits.
// The text has the form of a file for tls_inspection.never, so that its lines can be taken over.
// Memory: about 100 bytes a domain, of at most kMostDomains for each worker; entries on others are counted.
class MarkReport {
 public:
  static constexpr std::size_t kMostDomains = 1'000'000;

  // The greatest number of workers. Called before the other functions, never concurrently with them.
  void expect_workers(unsigned workers);
  // By one thread for one worker at a time.
  void seen(unsigned worker, const Entry& entry);
  // Sorted by domain; not while a worker adds. `name`: of the filter, for the first line.
  std::string text(const std::string& name) const;
  void clear() { parts_.clear(); }

 private:
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  struct alignas(64) Part {
    std::unordered_map<std::string, std::uint64_t, TextHash, std::equal_to<>> entries;  // by domain
    std::uint64_t not_listed = 0;
  };
  std::deque<Part> parts_;
};

// The ranges of addresses of a build. They are joined now and then, so that repeated ranges take no more memory. Exact
// in every strategy of a build: a filter holds at most kMaxNetworks of them.
// Memory: 9 MiB a worker, and 8 bytes for each range of IPv4 that is left, 32 of IPv6.
class RangeCollector {
 public:
  explicit RangeCollector(std::uint64_t most = kMaxNetworks) : most_(most) {}
  // The greatest number of workers. Called before the other functions, never concurrently with them.
  void expect_workers(unsigned workers);
  // By one thread for one worker at a time.
  void seen(unsigned worker, const AddressRange& range);
  // Error `limit` once a single worker has more than a filter may hold. Thread-safe.
  Result<void> check() const;
  // All of them, joined; not while a worker adds. Error `limit`.
  Result<RangeSet> networks() const;
  void clear();

 private:
  struct alignas(64) Part {
    std::vector<AddressRange> fresh;
    RangeSet joined;
  };
  void join(Part& part);

  tl::unexpected<Error> too_many() const;

  std::uint64_t most_;
  std::deque<Part> parts_;
  std::atomic<bool> too_many_ = false;
};

}  // namespace bloomwall::filter
