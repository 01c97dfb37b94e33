// What `bloomwall doctor` says of one thing that it has looked at.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/names.h"

namespace bloomwall::proxy {

// unseen: it could not be looked at, for `what` reason. note: it works, and somebody may want it otherwise.
enum class Grade : std::uint8_t { good, note, unseen, wrong };
inline constexpr auto kGradeNames =
    name_table<Grade>({{Grade::good, "ok"}, {Grade::note, "note"}, {Grade::unseen, "unseen"}, {Grade::wrong, "wrong"}});
constexpr const char* to_string(Grade grade) { return kGradeNames.text(grade); }

struct Finding {
  Grade grade = Grade::good;
  std::string subject;    // "filters", "clock"
  std::string what;       // one line
  std::string cure = {};  // what to do about it; empty where there is nothing
  friend bool operator==(const Finding&, const Finding&) = default;
};
using Diagnosis = std::vector<Finding>;

}  // namespace bloomwall::proxy
