// A URL under another name of its connection. A connection may have several: what CONNECT named, the server name of its
// TLS, Host, the address that a redirected client went to. Each of them must let the URL pass (proxy/access/name_of.h).
// For `explain`, `why` and the API. Not thread-safe: it asks the view.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "filter/policy/verdict.h"

namespace bloomwall::filter {
class Canonicaliser;
}

namespace bloomwall::proxy {

class ClientView;

struct UnderName {
  std::string url;
  filter::Verdict verdict = {};  // borrows from the view
  std::string text = {};         // for people

  bool is_stopped() const { return verdict.decision >= filter::Decision::blocked; }
};
// "https://a.test/x" under "b.test:8443": "https://b.test:8443/x".
std::string url_under(std::string_view url, std::string_view name);
UnderName judge_under(filter::Canonicaliser& urls, ClientView& view, std::string_view url, std::string_view name);

// What is wrong with the first that is neither a host nor an address: "a b: expected a host or an address".
std::optional<std::string> wrong_name_of(const std::vector<std::string>& names);

}  // namespace bloomwall::proxy
