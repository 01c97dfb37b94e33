// SPDX-License-Identifier: Apache-2.0
#include "filter/url/host.h"

#include <libpsl.h>
#include <unicode/uchar.h>
#include <unicode/uidna.h>
#include <unicode/uloc.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "filter/url/address.h"
#include "filter/url/percent.h"

namespace bloomwall::filter {
namespace {

struct CloseUidna {
  void operator()(UIDNA* p) const noexcept { uidna_close(p); }
};
using UidnaPtr = std::unique_ptr<UIDNA, CloseUidna>;

// Made once, never changed: ICU allows any number of threads to ask it. Null where ICU has no data: then every name
// fails.
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

namespace {

void note(UrlReason reason, HostReading& reading) {
  if (reading.reason == UrlReason::none) reading.reason = reason;
}

enum : std::uint8_t { kOdd = 1, kSeparator = 2, kBeyondAscii = 4 };

constexpr std::array<std::uint8_t, 256> make_host_table() {
  std::array<std::uint8_t, 256> table{};
  for (unsigned c = 0; c < 256; ++c) table[c] = c <= 0x20 || c >= 0x7F ? kOdd : 0;
  for (unsigned c = 0x80; c < 256; ++c) table[c] |= kBeyondAscii;
  for (const char c : std::string_view("#%<>^|\"`{}!$&'()*+,;=~")) table[static_cast<unsigned char>(c)] |= kOdd;
  for (const char c : std::string_view("/\\?@:[]")) table[static_cast<unsigned char>(c)] |= kSeparator;
  return table;
}
constexpr std::array<std::uint8_t, 256> kHostClass = make_host_table();

bool is(std::uint8_t octet_class, char c) { return (kHostClass[static_cast<unsigned char>(c)] & octet_class) != 0; }
bool has(std::uint8_t octet_class, std::string_view text) {
  return std::any_of(text.begin(), text.end(), [=](char c) { return is(octet_class, c); });
}

// Step 8, in place. Lower case, no empty label. True where an empty label other than one at the very end was dropped.
bool lower_and_undot(std::string& name) {
  const bool dropped = name.starts_with('.') || name.find("..") != std::string::npos;
  make_lower(name);
  name.erase(0, name.find_first_not_of('.'));
  name.erase(std::unique(name.begin(), name.end(), [](char a, char b) { return a == '.' && b == '.'; }), name.end());
  if (name.ends_with('.')) name.pop_back();
  return dropped;
}

bool too_long(std::string_view name) {
  if (name.size() > kMaxHost) return true;
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find('.', begin), name.size());
    if (end - begin > kMaxLabel) return true;
    begin = end + 1;
  }
  return false;
}

// Step 10.
HostReading read_literal(std::string_view raw, std::string& host) {
  host.clear();
  HostReading reading{.reason = UrlReason::bad_ipv6, .kind = HostKind::ipv6};
  const auto address = read_address(raw);
  if (!address) return reading;
  address->append_host(host);
  reading.kind = kind_of(*address);
  reading.has_canonical = true;
  reading.reason = UrlReason::none;
  return reading;
}

// Step 9. False: the name ends in a number and is no address.
bool read_number(std::string& host, HostReading& reading) {
  if (has(kBeyondAscii, host)) return true;  // refused by step 7 already
  const Ipv4Reading number = read_ipv4(host);
  if (!number.ends_in_number) return true;
  if (!number.address) {
    note(UrlReason::bad_ipv4, reading);
    return false;
  }
  host.clear();
  IpAddress::v4(*number.address).append_host(host);
  reading.kind = HostKind::ipv4;
  return true;
}

// UTS 46, then step 8. A name that maps to nothing at all ("\u00AD") or to a number that is no address stays as it was
// spelt, for browsers refuse both before they map; to them two dots at the end make it no number. False: `name` is
// unchanged.
bool map_name(std::string& name, std::string& scratch, HostReading& reading) {
  scratch.clear();
  if (!append_ascii_host(name, scratch) || scratch.empty()) return false;
  const bool may_be_number = !scratch.ends_with("..");
  const bool dropped = lower_and_undot(scratch);
  const Ipv4Reading number = read_ipv4(scratch);
  if (may_be_number && number.ends_in_number && !number.address) return false;
  if (dropped) note(UrlReason::odd_dots, reading);
  name.swap(scratch);
  return true;
}

// Steps 7 and 8. The decoded name, in ASCII where UTS 46 allows. False where it holds a separator.
bool decode_name(std::string_view raw, std::string& name, std::string& scratch, HostReading& reading) {
  name.clear();
  append_decoded_fully(raw, name);
  if (name.size() != raw.size()) note(UrlReason::escaped_host, reading);
  if (has(kSeparator, name)) {
    note(UrlReason::separator_in_host, reading);
    return false;
  }
  if (has(kBeyondAscii, name) && !map_name(name, scratch, reading)) note(UrlReason::bad_idn, reading);
  if (lower_and_undot(name)) note(UrlReason::odd_dots, reading);
  return true;
}

}  // namespace

HostReading read_host(std::string_view raw, std::string& host, std::string& scratch) {
  if (raw.starts_with('[')) return read_literal(raw, host);
  HostReading reading;
  if (!decode_name(raw, host, scratch, reading)) return reading;
  if (host.empty()) {
    note(UrlReason::empty_host, reading);
    return reading;
  }
  if (!read_number(host, reading)) return reading;
  if (has(kOdd, host)) {
    note(UrlReason::bad_host_octet, reading);
    scratch.clear();
    append_escaped(host, Separators::plain, scratch);
    if (too_long(host)) note(UrlReason::host_too_long, reading);
    host.swap(scratch);
  } else if (too_long(host)) {
    note(UrlReason::host_too_long, reading);
  }
  reading.has_canonical = true;
  return reading;
}

namespace {

// Two letters that ISO 3166 gives to a country: each has, or may be given, the top-level domain of that name.
bool is_country(std::string_view host) {
  if (host.size() != 2) return false;
  static const std::set<std::string, std::less<>> countries = [] {
    std::set<std::string, std::less<>> codes;
    for (const char* const* code = uloc_getISOCountries(); *code != nullptr; ++code) {
      std::string lower(*code);
      make_lower(lower);
      codes.insert(std::move(lower));
    }
    return codes;
  }();
  const std::array<char, 2> lower{to_lower(host[0]), to_lower(host[1])};
  return countries.contains(std::string_view(lower.data(), lower.size()));
}

bool is_suffix(std::string_view host, int sections) {
  // A longer name cannot be one, and libpsl wants a NUL at the end.
  constexpr std::size_t kLongest = 127;
  if (host.empty() || host.size() > kLongest) return false;
  std::array<char, kLongest + 1> text;
  *std::transform(host.begin(), host.end(), text.begin(), to_lower) = '\0';
  // Without the star rule: "intranet", unknown to the list, is no suffix.
  return psl_is_public_suffix2(psl_builtin(), text.data(), sections | PSL_TYPE_NO_STAR_RULE) != 0;
}

}  // namespace

bool is_public_suffix(std::string_view host) { return is_country(host) || is_suffix(host, PSL_TYPE_ANY); }
bool is_registry_suffix(std::string_view host) { return is_country(host) || is_suffix(host, PSL_TYPE_ICANN); }

bool is_known_top_level(std::string_view label) {
  // Without a registry of the root: RFC 2606, RFC 6761, RFC 7686, networks of their own and at home, Namecoin and
  // Emercoin.
  constexpr std::array<std::string_view, 16> kOthers{"example", "test", "invalid",  "localhost", "local", "lan",
                                                     "home",    "corp", "internal", "onion",     "i2p",   "bit",
                                                     "bazar",   "coin", "emc",      "lib"};
  if (is_one_of(label, kOthers) || is_top_level_domain(label)) return true;
  if (!has(kBeyondAscii, label)) return false;
  std::string ascii;
  return append_ascii_host(label, ascii) && is_top_level_domain(ascii);
}

bool ends_in_known_top_level(std::string_view host) {
  std::string ascii;
  if (has(kBeyondAscii, host)) {
    if (!append_ascii_host(host, ascii)) return false;
    host = ascii;
  }
  if (host.ends_with('.')) host.remove_suffix(1);
  const std::size_t dot = host.rfind('.');
  return dot != std::string_view::npos && is_known_top_level(host.substr(dot + 1));
}

std::uint64_t public_suffix_time() {
  const auto made = psl_builtin_file_time();
  return made > 0 ? static_cast<std::uint64_t>(made) : 0;
}

}  // namespace bloomwall::filter
