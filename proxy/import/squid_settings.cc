// SPDX-License-Identifier: Apache-2.0
#include "proxy/import/squid_settings.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "base/encoding.h"
#include "base/text.h"
#include "filter/url/address.h"
#include "proxy/import/squid_directives.h"

namespace bloomwall::proxy::foreign {
namespace {

using Words = std::vector<std::string>;

// "5 minutes", "30 seconds", "64 KB" in our units.
std::optional<std::string> amount(const Words& words, std::span<const std::pair<std::string_view, const char*>> units) {
  if (words.empty() || words.front().empty() || !std::all_of(words.front().begin(), words.front().end(), is_digit))
    return std::nullopt;
  const std::string_view unit = words.size() > 1 ? std::string_view(words[1]) : std::string_view{};
  for (const auto& [name, ours] : units) {
    if (equals_ignoring_case(unit, name) ||
        (unit.size() == name.size() + 1 && starts_ignoring_case(unit, name) && to_lower(unit.back()) == 's')) {
      return words.front() + ours;
    }
  }
  return std::nullopt;
}
constexpr std::array<std::pair<std::string_view, const char*>, 6> kTimeUnits{
    {{"", "s"}, {"second", "s"}, {"minute", "m"}, {"hour", "h"}, {"day", "d"}, {"millisecond", "ms"}}};
constexpr std::array<std::pair<std::string_view, const char*>, 5> kSizeUnits{
    {{"", ""}, {"bytes", ""}, {"KB", "KiB"}, {"MB", "MiB"}, {"GB", "GiB"}}};

struct Amount {
  std::string_view name;
  const char* key;
  bool is_time;
};
constexpr std::array kAmounts{
    Amount{"connect_timeout", "timeouts.connect", true},
    Amount{"request_timeout", "timeouts.request_header", true},
    Amount{"request_start_timeout", "timeouts.request_header", true},
    Amount{"read_timeout", "timeouts.body", true},
    Amount{"client_idle_pconn_timeout", "timeouts.idle", true},
    Amount{"pconn_timeout", "timeouts.idle", true},
    Amount{"shutdown_lifetime", "timeouts.drain", true},
    Amount{"request_header_max_size", "limits.request_header", false},
    Amount{"reply_header_max_size", "limits.response_header", false},
    Amount{"request_body_max_size", "limits.request_body", false},
};

struct Line {
  const ConfigLine& line;
  const SquidAcls& acls;
  Imported& out;
  std::string name;
  Words words;  // behind the name

  std::size_t say(Outcome outcome, std::string reason) const {
    return out.say(line.file, line.number, line.text, outcome, std::move(reason));
  }
  void set(const std::string& key, std::string value, Outcome outcome = Outcome::taken,
           const std::string& why = {}) const {
    const bool again = out.settings.contains(key) && out.settings[key] != value;
    out.said[key] = say(again ? Outcome::nearly : outcome,
                        key + (why.empty() ? "" : "; " + why) + (again ? "; this replaces an earlier line" : ""));
    out.settings[key] = std::move(value);
  }
};

std::optional<std::string> option_of(const Words& words, std::string_view name) {
  for (const std::string& word : words) {
    if (word.starts_with(name)) return word.substr(name.size());
  }
  return std::nullopt;
}
bool has_word(const Words& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

void take_port(const Line& line) {
  if (line.words.empty()) return void(line.say(Outcome::lost, "names no port"));
  const Words& words = line.words;
  std::string address = words.front();
  if (address.find(':') == std::string::npos) address = ":" + address;
  const std::string_view host = std::string_view(address).substr(0, address.rfind(':'));
  if (!host.empty() && !filter::read_address(host)) {
    return void(line.say(Outcome::lost, "names are not looked up: write its address to listeners[].address"));
  }
  std::string item = "address: " + yaml_text(address);
  Outcome outcome = Outcome::taken;
  std::string why;
  const bool redirected = has_word(words, "intercept") || has_word(words, "transparent") || has_word(words, "tproxy");
  if (has_word(words, "accel") || has_word(words, "vhost"))
    return void(line.say(Outcome::lost, "this is no reverse proxy"));
  if (redirected) item += ", mode: transparent";
  if (has_word(words, "tproxy")) {
    outcome = Outcome::nearly;
    why = "the firewall must redirect instead of TPROXY";
  }
  const bool bumps = has_word(words, "ssl-bump");
  const auto certificate = option_of(words, "cert=") ? option_of(words, "cert=") : option_of(words, "tls-cert=");
  if (bumps && certificate) {
    const auto key = option_of(words, "key=") ? option_of(words, "key=") : option_of(words, "tls-key=");
    line.out.settings["tls_inspection.ca.certificate"] = yaml_text(*certificate);
    line.out.settings["tls_inspection.ca.key"] = yaml_text(key.value_or(*certificate));
    why = "the authority is tls_inspection.ca: one file each for certificate and key";
    outcome = Outcome::nearly;
  } else if (!bumps && !redirected && line.name == "https_port" && certificate) {
    const auto key = option_of(words, "key=") ? option_of(words, "key=") : option_of(words, "tls-key=");
    item += ", tls: {certificate: " + yaml_text(*certificate) + ", key: " + yaml_text(key.value_or(*certificate)) + "}";
  }
  if (has_word(words, "require-proxy-header")) {
    outcome = Outcome::nearly;
    why = "name the load balancers in listeners[].proxy_protocol";
  }
  line.out.items["listeners"].push_back("{" + item + "}");
  line.say(outcome, "listeners[].address" + (why.empty() ? "" : "; " + why));
}

void take_peer(const Line& line) {
  const Words& words = line.words;
  if (words.size() < 3 || words[1] != "parent") return void(line.say(Outcome::lost, "there are no sibling caches"));
  if (has_word(words, "originserver")) return void(line.say(Outcome::lost, "this is no reverse proxy"));
  if (line.out.settings.contains("upstream.parent"))
    return void(line.say(Outcome::lost, "there is one parent proxy, without another to fail over to"));
  std::string why = "it is asked for everything but upstream.bypass";
  if (option_of(words, "login=")) why += "; put its credentials into upstream.credentials_file";
  if (has_word(words, "ssl") || has_word(words, "tls")) line.out.settings["upstream.tls"] = "true";
  line.set("upstream.parent", yaml_text(words[0] + ":" + words[2]), Outcome::nearly, why);
}

// auth_param SCHEME program COMMAND..., and the like.
void take_login(const Line& line) {
  const Words& words = line.words;
  if (words.size() < 3) return void(line.say(Outcome::lost, "is not complete"));
  const std::string& scheme = words[0];
  const std::string& what = words[1];
  if (scheme != "basic" && scheme != "negotiate") {
    line.say(Outcome::lost, "logins are Basic and Negotiate (Kerberos); clients of NTLM and Digest cannot log in");
    return;
  }
  const std::string helper = "authentication." + scheme + "_helper.";
  if (what == "program") return line.set(helper + "command", yaml_list({words.begin() + 2, words.end()}));
  if (what == "children") return line.set(helper + "processes", words[2]);
  if (what == "realm") {
    std::string realm;
    for (std::size_t i = 2; i < words.size(); ++i) realm += (i > 2 ? " " : "") + words[i];
    return line.set("authentication.realm", yaml_text(realm));
  }
  if (what == "credentialsttl") {
    if (const auto ttl = amount({words.begin() + 2, words.end()}, kTimeUnits))
      return line.set("authentication.cache", *ttl, Outcome::nearly, "at most 1d");
  }
  if (what == "casesensitive") return line.set("authentication.case_sensitive", words[2] == "on" ? "true" : "false");
  line.say(Outcome::needless, "there is a default for it");
}

constexpr const char* kGroupHelper = "authentication.groups_helper.command";

// The words of its command; none where it is not asked about groups of a login.
Words group_program(const Words& words) {
  constexpr std::array<std::string_view, 5> kOfLogin{"%LOGIN", "%un", "%ul", "%EXT_USER", "%DATA"};
  const auto program = std::ranges::find_if(words, [](const std::string& word) { return word.starts_with('/'); });
  const bool is_of_login = std::all_of(words.begin(), program, [&](const std::string& word) {
    return !word.starts_with('%') || std::ranges::find(kOfLogin, word) != kOfLogin.end();
  });
  const bool knows_groups = std::any_of(program, words.end(), [](const std::string& word) {
    return word.starts_with('/') && word.find("group") != std::string::npos;
  });
  return is_of_login && knows_groups ? Words{program, words.end()} : Words{};
}

void take_group_helper(const Line& line) {
  const Words program = group_program(line.words);
  if (program.empty()) {
    line.say(Outcome::lost, "only programs that know groups of users are asked (authentication.groups_helper)");
  } else if (!is_group_helper(line.words, line.out)) {
    line.say(Outcome::lost, "there is one authentication.groups_helper, which an earlier line has set");
  } else {
    line.set(kGroupHelper, yaml_list(program));
  }
}

void take_log(const Line& line) {
  if (line.words.empty() || line.words.front() == "none") {
    if (line.words.size() < 2) return line.set("log.access.file", "off");
    return void(line.say(Outcome::lost, "log.access has every request"));
  }
  std::string file = line.words.front();
  if (file.starts_with("udp:") || file.starts_with("tcp:"))
    return void(line.say(Outcome::lost, "log.access.file is a file, stdout, syslog or the journal"));
  line.out.settings["log.access.format"] = "squid";
  if (const std::size_t colon = file.find(':'); colon != std::string::npos) file.erase(0, colon + 1);
  if (!file.starts_with('/'))
    return line.set("log.access.file", "syslog", Outcome::nearly, "syslog gets what did not pass");
  line.set("log.access.file", yaml_text("/var/log/bloomwall/access.log"), Outcome::nearly,
           "the proxy's user may write there");
}

// ssl_bump ACTION ACL...: the mode is that of the strongest action.
void take_bump(const Line& line) {
  if (line.words.empty()) return void(line.say(Outcome::lost, "names no action"));
  const std::string& action = line.words.front();
  std::vector<const SquidAcl*> rest, spared;  // spared: lists that are excepted
  for (std::size_t i = 1; i < line.words.size(); ++i) {
    const bool negated = line.words[i].starts_with('!');
    const SquidAcl* const acl = line.acls.find(line.words[i].substr(negated ? 1 : 0));
    if (acl != nullptr && acl->kind == AclKind::step) continue;
    const bool is_list = negated && acl != nullptr && acl->kind == AclKind::list;
    (is_list ? spared : rest).push_back(negated && !is_list ? nullptr : acl);
  }
  const bool everybody =
      rest.empty() || (rest.size() == 1 && rest.front() != nullptr && rest.front()->kind == AclKind::everybody);
  const bool bumps = action == "bump" || action == "server-first" || action == "client-first";
  if (action == "peek" || action == "stare") return void(line.say(Outcome::needless, "server names are read always"));
  if ((action == "splice" || action == "none") && everybody && spared.empty())
    return void(line.say(Outcome::taken, "what is not bumped stays encrypted"));
  if (bumps && everybody) {
    for (const SquidAcl* const acl : spared) line.out.items["never"].push_back(std::to_string(acl->index));
    return line.set("tls_inspection.mode", "all", Outcome::nearly,
                    std::string(spared.empty() ? "" : "tls_inspection.never; ") +
                        "modes urls and blocked decrypt less and enforce the same lists");
  }
  const bool is_list =
      spared.empty() && rest.size() == 1 && rest.front() != nullptr && rest.front()->kind == AclKind::list;
  if (action == "splice" && is_list) {
    line.out.items["never"].push_back(std::to_string(rest.front()->index));
    return void(line.say(rest.front()->incomplete ? Outcome::nearly : Outcome::taken, "tls_inspection.never"));
  }
  if (action == "terminate") {
    return void(
        line.say(Outcome::lost_deny, "make a filter of its hosts, which ends a tunnel as soon as it names one"));
  }
  line.say(Outcome::lost,
           "set groups[].tls_inspection by hand, which has a mode and exceptions for hosts (never) of each group");
}

bool take_simple(const Line& line) {
  const bool on = !line.words.empty() && line.words.front() == "on";
  if (line.name == "via") return line.set("headers.via", on ? "true" : "false"), true;
  if (line.name == "forwarded_for") {
    const std::string how = line.words.empty() ? "on" : line.words.front();
    line.set("headers.x_forwarded_for",
             how == "on"       ? "append"
             : how == "delete" ? "delete"
                               : "off",
             how == "on" || how == "delete" ? Outcome::taken : Outcome::nearly, "append, delete or off");
    return true;
  }
  if (line.name == "workers" && line.words.size() == 1) return line.set("workers", line.words.front()), true;
  if (line.name == "dns_nameservers") return line.set("dns.servers", yaml_list(line.words)), true;
  if (line.name == "cache_mgr" && line.words.size() == 1)
    return line.set("block_page.contact", yaml_text(line.words.front())), true;
  for (const Amount& row : kAmounts) {
    if (line.name != row.name) continue;
    const auto value = row.is_time ? amount(line.words, kTimeUnits) : amount(line.words, kSizeUnits);
    if (!value) return line.say(Outcome::lost, "its value cannot be read"), true;
    return line.set(row.key, *value), true;
  }
  return false;
}

// never_direct and always_direct, for the lists that they name.
void take_direct(const Line& line) {
  if (line.words.size() < 2) return void(line.say(Outcome::lost, "is not complete"));
  const SquidAcl* const acl = line.acls.find(line.words[1]);
  const bool allow = line.words[0] == "allow";
  if (line.name == "never_direct" && acl != nullptr && acl->kind == AclKind::everybody)
    return void(line.say(Outcome::taken, "upstream.parent is for everything"));
  if (line.name == "always_direct" && allow && line.words.size() == 2 && acl != nullptr && acl->kind == AclKind::list) {
    line.out.items["bypass"].push_back(std::to_string(acl->index));
    return void(line.say(Outcome::taken, "upstream.bypass"));
  }
  line.say(line.name == "never_direct" && !allow ? Outcome::nearly : Outcome::lost,
           "upstream.bypass names hosts and networks that are dialled directly");
}

}  // namespace

bool is_group_helper(const Words& words, const Imported& out) {
  const Words program = group_program(words);
  const auto set = out.settings.find(kGroupHelper);
  return !program.empty() && (set == out.settings.end() || set->second == yaml_list(program));
}

std::string yaml_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out += "\\x" + to_hex(std::array{static_cast<std::uint8_t>(c)});
    } else {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
  }
  return out + "\"";
}

std::string yaml_list(const std::vector<std::string>& texts) {
  std::string out = "[";
  for (const std::string& text : texts) out += (out.size() > 1 ? ", " : "") + yaml_text(text);
  return out + "]";
}

void take_setting(const ConfigLine& of_file, const SquidAcls& acls, Imported& out) {
  Line line{of_file, acls, out, {}, words_of(of_file.text)};
  line.name = line.words.empty() ? "" : line.words.front();
  if (!line.words.empty()) line.words.erase(line.words.begin());
  make_lower(line.name);
  if (line.name == "http_port" || line.name == "https_port") return take_port(line);
  if (line.name == "cache_peer") return take_peer(line);
  if (line.name == "auth_param") return take_login(line);
  if (line.name == "external_acl_type") return take_group_helper(line);
  if (line.name == "access_log" || line.name == "cache_access_log") return take_log(line);
  if (line.name == "ssl_bump") return take_bump(line);
  if (line.name == "never_direct" || line.name == "always_direct") return take_direct(line);
  if (take_simple(line)) return;
  if (const Directive* const row = directive(line.name)) {
    // Of answers only what a rule refuses is missed; whoever is sent to another service may be refused by that.
    const bool grants = (line.name == "http_reply_access" && !has_word(line.words, "deny")) ||
                        (line.name == "reply_body_max_size" && !line.words.empty() &&
                         (line.words.front() == "none" || line.words.front() == "0"));
    line.say(grants ? Outcome::needless : row->outcome, row->reason);
    return;
  }
  line.say(line.name.find("access") != std::string::npos && has_word(line.words, "deny") ? Outcome::lost_deny
                                                                                         : Outcome::lost,
           "there is no counterpart");
}

}  // namespace bloomwall::proxy::foreign
