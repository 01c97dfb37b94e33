// SPDX-License-Identifier: Apache-2.0
#include "proxy/import/squid_import.h"

#include <algorithm>
#include <bitset>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "base/units.h"
#include "conf/sections.h"
#include "proxy/import/config_lines.h"
#include "proxy/import/squid_acls.h"
#include "proxy/import/squid_settings.h"

namespace bloomwall::proxy::foreign {
namespace {

constexpr std::size_t kPorts = 65536;

struct Literal {
  const SquidAcl* acl;
  std::string name;
  bool negated;
  bool is(AclKind kind, bool not_it = false) const { return acl != nullptr && acl->kind == kind && negated == not_it; }
};

// Nothing where one of them is no port.
std::optional<std::bitset<kPorts>> set_of_ports(const std::vector<std::string>& texts) {
  std::bitset<kPorts> out;
  for (std::string_view text : texts) {
    const auto first = parse_integer(next_part(text, '-'));
    const auto last = text.empty() ? first : parse_integer(text);
    if (!first || !last || *first > *last || *last >= kPorts) return std::nullopt;
    for (std::uint64_t port = *first; port <= *last; ++port) out.set(port);
  }
  return out;
}

// "[1-20, 22, 1024]"
std::string ranges_of(const std::bitset<kPorts>& ports) {
  std::string out = "[";
  for (std::size_t port = 1; port < kPorts; ++port) {
    if (!ports.test(port)) continue;
    const std::size_t first = port;
    while (port + 1 < kPorts && ports.test(port + 1)) ++port;
    out += (out.size() > 1 ? ", " : "") + std::to_string(first) + (port > first ? "-" + std::to_string(port) : "");
  }
  return out + "]";
}

class HttpAccess {
 public:
  HttpAccess(const SquidAcls& acls, Imported& out) : acls_(acls), out_(out) {}
  void add(const ConfigLine& line);
  // Squid's last rule turned round decides what no rule does.
  Section section() {
    section_.otherwise = has_rules_ && !last_allows_;
    return std::move(section_);
  }

 private:
  std::vector<Literal> literals_of(const std::vector<std::string>& words) const;
  bool take_special(std::size_t report, bool allow, const std::vector<Literal>& literals);
  bool take_ports(std::size_t report, bool allow, const std::vector<Literal>& literals);
  // The condition for a literal; nothing where it always holds. Reports what is left out.
  std::optional<Condition> condition_of(std::size_t report, bool allow, const Literal& literal);

  const SquidAcls& acls_;
  Imported& out_;
  Section section_;
  bool has_rules_ = false, last_allows_ = false;
  std::bitset<kPorts> denied_ports_;  // by the rules so far
  std::bitset<kPorts> connect_ports_ = std::bitset<kPorts>{}.set();
};

std::vector<Literal> HttpAccess::literals_of(const std::vector<std::string>& words) const {
  std::vector<Literal> literals;
  for (std::size_t i = 2; i < words.size(); ++i) {
    const bool negated = words[i].starts_with('!');
    const std::string name = words[i].substr(negated ? 1 : 0);
    literals.push_back({acls_.find(name), name, negated});
  }
  return literals;
}

bool HttpAccess::take_ports(std::size_t report, bool allow, const std::vector<Literal>& literals) {
  const auto count = [&](AclKind kind, bool negated) {
    return std::count_if(literals.begin(), literals.end(),
                         [&](const Literal& literal) { return literal.is(kind, negated); });
  };
  const auto ports = std::find_if(literals.begin(), literals.end(),
                                  [](const Literal& l) { return l.acl != nullptr && l.acl->kind == AclKind::ports; });
  if (allow || ports == literals.end()) return false;
  const auto numbers = set_of_ports(ports->acl->ports);
  if (!numbers) return false;
  const bool is_behind =
      std::any_of(section_.rules.begin(), section_.rules.end(), [](const Rule& rule) { return rule.allow; });
  const auto say = [&](const std::string& key) {
    out_.worsen(report, is_behind ? Outcome::nearly : Outcome::taken,
                key + (is_behind ? "; it also holds for what an earlier line allows" : ""));
    return true;
  };
  if (literals.size() == 1) {
    denied_ports_ |= ports->negated ? ~*numbers : *numbers;
    for (const std::uint16_t port : conf::Access{}.deny_ports) denied_ports_.set(port);
    out_.settings["access.deny_ports"] = ranges_of(denied_ports_);
    return say("access.deny_ports, which also has the ports that browsers refuse");
  }
  if (literals.size() == 2 && ports->negated && count(AclKind::connect, false) == 1) {
    connect_ports_ &= *numbers;
    if (connect_ports_.none()) return false;  // "[]" is any port
    out_.settings["access.connect_ports"] = ranges_of(connect_ports_);
    return say("access.connect_ports");
  }
  return false;
}

// Rules about the proxy itself, which have keys of their own.
bool HttpAccess::take_special(std::size_t report, bool allow, const std::vector<Literal>& literals) {
  const auto has = [&](AclKind kind, bool negated) {
    return std::any_of(literals.begin(), literals.end(),
                       [&](const Literal& literal) { return literal.is(kind, negated); });
  };
  if (has(AclKind::manager, false)) {
    out_.worsen(report, Outcome::needless,
                "there is no cache, and no manager of one; admin.address serves health and metrics");
    return true;
  }
  if (has(AclKind::everybody, true)) {
    out_.worsen(report, Outcome::needless, "this never matches");
    return true;
  }
  if (has(AclKind::never, false)) {
    out_.worsen(report, Outcome::needless, "this never matches: only http and https are proxied");
    return true;
  }
  if (has(AclKind::own_networks, false)) {
    out_.worsen(report, allow ? Outcome::nearly : Outcome::taken,
                allow ? "name these addresses in access.allow_destinations"
                      : "access.deny_destinations has loopback and link_local by default");
    return true;
  }
  return take_ports(report, allow, literals);
}

std::optional<Condition> HttpAccess::condition_of(std::size_t report, bool allow, const Literal& literal) {
  const auto fail = [&](const std::string& why) {
    out_.worsen(report, allow ? Outcome::lost : Outcome::lost_deny, why);
    return std::nullopt;
  };
  if (literal.acl == nullptr) return fail("there is no acl " + literal.name);
  if (literal.acl->incomplete && literal.acl->kind != AclKind::other) {
    // An allow rule for what is not in it allows more, a deny rule for what is not in it refuses more.
    const Outcome outcome = allow != literal.negated ? Outcome::lost : Outcome::lost_deny;
    out_.worsen(report, outcome, "acl " + literal.name + " is not whole: see its line");
  }
  // Without this condition an allow rule allows what it left to later ones.
  const Outcome wider = allow ? Outcome::lost_deny : Outcome::nearly;
  switch (literal.acl->kind) {
    case AclKind::people:
      return Condition{ConditionKind::people, literal.acl->index, literal.negated};
    case AclKind::list:
      return Condition{ConditionKind::list, literal.acl->index, literal.negated};
    case AclKind::times:
      return Condition{ConditionKind::times, literal.acl->index, literal.negated};
    case AclKind::connect:
      out_.worsen(report, wider, "holds for every method");
      return std::nullopt;
    case AclKind::ports:
      if (allow) {
        out_.worsen(report, wider, "holds for every port that access allows");
        return std::nullopt;
      }
      return fail("ports together with other conditions are not asked");
    case AclKind::everybody:
    case AclKind::manager:
    case AclKind::own_networks:
    case AclKind::never:
    case AclKind::step:
      return std::nullopt;
    case AclKind::other:
      return fail("acl " + literal.name + ": " + literal.acl->reason);
  }
  return std::nullopt;
}

void HttpAccess::add(const ConfigLine& line) {
  const std::vector<std::string> words = words_of(line.text);
  const std::size_t report = out_.say(line.file, line.number, line.text, Outcome::taken, {});
  if (words.size() < 2 || (words[1] != "allow" && words[1] != "deny")) {
    return out_.worsen(report, Outcome::lost_deny, "neither allows nor denies");
  }
  Rule rule{report, words[1] == "allow", {}};
  has_rules_ = true;
  last_allows_ = rule.allow;
  const std::vector<Literal> literals = literals_of(words);
  if (take_special(report, rule.allow, literals)) return;
  for (const Literal& literal : literals) {
    if (literal.is(AclKind::own_networks, true) || literal.is(AclKind::manager, true)) continue;
    if (const auto condition = condition_of(report, rule.allow, literal)) rule.conditions.push_back(*condition);
  }
  // A rule of which a condition is missing would match too much: an allow rule is left out, and so is a deny rule.
  const bool whole = std::none_of(literals.begin(), literals.end(), [&](const Literal& literal) {
    return literal.acl == nullptr || literal.acl->kind == AclKind::other ||
           (literal.acl->kind == AclKind::ports && !rule.allow);
  });
  if (whole) section_.rules.push_back(std::move(rule));
}

}  // namespace

namespace {

// if, else and endif around lines. Squid knows "true", "false", a number and NUMBER = NUMBER.
class Conditionals {
 public:
  explicit Conditionals(Imported& out) : out_(out) {}
  // True: the line is one of these.
  bool take(const ConfigLine& line) {
    const std::vector<std::string> words = words_of(line.text);
    if (words.empty()) return false;
    if (words[0] == "if") {
      open_.push_back(value_of(words));
      out_.say(line.file, line.number, line.text, open_.back() ? Outcome::taken : Outcome::nearly,
               open_.back() ? "" : "whether it holds is not known: the lines in it count");
    } else if ((words[0] == "else" || words[0] == "endif") && !open_.empty()) {
      if (words[0] == "endif") {
        open_.pop_back();
      } else if (open_.back()) {
        open_.back() = !*open_.back();
      }
      out_.say(line.file, line.number, line.text, Outcome::taken, {});
    } else {
      return false;
    }
    return true;
  }
  bool is_left_out() const {
    return std::any_of(open_.begin(), open_.end(), [](const auto& holds) { return holds && !*holds; });
  }
  bool is_unknown() const {
    return std::any_of(open_.begin(), open_.end(), [](const auto& holds) { return !holds; });
  }

 private:
  static std::optional<bool> value_of(const std::vector<std::string>& words) {
    if (words.size() == 2 && (words[1] == "true" || words[1] == "false")) return words[1] == "true";
    if (words.size() == 2 && parse_integer(words[1])) return *parse_integer(words[1]) != 0;
    const bool compares = words.size() == 4 && words[2] == "=" && parse_integer(words[1]) && parse_integer(words[3]);
    return compares ? std::optional(*parse_integer(words[1]) == *parse_integer(words[3])) : std::nullopt;
  }
  Imported& out_;
  std::vector<std::optional<bool>> open_;  // nothing: it is not known
};

}  // namespace

void import_squid(const std::string& text, const std::filesystem::path& file, Imported& out) {
  const ConfigLines lines = squid_lines(text, file);
  for (const ConfigLine& line : lines.unread)
    out.say(line.file, line.number, line.text, Outcome::lost_deny, "what it says is unknown");
  SquidAcls acls(out);
  HttpAccess rules(acls, out);
  Conditionals conditionals(out);
  for (const ConfigLine& line : lines.lines) {
    if (conditionals.take(line)) continue;
    if (conditionals.is_left_out()) {
      out.say(line.file, line.number, line.text, Outcome::needless, "its condition does not hold");
      continue;
    }
    std::string_view rest = line.text;
    const std::string_view name = next_word(rest);
    if (equals_ignoring_case(name, "external_acl_type")) {
      if (const auto words = words_of(rest); is_group_helper(words, out)) acls.add_group_helper(words.front());
    }
    if (equals_ignoring_case(name, "configuration_includes_quoted_values")) {
      acls.set_quoted_values(equals_ignoring_case(trim(rest), "on"));
      out.say(line.file, line.number, line.text, Outcome::taken, {});
    } else if (equals_ignoring_case(name, "acl")) {
      acls.define(line);
    } else if (equals_ignoring_case(name, "http_access")) {
      rules.add(line);
      if (conditionals.is_unknown()) {
        out.worsen(out.report.size() - 1, Outcome::lost_deny, "whether its condition holds is not known");
      }
    } else {
      take_setting(line, acls, out);
    }
  }
  out.stages.push_back({rules.section()});
}

}  // namespace bloomwall::proxy::foreign
