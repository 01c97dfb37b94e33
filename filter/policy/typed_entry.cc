// SPDX-License-Identifier: Apache-2.0
#include "filter/policy/typed_entry.h"

#include <fmt/format.h>

#include "filter/policy/entry_text.h"
#include "filter/url/public_suffix.h"

namespace bloomwall::filter {
namespace {

bool is_spelt_out(std::string_view text) { return text.starts_with('.') || text.starts_with("*."); }

bool has_star_in_path(const Entry& entry) {
  return is_path_kind(entry.kind) && entry.path.find('*') != std::string_view::npos;
}

}  // namespace

std::string no_request_text(std::string_view text) {
  return fmt::format("{} names a host that no request can have, and would match nothing; one plain host or URL a line",
                     in_quotes(text));
}

std::string why_not_typed(const ParsedEntry& parsed, std::string_view text, bool adds) {
  const Entry& entry = parsed.entries.front();
  if (!can_be_asked_for(entry)) return no_request_text(text);
  if (has_star_in_path(entry)) {
    return fmt::format("{} is no pattern: '*' in a path stands for itself; a path that ends in '/' is all below it",
                       in_quotes(text));
  }
  if (!is_host_kind(entry.kind) || entry.host_kind != HostKind::name) return {};
  if (text.find('#') != std::string_view::npos) {
    return fmt::format(
        "{} stands for all of {}: what follows '#' is never sent to a proxy; write the host alone if "
        "that is meant",
        in_quotes(text), entry.host);
  }
  if (!adds || is_spelt_out(text) || !is_public_suffix(entry.host)) return {};
  return fmt::format(
      "{} is a public suffix and would stop everything below it; write '*.{}' if that is meant, or "
      "'X {}' for that host alone",
      in_quotes(text), entry.host, entry.host);
}

}  // namespace bloomwall::filter
