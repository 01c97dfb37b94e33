// SPDX-License-Identifier: Apache-2.0
#include "filter/url/host.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "filter/url/idna.h"
#include "filter/url/ipv4.h"
#include "filter/url/ipv6.h"
#include "filter/url/percent.h"

namespace bloomwall::filter {
namespace {

void note(UrlReason reason, HostReading& reading) {
  if (reading.reason == UrlReason::none) reading.reason = reason;
}

constexpr std::array<bool, 256> make_odd_table() {
  std::array<bool, 256> odd{};
  for (unsigned c = 0; c < 256; ++c) odd[c] = c <= 0x20 || c >= 0x7F;
  for (const char c : std::string_view("#%<>^|\"`{}!$&'()*+,;=~")) odd[static_cast<unsigned char>(c)] = true;
  return odd;
}
constexpr std::array<bool, 256> kOddOctet = make_odd_table();

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

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

// Step 9. False: the name ends in a number and is no address.
bool read_number(std::string& host, HostReading& reading) {
  if (!is_ascii(host)) return true;  // refused by step 7 already
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
// spelt, for browsers refuse both before they map. False: `name` is unchanged.
bool map_name(std::string& name, std::string& scratch, HostReading& reading) {
  scratch.clear();
  if (!append_ascii_host(name, scratch) || scratch.empty()) return false;
  const bool dropped = lower_and_undot(scratch);
  const Ipv4Reading number = read_ipv4(scratch);
  if (number.ends_in_number && !number.address) return false;
  if (dropped) note(UrlReason::odd_dots, reading);
  name.swap(scratch);
  return true;
}

// Steps 7 and 8. The decoded name, in ASCII where UTS 46 allows. False where it holds a separator.
bool decode_name(std::string_view raw, std::string& name, std::string& scratch, HostReading& reading) {
  name.clear();
  append_decoded_fully(raw, name);
  if (name.size() != raw.size()) note(UrlReason::escaped_host, reading);
  if (name.find_first_of("/\\?@:[]") != std::string::npos) {
    note(UrlReason::separator_in_host, reading);
    return false;
  }
  if (!is_ascii(name) && !map_name(name, scratch, reading)) note(UrlReason::bad_idn, reading);
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
  const auto is_odd = [](char c) { return kOddOctet[static_cast<unsigned char>(c)]; };
  if (std::any_of(host.begin(), host.end(), is_odd)) {
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
