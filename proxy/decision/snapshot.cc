// SPDX-License-Identifier: Apache-2.0
#include "proxy/decision/snapshot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

#include "proxy/decision/tls_inspection.h"
#include "proxy/io/interfaces.h"
#include "proxy/upstream/addresses.h"

namespace bloomwall::proxy {
namespace {

// That any group asks for.
std::vector<std::string> user_groups_of(const conf::Config& settings) {
  std::vector<std::string> all;
  for (const conf::Group& group : settings.groups) {
    all.insert(all.end(), group.user_groups.begin(), group.user_groups.end());
  }
  return all;
}

// At most `most` octets and one more, which tells that there are too many.
tl::expected<std::string, std::string> read_file(const std::filesystem::path& file, const std::string& key,
                                                 std::size_t most) {
  std::ifstream in(file, std::ios::binary);
  if (!in) {
    const std::string why = std::generic_category().message(errno);
    return tl::unexpected(fmt::format("{}: cannot read {}: {}", key, file.string(), why));
  }
  std::string text(most + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (in.bad()) return tl::unexpected(fmt::format("{}: cannot read {}", key, file.string()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  return text;
}

tl::expected<BlockTemplate, std::string> load_page(const std::filesystem::path& file, const std::string& key) {
  if (file.empty()) return BlockTemplate::built_in();
  const auto text = read_file(file, key, BlockTemplate::kMaxBytes);
  if (!text) return tl::unexpected(text.error());
  auto page = BlockTemplate::parse(*text);
  if (!page) {
    const TemplateError& error = page.error();
    return tl::unexpected(fmt::format("{}: {}:{}:{}: {}", key, file.string(), error.line, error.column, error.what));
  }
  return *std::move(page);
}

tl::expected<std::string, std::string> load_pac(const std::filesystem::path& file) {
  constexpr std::size_t kMostOctets = std::size_t{1} << 20;
  if (file.empty()) return std::string();
  auto text = read_file(file, "pac.file", kMostOctets);
  if (!text || (!text->empty() && text->size() <= kMostOctets)) return text;
  return tl::unexpected(fmt::format("pac.file: {} is {}", file.string(), text->empty() ? "empty" : "over 1 MiB"));
}

std::map<std::string, BlockTemplate> load_group_pages(const conf::Config& settings, std::vector<std::string>& errors) {
  std::map<std::string, BlockTemplate> pages;
  for (std::size_t i = 0; i < settings.groups.size(); ++i) {
    const conf::Group& group = settings.groups[i];
    if (group.block_page.html_template.empty()) continue;
    auto page = load_page(group.block_page.html_template, fmt::format("groups[{}].block_page.template", i));
    if (!page) errors.push_back(page.error());
    if (page) pages.emplace(group.name, *std::move(page));
  }
  return pages;
}

ClientCertificates certificates_of(const conf::ListenerTls& tls) {
  using Wanted = conf::ListenerTls::ClientCertificate;
  if (tls.client_certificate == Wanted::off) return {};
  return {.authorities = tls.client_ca, .revoked = tls.crl, .required = tls.client_certificate == Wanted::required};
}

std::vector<ListenerRules> compile_listeners(const conf::Config& settings, std::vector<std::string>& errors) {
  std::vector<ListenerRules> listeners;
  for (const conf::Listener& listener : settings.listeners) {
    ListenerRules& rules = listeners.emplace_back();
    const std::string key = fmt::format("listeners[{}]", listeners.size() - 1);
    rules.address = listener.address;
    rules.mode = listener.mode;
    if (!listener.tls.certificate.empty()) {
      auto tls = TlsContext::for_listener(listener.tls.certificate, listener.tls.key, certificates_of(listener.tls));
      if (!tls) errors.push_back(fmt::format("{}.tls: {}", key, tls.error()));
      if (tls) rules.tls = *std::move(tls);
    }
    auto balancers = CidrSet::build(listener.proxy_protocol);
    if (!balancers) errors.push_back(fmt::format("{}.proxy_protocol: not a network: {}", key, balancers.error()));
    if (balancers) rules.balancers = *std::move(balancers);
  }
  return listeners;
}

std::vector<AnswerRules> compile_answers(const conf::Config& settings, std::vector<std::string>& errors) {
  std::vector<AnswerRules> answers;
  for (const conf::Answers& door : settings.answers) {
    auto trust = CidrSet::build(door.trust);
    if (!trust) errors.push_back(fmt::format("answers[{}].trust: not a network: {}", answers.size(), trust.error()));
    answers.push_back({door.address, door.protocol, trust ? *std::move(trust) : CidrSet(), door.found, door.users});
  }
  return answers;
}

}  // namespace

const BlockTemplate& Snapshot::page_of(const std::string& group) const {
  const auto own = group_pages.find(group);
  return own == group_pages.end() ? page : own->second;
}

Edition Edition::at(Instant instant) const {
  return {snapshot, policy, GroupPolicies::make(snapshot->groups.get(), policy, instant, switches), switches};
}

tl::expected<SnapshotPtr, std::vector<std::string>> make_snapshot(const conf::Config& settings,
                                                                  std::uint64_t generation, const Snapshot* before) {
  std::vector<std::string> errors;
  auto access = AccessRules::build(settings.access, settings.dns.nat64_prefixes);
  if (!access) errors.push_back(access.error());
  auto page = load_page(settings.block_page.html_template, "block_page.template");
  if (!page) errors.push_back(page.error());
  auto parent = ParentProxy::compile(settings.upstream);
  if (!parent) errors.push_back(parent.error());
  auto hosts = StaticHosts::build(settings.dns.hosts);
  if (!hosts) errors.push_back(hosts.error());
  auto listeners = compile_listeners(settings, errors);
  auto answers = compile_answers(settings, errors);
  auto admin_tls = AdminCertificate::load(settings, interfaces(), std::time(nullptr));
  if (!admin_tls) errors.push_back(admin_tls.error());
  UserTable::Ptr admin_users;
  if (!settings.admin.users_file.empty()) {
    auto users = UserTable::load(settings.admin.users_file, before == nullptr ? nullptr : before->admin_users,
                                 UserTable::Form::people);
    if (users) {
      admin_users = *std::move(users);
    } else {
      for (const std::string& error : users.error()) errors.push_back("admin.users_file: " + error);
    }
  }
  auto group_pages = load_group_pages(settings, errors);
  auto groups = GroupRules::compile(settings);
  if (!groups) std::ranges::move(groups.error(), std::back_inserter(errors));
  auto safe_search = SafeSearch::compile(settings);
  if (!safe_search) std::ranges::move(safe_search.error(), std::back_inserter(errors));
  auto inspection = TlsInspection::compile(settings, before == nullptr ? nullptr : before->inspection.get());
  if (!inspection) std::ranges::move(inspection.error(), std::back_inserter(errors));
  auto names = AuthenticationRules::compile(settings.authentication, before == nullptr ? nullptr : before->names,
                                            user_groups_of(settings), settings.answers);
  if (!names) std::ranges::move(names.error(), std::back_inserter(errors));
  auto query_log = LogRules::compile(settings);
  if (!query_log) errors.push_back(query_log.error());
  auto pac_file = load_pac(settings.pac.file);
  if (!pac_file) errors.push_back(pac_file.error());
  if (!errors.empty()) return tl::unexpected(std::move(errors));
  return std::make_shared<const Snapshot>(Snapshot{{*std::move(access), *std::move(hosts), settings.timeouts.connect},
                                                   generation,
                                                   settings,
                                                   *std::move(page),
                                                   *std::move(parent),
                                                   std::move(listeners),
                                                   std::move(answers),
                                                   *std::move(admin_tls),
                                                   std::move(admin_users),
                                                   *std::move(inspection),
                                                   settings.authentication.require.empty() ? nullptr : *names,
                                                   *names,
                                                   *std::move(groups),
                                                   std::move(group_pages),
                                                   *std::move(safe_search),
                                                   TimeZone::find(settings.time_zone).value_or(TimeZone()),
                                                   *std::move(query_log),
                                                   *std::move(pac_file)});
}

}  // namespace bloomwall::proxy
