// Counts refused credentials by client and by user name; after `authentication.attempts` of them within a minute (or
// another window) either is locked for `authentication.lock`. Unknown names are counted like others, so that
// a lock says nothing.
// Bounded: kMost entries; where that is reached, of a few entries the one that matters least makes room.
// Cost: a lock and a hash look-up, for clients whose credentials are not in the cache only. Any thread.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string_view>
#include <unordered_map>

#include "base/units.h"

namespace bloomwall::proxy {

class AttemptLimits {
 public:
  static constexpr std::size_t kMost = 65'536;
  static constexpr Milliseconds kWindow{60'000};
  using Key = std::array<std::uint8_t, 16>;  // an address, or the beginning of a name's keyed hash

  explicit AttemptLimits(Milliseconds window = kWindow) : window_(window) {}

  void note_refusal(const Key& key, std::uint32_t most, Milliseconds lock, Milliseconds now);
  // How many refusals it may have before it is locked, of `most`; 0: it is locked.
  std::uint32_t left(const Key& key, std::uint32_t most, Milliseconds now) const;
  // How much longer it is locked; 0: it is not.
  Milliseconds locked_for(const Key& key, Milliseconds now) const;
  std::size_t locked(Milliseconds now) const;  // how many are; looks at all entries
  std::size_t size() const;

 private:
  struct Entry {
    Milliseconds since{0};  // the first refusal of its window
    std::uint32_t refusals = 0;
    Milliseconds locked_until{0};
    Milliseconds matters_until(Milliseconds window) const {
      return locked_until > since + window ? locked_until : since + window;
    }
  };
  struct Hash {
    std::size_t operator()(const Key& key) const {
      return std::hash<std::string_view>{}({reinterpret_cast<const char*>(key.data()), key.size()});
    }
  };
  void make_room();

  const Milliseconds window_;
  mutable std::mutex mutex_;
  std::unordered_map<Key, Entry, Hash> entries_;  // guarded by mutex_
};

}  // namespace bloomwall::proxy
