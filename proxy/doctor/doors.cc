// SPDX-License-Identifier: Apache-2.0
#include "proxy/doctor/doors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "conf/forms.h"
#include "proxy/io/unix_socket.h"

namespace bloomwall::proxy {
namespace {

// Whether any group asks who the user is.
bool asks_for_users(const conf::Config& settings) {
  return std::ranges::any_of(
      settings.groups, [](const conf::Group& group) { return !group.users.empty() || !group.user_groups.empty(); });
}

// Who can connect to a door.
std::string connects_text(const DoorState& door) {
  if (!unix_path_of(door.settings.address).empty()) {
    if (door.owner.empty()) return "no socket is seen there";
    return fmt::format("the user {} and the group {} may connect ({:04o})", door.owner, door.group, door.mode);
  }
  if (conf::is_of_this_host(door.settings.address)) return "programs of this machine may ask";
  return "whoever is in trust or in access.clients may ask";
}

std::string believed_text(const conf::Answers& door) {
  if (!door.may_name_users()) return "each asker is judged as itself";
  if (door.trust.empty()) return "trust is empty: each asker is judged by its own address, whomever it asks for";
  return fmt::format("{} believed for clients{}", fmt::join(door.trust, ", "), door.users ? " and users" : "");
}

}  // namespace

Diagnosis check_doors(const std::vector<DoorState>& doors, const conf::Config& settings) {
  Diagnosis out;
  for (std::size_t i = 0; i < doors.size(); ++i) {
    const DoorState& door = doors[i];
    Finding finding{Grade::good, "answers",
                    fmt::format("answers[{}]: {} at {}: {}; {}", i, to_string(door.settings.protocol),
                                door.settings.address, connects_text(door), believed_text(door.settings))};
    if (door.settings.group && !door.owner.empty() && door.group != *door.settings.group) {
      finding.grade = Grade::wrong;
      finding.what += fmt::format("; it should be the group {}", *door.settings.group);
      finding.cure = "a changed group needs a restart: systemctl restart bloomwall";
    } else if (door.settings.may_name_users() && door.settings.trust.empty()) {
      finding.grade = Grade::note;
      finding.cure = "name the program's address in trust (of a unix socket 127.0.0.1), then reload";
    } else if (door.settings.may_name_users() && !door.settings.users && asks_for_users(settings)) {
      finding.grade = Grade::note;
      finding.what += "; groups ask for users, and it believes no name of one";
      finding.cure = "users: true, where the program has logged its users in; then reload";
    }
    out.push_back(std::move(finding));
  }
  return out;
}

std::vector<DoorState> look_at_doors(const conf::Config& settings) {
  std::vector<DoorState> out;
  for (const conf::Answers& each : settings.answers) {
    DoorState door{.settings = each};
    struct stat status{};
    const std::string path = unix_path_of(each.address);
    if (!path.empty() && ::lstat(path.c_str(), &status) == 0 && S_ISSOCK(status.st_mode)) {
      const passwd* const user = ::getpwuid(status.st_uid);
      const group* const group = ::getgrgid(status.st_gid);
      door.owner = user == nullptr ? std::to_string(status.st_uid) : user->pw_name;
      door.group = group == nullptr ? std::to_string(status.st_gid) : group->gr_name;
      door.mode = status.st_mode & 0777;
    }
    out.push_back(std::move(door));
  }
  return out;
}

}  // namespace bloomwall::proxy
