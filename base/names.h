// The words of an enum: one table that writes them and reads them back.
//
//   constexpr auto kGrades = name_table<Grade>({{Grade::good, "ok"}, {Grade::wrong, "wrong"}});
//   kGrades.text(Grade::good)              "ok"
//   kGrades.parse("wrong")                 Grade::wrong; nothing for another text: case counts
//   for (const auto& [value, text] : kGrades)
//
// Does not compile: a value of the enum without a row, rows in another order than the enum's, or two rows with one
// text. The enum counts up by one, from 0 or from what `kFirst` says; others (filter/kind.h) keep their switch.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace bloomwall {

template <typename Enum>
struct NameRow {
  Enum value{};
  const char* text = nullptr;
};

namespace names_detail {

// Compilers print a value of an enum as Grade::wrong, and one that the enum does not have as (Grade)2.
template <auto kValue>
consteval bool has_enumerator() {
  std::string_view printed = __PRETTY_FUNCTION__;
  printed.remove_suffix(1);  // ']'
  while (printed.back() >= '0' && printed.back() <= '9') printed.remove_suffix(1);
  return printed.back() != ')';
}

}  // namespace names_detail

template <typename Enum, std::size_t kCount, Enum kFirst = Enum{}>
class NameTable {
 public:
  using Rows = NameRow<Enum>[kCount];
  consteval explicit NameTable(const Rows& rows) {
    if (fault_of(rows) != nullptr) throw fault_of(rows);  // the compiler shows this line
    for (std::size_t i = 0; i < kCount; ++i) rows_[i] = rows[i];
  }

  // What is wrong with rows; null where nothing is.
  static constexpr const char* fault_of(const Rows& rows) {
    if (names_detail::has_enumerator<value_at(kCount)>()) return "the last value of the enum has no row";
    for (std::size_t i = 0; i < kCount; ++i) {
      if (rows[i].value != value_at(i)) return "a value has no row, or rows stand in another order than the enum's";
      for (std::size_t k = 0; k < i; ++k) {
        if (std::string_view(rows[k].text) == rows[i].text) return "two values have one text";
      }
    }
    return nullptr;
  }

  constexpr const char* text(Enum value) const {
    const auto at = static_cast<std::size_t>(value) - static_cast<std::size_t>(kFirst);
    return at < kCount ? rows_[at].text : "unknown";  // a number that was cast
  }
  constexpr std::optional<Enum> parse(std::string_view text) const {
    for (const NameRow<Enum>& row : rows_) {
      if (text == row.text) return row.value;
    }
    return std::nullopt;
  }
  constexpr auto begin() const { return rows_.begin(); }
  constexpr auto end() const { return rows_.end(); }
  static constexpr std::size_t size() { return kCount; }

 private:
  static constexpr Enum value_at(std::size_t place) {
    return static_cast<Enum>(static_cast<std::size_t>(kFirst) + place);
  }
  std::array<NameRow<Enum>, kCount> rows_{};
};

template <typename Enum, Enum kFirst = Enum{}, std::size_t kCount>
consteval NameTable<Enum, kCount, kFirst> name_table(const NameRow<Enum> (&rows)[kCount]) {
  return NameTable<Enum, kCount, kFirst>(rows);
}

}  // namespace bloomwall
