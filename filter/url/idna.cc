// SPDX-License-Identifier: Apache-2.0
#include "filter/url/idna.h"

#include <algorithm>
#include <memory>

#include <unicode/uchar.h>
#include <unicode/uidna.h>

namespace bloomwall::filter {
namespace {

struct CloseUidna {
  void operator()(UIDNA* p) const noexcept { uidna_close(p); }
};
using UidnaPtr = std::unique_ptr<UIDNA, CloseUidna>;

// Made once, never changed: ICU allows any number of threads to ask it. Null where ICU has no data: then every name fails.
const UIDNA* uts46() {
  static const UidnaPtr tables = [] {
    UErrorCode status = U_ZERO_ERROR;
    constexpr std::uint32_t kOptions = UIDNA_NONTRANSITIONAL_TO_ASCII | UIDNA_CHECK_BIDI | UIDNA_CHECK_CONTEXTJ;
    UidnaPtr opened(uidna_openUTS46(kOptions, &status));
    return U_SUCCESS(status) != 0 ? std::move(opened) : nullptr;
  }();
  return tables.get();
}

// CheckHyphens and VerifyDnsLength are off.
constexpr std::uint32_t kIgnored = UIDNA_ERROR_EMPTY_LABEL | UIDNA_ERROR_LABEL_TOO_LONG |
                                   UIDNA_ERROR_DOMAIN_NAME_TOO_LONG | UIDNA_ERROR_LEADING_HYPHEN |
                                   UIDNA_ERROR_TRAILING_HYPHEN | UIDNA_ERROR_HYPHEN_3_4;

bool has_forbidden_octet(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) <= 0x20 || c == 0x7F ||
           std::string_view("#%/:<>?@[\\]^|").find(c) != std::string_view::npos;
  });
}

}  // namespace

bool append_ascii_host(std::string_view utf8, std::string& out) {
  const auto dots = static_cast<std::size_t>(std::count(utf8.begin(), utf8.end(), '.'));
  if (utf8.size() - dots > kMaxUnicodeHost || has_forbidden_octet(utf8) || uts46() == nullptr) return false;
  const std::size_t bottom = out.size();
  const std::size_t room = 6 * utf8.size() + 64;
  out.resize(bottom + room);
  UIDNAInfo info = UIDNA_INFO_INITIALIZER;
  UErrorCode status = U_ZERO_ERROR;
  const std::int32_t size =
      uidna_nameToASCII_UTF8(uts46(), utf8.data(), static_cast<std::int32_t>(utf8.size()), out.data() + bottom,
                             static_cast<std::int32_t>(room), &info, &status);
  const bool fine = U_SUCCESS(status) != 0 && static_cast<std::size_t>(size) <= room && (info.errors & ~kIgnored) == 0;
  out.resize(bottom + (fine ? static_cast<std::size_t>(size) : 0));
  if (fine && !has_forbidden_octet(std::string_view(out).substr(bottom))) return true;
  out.resize(bottom);
  return false;
}

std::uint32_t unicode_version() {
  UVersionInfo version;
  u_getUnicodeVersion(version);
  return static_cast<std::uint32_t>(version[0]) << 16 | static_cast<std::uint32_t>(version[1]) << 8 | version[2];
}

}  // namespace bloomwall::filter
