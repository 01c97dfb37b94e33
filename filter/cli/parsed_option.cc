// SPDX-License-Identifier: Apache-2.0
#include "filter/cli/parsed_option.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <grp.h>

#include <charconv>
#include <vector>

#include "base/encoding.h"
#include "base/units.h"

namespace bloomwall::filter {
namespace {

tl::unexpected<Error> refused(std::string_view text, std::string_view expected) {
  return unexpected(Error{Errc::usage, {}, fmt::format("'{}' is not {}", text, expected)});
}

}  // namespace

Result<Format> format_named(std::string_view name) {
  if (const auto format = parse_format(name)) return *format;
  std::vector<std::string> names;
  names.reserve(kFormats.size());
  for (const Format format : kFormats) names.emplace_back(to_string(format));
  return unexpected(Error{Errc::usage, {}, fmt::format("'{}' is none of {}", name, fmt::join(names, ", "))});
}

Result<FileId> file_id_from(std::string_view text) {
  if (const auto id = parse_hex<sizeof(FileId)>(text)) return *id;
  return refused(text, "32 hexadecimal digits");
}

Result<double> share_from(std::string_view text) {
  std::string_view number = text;
  if (number.ends_with('%')) number.remove_suffix(1);
  const auto value = parse_weight(number);
  if (value && *value <= 100) return *value / 100;
  return refused(text, "a percentage from 0 to 100");
}

Result<std::uint64_t> count_from(std::string_view text) {
  if (const auto count = parse_count(text)) return *count;
  return refused(text, "a whole count such as 5000, 20M or 10G");
}

Result<std::uint64_t> bytes_from(std::string_view text) {
  if (const auto bytes = parse_bytes(text)) return *bytes;
  return refused(text, "a size such as 200MB, 30GB or 24GiB");
}

Result<double> rate_from(std::string_view text) {
  if (const auto rate = parse_rate(text)) return *rate;
  return refused(text, "a rate between 0 and 1 such as 1e-6");
}

Result<double> weight_from(std::string_view text) {
  if (const auto weight = parse_weight(text)) return *weight;
  return refused(text, "a number from 0 up");
}

namespace {

Result<mode_t> parse_mode(std::string_view text) {
  unsigned mode = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), mode, 8);
  if (error == std::errc{} && end == text.data() + text.size() && mode <= 0777) return mode;
  return refused(text, "a file mode such as 0640");
}

Result<gid_t> parse_group(std::string_view text) {
  gid_t id = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (error == std::errc{} && end == text.data() + text.size() && id != static_cast<gid_t>(-1)) return id;
  const group* const found = getgrnam(std::string(text).c_str());
  if (found != nullptr) return found->gr_gid;
  return unexpected(Error{Errc::usage, {}, fmt::format("there is no group '{}'", text)});
}

}  // namespace

void add_access_options(CLI::App& app, FileAccess& access) {
  add_parsed(app, "--mode", "OCTAL", "mode of the file; default: that of the one replaced, else 0666 less the umask",
             parse_mode, [&access](mode_t mode) { access.mode = mode; });
  add_parsed(app, "--group", "GROUP", "group of the file; default: that of the one replaced", parse_group,
             [&access](gid_t group) { access.group = group; });
}

CLI::Option* add_rebuild_at(CLI::App& app, double& share) {
  return add_parsed(app, "--rebuild-at", "PERCENT",
                    "report that a rebuild is due when the delta exceeds this share of its filter; default 2%",
                    share_from, [&share](double value) { share = value; });
}

void add_read_options(CLI::App& app, ReadOptions& read, bool& raw) {
  add_parsed(app, "--format", "NAME",
             "format of the lists (auto, domains, hosts, adblock, urls, csv, mixed, networks, ...); default: "
             "detected for each file",
             format_named, [&read](Format format) { read.format = format; });
  app.add_option(
         "--csv-column", read.csv_column,
         "the lists are tables (csv), and this column holds the URLs, names or addresses: its number from 1, or "
         "its name in the header; default: the column \"url\"")
      ->type_name("COLUMN");
  app.add_flag("--raw", raw, "every line is a key, byte for byte, without its LF or CRLF");
  app.add_flag("--exact", read.exact, "names in plain lists match only themselves, not their subdomains");
  app.add_flag("--hosts-as-suffix", read.hosts_as_suffix, "names in hosts files match their subdomains too");
  app.add_flag("--strict-wildcard", read.strict_wildcard, "*.example.com leaves out example.com");
  app.add_flag("--allow-tld", read.allow_tld, "accept bare top-level domains instead of skipping them");
  app.add_flag("--aggressive", read.aggressive, "adblock rules for third-party requests stop every request");
  app.add_flag("--path-info", read.path_info, "URLs of files (/a.php) also match what is under them (/a.php/x)");
  app.add_flag("--index-files", read.index_files, "URLs of index.* and default.* also match their folder");
  app.add_flag("--allow-wide-ranges", read.allow_wide_ranges,
               "accept ranges of addresses wider than a /8 of IPv4 or a /16 of IPv6");
}

}  // namespace bloomwall::filter
