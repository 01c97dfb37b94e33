// SPDX-License-Identifier: Apache-2.0
#include "conf/update.h"

#include <fmt/format.h>

#include <chrono>
#include <string_view>

#include "conf/yaml_reader.h"

namespace bloomwall::conf {
namespace {

bool is_url_of(std::string_view text, std::string_view scheme) { return text.starts_with(scheme); }

// A URL with a login in it would show that in logs.
bool has_login(std::string_view url) {
  const std::string_view rest = url.substr(url.find("://") + 3);
  return rest.substr(0, rest.find('/')).find('@') != std::string_view::npos;
}

void check_canaries(MapReader& map, std::string_view key, const std::vector<std::string>& canaries) {
  if (canaries.size() > kMostCanaries) map.fail(key, fmt::format("at most {} may be", kMostCanaries));
}

}  // namespace

bool is_fetched(const Source& source) { return is_url_of(source.url, "https://") || is_url_of(source.url, "http://"); }

void read(MapReader& map, Source& out) {
  using namespace std::chrono_literals;
  map.url_or_path("url", out.url);
  map.text("format", out.format, kListFormat);
  map.duration("every", out.every, Milliseconds(15min), Milliseconds(30 * 24h));
  map.optional_path("header_file", out.header_file);
  map.optional_text("sha256", out.sha256, kSha256);
  map.text_list("categories", out.categories, kCategory);
  map.choice("white", out.white,
             {{"refuse", Source::White::refuse}, {"allow", Source::White::allow}, {"block", Source::White::block}});
  map.optional_text("column", out.column, kColumn);
  map.flag("exact", out.exact);
  map.flag("hosts_as_suffix", out.hosts_as_suffix);
  map.flag("strict_wildcard", out.strict_wildcard);
  map.flag("allow_tld", out.allow_tld);
  map.flag("aggressive", out.aggressive);
  map.flag("path_info", out.path_info);
  map.flag("index_files", out.index_files);
  map.flag("allow_wide_ranges", out.allow_wide_ranges);
  map.require("url");
  if (out.column && out.format != "auto" && out.format != "csv" && out.format != "json-lines") {
    map.fail("column", "goes with format: csv, json-lines or auto only");
  }
  if (!is_fetched(out)) {
    if (!out.header_file.empty()) map.fail("header_file", "goes with a URL only");
    return;
  }
  if (has_login(out.url))
    map.fail("url", "a login would show in logs: write the header in a file and name it in header_file");
  if (is_url_of(out.url, "http://") && !out.sha256) {
    map.fail("url", "anybody on the way could change the list: use https, or give its sha256");
  }
  if (is_url_of(out.url, "http://") && !out.header_file.empty()) {
    map.fail("header_file", "goes with an https URL only: it would be sent in clear");
  }
}

void read(MapReader& map, Build& out) {
  map.ratio("fpr", out.fpr, 1e-9, 0.1);
  map.flag("exact_side", out.exact_side);
  map.flag("query_spellings", out.query_spellings);
  map.path_list("known_good", out.known_good);
}

void read(MapReader& map, Guards& out) {
  constexpr std::uint64_t kKiB = 1024, kGiB = kKiB * kKiB * kKiB;
  map.percent("shrink", out.shrink, 1, 100);
  map.percent("grow", out.grow, 1, 100'000);
  map.integer("least", out.least, std::uint64_t{1}, std::uint64_t{10'000'000'000});
  map.size("most_bytes", out.most_bytes, kKiB, 64 * kGiB);
  map.percent("unusable", out.unusable, 0, 100);
  map.percent("stated", out.stated, 0, 100);
  map.text_list("must_pass", out.must_pass, kCanary);
  map.text_list("must_block", out.must_block, kCanary);
  check_canaries(map, "must_pass", out.must_pass);
  check_canaries(map, "must_block", out.must_block);
}

void read(MapReader& map, Update& out) {
  using namespace std::chrono_literals;
  map.path("folder", out.folder);
  map.path("catalogue", out.catalogue);
  map.optional_text("proxy", out.proxy, kUpdateProxy);
  map.optional_path("credentials_file", out.credentials_file);
  map.optional_path("ca_file", out.ca_file);
  map.duration("timeout", out.timeout, 1s, Milliseconds(24h));
  map.ratio("most_error", out.most_error, 1e-9, 1);
  const bool has_proxy = out.proxy && *out.proxy != "direct";
  if (!out.credentials_file.empty() && !has_proxy) {
    map.fail("credentials_file", "goes with proxy only; those of the parent are in upstream.credentials_file");
  }
}

}  // namespace bloomwall::conf
