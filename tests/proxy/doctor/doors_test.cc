// What `bloomwall doctor` says of doors: one row for each finding.
// SPDX-License-Identifier: Apache-2.0
#include "proxy/doctor/doors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "proxy/io/unix_socket.h"
#include "tests/support/temp_dir.h"

namespace bloomwall::proxy {
namespace {

using Protocol = conf::Answers::Protocol;
using testing::HasSubstr;

struct Row {
  std::string name;
  DoorState door;
  bool groups_ask = false;  // for users
  Grade grade = Grade::good;
  std::string what, cure = {};
};

conf::Answers door(Protocol protocol, const std::string& address, std::vector<std::string> trust = {},
                   bool users = false, std::optional<std::string> group = {}) {
  return {.address = address, .protocol = protocol, .trust = std::move(trust), .users = users, .group = group};
}

std::vector<Row> rows() {
  const std::vector<std::string> self{"127.0.0.1"};
  const std::string path = "unix:/run/bloomwall/squid";
  return {
      {"Believed",
       {door(Protocol::http, "127.0.0.1:3130", self)},
       false,
       Grade::good,
       "http at 127.0.0.1:3130: programs of this machine may ask; 127.0.0.1 believed for clients"},
      {"ForOthers",
       {door(Protocol::icap, ":1344", {"10.0.0.0/8"}, true)},
       true,
       Grade::good,
       "whoever is in trust or in access.clients may ask; 10.0.0.0/8 believed for clients and users"},
      {"TrustIsEmpty",
       {door(Protocol::squid, path), "bloomwall", "bloomwall", 0660},
       false,
       Grade::note,
       "the user bloomwall and the group bloomwall may connect (0660); trust is empty",
       "in trust"},
      {"TrustMayBeEmpty", {door(Protocol::resp, "127.0.0.1:1")}, false, Grade::good, "each asker is judged as itself"},
      {"NamesAreNotBelieved",
       {door(Protocol::http, "127.0.0.1:1", self)},
       true,
       Grade::note,
       "groups ask for users, and it believes no name of one",
       "users: true"},
      {"NoSocket", {door(Protocol::tcp_table, path)}, false, Grade::good, "no socket is seen there"},
      {"OfItsGroup",
       {door(Protocol::squid, path, self, false, "proxy"), "bloomwall", "proxy", 0660},
       false,
       Grade::good,
       "the group proxy may connect"},
      {"OfAnotherGroup",
       {door(Protocol::squid, path, self, false, "proxy"), "bloomwall", "bloomwall", 0660},
       false,
       Grade::wrong,
       "it should be the group proxy",
       "restart"},
  };
}

class Doors : public testing::TestWithParam<Row> {};

TEST_P(Doors, AreJudged) {
  const Row& row = GetParam();
  conf::Config settings;
  if (row.groups_ask) settings.groups.emplace_back().users = {"anna"};
  const Diagnosis found = check_doors({row.door}, settings);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found.front().grade, row.grade) << found.front().what;
  EXPECT_THAT(found.front().what, HasSubstr("answers[0]: "));
  EXPECT_THAT(found.front().what, HasSubstr(row.what));
  EXPECT_THAT(found.front().cure, HasSubstr(row.cure));
}
INSTANTIATE_TEST_SUITE_P(Rows, Doors, testing::ValuesIn(rows()), [](const auto& row) { return row.param.name; });

TEST(DoorsOfThisMachine, ShowWhoseTheirSocketIs) {
  const test::TempDir folder;
  const std::string path = (folder.path() / "door").string();
  conf::Config settings;
  settings.answers = {door(Protocol::squid, "unix:" + path), door(Protocol::http, "127.0.0.1:1")};
  EXPECT_TRUE(look_at_doors(settings).at(0).owner.empty());
  const auto made = listen_at(path, 8);
  ASSERT_TRUE(made) << made.error();
  const auto doors = look_at_doors(settings);
  EXPECT_FALSE(doors.at(0).owner.empty());
  EXPECT_FALSE(doors.at(0).group.empty());
  EXPECT_EQ(doors.at(0).mode, 0660U);
  EXPECT_TRUE(doors.at(1).owner.empty());
}

}  // namespace
}  // namespace bloomwall::proxy
