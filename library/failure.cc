// SPDX-License-Identifier: Apache-2.0
#include "library/failure.h"

#include <array>
#include <cstddef>
#include <string>

#include "include/bloomwall.h"

namespace bloomwall::library {
namespace {

struct Failure {
  int number = 0;
  std::string text;
  const char* fixed = "";  // in place of the text where there was no memory for it
};

Failure& last_failure() {
  thread_local Failure failure;
  return failure;
}

int fail_by(int number, const char* text) noexcept {
  last_failure().number = number;
  last_failure().fixed = text;
  return number;
}

// In the order of Errc, which only grows at its end.
constexpr std::array kNumbers{BW_ERROR_IO,         BW_ERROR_TOO_SHORT,    BW_ERROR_BAD_MAGIC,  BW_ERROR_UNSUPPORTED,
                              BW_ERROR_BAD_HEADER, BW_ERROR_BAD_SECTION,  BW_ERROR_BAD_DIGEST, BW_ERROR_BAD_SYNTAX,
                              BW_ERROR_WRONG_BASE, BW_ERROR_UNMET_TARGET, BW_ERROR_LIMIT,      BW_ERROR_USAGE,
                              BW_ERROR_UNTRUSTED,  BW_ERROR_OUTDATED};
static_assert(kNumbers.size() == static_cast<std::size_t>(filter::Errc::outdated) + 1);
static_assert(kNumbers[static_cast<std::size_t>(filter::Errc::usage)] == BW_ERROR_USAGE);

}  // namespace

int number_of(filter::Errc code) { return kNumbers[static_cast<std::size_t>(code)]; }

int fail(int number, std::string_view text) noexcept {
  Failure& failure = last_failure();
  try {
    failure.text.assign(text);
  } catch (...) {
    return fail_without_memory();
  }
  failure.number = number;
  failure.fixed = nullptr;
  return number;
}

int fail(const filter::Error& error) { return fail(number_of(error.code), error.text()); }

int fail(const std::vector<filter::Error>& errors) {
  std::string text;
  for (const filter::Error& error : errors) text.append(text.empty() ? "" : "\n").append(error.text());
  return fail(number_of(errors.front().code), text);
}

int fail_without_memory() noexcept { return fail_by(BW_ERROR_MEMORY, "there is no memory left"); }

int fail_unexpectedly(const char* what) noexcept { return fail(BW_ERROR_INTERNAL, what); }

}  // namespace bloomwall::library

extern "C" {

int bw_error_code(void) { return bloomwall::library::last_failure().number; }

const char* bw_error_text(void) {
  const auto& failure = bloomwall::library::last_failure();
  return failure.fixed != nullptr ? failure.fixed : failure.text.c_str();
}
}
