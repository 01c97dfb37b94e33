// Random URLs for property tests: put together from the pieces that URL parsers disagree about (nested escapes, dot
// segments, both slashes, numeric and bracketed hosts, names beyond ASCII, ports, control octets), then sometimes
// mutated. The same seed gives the same URLs on every machine.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <string_view>

namespace bloomwall::filter {

class UrlGenerator {
 public:
  explicit UrlGenerator(std::uint64_t seed) : random_(seed) {}

  std::string url() {
    std::string out = chance(12) ? "http://" : std::string(pick(kSchemes));
    if (chance(1)) out += pick(kUserinfo);
    out += host();
    if (chance(3)) out += pick(kPorts);
    out += path();
    if (chance(3)) mutate(out);
    if (chance(2)) escape_some(out);
    return out;
  }

  std::string host() {
    switch (below(8)) {
      case 0:
        return join(kNumbers, 5, ".");
      case 1:
        return "[" + join(kGroups, 10, ":") + "]";
      case 2:
        return join(kInternational, 6, "");
      case 3:
        return join(kOddLabels, 4, ".");
      case 4:
        return nest_escapes(join(kLabels, 3, "."));
      default:
        return join(kLabels, 4, ".");
    }
  }

  std::string path() {
    if (chance(1)) return std::string(pick(kAfterHost));
    std::string out = "/";
    for (std::uint64_t n = below(14); n > 0; --n) out += pick(kPathPieces);
    if (chance(2)) out = nest_escapes(out);
    return out;
  }

  // A URL that is canonical already, or nearly: ports, escapes that stay as they are and such as do not, parameters,
  // queries that hold URLs; now and then of some thousand octets, in one segment or in hundreds.
  std::string nearly_canonical() {
    std::string out = chance(8) ? "http://" : "https://";
    out += chance(14) ? join(kPlainLabels, 4, ".") : chance(8) ? std::string(pick(kAddresses)) : host();
    if (chance(1)) out += "." + std::string(48 + below(20), 'n');
    if (chance(7)) out += chance(4) ? std::string(pick(kPorts)) : ":" + std::to_string(below(70000));
    const std::uint64_t most = chance(1) ? 500 : 12;
    if (chance(15)) append_nearly_plain(out, most, chance(12) ? "/" : "");
    if (chance(6)) {
      out += '?';
      if (chance(12)) append_nearly_plain(out, most, "");
      for (std::uint64_t n = chance(8) ? below(most) : 0; n > 0; --n) out += pick(kEscapes);
    }
    if (chance(1)) mutate(out);
    return out;
  }

  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }

 private:
  using Pieces = std::span<const std::string_view>;
  bool chance(unsigned of_16) { return below(16) < of_16; }
  std::string_view pick(Pieces pieces) { return pieces[below(pieces.size())]; }

  std::string join(Pieces pieces, std::uint64_t most, std::string_view between) {
    std::string out(pick(pieces));
    for (std::uint64_t n = below(most); n > 0; --n) (out += between) += pick(pieces);
    return out;
  }

  // Of so many pieces at most. One such text in four or so has something odd.
  void append_nearly_plain(std::string& out, std::uint64_t most, std::string_view between) {
    if (between.empty() && !out.ends_with('?')) out += '/';
    for (std::uint64_t n = below(most); n > 0; --n) {
      (out += between) += pick(kPlainPieces);
      if (below(16) == 0) out += pick(kKeptEscapes);
      if (below(4 * most) == 0) out += pick(kPathPieces);
      if (below(4 * most) == 0) out += pick(kEscapes);
    }
  }

  // Escapes some octets, each up to four times over.
  std::string nest_escapes(std::string_view text) {
    static constexpr std::string_view kDigits = "0123456789ABCDEFabcdef";
    std::string out;
    for (const char c : text) {
      const auto octet = static_cast<unsigned char>(c);
      if (octet >= 0x80 || !chance(4)) {
        out += c;
        continue;
      }
      out += '%';
      for (std::uint64_t n = below(4); n > 0; --n) out += "25";
      out += kDigits[octet >> 4U];
      out += kDigits[(octet & 15U) + (chance(8) && (octet & 15U) > 9 ? 6 : 0)];
    }
    return out;
  }

  void escape_some(std::string& text) {
    const std::uint64_t begin = below(text.size() + 1);
    text = text.substr(0, begin) + nest_escapes(text.substr(begin));
  }

  void mutate(std::string& text) {
    static constexpr std::string_view kBytes = "/\\?#@:%[].&;25feEF0x \t\r\n\x01\x7F\x80\xC3\xA9";
    for (std::uint64_t n = 1 + below(3); n > 0; --n) {
      const std::uint64_t at = below(text.size() + 1);
      switch (below(4)) {
        case 0:
          text.insert(at, 1, kBytes[below(kBytes.size())]);
          break;
        case 1:
          text.insert(at, 1, static_cast<char>(below(256)));
          break;
        case 2:
          text.erase(at, below(4));
          break;
        default:
          text.insert(at, text.substr(below(text.size() + 1), below(8)));
          break;
      }
    }
  }

  static constexpr std::string_view kSchemes[] = {
      "https://", "HTTP://", "hTTpS://",  "ftp://",    "FTP://",    "ws://",    "wss://",
      "",         "",        "http:\\\\", "http:/\\",  "http:/",    "http:",    "http:///",
      "mailto:",  "//",      "x-y+z.:",   "  http://", "\thttp://", "ht\ntp://"};
  static constexpr std::string_view kUserinfo[] = {"user@",           "user:p@ss@", "@", "good.example%2F@",
                                                   "good.example\\@", "a@b@"};
  static constexpr std::string_view kPorts[] = {":80", ":",      ":0443",  ":99999",
                                                ":8o", ":65535", ":65536", ":00000000000000000080",
                                                ":+1", ":-1",    ":80:80", ": 80"};
  static constexpr std::string_view kAfterHost[] = {"", "?", "?q", "?a=b/../c", "\\", "\\a\\..\\b", "#f", "?a#f", ";x"};
  static constexpr std::string_view kLabels[] = {"evil",         "example", "test", "www", "a",   "b-c",
                                                 "x_y",          "-a",      "a-",   "com", "WWW", "xn--bcher-kva",
                                                 "XN--MLAT-ZRA", "a--b",    "1a",   "0xg"};
  static constexpr std::string_view kPlainLabels[] = {"www", "example", "test", "a", "cdn-1", "x_y", "0a", "xn--a"};
  static constexpr std::string_view kAddresses[] = {"192.0.2.1", "127.0.0.1", "[2001:db8::1]", "0x7f.1", "10.1"};
  static constexpr std::string_view kPlainPieces[] = {
      "a", "section", "index.html", "v1.2", "x-y_z~", "0123456789abcdef", "=1", "&id=abc", "+(b)*c,", "@:!$", "x/y"};
  static constexpr std::string_view kKeptEscapes[] = {"%C3%A9", "%E4%BD%A0", "%7F", "%FF"};
  static constexpr std::string_view kEscapes[] = {"%c3%a9", "%3A%2F%2F", "%2f", "%3D", "%41", "%25",   "%2520", "%2525",
                                                  "%3B",    ";",         "/",   "%3F", "%2E", "%5C",   "%",     "%2",
                                                  "%g0",    "%%20",      "%20", "%23", "%00", "%0A%09"};
  static constexpr std::string_view kOddLabels[] = {
      "",     "",
      ".",    "a b",
      "a!b",  "<a>",
      "a^b",  "a`b",
      "a{b}", "~a",
      "a|b",  "$",
      "a'b",  "(a)",
      "*",    "a+b",
      "a,b",  "a;b",
      "a=b",  "evil",
      "com",  "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffgggg"};
  static constexpr std::string_view kNumbers[] = {"0",
                                                  "1",
                                                  "255",
                                                  "256",
                                                  "0x7f",
                                                  "0X",
                                                  "0x",
                                                  "017",
                                                  "08",
                                                  "0x1ff",
                                                  "65536",
                                                  "4294967295",
                                                  "4294967296",
                                                  "00x0",
                                                  "99999999999999999999",
                                                  "0x0000000000007f",
                                                  "00000000000000000017",
                                                  "127",
                                                  "1e3",
                                                  "a",
                                                  "",
                                                  "-1",
                                                  "16777216",
                                                  "0377",
                                                  "0400"};
  static constexpr std::string_view kGroups[] = {"",           "",         "",      "0",         "0",    "0",
                                                 "1",          "db8",      "2001",  "FFFF",      "ffff", "00ff",
                                                 "0000",       "64",       "ff9b",  "12345",     "g",    "1.2.3.4",
                                                 "192.0.2.33", "1.2.3.04", "1.2.3", "256.1.1.1", "fe80", "1%25eth0"};
  static constexpr std::string_view kInternational[] = {
      "\u00E9", "\u00C9", "\u00FC", "\u00DF", "\u3002", "\uFF0E",       "\uFF61", "\uFF45", "\uFF56",
      "\uFF11", "\u2460", "\u00AD", "\u200B", "\u212A", "\u65E5\u672C", "\u4E2D", "a",      "evil",
      ".com",   ".",      ".test",  "_",      "\uFB01", "\u03A9",       "\u0436", "x"};
  static constexpr std::string_view kPathPieces[] = {
      "/",     "/",      "/",          "//",  "\\",    ".",   "..",       "/.",     "/..",    "/../", "/./", "a",
      "b",     "evil",   "%2e",        "%2E", "%252e", "%25", "%2525",    "%2f",    "%2F",    "%5c",  "%5C", "%252f",
      "%255c", "%3f",    "%253f",      "%",   "%%",    "%2",  "%%32e",    "%2%65",  "%32%65", "%zz",  "?",   ";p=1",
      "...",   "%2e%2e", "%252e%252e", "%00", "%09",   " ",   "\xC3\xA9", "%C3%A9", "\x80",   "\x7F", "%23", "!",
      "~",     "%7E",    "%41",        "*",   "|",     "\"",  "%25252e",  "%c0%af"};

  std::mt19937_64 random_;
};

}  // namespace bloomwall::filter
