// Of Editable what is about lists of the catalogue, and about the order of items, which of groups decides who is in
// which.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <system_error>
#include <utility>
#include <vector>

#include "base/terminal.h"
#include "proxy/api/editable.h"
#include "proxy/update/wanted_lists.h"

namespace bloomwall::proxy {
namespace {

using nlohmann::ordered_json;

constexpr const char* kRefusesExceptions = "refused";
constexpr const char* kTakesExceptions = "allowed";

tl::unexpected<StateError> not_done(StateError::Kind kind, std::string what) {
  return tl::unexpected(StateError{kind, std::move(what)});
}

bool has_filter(const conf::Config& settings, const std::string& name) {
  return std::ranges::find(settings.filters, name, &conf::Filter::name) != settings.filters.end();
}

}  // namespace

std::filesystem::path Editable::file_of_list(const std::string& name) const {
  return settings_.drop_in_folder / (name + ".yaml");
}

std::optional<std::string> Editable::exceptions_of_list(const conf::ListedSource& list) const {
  const auto file = DropInFile::read(file_of_list(list.name));
  const auto& folder = settings_.state_dir.empty() ? settings_.update.folder : settings_.state_dir;
  for (const char* const word : {kTakesExceptions, kRefusesExceptions}) {
    const bool refuses = word == kRefusesExceptions;
    if (file && file->text() == conf::filter_file_text(list, folder / (list.name + ".bwf"), refuses)) return word;
  }
  return std::nullopt;
}

ordered_json Editable::lists_json() const {
  ordered_json items = ordered_json::array();
  for (const conf::ListedSource& list : catalogue_) {
    const auto filter = std::ranges::find(settings_.filters, list.name, &conf::Filter::name);
    const bool is_there = filter != settings_.filters.end();
    std::error_code ignored;
    const bool is_built = is_there && std::filesystem::exists(filter->file, ignored);
    const bool is_asked = !is_there && is_wanted(settings_.update.folder, list.name);
    const std::string why = is_there ? std::string() : why_not_added(settings_.update.folder, list.name);
    items.push_back({{"name", list.name},
                     {"category", list.category},
                     {"entries", list.entries},
                     {"licence", list.licence},
                     {"homepage", list.homepage},
                     {"state", is_built   ? "added"
                               : is_there ? "building"
                               : is_asked ? "wanted"
                                          : "none"},
                     {"why", why.empty() ? ordered_json() : ordered_json(printable(why))},
                     {"editable", is_there && exceptions_of_list(list).has_value()}});
  }
  return items;
}

StateResult<conf::ListedSource> Editable::addable(const std::string& name) const {
  if (auto why = fault(); !why.empty()) return not_done(StateError::Kind::conflict, std::move(why));
  const auto list = std::ranges::find(catalogue_, name, &conf::ListedSource::name);
  if (list == catalogue_.end()) {
    return not_done(StateError::Kind::missing, fmt::format("there is no list {} in the catalogue", name));
  }
  if (has_filter(settings_, name)) {
    return not_done(StateError::Kind::conflict, fmt::format("there is a filter {} already", name));
  }
  std::error_code ignored;
  if (std::filesystem::exists(file_of_list(name), ignored)) {
    return not_done(StateError::Kind::conflict, fmt::format("{}: is there already", file_of_list(name).string()));
  }
  return *list;
}

StateResult<EditPlan> Editable::plan_of_list(const EditWish& wish) const {
  const auto list = std::ranges::find(catalogue_, wish.name, &conf::ListedSource::name);
  if (list == catalogue_.end() || !has_filter(settings_, wish.name)) {
    return not_done(StateError::Kind::missing, fmt::format("no list {} of the catalogue was added", wish.name));
  }
  const auto exceptions = exceptions_of_list(*list);
  if (!exceptions) {
    return not_done(StateError::Kind::conflict,
                    fmt::format("the filter {} does not stand in {} as it was written there: take it away "
                                "by hand",
                                wish.name, file_of_list(wish.name).string()));
  }
  auto file = DropInFile::read(file_of_list(wish.name));
  if (!file) return not_done(StateError::Kind::failed, file.error());
  return EditPlan{.file = *std::move(file),
                  .text = {},
                  .name = wish.name,
                  .before = {{"name", wish.name}, {"exceptions", *exceptions}},
                  .after = {}};
}

// --- order

std::string Editable::next_name(EditKind kind, const conf::YamlNode& item) const {
  const std::vector<conf::YamlNode>& all = items(kind)->items;
  const auto is_behind = [&](const conf::YamlNode& each) {
    return each.place.file == item.place.file && each.place.line > item.place.line;
  };
  const auto next = std::ranges::find_if(all, is_behind);
  const conf::YamlEntry* const name = next == all.end() ? nullptr : next->find("name");
  return name == nullptr ? std::string() : name->value.text;
}

// The name of the item before which a new one is to stand; empty: where new ones stand.
StateResult<std::string> Editable::place_of_new(const EditWish& wish) const {
  const auto asked = wish.item->find(kBeforeOfNew);
  if (asked == wish.item->end() || asked->is_null()) return std::string();
  if (find(wish.kind, wish.name).node != nullptr) {
    return not_done(StateError::Kind::conflict,
                    fmt::format("before: the {0} {1} is there, and keeps its place: take it away first",
                                to_string(wish.kind), wish.name));
  }
  const Found behind = asked->is_string() ? find(wish.kind, asked->get<std::string>()) : Found{};
  if (behind.node != nullptr && is_editable(wish.kind, *behind.node)) return asked->get<std::string>();
  return not_done(StateError::Kind::conflict, fmt::format("before: the name of a {} of {} is needed",
                                                          to_string(wish.kind), file_for(wish.kind).string()));
}

}  // namespace bloomwall::proxy
