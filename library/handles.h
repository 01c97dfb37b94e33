// What stands behind the handles of bloomwall.h.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <string>
#include <string_view>

#include "filter/policy/filter_store.h"
#include "filter/policy/policy.h"
#include "filter/url/canonical_url.h"
#include "library/editions.h"

// Threads: `editions` by itself; the rest under `mutex`.
struct bw_policy {
  std::mutex mutex;
  bloomwall::filter::PolicySpec spec;
  bool checks_reads = false;  // `check: read`, from the next reload on
  bloomwall::filter::FilterStore store;
  bloomwall::library::Editions editions;
};

// Threads: one at a time.
struct bw_answer {
  // Puts the question, and keeps what a program may ask for afterwards. Allocates as bw_ask() says.
  bloomwall::filter::Decision ask(const bloomwall::filter::Policy& policy, int kind, std::string_view text);

  std::string filter, expression;
  const char* reason = "";

 private:
  bloomwall::filter::Verdict judge(const bloomwall::filter::Policy& policy, int kind, std::string_view text);
  bloomwall::filter::Verdict judge_address(const bloomwall::filter::Policy& policy, std::string_view text);
  bloomwall::filter::Verdict judge_host(const bloomwall::filter::Policy& policy, std::string_view host);

  bloomwall::filter::Canonicaliser canonicaliser_;
  std::string bracketed_;  // an IPv6 address as a host
};
