// Whether a filter file that was just built may replace the one that is served: every byte of it is verified, hosts and
// URLs that must pass pass, those that must be stopped are, and the error of all filters together stays within
// update.most_error, or is no more than it was.
// Time: that of reading the file. Threads: any.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "conf/config.h"
#include "filter/builder/builder.h"
#include "filter/result.h"
#include "proxy/update/guards.h"

namespace bloomwall::proxy {

struct FileCheck {
  const conf::Filter& filter;
  const conf::Guards& guards;
  const conf::Update& update;
  double other_error = 0;  // of the other filters that block, together
};

// The exact side counts where the filter is served with one, as do the exceptions where it need not be signed. Error: a
// file cannot be read or does not verify.
filter::Result<std::optional<Refusal>> check_file(const FileCheck& check, const filter::BuildOptions::Made& made);

// Whether it is a filter that must not hold what is to pass.
bool stops_requests(const conf::Filter& filter);

// Of a file that is there: what it adds to the error of requests to hosts that are not listed; 0 where it cannot be
// read, or the filter does not block.
double error_of(const conf::Filter& filter);

}  // namespace bloomwall::proxy
