// One filter, one form of one URL: plan the questions -> prefetch their lines -> evaluate, round by round.
//   round 0: of a host that is an address the networks, delta first; they are in memory
//   round 1: the host and its parents, S, X, W and marks of each asked together (one cache line each)
//   then:    on marked hosts, the U, Q and D questions that the marks announce, kPathRound at a time
//   last:    where there is an exact side, it is asked about the positives of a round before the next one is planned
// The filter's delta comes before its bits: an added entry is a hit, a removed one is not asked. A positive that is one
// of the filter's exceptions is none.
// start() and advance() end a round by planning the next one and never touch a page of section P or of the exact side
// that pending_pages() has not named since the call before: a caller that may not block on a page fault sees to those
// pages first. (H is resident by contract.) The first hit ends it.
// Work is bounded by the suffixes of the host plus, on each marked host, the depths that the file has. No allocation
// unless more than 4 suffixes of a host are marked or more than 8 delta entries match (and what keys.h says).
// Borrows everything it is given. Not thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/small_buffer.h"
#include "filter/file/exact_side.h"
#include "filter/file/filter_file.h"
#include "filter/keys/keys.h"
#include "filter/policy/delta.h"

namespace bloomwall::filter {

// What can be asked of one filter at all, worked out from its header once, so that a request is asked only that.
struct FilterPlan {
  explicit FilterPlan(const FilterFile& file);

  // Variants asked of a host itself, of each of its parents, and of an address: kinds and marks that the file holds.
  std::uint32_t whole = 0, parent = 0, address = 0;
  // Labels of the host names in H: any where the header knows no range; an empty range (1, 0) where there is no H.
  // Addresses are always asked.
  std::size_t min_labels = 1, max_labels = 0;
  std::size_t max_depth = 0;  // of D entries
};

// One question put to a filter: an expression of the URL in the terms of UrlParts. A mark stands for the kind it
// announces; the depth of a directory mark is 1..kDeepestMark, where kDeepestMark stands for that and any deeper.
// Networks are asked for the host.
struct Question {
  Kind kind = Kind::suffix;
  bool is_mark = false;
  std::uint16_t suffix = 0;
  std::uint32_t depth = 0;
};
// "example.com", "example.com/a?q", "example.com/a/": the expression that a question or an exact entry stands for.
std::string expression_of(Kind kind, std::size_t suffix, std::size_t depth, UrlParts& parts);
// The same with what is asked in front: "S example.com", "mark U example.com", "mark D16+ example.com".
std::string text_of(const Question& question, UrlParts& parts);

// exception: the bits said yes, but the key is known to be good. refuted, confirmed: they said yes, and the exact side
// that.
enum class LookupAnswer : std::uint8_t { no, yes, removed_by_delta, added_by_delta, exception, refuted, confirmed };

// Told of every question and its answer, in order. Only for explain: a judgement has none.
class LookupTrace {
 public:
  virtual ~LookupTrace() = default;
  virtual void asked(const Question& question, LookupAnswer answer) = 0;
};

struct LookupMatch {
  Kind kind = Kind::suffix;
  std::uint16_t suffix = 0;
  std::uint32_t depth = 0;
  bool by_delta = false;
  bool confirmed = false;  // by the exact side
};

struct LookupTarget {
  const FilterFile* file = nullptr;
  const Delta* delta = nullptr;  // may be null
  const FilterPlan* plan = nullptr;
  const ExactSide* exact = nullptr;  // may be null
  bool checks_reads = false;         // FilterFile::checks_reads()
};

// The expression that matched; of a network the range that holds the host.
std::string expression_of(const LookupTarget& target, const LookupMatch& match, UrlParts& parts);

// What the networks of a filter say of an address: its delta first, then its file. One binary search each; thread-safe.
// no, yes, added_by_delta or removed_by_delta.
LookupAnswer ask_networks(const LookupTarget& target, const IpAddress& address);
// The range that made it say yes or added_by_delta: "1.10.16.0/20".
std::string network_of(const LookupTarget& target, const IpAddress& address);
// Whether the filter or its delta holds networks.
bool holds_networks(const LookupTarget& target);

// Whether a look-up would end with its start, without a match and whatever the file's bits are, so that none need be
// made: no delta, and neither host keys nor networks for such a host.
inline bool asks_nothing(const LookupTarget& target, const UrlParts& parts) {
  const FilterPlan& plan = *target.plan;
  if (target.delta != nullptr) return false;
  if (parts.is_address()) return plan.address == 0 && !holds_networks(target);
  return parts.suffixes() < plan.min_labels || plan.max_labels < plan.min_labels;
}

class Lookup {
 public:
  // `url` has the keys of target.file and the form to be asked.
  Lookup(const LookupTarget& target, UrlHashes& url, Scope scope, LookupTrace* trace = nullptr);

  // Each returns true when the answer is there. start() is called once, advance() until it returns true.
  bool start();
  bool advance();
  // First byte of each page of P, or of the exact side, that the next advance() reads. May be empty.
  std::span<const std::byte* const> pending_pages() const { return pages_.view(); }
  // The questions that these pages are for: who asks very many at once may sort them by page and ask them himself.
  struct PathQuestion {
    Place place;
    Question question;
  };
  std::span<const PathQuestion> pending_questions() const { return paths_.view(); }

  const std::optional<LookupMatch>& match() const { return match_; }
  // Where there is no match: whether there would have been one but for an exception, or but for the exact side.
  bool is_excepted() const { return is_excepted_; }
  bool is_refuted() const { return is_refuted_; }
  std::uint32_t questions() const { return questions_; }  // put to the bits so far
  // Scope::host only: URL entries exist on a suffix of more than one label, or on the host itself.
  bool host_has_marks() const { return host_has_marks_; }

 private:
  static constexpr std::size_t kHostRound = 16;
  static constexpr std::size_t kPathRound = 16;
  struct HostQuestion {
    Place place;
    std::uint32_t wanted;
    std::uint16_t suffix;
  };
  struct Marked {
    std::uint16_t suffix;
    std::uint32_t marks;
  };
  struct Candidate {  // positive by the bits, not yet confirmed
    Question question;
    std::uint64_t fingerprint;
  };

  bool ask_delta();
  bool ask_networks_of(const IpAddress& address);
  std::uint32_t wanted_of(std::size_t suffix) const;
  std::uint32_t without_removed(std::size_t suffix, std::uint32_t wanted);
  bool plan_hosts();
  bool evaluate_hosts();
  std::uint32_t exceptions_of(const HostQuestion& asked, std::uint32_t hits);
  bool may_announce(std::size_t suffix) const;
  bool take_hits(const HostQuestion& asked, std::uint32_t hits);
  bool is_exception(const Question& question);
  bool take_hit(const Question& question, const Hash128& key);
  bool plan_confirmation();
  bool confirm();
  bool plan_paths();
  bool evaluate_paths();
  bool next_question(Question& question);
  bool is_removed(const Question& question);
  Hash128 key_of(const Question& question);
  void check_reads() const;
  void tell(const Question& question, LookupAnswer answer);
  void tell_hosts(const HostQuestion& asked, std::uint32_t hits, std::uint32_t excepted);

  LookupTarget target_;
  UrlHashes& url_;
  LookupTrace* trace_;
  Scope scope_;
  bool asking_hosts_ = true;
  bool host_has_marks_ = false;
  bool is_excepted_ = false;
  bool is_refuted_ = false;
  std::uint32_t questions_ = 0;
  std::size_t next_suffix_ = 0, last_suffix_ = 0;    // hosts still to plan: [next_suffix_, last_suffix_)
  std::size_t next_marked_ = 0, next_step_ = 0;      // path questions still to plan
  std::size_t removed_host_ = 0, removed_path_ = 0;  // cursors of removed_: it stands in the order of the questions
  std::optional<LookupMatch> match_;
  SmallBuffer<HostQuestion, kHostRound> hosts_;
  SmallBuffer<Marked, 4> marked_;
  SmallBuffer<PathQuestion, kPathRound> paths_;
  SmallBuffer<const std::byte*, kPathRound> pages_;
  SmallBuffer<Candidate, 4> candidates_;
  ExactMatches removed_;
};

}  // namespace bloomwall::filter
