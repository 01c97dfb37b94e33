// Files as editors leave them, and what a program makes of them.
// SPDX-License-Identifier: Apache-2.0
#include "conf/edited_text.h"

#include <gtest/gtest.h>

#include <string>

#include "conf/device_file.h"
#include "conf/edited_file.h"
#include "conf/yaml_tree.h"

namespace bloomwall::conf {
namespace {

using namespace std::string_literals;

// A line more.
tl::expected<std::string, std::string> lengthened(std::string_view text) { return std::string(text) + "c: 3\n"; }

TEST(EditedText, KeepsItsMarkAndItsLineEnds) {
  struct Row {
    std::string text, made;
  };
  for (const Row& row : {Row{"a: 1\nb: 2\n", "a: 1\nb: 2\nc: 3\n"}, Row{"a: 1\r\nb: 2\r\n", "a: 1\r\nb: 2\r\nc: 3\r\n"},
                         Row{"\xef\xbb\xbf"
                             "a: 1\n",
                             "\xef\xbb\xbf"
                             "a: 1\nc: 3\n"},
                         Row{"\xef\xbb\xbf"
                             "a: 1\r\n",
                             "\xef\xbb\xbf"
                             "a: 1\r\nc: 3\r\n"},
                         Row{"# ours\n---\na: 1\n", "# ours\n---\na: 1\nc: 3\n"}, Row{"----: 1\n", "----: 1\nc: 3\n"},
                         Row{"", "c: 3\n"}}) {
    EXPECT_EQ(edit_text(row.text, lengthened), row.made) << row.text;
  }
}

TEST(EditedText, RefusesWhatALineMoreWouldChangeInAnotherWay) {
  struct Row {
    std::string text, why;
  };
  for (const Row& row :
       {Row{"\xff\xfe"
            "a\0"s,
            "line 1: the file is no UTF-8"},
        Row{"a: 1\n\0"s, "line 1: the file is no UTF-8"}, Row{"a: 1\r\nb: 2\n", "line 2: it ends in another way"},
        Row{"a: 1\nb: 2\r\n", "line 2: it ends in another way"}, Row{"a: 1\rb: 2\r", "line 1: a carriage return"},
        Row{"a: 1\n\rb: 2\n", "line 2: a carriage return"}, Row{"a: 1\n...\n", "line 2: the end of a document"},
        Row{"a: 1\r\n... # end\r\n", "line 2: the end of a document"},
        Row{"a: 1\n---\nb: 2\n", "line 2: the end of a document"}, Row{"...\n", "line 1: the end of a document"},
        Row{"%YAML 1.2\n---\na: 1\n", "line 1: a directive"}}) {
    const auto made = edit_text(row.text, lengthened);
    ASSERT_FALSE(made) << row.text;
    EXPECT_TRUE(made.error().starts_with(row.why)) << row.text << ": " << made.error();
  }
}

// Through the files that are edited so: what comes out is read again, and differs in its item alone.
TEST(EditedText, StandsAroundEveryFileThatProgramsEdit) {
  const auto item = parse_yaml("{name: b, times: [tue]}", "");
  ASSERT_TRUE(item);
  EXPECT_EQ(with_item("\xef\xbb\xbfschedules:\r\n- {name: a, times: [mon]}\r\n", EditedSection::schedules, *item),
            "\xef\xbb\xbfschedules:\r\n- {name: a, times: [mon]}\r\n- {name: b, times: [tue]}\r\n");
  EXPECT_EQ(without_item("schedules:\r\n- {name: a, times: [mon]}\r\n", EditedSection::schedules, "a"),
            "schedules: []\r\n");
  EXPECT_EQ(with_device("devices:\r\n- {name: a, addresses: [10.0.0.1]}\r\n",
                        {.name = "b", .addresses = {"10.0.0.2"}, .group = {}}),
            "devices:\r\n- {name: a, addresses: [10.0.0.1]}\r\n- {name: b, addresses: [10.0.0.2]}\r\n");
  for (const char* const text : {"devices: []\n...\n", "devices: []\r\n# x\n"}) {
    EXPECT_FALSE(with_device(text, {.name = "b", .addresses = {"10.0.0.2"}, .group = {}})) << text;
    EXPECT_FALSE(without_device(text, "b")) << text;
  }
}

TEST(EditedText, ANewItemComesBeforeTheOneThatIsNamed) {
  const auto item = parse_yaml("{name: new, clients: [10.0.0.9]}", "");
  ASSERT_TRUE(item);
  const std::string text = "groups:\n- name: a\n  clients: [10.0.0.1]\n\n# B.\n- name: b\n  clients: [10.0.0.2]\n";
  EXPECT_EQ(with_item(text, EditedSection::groups, *item, "b"),
            "groups:\n- name: a\n  clients: [10.0.0.1]\n\n- name: new\n  clients: [10.0.0.9]\n# B.\n- name: b\n  "
            "clients: [10.0.0.2]\n");
  EXPECT_EQ(with_item(text, EditedSection::groups, *item, "a"),
            "groups:\n- name: new\n  clients: [10.0.0.9]\n- name: a\n  clients: [10.0.0.1]\n\n# B.\n- name: b\n  "
            "clients: [10.0.0.2]\n");
  EXPECT_EQ(with_item(text, EditedSection::groups, *item, "gone"), with_item(text, EditedSection::groups, *item));
}

}  // namespace
}  // namespace bloomwall::conf
