// Of Editable what is about the order of items, which of groups decides who is in which.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "proxy/api/editable.h"

namespace bloomwall::proxy {
namespace {

using conf::YamlEntry;
using conf::YamlNode;

tl::unexpected<StateError> no_place(std::string what) {
  return tl::unexpected(StateError{StateError::Kind::conflict, std::move(what)});
}

}  // namespace

std::string Editable::next_name(EditKind kind, const YamlNode& item) const {
  const std::vector<YamlNode>& all = items(kind)->items;
  const auto is_behind = [&](const YamlNode& each) {
    return each.place.file == item.place.file && each.place.line > item.place.line;
  };
  const auto next = std::ranges::find_if(all, is_behind);
  const YamlEntry* const name = next == all.end() ? nullptr : next->find("name");
  return name == nullptr ? std::string() : name->value.text;
}

// The name of the item before which a new one is to stand; empty: where new ones stand.
StateResult<std::string> Editable::place_of_new(const EditWish& wish) const {
  const auto asked = wish.item->find(kBeforeOfNew);
  if (asked == wish.item->end() || asked->is_null()) return std::string();
  if (find(wish.kind, wish.name).node != nullptr) {
    return no_place(fmt::format("before: the {0} {1} is there, and keeps its place: take it away first",
                                to_string(wish.kind), wish.name));
  }
  const Found behind = asked->is_string() ? find(wish.kind, asked->get<std::string>()) : Found{};
  if (behind.node != nullptr && is_editable(wish.kind, *behind.node)) return asked->get<std::string>();
  return no_place(
      fmt::format("before: the name of a {} of {} is needed", to_string(wish.kind), file_for(wish.kind).string()));
}

}  // namespace bloomwall::proxy
