// Random URLs, filters and allow lists, and a naive exact model of the rules for verdicts: sets of expression texts.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/filter/policy/policy_maker.h"

namespace bloomwall::filter {

// A URL over a small alphabet, so that entries and requests meet often.
struct RandomUrl {
  std::vector<std::string> labels, segments;
  std::string query;
  bool has_last_slash = false;
  bool is_address = false;

  std::string host(std::size_t from = 0) const {
    std::string out;
    for (std::size_t i = from; i < labels.size(); ++i) out += (i == from ? "" : ".") + labels[i];
    return out;
  }
  std::string path(std::size_t depth) const {  // without a slash at its end
    std::string out;
    for (std::size_t i = 0; i < depth; ++i) out += "/" + segments[i];
    return out;
  }
  std::string text() const {
    std::string out = "http://" + host() + path(segments.size());
    if (segments.empty() || has_last_slash) out += '/';
    return query.empty() ? out : out + "?" + query;
  }
  // As servers read it that take parameters of segments away.
  RandomUrl bare() const {
    RandomUrl out = *this;
    for (std::string& segment : out.segments) segment = segment.substr(0, segment.find(';'));
    return out;
  }
};

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  std::size_t below(std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(engine_); }
  bool one_in(std::size_t n) { return below(n) == 0; }

  RandomUrl url() {
    static const std::vector<std::string> kLabels{"a", "b", "www", "cdn", "x-1", "_t"};
    static const std::vector<std::string> kTops{"test", "example", "zip"};
    static const std::vector<std::string> kSegments{"a", "b", "index.html", "c;d", "%C3%A9", "e+f"};
    RandomUrl out;
    out.is_address = one_in(10);
    if (out.is_address) {
      out.labels = {"192", "0", "2", std::to_string(below(5))};
    } else {
      for (std::size_t n = below(5); n > 0; --n) out.labels.push_back(kLabels[below(kLabels.size())]);
      out.labels.push_back(kTops[below(kTops.size())]);
    }
    const std::size_t depth = one_in(8) ? below(24) : below(4);
    for (std::size_t i = 0; i < depth; ++i) out.segments.push_back(kSegments[below(depth > 4 ? 1 : kSegments.size())]);
    if (one_in(3)) out.query = one_in(2) ? "q" : "r=1&s";
    out.has_last_slash = one_in(2);
    return out;
  }

  // "K host/path?query" of an expression of a random URL.
  std::string entry() {
    const RandomUrl at = url();
    const std::size_t depth = at.segments.size();
    const std::size_t kind = below(6);
    std::size_t suffix = at.is_address ? 0 : below(at.labels.size());
    // A listed top-level domain hides all else; now and then is enough.
    if (kind < 3 && suffix + 1 == at.labels.size() && !one_in(40)) suffix = 0;
    const std::string host = at.host(suffix);
    if (kind < 3 || depth == 0) return (at.is_address ? "X " : kind == 0 ? "S " : kind == 1 ? "X " : "W ") + host;
    if (kind == 3) return "U " + host + at.path(depth);
    if (kind == 4 && !at.query.empty()) return "Q " + host + at.path(depth) + "?" + at.query;
    return "D " + host + at.path(1 + below(depth)) + "/";
  }

 private:
  std::mt19937_64 engine_;
};

// Every question a URL stands for, as the rules name them.
inline std::vector<std::string> questions_of(const RandomUrl& url) {
  std::vector<std::string> out;
  const std::size_t suffixes = url.is_address ? 1 : url.labels.size();
  for (std::size_t i = 0; i < suffixes; ++i) {
    const std::string host = url.host(i);
    out.push_back("S " + host);
    out.push_back((i == 0 ? "X " : "W ") + host);
    out.push_back("U " + host + url.path(url.segments.size()));
    if (!url.query.empty()) out.push_back("Q " + host + url.path(url.segments.size()) + "?" + url.query);
    for (std::size_t d = 1; d <= url.segments.size(); ++d) out.push_back("D " + host + url.path(d) + "/");
  }
  return out;
}

using Entries = std::set<std::string>;

inline bool frees_bare_reading(const std::string& question) {
  return question.front() == 'U' || question.front() == 'Q';
}

struct ModelFilter {
  Entries bits, added, removed;
  FilterAction action = FilterAction::block;

  bool holds(const RandomUrl& url) const { return !match(url).empty(); }
  // The question that the filter says yes to first: the delta's word comes first, then hosts, then paths; "" for none.
  std::string match(const RandomUrl& url) const {
    const auto questions = questions_of(url);
    for (const std::string& question : questions) {
      if (added.contains(question)) return question;
    }
    for (const bool of_hosts : {true, false}) {
      for (const std::string& question : questions) {
        const bool is_host = std::string_view("SXW").find(question.front()) != std::string_view::npos;
        if (is_host == of_hosts && bits.contains(question) && !removed.contains(question)) return question;
      }
    }
    return "";
  }
};

struct Model {
  std::vector<ModelFilter> filters;
  std::map<std::string, std::set<std::size_t>> allow;  // empty set: all
  Otherwise otherwise = Otherwise::allow;

  // Both readings are asked; the worse counts, and of equal ones the first is told.
  std::string say(const RandomUrl& url) const {
    std::optional<std::size_t> admitted_by;
    const std::string as_spelt = say_of(url, nullptr, admitted_by);
    if (as_spelt.starts_with("blocked") || url.text().find(';') == std::string::npos) return as_spelt;
    const std::string without_parameters = say_of(url.bare(), &url, admitted_by);
    return rank(without_parameters) > rank(as_spelt) ? without_parameters : as_spelt;
  }

 private:
  static int rank(const std::string& says) { return says.starts_with("blocked") ? 2 : says.starts_with("monitored"); }

  // `spelt`: an allow entry for the URL as it is spelt frees its other reading, one for a directory does not. Likewise
  // of a white list, `admitted_by`.
  std::string say_of(const RandomUrl& url, const RandomUrl* spelt, std::optional<std::size_t>& admitted_by) const {
    std::vector<std::string> allowing = questions_of(url);
    for (const std::string& question : spelt != nullptr ? questions_of(*spelt) : std::vector<std::string>{}) {
      if (frees_bare_reading(question)) allowing.push_back(question);
    }
    std::set<std::size_t> overruled;
    for (const std::string& question : allowing) {
      const auto found = allow.find(question);
      if (found == allow.end()) continue;
      if (found->second.empty()) return "allowed allow_list";
      overruled.insert(found->second.begin(), found->second.end());
    }
    std::string monitored;
    bool frees = false;
    for (std::size_t i = 0; i < filters.size(); ++i) {
      const std::string name = "f" + std::to_string(i), match = filters[i].match(url);
      if (filters[i].action == FilterAction::allow) {
        if (match.empty() && !(spelt != nullptr && admitted_by == i)) continue;
        if (spelt == nullptr && !match.empty() && frees_bare_reading(match)) admitted_by = i;
        return monitored.empty() ? "allowed " + name : monitored;
      }
      frees |= overruled.contains(i);
      if (overruled.contains(i) || match.empty()) continue;
      if (filters[i].action == FilterAction::block) return "blocked " + name;
      if (monitored.empty()) monitored = "monitored " + name;
    }
    if (otherwise == Otherwise::deny) return "blocked otherwise";
    if (!monitored.empty()) return monitored;
    return frees ? "allowed allow_list" : "allowed unlisted";
  }
};

inline std::string entry_line(const std::string& entry) { return entry.substr(0, 2) + "http://" + entry.substr(2); }

inline TestFilter random_filter(Random& random, const std::string& name, ModelFilter& model) {
  TestFilter filter{.name = name, .entries = {}};
  for (int i = 0; i < 60; ++i) {
    filter.entries.push_back(random.entry());
    model.bits.insert(filter.entries.back());
  }
  for (int i = 0; i < 40; ++i) {
    const std::string entry = random.one_in(2) ? random.entry() : filter.entries[random.below(filter.entries.size())];
    const bool adds = random.one_in(2);
    if (entry.starts_with("W ") || entry.starts_with("S ") || entry.starts_with("X ")) {
      filter.changes += (adds ? "+" : "-") + entry + "\n";
    } else {
      filter.changes += (adds ? "+" : "-") + entry_line(entry) + "\n";
    }
    (adds ? model.removed : model.added).erase(entry);
    (adds ? model.added : model.removed).insert(entry);
  }
  return filter;
}

inline std::string random_allow_list(Random& random, std::size_t filters, Model& model) {
  std::string text;
  for (int i = 0; i < 12; ++i) {
    std::string entry = random.entry();
    if (entry.starts_with("W ")) continue;  // allow lists have no kinds: S, U, Q and D by shape
    if (entry.starts_with("X ") && !std::isdigit(static_cast<unsigned char>(entry[2]))) entry[0] = 'S';
    const bool is_top_level = entry[0] == 'S' && entry.find('.') == std::string::npos;
    text += (is_top_level ? "*." : "") + entry.substr(2);
    const bool is_known = model.allow.contains(entry);
    auto& scope = model.allow[entry];
    if (random.one_in(3)) {
      scope.clear();
      text += "\n";
      continue;
    }
    const std::size_t filter = random.below(filters);
    text += " @f" + std::to_string(filter) + "\n";
    if (!is_known || !scope.empty()) scope.insert(filter);
  }
  return text;
}

}  // namespace bloomwall::filter
