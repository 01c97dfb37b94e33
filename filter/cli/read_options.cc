// SPDX-License-Identifier: Apache-2.0
#include "filter/cli/read_options.h"

#include "filter/cli/parsed_option.h"

namespace bloomwall::filter {

void add_read_options(CLI::App& app, ReadOptions& read, bool& raw) {
  add_parsed(app, "--format", "NAME",
             "format of the lists (auto, domains, hosts, adblock, urls, csv, mixed, networks, ...); default: told from "
             "each file",
             format_named, [&read](Format format) { read.format = format; });
  app.add_option(
         "--csv-column", read.csv_column,
         "the lists are tables (csv), and this column holds the URLs, names or addresses: its number from 1, or "
         "its name in the header; default: the column \"url\"")
      ->type_name("COLUMN");
  app.add_flag("--raw", raw, "every line is a key, byte for byte");
  app.add_flag("--exact", read.exact, "names of plain lists stand for themselves alone, not for their subdomains");
  app.add_flag("--hosts-as-suffix", read.hosts_as_suffix, "names of hosts files stand for their subdomains too");
  app.add_flag("--strict-wildcard", read.strict_wildcard, "*.example.com leaves out example.com");
  app.add_flag("--allow-tld", read.allow_tld, "take bare top-level domains instead of skipping them");
  app.add_flag("--aggressive", read.aggressive, "adblock rules for third-party requests stop every request");
  app.add_flag("--allow-wide-ranges", read.allow_wide_ranges,
               "take ranges of addresses wider than a /8 of IPv4 or a /16 of IPv6");
}

}  // namespace bloomwall::filter
