// SPDX-License-Identifier: Apache-2.0
#include "proxy/access/group_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <set>
#include <utility>

namespace bloomwall::proxy {

GroupTable::Words GroupTable::words_of(const Address& address) {
  Words words;
  for (std::size_t i = 0; i < 8; ++i) {
    words.high = words.high << 8U | address.octets[i];
    words.low = words.low << 8U | address.octets[i + 8];
  }
  return words;
}

GroupTable::Range GroupTable::range_of(const Cidr& network, std::size_t group) {
  constexpr std::uint64_t kAll = std::numeric_limits<std::uint64_t>::max();
  const unsigned prefix = network.prefix;
  const std::uint64_t high = prefix >= 64 ? 0 : kAll >> prefix;
  const std::uint64_t low = prefix <= 64 ? kAll : prefix == 128 ? 0 : kAll >> (prefix - 64);
  const Words first = words_of(network.base);
  return {first, {first.high | high, first.low | low}, static_cast<std::uint32_t>(group)};
}

// `rest`: the group of addresses that are in no range. A sweep over the ends of the ranges, which keeps the groups
// whose ranges hold the address of now; the first of them counts.
std::vector<GroupTable::Step> GroupTable::steps_of(const std::vector<Range>& ranges, std::uint32_t rest) {
  struct Event {
    Words at;
    std::uint32_t group;
    bool begins;
  };
  std::vector<Event> events;
  for (const Range& range : ranges) {
    events.push_back({range.first, range.group, true});
    Words behind = range.last;
    if (++behind.low == 0) ++behind.high;
    if (behind > range.last) events.push_back({behind, range.group, false});  // else it ends with the last address
  }
  std::ranges::sort(events, {}, &Event::at);
  std::multiset<std::uint32_t> open{rest};
  std::vector<Step> steps{{.from = {}, .group = rest}};
  for (auto event = events.begin(); event != events.end();) {
    const Words at = event->at;
    for (; event != events.end() && event->at == at; ++event) {
      if (event->begins) {
        open.insert(event->group);
      } else {
        open.erase(open.find(event->group));
      }
    }
    const std::uint32_t group = *open.begin();
    if (steps.back().from == at) {
      steps.back().group = group;
    } else if (steps.back().group != group) {
      steps.push_back({at, group});
    }
  }
  return steps;
}

tl::expected<GroupTable, std::vector<std::string>> GroupTable::build(const std::vector<conf::Group>& groups,
                                                                     const std::vector<conf::Listener>& listeners) {
  GroupTable table;
  table.groups_ = groups.size();
  std::vector<std::string> errors;
  std::vector<std::vector<Cidr>> networks(groups.size());
  for (std::size_t i = 0; i < groups.size(); ++i) {
    for (const std::string& text : groups[i].clients) {
      const auto network = Cidr::parse(text);
      if (network) networks[i].push_back(*network);
      if (!network) errors.push_back(fmt::format("groups[{}].clients: not a network: {}", i, text));
    }
  }
  if (!errors.empty()) return tl::unexpected(std::move(errors));
  std::vector<std::string> addresses;
  for (const conf::Listener& listener : listeners) addresses.push_back(listener.address);
  addresses.emplace_back();  // any other: listeners go on after a reload that does not name them
  for (const std::string& listener : addresses) {
    std::vector<Range> ranges;
    auto rest = static_cast<std::uint32_t>(groups.size());
    for (std::size_t i = groups.size(); i-- > 0;) {
      const auto& of = groups[i].listeners;
      if (!of.empty() && std::ranges::find(of, listener) == of.end()) continue;
      if (groups[i].clients.empty()) {  // nobody is left for those behind it
        rest = static_cast<std::uint32_t>(i);
        ranges.clear();
      }
      for (const Cidr& network : networks[i]) ranges.push_back(range_of(network, i));
    }
    table.listeners_.push_back({listener, steps_of(ranges, rest)});
  }
  return table;
}

std::size_t GroupTable::group_of(const Address& client, std::string_view listener) const {
  const auto found = std::ranges::find(listeners_, listener, &OfListener::listener);
  const std::vector<Step>& steps = found == listeners_.end() ? listeners_.back().steps : found->steps;
  return std::prev(std::ranges::upper_bound(steps, words_of(client), {}, &Step::from))->group;
}

std::vector<std::size_t> GroupTable::unreachable() const {
  std::vector<bool> is_reached(groups_ + 1);
  for (const OfListener& of : listeners_) {
    if (of.listener.empty()) continue;
    for (const Step& step : of.steps) is_reached[step.group] = true;
  }
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < groups_; ++i) {
    if (!is_reached[i]) out.push_back(i);
  }
  return out;
}

}  // namespace bloomwall::proxy
