// SPDX-License-Identifier: Apache-2.0
#include "base/names.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace bloomwall {
namespace {

enum class Grade : std::uint8_t { good, note, wrong };
enum class Step : std::uint32_t { one = 1, http2 };

constexpr auto kGrades = name_table<Grade>({{Grade::good, "ok"}, {Grade::note, "note"}, {Grade::wrong, "wrong"}});
constexpr auto kSteps = name_table<Step, Step::one>({{Step::one, "one"}, {Step::http2, "two"}});

template <typename Enum, Enum kFirst = Enum{}, std::size_t kCount>
constexpr std::string_view fault_of(const NameRow<Enum> (&rows)[kCount]) {
  const char* const fault = NameTable<Enum, kCount, kFirst>::fault_of(rows);
  return fault == nullptr ? "" : fault;
}

// What name_table() refuses while it compiles.
static_assert(fault_of<Grade>({{Grade::good, "ok"}, {Grade::note, "note"}, {Grade::wrong, "wrong"}}).empty());
static_assert(fault_of<Grade>({{Grade::good, "ok"}, {Grade::note, "note"}}).starts_with("the last value"));
static_assert(fault_of<Grade>({{Grade::good, "ok"}, {Grade::wrong, "wrong"}}).starts_with("the last value"));
static_assert(
    fault_of<Grade>({{Grade::good, "a"}, {Grade::wrong, "b"}, {Grade::note, "c"}}).starts_with("a value has"));
static_assert(fault_of<Grade>({{Grade::good, "a"}, {Grade::note, "b"}, {Grade::wrong, "a"}}).starts_with("two values"));
static_assert(fault_of<Step, Step::one>({{Step::one, "one"}}).starts_with("the last value"));
static_assert(kGrades.parse("wrong") == Grade::wrong);

TEST(NameTable, WritesAndReads) {
  EXPECT_EQ(kGrades.text(Grade::good), std::string_view("ok"));
  EXPECT_EQ(kSteps.text(Step::http2), std::string_view("two"));
  for (const auto& [value, text] : kGrades) {
    EXPECT_EQ(kGrades.text(value), text);
    EXPECT_EQ(kGrades.parse(text), value);
  }
  for (const std::string_view text : {"", "OK", "ok ", "good", "unknown"}) EXPECT_EQ(kGrades.parse(text), std::nullopt);
  EXPECT_EQ(kSteps.parse("one"), Step::one);
  EXPECT_EQ(kGrades.size(), 3U);
}

TEST(NameTable, HasAWordForNumbersThatAreNoValues) {
  EXPECT_EQ(kGrades.text(static_cast<Grade>(3)), std::string_view("unknown"));
  EXPECT_EQ(kGrades.text(static_cast<Grade>(255)), std::string_view("unknown"));
  EXPECT_EQ(kSteps.text(static_cast<Step>(0)), std::string_view("unknown"));
  EXPECT_EQ(kSteps.text(static_cast<Step>(3)), std::string_view("unknown"));
}

}  // namespace
}  // namespace bloomwall
