// SPDX-License-Identifier: Apache-2.0
#include "filter/lists/list_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "base/names.h"
#include "base/text.h"

namespace bloomwall::filter {

namespace {

constexpr auto kFormatNames = name_table<Format>({{Format::auto_detect, "auto"},
                                                  {Format::domains, "domains"},
                                                  {Format::hosts, "hosts"},
                                                  {Format::wildcard, "wildcard"},
                                                  {Format::adblock, "adblock"},
                                                  {Format::dnsmasq, "dnsmasq"},
                                                  {Format::unbound, "unbound"},
                                                  {Format::rpz, "rpz"},
                                                  {Format::squidguard_domains, "squidguard-domains"},
                                                  {Format::squidguard_urls, "squidguard-urls"},
                                                  {Format::squidguard_expressions, "squidguard-expressions"},
                                                  {Format::urls, "urls"},
                                                  {Format::csv, "csv"},
                                                  {Format::privoxy, "privoxy"},
                                                  {Format::mixed, "mixed"},
                                                  {Format::networks, "networks"},
                                                  {Format::json_lines, "json-lines"}});

}  // namespace

const char* to_string(Format format) { return kFormatNames.text(format); }

std::optional<Format> parse_format(std::string_view name) { return kFormatNames.parse(name); }

bool is_order_free(Format format) {
  return format != Format::rpz && format != Format::csv && format != Format::privoxy && format != Format::unbound;
}

// What is no list at all. An error page saved under a list's name is the usual accident; built from, it would silently
// empty a filter.

namespace {

struct Magic {
  std::string_view bytes;
  std::string_view what;
};
constexpr std::array<Magic, 15> kForeignMagic{{
    {"PK\x03\x04", "a zip archive in a stream or in another archive: unpack it first"},
    {"7z\xbc\xaf\x27\x1c", "a 7z archive: unpack it first"},
    {"BZh", "bzip2 data, compressed twice: decompress it once first"},
    {"\x1f\x8b", "compressed twice: decompress it once first"},
    {"\xfd"
     "7zXZ",
     "compressed twice: decompress it once first"},
    {"\x28\xb5\x2f\xfd", "compressed twice: decompress it once first"},
    {"\x04\x22\x4d\x18", "compressed twice: decompress it once first"},
    {"Rar!", "a rar archive: unpack it first"},
    {"%PDF", "a PDF document"},
    {"\x7f"
     "ELF",
     "a program"},
    {"SQLite format 3", "a database"},
    {"GIF8", "an image"},
    {"\x89PNG", "an image"},
    {std::string_view("\xff\xfe\0\0", 4), "UTF-32 text: convert it to UTF-8 first"},
    {std::string_view("\0\0\xfe\xff", 4), "UTF-32 text: convert it to UTF-8 first"},
}};

// One NUL in a hundred octets: fewer are damage, and spoil their lines alone.
bool is_binary(std::string_view sample) {
  return static_cast<std::size_t>(std::count(sample.begin(), sample.end(), '\0')) * 100 > sample.size();
}

// Every second octet of plain text is NUL then.
bool is_unmarked_utf16(std::string_view sample) {
  sample = sample.substr(0, 512);
  std::array<std::size_t, 2> nuls{};
  for (std::size_t i = 0; i < sample.size(); ++i) nuls[i % 2] += sample[i] == '\0' ? 1U : 0U;
  return sample.size() >= 4 && (nuls[0] == 0 || nuls[1] == 0) && (nuls[0] + nuls[1]) * 5 >= sample.size() * 2;
}

bool is_html(std::string_view start) {
  for (const std::string_view tag :
       {"<!doctype", "<html", "<head", "<body", "<?xml", "<script", "<title", "<!--", "<meta", "<div"}) {
    if (starts_ignoring_case(start, tag)) return true;
  }
  return false;
}

// An object or an array of values. '{' alone also begins a Privoxy section, '[' an adblock title.
bool is_json(std::string_view start) {
  if (start.empty() || (start.front() != '{' && start.front() != '[')) return false;
  std::string_view rest = start.substr(1);
  while (!rest.empty() && (is_blank(rest.front()) || rest.front() == '\n')) rest.remove_prefix(1);
  const bool object = start.front() == '{' && (rest.starts_with('"') || rest.starts_with('}'));
  return object || (start.front() == '[' && (rest.starts_with('"') || rest.starts_with('{')));
}

bool is_pac(std::string_view sample) {
  constexpr std::string_view kFunction = "FindProxyForURL";
  const std::size_t at = sample.find(kFunction);
  if (at == std::string_view::npos) return false;
  return trim(sample.substr(at + kFunction.size(), 8)).starts_with('(');
}

std::string_view what_it_is(std::string_view sample) {
  for (const Magic& magic : kForeignMagic) {
    if (sample.starts_with(magic.bytes)) return magic.what;
  }
  if (is_tar(sample)) return "a tar archive in a stream or in another archive: unpack it and name the folder";
  if (is_unmarked_utf16(sample)) return "UTF-16 text without its byte order mark: convert it to UTF-8 first";
  if (is_binary(sample)) return "binary data";
  std::string_view start = sample;
  while (!start.empty() && (is_blank(start.front()) || start.front() == '\n')) start.remove_prefix(1);
  if (is_html(start)) return "an HTML or XML page, perhaps an error page that was saved instead of the list";
  if (is_json(start))
    return "JSON, which is not read as a list; perhaps an error message that was saved instead of one";
  if (is_pac(sample)) return "a proxy auto-configuration script, which is a program and not a list";
  return {};
}

// The first header of an archive, 512 octets, holds their sum in octal digits, those counted as blanks: that is so of
// every tar, with the mark "ustar" or without it, and of no text by chance.
bool has_tar_sum(std::string_view sample) {
  constexpr std::size_t kBlock = 512, kSumAt = 148, kSumSize = 8;
  if (sample.size() < kBlock) return false;
  std::uint32_t sum = kSumSize * ' ', stored = 0;
  std::size_t digits = 0;
  for (std::size_t i = 0; i < kBlock; ++i) {
    const bool in_sum = i >= kSumAt && i < kSumAt + kSumSize;
    if (!in_sum) sum += static_cast<unsigned char>(sample[i]);
    if (in_sum && sample[i] >= '0' && sample[i] <= '7') {
      stored = stored * 8 + static_cast<std::uint32_t>(sample[i] - '0');
      ++digits;
    }
  }
  return digits > 0 && stored == sum;
}

}  // namespace

// "ustar" and a NUL (POSIX), or two spaces and a NUL (GNU): the mark of a header. Or its sum.
bool is_tar(std::string_view sample) {
  if (has_tar_sum(sample)) return true;
  if (sample.size() < 265 || sample.substr(257, 5) != "ustar") return false;
  return sample[262] == '\0' || sample.substr(262, 3) == std::string_view("  \0", 3);
}

Result<void> refuse_foreign(std::string_view sample, std::string_view path) {
  const std::string_view what = what_it_is(sample);
  if (what.empty()) return {};
  return unexpected(Error{Errc::bad_syntax, std::string(path), fmt::format("is not a list but {}", what)});
}

}  // namespace bloomwall::filter
