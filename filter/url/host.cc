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

// Step 8. Lower case, no empty label. True where an empty label other than one at the very end was dropped.
bool append_lower_undotted(std::string_view name, std::string& out) {
  bool dropped = false;
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find('.', begin), name.size());
    const std::string_view label = name.substr(begin, end - begin);
    if (label.empty() && end != name.size()) dropped = true;
    if (!label.empty()) {
      if (!out.empty()) out.push_back('.');
      std::transform(label.begin(), label.end(), std::back_inserter(out),
                     [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; });
    }
    begin = end + 1;
  }
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

// A name beyond ASCII may map to nothing ("\u00AD"), or to a number that is no address ("\uFF13.256"). Browsers refuse both
// before they map, so it stays as it was spelt.
bool is_mapped_to_no_host(std::string_view ascii) {
  if (ascii.empty()) return true;
  if (ascii.ends_with('.')) ascii.remove_suffix(1);
  const Ipv4Reading number = read_ipv4(ascii);
  return number.ends_in_number && !number.address;
}

// Step 7. The decoded name, in ASCII where UTS 46 allows; nothing where it holds a separator.
bool decode_name(std::string_view raw, std::string& name, std::string& scratch, HostReading& reading) {
  name.clear();
  append_decoded_fully(raw, name);
  if (name.size() != raw.size()) note(UrlReason::escaped_host, reading);
  if (name.find_first_of("/\\?@:[]") != std::string::npos) {
    note(UrlReason::separator_in_host, reading);
    return false;
  }
  if (is_ascii(name)) return true;
  scratch.clear();
  if (append_ascii_host(name, scratch) && !is_mapped_to_no_host(scratch)) {
    name.swap(scratch);
  } else {
    note(UrlReason::bad_idn, reading);
  }
  return true;
}

}  // namespace

HostReading read_host(std::string_view raw, std::string& host, std::string& scratch) {
  if (raw.starts_with('[')) return read_literal(raw, host);
  HostReading reading;
  if (!decode_name(raw, host, scratch, reading)) return reading;
  scratch.clear();
  if (append_lower_undotted(host, scratch)) note(UrlReason::odd_dots, reading);
  host.swap(scratch);
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
