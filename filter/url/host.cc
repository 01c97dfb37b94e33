// SPDX-License-Identifier: Apache-2.0
#include "filter/url/host.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "filter/url/idna.h"
#include "filter/url/ipv4.h"
#include "filter/url/ipv6.h"
#include "filter/url/percent.h"

namespace bloomwall::filter {
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
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; });
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
  if (!raw.ends_with(']')) return reading;
  const auto groups = read_ipv6(raw.substr(1, raw.size() - 2));
  if (!groups) return reading;
  if (const auto address = embedded_ipv4(*groups)) {
    append_ipv4(*address, host);
    reading.kind = HostKind::ipv4;
  } else {
    append_ipv6(*groups, host);
  }
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
  append_ipv4(*number.address, host);
  reading.kind = HostKind::ipv4;
  return true;
}

// UTS 46, then step 8. A name that maps to nothing at all ("\u00AD") or to a number that is no address stays as it was
// spelt, for browsers refuse both before they map; to them two dots at the end make it no number. False: `name` is unchanged.
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

}  // namespace bloomwall::filter
