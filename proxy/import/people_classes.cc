// SPDX-License-Identifier: Apache-2.0
#include "proxy/import/people_classes.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <utility>

namespace bloomwall::proxy::foreign {
namespace {

using filter::RangeSet;

RangeSet everywhere() {
  IpAddress last;
  last.octets.fill(0xff);
  const std::array ranges{filter::AddressRange{IpAddress::v4(0), IpAddress::v4(0xffffffffU)},
                          filter::AddressRange{IpAddress{}, last}};
  return RangeSet{std::span(ranges)};
}

}  // namespace

RangeSet common(const RangeSet& a, const RangeSet& b) { return without(a, without(a, b)); }

Indexes used_people(const Imported& imported) {
  Indexes used;
  const auto add = [&used](const std::vector<Condition>& conditions) {
    for (const Condition& condition : conditions) {
      if (condition.kind == ConditionKind::people) used.insert(condition.index);
    }
  };
  for (const Stage& stage : imported.stages) {
    for (const Section& section : stage) {
      add(section.people);
      for (const Rule& rule : section.rules) add(rule.conditions);
    }
  }
  return used;
}

std::vector<Indexes> address_sets(const Imported& imported, const Indexes& used) {
  struct Piece {
    Indexes people;
    RangeSet addresses;
  };
  std::vector<Piece> pieces{{{}, everywhere()}};
  for (const std::size_t index : used) {
    const auto& clients = imported.people[index].clients;
    if (!clients) continue;
    std::vector<Piece> cut;
    for (Piece& piece : pieces) {
      RangeSet inside = common(piece.addresses, *clients);
      RangeSet outside = without(piece.addresses, *clients);
      if (!inside.empty()) {
        cut.push_back({piece.people, std::move(inside)});
        cut.back().people.insert(index);
      }
      if (!outside.empty()) cut.push_back({std::move(piece.people), std::move(outside)});
      if (cut.size() > kMostClasses) return {};
    }
    pieces = std::move(cut);
  }
  std::set<Indexes> sets;
  for (Piece& piece : pieces) sets.insert(std::move(piece.people));
  std::vector<Indexes> out(sets.begin(), sets.end());
  std::stable_sort(out.begin(), out.end(), [](const Indexes& a, const Indexes& b) { return a.size() > b.size(); });
  return out;
}

std::vector<Class> login_sets(const Imported& imported, const Indexes& used) {
  std::map<std::string, Indexes> users, groups;
  for (const std::size_t index : used) {
    for (const std::string& user : imported.people[index].users) users[user].insert(index);
    for (const std::string& group : imported.people[index].user_groups) groups[group].insert(index);
  }
  std::map<Indexes, std::vector<std::string>> same;
  for (const auto& [user, people] : users) same[people].push_back(user);
  std::vector<Class> out;
  for (const auto& [people, names] : same) out.push_back({{}, people, names, {}});
  std::stable_sort(out.begin(), out.end(),
                   [](const Class& a, const Class& b) { return a.logins.size() > b.logins.size(); });
  std::map<Indexes, std::vector<std::string>> same_groups;
  for (const auto& [group, people] : groups) same_groups[people].push_back(group);
  for (const auto& [people, names] : same_groups) out.push_back({{}, people, {}, names});
  out.push_back({});
  return out;
}

}  // namespace bloomwall::proxy::foreign
