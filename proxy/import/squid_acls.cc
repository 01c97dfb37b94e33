// SPDX-License-Identifier: Apache-2.0
#include "proxy/import/squid_acls.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "filter/url/canonical_url.h"
#include "proxy/import/client_ranges.h"
#include "proxy/import/squid_times.h"

namespace bloomwall::proxy::foreign {

struct SquidAcls::Definition {
  const ConfigLine& line;
  std::string name, type;
  std::vector<Word> values;
  std::size_t report = 0;
  bool is_only(std::string_view value) const { return values.size() == 1 && values.front().text == value; }
  bool has_only(std::span<const std::string_view> names) const {
    return !values.empty() && std::ranges::all_of(values, [names](const Word& value) {
      return std::ranges::any_of(names, [&](auto each) { return equals_ignoring_case(value.text, each); });
    });
  }
};

namespace {

// Schemes that Squid proxies, and bloomwall does not.
constexpr std::array<std::string_view, 6> kOtherProtocols{"ftp", "gopher", "wais", "whois", "urn", "coap"};

std::string lower(std::string_view text) {
  std::string out(text);
  make_lower(out);
  return out;
}

// Types that have no counterpart, and what a reader would look for instead.
constexpr std::array<std::pair<std::string_view, const char*>, 22> kForeign{{
    {"url_regex", "regular expressions are not asked; list hosts, URLs or directories"},
    {"urlpath_regex", "regular expressions and file types are not asked; list hosts, URLs or directories"},
    {"dstdom_regex", "regular expressions are not asked; list domains"},
    {"srcdomain", "names of clients are not looked up; name their networks"},
    {"srcdom_regex", "names of clients are not looked up; name their networks"},
    {"browser", "programs are not told apart by User-Agent, which anybody may write"},
    {"referer_regex", "Referer is not asked"},
    {"arp", "clients are told apart by address, login or certificate, not by MAC address"},
    {"eui64", "clients are told apart by address, login or certificate, not by MAC address"},
    {"maxconn", "limits.connections_per_client holds for all clients alike"},
    {"max_user_ip", "users are not bound to addresses"},
    {"rep_mime_type", "answers are not filtered by type"},
    {"req_mime_type", "requests are not filtered by type"},
    {"rep_header", "answers are not filtered by their fields"},
    {"req_header", "requests are not filtered by their fields"},
    {"http_status", "answers are not filtered by status"},
    {"url_login", "user names in URLs are not asked"},
    {"ident", "ident is not asked; use authentication"},
    {"localip", "groups[].listeners tells listeners apart by address"},
    {"localport", "groups[].listeners tells listeners apart by address"},
    {"myportname", "groups[].listeners tells listeners apart by address"},
    {"peername", "there is one parent proxy"},
}};

const char* why_foreign(const std::string& type) {
  for (const auto& [name, why] : kForeign) {
    if (type == name) return why;
  }
  return "there is no counterpart of this type";
}

// Whether it can be a name in dstdomain, where Squid knows no wildcards.
bool is_domain(std::string_view value) {
  if (value.starts_with('.')) value.remove_prefix(1);
  if (value.find_first_of("*/:?#@[]() \t") != std::string_view::npos) return false;
  filter::Canonicaliser canonicaliser;
  return canonicaliser.host(value).has_canonical;
}

filter::RangeSet with(const std::optional<filter::RangeSet>& set, const std::vector<filter::AddressRange>& more) {
  const filter::RangeSet added{std::span(more)};
  return set ? united(*set, added) : added;
}

}  // namespace

SquidAcls::SquidAcls(Imported& out) : out_(out) {
  acls_["all"].kind = AclKind::everybody;
  acls_["manager"].kind = AclKind::manager;
  acls_["to_localhost"].kind = acls_["to_linklocal"].kind = AclKind::own_networks;
  acls_["connect"].kind = AclKind::connect;
  for (const char* step : {"step1", "step2", "step3"}) acls_[step].kind = AclKind::step;
  add_networks("localhost", {"127.0.0.0/8", "::1"});
}

void SquidAcls::add_networks(std::string name, std::initializer_list<const char*> ranges) {
  std::vector<filter::AddressRange> clients;
  for (const char* const range : ranges) {
    const auto read = client_ranges(range);
    clients.insert(clients.end(), read->begin(), read->end());
  }
  acls_[name] = {.kind = AclKind::people, .index = out_.people.size()};
  out_.people.push_back({.name = std::move(name), .clients = filter::RangeSet{std::span(clients)}});
}

const SquidAcl* SquidAcls::find(std::string_view name) const {
  const auto found = acls_.find(lower(name));
  return found == acls_.end() ? nullptr : &found->second;
}

void SquidAcls::define(const ConfigLine& line) {
  std::vector<Word> words = marked_words_of(line.text);
  const std::size_t report = out_.say(line.file, line.number, line.text, Outcome::taken, {});
  if (words.size() < 3) return out_.worsen(report, Outcome::lost, "is not complete: acl NAME TYPE VALUE...");
  if (equals_ignoring_case(words[1].text, "all")) {
    return out_.worsen(report, Outcome::needless, "all is everybody");
  }
  Definition definition{line, lower(words[1].text), lower(words[2].text), {words.begin() + 3, words.end()}, report};
  std::erase_if(definition.values, [](const Word& value) {
    return !value.is_quoted && value.text.size() > 1 && value.text.front() == '-' && value.text != "--";
  });
  SquidAcl& acl = acls_[definition.name];
  fill(definition, acl);
  acl.incomplete = acl.incomplete || out_.report[report].outcome >= Outcome::lost;
}

// The pages of the cache manager, as Squid itself and its older configurations describe them.
bool SquidAcls::is_of_manager(const Definition& definition) {
  if (definition.type == "proto") return definition.is_only("cache_object");
  return definition.type == "url_regex" && !definition.values.empty() &&
         std::ranges::all_of(definition.values, [](const Word& value) {
           return value.text == "+i" || value.text.find("cache_object:") != std::string::npos ||
                  value.text.find("squid-internal-mgr") != std::string::npos;
         });
}

void SquidAcls::fill(const Definition& definition, SquidAcl& acl) {
  const std::string& type = definition.type;
  if (type == "src") return add_clients(definition, acl);
  if (type == "proxy_auth") return add_users(definition, acl);
  if (type == "external") return add_external(definition, acl);
  if (type == "dstdomain" || type == "ssl::server_name" || type == "dst") return add_destinations(definition, acl);
  if (type == "time") return add_times(definition, acl);
  if (type == "at_step") {
    acl.kind = AclKind::step;
    return;
  }
  if (type == "port") {
    acl.kind = AclKind::ports;
    const std::vector<std::string> ports = values_of(definition);
    acl.ports.insert(acl.ports.end(), ports.begin(), ports.end());
    return;
  }
  if (type == "method" && definition.is_only("CONNECT")) {
    acl.kind = AclKind::connect;
    return;
  }
  if ((type == "method" && definition.is_only("PURGE")) || is_of_manager(definition)) {
    acl.kind = AclKind::manager;
    return;
  }
  if (type == "proto" && definition.has_only(kOtherProtocols)) {
    acl.kind = AclKind::never;
    return out_.worsen(definition.report, Outcome::needless, "only http and https are proxied");
  }
  acl.kind = AclKind::other;
  acl.reason = type == "method" ? "methods are not told apart" : why_foreign(type);
  out_.worsen(definition.report, Outcome::lost, acl.reason);
}

std::optional<std::filesystem::path> SquidAcls::file_of(const Word& word, const ConfigLine& line) const {
  constexpr std::string_view kFunction = "parameters(";
  const std::filesystem::path folder = std::filesystem::path(line.file).parent_path();
  if (has_quoted_values_) {
    if (!word.text.starts_with(kFunction) || !word.text.ends_with(')')) return std::nullopt;
    return folder / word.text.substr(kFunction.size(), word.text.size() - kFunction.size() - 1);
  }
  if (!word.is_quoted && !word.text.starts_with('/')) return std::nullopt;
  return folder / word.text;
}

std::vector<std::string> SquidAcls::values_of(const Definition& definition) {
  std::vector<std::string> values;
  for (const Word& value : definition.values) {
    const auto file = file_of(value, definition.line);
    if (!file) {
      values.push_back(value.text);
      continue;
    }
    const auto text = read_text(*file, kMostListBytes);
    if (!text) {
      out_.worsen(definition.report, Outcome::lost, file->string() + ": " + text.error());
      continue;
    }
    LineWalk walk(*text);
    while (walk.next()) {
      const std::string_view line = without_comment(walk.line());
      if (!line.empty()) values.emplace_back(line);
    }
  }
  return values;
}

void SquidAcls::add_clients(const Definition& definition, SquidAcl& acl) {
  if (acl.kind != AclKind::people) {
    acl.index = out_.people.size();
    acl.kind = AclKind::people;
    out_.people.push_back({.name = definition.name});
  }
  std::vector<filter::AddressRange> clients;
  for (const std::string& value : values_of(definition)) {
    if (const auto ranges = client_ranges(value)) {
      clients.insert(clients.end(), ranges->begin(), ranges->end());
    } else {
      out_.worsen(definition.report, Outcome::lost, value + ": write it as an address, a network or a range");
    }
  }
  auto& people = out_.people[acl.index];
  people.clients = with(people.clients, clients);
}

void SquidAcls::add_users(const Definition& definition, SquidAcl& acl) {
  if (acl.kind != AclKind::people) {
    acl.index = out_.people.size();
    acl.kind = AclKind::people;
    out_.people.push_back({.name = definition.name});
  }
  People& people = out_.people[acl.index];
  for (std::string& value : values_of(definition)) {
    if (value == "REQUIRED") {
      people.any_user = true;
    } else {
      people.users.push_back(std::move(value));
    }
  }
  if (people.any_user) people.users.clear();
}

void SquidAcls::add_external(const Definition& definition, SquidAcl& acl) {
  const bool is_group = !definition.values.empty() && std::find(group_helpers_.begin(), group_helpers_.end(),
                                                                definition.values.front().text) != group_helpers_.end();
  if (!is_group) {
    acl.reason = "its program is not one that knows groups of users";
    return out_.worsen(definition.report, Outcome::lost, acl.reason);
  }
  if (acl.kind != AclKind::people) {
    acl.index = out_.people.size();
    acl.kind = AclKind::people;
    out_.people.push_back({.name = definition.name});
  }
  auto& groups = out_.people[acl.index].user_groups;
  const std::vector<std::string> names = values_of(definition);  // behind that of the helper
  if (!names.empty()) groups.insert(groups.end(), names.begin() + 1, names.end());
  out_.worsen(definition.report, Outcome::nearly,
              "answers of groups_helper are remembered as long as a login (authentication.cache)");
}

void SquidAcls::add_destinations(const Definition& definition, SquidAcl& acl) {
  if (acl.kind != AclKind::list) {
    acl.index = out_.lists.size();
    acl.kind = AclKind::list;
    out_.lists.push_back({.name = definition.name, .entries = {}, .files = {}});
  }
  DestinationList& list = out_.lists[acl.index];
  for (const std::string& value : values_of(definition)) {
    const auto ranges = client_ranges(value);
    if (ranges && definition.type == "dst") {
      list.has_networks = true;
      for (const filter::AddressRange& range : *ranges) list.entries.push_back(text_of(range));
    } else if (ranges && filter::read_address(value)) {
      list.entries.push_back(value);
    } else if (definition.type != "dst" && !is_domain(value)) {
      out_.worsen(definition.report, Outcome::nearly, value + ": is no domain, which matches nothing in Squid either");
    } else if (value.starts_with('.')) {
      list.entries.push_back("||" + value.substr(1) + "^");
    } else if (definition.type == "dst") {
      out_.worsen(definition.report, Outcome::lost, value + ": names among addresses are not looked up; use dstdomain");
    } else if (value.find('.') == std::string::npos) {  // which a hosts file has for the machine itself alone
      list.entries.push_back("||" + value + "^");
      out_.worsen(definition.report, Outcome::nearly, value + ": also what is below it");
    } else {
      list.entries.push_back("0.0.0.0 " + value);  // this host alone, as in a hosts file
    }
  }
}

void SquidAcls::add_times(const Definition& definition, SquidAcl& acl) {
  if (acl.kind != AclKind::times) {
    acl.index = out_.times.size();
    acl.kind = AclKind::times;
    out_.times.push_back({.name = definition.name, .spans = {}});
  }
  std::vector<std::string> words;
  for (const Word& word : definition.values) words.push_back(word.text);
  if (const auto spans = squid_times(words)) {
    auto& all = out_.times[acl.index].spans;
    all.insert(all.end(), spans->begin(), spans->end());
    out_.worsen(definition.report, Outcome::taken, "schedules; the last minute counts, as in Squid");
  } else {
    acl.kind = AclKind::other;
    acl.reason = "its days or hours cannot be read";
    out_.worsen(definition.report, Outcome::lost, acl.reason);
  }
}

}  // namespace bloomwall::proxy::foreign
