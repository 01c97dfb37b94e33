// SPDX-License-Identifier: Apache-2.0
#include "proxy/explain/why.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/terminal.h"
#include "filter/policy/overrides.h"
#include "proxy/explain/under_name.h"
#include "proxy/update/lists_state.h"
#include "proxy/update/source_reading.h"

namespace bloomwall::proxy {
namespace {

using nlohmann::ordered_json;
using Answer = filter::AskedQuestion::Answer;
using FilterState = filter::Policy::FilterState;

// What the filter alone says of the URL, without exceptions and whatever the allow lists say.
void ask_filter(const filter::Policy& policy, std::size_t index, const filter::CanonicalUrl& url, WhyFilter& out) {
  filter::PolicyView view;
  for (std::size_t i = 0; i < policy.filters().size(); ++i) {
    view.actions.push_back(i == index ? filter::FilterAction::block : filter::FilterAction::off);
  }
  const filter::Story story = policy.with({})->view(view)->explain(url);
  for (const filter::AskedQuestion& question : story.questions) {
    const bool is_exception = question.filter.empty() && question.expression.ends_with(" @" + out.name);
    if (is_exception) out.freed_by.push_back(question.expression.substr(0, question.expression.find(" @")));
    const bool is_yes = question.answer == Answer::yes || question.answer == Answer::confirmed ||
                        question.answer == Answer::overruled || question.answer == Answer::added_by_delta;
    const bool is_mark = question.expression.starts_with("mark ");
    if (!is_yes || is_mark || question.filter != out.name) continue;
    if (std::ranges::find(out.expressions, question.expression) == out.expressions.end()) {
      out.expressions.push_back(question.expression);
    }
    if (question.answer == Answer::added_by_delta) out.source = WhyFilter::Source::delta;
  }
}

// A list, and what people know it by: of a copy its URL.
struct Named {
  filter::ListFile file;
  filter::ReadOptions read;
  std::string shown;
  bool is_source = false;
};

void expand(const std::string& list, const std::string& shown, const filter::ReadOptions& read, bool is_source,
            std::vector<Named>& out, std::vector<std::string>& errors) {
  auto expanded = filter::expand_list(list, read.categories);
  if (!expanded) return errors.push_back(expanded.error().text());
  for (filter::ListFile& file : *expanded) {
    const bool is_inside = file.path.starts_with(list);  // of an archive: "ut1.tar.gz:malware/domains"
    std::string name = is_inside ? shown + file.path.substr(list.size()) : file.path;
    out.push_back({std::move(file), read, std::move(name), is_source});
  }
}

void copies_of_sources(const conf::Config& settings, const conf::Filter& spec, std::vector<Named>& out,
                       std::vector<std::string>& errors) {
  const auto state = read_lists_state(settings.update.folder);
  if (!state) return errors.push_back(state.error());
  const ListFilterState* const known = state->find(spec.name);
  if (known == nullptr) return;
  const std::filesystem::path folder = copies_of(settings.update.folder, spec.name);
  for (const SourceState& source : known->sources) {
    const auto at = std::ranges::find(spec.sources, source.url, &conf::Source::url);
    if (source.copy.empty()) continue;
    const auto read = at == spec.sources.end() ? filter::ReadOptions{} : reading_of(*at, spec.action);
    expand((folder / source.copy).string(), source.url, read, true, out, errors);
  }
}

// The files that stand for the lists that are to be read; what is no list is an error.
std::vector<Named> files_of(const conf::Config& settings, const WhyQuestion& question, const std::string& name,
                            std::vector<std::string>& errors) {
  std::vector<std::string> lists = question.lists;
  std::vector<Named> files;
  const auto spec = std::ranges::find(settings.filters, name, &conf::Filter::name);
  if (lists.empty() && spec != settings.filters.end()) {
    if (spec->sources_folder.empty() && !spec->sources.empty()) copies_of_sources(settings, *spec, files, errors);
    if (!spec->sources_folder.empty()) {
      auto found = filter::lists_of_folder(spec->sources_folder);
      if (!found) errors.push_back(found.error().text());
      if (found) lists = *std::move(found);
    }
  }
  for (const std::string& list : lists) expand(list, list, {}, false, files, errors);
  return files;
}

// Whether every list that the filter was built from is among those that were read.
bool has_all_sources(const FilterState& state, const std::set<filter::TextDigest>& read) {
  const auto info = state.file->info();
  if (!info || info->sources.empty()) return false;
  return std::ranges::all_of(info->sources,
                             [&](const filter::SourceInfo& source) { return read.contains(source.sha256); });
}

void search(const FilterState& state, const conf::Config& settings, const WhyQuestion& question, WhyFilter& out,
            std::vector<std::string>& errors, std::vector<WhyAnswer::NotTaken>& not_taken) {
  std::set<std::string, std::less<>> wanted;
  for (const std::string& expression : out.expressions) wanted.insert(expression.substr(2));
  for (const std::string& expression : out.freed_by) wanted.insert(expression.substr(2));
  std::set<filter::TextDigest> read;
  const auto files = files_of(settings, question, out.name, errors);
  for (const Named& named : files) {
    auto searched = filter::search_list(named.file, wanted, question.stop, named.read, state.file->keys().queries());
    if (!searched) {
      errors.push_back(searched.error().text());
      continue;
    }
    ++out.searched;
    read.insert(searched->digest);
    if (!named.is_source && !searched->loss.empty()) not_taken.push_back({out.name, named.shown, searched->loss});
    searched->path = named.shown;
    if (!searched->lines.empty()) out.lists.push_back(*std::move(searched));
  }
  if (!out.lists.empty()) {
    out.source = WhyFilter::Source::list;
  } else if (out.source != WhyFilter::Source::delta && out.searched > 0) {
    out.source = has_all_sources(state, read) ? WhyFilter::Source::own_error : WhyFilter::Source::elsewhere;
  }
}

// As the update found them.
void add_losses_of_sources(const conf::Config& settings, const WhyQuestion& question,
                           std::vector<WhyAnswer::NotTaken>& out) {
  const auto state = read_lists_state(settings.update.folder);
  if (!state || !question.lists.empty()) return;
  for (const conf::Filter& filter : settings.filters) {
    const ListFilterState* const known = state->find(filter.name);
    if (known == nullptr || !(question.filter.empty() || question.filter == filter.name)) continue;
    for (const conf::Source& source : filter.sources) {
      const auto at = std::ranges::find(known->sources, source.url, &SourceState::url);
      if (at != known->sources.end() && !at->loss.empty()) out.push_back({filter.name, source.url, at->loss});
    }
  }
}

const char* sentence_of(WhyFilter::Source source) {
  switch (source) {
    case WhyFilter::Source::list:
      return "";
    case WhyFilter::Source::delta:
      return "  added by its delta\n";
    case WhyFilter::Source::own_error:
      return "  in no source: an error of the filter itself\n";
    case WhyFilter::Source::elsewhere:
      return "  in none of the lists that were read; the filter was built from others, or from other editions of "
             "them\n";
    case WhyFilter::Source::unknown:
      return "  its lists are not kept here: name their folder in filters[].sources_folder, or give them as "
             "arguments\n";
  }
  return "";
}

// Under one name.
WhyAnswer answer_to(const filter::Policy& policy, const conf::Config& settings, const WhyQuestion& question) {
  WhyAnswer answer{.url = question.url, .filters = {}, .errors = {}};
  filter::Canonicaliser canonicaliser;
  const filter::CanonicalUrl& url = canonicaliser.url(question.url);
  answer.is_url = url.action != filter::UrlAction::reject;
  if (!answer.is_url) return answer;
  const std::vector<FilterState> states = policy.filters();
  const auto is_named = [&](const FilterState& state) { return state.spec.name == question.filter; };
  if (!question.filter.empty() && std::ranges::none_of(states, is_named)) {
    answer.errors.push_back(fmt::format("no filter has the name {}", question.filter));
  }
  for (std::size_t i = 0; i < states.size(); ++i) {
    const filter::FilterAction action = states[i].spec.action;
    const bool decides = action != filter::FilterAction::no_decrypt && action != filter::FilterAction::off;
    if (!decides || (!question.filter.empty() && question.filter != states[i].spec.name)) continue;
    WhyFilter found{.name = states[i].spec.name, .action = action, .expressions = {}, .lists = {}};
    ask_filter(policy, i, url, found);
    if (found.expressions.empty()) continue;
    search(states[i], settings, question, found, answer.errors, answer.not_taken);
    answer.filters.push_back(std::move(found));
  }
  add_losses_of_sources(settings, question, answer.not_taken);
  return answer;
}

template <typename T>
bool contains(const std::vector<T>& all, const T& one) {
  return std::ranges::find(all, one) != all.end();
}

}  // namespace

const char* to_string(WhyFilter::Source source) {
  switch (source) {
    case WhyFilter::Source::list:
      return "list";
    case WhyFilter::Source::delta:
      return "delta";
    case WhyFilter::Source::own_error:
      return "own_error";
    case WhyFilter::Source::elsewhere:
      return "elsewhere";
    case WhyFilter::Source::unknown:
      return "unknown";
  }
  return "unknown";
}

WhyAnswer why(const filter::Policy& policy, const conf::Config& settings, const WhyQuestion& question) {
  WhyAnswer answer = answer_to(policy, settings, question);
  for (const std::string& name : question.under) {
    WhyQuestion other = question;
    other.url = url_under(question.url, name);
    WhyAnswer found = answer_to(policy, settings, other);
    std::erase_if(found.errors, [&](const auto& error) { return contains(answer.errors, error); });
    std::erase_if(found.not_taken, [&](const auto& loss) { return contains(answer.not_taken, loss); });
    answer.under.push_back(std::move(found));
  }
  return answer;
}

ordered_json to_json(const WhyAnswer& answer) {
  ordered_json filters = ordered_json::array(), errors = ordered_json::array();
  for (const WhyFilter& found : answer.filters) {
    ordered_json lines = ordered_json::array();
    for (const filter::SearchedList& list : found.lists) {
      for (const filter::FoundLine& line : list.lines) {
        lines.push_back({{"list", printable(list.path)}, {"line", line.line}, {"text", printable(line.text)}});
      }
    }
    filters.push_back({{"filter", found.name},
                       {"action", to_string(found.action)},
                       {"expressions", found.expressions},
                       {"freed_by", found.freed_by},
                       {"source", to_string(found.source)},
                       {"searched", found.searched},
                       {"lines", std::move(lines)}});
  }
  for (const std::string& error : answer.errors) errors.push_back(printable(error));
  ordered_json not_taken = ordered_json::array();
  for (const WhyAnswer::NotTaken& loss : answer.not_taken) {
    not_taken.push_back({{"filter", loss.filter}, {"list", printable(loss.list)}, {"text", printable(loss.text)}});
  }
  ordered_json under = ordered_json::array();
  for (const WhyAnswer& other : answer.under) under.push_back(to_json(other));
  return {{"url", printable(answer.url)},
          {"filters", std::move(filters)},
          {"not_taken", std::move(not_taken)},
          {"errors", std::move(errors)},
          {"under", std::move(under)}};
}

std::string why_text(const WhyAnswer& answer) {
  if (!answer.is_url) return fmt::format("{}: no URL that can be asked for\n", printable(answer.url));
  std::string out;
  if (answer.filters.empty()) out = fmt::format("{}: no filter lists it\n", printable(answer.url));
  for (const WhyFilter& found : answer.filters) {
    out += found.name + (found.action == filter::FilterAction::allow ? " lets it pass:" : ":");
    for (const std::string& expression : found.expressions) out += ' ' + printable(expression);
    out += '\n';
    for (const std::string& expression : found.freed_by) out += "  freed by " + printable(expression) + '\n';
    for (const filter::SearchedList& list : found.lists) {
      for (const filter::FoundLine& line : list.lines) {
        out += fmt::format("  {}:{}: {}\n", printable(list.path), line.line, printable(line.text));
      }
    }
    out += sentence_of(found.source);
  }
  for (const WhyAnswer::NotTaken& loss : answer.not_taken) {
    out += fmt::format("{}, of {}: {}\n", loss.filter, printable(loss.list), printable(loss.text));
  }
  for (const WhyAnswer& other : answer.under) {
    if (other.is_url && !other.filters.empty()) out += fmt::format("under {}:\n", printable(other.url));
    out += why_text(other);
  }
  return out;
}

bool is_explained(const WhyAnswer& answer) {
  const bool has_lines = std::ranges::all_of(answer.filters, [](const WhyFilter& found) {
    return found.source == WhyFilter::Source::list || found.source == WhyFilter::Source::delta;
  });
  return answer.is_url && has_lines && std::ranges::all_of(answer.under, is_explained);
}

bool has_errors(const WhyAnswer& answer) {
  return !answer.errors.empty() || std::ranges::any_of(answer.under, has_errors);
}

}  // namespace bloomwall::proxy
