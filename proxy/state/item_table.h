// How items are kept in state.db: a row of each with its key, its JSON and the sum of that; and the rows of the audit
// that tell of an item. What differs between the kinds of items is said once, in Kept<Item>. For the sources of
// StateStore. Errors: texts for people.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "proxy/state/json_members.h"
#include "proxy/state/state_store.h"

namespace bloomwall::proxy {

inline tl::unexpected<StateError> state_error(StateError::Kind kind, std::string what) {
  return tl::unexpected(StateError{kind, std::move(what)});
}

// kRows gives subject(), the JSON and its sum; with_key() gives the values of the key's columns.
template <typename Item>
struct Kept;

template <>
struct Kept<ExceptionItem> {
  static constexpr const char* kNoun = "exception";
  static constexpr const char* kRows = "SELECT id, item, sum FROM exceptions ORDER BY id";
  static constexpr const char* kInsert = "INSERT INTO exceptions (id, item, sum) VALUES (?, ?, ?)";
  static constexpr const char* kUpdate = "UPDATE exceptions SET item = ?, sum = ? WHERE id = ?";
  static constexpr const char* kErase = "DELETE FROM exceptions WHERE id = ?";
  static constexpr auto kRead = &exception_from;
  template <typename Use>
  static auto with_key(const ExceptionItem& item, Use use) {
    return use(static_cast<std::int64_t>(item.exception.id));
  }
  static std::string subject(const ExceptionItem& item) { return std::to_string(item.exception.id); }
  static std::string audited(const ExceptionItem& item) { return json_line(to_json(item)); }
  static std::uint64_t report(const ExceptionItem& item) { return item.report; }
};

template <>
struct Kept<SwitchItem> {
  static constexpr const char* kNoun = "switch";
  static constexpr const char* kRows =
      "SELECT group_name || ' ' || key, item, sum FROM switches ORDER BY group_name, key";
  static constexpr const char* kInsert = "INSERT INTO switches (group_name, key, item, sum) VALUES (?, ?, ?, ?)";
  static constexpr const char* kErase = "DELETE FROM switches WHERE group_name = ? AND key = ?";
  static constexpr auto kRead = &switch_from;
  template <typename Use>
  static auto with_key(const SwitchItem& item, Use use) {
    const std::string key = item.made.key();
    return use(std::string_view(item.made.group), std::string_view(key));
  }
  static std::string subject(const SwitchItem& item) { return item.made.group + " " + item.made.key(); }
  static std::string audited(const SwitchItem& item) { return json_line(to_json(item)); }
  static std::uint64_t report(const SwitchItem&) { return 0; }
};

template <>
struct Kept<Token> {
  static constexpr const char* kNoun = "token";
  static constexpr const char* kRows = "SELECT name, item, sum FROM tokens ORDER BY name";
  static constexpr const char* kInsert = "INSERT INTO tokens (name, item, sum) VALUES (?, ?, ?)";
  static constexpr const char* kErase = "DELETE FROM tokens WHERE name = ?";
  static constexpr auto kRead = &token_from;
  template <typename Use>
  static auto with_key(const Token& token, Use use) {
    return use(std::string_view(token.name));
  }
  static std::string subject(const Token& token) { return token.name; }
  static std::string audited(const Token& token) { return json_line(for_people(token)); }  // without its digest
  static std::uint64_t report(const Token&) { return 0; }
};

template <>
struct Kept<ReportItem> {
  static constexpr const char* kNoun = "report";
  static constexpr const char* kRows = "SELECT id, item, sum FROM reports ORDER BY id";
  static constexpr const char* kInsert = "INSERT INTO reports (id, item, sum) VALUES (?, ?, ?)";
  static constexpr const char* kUpdate = "UPDATE reports SET item = ?, sum = ? WHERE id = ?";
  static constexpr auto kRead = &report_from;
  template <typename Use>
  static auto with_key(const ReportItem& report, Use use) {
    return use(static_cast<std::int64_t>(report.id));
  }
  static std::string subject(const ReportItem& report) { return std::to_string(report.id); }
  // Words of others than the first are in the report, and each in the row about its own report: repeated in each row
  // they would be without bound.
  static std::string audited(const ReportItem& report) {
    nlohmann::ordered_json json = to_json(report);
    json.erase("reporters");
    return json_line(json);
  }
  static std::uint64_t report(const ReportItem& report) { return report.id; }
};

template <typename Item>
tl::expected<Item, std::string> read_item(const std::string& text) {
  return Kept<Item>::kRead(nlohmann::ordered_json::parse(text, nullptr, false));
}

template <typename Item>
tl::expected<std::vector<Item>, std::string> load_items(Database& database) {
  std::vector<Item> items;
  Statement rows(database, Kept<Item>::kRows);
  while (rows.next()) {
    const auto fail = [&](std::string_view what) {
      return tl::unexpected(fmt::format("state.db: {} {}: {}", Kept<Item>::kNoun, rows.text(0), what));
    };
    if (rows.text(2) != sum_of(rows.text(1))) return fail("it is not what was written");
    auto item = read_item<Item>(rows.text(1));
    if (!item) return fail(item.error());
    if (Kept<Item>::subject(*item) != rows.text(0)) return fail("its id is another one");
    items.push_back(*std::move(item));
  }
  if (!rows.error().empty()) return tl::unexpected(rows.error());
  return items;
}

// One that could not be read again would make all of the state unreadable.
template <typename Item>
std::optional<StateError> refuse_unreadable(const Item& item) {
  const auto again = read_item<Item>(json_line(to_json(item)));
  if (again) return std::nullopt;
  return StateError{StateError::Kind::failed,
                    fmt::format("the {} cannot be kept: {}", Kept<Item>::kNoun, again.error())};
}

template <typename Item>
tl::expected<void, std::string> insert_item(Database& database, const Item& item) {
  const std::string text = json_line(to_json(item)), sum = sum_of(text);
  return Kept<Item>::with_key(
      item, [&](auto... key) { return database.run(Kept<Item>::kInsert, {SqlValue(key)..., text, sum}); });
}

template <typename Item>
tl::expected<void, std::string> update_item(Database& database, const Item& item) {
  const std::string text = json_line(to_json(item)), sum = sum_of(text);
  return Kept<Item>::with_key(
      item, [&](auto... key) { return database.run(Kept<Item>::kUpdate, {text, sum, SqlValue(key)...}); });
}

template <typename Item>
tl::expected<void, std::string> erase_item(Database& database, const Item& item) {
  return Kept<Item>::with_key(item, [&](auto... key) { return database.run(Kept<Item>::kErase, {SqlValue(key)...}); });
}

// Of an item that is gone, or is there from now on.
template <typename Item>
AuditRow row_of_gone(const char* what, const Author& author, const Item& item, std::string_view why = {}) {
  return {.author = author,
          .what = what,
          .subject = Kept<Item>::subject(item),
          .before = Kept<Item>::audited(item),
          .after = {},
          .why = std::string(why),
          .report = Kept<Item>::report(item)};
}

template <typename Item>
AuditRow row_of_made(const char* what, const Author& author, const Item& item, std::string_view before = {},
                     std::string_view why = {}) {
  return {.author = author,
          .what = what,
          .subject = Kept<Item>::subject(item),
          .before = std::string(before),
          .after = Kept<Item>::audited(item),
          .why = std::string(why),
          .report = Kept<Item>::report(item)};
}

}  // namespace bloomwall::proxy
