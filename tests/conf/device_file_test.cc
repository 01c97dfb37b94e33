// What `bloomwall device` makes of files that people have written, too.
// SPDX-License-Identifier: Apache-2.0
#include "conf/device_file.h"

#include <gtest/gtest.h>

#include "conf/config.h"

namespace bloomwall::conf {
namespace {

Device tablet(const std::string& name = "Anna's tablet") {
  return {.name = name, .addresses = {"192.168.1.33", "fd00::33"}, .group = "children"};
}

constexpr const char* kWritten =
    "# Ours.\n"
    "devices:   # of the house\n"
    "  # the living room\n"
    "  - {name: television, addresses: [192.168.1.7]}   # since May\n"
    "\n"
    "  - {\"name\": \"a } b\", addresses: [192.168.1.8]} # {odd}\n";

TEST(DeviceFile, IsBegunWithAnEntryThatAPersonWouldWrite) {
  const auto made = with_device("", tablet());
  ASSERT_TRUE(made) << made.error();
  EXPECT_TRUE(made->starts_with("# Devices by names")) << *made;
  EXPECT_TRUE(
      made->ends_with("devices:\n- {name: Anna's tablet, addresses: [192.168.1.33, \"fd00::33\"], group: children}\n"))
      << *made;
}

TEST(DeviceFile, NamesOfEveryKindAreReadAgain) {
  for (const char* const name :
       {"tv",  "off",  "12",   "- dash", "'quoted'", "a: b", "a # b", "\"",  "\\",  "{x}", "Küche",     "0x10",
        "1.5", ".inf", "null", "*star",  "&and",     "x, y", "[z]",   "@at", "1e5", "~",   "2026-01-01"}) {
    const auto made = with_device(kWritten, tablet(name));
    ASSERT_TRUE(made) << name << ": " << made.error();
    const auto config = load_text("groups: [{name: children, clients: [192.168.1.33]}]\n" + *made, "");
    ASSERT_TRUE(config) << name << ": " << config.error().front().text() << "\n" << *made;
    EXPECT_EQ(config->devices.back(), tablet(name));
  }
}

TEST(DeviceFile, AGroupMayBeOfDevicesAlone) {
  const std::string group = "groups: [{name: children, clients: devices}]\n";
  const auto empty = load_text(group, "");
  ASSERT_TRUE(empty) << empty.error().front().text();
  EXPECT_TRUE(empty->groups.front().has_criteria()) << "nobody is in it, and not everybody";
  const auto config = load_text(group + *with_device("", tablet()), "");
  ASSERT_TRUE(config) << config.error().front().text();
  EXPECT_EQ(config->groups.front().clients, tablet().addresses);
  const YamlNode values = values_of(*config);
  EXPECT_EQ(values.find("groups")->value.items.front().find("clients")->value.text, "devices");
  EXPECT_FALSE(load_text("groups: [{name: children, clients: device}]\n", "")) << "no other word";
}

TEST(DeviceFile, CommentsAndOrderOfPeopleStay) {
  const auto added = with_device(kWritten, tablet());
  ASSERT_TRUE(added) << added.error();
  EXPECT_EQ(*added, std::string(kWritten) +
                        "  - {name: Anna's tablet, addresses: [192.168.1.33, \"fd00::33\"], group: children}\n");
  Device changed{.name = "television", .addresses = {"192.168.1.9"}, .group = {}};
  const auto replaced = with_device(kWritten, changed);
  ASSERT_TRUE(replaced) << replaced.error();
  EXPECT_NE(replaced->find("  - {name: television, addresses: [192.168.1.9]}   # since May\n"), std::string::npos)
      << *replaced;
  changed.name = "a } b";
  const auto odd = with_device(kWritten, changed);
  ASSERT_TRUE(odd) << odd.error();
  EXPECT_NE(odd->find("  - {name: \"a } b\", addresses: [192.168.1.9]} # {odd}\n"), std::string::npos) << *odd;
  EXPECT_EQ(without_device(*added, "Anna's tablet"), kWritten);
  const auto renamed =
      with_device(kWritten, {.name = "old tv", .addresses = {"192.168.1.7"}, .group = {}}, "television");
  ASSERT_TRUE(renamed) << renamed.error();
  EXPECT_NE(renamed->find("  # the living room\n  - {name: old tv, addresses: [192.168.1.7]}   # since May\n"),
            std::string::npos)
      << *renamed;
  EXPECT_EQ(with_device("devices:\n# none yet\n", changed),
            "devices:\n- {name: \"a } b\", addresses: [192.168.1.9]}\n# none yet\n");
}

TEST(DeviceFile, WhatItCannotChangeIsLeftToPeople) {
  struct Refused {
    const char *text, *why;
  };
  for (const auto& [text, why] :
       {Refused{"devices: [\n", "line "},
        Refused{"groups: []\ndevices:\n- {name: a, addresses: [1.2.3.4]}\n", "line 1: groups"},
        Refused{"devices: [\n]\n", "the file cannot hold"}, Refused{"- a\n", "line 1: no map"},
        Refused{"devices:\n- name: television\n  addresses: [192.168.1.7]\n", "line 2: this entry is not of one line"},
        Refused{"devices: [{name: television, addresses: [192.168.1.7]}]\n", "line 1: this entry is not"}}) {
    for (const char* const name : {"television", "other"}) {
      const auto made = with_device(text, tablet(name));
      ASSERT_FALSE(made) << text;
      EXPECT_TRUE(made.error().starts_with(why)) << made.error();
    }
  }
  EXPECT_EQ(without_device(kWritten, "radio").error(), "there is no device radio in this file");
}

TEST(DeviceFile, TheLastOneLeavesAListThatIsReadAndAddedTo) {
  const std::string one = "devices:  # mine\n- {name: tv, addresses: [192.168.1.7]}\n";
  const auto none = without_device(one, "tv");
  ASSERT_TRUE(none) << none.error();
  EXPECT_EQ(*none, "devices: []  # mine\n");
  EXPECT_TRUE(load_text(*none, ""));
  EXPECT_EQ(with_device(*none, {.name = "tv", .addresses = {"192.168.1.7"}, .group = {}}), one);
}

TEST(DeviceFile, EndsOfLinesMayBeMissing) {
  const auto made = with_device("devices:\n- {name: tv, addresses: [192.168.1.7]}", tablet("radio"));
  ASSERT_TRUE(made) << made.error();
  EXPECT_TRUE(made->starts_with("devices:\n- {name: tv, addresses: [192.168.1.7]}\n- {name: radio,")) << *made;
}

}  // namespace
}  // namespace bloomwall::conf
