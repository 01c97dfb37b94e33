// What the configuration of another proxy says, apart from how it is written: lists of destinations, people, times, and
// rules of which the first that matches decides. Readers (squid_import.h, squidguard_import.h) fill it in, one compiler
// (group_compiler.h) turns it into groups, one writer (written_configuration.h) into files.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "filter/url/address_range.h"

namespace bloomwall::proxy::foreign {

// How much of a line of the other configuration is in the new one, from best to worst.
enum class Outcome : std::uint8_t {
  taken,
  needless,  // nothing has to stand for it
  nearly,    // with a difference, which the reason states
  lost,      // nothing stands for it
  lost_deny  // likewise, and it refused something: the new configuration lets more pass
};
inline constexpr std::array<const char*, 5> kOutcomeNames{"taken", "not needed", "nearly", "not", "not (deny lost)"};

struct ReportLine {
  std::string file;
  std::uint64_t line = 0;
  Outcome outcome = Outcome::taken;
  std::string text;    // of the line, or of the block that begins there; printable, cut to kMostShown
  std::string reason;  // what stands for it, or why not
};
inline constexpr std::size_t kMostShown = 120;

// A set of destinations: what becomes a filter.
struct DestinationList {
  std::string name;
  std::vector<std::string> entries;  // lines of a list as bloomwall-filter reads them with the format "mixed"
  struct File {
    std::string path, format;
  };
  std::vector<File> files;    // lists that are read where they are
  bool has_networks = false;  // addresses that names resolve to count, too
  bool is_empty() const { return entries.empty() && files.empty(); }
};

// Who asks: every member that is set must match.
struct People {
  std::string name;
  std::optional<filter::RangeSet> clients = {};
  std::vector<std::string> users = {};        // one of them
  std::vector<std::string> user_groups = {};  // in one of them
  bool any_user = false;                      // whoever has logged in
};

// Times of a week, as schedules[].times.
struct Times {
  std::string name;
  std::vector<std::string> spans;
};

// One condition of a rule: an index into the table of its kind.
enum class ConditionKind : std::uint8_t { people, list, times };
struct Condition {
  ConditionKind kind = ConditionKind::people;
  std::size_t index = 0;
  bool negated = false;
  friend bool operator==(const Condition&, const Condition&) = default;
};

struct Rule {
  std::size_t report = 0;  // its line in Imported::report
  bool allow = false;
  std::vector<Condition> conditions;  // all must match
};

// Rules for some people; the first section for a person whose times are active decides. `otherwise` where no rule does.
struct Section {
  std::vector<Condition> people;
  std::optional<Condition> when = {};
  std::vector<Rule> rules;
  bool otherwise = true;
};
// What passes one stage is asked of the next.
using Stage = std::vector<Section>;

struct Imported {
  std::vector<People> people;
  std::vector<DestinationList> lists;
  std::vector<Times> times;
  std::vector<Stage> stages;
  // Keys of the new configuration, "section.key" to its YAML text; a list of sections ("listeners") holds items.
  std::map<std::string, std::string> settings;
  std::map<std::string, std::size_t> said;  // the report's line about a setting
  std::map<std::string, std::vector<std::string>> items;
  std::vector<ReportLine> report;

  std::size_t say(std::string file, std::uint64_t line, std::string_view text, Outcome outcome, std::string reason);
  // The worst of what was said of a line counts; the reasons of equal ones are not repeated.
  void worsen(std::size_t at, Outcome outcome, const std::string& reason);
};

}  // namespace bloomwall::proxy::foreign
