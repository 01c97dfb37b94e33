// SPDX-License-Identifier: Apache-2.0
#include "proxy/dns/resolver.h"

#include <algorithm>

#include "base/names.h"
#include "base/text.h"

namespace bloomwall::proxy {

const char* to_string(ResolveError error) {
  static constexpr auto kWords = name_table<ResolveError>({{ResolveError::none, "none"},
                                                           {ResolveError::no_such_name, "no_such_name"},
                                                           {ResolveError::no_address, "no_address"},
                                                           {ResolveError::bad_name, "bad_name"},
                                                           {ResolveError::timed_out, "timed_out"},
                                                           {ResolveError::failed, "failed"},
                                                           {ResolveError::overloaded, "overloaded"}});
  return kWords.text(error);
}

void Query::cancel() {
  for (Waiting& link : waiting_) link.leave();
  states_ = {};
  for (FamilyAnswer& answer : answers_) answer = {};
}

Query::Waiting& Query::waiting(Family family) {
  states_[index(family)] = State::pending;
  waiting_[index(family)].query = this;
  waiting_[index(family)].family = family;
  return waiting_[index(family)];
}

void Query::complete(Family family, const FamilyAnswer& answer) {
  waiting_[index(family)].leave();
  states_[index(family)] = State::done;
  answers_[index(family)] = answer;
}

bool is_resolvable_name(std::string_view host) {
  if (host.empty() || host.size() > 253) return false;
  std::string_view label;
  for (std::string_view rest = host;;) {
    const std::size_t dot = rest.find('.');
    label = rest.substr(0, dot);
    if (label.empty() || label.size() > 63) return false;
    if (dot == std::string_view::npos) break;
    rest.remove_prefix(dot + 1);
  }
  const bool hexadecimal = label.size() > 1 && label[0] == '0' && (label[1] == 'x' || label[1] == 'X');
  return hexadecimal ? !std::ranges::all_of(label.substr(2), is_hex) : !std::ranges::all_of(label, is_digit);
}

}  // namespace bloomwall::proxy
