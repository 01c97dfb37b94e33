// SPDX-License-Identifier: Apache-2.0
#include "conf/edited_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>

#include "conf/edited_text.h"
#include "conf/yaml_lines.h"

namespace bloomwall::conf {
namespace {

constexpr std::string_view kBeginning =
    "# Groups and their times, edited in the dashboard. Lines that you write here yourself stay, comments too.\n";
constexpr std::string_view kItemMark = "- ", kEmptyList = " []";
constexpr std::string_view kGroupCriteria[] = {"clients", "listeners", "users", "user_groups", "certificates"};

using Items = std::vector<YamlNode>;

struct EditedText {
  std::vector<std::string> lines;
  YamlNode tree;

  const YamlEntry* section(EditedSection which) const { return tree.find(key_of(which)); }
  Items items(EditedSection which) const {
    const YamlEntry* const entry = section(which);
    return entry == nullptr ? Items{} : entry->value.items;
  }
};

// Of lines, from 0; `end` is behind the last.
struct LineSpan {
  std::size_t begin = 0, end = 0;
};

std::string_view item_name(const YamlNode& item) {
  const YamlEntry* const name = item.find("name");
  return name == nullptr ? std::string_view() : std::string_view(name->value.text);
}

std::size_t place_of_item(const Items& items, std::string_view name) {
  const auto at = std::ranges::find(items, name, item_name);
  return static_cast<std::size_t>(at - items.begin());
}

tl::expected<EditedText, std::string> read_edited(std::string_view text) {
  auto tree = parse_yaml(text, "");
  if (!tree) return tl::unexpected(fmt::format("line {}: {}", tree.error().front().line, tree.error().front().what));
  EditedText read{.lines = lines_of(text), .tree = *std::move(tree)};
  if (read.tree.kind == YamlNode::Kind::null) return read;
  if (read.tree.kind != YamlNode::Kind::map) return tl::unexpected(std::string("line 1: no map with `groups:`"));
  for (const YamlEntry& entry : read.tree.entries) {
    const bool is_known = entry.key == key_of(EditedSection::schedules) || entry.key == key_of(EditedSection::groups);
    if (!is_known) {
      return tl::unexpected(
          fmt::format("line {}: {}: only schedules and groups are kept here; keep the rest in another "
                      "file",
                      entry.place.line, entry.key));
    }
    const bool is_list = entry.value.kind == YamlNode::Kind::sequence || entry.value.kind == YamlNode::Kind::null;
    if (!is_list) return tl::unexpected(fmt::format("line {}: {}: no list", entry.place.line, entry.key));
  }
  return read;
}

bool is_blank_or_comment(std::string_view line) {
  const std::size_t begin = line.find_first_not_of(" \t\r");
  return begin == std::string_view::npos || line[begin] == '#';
}

// Where a comment may begin in the line; a # in quotes is taken for one.
std::size_t comment_in(std::string_view line) {
  for (std::size_t at = line.find('#'); at != std::string_view::npos; at = line.find('#', at + 1)) {
    if (at == 0 || line[at - 1] == ' ' || line[at - 1] == '\t') return at;
  }
  return std::string_view::npos;
}

// Of every line of the file that begins an item or a section, the first behind `line` (from 0).
std::size_t next_beginning(const EditedText& text, std::size_t line) {
  std::size_t next = text.lines.size();
  const auto consider = [&](int place) {
    const auto at = static_cast<std::size_t>(std::max(place, 1)) - 1;
    if (at > line) next = std::min(next, at);
  };
  for (const YamlEntry& entry : text.tree.entries) {
    consider(entry.place.line);
    for (const YamlNode& item : entry.value.items) consider(item.place.line);
  }
  return next;
}

// The lines of the item, without comments and blank lines behind it. Error: it does not have lines of its own.
tl::expected<LineSpan, std::string> lines_of_item(const EditedText& text, const YamlNode& item) {
  LineSpan span;
  span.begin = static_cast<std::size_t>(std::max(item.place.line, 1)) - 1;
  span.end = next_beginning(text, span.begin);
  while (span.end > span.begin + 1 && is_blank_or_comment(text.lines[span.end - 1])) --span.end;
  const std::vector<std::string> own(text.lines.begin() + static_cast<std::ptrdiff_t>(span.begin),
                                     text.lines.begin() + static_cast<std::ptrdiff_t>(span.end));
  const std::string& first = own.front();
  const bool begins_well = std::string_view(first).substr(indentation_of(first).size()).starts_with(kItemMark);
  const auto alone = begins_well ? parse_yaml(text_of_lines(own), "") : parse_yaml("", "");
  const bool is_whole = alone && alone->kind == YamlNode::Kind::sequence && alone->items.size() == 1 &&
                        says_the_same(alone->items.front(), item);
  if (is_whole) return span;
  return tl::unexpected(fmt::format(
      "line {}: this entry has no lines of its own that begin with \"- \": change it by hand", item.place.line));
}

// What stands behind an item of one line: its comment, with the blanks before it. Error: comments that would be lost.
tl::expected<std::string, std::string> comment_behind(const EditedText& text, const LineSpan& span,
                                                      const YamlNode& item) {
  if (span.end == span.begin + 1) {
    const std::string& line = text.lines[span.begin];
    std::size_t at = comment_in(line);
    if (at == std::string::npos) return std::string();
    // A # in quotes begins none: what stands before it is then not the item.
    for (; at != std::string::npos; at = line.find(" #", at + 1)) {
      const std::size_t end = line.find_last_not_of(" \t", at == 0 ? 0 : at - 1);
      const auto before = parse_yaml(std::string_view(line).substr(0, end + 1), "");
      const bool is_it = before && before->kind == YamlNode::Kind::sequence && before->items.size() == 1 &&
                         says_the_same(before->items.front(), item);
      if (is_it) return line.substr(end + 1);
    }
    return std::string();
  }
  for (std::size_t i = span.begin; i < span.end; ++i) {
    if (comment_in(text.lines[i]) == std::string_view::npos) continue;
    return tl::unexpected(
        fmt::format("line {}: a comment inside of the entry would be lost: change it by hand, or put "
                    "the comment before the entry",
                    i + 1));
  }
  return std::string();
}

// A schedule takes one line, a group a line for each key.
std::vector<std::string> written_item(EditedSection section, const YamlNode& item, const std::string& indentation,
                                      bool is_of_one_line) {
  if (section == EditedSection::schedules || is_of_one_line) return {indentation + "- " + yaml_flow(item)};
  std::vector<std::string> lines;
  for (const YamlEntry& entry : item.entries) {
    const char* const before = lines.empty() ? "- " : "  ";
    lines.push_back(fmt::format("{}{}{}: {}", indentation, before, yaml_scalar(entry.key), yaml_flow(entry.value)));
  }
  return lines;
}

std::ptrdiff_t signed_of(std::size_t n) { return static_cast<std::ptrdiff_t>(n); }

void insert_lines(std::vector<std::string>& lines, std::size_t at, const std::vector<std::string>& more) {
  lines.insert(lines.begin() + signed_of(at), more.begin(), more.end());
}

// The first item of a section.
tl::expected<void, std::string> insert_first(EditedText& text, EditedSection section, const YamlNode& item) {
  const auto lines = written_item(section, item, "", false);
  const YamlEntry* const entry = text.section(section);
  if (entry == nullptr) {
    if (text.lines.empty()) text.lines = lines_of(kBeginning);
    if (text.tree.kind == YamlNode::Kind::map) text.lines.emplace_back();
    text.lines.push_back(fmt::format("{}:", key_of(section)));
    insert_lines(text.lines, text.lines.size(), lines);
    return {};
  }
  const auto at = static_cast<std::size_t>(entry->place.line) - 1;
  std::string& line = text.lines[at];
  if (entry->value.kind == YamlNode::Kind::sequence) {
    const std::size_t none = line.find(kEmptyList);
    if (none == std::string::npos) {
      return tl::unexpected(fmt::format("line {}: an empty list that is not written `{}: []`: change it by hand",
                                        entry->place.line, key_of(section)));
    }
    line.erase(none, kEmptyList.size());
  }
  insert_lines(text.lines, at + 1, lines);
  return {};
}

// What the file is to say, beside `items` of the section.
tl::expected<std::string, std::string> checked(const EditedText& before, EditedSection section, const Items& items,
                                               const std::vector<std::string>& lines) {
  std::string made = text_of_lines(lines);
  const auto again = read_edited(made);
  if (!again) return tl::unexpected("the file cannot hold it: " + again.error());
  for (const EditedSection each : {EditedSection::schedules, EditedSection::groups}) {
    const Items wanted = each == section ? items : before.items(each);
    if (!std::ranges::equal(again->items(each), wanted, says_the_same)) {
      return tl::unexpected(
          fmt::format("the file cannot be changed without changing more than one of its {}: change it "
                      "by hand",
                      key_of(section)));
    }
  }
  return made;
}

}  // namespace

std::string_view key_of(EditedSection section) {
  switch (section) {
    case EditedSection::schedules:
      return "schedules";
    case EditedSection::groups:
      return "groups";
  }
  return {};
}

bool asks_for_anything(const YamlNode& group) {
  return std::ranges::any_of(kGroupCriteria, [&](std::string_view key) {
    const YamlEntry* const entry = group.find(key);
    if (entry == nullptr) return false;
    const YamlNode& value = entry->value;
    return value.kind == YamlNode::Kind::sequence ? !value.items.empty() : value.kind != YamlNode::Kind::null;
  });
}

namespace {

// Of the line before which an item is put so that it stands before this one and the comments that belong to it.
std::size_t line_before(const EditedText& text, const LineSpan& span) {
  std::size_t line = span.begin;
  while (line > 0 && text.lines[line - 1].find_first_not_of(" \t") != std::string::npos &&
         is_blank_or_comment(text.lines[line - 1])) {
    --line;
  }
  return line;
}

// A new one in a section that has some. `before`: the place of the one that comes behind it; of the last one and
// more: none.
tl::expected<void, std::string> insert_item(EditedText& text, EditedSection section, const YamlNode& item,
                                            const Items& items, std::size_t before) {
  const bool is_last = before >= items.size();
  const auto span = lines_of_item(text, is_last ? items.back() : items[before]);
  if (!span) return tl::unexpected(span.error());
  const auto written = written_item(section, item, indentation_of(text.lines[span->begin]), false);
  insert_lines(text.lines, is_last ? span->end : line_before(text, *span), written);
  return {};
}

tl::expected<std::string, std::string> put_item(std::string_view text, EditedSection section, const YamlNode& item,
                                                std::string_view in_front_of) {
  const auto before = read_edited(text);
  if (!before) return tl::unexpected(before.error());
  EditedText now = *before;
  Items items = before->items(section);
  const std::size_t place = place_of_item(items, item_name(item));
  if (place < items.size()) {
    const auto span = lines_of_item(now, items[place]);
    if (!span) return tl::unexpected(span.error());
    const auto comment = comment_behind(now, *span, items[place]);
    if (!comment) return tl::unexpected(comment.error());
    const std::string indentation = indentation_of(now.lines[span->begin]);
    auto written = written_item(section, item, indentation, !comment->empty());
    written.back() += *comment;
    now.lines.erase(now.lines.begin() + signed_of(span->begin), now.lines.begin() + signed_of(span->end));
    insert_lines(now.lines, span->begin, written);
    items[place] = item;
  } else if (items.empty()) {
    if (auto done = insert_first(now, section, item); !done) return tl::unexpected(done.error());
    items.push_back(item);
  } else {
    const bool is_before_all = section == EditedSection::groups && !asks_for_anything(items.back());
    const std::size_t at = !in_front_of.empty() ? place_of_item(items, in_front_of)
                           : is_before_all      ? items.size() - 1
                                                : items.size();
    if (auto done = insert_item(now, section, item, items, at); !done) return tl::unexpected(done.error());
    items.insert(items.begin() + signed_of(at), item);
  }
  return checked(*before, section, items, now.lines);
}

tl::expected<std::string, std::string> take_item(std::string_view text, EditedSection section, std::string_view name) {
  const auto before = read_edited(text);
  if (!before) return tl::unexpected(before.error());
  EditedText now = *before;
  Items items = before->items(section);
  const std::size_t place = place_of_item(items, name);
  if (place == items.size()) {
    return tl::unexpected(fmt::format("there is none of the name {} among the {} of this file", name, key_of(section)));
  }
  const auto span = lines_of_item(now, items[place]);
  if (!span) return tl::unexpected(span.error());
  if (span->end > span->begin + 1) {
    if (const auto comment = comment_behind(now, *span, items[place]); !comment) return tl::unexpected(comment.error());
  }
  now.lines.erase(now.lines.begin() + signed_of(span->begin), now.lines.begin() + signed_of(span->end));
  if (items.size() == 1) {
    std::string& key = now.lines[static_cast<std::size_t>(now.section(section)->place.line) - 1];
    key.insert(key_of(section).size() + 1, kEmptyList);
  }
  items.erase(items.begin() + signed_of(place));
  return checked(*before, section, items, now.lines);
}

}  // namespace

tl::expected<std::string, std::string> with_item(std::string_view text, EditedSection section, const YamlNode& item,
                                                 std::string_view in_front_of) {
  return edit_text(text, [&](std::string_view plain) { return put_item(plain, section, item, in_front_of); });
}

tl::expected<std::string, std::string> without_item(std::string_view text, EditedSection section,
                                                    std::string_view name) {
  return edit_text(text, [&](std::string_view plain) { return take_item(plain, section, name); });
}

}  // namespace bloomwall::conf
