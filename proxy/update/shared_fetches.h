// What one run of `bloomwall update` has fetched: a list that several filters are made of, such as an archive of
// categories, is fetched once. What a filter fetches is kept, in a file without a name, for the filters after it that
// have a source of the same URL and the same header; so is that it has not changed, or could not be fetched.
// Disk: such a list once more until the run ends. Blocking; not thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>
#include <tl/expected.hpp>
#include <tuple>
#include <vector>

#include "base/handles.h"
#include "conf/config.h"
#include "proxy/update/fetch.h"

namespace bloomwall::proxy {

class SharedFetches {
 public:
  // `filters`: those of the run.
  explicit SharedFetches(const std::vector<const conf::Filter*>& filters);
  // Whether several filters, or sources, have it.
  bool is_shared(const std::string& url) const { return shared_.contains(url); }
  // As fetch() in fetch.h.
  tl::expected<Fetched, FetchFailure> fetch(const FetchRequest& request, const FetchWay& way, int into);

 private:
  // Requests that would bring the same.
  using Key = std::tuple<std::string, std::string, bool>;  // URL, secret header, allows_http
  struct Known {
    tl::expected<Fetched, FetchFailure> result;
    UniqueFd body = {};  // of what is not unchanged
  };
  tl::expected<Fetched, FetchFailure> fetch_and_keep(const FetchRequest& request, const FetchWay& way, int into);

  std::set<std::string> shared_;  // URLs, and files, of several filters
  std::map<Key, Known> known_;
};

}  // namespace bloomwall::proxy
