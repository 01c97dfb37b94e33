// The edition of a policy that askers see, swapped while they ask.
//   Editions::Use use(editions);           // any thread; while it lives, what it sees is not freed
//   if (use.edition() != nullptr) use.edition()->policy->judge(url);
//   editions.replace(std::move(edition));  // one thread at a time: waits until nobody uses the former one; frees it
// A Use takes no lock and never waits; it costs two additions to a counter that few other threads use. A shared_ptr
// would do the same with one counter for all threads, whose cache line then limits them together.
// How: a Use counts itself in one of two sets of counters before it reads the pointer. replace() changes the pointer
// first; who is counted only after that sees the new edition. It waits for one set to be empty, has newcomers count in
// that one, and waits for the other: so it ends even where there is always somebody who asks.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "filter/policy/policy.h"

namespace bloomwall::library {

struct Edition {
  std::shared_ptr<const filter::Policy> policy;
  bool checks_reads = false;  // Policy::damage() is to be asked after each question
};

class Editions {
  static constexpr std::size_t kStripes = 32;
  static constexpr std::size_t kCacheLine = 64;
  using Count = std::atomic<std::uint64_t>;
  struct alignas(kCacheLine) Stripe {
    std::array<Count, 2> users{};
  };

 public:
  class Use {
   public:
    explicit Use(const Editions& editions);
    ~Use() { users_.fetch_sub(1, std::memory_order_release); }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    const Edition* edition() const { return edition_; }  // null: there has been none yet

   private:
    Count& users_;
    const Edition* edition_;
  };

  Editions() = default;
  ~Editions() { delete current_.load(); }
  Editions(const Editions&) = delete;
  Editions& operator=(const Editions&) = delete;

  void replace(std::unique_ptr<const Edition> edition);

 private:
  void wait_until_empty(std::size_t set) const;

  std::atomic<const Edition*> current_ = nullptr;  // owned
  std::atomic<std::size_t> set_ = 0;               // where newcomers are counted
  mutable std::array<Stripe, kStripes> stripes_;
};

}  // namespace bloomwall::library
