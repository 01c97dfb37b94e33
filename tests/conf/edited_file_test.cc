// What an edit of the dashboard makes of a file that people have written in, too.
// SPDX-License-Identifier: Apache-2.0
#include "conf/edited_file.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include "conf/config.h"
#include "conf/yaml_lines.h"
#include "tests/support/seed.h"

namespace bloomwall::conf {
namespace {

constexpr auto kGroups = EditedSection::groups, kSchedules = EditedSection::schedules;

// The node of a text such as "{name: bedtime, times: [mon 08:00-09:00]}".
YamlNode item_of(const std::string& text) {
  auto tree = parse_yaml(text, "");
  EXPECT_TRUE(tree) << text;
  return tree ? *std::move(tree) : YamlNode{};
}

constexpr const char* kHousehold =
    "# Ours.\n"
    "schedules:\n"
    "# Both agreed.\n"
    "- {name: bedtime, times: [sun-thu 20:00-06:30, fri-sat 21:30-07:00]}   # since May\n"
    "- {name: homework, times: [\"mon,tue 14:00-16:00\"]}\n"
    "\n"
    "groups:\n"
    "- name: parents\n"
    "  clients: [192.168.1.16/28]\n"
    "\n"
    "# The little ones.\n"
    "- name: children\n"
    "  clients: [192.168.1.32/28, \"fd00::/64\"]\n"
    "  otherwise: {bedtime: deny}\n"
    "# The end.\n";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

TEST(EditedFile, IsBegunAsAPersonWouldBeginIt) {
  const auto group =
      with_item("", kGroups,
                item_of("{name: children, clients: [192.168.1.32/28, 10.0.0.7, 'fd00::7'], filters: {ut1-games: "
                        "{homework: block, otherwise: 'off'}}, otherwise: {bedtime: deny}, safe_search: [google]}"));
  ASSERT_TRUE(group) << group.error();
  const auto made = with_item(*group, kSchedules,
                              item_of("{name: bedtime, times: ['sun-thu 20:00-06:30', '06:00-07:00', 'sat,sun']}"));
  ASSERT_TRUE(made) << made.error();
  EXPECT_EQ(
      *made,
      "# Groups and their times, edited in the dashboard. Lines that you write here yourself stay, comments too.\n"
      "groups:\n"
      "- name: children\n"
      "  clients: [192.168.1.32/28, 10.0.0.7, \"fd00::7\"]\n"
      "  filters: {ut1-games: {homework: block, otherwise: \"off\"}}\n"
      "  otherwise: {bedtime: deny}\n"
      "  safe_search: [google]\n"
      "\n"
      "schedules:\n"
      "- {name: bedtime, times: [sun-thu 20:00-06:30, 06:00-07:00, \"sat,sun\"]}\n");
}

TEST(EditedFile, AnEditChangesTheLinesOfItsItemAlone) {
  struct Row {
    const char* why;
    EditedSection section;
    const char *item, *from, *to;
  };
  for (const Row& row :
       {Row{"the comment behind stays", kSchedules, "{name: bedtime, times: [mon 20:00-06:30]}",
            "- {name: bedtime, times: [sun-thu 20:00-06:30, fri-sat 21:30-07:00]}   # since May\n",
            "- {name: bedtime, times: [mon 20:00-06:30]}   # since May\n"},
        Row{"a new schedule is the last", kSchedules, "{name: lunch, times: ['12:00-13:00']}", "14:00-16:00\"]}\n",
            "14:00-16:00\"]}\n- {name: lunch, times: [12:00-13:00]}\n"},
        Row{"keys come and go", kGroups, "{name: children, clients: [10.0.0.1], safe_search: [google]}",
            "  clients: [192.168.1.32/28, \"fd00::/64\"]\n  otherwise: {bedtime: deny}\n",
            "  clients: [10.0.0.1]\n  safe_search: [google]\n"},
        Row{"a new group is the last", kGroups, "{name: guests, clients: [10.0.0.2]}", "# The end.\n",
            "- name: guests\n  clients: [10.0.0.2]\n# The end.\n"}}) {
    const auto made = with_item(kHousehold, row.section, item_of(row.item));
    ASSERT_TRUE(made) << row.why << ": " << made.error();
    EXPECT_EQ(*made, replaced(kHousehold, row.from, row.to)) << row.why;
  }
}

TEST(EditedFile, ANewGroupComesBeforeTheOneOfEverybody) {
  const auto made =
      with_item("groups:\n- name: rest\n  otherwise: allow\n", kGroups, item_of("{name: a, clients: [10.0.0.2]}"));
  EXPECT_EQ(made, "groups:\n- name: a\n  clients: [10.0.0.2]\n- name: rest\n  otherwise: allow\n");
}

TEST(EditedFile, WhatIsTakenAwayLeavesAFileThatCanBeReadAndEdited) {
  EXPECT_EQ(without_item(kHousehold, kGroups, "parents"),
            replaced(kHousehold, "- name: parents\n  clients: [192.168.1.16/28]\n", ""));
  auto none = without_item(kHousehold, kSchedules, "homework");
  ASSERT_TRUE(none);
  none = without_item(*none, kSchedules, "bedtime");
  ASSERT_TRUE(none);
  EXPECT_NE(none->find("schedules: []\n# Both agreed.\n"), std::string::npos) << *none;
  const auto again = with_item(*none, kSchedules, item_of("{name: nap, times: [mon]}"));
  ASSERT_TRUE(again) << again.error();
  EXPECT_NE(again->find("schedules:\n- {name: nap, times: [mon]}\n# Both agreed.\n"), std::string::npos) << *again;
  EXPECT_EQ(without_item(kHousehold, kGroups, "guests").error(),
            "there is none of the name guests among the groups of this file");
}

TEST(EditedFile, WhatCannotBeChangedWithoutALossIsRefused) {
  struct Row {
    const char *text, *why;
  };
  for (const Row& row :
       {Row{"groups: [\n", "line "}, Row{"devices: []\n", "line 1: devices: only schedules and groups"},
        Row{"- a\n", "line 1: no map"}, Row{"groups: 7\n", "line 1: groups: no list"},
        Row{"groups: [{name: children, clients: [10.0.0.1]}]\n", "line 1: this entry has no lines of its own"},
        Row{"groups:\n-\n  name: children\n", "line 3: this entry has no lines of its own"},
        Row{"groups:\n- name: children   # mine\n  otherwise: deny\n", "line 2: a comment inside of the entry"},
        Row{"groups:\n- name: children\n  # mine\n  otherwise: deny\n", "line 3: a comment inside of the entry"},
        Row{"groups: [ ]\n", "line 1: an empty list that is not written"}}) {
    const auto made = with_item(row.text, kGroups, item_of("{name: children, clients: [10.0.0.2]}"));
    ASSERT_FALSE(made) << row.text << *made;
    EXPECT_TRUE(made.error().starts_with(row.why)) << row.text << made.error();
  }
}

TEST(EditedFile, TextsOfEveryKindAreReadAgain) {
  for (const char* const name :
       {"off",   "No",   "12", "1e5", "0x10",  "1.5",  "12:30", "- a",       "'a'",        "a: b",
        "a # b", "\"",   "\\", "{x}", "Küche", ".inf", "null",  "~",         "2026-01-01", "*a",
        "&a",    "x, y", " a", "a ",  ":",     "a:",   "#",     "10.0.0.0/8"}) {
    YamlNode item = item_of("{name: x, times: [x]}");
    item.entries.back().value.items.front().text = name;
    for (const EditedSection section : {kGroups, kSchedules}) {
      const auto made = with_item(kHousehold, section, item);
      ASSERT_TRUE(made) << name << ": " << made.error();
      const auto tree = parse_yaml(*made, "");
      ASSERT_TRUE(tree) << *made;
      const YamlNode& text = tree->find(key_of(section))->value.items.back().entries.back().value.items.front();
      EXPECT_EQ(text.text, name) << *made;
    }
  }
  YamlNode item = item_of("{name: x, times: [x]}");
  item.entries.back().value.items.front().text = "two\nlines";
  EXPECT_FALSE(with_item(kHousehold, kSchedules, item));
}

// Any sequence of edits: the file says what the model says, is taken by the configuration's parser, keeps its comments.
TEST(EditedFile, AgreesWithAModelOverRandomEdits) {
  std::mt19937 random(test::test_seed());
  const auto pick = [&](std::size_t below) { return random() % below; };
  const char* const names[] = {"a", "bad", "children", "Kids-7", "on.x", "u_1"};
  for (int round = 0; round < 20; ++round) {
    std::string text = pick(2) == 0 ? "" : "# kept 1\n\nschedules: []   # kept 2\n# kept 3\ngroups: []\n# kept 4\n";
    const bool has_comments = !text.empty();
    std::map<EditedSection, std::vector<YamlNode>> model{{kSchedules, {}}, {kGroups, {}}};
    for (int step = 0; step < 40; ++step) {
      const EditedSection section = pick(2) == 0 ? kSchedules : kGroups;
      std::vector<YamlNode>& items = model[section];
      const std::string name = names[pick(std::size(names))];
      const auto at =
          std::ranges::find_if(items, [&](const YamlNode& each) { return each.find("name")->value.text == name; });
      if (pick(3) == 0) {
        const auto made = without_item(text, section, name);
        ASSERT_EQ(made.has_value(), at != items.end()) << text << name << (made ? "" : made.error());
        if (!made) continue;
        text = *made;
        items.erase(at);
        continue;
      }
      const std::string times = fmt::format("[{}]", pick(2) == 0 ? "mon,tue 08:00-09:00" : "21:00-06:30");
      const YamlNode item = item_of(
          section == kSchedules ? fmt::format("{{name: {}, times: ['{}']}}", name, times.substr(1, times.size() - 2))
                                : fmt::format("{{name: {}, clients: [10.0.{}.0/24]{}}}", name, pick(200),
                                              pick(2) == 0 ? "" : ", otherwise: deny"));
      const auto made = with_item(text, section, item);
      ASSERT_TRUE(made) << made.error() << "\n" << text;
      text = *made;
      if (at != items.end()) {
        *at = item;
      } else {
        items.push_back(item);
      }
      const auto config = load_text(text, "x");
      ASSERT_TRUE(config) << config.error().front().text() << "\n" << text;
      EXPECT_EQ(config->groups.size(), model[kGroups].size());
    }
    const auto tree = parse_yaml(text, "");
    ASSERT_TRUE(tree) << text;
    for (const auto& [section, items] : model) {
      const YamlEntry* const entry = tree->find(key_of(section));
      EXPECT_TRUE(
          std::ranges::equal(entry == nullptr ? std::vector<YamlNode>{} : entry->value.items, items, says_the_same))
          << text;
    }
    for (int i = 1; has_comments && i <= 4; ++i)
      EXPECT_NE(text.find(fmt::format("# kept {}\n", i)), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace bloomwall::conf
