// SPDX-License-Identifier: Apache-2.0
#include "proxy/import/written_configuration.h"

#include <algorithm>
#include <list>
#include <optional>
#include <set>
#include <span>

#include "base/text.h"
#include "filter/url/address.h"
#include "proxy/import/squid_settings.h"

namespace bloomwall::proxy::foreign {
namespace {

using filter::AddressRange;

constexpr std::size_t kMostName = 48;

// A name of ours that is not taken yet.
std::string unused_name(std::string_view wanted, std::set<std::string>& taken) {
  std::string name;
  for (const char c : wanted.substr(0, kMostName)) {
    name += is_alpha(c) || is_digit(c) || c == '.' || c == '_' || c == '-' ? c : '-';
  }
  const bool means_else = equals_ignoring_case(name, "null");  // to YAML
  if (means_else || name == "default" || name == "otherwise" || name == "off") name += "-imported";
  if (name.empty() || !(is_alpha(name.front()) || is_digit(name.front()))) name.insert(0, "imported");
  std::string unused = name;
  for (int i = 2; !taken.insert(unused).second; ++i) unused = name + "-" + std::to_string(i);
  return unused;
}

// The networks that a range consists of, each as the largest block that begins at its address.
void add_networks(const AddressRange& range, std::vector<std::string>& out) {
  IpAddress at = range.first;
  while (true) {
    IpAddress last = at;
    for (std::size_t low = 0; low < 128; ++low) {  // how many low bits the block has
      std::uint8_t& octet = last.octets[last.octets.size() - 1 - low / 8];
      const auto bit = static_cast<std::uint8_t>(1U << (low % 8));
      if ((octet & bit) != 0) break;
      octet |= bit;
      if (last <= range.last) continue;
      octet = static_cast<std::uint8_t>(octet & ~bit);
      break;
    }
    std::string text = text_of(AddressRange{at, last});
    std::erase_if(text, [](char c) { return c == '[' || c == ']'; });
    out.push_back(std::move(text));
    if (last == range.last) return;
    at = last.next();
  }
}

std::vector<std::string> networks_of(const filter::RangeSet& set) {
  std::vector<std::string> out;
  for (const AddressRange& range : set.ranges()) add_networks(range, out);
  return out;
}

// A filter to be: the same list may have to be asked at two places in the order.
struct Place {
  std::size_t list;
  std::string name = {};
  bool blocks = false;  // somewhere
};

class Writer {
 public:
  Writer(Imported& imported, const std::vector<CompiledGroup>& groups) : imported_(imported), groups_(groups) {}
  std::map<std::string, std::string> write();

 private:
  using Order = std::list<Place>;

  void order_filters();
  void name_all();
  std::string schedule_map(const std::vector<Condition>& before, const std::vector<Condition>& when,
                           const std::string& on);
  std::string otherwise_of(const CompiledGroup& group);
  void add_filters();
  void add_group(std::size_t at);
  void add_schedules();
  void add_settings();
  void add_people();
  void add_host_file(const std::string& key, const std::string& section_key, bool as_never);
  void add_list(const DestinationList& list, const std::string& name);

  Imported& imported_;
  const std::vector<CompiledGroup>& groups_;
  Order order_;
  std::vector<std::vector<Order::iterator>> places_;  // of each group's steps; end() for kNoList
  std::vector<std::string> times_, names_;            // of Imported::times, of groups
  std::map<std::string, std::string> files_;
  std::string yaml_;
  bool plain_ = false;  // one group without times: no `groups` are needed
};

// Puts the lists of all groups into one order, in which each group finds its own: a list is asked again elsewhere only
// where two groups want different orders.
void Writer::order_filters() {
  for (const CompiledGroup& group : groups_) {
    auto at = order_.begin();
    std::vector<Order::iterator>& places = places_.emplace_back();
    for (const Step& step : group.steps) {
      if (step.list == kNoList) {
        places.push_back(order_.end());
        continue;
      }
      auto found = std::find_if(at, order_.end(), [&step](const Place& place) { return place.list == step.list; });
      if (found == order_.end()) found = order_.insert(at, {step.list});
      found->blocks = found->blocks || !step.allow;
      places.push_back(found);
      at = std::next(found);
    }
  }
}

void Writer::name_all() {
  std::set<std::string> filters, schedules, groups;
  for (Place& place : order_) place.name = unused_name(imported_.lists[place.list].name, filters);
  for (const Times& times : imported_.times) times_.push_back(unused_name(times.name, schedules));
  for (const CompiledGroup& group : groups_) names_.push_back(unused_name(group.name, groups));
}

// The action of a filter by schedule; the first active time decides. `before`: times in which something before this
// filter has decided already.
std::string Writer::schedule_map(const std::vector<Condition>& before, const std::vector<Condition>& when,
                                 const std::string& on) {
  std::string map;
  std::set<std::size_t> said;
  const auto add = [&](std::size_t time, const std::string& what) {
    if (said.insert(time).second) map += (map.empty() ? "" : ", ") + times_[time] + ": " + what;
  };
  bool only_in_the_rest = false;
  for (const Condition& condition : before) {
    if (!condition.negated) {
      add(condition.index, "\"off\"");
    } else if (when.empty()) {
      add(condition.index, on);
      only_in_the_rest = true;
    }
  }
  for (const Condition& condition : when) add(condition.index, condition.negated ? "\"off\"" : on);
  if (map.empty()) return on;
  const bool on_otherwise = !only_in_the_rest && (when.empty() || when.front().negated);
  return "{" + map + ", otherwise: " + (on_otherwise ? on : "\"off\"") + "}";
}

std::string Writer::otherwise_of(const CompiledGroup& group) {
  const auto last = std::find_if(group.steps.begin(), group.steps.end(),
                                 [](const Step& step) { return step.list == kNoList && step.when.empty(); });
  std::string rest = (last == group.steps.end() ? group.otherwise : last->allow) ? "allow" : "deny";
  struct Entry {
    std::size_t time;
    std::string decision;
    bool is_open;  // what remains once a rule for all other times has decided: a later rule for this time may still
  };
  std::vector<Entry> entries;
  for (auto step = group.steps.begin(); step != last; ++step) {
    if (step->list != kNoList) continue;
    const std::string decision = step->allow ? "allow" : "deny";
    for (const Condition& condition : step->when) {
      const auto found = std::find_if(entries.begin(), entries.end(),
                                      [&condition](const Entry& entry) { return entry.time == condition.index; });
      if (found == entries.end()) {
        entries.push_back({condition.index, condition.negated ? rest : decision, condition.negated});
      } else if (!condition.negated && found->is_open) {
        *found = {condition.index, decision, false};
      }
      if (condition.negated) rest = decision;
    }
  }
  std::string map;
  for (const Entry& entry : entries) map += (map.empty() ? "" : ", ") + times_[entry.time] + ": " + entry.decision;
  return map.empty() ? rest : "{" + map + ", otherwise: " + rest + "}";
}

void Writer::add_list(const DestinationList& list, const std::string& name) {
  for (const DestinationList::File& file : list.files) {
    yaml_ += "  - {url: " + yaml_text(file.path) + ", format: " + file.format + ", allow_tld: true}\n";
  }
  if (list.entries.empty() && !list.files.empty()) return;
  std::string text;
  for (const std::string& entry : list.entries) text += entry + "\n";
  const std::string path = "lists/" + name + ".txt";
  files_[path] = text;
  // A range or a top-level domain that a list may not name by mistake was written by its administrator here.
  const char* const wide = list.has_networks ? ", allow_wide_ranges: true" : "";
  yaml_ += "  - {url: " + path + ", format: mixed, allow_tld: true" + wide + "}\n";
}

void Writer::add_filters() {
  if (order_.empty()) return;
  yaml_ += "\n# In this order; the first that blocks or allows decides. `bloomwall update` builds them.\nfilters:\n";
  for (const Place& place : order_) {
    const DestinationList& list = imported_.lists[place.list];
    yaml_ += "- name: " + place.name + "\n  file: /var/lib/bloomwall/" + place.name + ".bwf\n";
    // The lists of others may be large, and what they block by mistake is cured like any mistake.
    const bool is_exact = !list.has_networks && (list.files.empty() || !place.blocks);
    if (is_exact) yaml_ += "  exact: /var/lib/bloomwall/" + place.name + ".bwx\n";
    yaml_ += std::string("  action: ") + (place.blocks ? "block" : "allow") + "\n  sources:\n";
    add_list(list, place.name);
    // A name in it that no server can have did no harm in Squid: `update` names it, and builds the rest.
    const char* const tolerant = list.entries.empty() ? "" : ", unusable: 100%";
    yaml_ += std::string("  guards: {must_pass: []") + tolerant + "}\n";
    yaml_ += is_exact ? "  build: {exact_side: true}\n" : "";
  }
}

void Writer::add_group(std::size_t at) {
  const CompiledGroup& group = groups_[at];
  yaml_ += "- name: " + names_[at] + "\n";
  if (group.clients) yaml_ += "  clients: " + yaml_list(networks_of(*group.clients)) + "\n";
  if (!group.users.empty()) yaml_ += "  users: " + yaml_list(group.users) + "\n";
  if (!group.user_groups.empty()) yaml_ += "  user_groups: " + yaml_list(group.user_groups) + "\n";
  std::map<const Place*, std::string> actions;
  std::vector<Condition> before;
  for (std::size_t i = 0; i < group.steps.size(); ++i) {
    const Step& step = group.steps[i];
    if (step.list == kNoList) {
      before.insert(before.end(), step.when.begin(), step.when.end());
      if (step.when.empty()) break;
    } else {
      actions[&*places_[at][i]] = schedule_map(before, step.when, step.allow ? "allow" : "block");
    }
  }
  std::string filters;
  for (const Place& place : order_) {
    const auto found = actions.find(&place);
    const std::string action = found == actions.end() ? "\"off\"" : found->second;
    if (action != (place.blocks ? "block" : "allow"))
      filters += (filters.empty() ? "" : ", ") + place.name + ": " + action;
  }
  if (!filters.empty()) yaml_ += "  filters: {" + filters + "}\n";
  yaml_ += "  otherwise: " + otherwise_of(group) + "\n";
  if (imported_.items.contains("safe_search")) yaml_ += "  safe_search: [google, youtube_moderate, bing, duckduckgo]\n";
}

void Writer::add_schedules() {
  std::set<std::size_t> used;
  for (const CompiledGroup& group : groups_) {
    for (const Step& step : group.steps) {
      for (const Condition& condition : step.when) used.insert(condition.index);
    }
  }
  if (used.empty()) return;
  yaml_ += "\nschedules:\n";
  for (const std::size_t index : used)
    yaml_ += "- {name: " + times_[index] + ", times: " + yaml_list(imported_.times[index].spans) + "}\n";
}

// Who may use the proxy, and who must log in.
void Writer::add_people() {
  filter::RangeSet clients, logins;
  bool everybody = false;
  for (const CompiledGroup& group : groups_) {
    if (group.allows_nothing()) continue;
    everybody = everybody || !group.clients;
    if (group.clients) clients = united(clients, *group.clients);
  }
  for (const CompiledGroup& group : groups_) {
    if (group.has_to_log_in && group.clients) logins = united(logins, *group.clients);
    if (group.has_to_log_in && !group.clients)
      imported_.settings["authentication.require"] = R"(["0.0.0.0/0", "::/0"])";
  }
  imported_.settings["access.clients"] = everybody ? R"(["0.0.0.0/0", "::/0"])" : yaml_list(networks_of(clients));
  if (!logins.empty() && !imported_.settings.contains("authentication.require")) {
    imported_.settings["authentication.require"] = yaml_list(networks_of(logins));
  }
}

// Hosts of lists, for keys that name hosts and not filters.
void Writer::add_host_file(const std::string& key, const std::string& section_key, bool as_never) {
  const auto found = imported_.items.find(key);
  if (found == imported_.items.end()) return;
  std::string lines = as_never ? "# Not decrypted: one domain a line, =host for only that host.\n" : "";
  std::vector<std::string> hosts;
  for (const std::string& index : found->second) {
    for (const std::string& entry : imported_.lists[std::stoul(index)].entries) {
      const bool domain = entry.starts_with("||");
      const bool host = entry.starts_with("0.0.0.0 ");
      std::string name = domain ? entry.substr(2, entry.size() - 3) : host ? entry.substr(8) : entry;
      if (as_never) {
        lines += (host ? "=" : "") + name + "\n";
      } else {
        hosts.push_back(std::move(name));
      }
    }
  }
  if (as_never) files_["lists/never-decrypt.txt"] = lines;
  imported_.settings[section_key] =
      as_never ? "[/usr/share/bloomwall/never-decrypt.txt, lists/never-decrypt.txt]" : yaml_list(hosts);
}

// Keys by their sections, as deep as they are.
void Writer::add_settings() {
  std::vector<std::string> open;
  for (const auto& [key, value] : imported_.settings) {
    std::vector<std::string> parts;
    for (std::string_view rest = key; !rest.empty();) parts.emplace_back(next_part(rest, '.'));
    std::size_t same = 0;
    while (same < open.size() && same + 1 < parts.size() && open[same] == parts[same]) ++same;
    if (same == 0) yaml_ += "\n";
    for (std::size_t i = same; i + 1 < parts.size(); ++i) yaml_ += std::string(i * 2, ' ') + parts[i] + ":\n";
    yaml_ += std::string((parts.size() - 1) * 2, ' ') + parts.back() + ": " + value + "\n";
    open.assign(parts.begin(), parts.end() - 1);
  }
}

std::map<std::string, std::string> Writer::write() {
  order_filters();
  name_all();
  add_people();
  add_host_file("never", "tls_inspection.never", true);
  add_host_file("bypass", "upstream.bypass", false);
  const auto has_times = [](const CompiledGroup& group) {
    return std::any_of(group.steps.begin(), group.steps.end(), [](const Step& step) { return !step.when.empty(); });
  };
  plain_ = groups_.size() == 1 && groups_[0].users.empty() && groups_[0].user_groups.empty() &&
           !has_times(groups_[0]) && !imported_.items.contains("safe_search");
  yaml_ = "# Written by `bloomwall import`. What differs from the original is in its report.\n";
  if (const auto found = imported_.items.find("listeners"); found != imported_.items.end()) {
    yaml_ += "listeners:\n";
    for (const std::string& item : found->second) yaml_ += "- " + item + "\n";
  }
  if (plain_) imported_.settings["otherwise"] = otherwise_of(groups_[0]);
  add_settings();
  add_filters();
  if (!plain_) {
    add_schedules();
    yaml_ += groups_.empty() ? "" : "\n# The first whose criteria all match.\ngroups:\n";
    for (std::size_t i = 0; i < groups_.size(); ++i) add_group(i);
  }
  files_["bloomwall.yaml"] = yaml_;
  return std::move(files_);
}

}  // namespace

std::map<std::string, std::string> written(Imported& imported, const std::vector<CompiledGroup>& groups) {
  return Writer(imported, groups).write();
}

}  // namespace bloomwall::proxy::foreign
