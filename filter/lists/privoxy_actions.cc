// SPDX-License-Identifier: Apache-2.0
#include "filter/lists/privoxy_actions.h"

#include "base/text.h"

namespace bloomwall::filter {
namespace {

// Takes the next action off `rest` and gives its name: "+block" of "+block{some reason}". Braces may be nested.
std::string_view next_action(std::string_view& rest) {
  rest = trim(rest);
  std::size_t name = 0;
  while (name < rest.size() && !is_blank(rest[name]) && rest[name] != '{') ++name;
  std::size_t end = name;
  int depth = 0;
  while (end < rest.size() && (depth > 0 || rest[end] == '{')) {
    if (rest[end] == '{') ++depth;
    if (rest[end] == '}') --depth;
    ++end;
  }
  const std::string_view action = rest.substr(0, name);
  rest.remove_prefix(end > 0 ? end : 1);
  return action;
}

}  // namespace

bool PrivoxyActions::define(std::string_view line) {
  const std::size_t equals = line.find('=');
  if (equals == std::string_view::npos) return false;
  const std::string_view name = trim(line.substr(0, equals));
  if (name.empty() || name.size() > kMaxAliasName || aliases_.size() >= kMaxAliases) return false;
  aliases_.insert_or_assign(std::string(name), effect(line.substr(equals + 1)));
  return true;
}

PrivoxyEffect PrivoxyActions::effect(std::string_view actions) const {
  PrivoxyEffect result = PrivoxyEffect::none;
  for (actions = trim(actions); !actions.empty(); actions = trim(actions)) {
    const std::string_view action = next_action(actions);
    if (action == "+block") {
      result = PrivoxyEffect::block;
    } else if (action == "-block") {
      result = PrivoxyEffect::unblock;
    } else if (action.size() <= kMaxAliasName) {
      const auto alias = aliases_.find(std::string(action));
      if (alias != aliases_.end() && alias->second != PrivoxyEffect::none) result = alias->second;
    }
  }
  return result;
}

}  // namespace bloomwall::filter
