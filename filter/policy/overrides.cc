// SPDX-License-Identifier: Apache-2.0
#include "filter/policy/overrides.h"

#include <algorithm>
#include <ctime>
#include <numeric>
#include <tuple>
#include <utility>

#include "filter/policy/allow_list.h"
#include "filter/policy/policy.h"

namespace bloomwall::filter {
namespace {

int specificity_of(Kind kind) {
  switch (kind) {
    case Kind::url_query:
      return 0;
    case Kind::url:
      return 1;
    case Kind::directory:
      return 2;
    case Kind::exact_host:
      return 3;
    case Kind::suffix:
      return 4;
    default:
      return 5;
  }
}

// The most specific first. The longest host is the suffix of the lowest number.
bool is_more_specific(const ExactMatch& a, const ExactMatch& b) {
  return std::tuple(a.suffix, specificity_of(a.kind), b.depth) < std::tuple(b.suffix, specificity_of(b.kind), a.depth);
}

// By how few people it is for; the fewest first.
constexpr int kScopeOfAll = 3;
int scope_of(const Override& made) {
  if (made.client) return 0;
  if (!made.user.empty()) return 1;
  return made.group.empty() ? kScopeOfAll : 2;
}

bool is_more_decisive(const Override& a, const Override& b) {
  return std::tuple(scope_of(a), b.id) < std::tuple(scope_of(b), a.id);
}

bool contains(const AddressRange& range, const Address& address) {
  return range.kind == address.kind && range.first <= address.octets && address.octets <= range.last;
}

bool is_for(const Override& made, const Asker& asker) {
  if (made.client) return asker.client && contains(*made.client, *asker.client);
  if (!made.user.empty()) return made.user == asker.user;
  return made.group.empty() || made.group == asker.group;
}

}  // namespace

Result<void> read_override(std::string_view text, Override& made) {
  EntryParser parser;
  const char* const effect = made.action == Override::Action::allow ? "allow" : "deny";
  const Result<Entry> entry = read_single_entry(parser, text, effect);
  if (!entry) return tl::unexpected(entry.error());
  made.kind = entry->kind;
  made.entry = text_of(*entry);
  return {};
}

Overrides::Overrides(const KeyMaker& keys, std::span<const std::string> filters, std::vector<Override> overrides)
    : entries_(keys) {
  std::vector<std::size_t> order(overrides.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) { return is_more_decisive(overrides[a], overrides[b]); });
  EntryParser parser;
  for (const std::size_t next : order) {
    Override& made = overrides[next];
    const auto entry = parser.canonical(made.kind, made.entry);
    if (!entry) continue;
    const bool is_narrow = made.action == Override::Action::allow && !made.filters.empty();
    std::vector<std::uint64_t> bits(is_narrow ? filters.size() / 64 + 1 : 0);
    for (std::size_t f = 0; f < filters.size() && !bits.empty(); ++f) {
      const bool is_named = !filters[f].empty() && std::ranges::find(made.filters, filters[f]) != made.filters.end();
      bits[f / 64] |= std::uint64_t{is_named} << (f % 64);
    }
    std::uint32_t& value = entries_.at(*entry);
    if (value == 0) {
      by_entry_.emplace_back();
      value = static_cast<std::uint32_t>(by_entry_.size());
    }
    by_entry_[value - 1].push_back(static_cast<std::uint32_t>(items_.size()));
    ask_who_ |= scope_of(made) != kScopeOfAll;
    items_.push_back({std::move(made), std::move(bits)});
  }
}

void Overrides::find(UrlHashes& url, Scope scope, const Asker& asker, Found& found) const {
  found.decisive_ = {};
  found.narrow_.clear();
  ExactMatches matches;
  entries_.find_matches(url, scope, matches);
  if (matches.empty()) return;
  std::sort(&matches[0], &matches[0] + matches.size(), is_more_specific);
  const std::int64_t now = std::time(nullptr);
  for (const ExactMatch& match : matches) {
    for (const std::uint32_t place : by_entry_[match.value - 1]) {
      const Item& item = items_[place];
      if (item.made.until <= now || !is_for(item.made, asker)) continue;
      if (item.filters.empty()) {
        found.decisive_ = {&item.made, match};
        return;
      }
      found.narrow_.push_back({{&item.made, match}, item.filters.data()});
    }
  }
}

const Overrides::Matched* Overrides::Found::overrules(std::size_t filter) const {
  for (const Narrow& narrow : narrow_) {
    if (((narrow.filters[filter / 64] >> (filter % 64)) & 1) != 0) return &narrow.matched;
  }
  return nullptr;
}

void Overrides::Found::add_spelt(const Found& spelt) {
  for (const Narrow& narrow : spelt.narrow_) {
    if (frees_bare_form(narrow.matched.match.kind)) narrow_.push_back(narrow);
  }
  const Matched& other = spelt.decisive_;
  if (!spelt.is_decided() || spelt.is_denied() || !frees_bare_form(other.match.kind)) return;
  if (!is_decided() || is_more_specific(other.match, decisive_.match)) decisive_ = other;
}

const FilterSpec& Overrides::spec() {
  static const FilterSpec spec{.name = "exceptions", .file = {}, .delta = {}};
  return spec;
}

void note_override(Verdict& verdict, const Overrides::Matched& matched) {
  const bool is_denied = matched.made->action == Override::Action::deny;
  verdict.decision = is_denied ? Decision::blocked : Decision::allowed;
  verdict.reason = is_denied ? VerdictReason::denied : VerdictReason::excepted;
  verdict.filter = is_denied ? &Overrides::spec() : nullptr;
  verdict.kind = matched.match.kind;
  verdict.expression = matched.made->entry;
  verdict.exception = matched.made->id;
}

}  // namespace bloomwall::filter
