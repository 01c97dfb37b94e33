// A policy of libbloomwall over files, asked as a C program asks.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "include/bloomwall.h"

namespace bloomwall::library {

struct FreePolicy {
  void operator()(bw_policy* policy) const noexcept { bw_free(policy); }
};
struct FreeAnswer {
  void operator()(bw_answer* answer) const noexcept { bw_answer_free(answer); }
};
using OwnPolicy = std::unique_ptr<bw_policy, FreePolicy>;
using OwnAnswer = std::unique_ptr<bw_answer, FreeAnswer>;

inline int ask(const OwnPolicy& policy, int kind, std::string_view text) {
  return bw_ask(policy.get(), kind, text.data(), text.size(), nullptr);
}

// "2 listed ads example.com", "0 unlisted"; of an error its number and text.
inline std::string say(const OwnPolicy& policy, int kind, std::string_view text) {
  const OwnAnswer answer(bw_answer_new());
  const int verdict = bw_ask(policy.get(), kind, text.data(), text.size(), answer.get());
  if (verdict < 0) return std::to_string(verdict) + " " + bw_error_text();
  std::string out = std::to_string(verdict) + " " + bw_answer_reason(answer.get());
  if (*bw_answer_filter(answer.get()) != '\0') out.append(" ").append(bw_answer_filter(answer.get()));
  std::size_t length = 0;
  const char* const expression = bw_answer_expression(answer.get(), &length);
  if (length != 0) out.append(" ").append(expression, length);
  return out;
}

}  // namespace bloomwall::library
