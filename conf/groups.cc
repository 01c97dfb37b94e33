// SPDX-License-Identifier: Apache-2.0
#include "conf/groups.h"

#include <fmt/format.h>

#include <algorithm>

#include "conf/yaml_reader.h"

namespace bloomwall::conf {
namespace {

void check_count(MapReader& map, std::string_view key, std::size_t count, std::size_t most) {
  if (count > most) map.fail(key, fmt::format("{} are given, and at most {} may be", count, most));
}

}  // namespace

void read(MapReader& map, Schedule& out) {
  map.text("name", out.name, kLabel);
  map.text_list("times", out.times, kTimes);
  map.name_list("except", out.except, &Names::calendars, "calendar");
  map.optional_text("time_zone", out.time_zone, kZone);
  map.require("name");
  map.require("times");
  if (out.name == kOtherwise) map.fail("name", "otherwise means that no schedule is active; choose another name");
  check_count(map, "times", out.times.size(), kMostRanges);
}

void read(MapReader& map, Calendar& out) {
  map.text("name", out.name, kLabel);
  map.text_list("dates", out.dates, kDates);
  map.optional_path("file", out.file);
  map.require("name");
  check_count(map, "dates", out.dates.size(), kMostDates);
}

void read(MapReader& map, GroupPage& out) { map.optional_path("template", out.html_template); }

void read(MapReader& map, GroupTls& out) {
  using Mode = GroupTls::Mode;
  map.choice("mode", out.mode,
             {{"common", Mode::common},
              {"off", Mode::off},
              {"blocked", Mode::blocked},
              {"urls", Mode::urls},
              {"all", Mode::all}});
  map.path_list("never", out.never);
}

void read(MapReader& map, Group& out) {
  map.text("name", out.name, kLabel);
  map.word_or_text_list("clients", kOfDevices, out.is_of_devices, out.clients, kNetwork);
  map.name_list("listeners", out.listeners, &Names::listeners, "listener");
  map.text_list("users", out.users, kUser);
  map.text_list("user_groups", out.user_groups, kUserGroup);
  map.text_list("certificates", out.certificates, kCertificateName);
  map.timed_by_filter("filters", out.filters,
                      {{"block", Group::Action::block},
                       {"monitor", Group::Action::monitor},
                       {"allow", Group::Action::allow},
                       {"off", Group::Action::off}});
  map.path_list("allow_lists", out.allow_lists);
  map.timed("otherwise", out.otherwise, {{"allow", Otherwise::allow}, {"deny", Otherwise::deny}});
  map.text_list("safe_search", out.safe_search, kEngine);
  map.flag("end_tunnels", out.end_tunnels);
  map.choice("log", out.log,
             {{"all", Group::Log::all}, {"blocked", Group::Log::blocked}, {"counted", Group::Log::counted}});
  map.section("block_page", out.block_page);
  map.section("tls_inspection", out.tls_inspection);
  map.require("name");
  check_count(map, "users", out.users.size(), kMostMembers);
  check_count(map, "user_groups", out.user_groups.size(), kMostMembers);
  check_count(map, "safe_search", out.safe_search.size(), kMostMembers);
  check_count(map, "certificates", out.certificates.size(), kMostMembers);
  if (out.name == "default" && out.has_criteria()) {
    map.fail("name", "whoever is in no group is in \"default\"; a group of that name has no criteria and is the last");
  }
}

void read(MapReader& map, Device& out) {
  map.text("name", out.name, kDeviceName);
  const std::size_t errors = map.reading().errors.size();
  map.text_list("addresses", out.addresses, kIp);
  map.require("addresses");
  const bool is_read = map.reading().errors.size() == errors && map.reading().keys == nullptr;
  if (is_read && out.addresses.empty()) map.fail("addresses", "at least one wanted");
  check_count(map, "addresses", out.addresses.size(), kMostAddresses);
  map.optional_text("group", out.group, kLabel);
  map.require("name");
  if (!out.group) return;
  const Names& names = map.names();
  if (std::ranges::find(names.groups, *out.group) == names.groups.end()) {
    const auto near = nearest_word(*out.group, names.groups);
    map.fail("group", fmt::format("there is no group {}{}", *out.group,
                                  near.empty() ? std::string() : fmt::format("; did you mean {}?", near)));
  } else if (std::ranges::find(names.groups_of_clients, *out.group) == names.groups_of_clients.end()) {
    map.fail("group", fmt::format("the group {} does not ask for clients, so that a device would narrow it: give it "
                                  "`clients`, or `clients: devices` for devices alone",
                                  *out.group));
  }
}

void join_devices(MapReader& map, const std::vector<Device>& devices, std::vector<Group>& groups) {
  check_count(map, "devices", devices.size(), kMostDevices);
  std::map<std::string, const Device*> owners;
  for (const Device& device : devices) {
    const auto group = std::ranges::find_if(groups, [&](const Group& each) { return each.name == device.group; });
    for (const std::string& address : device.addresses) {
      const auto [owner, is_first] = owners.emplace(address, &device);
      if (!is_first) {
        map.fail("devices", fmt::format("{} is an address of {} and of {}", address, owner->second->name, device.name));
      }
      if (group == groups.end()) continue;
      if (std::ranges::find(group->clients, address) == group->clients.end()) group->clients.push_back(address);
    }
  }
}

void check_order(MapReader& map, const std::vector<Group>& groups) {
  for (std::size_t i = 0; i + 1 < groups.size(); ++i) {
    if (groups[i].has_criteria()) continue;
    map.fail("groups", fmt::format("{} has no criteria, so that nobody is left for {}; only the last group may have "
                                   "none",
                                   groups[i].name, groups[i + 1].name));
  }
  check_count(map, "groups", groups.size(), kMostGroups);
}

}  // namespace bloomwall::conf
