// A resolver that answers when the test says so.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "proxy/dns/resolver.h"

namespace bloomwall::test {

class FakeResolver final : public proxy::Resolver {
 public:
  // Known before it is asked: resolve() answers at once.
  void know(const std::string& host, proxy::Family family, const std::vector<std::string>& ips) {
    known_[{host, family}] = answer_of(ips);
  }
  void resolve(proxy::Query& query, std::string_view host) override {
    for (const proxy::Family family : {proxy::Family::v6, proxy::Family::v4}) {
      const auto found = known_.find({std::string(host), family});
      if (found != known_.end()) {
        query.complete(family, found->second);
      } else {
        waiting_.push_back(query.waiting(family));
      }
    }
    asked.emplace_back(host);
  }
  // Tells everybody who waits.
  void answer(proxy::Family family, const std::vector<std::string>& ips,
              proxy::ResolveError error = proxy::ResolveError::none) {
    proxy::FamilyAnswer given = answer_of(ips);
    given.error = error;
    std::vector<proxy::Query*> queries;
    for (auto* link = waiting_.empty() ? nullptr : &waiting_.front(); link != nullptr; link = waiting_.after(*link)) {
      if (link->query->state(family) == proxy::Query::State::pending) queries.push_back(link->query);
    }
    for (proxy::Query* query : queries) {
      if (query->state(family) != proxy::Query::State::pending) continue;
      query->complete(family, given);
      query->notify();
    }
  }
  std::vector<std::string> asked;

 private:
  static proxy::FamilyAnswer answer_of(const std::vector<std::string>& ips) {
    proxy::FamilyAnswer answer;
    for (const std::string& ip : ips) answer.addresses.push_back(*proxy::Endpoint::parse_ip(ip));
    if (ips.empty()) answer.error = proxy::ResolveError::no_address;
    return answer;
  }
  std::map<std::pair<std::string, proxy::Family>, proxy::FamilyAnswer> known_;
  proxy::IntrusiveList<proxy::Query::Waiting, proxy::Query::Waiting> waiting_;
};

}  // namespace bloomwall::test
