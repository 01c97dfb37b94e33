// SPDX-License-Identifier: Apache-2.0
#include "proxy/auth/user_table.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "proxy/auth/password_hash.h"
#include "tests/proxy/auth/hashes.h"
#include "tests/support/temp_dir.h"

namespace bloomwall::proxy {
namespace {

using namespace bloomwall::test;

std::vector<std::string> errors_of(const std::string& text) {
  const auto made = UserTable::parse(text, "users");
  return made ? std::vector<std::string>{} : made.error();
}

TEST(UserTable, HoldsNamesGroupsAndEnds) {
  const auto made = UserTable::parse("# people\n\n" + user_line("alice") + user_line("bob", ":staff,night shift") +
                                         user_line("carol", "::2027-01-31") +
                                         user_line("d\xc3\xb6rte", ":staff:2027-01-31T18:00:01Z"),
                                     "users");
  ASSERT_TRUE(made.has_value()) << made.error().front();
  const UserTable& table = **made;
  EXPECT_EQ(table.size(), 4U);
  ASSERT_NE(table.find("alice"), nullptr);
  EXPECT_EQ(table.find("alice")->hash, kBcrypt);
  EXPECT_EQ(table.find("alice")->user->until, User::kForever);
  EXPECT_EQ(table.find("bob")->user->groups, (std::vector<std::string>{"staff", "night shift"}));
  EXPECT_EQ(table.find("carol")->user->until, 1801440000) << "the end of that day";
  EXPECT_EQ(table.find("d\xc3\xb6rte")->user->until, 1801418401);
  EXPECT_EQ(table.find("Alice"), nullptr) << "names are compared octet by octet";
  EXPECT_EQ(table.find(""), nullptr);
}

TEST(UserTable, HoldsRolesOfPeopleWhoSignIn) {
  const auto made = UserTable::parse(
      user_line("carol", ":operator") + user_line("dave", ":reviewer:staff,night shift") + user_line("erna", ":admin:"),
      "users", UserTable::Form::people);
  ASSERT_TRUE(made.has_value()) << made.error().front();
  EXPECT_EQ((*made)->find("carol")->role, Role::maintainer);
  EXPECT_EQ((*made)->find("dave")->role, Role::reviewer);
  EXPECT_EQ((*made)->find("dave")->user->groups, (std::vector<std::string>{"staff", "night shift"}));
  EXPECT_EQ((*made)->find("erna")->role, Role::admin);
  for (const auto& [more, what] :
       std::vector<std::pair<std::string, std::string>>{{"", "expected name:hash:role"},
                                                        {":", "expected name:hash:role"},
                                                        {":boss", "expected name:hash:role"},
                                                        {":maintainer", "expected name:hash:role"},
                                                        {":viewer:staff", "only reviewers"},
                                                        {":reviewer:a,,b", "group"},
                                                        {":reviewer:a:2027-01-31", "follow the groups"}}) {
    const auto wrong = UserTable::parse(user_line("erna", more), "users", UserTable::Form::people);
    ASSERT_FALSE(wrong.has_value()) << more;
    EXPECT_NE(wrong.error().front().find(what), std::string::npos) << wrong.error().front();
    EXPECT_EQ(wrong.error().front().find(kBcrypt), std::string::npos);
  }
}

TEST(UserTable, NamesTheLineOfEachMistake) {
  const std::string hash(kBcrypt);
  for (const auto& [line, what] :
       std::vector<std::pair<std::string, std::string>>{{"alice", "htpasswd -B"},
                                                        {"alice:", "htpasswd -B"},
                                                        {"alice:open sesame", "htpasswd -B"},
                                                        {"alice:$apr1$saltsalt$9eMSZqfJhBBVZ8kyVrHBz1", "MD5"},
                                                        {":" + hash, "expected name:hash"},
                                                        {" alice:" + hash, "blanks"},
                                                        {"a\tb:" + hash, "expected name:hash"},
                                                        {std::string(256, 'a') + ":" + hash, "255"},
                                                        {"alice:" + hash + ":a,,b", "group"},
                                                        {"alice:" + hash + ":a, b", "group"},
                                                        {"alice:" + hash + "::2027-02-30", "2027-01-31"},
                                                        {"alice:" + hash + "::tomorrow", "2027-01-31"},
                                                        {"alice:" + hash + "::2027-01-31T25:00:00Z", "2027-01-31"},
                                                        {"bob:" + hash, "earlier line"}}) {
    const auto errors = errors_of(user_line("bob") + line + "\n");
    ASSERT_EQ(errors.size(), 1U) << line;
    EXPECT_TRUE(errors[0].starts_with("users:2: ")) << errors[0];
    EXPECT_NE(errors[0].find(what), std::string::npos) << errors[0];
    EXPECT_EQ(errors[0].find("sesame"), std::string::npos) << "what stands there may be a password";
  }
}

TEST(UserTable, ListsOnlySoManyMistakes) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "x\n";
  const auto errors = errors_of(text);
  ASSERT_EQ(errors.size(), UserTable::kMostErrors + 1);
  EXPECT_EQ(errors.back(), "users: 980 more lines are wrong");
  EXPECT_EQ(errors_of("a:" + std::string(70'000, 'x')).size(), 1U);
  std::string groups = ":a";
  for (std::size_t i = 0; i < UserTable::kMostGroups; ++i) groups += ",a";
  EXPECT_EQ(errors_of(user_line("a", groups)).size(), 1U);
}

TEST(UserTable, HasAStandInForEveryNameThatIsNobodys) {
  const auto table = *UserTable::parse(user_line("a") + user_line("b", "", kSha256) + user_line("c", "", kSha512), "u");
  std::set<std::string> taken;
  for (int i = 0; i < 200; ++i) {
    const std::string name = "nobody" + std::to_string(i);
    EXPECT_EQ(table->stand_in(name), table->stand_in(name));
    taken.insert(table->stand_in(name));
  }
  EXPECT_EQ(taken.size(), 3U) << "times tell as little as they do among users";
  const auto empty = *UserTable::parse("", "u");
  EXPECT_EQ(find_hash_fault(empty->stand_in("x")), std::nullopt) << "the same work where there are no users";
}

TEST(UserTable, IsTheSameAgainWhereTheFileHasNotChanged) {
  TempDir dir;
  const auto file = dir.write("users", user_line("alice"));
  const auto first = UserTable::load(file, nullptr);
  ASSERT_TRUE(first.has_value()) << first.error().front();
  EXPECT_EQ(*UserTable::load(file, *first), *first);
  dir.write("users", user_line("alice") + user_line("bob"));
  const auto second = UserTable::load(file, *first);
  ASSERT_TRUE(second.has_value());
  EXPECT_NE((*second)->edition(), (*first)->edition());
  EXPECT_EQ((*second)->size(), 2U);
  const auto missing = UserTable::load(dir.path() / "missing", *second);
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().front(), (dir.path() / "missing").string() + ": No such file or directory");
  EXPECT_FALSE(UserTable::load(dir.path(), nullptr).has_value()) << "a folder";
}

}  // namespace
}  // namespace bloomwall::proxy
