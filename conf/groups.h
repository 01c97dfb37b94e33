// The sections of the configuration that say who asks, and when: groups, schedules and calendars. As in sections.h
// every default stands at its field. Names that one of them uses for another (filters, listeners, schedules, calendars)
// are checked where they stand: Names are what is there to be named.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "conf/sections.h"

namespace bloomwall::conf {

inline constexpr std::size_t kMostGroups = 256;
inline constexpr std::size_t kMostSchedules = 256;  // and calendars
inline constexpr std::size_t kMostRanges = 64;      // of a schedule
inline constexpr std::size_t kMostDates = 4096;     // of a calendar; as many again in its file
inline constexpr std::size_t kMostDevices = 1000;
inline constexpr std::size_t kMostAddresses = 16;          // of a device
inline constexpr std::size_t kMostMembers = 1000;          // of a group: users; as many user_groups, and certificates
inline constexpr std::string_view kOfDevices = "devices";  // as `clients` of a group

// A value that may depend on schedules.
template <typename T>
struct Timed {
  using Value = T;
  std::vector<std::pair<std::string, T>> by_schedule;  // the first one that is active decides
  std::optional<T> otherwise;                          // else this; nothing: as outside of the group
  friend bool operator==(const Timed&, const Timed&) = default;
};

// An item of `schedules:`.
struct Schedule {
  std::string name;                      // [A-Za-z0-9._-]{1,64}, unique; not "otherwise"
  std::vector<std::string> times;        // schedule_text.h
  std::vector<std::string> except;       // calendars: on their days nothing of it begins
  std::optional<std::string> time_zone;  // nothing: Config::time_zone
  friend bool operator==(const Schedule&, const Schedule&) = default;
};

// An item of `calendars:`.
struct Calendar {
  std::string name;
  std::vector<std::string> dates;  // schedule_text.h
  std::filesystem::path file;      // more of them, one a line; empty: none
  friend bool operator==(const Calendar&, const Calendar&) = default;
};

struct GroupPage {
  std::filesystem::path html_template;  // empty: that of block_page
  friend bool operator==(const GroupPage&, const GroupPage&) = default;
};

// Where a group's TLS is decrypted otherwise than `tls_inspection` says. What may be decrypted of whom stays with that:
// clients, never_clients, ports, and the authority.
struct GroupTls {
  enum class Mode : std::uint8_t { common, off, blocked, urls, all };
  Mode mode = Mode::common;                  // common: that of tls_inspection
  std::vector<std::filesystem::path> never;  // in addition to that of tls_inspection
  friend bool operator==(const GroupTls&, const GroupTls&) = default;
};

// An item of `groups:`. The first whose every criterion holds is the client's; one without criteria must be the last.
struct Group {
  enum class Action : std::uint8_t { block, monitor, allow, off };
  std::string name;
  std::vector<std::string> clients;    // networks; empty: not asked, unless is_of_devices
  bool is_of_devices = false;          // `clients: devices`: nobody but the devices that are put in it
  std::vector<std::string> listeners;  // each Listener::address; empty: not asked
  // Of who has logged in; such groups have no members on transparent listeners. Empty: not asked.
  std::vector<std::string> users;                // names as authenticated, octet by octet
  std::vector<std::string> user_groups;          // that a user has by the source of the login
  std::vector<std::string> certificates;         // cn:NAME, dns:NAME, uri:URI or email:NAME of the client's certificate
  std::map<std::string, Timed<Action>> filters;  // by name: where they differ from Filter::action
  std::vector<std::filesystem::path> allow_lists;
  Timed<Otherwise> otherwise;            // nothing: Config::otherwise
  std::vector<std::string> safe_search;  // engines of the map of safe search, whose strict filter is kept on
  // What the query log keeps of its requests, if it records at all; counted: they stand in figures alone.
  enum class Log : std::uint8_t { all, blocked, counted };
  Log log = Log::all;
  bool end_tunnels = true;  // that are open when their host is no longer allowed
  GroupPage block_page;
  GroupTls tls_inspection;
  bool asks_for_clients() const { return is_of_devices || !clients.empty(); }
  bool has_criteria() const {
    return asks_for_clients() || !listeners.empty() || !users.empty() || !user_groups.empty() || !certificates.empty();
  }
  friend bool operator==(const Group&, const Group&) = default;
};

// An item of `devices:`, which have names for people, and may be put in a group one by one.
struct Device {
  std::string name;                    // 1 to 64 octets, unique
  std::vector<std::string> addresses;  // at least one; each of one device alone
  std::optional<std::string> group;    // whose `clients` its addresses are added to; nothing: none
  friend bool operator==(const Device&, const Device&) = default;
};

void read(MapReader& map, Schedule& out);
void read(MapReader& map, Calendar& out);
void read(MapReader& map, GroupPage& out);
void read(MapReader& map, GroupTls& out);
void read(MapReader& map, Group& out);
void read(MapReader& map, Device& out);
// Adds the devices' addresses to the clients of their groups, those that are not there yet. Errors: an address of two
// devices, too many of them.
void join_devices(MapReader& map, const std::vector<Device>& devices, std::vector<Group>& groups);
// Of several groups together: one that can have no member.
void check_order(MapReader& map, const std::vector<Group>& groups);

}  // namespace bloomwall::conf
