// SPDX-License-Identifier: Apache-2.0
#include "filter/policy/overrides.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <ctime>
#include <numeric>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "filter/policy/allow_list.h"
#include "filter/policy/entry_text.h"
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

std::int64_t instant_of(const Asker& asker) { return asker.at != 0 ? asker.at : std::time(nullptr); }

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

// The size of its range of clients, less one: the smaller of two is for fewer people. Ranges of IPv4 and IPv6 need no
// order among them, since no client is in both.
std::array<std::uint8_t, 16> breadth_of(const Override& made) {
  std::array<std::uint8_t, 16> breadth{};
  if (!made.client) return breadth;
  int borrow = 0;
  for (std::size_t i = breadth.size(); i-- > 0;) {
    const int octet = made.client->last.octets[i] - made.client->first.octets[i] - borrow;
    borrow = octet < 0 ? 1 : 0;
    breadth[i] = static_cast<std::uint8_t>(octet + 256 * borrow);
  }
  return breadth;
}

bool is_more_decisive(const Override& a, const Override& b) {
  return std::tuple(scope_of(a), breadth_of(a), b.id) < std::tuple(scope_of(b), breadth_of(b), a.id);
}

bool is_for(const Override& made, const Asker& asker) {
  if (made.client) return asker.client && made.client->contains(*asker.client);
  if (!made.user.empty()) return made.user == asker.user;
  return made.group.empty() || made.group == asker.group;
}

}  // namespace

Result<void> read_override(std::string_view text, Override& made) {
  EntryParser parser;
  const bool allows = made.action == Override::Action::allow;
  const char* const effect = allows ? "allow" : "deny";
  // What frees an address frees it, however it is written.
  const RangeReading range = read_address_range(text);
  if (allows && range.outcome == RangeReading::Outcome::range && range.range.is_one_address()) {
    made.kind = Kind::exact_host;
    made.entry = text_of(range.range.first);
    return {};
  }
  if (range.outcome == RangeReading::Outcome::range) {
    return tl::unexpected(Error{
        .code = Errc::bad_syntax,
        .where = {},
        .what = fmt::format("{} is a range of addresses, and an exception is for one host or URL; {}", in_quotes(text),
                            allows ? "allow_lists take ranges" : "a list or a delta of the filter takes ranges")});
  }
  const Result<Entry> entry = read_single_entry(parser, text, effect);
  if (!entry) return tl::unexpected(entry.error());
  made.kind = entry->kind;
  made.entry = text_of(*entry);
  return {};
}

std::string text_to_type(std::string_view entry) {
  std::string text;
  const std::size_t query = std::min(entry.find('?'), entry.size());
  for (const char c : entry.substr(0, query)) {
    if (c == '*') {
      text.append("%2A");
    } else {
      text.push_back(c);
    }
  }
  return text.append(entry.substr(query));
}

Overrides::Overrides(const KeyMaker& keys, std::span<const std::string> filters, std::vector<Override> overrides,
                     const Overrides* before)
    : entries_(keys), url_hosts_(keys) {
  const bool is_anew = before == nullptr || before->keys() != keys ||
                       before->entries_.size() > 2 * before->size();  // most of the entries are no longer used
  if (is_anew) {
    make_all(filters, std::move(overrides));
    return;
  }
  entries_ = before->entries_;
  items_ = before->items_;
  order_ = before->order_;
  free_ = before->free_;
  first_ = before->first_;
  next_ = before->next_;
  url_hosts_ = before->url_hosts_;
  on_host_ = before->on_host_;
  for_some_ = before->for_some_;
  make_changes(filters, std::move(overrides));
}

// The least decisive first: each is then the first one of its entry.
void Overrides::make_all(std::span<const std::string> filters, std::vector<Override> overrides) {
  std::vector<std::size_t> sorted(overrides.size());
  std::iota(sorted.begin(), sorted.end(), std::size_t{0});
  std::ranges::sort(sorted, [&](std::size_t a, std::size_t b) { return is_more_decisive(overrides[b], overrides[a]); });
  EntryParser parser;
  for (const std::size_t next : sorted) add(parser, filters, std::move(overrides[next]));
  std::ranges::sort(order_, {}, [&](std::uint32_t place) { return items_[place]->made.id; });
}

// Both are sorted by id, as a rule; what is out of order is made again.
void Overrides::make_changes(std::span<const std::string> filters, std::vector<Override> overrides) {
  const std::vector<std::uint32_t> before = std::exchange(order_, {});
  order_.reserve(overrides.size());
  EntryParser parser;
  auto old = before.begin();
  for (Override& made : overrides) {
    while (old != before.end() && items_[*old]->made.id < made.id) remove(*old++);
    if (old != before.end() && items_[*old]->made == made) {
      order_.push_back(*old++);
    } else {
      add(parser, filters, std::move(made));
    }
  }
  while (old != before.end()) remove(*old++);
}

void Overrides::add(EntryParser& parser, std::span<const std::string> filters, Override made) {
  const auto entry = parser.canonical(made.kind, made.entry);
  if (!entry) return;
  const bool is_narrow = made.action == Override::Action::allow && !made.filters.empty();
  std::vector<std::uint64_t> bits(is_narrow ? filters.size() / 64 + 1 : 0);
  for (std::size_t f = 0; f < filters.size() && !bits.empty(); ++f) {
    const bool is_named = !filters[f].empty() && std::ranges::find(made.filters, filters[f]) != made.filters.end();
    bits[f / 64] |= std::uint64_t{is_named} << (f % 64);
  }
  std::uint32_t& value = entries_.at(*entry);
  if (value == 0) {
    first_.push_back(kNone);
    value = static_cast<std::uint32_t>(first_.size());
  }
  auto place = static_cast<std::uint32_t>(items_.size());
  if (free_.empty()) {
    items_.emplace_back();
    next_.push_back(kNone);
  } else {
    place = free_.back();
    free_.pop_back();
  }
  const std::uint32_t first = value - 1;
  std::uint32_t* link = &first_[first];
  while (*link != kNone && is_more_decisive(items_[*link]->made, made)) link = &next_[*link];
  next_[place] = std::exchange(*link, place);
  for_some_ += scope_of(made) == kScopeOfAll ? 0U : 1U;
  const std::uint32_t host = is_path_kind(made.kind) ? url_host_of(*entry) : 0;
  if (host != 0) on_host_[host - 1].push_back(place);
  items_[place] = std::make_shared<const Item>(Item{std::move(made), std::move(bits), first, host});
  order_.push_back(place);
  ++made_;
}

void Overrides::remove(std::uint32_t place) {
  const ItemPtr item = std::exchange(items_[place], nullptr);
  std::uint32_t* link = &first_[item->entry];
  while (*link != place) link = &next_[*link];
  *link = next_[place];
  for_some_ -= scope_of(item->made) == kScopeOfAll ? 0U : 1U;
  if (item->url_host != 0) std::erase(on_host_[item->url_host - 1], place);
  free_.push_back(place);
}

std::uint32_t Overrides::url_host_of(const Entry& entry) {
  std::uint32_t& value = url_hosts_.at(whole_host_of(entry));
  if (value == 0) {
    on_host_.emplace_back();
    value = static_cast<std::uint32_t>(on_host_.size());
  }
  return value;
}

std::optional<std::int64_t> Overrides::end_of(std::uint64_t id) const {
  for (const std::uint32_t place : order_) {
    if (items_[place]->made.id == id) return items_[place]->made.until;
  }
  return std::nullopt;
}

template <typename Matches>
bool Overrides::any_on_host(UrlHashes& host, const Asker& asker, Matches matches) const {
  if (on_host_.empty()) return false;
  ExactMatches found;
  url_hosts_.find_matches(host, Scope::host, found);
  const std::int64_t now = found.empty() ? 0 : instant_of(asker);
  return std::any_of(found.begin(), found.end(), [&](const ExactMatch& match) {
    return std::ranges::any_of(on_host_[match.value - 1], [&](std::uint32_t place) {
      const Item& item = *items_[place];
      return item.made.until > now && is_for(item.made, asker) && matches(item, match);
    });
  });
}

bool Overrides::denies_urls_on(UrlHashes& host, const Asker& asker) const {
  return any_on_host(host, asker,
                     [](const Item& item, const ExactMatch&) { return item.made.action == Override::Action::deny; });
}

// A URL is more specific than its host, but less so than a subdomain of that.
bool Overrides::allows_urls_on(UrlHashes& host, const Asker& asker, const Matched* denied, std::size_t filter) const {
  return any_on_host(host, asker, [&](const Item& item, const ExactMatch& match) {
    if (item.made.action != Override::Action::allow) return false;
    if (denied != nullptr && match.suffix > denied->match.suffix) return false;
    if (item.filters.empty()) return true;
    return filter != kNoFilter && ((item.filters[filter / 64] >> (filter % 64)) & 1) != 0;
  });
}

void Overrides::find(UrlHashes& url, Scope scope, const Asker& asker, Found& found) const {
  found.decisive_ = {};
  found.narrow_.clear();
  ExactMatches matches;
  entries_.find_matches(url, scope, matches);
  if (matches.empty()) return;
  std::sort(&matches[0], &matches[0] + matches.size(), is_more_specific);
  const std::int64_t now = instant_of(asker);
  for (const ExactMatch& match : matches) {
    for (std::uint32_t place = first_[match.value - 1]; place != kNone; place = next_[place]) {
      const Item& item = *items_[place];
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
