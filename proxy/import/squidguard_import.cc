// SPDX-License-Identifier: Apache-2.0
#include "proxy/import/squidguard_import.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "base/text.h"
#include "proxy/import/config_lines.h"
#include "proxy/import/squidguard_members.h"
#include "proxy/import/squidguard_statements.h"

namespace bloomwall::proxy::foreign {
namespace {

namespace fs = std::filesystem;

class Reader {
 public:
  Reader(std::vector<Statement> statements, const fs::path& file, Imported& out)
      : statements_(std::move(statements)), file_(file), out_(out) {}
  void read();

 private:
  struct Source {
    std::size_t people = 0;
    std::size_t report = 0;
    std::optional<Condition> when;
  };

  struct Category {
    std::size_t list = 0;
    std::size_t report = 0;
    std::string lost = {};  // what of it could not be taken, and why
    std::optional<Condition> when = {};
  };

  bool at_end() const { return at_ >= statements_.size(); }
  std::size_t say(const Statement& of, Outcome outcome, std::string reason);
  // The statements of the block that has just been opened; the end of it is behind them.
  std::vector<Statement> block();
  void read_statement();
  void read_option(const Statement& statement);
  void read_time(const Statement& head);
  void add_span(const Statement& row, Times& times);
  void read_source(const Statement& head);
  void read_category(const Statement& head);
  void add_list(const Statement& row, DestinationList& list, std::string& lost);
  void read_acl(const Statement& head);
  void read_pass(const std::string& source, const std::vector<Statement>& rows, std::optional<Condition> when);
  void add_rules(const Statement& row, Section& section);
  void fall_to_default(std::size_t report, const Source& source, std::vector<Section>& out);
  void order_sections();
  std::optional<Condition> time_of(const Statement& of, const std::string& how, const std::string& name);

  std::vector<Statement> statements_;
  std::size_t at_ = 0;
  fs::path file_;
  Imported& out_;
  fs::path home_ = "/var/lib/squidguard/db";
  std::map<std::string, std::size_t> times_;
  std::map<std::string, Category> categories_;
  std::map<std::string, Source> sources_;
  std::vector<Section> sections_;
  std::vector<Section> default_;
};

std::size_t Reader::say(const Statement& of, Outcome outcome, std::string reason) {
  std::string text;
  for (const std::string& word : of.words) text += (text.empty() ? "" : " ") + word;
  return out_.say(file_.string(), of.line, text, outcome, std::move(reason));
}

std::vector<Statement> Reader::block() {
  std::vector<Statement> rows;
  std::size_t depth = 1;
  while (!at_end()) {
    Statement& row = statements_[at_++];
    if (row.opens) ++depth;
    if (row.closes && --depth == 0) break;
    rows.push_back(std::move(row));
  }
  return rows;
}

std::optional<Condition> Reader::time_of(const Statement& of, const std::string& how, const std::string& name) {
  const auto found = times_.find(name);
  if (found == times_.end()) {
    say(of, Outcome::lost_deny, "there is no time " + name + " that could be taken");
    return std::nullopt;
  }
  return Condition{ConditionKind::times, found->second, how == "outside"};
}

void Reader::add_span(const Statement& row, Times& times) {
  const auto fail = [&] { say(row, Outcome::lost_deny, "only weekly times are taken; dates are calendars[].dates"); };
  if (row.words.size() < 2 || !equals_ignoring_case(row.words[0], "weekly")) return fail();
  std::string days;
  for (std::size_t i = 1; i < row.words.size(); ++i) {
    const std::string& word = row.words[i];
    if (is_digit(word.front()) || word.front() == '-') continue;
    const auto more = days_of(word);
    if (!more) return fail();
    days += (days.empty() || more->empty() ? "" : ",") + *more;
  }
  std::vector<std::string> hours = hours_of(row.words, 1);
  if (hours.empty()) hours.push_back(days.empty() ? "00:00-24:00" : "");
  for (const std::string& span : hours) {
    const std::size_t dash = span.find('-');
    if (dash != std::string::npos && span.substr(dash + 1) < span.substr(0, dash))
      say(row, Outcome::nearly, span + ": never holds there; here it ends on the next day");
    std::string& whole = times.spans.emplace_back(days);
    if (!days.empty() && !span.empty()) whole += ' ';
    whole += span;
  }
}

void Reader::read_time(const Statement& head) {
  const std::vector<Statement> rows = block();
  if (head.words.size() < 2) return void(say(head, Outcome::lost, "has no name"));
  Times times{head.words[1], {}};
  for (const Statement& row : rows) add_span(row, times);
  if (times.spans.empty()) return void(say(head, Outcome::lost, "no time of it could be taken"));
  times_[head.words[1]] = out_.times.size();
  out_.times.push_back(std::move(times));
  say(head, Outcome::taken, "schedules");
}

void Reader::read_source(const Statement& head) {
  const std::vector<Statement> rows = block();
  if (head.words.size() < 2) return void(say(head, Outcome::lost_deny, "has no name"));
  const std::size_t report = say(head, Outcome::taken, "groups");
  Source source{out_.people.size(), report, {}};
  People people{.name = head.words[1], .clients = {}, .users = {}, .user_groups = {}};
  for (std::size_t i = 2; i + 1 < head.words.size(); i += 2)
    source.when = time_of(head, head.words[i], head.words[i + 1]);
  for (const Statement& row : rows) {
    if (row.words.empty()) continue;
    if ((row.words[0] == "within" || row.words[0] == "outside") && row.words.size() > 1) {
      source.when = time_of(row, row.words[0], row.words[1]);
    } else {
      add_members(row, home_, report, people, out_);
    }
  }
  if (!people.clients && people.users.empty() && people.user_groups.empty()) {
    out_.worsen(report, Outcome::lost_deny, "nobody of it could be taken, and it is for nobody");
  }
  out_.people.push_back(std::move(people));
  sources_[head.words[1]] = source;
}

void Reader::read_category(const Statement& head) {
  const std::vector<Statement> rows = block();
  if (head.words.size() < 2) return void(say(head, Outcome::lost_deny, "has no name"));
  const std::size_t report = say(head, Outcome::taken, "filters[].sources");
  Category category{.list = out_.lists.size(), .report = report};
  DestinationList list{head.words[1], {}, {}};
  if (head.words.size() > 3) category.when = time_of(head, head.words[2], head.words[3]);
  for (const Statement& row : rows) {
    if (row.words.size() < 2 || row.words[0] == "log" || row.words[0] == "logfile") continue;
    if (row.words[0] == "redirect") {
      out_.worsen(report, Outcome::nearly, "redirect: a blocked request gets a page (block_page)");
    } else if (row.words[0] != "cacerts" && row.words[0] != "option" && row.words[0] != "rewrite") {
      add_list(row, list, category.lost);
    }
  }
  const bool names_one = std::ranges::any_of(rows, [](const Statement& row) {
    return row.words.size() > 1 && (row.words[0].ends_with("list") || row.words[0] == "expressions");
  });
  if (!names_one) category.lost = "no list of it can be read";
  if (!category.lost.empty()) out_.worsen(report, Outcome::lost, category.lost);
  categories_[head.words[1]] = std::move(category);
  out_.lists.push_back(std::move(list));
}

// A file without a line is left out, as no filter can be built of it.
void Reader::add_list(const Statement& row, DestinationList& list, std::string& lost) {
  const std::string& what = row.words[0];
  const fs::path path = home_ / row.words[1];
  const auto lose = [&lost](const std::string& why) { lost += (lost.empty() ? "" : "; ") + why; };
  const bool domains = what == "domainlist";
  std::error_code error;
  if (domains || what == "urllist") {
    if (!fs::is_regular_file(path, error)) {
      lose(path.string() + ": there is no such file");
    } else if (has_lines(path)) {
      list.files.push_back({path.string(), domains ? "squidguard-domains" : "squidguard-urls"});
    }
  } else if (what == "expressionlist" || what == "expressions") {
    if (!fs::is_regular_file(path, error) || has_lines(path)) lose("expressionlist: regular expressions are not asked");
  } else {
    lose(what + ": there is no counterpart");
  }
}

void Reader::add_rules(const Statement& row, Section& section) {
  const std::size_t report = say(row, Outcome::taken, "groups[].filters");
  for (std::size_t i = 1; i < row.words.size(); ++i) {
    const bool refused = row.words[i].starts_with('!');
    const std::string name = row.words[i].substr(refused ? 1 : 0);
    if (name == "any" || name == "all" || name == "none") {
      section.rules.push_back({report, name != "none", {}});  // whatever stands before it
      return;                                                 // what follows is never asked
    }
    const auto category = categories_.find(name);
    if (category != categories_.end()) {
      if (refused && !category->second.lost.empty()) {
        out_.worsen(category->second.report, Outcome::lost_deny, category->second.lost);
        if (out_.lists[category->second.list].is_empty())
          out_.worsen(report, Outcome::lost_deny, name + ": no list of it was taken");
      }
      Rule& rule = section.rules.emplace_back(Rule{report, !refused, {{ConditionKind::list, category->second.list}}});
      if (category->second.when) rule.conditions.push_back(*category->second.when);
    } else if (name == "in-addr") {
      out_.worsen(report, refused ? Outcome::lost_deny : Outcome::lost,
                  "in-addr: no list holds all hosts that are addresses");
    } else {
      out_.worsen(report, refused ? Outcome::lost_deny : Outcome::lost, name + ": no list of it was taken");
    }
  }
}

void Reader::read_pass(const std::string& source, const std::vector<Statement>& rows, std::optional<Condition> when) {
  Section section{.people = {}, .when = when, .rules = {}, .otherwise = true};
  for (const Statement& row : rows) {
    if (row.words.empty()) continue;
    if (row.words[0] == "pass") {
      add_rules(row, section);  // several are one
    } else if (row.words[0] == "redirect") {
      say(row, Outcome::nearly, "a blocked request gets a page (block_page), no redirect");
    } else if (row.words[0] != "log" && row.words[0] != "logfile") {
      say(row, Outcome::lost, "there is no counterpart");
    }
  }
  if (source == "default") return default_.push_back(std::move(section));
  const auto found = sources_.find(source);
  if (found == sources_.end())
    return void(say({rows.empty() ? 0 : rows.front().line, {source}}, Outcome::lost_deny, "there is no such source"));
  section.people = {{ConditionKind::people, found->second.people}};
  if (found->second.when && section.when && *found->second.when != *section.when) {
    say({rows.empty() ? 0 : rows.front().line, {source}}, Outcome::lost_deny, "two times for one source");
  }
  if (found->second.when) section.when = found->second.when;
  sections_.push_back(std::move(section));
}

void Reader::read_acl(const Statement&) {
  std::vector<Statement> rows = block();
  std::size_t at = 0;
  std::string last_source;
  while (at < rows.size()) {
    const Statement& head = rows[at++];
    if (!head.opens) continue;
    std::vector<Statement> inside;
    while (at < rows.size() && !rows[at].closes) inside.push_back(rows[at++]);
    ++at;
    const bool is_else = !head.words.empty() && head.words[0] == "else";
    if (head.words.empty()) continue;
    std::optional<Condition> when;
    if (head.words.size() > 2) {
      when = time_of(head, head.words[1], head.words[2]);
      if (!when) continue;
    }
    if (!is_else) last_source = head.words[0];
    read_pass(last_source, inside, when);
  }
}

void Reader::read_option(const Statement& statement) {
  const std::string& name = statement.words.front();
  if (name == "dbhome" && statement.words.size() > 1) {
    home_ = statement.words[1];
    return void(say(statement, Outcome::taken, "paths of filters[].sources"));
  }
  if (name.find("safe-search") != std::string::npos || name == "safesearch") {
    if (statement.words.back() == "on") out_.items["safe_search"] = {"on"};
    return void(say(statement, Outcome::taken, "groups[].safe_search"));
  }
  if (name == "include") return void(say(statement, Outcome::lost_deny, "what it says is unknown"));
  if (name.starts_with("enforce-https") || name.starts_with("https-prohibit") ||
      name == "allow-unknown-protocol-over-https") {
    return void(say(statement, Outcome::nearly,
                    "access.no_sni, access.opaque_tunnels and tls_inspection say what may pass through a tunnel"));
  }
  say(statement,
      name == "redirect" || name.starts_with("redirect-") || name.starts_with("url-lookup") ? Outcome::nearly
                                                                                            : Outcome::needless,
      "this is about the redirector itself");
}

void Reader::read_statement() {
  const Statement statement = statements_[at_++];
  if (statement.words.empty()) {
    if (statement.opens) block();
    return;
  }
  const std::string& name = statement.words.front();
  if (!statement.opens) return read_option(statement);
  if (name == "time" || name == "time-definition") return read_time(statement);
  if (name == "src" || name == "source") return read_source(statement);
  if (name == "dest" || name == "destination" || name == "category") return read_category(statement);
  if (name == "acl") return read_acl(statement);
  block();
  say(statement, Outcome::lost,
      name == "rew" || name == "rewrite" ? "URLs are not rewritten" : "there is no counterpart");
}

// The first source that a client is in is its source: where nothing of the acl holds for that, `default` does, and no
// other source.
void Reader::fall_to_default(std::size_t report, const Source& source, std::vector<Section>& out) {
  const auto add = [&](Section section) {
    section.people = {{ConditionKind::people, source.people}};
    if (source.when && section.when) {
      out_.worsen(report, Outcome::lost_deny, "a time of the source, and one of default");
    }
    if (source.when) section.when = source.when;
    out.push_back(std::move(section));
  };
  for (const Section& section : default_) add(section);
  if (default_.empty() || default_.back().when) add(Section{.people = {}, .when = {}, .rules = {}, .otherwise = true});
}

void Reader::order_sections() {
  std::vector<Section> ordered;
  std::map<std::size_t, Source> sources;  // in their order, which decides
  for (const auto& [name, source] : sources_) sources[source.people] = source;
  std::size_t left = sections_.size();
  for (const auto& [people, source] : sources) {
    std::optional<Condition> last;
    bool is_there = false;
    for (const Section& section : sections_) {
      if (section.people.front().index != people) continue;
      ordered.push_back(section);
      is_there = true;
      last = section.when;
      --left;
    }
    const bool may_fall = is_there ? last && !source.when : left > 0;
    if (may_fall) fall_to_default(source.report, source, ordered);
  }
  sections_ = std::move(ordered);
}

void Reader::read() {
  while (!at_end()) read_statement();
  order_sections();
  std::move(default_.begin(), default_.end(), std::back_inserter(sections_));
  out_.stages.push_back(std::move(sections_));
}

}  // namespace

bool looks_like_squidguard(const std::string& text) {
  for (const Statement& statement : statements_of(text)) {
    if (statement.words.empty()) continue;
    const std::string& name = statement.words.front();
    if (name == "dbhome" || (statement.opens && (name == "acl" || name == "src" || name == "source" || name == "dest" ||
                                                 name == "destination" || name == "category")))
      return true;
  }
  return false;
}

void import_squidguard(const std::string& text, const fs::path& file, Imported& out) {
  Reader(statements_of(text), file, out).read();
}

}  // namespace bloomwall::proxy::foreign
