// Random rules of squid.conf and squidGuard.conf: whatever is reported as taken must decide as these programs do, for
// every client, user, time and set of lists that a destination is in. The model of Squid is the first rule that
// matches, that of squidGuard the acl of the first source; that of the result reads the configuration which was
// written. Prints its seed; BLOOMWALL_SEED sets it.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "conf/config.h"
#include "filter/url/address_range.h"
#include "proxy/import/import.h"
#include "tests/support/seed.h"
#include "tests/support/temp_dir.h"

namespace bloomwall::proxy::foreign {
namespace {

struct Request {
  std::string client, user;
  std::set<std::string> lists, times, user_groups;
  bool is_connect = false;
};

struct Literal {
  std::string acl;
  bool negated;
};
struct SquidRule {
  bool allow;
  std::vector<Literal> literals;
};

const std::map<std::string, std::vector<std::string>> kSources{{"net", {"10.0.0.0/8"}},
                                                               {"branch", {"10.1.0.0/16"}},
                                                               {"room", {"10.1.2.0/24", "10.3.0.0/24"}},
                                                               {"one", {"10.1.2.3"}},
                                                               {"far", {"192.0.2.0/24"}}};
const std::map<std::string, std::set<std::string>> kUsers{{"bosses", {"anna", "bob"}}, {"annas", {"anna"}}};
const std::vector<std::string> kUserGroups{"staff", "interns"};
const std::vector<std::string> kLists{"games", "news", "shops"}, kTimes{"morning", "evening"};
const std::vector<std::string> kClients{"10.9.9.9", "10.1.9.9",  "10.1.2.9",   "10.1.2.3",
                                        "10.3.0.1", "192.0.2.1", "203.0.113.1"};

bool in_range(const std::string& client, const std::string& range) {
  if (range == "0.0.0.0/0") return true;  // every client here has an IPv4 address
  if (range == "::/0") return false;
  const auto address = filter::read_address(client);
  const auto reading = filter::read_address_range(range);
  const auto wanted = reading.outcome == filter::RangeReading::Outcome::range
                          ? reading.range
                          : filter::range_of(*filter::read_address(range));
  return wanted.contains(*address);
}

bool holds(const Literal& literal, const Request& request) {
  bool is = false;
  if (literal.acl == "all") is = true;
  if (literal.acl == "CONNECT") is = request.is_connect;
  if (const auto source = kSources.find(literal.acl); source != kSources.end()) {
    for (const std::string& range : source->second) is = is || in_range(request.client, range);
  }
  if (const auto users = kUsers.find(literal.acl); users != kUsers.end()) is = users->second.contains(request.user);
  is = is || request.lists.contains(literal.acl) || request.times.contains(literal.acl) ||
       request.user_groups.contains(literal.acl);
  return is != literal.negated;
}

bool squid_allows(const std::vector<SquidRule>& rules, const Request& request) {
  for (const SquidRule& rule : rules) {
    bool matches = true;
    for (const Literal& literal : rule.literals) matches = matches && holds(literal, request);
    if (matches) return rule.allow;
  }
  return !rules.empty() && !rules.back().allow;
}

template <typename T>
T value_at(const conf::Timed<T>& timed, const std::set<std::string>& times, T usual) {
  for (const auto& [schedule, value] : timed.by_schedule) {
    if (times.contains(schedule)) return value;
  }
  return timed.otherwise.value_or(usual);
}

bool ours_allows(const conf::Config& config, const Request& request) {
  const auto is_in = [&request](const std::vector<std::string>& ranges) {
    return std::any_of(ranges.begin(), ranges.end(),
                       [&](const std::string& range) { return in_range(request.client, range); });
  };
  if (!is_in(config.access.clients)) return false;
  conf::Group group;
  for (const conf::Group& candidate : config.groups) {
    const bool by_address = candidate.clients.empty() || is_in(candidate.clients);
    const bool by_user = candidate.users.empty() || std::find(candidate.users.begin(), candidate.users.end(),
                                                              request.user) != candidate.users.end();
    const bool by_group = candidate.user_groups.empty() ||
                          std::any_of(candidate.user_groups.begin(), candidate.user_groups.end(),
                                      [&](const std::string& name) { return request.user_groups.contains(name); });
    if (by_address && by_user && by_group) {
      group = candidate;
      break;
    }
  }
  using Action = conf::Group::Action;
  for (const conf::Filter& filter : config.filters) {
    Action action = filter.action == conf::Filter::Action::allow ? Action::allow : Action::block;
    if (const auto own = group.filters.find(filter.name); own != group.filters.end())
      action = value_at(own->second, request.times, action);
    const std::string list = filter.name.substr(0, filter.name.find('-'));
    if (action == Action::off || !request.lists.contains(list)) continue;
    return action == Action::allow;
  }
  return value_at(group.otherwise, request.times, config.otherwise) == conf::Otherwise::allow;
}

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed) {}
  std::vector<SquidRule> rules() {
    std::vector<SquidRule> out;
    for (std::size_t i = 1 + below(6); i > 0; --i) {
      SquidRule rule{below(2) == 0, {}};
      if (below(2) == 0) rule.literals.push_back({of(kSources), below(6) == 0});
      if (below(4) == 0) rule.literals.push_back({of(kUsers), below(6) == 0});
      if (below(4) == 0) rule.literals.push_back({kUserGroups[below(kUserGroups.size())], below(6) == 0});
      if (below(10) == 0) rule.literals.push_back({"CONNECT", below(4) == 0});
      if (below(3) != 0) rule.literals.push_back({kLists[below(kLists.size())], below(5) == 0});
      if (below(4) == 0) rule.literals.push_back({kTimes[below(kTimes.size())], below(3) == 0});
      if (below(12) == 0) rule.literals.push_back({kLists[below(kLists.size())], below(2) == 0});
      if (rule.literals.empty()) rule.literals.push_back({"net", false});
      out.push_back(std::move(rule));
    }
    out.push_back({below(3) == 0, {{below(2) == 0 ? "all" : "net", false}}});
    return out;
  }
  std::size_t below(std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random_); }

 private:
  template <typename Map>
  std::string of(const Map& map) {
    return std::next(map.begin(), static_cast<std::ptrdiff_t>(below(map.size())))->first;
  }
  std::mt19937_64 random_;
};

std::string text_of(const std::vector<SquidRule>& rules) {
  std::string text;
  for (const auto& [name, ranges] : kSources) {
    for (const std::string& range : ranges) text += "acl " + name + " src " + range + "\n";
  }
  for (const auto& [name, users] : kUsers) {
    for (const std::string& user : users) text += "acl " + name + " proxy_auth " + user + "\n";
  }
  for (const std::string& list : kLists) text += "acl " + list + " dstdomain ." + list + ".test\n";
  text += "acl morning time MTWHF 08:00-12:00\nacl evening time MTWHF 18:00-22:00\n";
  text += "auth_param basic program /usr/lib/squid/basic_ldap_auth\n";
  text += "external_acl_type ldap %LOGIN /usr/lib/squid/ext_ldap_group_acl -b dc=x\n";
  for (const std::string& group : kUserGroups) text += "acl " + group + " external ldap " + group + "\n";
  for (const SquidRule& rule : rules) {
    text += rule.allow ? "http_access allow" : "http_access deny";
    for (const Literal& literal : rule.literals) text += (literal.negated ? " !" : " ") + literal.acl;
    text += "\n";
  }
  return text;
}

std::vector<Request> requests() {
  struct Login {
    std::string user;
    std::set<std::string> groups;
  };
  const std::vector<Login> logins{{"", {}},
                                  {"bob", {"staff"}},
                                  {"anna", {}},
                                  {"carl", {}},
                                  {"carl", {"staff"}},
                                  {"carl", {"interns"}},
                                  {"anna", {"staff"}},
                                  {"anna", {"interns"}},
                                  {"carl", {"staff", "interns"}}};
  std::vector<Request> out;
  for (const std::string& client : kClients) {
    for (const Login& login : logins) {
      for (unsigned lists = 0; lists < 8; ++lists) {
        for (unsigned time = 0; time < 3; ++time) {
          Request request{client, login.user, {}, {}, login.groups};
          for (unsigned i = 0; i < 3; ++i) {
            if ((lists >> i & 1) != 0) request.lists.insert(kLists[i]);
          }
          if (time > 0) request.times.insert(kTimes[time - 1]);
          request.is_connect = out.size() % 2 == 1;
          out.push_back(std::move(request));
        }
      }
    }
  }
  return out;
}

// What is said of an ACL about groups of users holds for each of them.
Outcome worst_of(const ImportResult& result) {
  Outcome worst = Outcome::taken;
  for (const ReportLine& line : result.report) {
    if (line.outcome != Outcome::nearly || line.text.find(" external ") == std::string::npos) {
      worst = std::max(worst, line.outcome);
    }
  }
  return worst;
}

TEST(ImportedRules, DecideAsSquidDoesWhereTheyAreTakenWhole) {
  const std::uint32_t seed = test::test_seed();
  Generator generator(seed);
  const std::vector<Request> all = requests();
  std::size_t whole = 0, stricter = 0;
  for (int round = 0; round < 400; ++round) {
    const std::vector<SquidRule> rules = generator.rules();
    const std::string text = text_of(rules);
    const ImportResult result = import_texts({{"squid.conf", text}});
    const auto config = conf::load_text(result.files.at("bloomwall.yaml"), "imported");
    ASSERT_TRUE(config) << text << result.files.at("bloomwall.yaml") << config.error().front().text();
    const Outcome worst = worst_of(result);
    whole += worst <= Outcome::needless;
    stricter += worst == Outcome::nearly || worst == Outcome::lost;
    if (worst == Outcome::lost_deny) continue;
    // A third of them, another one each time.
    for (std::size_t i = generator.below(3); i < all.size(); i += 3) {
      const Request& request = all[i];
      const bool squid = squid_allows(rules, request);
      const bool ours = ours_allows(*config, request);
      // What is taken nearly, or lost an allow, may refuse more, and never less.
      if (worst <= Outcome::needless ? squid == ours : squid || !ours) continue;
      FAIL() << "seed " << seed << " round " << round << "\n"
             << text << "\n"
             << result.files.at("bloomwall.yaml")
             << fmt::format("\n{} {} of {}{} lists {} times {}: squid {}, ours {}", request.client, request.user,
                            fmt::join(request.user_groups, ","), request.is_connect ? " CONNECT" : "",
                            fmt::join(request.lists, ","), fmt::join(request.times, ","), squid, ours);
    }
  }
  EXPECT_GT(whole, 50U);
  EXPECT_GT(stricter, 10U);
}

// The same of squidGuard: the first source that a client is in has one acl, or none and then default's.
struct GuardPass {
  std::vector<Literal> categories;
  std::optional<bool> end;  // any or none; nothing: it does not say
};
struct GuardAcl {
  std::string source;             // "default"
  std::string time;               // empty: always
  bool is_outside = false;        // of that time
  std::vector<GuardPass> passes;  // and what holds else
};
struct GuardSource {
  std::string name, time;
};
struct GuardRules {
  std::vector<GuardSource> sources;
  std::vector<GuardAcl> acls;
};

bool guard_passes(const GuardPass& pass, const Request& request) {
  for (const Literal& category : pass.categories) {
    if (request.lists.contains(category.acl)) return !category.negated;
  }
  return pass.end.value_or(true);
}

bool guard_allows(const GuardRules& rules, const Request& request) {
  std::string source = "default";
  for (const GuardSource& candidate : rules.sources) {
    if (!candidate.time.empty() && !request.times.contains(candidate.time)) continue;
    if (source == "default" && holds({candidate.name, false}, request)) source = candidate.name;
  }
  for (const std::string& name : {source, std::string("default")}) {
    const auto acl = std::find_if(rules.acls.begin(), rules.acls.end(),
                                  [&name](const GuardAcl& candidate) { return candidate.source == name; });
    if (acl == rules.acls.end()) continue;
    if (acl->time.empty() || request.times.contains(acl->time) != acl->is_outside) {
      return guard_passes(acl->passes.front(), request);
    }
    if (acl->passes.size() > 1) return guard_passes(acl->passes.back(), request);
  }
  return true;
}

GuardPass random_pass(Generator& generator) {
  GuardPass pass;
  for (const std::string& list : kLists) {
    if (generator.below(2) == 0) pass.categories.push_back({list, generator.below(3) != 0});
  }
  if (const std::size_t end = generator.below(4); end != 0) pass.end = end > 1;
  return pass;
}

GuardRules random_guard(Generator& generator) {
  GuardRules rules;
  for (const auto& [name, ranges] : kSources) {
    if (generator.below(2) == 0) continue;
    rules.sources.push_back({name, generator.below(6) == 0 ? kTimes[generator.below(2)] : ""});
    std::swap(rules.sources.back(), rules.sources[generator.below(rules.sources.size())]);
  }
  std::vector<std::string> names{"default"};
  for (const GuardSource& source : rules.sources) names.push_back(source.name);
  for (const std::string& name : names) {
    if (generator.below(4) == 0) continue;
    GuardAcl acl{.source = name, .time = {}, .is_outside = false, .passes = {random_pass(generator)}};
    if (generator.below(3) == 0) {
      acl.time = kTimes[generator.below(2)];
      acl.is_outside = generator.below(3) == 0;
      if (generator.below(2) == 0) acl.passes.push_back(random_pass(generator));
    }
    rules.acls.push_back(std::move(acl));
  }
  return rules;
}

std::string text_of(const GuardPass& pass) {
  std::string text = " pass";
  for (std::size_t i = 0; i < pass.categories.size(); ++i) {  // several lines are one
    text += (i == 1 ? "\n pass" : "") + std::string(pass.categories[i].negated ? " !" : " ") + pass.categories[i].acl;
  }
  if (pass.end) text += *pass.end ? " any" : " none";
  return pass.categories.empty() && !pass.end ? "" : text + "\n";
}

std::string text_of(const GuardRules& rules, const std::string& folder) {
  std::string text = "dbhome " + folder + "\n";
  text += "time morning { weekly mtwhf 08:00-12:00 }\ntime evening { weekly mtwhf 18:00-22:00 }\n";
  for (const std::string& list : kLists) text += "dest " + list + " {\n domainlist " + list + "\n}\n";
  for (const GuardSource& source : rules.sources) {
    text += "src " + source.name + (source.time.empty() ? "" : " within " + source.time) + " {\n";
    for (const std::string& range : kSources.at(source.name)) text += " ip " + range + "\n";
    text += "}\n";
  }
  text += "acl {\n";
  for (const GuardAcl& acl : rules.acls) {
    text += acl.source;
    if (!acl.time.empty()) text += (acl.is_outside ? " outside " : " within ") + acl.time;
    text += " {\n" + text_of(acl.passes.front()) + "}";
    if (acl.passes.size() > 1) text += " else {\n" + text_of(acl.passes.back()) + "}";
    text += "\n";
  }
  return text + "}\n";
}

TEST(ImportedRules, DecideAsSquidGuardDoesWhereTheyAreTakenWhole) {
  const test::TempDir folder;
  for (const std::string& list : kLists) folder.write(list, list + ".test\n");
  const std::uint32_t seed = test::test_seed();
  Generator generator(seed);
  const std::vector<Request> all = requests();
  std::size_t whole = 0;
  for (int round = 0; round < 400; ++round) {
    const GuardRules rules = random_guard(generator);
    const std::string text = text_of(rules, folder.path().string());
    const ImportResult result = import_texts({{"squidGuard.conf", text}});
    const auto config = conf::load_text(result.files.at("bloomwall.yaml"), "imported");
    ASSERT_TRUE(config) << text << result.files.at("bloomwall.yaml") << config.error().front().text();
    const Outcome worst = worst_of(result);
    whole += worst <= Outcome::needless;
    if (worst == Outcome::lost_deny) continue;
    for (std::size_t i = generator.below(3); i < all.size(); i += 3) {
      const Request& request = all[i];
      const bool guard = guard_allows(rules, request);
      const bool ours = ours_allows(*config, request);
      if (worst <= Outcome::needless ? guard == ours : guard || !ours) continue;
      FAIL() << "seed " << seed << " round " << round << "\n"
             << text << "\n"
             << result.files.at("bloomwall.yaml")
             << fmt::format("\n{} lists {} times {}: squidGuard {}, ours {}", request.client,
                            fmt::join(request.lists, ","), fmt::join(request.times, ","), guard, ours);
    }
  }
  EXPECT_GT(whole, 50U);
}

}  // namespace
}  // namespace bloomwall::proxy::foreign
