// SPDX-License-Identifier: Apache-2.0
#include "filter/url/idna.h"

#include <algorithm>
#include <memory>
#include <string>

#include <idn2.h>

namespace bloomwall::filter {
namespace {

struct FreeIdn2 {
  void operator()(std::uint8_t* p) const noexcept { idn2_free(p); }
};
using Idn2String = std::unique_ptr<std::uint8_t, FreeIdn2>;

// Without the round trip, which applies the STD3 rules after all.
constexpr int kFlags = IDN2_NONTRANSITIONAL | IDN2_NFC_INPUT | IDN2_NO_ALABEL_ROUNDTRIP;

// Stands for '-' while libidn2 looks: neither composes with a mark, nor is it a letter in the Bidi rule, and no host that
// comes this far holds it.
constexpr char kHyphenStandIn = '\x01';

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

// Forbidden domain code points of the URL standard, as far as they are ASCII.
bool has_forbidden_octet(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) <= 0x20 || c == 0x7F ||
           std::string_view("#%/:<>?@[\\]^|").find(c) != std::string_view::npos;
  });
}

struct Dot {
  std::size_t begin;
  std::size_t size;
};

// '.' and the three that UTS 46 treats as it: U+3002, U+FF0E, U+FF61.
Dot find_dot(std::string_view text) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '.') return {.begin = at, .size = 1};
    const std::string_view here = text.substr(at, 3);
    if (here == "\u3002" || here == "\uFF0E" || here == "\uFF61") return {.begin = at, .size = 3};
  }
  return {.begin = text.size(), .size = 0};
}

int to_ascii(const std::string& label, Idn2String& out) {
  std::uint8_t* raw = nullptr;
  const int status = idn2_lookup_u8(reinterpret_cast<const std::uint8_t*>(label.c_str()), &raw, kFlags);
  out.reset(status == IDN2_OK ? raw : nullptr);
  return status;
}

void replace_all(std::string& text, std::string_view from, char to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + 1)) {
    text.replace(at, from.size(), 1, to);
  }
}

// libidn2 always refuses hyphens at the ends and in third and fourth place, which names in use have. Which ASCII
// character stands at a place changes nothing else in punycode, so hide the hyphens and put them back.
bool append_hyphenated(std::string label, std::string& out) {
  for (const std::string_view hyphen : {"-", "\uFE63", "\uFF0D"}) replace_all(label, hyphen, kHyphenStandIn);
  Idn2String result;
  if (to_ascii(label, result) != IDN2_OK) return false;
  std::string ascii(reinterpret_cast<const char*>(result.get()));
  const std::string_view name = std::string_view(ascii).substr(ascii.starts_with("xn--") ? 4 : 0);
  if (name.starts_with("xn\x01\x01")) return false;  // an A-label with other letters in it
  std::replace(ascii.begin(), ascii.end(), kHyphenStandIn, '-');
  out.append(ascii);
  return true;
}

bool append_label(std::string_view label, std::string& out) {
  if (is_ascii(label)) {
    out.append(label);
    return true;
  }
  if (label.size() > kMaxUnicodeLabel) return false;
  const std::string terminated(label);
  Idn2String result;
  const int status = to_ascii(terminated, result);
  if (status == IDN2_HYPHEN_STARTEND || status == IDN2_2HYPHEN) return append_hyphenated(terminated, out);
  if (status != IDN2_OK) return false;
  out.append(reinterpret_cast<const char*>(result.get()));
  return true;
}

}  // namespace

bool append_ascii_host(std::string_view utf8, std::string& out) {
  const auto dots = static_cast<std::size_t>(std::count(utf8.begin(), utf8.end(), '.'));
  if (utf8.size() - dots > kMaxUnicodeHost || has_forbidden_octet(utf8)) return false;
  const std::size_t bottom = out.size();
  for (;;) {
    const Dot dot = find_dot(utf8);
    if (!append_label(utf8.substr(0, dot.begin), out)) break;
    if (dot.size == 0) {
      if (has_forbidden_octet(std::string_view(out).substr(bottom))) break;  // "¨" maps to a space and a mark
      return true;
    }
    out.push_back('.');
    utf8.remove_prefix(dot.begin + dot.size);
  }
  out.resize(bottom);
  return false;
}

}  // namespace bloomwall::filter
