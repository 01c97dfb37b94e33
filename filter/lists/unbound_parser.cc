// unbound configuration.
//   local-zone: "a.example." always_nxdomain    S, for the types that stop a zone
//   local-data: "a.example. A 0.0.0.0"          X, for address records
// Unsupported: types that let a zone through or only log it (transparent, typetransparent, nodefault, inform, ...), data of
// other types, the root, include. Every other option is boilerplate.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <string_view>

#include "filter/lists/entry_gate.h"
#include "filter/lists/line_parser.h"
#include "filter/text.h"

namespace bloomwall::filter {
namespace {

constexpr std::array<std::string_view, 12> kStopping{
    "always_null", "always_nxdomain", "always_nodata", "always_refuse", "always_deny",     "refuse",
    "deny",        "static",          "redirect",      "inform_deny",   "inform_redirect", "truncate"};
constexpr std::array<std::string_view, 8> kPassing{"transparent",        "typetransparent", "nodefault", "inform",
                                                   "always_transparent", "block_a",         "noview",    "ipset"};

template <std::size_t N>
bool is_one_of(std::string_view word, const std::array<std::string_view, N>& words) {
  return std::any_of(words.begin(), words.end(), [word](std::string_view w) { return equals_ignoring_case(word, w); });
}

// Takes a word or a quoted text off `rest`. False where a quote is not closed.
bool next_value(std::string_view& rest, std::string_view& value) {
  rest = trim(rest);
  if (rest.empty() || (rest.front() != '"' && rest.front() != '\'')) {
    value = next_word(rest);
    return true;
  }
  const char quote = rest.front();
  rest.remove_prefix(1);
  const std::size_t end = rest.find(quote);
  if (end == std::string_view::npos) return false;
  value = trim(rest.substr(0, end));
  rest.remove_prefix(end + 1);
  return true;
}

LineOutcome zone_host(std::string_view name, Kind kind, EntryGate& gate) {
  if (name == ".") return unsupported("every name");
  return gate.host(name, kind);
}

LineOutcome local_zone(std::string_view rest, EntryGate& gate) {
  std::string_view name;
  std::string_view type;
  if (!next_value(rest, name) || !next_value(rest, type)) return malformed("quote is not closed");
  if (name.empty() || type.empty()) return malformed("local-zone without a name or a type");
  if (is_one_of(type, kStopping)) return zone_host(name, Kind::suffix, gate);
  if (is_one_of(type, kPassing)) return unsupported("local-zone of a type that stops nothing");
  return unsupported("local-zone of a type this build does not know");
}

bool is_ttl_or_class(std::string_view word) {
  return std::all_of(word.begin(), word.end(), is_digit) || equals_ignoring_case(word, "IN");
}

// name [ttl] [class] type data
LineOutcome local_data(std::string_view rest, EntryGate& gate) {
  std::string_view record;
  rest = trim(rest);
  const bool quoted = rest.starts_with('"') || rest.starts_with('\'');
  if (quoted && !next_value(rest, record)) return malformed("quote is not closed");
  if (!quoted) record = rest;
  const std::string_view name = next_word(record);
  std::string_view type = next_word(record);
  for (int extra = 0; extra < 2 && !type.empty() && is_ttl_or_class(type); ++extra) type = next_word(record);
  if (name.empty() || type.empty()) return malformed("local-data without a name or a type");
  if (!equals_ignoring_case(type, "A") && !equals_ignoring_case(type, "AAAA")) {
    return unsupported("local-data other than addresses");
  }
  return zone_host(name, Kind::exact_host, gate);
}

class UnboundParser final : public LineParser {
 public:
  LineOutcome line(std::string_view text, EntryGate& gate) override {
    text = trim(text);
    if (text.empty()) return {LineClass::blank};
    if (text.front() == '#') return {LineClass::comment};
    text = without_comment(text);
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos) return malformed("not an unbound option");
    const std::string_view option = text.substr(0, colon);
    if (option == "local-zone") return local_zone(text.substr(colon + 1), gate);
    if (option == "local-data") return local_data(text.substr(colon + 1), gate);
    if (option == "include" || option == "include-toplevel") return unsupported("include of another file");
    if (text.substr(colon + 1).starts_with("//")) return malformed("not an unbound option");
    const bool name =
        std::all_of(option.begin(), option.end(), [](char c) { return is_alpha(c) || is_digit(c) || c == '-'; });
    return name && !option.empty() ? LineOutcome{LineClass::boilerplate} : malformed("not an unbound option");
  }
};

}  // namespace

std::unique_ptr<LineParser> make_unbound_parser(const ParsePlan& /*plan*/) { return std::make_unique<UnboundParser>(); }

}  // namespace bloomwall::filter
