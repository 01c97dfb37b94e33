// SPDX-License-Identifier: Apache-2.0
#include "proxy/access/safe_search.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <optional>
#include <system_error>
#include <utility>

#include "base/text.h"
#include "filter/url/canonical_url.h"

namespace bloomwall::proxy {
namespace {

constexpr std::size_t kMostName = 64;   // octets of an engine's
constexpr std::size_t kMostHost = 253;  // octets of a word; behind a prefix no host is longer, either
constexpr std::size_t kMostShown = 80;  // of a wrong word

bool is_engine_name(std::string_view word) {
  const auto allowed = [](char c) { return is_alpha(c) || is_digit(c) || c == '_' || c == '-' || c == '.'; };
  return word.size() <= kMostName && std::ranges::all_of(word, allowed);
}

std::string no_host(std::string_view word) {
  return fmt::format("\"{}\" is not a host name", word.substr(0, kMostShown));
}

tl::expected<std::string, std::string> read_map(const std::filesystem::path& file) {
  if (file.empty()) return std::string(built_in_safe_search());
  std::ifstream in(file, std::ios::binary);
  std::string text(SafeSearchMap::kMostBytes + 1, '\0');
  if (in) in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!in && !in.eof()) {
    return tl::unexpected(fmt::format("cannot read {}: {}", file.string(), std::generic_category().message(errno)));
  }
  text.resize(static_cast<std::size_t>(in.gcount()));
  return text;
}

tl::expected<SafeSearchMap, std::string> load_map(const std::filesystem::path& file) {
  const auto text = read_map(file);
  if (!text) return tl::unexpected("safe_search_map: " + text.error());
  auto map = SafeSearchMap::parse(*text);
  if (!map) return tl::unexpected(fmt::format("safe_search_map: {}:{}", file.string(), map.error()));
  return map;
}

}  // namespace

class SafeSearchMap::Reader {
 public:
  explicit Reader(SafeSearchMap& map) : map_(map) {}
  std::string take_line(std::string_view line);  // what is wrong, or empty

 private:
  std::optional<std::string> host_name(std::string_view word);
  std::size_t engine_of(std::string_view name);
  std::string add(const SafeSearchRule& rule, const std::string& host);
  SafeSearchMap& map_;
  filter::Canonicaliser canonicaliser_;
};

std::optional<std::string> SafeSearchMap::Reader::host_name(std::string_view word) {
  const filter::CanonicalUrl& host = canonicaliser_.host(word);
  if (!host.has_canonical || host.host_kind != filter::HostKind::name) return std::nullopt;
  return std::string(host.host);
}

std::size_t SafeSearchMap::Reader::engine_of(std::string_view name) {
  const auto known = std::ranges::find(map_.engines_, name);
  const auto engine = static_cast<std::size_t>(known - map_.engines_.begin());
  if (known == map_.engines_.end()) map_.engines_.emplace_back(name);
  return engine;
}

std::string SafeSearchMap::Reader::add(const SafeSearchRule& rule, const std::string& host) {
  const auto name = host_name(host);
  if (!name) return no_host(host);
  std::vector<SafeSearchRule>& rules = map_.hosts_[*name];
  if (std::ranges::find(rules, rule.engine, &SafeSearchRule::engine) != rules.end()) {
    return fmt::format("{} is given twice for {}", *name, map_.engines_[rule.engine]);
  }
  rules.push_back(rule);
  return map_.hosts_.size() <= kMostHosts ? "" : fmt::format("more than {} hosts", kMostHosts);
}

std::string SafeSearchMap::Reader::take_line(std::string_view line) {
  std::string_view rest = without_comment(line);
  if (rest.empty()) return {};
  const std::string_view name = next_word(rest), dialled = next_word(rest);
  if (!is_engine_name(name)) return fmt::format("\"{}\" is not the name of an engine", name.substr(0, kMostName));
  const auto dialled_name = host_name(dialled);
  if (!dialled_name) return no_host(dialled);
  if (rest.empty()) return "no host is named";
  const SafeSearchRule rule{engine_of(name), *dialled_name};
  if (map_.engines_.size() > kMostEngines) return fmt::format("more than {} engines", kMostEngines);
  for (std::string prefix; !rest.empty();) {
    const std::string_view word = next_word(rest);
    if (word.size() > kMostHost) return no_host(word);
    if (word.ends_with('.')) {
      prefix = word;
      if (rest.empty()) return fmt::format("nothing follows \"{}\"", word.substr(0, kMostShown));
    } else if (std::string wrong = add(rule, prefix + std::string(word)); !wrong.empty()) {
      return wrong;
    }
  }
  return {};
}

tl::expected<SafeSearchMap, std::string> SafeSearchMap::parse(std::string_view text) {
  if (text.size() > kMostBytes) return tl::unexpected(fmt::format("1: larger than {} octets", kMostBytes));
  SafeSearchMap map;
  Reader reader(map);
  LineWalk lines(text);
  while (lines.next()) {
    const std::string wrong = reader.take_line(lines.line());
    if (!wrong.empty()) return tl::unexpected(fmt::format("{}: {}", lines.number(), wrong));
  }
  return map;
}

const std::vector<SafeSearchRule>* SafeSearchMap::find(std::string_view host) const {
  const auto found = hosts_.find(host);
  return found == hosts_.end() ? nullptr : &found->second;
}

std::vector<std::string> SafeSearchMap::hosts() const {
  std::vector<std::string> out;
  for (const auto& [host, rules] : hosts_) out.push_back(host);
  return out;
}

std::string SafeSearch::add_group(const std::vector<std::string>& engines) {
  auto& own = groups_.emplace_back();
  for (const std::string& name : engines) {
    const auto known = std::ranges::find(map_.engines(), name);
    if (known == map_.engines().end()) {
      return fmt::format("there is no engine \"{}\"; there are {}", name, fmt::join(map_.engines(), ", "));
    }
    own.set(static_cast<std::size_t>(known - map_.engines().begin()));
  }
  return {};
}

SafeSearch::Made SafeSearch::compile(const conf::Config& settings) {
  const bool is_asked = std::ranges::any_of(settings.groups, [](const auto& of) { return !of.safe_search.empty(); });
  if (!is_asked && settings.safe_search_map.empty()) return nullptr;
  auto map = load_map(settings.safe_search_map);
  if (!map) return tl::unexpected(std::vector<std::string>{map.error()});
  std::vector<std::string> errors;
  SafeSearch made(*std::move(map));
  for (std::size_t i = 0; i < settings.groups.size(); ++i) {
    const std::string wrong = made.add_group(settings.groups[i].safe_search);
    if (!wrong.empty()) errors.push_back(fmt::format("groups[{}].safe_search: {}", i, wrong));
  }
  if (!errors.empty()) return tl::unexpected(std::move(errors));
  if (!is_asked) return nullptr;
  return std::make_shared<const SafeSearch>(std::move(made));
}

SafeSearch::Found SafeSearch::find(std::size_t group, std::string_view host) const {
  if (group >= groups_.size() || groups_[group].none()) return {};
  const std::vector<SafeSearchRule>* const rules = map_.find(host);
  if (rules == nullptr) return {};
  for (const SafeSearchRule& rule : *rules) {
    if (groups_[group].test(rule.engine)) return {.engine = map_.engines()[rule.engine], .dialled = rule.dialled};
  }
  return {};
}

}  // namespace bloomwall::proxy
