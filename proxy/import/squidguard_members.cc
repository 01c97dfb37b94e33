// SPDX-License-Identifier: Apache-2.0
#include "proxy/import/squidguard_members.h"

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "proxy/import/client_ranges.h"
#include "proxy/import/config_lines.h"

namespace bloomwall::proxy::foreign {
namespace {

namespace fs = std::filesystem;

// The members of a line: between blanks and commas. "10.0.0.1 - 10.0.0.9" is one.
std::vector<std::string> members_of(std::string_view line) {
  std::vector<std::string> out;
  std::string text(line);
  std::ranges::replace(text, ',', ' ');
  bool joins = false;
  for (std::string_view rest = text, word = next_word(rest); !word.empty(); word = next_word(rest)) {
    joins = !out.empty() && (joins || word.starts_with('-'));
    if (joins) {
      out.back() += word;
    } else {
      out.emplace_back(word);
    }
    joins = word.ends_with('-');
  }
  return out;
}

void add_addresses(std::string_view line, std::size_t report, People& people, Imported& out) {
  std::vector<filter::AddressRange> ranges;
  for (const std::string& word : members_of(line)) {
    if (const auto read = client_ranges(word)) {
      ranges.insert(ranges.end(), read->begin(), read->end());
    } else {
      out.worsen(report, Outcome::lost_deny, word + ": write it as an address, a network or a range");
    }
  }
  const filter::RangeSet added{std::span(ranges)};
  people.clients = people.clients ? united(*people.clients, added) : added;
}

void add_users(std::string_view line, People& people) {
  std::string text(line);
  std::ranges::replace(text, ',', ' ');
  for (std::string_view rest = text, word = next_word(rest); !word.empty(); word = next_word(rest))
    people.users.emplace_back(word);
}

// iplist, userlist. A line "NAME:..." of users, as /etc/passwd has them, is that name.
void add_file(const Statement& row, const fs::path& home, std::size_t report, People& people, Imported& out) {
  if (row.words.size() < 2) return out.worsen(report, Outcome::lost_deny, row.words.front() + ": names no file");
  const fs::path path = home / row.words[1];
  const auto text = read_text(path, kMostListBytes);
  if (!text) return out.worsen(report, Outcome::lost_deny, path.string() + ": " + text.error());
  LineWalk walk(*text);
  while (walk.next()) {
    std::string_view line = without_comment(walk.line());
    if (line.empty()) continue;
    if (row.words.front() == "iplist") {
      add_addresses(line, report, people, out);
    } else {
      add_users(next_part(line, ':'), people);
    }
  }
}

}  // namespace

void add_members(const Statement& row, const fs::path& home, std::size_t report, People& people, Imported& out) {
  const std::string& what = row.words.front();
  std::string line;
  for (std::size_t i = 1; i < row.words.size(); ++i) line += row.words[i] + ' ';
  if (what == "iplist" || what == "userlist") {
    add_file(row, home, report, people, out);
  } else if (what == "user") {
    add_users(line, people);
  } else if (what == "unix" && row.words.size() > 2 && row.words[1] == "group") {
    people.user_groups.insert(people.user_groups.end(), row.words.begin() + 2, row.words.end());
    out.worsen(report, Outcome::nearly, "authentication.groups_helper must know the groups of the system");
  } else if (what == "ip" || what == "ipv4" || what == "ipv6") {
    add_addresses(line, report, people, out);
  } else if (what == "continue") {
    out.worsen(report, Outcome::lost_deny, "continue: of the sources of a client only the first counts");
  } else if (what != "log" && what != "logfile") {
    out.worsen(report, Outcome::lost_deny, what + ": people are told apart by address, user and group of users");
  }
}

}  // namespace bloomwall::proxy::foreign
