// The lines of the exports beside state.db, one for each exception in each of them. A line is made when its exception
// is new: with 10,000 of them, making all lines again for each change would take longer than the change itself.
//   exceptions.json   the item as JSON (exception_item.h)
//   exceptions.txt    allow_line() of it; none where it says nothing that an allow list can say, or has ended
// Not thread-safe. Memory: the texts, twice while set() runs. Cost of set(): that of the lines that are new.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "proxy/state/exception_item.h"

namespace bloomwall::proxy {

class ExportLines {
 public:
  // Of `exceptions`, which are in the order of their ids. What an id stands for stays the same, or it is forgotten.
  void set(const std::vector<ExceptionItem>& exceptions);
  // That exception has changed: the next set() makes its line again.
  void forget(std::uint64_t id);

  std::string json() const;                     // the members of a JSON array, one a line
  std::string allowed(std::int64_t now) const;  // an allow list
  std::size_t made() const { return made_; }    // lines, since the beginning

 private:
  struct Line {
    std::uint64_t id = 0;
    std::int64_t until = 0;
    std::string json, allowed;
  };
  std::vector<Line> lines_;  // by id
  std::size_t made_ = 0;
};

}  // namespace bloomwall::proxy
