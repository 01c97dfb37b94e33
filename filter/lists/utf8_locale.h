// Text is UTF-8 for the C library while this lives, on the thread that made it, whatever the environment says:
// libarchive gives no name of a zip archive that the locale's encoding cannot spell, and a service's is often ASCII.
// Not thread-safe, and to be destroyed where it was made. Where the system has no such locale nothing changes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <locale.h>

namespace bloomwall::filter {

class Utf8Locale {
 public:
  Utf8Locale() : locale_(::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr)) {
    if (locale_ != nullptr) before_ = ::uselocale(locale_);
  }
  ~Utf8Locale() {
    if (locale_ == nullptr) return;
    ::uselocale(before_);
    ::freelocale(locale_);
  }
  Utf8Locale(const Utf8Locale&) = delete;
  Utf8Locale& operator=(const Utf8Locale&) = delete;

 private:
  locale_t locale_;
  locale_t before_ = nullptr;
};

}  // namespace bloomwall::filter
