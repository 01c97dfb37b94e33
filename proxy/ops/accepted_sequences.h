// The highest sequence accepted of each filter, so that nobody can put an older file, or an older delta, in the place of a
// newer one: where the filter has a public key that is refused, else it is told of. Kept by the name and series of the
// filter (filters that share a series have sequences of their own) in the file "sequences" of the state folder:
//   bloomwall-sequences 1
//   NAME SERIES-ID SEQUENCE CONTENT-ID DELTA-SEQUENCE     the last two: of the delta last served, and what it was made for
// To go back on purpose remove the line, or the file, and reload. Not thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "conf/config.h"
#include "filter/policy/policy.h"

namespace bloomwall::proxy {

struct Doubts {
  std::vector<std::string> refusals, warnings;
};
// What the clock and the counts say: past its validity, a rebuild due.
Doubts doubts_of(const filter::Policy& policy, std::chrono::system_clock::time_point now);

class AcceptedSequences {
 public:
  static constexpr std::size_t kMaxBytes = std::size_t{1} << 20;
  static constexpr std::size_t kMaxRecords = 4096;

  // An empty folder, or one without the file: nothing is known yet. A file that can't be read or understood is an error:
  // what it said can't be held against anybody.
  static tl::expected<AcceptedSequences, std::string> load(const std::filesystem::path& folder);
  static tl::expected<AcceptedSequences, std::string> parse(std::string_view text, const std::string& name);

  void judge(const filter::Policy& policy, Doubts& doubts) const;
  void accept(const filter::Policy& policy);
  void merge(const AcceptedSequences& other);  // the higher of each
  // Whole or not at all; only where it says something new. A folder that is not there is made where `make_folder`, else
  // nothing is kept.
  tl::expected<void, std::string> save(const std::filesystem::path& folder, bool make_folder) const;
  std::string text() const;
  bool empty() const { return records_.empty(); }

 private:
  struct Record {
    std::uint64_t sequence = 0;
    filter::FileId base{};
    std::uint64_t delta = 0;
    friend bool operator==(const Record&, const Record&) = default;
  };
  using Key = std::pair<std::string, filter::FileId>;  // name, series id
  static void raise(Record& record, const Record& other);
  std::map<Key, Record> records_;
};

// state_dir, but where it has its default $STATE_DIRECTORY comes first: a service manager made that folder.
std::filesystem::path state_folder(const conf::Config& settings);
bool any_public_key(const conf::Config& settings);

}  // namespace bloomwall::proxy
