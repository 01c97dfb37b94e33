// Holds a filter file against the list it was built from: entries drawn from all over the list must be found, requests
// for what is not in it must not be, beyond the promised share. What is asked goes the way of a request in the proxy
// (Canonicaliser, UrlParts, UrlHashes, Lookup); only the questions to section P are put off and asked in the order of
// the file (question_sweep.h), so that a file larger than memory does not cost a disk read a question.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/ten_billion/question_sweep.h"
#include "bench/ten_billion/rate.h"
#include "bench/ten_billion/url_series.h"
#include "filter/policy/lookup.h"

namespace bloomwall::bench {

// Questions of one request to one section: how many requests had how many.
class Tally {
 public:
  void add(std::uint32_t questions) { ++counts_[std::min<std::size_t>(questions, counts_.size() - 1)]; }
  void add(const Tally& other);
  double mean() const;
  std::uint32_t percentile(double share) const;  // 0.99: the least number that so many requests do not pass

 private:
  std::array<std::uint64_t, 256> counts_{};
};

struct ClassResult {
  std::string name;
  Rate matched;
  Tally host_questions, path_questions;
};

struct ProofSizes {
  std::uint64_t sampled = 0, unlisted_hosts = 0, listed_hosts = 0, mixed_hosts = 0;
};
struct ProofResult {
  bool file_held = false;               // it could be read to the end
  ClassResult sampled;                  // entries; all must match
  std::array<ClassResult, 3> requests;  // for what is not listed
  std::vector<std::string> missed;      // the first few entries that were not found
  std::uint64_t questions_swept = 0;
};

class Proof {
 public:
  Proof(const filter::FilterFile& file, const UrlSeries& series, unsigned threads)
      : file_(file), series_(series), plan_(file), threads_(threads), sweep_(file) {}

  // Two steps, so that what each costs can be told apart: everything about hosts, then everything about paths.
  void ask_hosts(const ProofSizes& sizes);
  ProofResult ask_paths();

 private:
  using Make = std::function<void(std::uint64_t number, std::string& url)>;
  struct Class {
    std::string name;
    std::uint64_t first = 0, count = 0;  // request numbers
    Make make;
    Tally host_questions, path_questions;
  };
  void ask(Class& of);
  void mark(std::uint32_t request);
  bool is_marked(std::uint64_t request) const;
  ClassResult result_of(const Class& of) const;

  const filter::FilterFile& file_;
  const UrlSeries& series_;
  filter::FilterPlan plan_;
  unsigned threads_;
  QuestionSweep sweep_;
  std::vector<Class> classes_;
  std::vector<std::uint64_t> matched_;  // a bit a request; set through atomic_ref
};

}  // namespace bloomwall::bench
