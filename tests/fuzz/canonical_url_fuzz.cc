// Any octets as a URL, as a host and as an entry. What must hold whatever they are: the canonical form is a fixed
// point, it holds no octet <= 0x20 or >= 0x7F, its host is not empty, there are at most kMaxForms forms and no two are
// equal, and the recognition of canonical URLs and of their parts agrees with itself in both implementations and with
// reading all of it in full.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "filter/keys/keys.h"
#include "filter/url/canonical_url.h"
#include "filter/url/entry.h"
#include "filter/url/fast_path.h"
#include "tests/filter/url/access.h"

namespace bloomwall::filter {
namespace {

void require(bool holds, const char* rule, std::string_view input) {
  if (holds) return;
  std::fprintf(stderr, "%s: %.*s\n", rule, static_cast<int>(input.size()), input.data());
  std::abort();
}

std::string answer(const CanonicalUrl& url) {
  std::string out = url.action == UrlAction::lookup ? "lookup" : "reject";
  (out += to_string(url.reason)) += std::to_string(url.port);
  for (std::size_t i = 0; i < url.asked().size(); ++i) (out += ' ') += url.text(i);
  return out;
}

bool is_visible(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7F; });
}

void check_result(const CanonicalUrl& url, std::string_view input) {
  require(url.has_canonical == !url.forms.empty(), "a form exactly where there is a canonical one", input);
  require((url.action == UrlAction::lookup) == (url.reason == UrlReason::none), "a reason for each rejection", input);
  require(url.has_canonical || url.action == UrlAction::reject, "no form, no look-up", input);
  require(url.forms.size() <= kMaxForms, "at most eight forms", input);
  require(url.asked().size() <= kMaxAsked, "at most so many that are asked", input);
  if (!url.has_canonical) return;
  require(!url.host.empty(), "a host", input);
  for (std::size_t i = 0; i < url.asked().size(); ++i) {
    const UrlForm& form = url.asked()[i];
    require(is_visible(url.text(i)), "visible octets only", input);
    require(form.path.starts_with('/'), "a path begins with a slash", input);
    require(form.path.find_first_of("?\\#") == std::string_view::npos, "no separator inside a path", input);
    require(form.path.find("//") == std::string_view::npos, "no empty segment", input);
    const bool is_handed_on = i >= url.asked().size() - url.handed_on_forms;
    require(!url.is_bare(i) || is_handed_on || form.path.find(';') == std::string_view::npos, "no parameters left",
            input);
    for (std::size_t j = 0; j < i; ++j) require(url.expression(i) != url.expression(j), "forms differ", input);
  }
}

void check_url(std::string_view input) {
  static Canonicaliser canonicaliser;
  static Canonicaliser slow;
  if (fast_path_detail::has_avx2()) {
    const UrlCut cut = fast_path_detail::cut_scalar(input);
    require(fast_path_detail::cut_avx2(input) == cut, "scalar and AVX2 agree", input);
    for (const UrlPart part : {UrlPart::path, UrlPart::query}) {
      require(fast_path_detail::is_canonical_avx2(part, input) == fast_path_detail::is_canonical_scalar(part, input),
              "scalar and AVX2 agree on parts", input);
    }
  }
  const CanonicalUrl& url = canonicaliser.url(input);
  check_result(url, input);
  require(answer(url) == answer(CanonicaliserAccess::url_the_long_way(slow, input)), "both ways agree", input);
  if (!url.has_canonical) return;
  const std::string canonical = url.text();
  require(slow.url(canonical).text() == canonical, "the canonical form is a fixed point", input);
  require(url.action == UrlAction::reject || slow.url(canonical).action == UrlAction::lookup,
          "what may be looked up stays so", input);
}

void check_host(std::string_view input) {
  static Canonicaliser canonicaliser;
  const CanonicalUrl& host = canonicaliser.host(input);
  check_result(host, input);
  if (!host.has_canonical) return;
  require(host.forms.size() == 1 && host.forms[0].path == "/", "a host alone has the root", input);
  const std::string canonical(host.host);
  require(Canonicaliser().host(canonical).host == canonical, "the canonical host is a fixed point", input);
  if (host.action == UrlAction::reject) return;  // UrlParts cuts what may be looked up
  const UrlParts parts(host);
  const bool is_cut =
      parts.is_address() || parts.labels(0) == 1 + static_cast<std::size_t>(std::ranges::count(canonical, '.'));
  require(parts.suffix(0) == canonical && is_cut, "as many suffixes as labels", input);
  for (std::size_t i = 1; i < parts.suffixes(); ++i) {
    const std::string_view text = parts.suffix(i);
    require(canonical.ends_with("." + std::string(text)) && !text.empty(), "suffixes", input);
  }
}

void check_entries(const ParsedEntry& parsed, std::string_view input) {
  const bool taken = parsed.problem == EntryProblem::none || parsed.problem == EntryProblem::odd ||
                     parsed.problem == EntryProblem::single_label;
  require(taken == !parsed.entries.empty(), "entries exactly where it was taken", input);
  require(parsed.entries.size() <= kMaxForms, "at most eight entries", input);
  for (const Entry& entry : parsed.entries) {
    require(!entry.host.empty() && is_visible(text_of(entry)), "a visible host", input);
    require(is_host_kind(entry.kind) == entry.path.empty(), "a path exactly for path kinds", input);
    require((entry.kind == Kind::url_query) == !entry.query.empty(), "a query exactly for Q", input);
    if (entry.kind == Kind::directory) require(entry.path.ends_with('/') && entry.path != "/", "a directory", input);
    if (entry.host_kind != HostKind::name) require(entry.kind != Kind::suffix, "an address has no subdomains", input);
    if (is_host_kind(entry.kind)) require(parsed.entries.size() == 1, "a whole host is asked for alone", input);
    for (const PathSegment& segment : PathPrefixes(entry.path)) {
      require(entry.path.starts_with(segment.prefix) && !segment.text.empty(), "prefixes", input);
    }
  }
}

}  // namespace
}  // namespace bloomwall::filter

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  static bloomwall::filter::EntryParser parser;
  bloomwall::filter::check_url(input);
  bloomwall::filter::check_host(input);
  bloomwall::filter::check_entries(parser.any(input), input);
  bloomwall::filter::check_entries(parser.url(input), input);
  bloomwall::filter::check_entries(parser.domain(input), input);
  return 0;
}
