// Questions of very many requests to section P, asked in the order of the file: one sequential pass of a few dozen MiB
// at a time instead of a random read each, so that a file larger than memory is asked a hundred million questions in
// the time it takes to read it once.
// Memory: 16 bytes a question. Not thread-safe; ask() uses threads of its own.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "filter/file/filter_file.h"

namespace bloomwall::bench {

struct SweepQuestion {
  std::uint64_t where = 0;  // page << 35 | fingerprint
  std::uint32_t request = 0;
};
SweepQuestion sweep_question(const filter::Place& place, std::uint32_t request);

class QuestionSweep {
 public:
  explicit QuestionSweep(const filter::FilterFile& file) : file_(file) {}
  void add(const std::vector<SweepQuestion>& questions);
  std::uint64_t size() const { return questions_.size(); }
  // Calls `hit` with the request of each question that the section answers with yes, from several threads. False: the
  // file failed meanwhile, and what was answered means nothing.
  bool ask(unsigned threads, const std::function<void(std::uint32_t request)>& hit);

 private:
  const filter::FilterFile& file_;
  std::vector<SweepQuestion> questions_;
};

}  // namespace bloomwall::bench
