// SPDX-License-Identifier: Apache-2.0
#include "conf/device_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "conf/edited_text.h"
#include "conf/yaml_lines.h"
#include "conf/yaml_tree.h"

namespace bloomwall::conf {
namespace {

constexpr std::string_view kKey = "devices";
constexpr std::string_view kNone = " []";  // behind the key: a list without entries
constexpr std::string_view kFirstLines =
    "# Devices by names for people, one a line. `bloomwall device` adds and removes lines; comments stay.\n"
    "devices:\n";

std::string item_text(const Device& device) {
  std::string addresses;
  for (const std::string& address : device.addresses) {
    if (!addresses.empty()) addresses += ", ";
    const bool is_plain = !address.empty() && address.find_first_not_of("0123456789./") == std::string::npos;
    addresses += is_plain ? address : yaml_quoted(address);
  }
  const std::string group = device.group ? fmt::format(", group: {}", yaml_scalar(*device.group)) : std::string();
  return fmt::format("- {{name: {}, addresses: [{}]{}}}", yaml_scalar(device.name), addresses, group);
}

struct File {
  std::vector<std::string> lines;  // without their ends
  YamlNode tree;
  const YamlNode* items = nullptr;  // in tree; nullptr: there are none yet
};

tl::expected<File, std::string> read_file(std::string_view text) {
  auto tree = parse_yaml(text, "");
  if (!tree) return tl::unexpected(fmt::format("line {}: {}", tree.error().front().line, tree.error().front().what));
  File file{.lines = lines_of(text), .tree = *std::move(tree)};
  for (const YamlEntry& entry : file.tree.entries) {
    if (entry.key == kKey) continue;
    return tl::unexpected(fmt::format("line {}: {}: only devices are kept here; keep the rest in another file",
                                      entry.place.line, entry.key));
  }
  const YamlEntry* const entry = file.tree.find(kKey);
  if (file.tree.kind != YamlNode::Kind::null && entry == nullptr) {
    return tl::unexpected(std::string("line 1: no map with `devices:`"));
  }
  if (entry == nullptr || entry->value.kind == YamlNode::Kind::null) return file;
  if (entry->value.kind != YamlNode::Kind::sequence) {
    return tl::unexpected(fmt::format("line {}: devices: no list with an entry a line", entry->place.line));
  }
  if (!entry->value.items.empty()) file.items = &entry->value;
  return file;
}

const std::string* name_in(const YamlNode& item) {
  const YamlEntry* const name = item.find("name");
  return name == nullptr ? nullptr : &name->value.text;
}

// Where in the line the entry "- {...}" begins and ends. Error: it is not all of one line.
tl::expected<std::pair<std::size_t, std::size_t>, std::string> extent_of(const File& file, const YamlNode& item) {
  const std::string& line = file.lines.at(static_cast<std::size_t>(item.place.line) - 1);
  const std::size_t begin = line.find_first_not_of(' ');
  // A brace may stand in quotes or in a comment: the one that closes the entry is the first that leaves a readable one.
  for (std::size_t end = line.find('}'); end != std::string::npos; end = line.find('}', end + 1)) {
    const std::string_view one = std::string_view(line).substr(begin, end + 1 - begin);
    const auto alone = one.starts_with("- {") ? parse_yaml(one, "") : parse_yaml("", "");
    const bool is_it = alone && alone->kind == YamlNode::Kind::sequence && alone->items.size() == 1 &&
                       name_in(alone->items.front()) != nullptr && name_in(item) != nullptr &&
                       *name_in(alone->items.front()) == *name_in(item);
    if (is_it) return std::pair(begin, end + 1);
  }
  return tl::unexpected(
      fmt::format("line {}: this entry is not of one line (`- {{name: ..., addresses: [...]}}`): change it by hand",
                  item.place.line));
}

const YamlNode* find_item(const File& file, std::string_view name) {
  if (file.items == nullptr) return nullptr;
  const auto at = std::ranges::find_if(
      file.items->items, [&](const YamlNode& item) { return name_in(item) != nullptr && *name_in(item) == name; });
  return at == file.items->items.end() ? nullptr : &*at;
}

// The last line that an entry takes, from 0.
std::size_t last_line_of(const YamlNode& node) {
  auto last = static_cast<std::size_t>(std::max(node.place.line, 1)) - 1;
  for (const YamlNode& item : node.items) last = std::max(last, last_line_of(item));
  for (const YamlEntry& entry : node.entries) last = std::max(last, last_line_of(entry.value));
  return last;
}

bool says(const YamlNode& item, const Device& device) {
  const YamlEntry *const addresses = item.find("addresses"), *const group = item.find("group");
  const std::string* const name = name_in(item);
  return name != nullptr && *name == device.name && addresses != nullptr &&
         std::ranges::equal(addresses->value.items, device.addresses, {}, &YamlNode::text) &&
         (group == nullptr ? std::optional<std::string>() : group->value.text) == device.group;
}

// Whether the device is as it was asked for, in the place of the one of the name `before`, and all others as they were.
bool is_as_asked(const YamlNode* items, const File& made, const Device& device, std::string_view before) {
  const std::vector<YamlNode> former = items == nullptr ? std::vector<YamlNode>() : items->items;
  const std::vector<YamlNode> now = made.items == nullptr ? std::vector<YamlNode>() : made.items->items;
  const auto is_it = [&](const YamlNode& item) { return name_in(item) != nullptr && *name_in(item) == before; };
  const auto place = static_cast<std::size_t>(std::ranges::find_if(former, is_it) - former.begin());
  if (now.size() != std::max(former.size(), place + 1)) return false;
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (i == place ? !says(now[i], device) : !says_the_same(now[i], former[i])) return false;
  }
  return true;
}

tl::expected<std::string, std::string> put_device(std::string_view text, const Device& device,
                                                  std::string_view before) {
  auto file = read_file(text);
  if (!file) return tl::unexpected(file.error());
  const std::string item = item_text(device);
  if (const YamlNode* const there = find_item(*file, before.empty() ? device.name : before)) {
    const auto extent = extent_of(*file, *there);
    if (!extent) return tl::unexpected(extent.error());
    std::string& line = file->lines[static_cast<std::size_t>(there->place.line) - 1];
    line.replace(extent->first, extent->second - extent->first, item);
  } else if (file->items != nullptr) {
    const YamlNode& last = file->items->items.back();
    if (const auto extent = extent_of(*file, last); !extent) return tl::unexpected(extent.error());
    const std::size_t at = last_line_of(last);
    file->lines.insert(file->lines.begin() + static_cast<std::ptrdiff_t>(at) + 1,
                       indentation_of(file->lines[at]) + item);
  } else if (const YamlEntry* const key = file->tree.find(kKey)) {
    std::string& line = file->lines[static_cast<std::size_t>(key->place.line) - 1];
    if (const std::size_t none = line.find(kNone); none != std::string::npos) line.erase(none, kNone.size());
    file->lines.insert(file->lines.begin() + key->place.line, item);
  } else {
    for (std::string& line : lines_of(kFirstLines)) file->lines.push_back(std::move(line));
    file->lines.push_back(item);
  }
  std::string made = text_of_lines(file->lines);
  const auto again = read_file(made);
  if (again && is_as_asked(file->items, *again, device, before.empty() ? device.name : before)) return made;
  return tl::unexpected(fmt::format("the file cannot hold the device {} with these addresses", device.name));
}

tl::expected<std::string, std::string> take_device(std::string_view text, std::string_view name) {
  auto file = read_file(text);
  if (!file) return tl::unexpected(file.error());
  const YamlNode* const there = find_item(*file, name);
  if (there == nullptr) return tl::unexpected(fmt::format("there is no device {} in this file", name));
  if (const auto extent = extent_of(*file, *there); !extent) return tl::unexpected(extent.error());
  if (file->items->items.size() == 1) {
    file->lines[static_cast<std::size_t>(file->tree.find(kKey)->place.line) - 1].insert(kKey.size() + 1, kNone);
  }
  file->lines.erase(file->lines.begin() + there->place.line - 1);
  return text_of_lines(file->lines);
}

}  // namespace

tl::expected<std::string, std::string> with_device(std::string_view text, const Device& device,
                                                   std::string_view before) {
  return edit_text(text, [&](std::string_view plain) { return put_device(plain, device, before); });
}

tl::expected<std::string, std::string> without_device(std::string_view text, std::string_view name) {
  return edit_text(text, [&](std::string_view plain) { return take_device(plain, name); });
}

}  // namespace bloomwall::conf
