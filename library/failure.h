// What the last call that failed says (bw_error_code, bw_error_text), and the door through which every call of the
// library goes: nothing that is thrown inside leaves it.
// Threads: each has its own.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <new>
#include <string_view>
#include <vector>

#include "filter/result.h"

namespace bloomwall::library {

// The number of an error in bloomwall.h.
int number_of(filter::Errc code);

// Each notes an error and returns its number.
int fail(int number, std::string_view text) noexcept;
int fail(const filter::Error& error);
int fail(const std::vector<filter::Error>& errors);  // the number is that of the first; not empty
int fail_without_memory() noexcept;
int fail_unexpectedly(const char* what) noexcept;

// What `call` returns, or the error that it threw, as otherwise() has it.
template <typename Call, typename Otherwise>
auto guarded(const Call& call, const Otherwise& otherwise) noexcept -> decltype(call()) {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    return otherwise(fail_without_memory());
  } catch (const std::exception& thrown) {
    return otherwise(fail_unexpectedly(thrown.what()));
  } catch (...) {
    return otherwise(fail_unexpectedly("an exception without a text"));
  }
}
template <typename Call>
int guarded(const Call& call) noexcept {
  return guarded(call, [](int number) { return number; });
}

}  // namespace bloomwall::library
