// SPDX-License-Identifier: Apache-2.0
#include "proxy/access/group_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <utility>

namespace bloomwall::proxy {

GroupTable::Range GroupTable::range_of(const IpNetwork& network, std::size_t group) {
  constexpr std::uint64_t kAll = std::numeric_limits<std::uint64_t>::max();
  const unsigned prefix = network.prefix;
  const std::uint64_t high = prefix >= 64 ? 0 : kAll >> prefix;
  const std::uint64_t low = prefix <= 64 ? kAll : prefix == 128 ? 0 : kAll >> (prefix - 64);
  const AddressWords first = AddressWords::of(network.base);
  return {first, {first.high | high, first.low | low}, static_cast<std::uint32_t>(group)};
}

// Those that may be a client's: behind the first that asks for nobody's name, none is reached.
GroupSet GroupTable::up_to_open(const GroupSet& groups) const {
  const std::size_t last = (groups & members_.open()).first();
  if (last == GroupSet::kNone) return groups;
  GroupSet kept;
  for (std::size_t group = 0; group <= last; ++group) {
    if (groups.contains(group)) kept.add(group);
  }
  return kept;
}

// `everywhere`: groups of any address. A sweep over the ends of the ranges, which counts for each group how many of its
// ranges hold the address of now.
std::vector<GroupTable::Step> GroupTable::steps_of(const std::vector<Range>& ranges, const GroupSet& everywhere) const {
  struct Event {
    AddressWords at;
    std::uint32_t group;
    bool begins;
  };
  std::vector<Event> events;
  for (const Range& range : ranges) {
    events.push_back({range.first, range.group, true});
    AddressWords behind = range.last;
    if (++behind.low == 0) ++behind.high;
    if (behind > range.last) events.push_back({behind, range.group, false});  // else it ends with the last address
  }
  std::ranges::sort(events, {}, &Event::at);
  std::map<std::uint32_t, std::size_t> open;
  std::vector<Step> steps{{.from = {}, .groups = up_to_open(everywhere)}};
  for (auto event = events.begin(); event != events.end();) {
    const AddressWords at = event->at;
    for (; event != events.end() && event->at == at; ++event) {
      event->begins ? ++open[event->group] : --open[event->group];
    }
    GroupSet groups = everywhere;
    for (const auto& [group, count] : open) {
      if (count > 0) groups.add(group);
    }
    groups = up_to_open(groups);
    if (steps.back().from == at) {
      steps.back().groups = groups;
    } else if (steps.back().groups != groups) {
      steps.push_back({at, groups});
    }
  }
  return steps;
}

void GroupTable::add(const std::vector<conf::Group>& groups, const Networks& networks, const std::string& listener,
                     bool is_transparent) {
  std::vector<Range> ranges;
  GroupSet everywhere;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const auto& of = groups[i].listeners;
    if (!of.empty() && std::ranges::find(of, listener) == of.end()) continue;
    if (is_transparent && !members_.open().contains(i)) continue;
    if (!groups[i].asks_for_clients()) everywhere.add(i);
    for (const IpNetwork& network : networks[i]) ranges.push_back(range_of(network, i));
  }
  listeners_.push_back({listener, steps_of(ranges, everywhere)});
}

tl::expected<GroupTable, std::vector<std::string>> GroupTable::build(const std::vector<conf::Group>& groups,
                                                                     const std::vector<conf::Listener>& listeners) {
  std::vector<std::string> errors;
  Networks networks(groups.size());
  for (std::size_t i = 0; i < groups.size(); ++i) {
    for (const std::string& text : groups[i].clients) {
      const auto network = IpNetwork::parse(text);
      if (network) networks[i].push_back(*network);
      if (!network) errors.push_back(fmt::format("groups[{}].clients: not a network: {}", i, text));
    }
  }
  if (groups.size() > conf::kMostGroups) errors.push_back(fmt::format("groups: more than {}", conf::kMostGroups));
  if (!errors.empty()) return tl::unexpected(std::move(errors));
  GroupTable table(groups);
  for (const conf::Listener& listener : listeners) {
    table.add(groups, networks, listener.address, listener.mode == conf::Listener::Mode::transparent);
  }
  table.add(groups, networks, {}, false);  // any other: listeners go on after a reload that does not name them
  return table;
}

std::size_t GroupTable::group_of(const IpAddress& client, std::string_view listener, const GroupMember& member) const {
  const auto found = std::ranges::find(listeners_, listener, &OfListener::listener);
  const std::vector<Step>& steps = found == listeners_.end() ? listeners_.back().steps : found->steps;
  const Step& step = *std::prev(std::ranges::upper_bound(steps, AddressWords::of(client), {}, &Step::from));
  return std::min((step.groups & members_.of(member)).first(), groups_);
}

std::vector<std::size_t> GroupTable::unreachable() const {
  GroupSet reached;
  for (const OfListener& of : listeners_) {
    if (of.listener.empty()) continue;
    for (const Step& step : of.steps) {
      for (std::size_t group = 0; group < groups_; ++group) {
        const bool is_left = (step.groups & members_.covering(group)).first() == GroupSet::kNone;
        if (step.groups.contains(group) && is_left) reached.add(group);
      }
    }
  }
  std::vector<std::size_t> out;
  for (std::size_t group = 0; group < groups_; ++group) {
    if (!reached.contains(group)) out.push_back(group);
  }
  return out;
}

}  // namespace bloomwall::proxy
