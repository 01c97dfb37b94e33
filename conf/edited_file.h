// The text of the file of groups and schedules that the dashboard edits (kEditedFile in Config::drop_in_folder), as a
// person would write it and may go on writing it: an edit replaces, adds or takes away the lines of one item. All other
// lines, and so comments and blank lines, stay as they are.
//   schedules:
//   - {name: bedtime, times: [sun-thu 20:00-06:30, fri-sat 21:30-07:00]}   # agreed on with both
//
//   groups:
//   - name: children
//     clients: [192.168.1.32/28]
//     otherwise: {bedtime: deny}
// What cannot be changed without a loss is left to people: an item with comments inside, one that does not begin with
// "- " on a line of its own, other keys in the file, what edited_text.h refuses. What is made is read again, and
// differs in that item alone.
// An item is a map with `name`. Whether its values mean anything is not asked here: that is the configuration's.
// Errors: one line, "line 3: ...". Pure; linear in the text. Threads: any.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "conf/yaml_tree.h"

namespace bloomwall::conf {

inline constexpr const char* kEditedFile = "edits.yaml";

enum class EditedSection : std::uint8_t { schedules, groups };
std::string_view key_of(EditedSection section);  // "schedules"

// Whether the item of a group asks for any criterion; one with an empty list of clients does not.
bool asks_for_anything(const YamlNode& group);

// The item in the place of the one with its name, which keeps its comment behind where it is of one line; else behind
// the last one, but before a group that takes everybody. `text` may be empty. `in_front_of`: the name of the one before
// which a new one is put, if it is there.
tl::expected<std::string, std::string> with_item(std::string_view text, EditedSection section, const YamlNode& item,
                                                 std::string_view in_front_of = {});
// Error, too: there is none of that name.
tl::expected<std::string, std::string> without_item(std::string_view text, EditedSection section,
                                                    std::string_view name);

}  // namespace bloomwall::conf
