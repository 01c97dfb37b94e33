// SPDX-License-Identifier: Apache-2.0
#include "conf/sections.h"

#include <chrono>

#include "base/names.h"
#include "conf/yaml_reader.h"

namespace bloomwall::conf {

namespace {

template <typename Tls>
void read_certificate(MapReader& map, Tls& out) {
  map.optional_path("certificate", out.certificate);
  map.optional_path("key", out.key);
  if (out.certificate.empty() != out.key.empty()) {
    map.fail(out.key.empty() ? "certificate" : "key", "certificate and key go together");
  }
}

}  // namespace

void read(MapReader& map, AdminTls& out) { read_certificate(map, out); }

void read(MapReader& map, ListenerTls& out) {
  read_certificate(map, out);
  using Wanted = ListenerTls::ClientCertificate;
  map.optional_path("client_ca", out.client_ca);
  map.choice("client_certificate", out.client_certificate,
             {{"off", Wanted::off}, {"optional", Wanted::optional}, {"required", Wanted::required}});
  map.optional_path("crl", out.crl);
  const bool is_asked = out.client_certificate != Wanted::off;
  if (is_asked && out.client_ca.empty())
    map.fail("client_certificate", "set client_ca to the authorities that sign client certificates");
  if (is_asked && out.certificate.empty()) map.fail("client_certificate", "goes with certificate and key only");
  if (!is_asked && !out.crl.empty()) map.fail("crl", "goes with client_certificate: optional or required");
}

void read(MapReader& map, Listener& out) {
  map.text("address", out.address, kListenAddress);
  map.choice("mode", out.mode, {{"forward", Listener::Mode::forward}, {"transparent", Listener::Mode::transparent}});
  map.section("tls", out.tls);
  map.text_list("proxy_protocol", out.proxy_protocol, kNetwork);
  if (out.mode == Listener::Mode::forward) return;
  if (!out.tls.certificate.empty()) map.fail("tls", "goes with mode: forward only");
  if (!out.proxy_protocol.empty()) map.fail("proxy_protocol", "goes with mode: forward only");
}

const char* to_string(Answers::Protocol protocol) {
  using Protocol = Answers::Protocol;
  static constexpr auto kWords = name_table<Protocol>({{Protocol::http, "http"},
                                                       {Protocol::squid, "squid"},
                                                       {Protocol::icap, "icap"},
                                                       {Protocol::resp, "resp"},
                                                       {Protocol::socketmap, "socketmap"},
                                                       {Protocol::tcp_table, "tcp_table"}});
  return kWords.text(protocol);
}

void read(MapReader& map, Answers& out) {
  map.require("address");
  map.text("address", out.address, kAnswersAddress);
  map.require("protocol");
  using Protocol = Answers::Protocol;
  map.choice("protocol", out.protocol,
             {{to_string(Protocol::http), Protocol::http},
              {to_string(Protocol::squid), Protocol::squid},
              {to_string(Protocol::icap), Protocol::icap},
              {to_string(Protocol::resp), Protocol::resp},
              {to_string(Protocol::socketmap), Protocol::socketmap},
              {to_string(Protocol::tcp_table), Protocol::tcp_table}});
  map.text_list("trust", out.trust, kNetwork);
  map.text("found", out.found, kFoundText);
  map.flag("users", out.users);
  map.optional_text("group", out.group, kLabel);
  if (out.users && !out.may_name_users()) map.fail("users", "goes with protocol: http, squid or icap");
  if (out.users && out.trust.empty()) map.fail("users", "needs trust: the programs that are believed");
  if (out.group && !out.address.starts_with("unix:")) map.fail("group", "goes with address: unix:/path");
}

void read(MapReader& map, Filter& out) {
  map.text("name", out.name, kLabel);
  if (out.name == "exceptions" || out.name == "otherwise") {
    map.fail("name", out.name + " is what logs and pages call a decision of no filter; choose another name");
  }
  map.path("file", out.file);
  map.optional_path("delta", out.delta);
  map.optional_path("exact", out.exact);
  map.optional_path("public_key", out.public_key);
  map.percent("rebuild_at", out.rebuild_at, 1, 100);
  map.choice("action", out.action,
             {{"block", Filter::Action::block},
              {"monitor", Filter::Action::monitor},
              {"no_decrypt", Filter::Action::no_decrypt},
              {"allow", Filter::Action::allow}});
  map.choice("status", out.status, {{"403", 403}, {"451", 451}});
  map.text("legal_link", out.legal_link, kHttpUrl);
  map.choice("on_error", out.on_error, {{"block", Filter::OnError::block}, {"allow", Filter::OnError::allow}});
  map.choice("exceptions", out.takes_exceptions, {{"allowed", true}, {"refused", false}});
  map.optional_path("sources_folder", out.sources_folder);
  map.sections("sources", out.sources, "url", 0);
  map.section("build", out.build);
  map.section("guards", out.guards);
  map.duration("stale_after", out.stale_after, Milliseconds(std::chrono::hours(1)),
               Milliseconds(std::chrono::hours(365 * 24)));
  map.choice("memory", out.memory,
             {{"auto", Filter::Memory::automatic},
              {"paged", Filter::Memory::paged},
              {"locked", Filter::Memory::locked},
              {"copied", Filter::Memory::copied}});
  map.require("name");
  map.require("file");
  if (!out.legal_link.empty() && out.status != 451) map.fail("legal_link", "goes with status: 451 only");
  if (out.sources.empty()) return;
  if (out.sources.size() > kMostSources) map.fail("sources", "more than 64 lists");
  if (!out.public_key.empty())
    map.fail("sources", "goes without public_key: nobody signs what `bloomwall update` builds");
  if (!out.delta.empty()) map.fail("sources", "goes without delta: `bloomwall update` builds the whole file");
}

void read(MapReader& map, BlockPage& out) {
  map.optional_path("template", out.html_template);
  map.text("contact", out.contact, kContact);
  map.text("report_url", out.report_url, kReportUrl);
  map.flag("reports", out.reports);
}

void read(MapReader& map, Reports& out) { map.text("webhook", out.webhook, kHttpUrl); }

void read(MapReader& map, SelfPage& out) {
  map.text("host", out.host, kHostName);
  map.flag("recent", out.recent);
}

void read(MapReader& map, Pac& out) {
  map.text_list("proxies", out.proxies, kPacProxy);
  map.text_list("direct", out.direct, kBypass);
  map.optional_path("file", out.file);
  const bool is_given_otherwise = !out.proxies.empty() || !out.direct.empty();
  if (!out.file.empty() && is_given_otherwise) map.fail("file", "goes without proxies and direct");
}

void read(MapReader& map, Access& out) {
  map.text_list("clients", out.clients, kNetwork);
  map.port_list("connect_ports", out.connect_ports);
  map.port_list("deny_ports", out.deny_ports);
  map.text_list("deny_destinations", out.deny_destinations, kDestination);
  map.text_list("allow_destinations", out.allow_destinations, kDestination);
  map.choice(
      "sni_mismatch", out.sni_mismatch,
      {{"allow", Access::SniMismatch::allow}, {"log", Access::SniMismatch::log}, {"deny", Access::SniMismatch::deny}});
  map.choice("no_sni", out.no_sni, {{"allow", Access::NoSni::allow}, {"deny", Access::NoSni::deny}});
  map.choice("opaque_tunnels", out.opaque_tunnels,
             {{"allow", Access::OpaqueTunnels::allow},
              {"http", Access::OpaqueTunnels::http},
              {"deny", Access::OpaqueTunnels::deny}});
  map.flag("strict_path", out.strict_path);
}

void read(MapReader& map, Dns& out) {
  map.text_list("servers", out.servers, kDnsServer);
  map.text_map("hosts", out.hosts, kResolvedName, kIp);
  map.text_list("nat64_prefixes", out.nat64_prefixes, kNat64Prefix);
  map.integer("cache_entries", out.cache_entries, 0U, 10'000'000U);
}

void read(MapReader& map, Upstream& out) {
  map.optional_text("parent", out.parent, kHostPort);
  map.flag("tls", out.tls);
  map.optional_path("ca_file", out.ca_file);
  map.optional_path("credentials_file", out.credentials_file);
  map.text_list("bypass", out.bypass, kBypass);
  if (!out.ca_file.empty() && !out.tls) map.fail("ca_file", "goes with tls: true only");
}

void read(MapReader& map, Timeouts& out) {
  using namespace std::chrono_literals;
  constexpr Milliseconds kShortest = 1ms, kLongest = 24h;
  map.duration("request_header", out.request_header, kShortest, kLongest);
  map.duration("connect", out.connect, kShortest, kLongest);
  map.duration("response_header", out.response_header, kShortest, kLongest);
  map.duration("body", out.body, kShortest, kLongest);
  map.duration("idle", out.idle, kShortest, kLongest);
  map.duration("tunnel_idle", out.tunnel_idle, kShortest, 30 * kLongest);
  map.duration("tunnel_lifetime", out.tunnel_lifetime, 0ms, 30 * kLongest);
  map.duration("tls_handshake", out.tls_handshake, kShortest, kLongest);
  map.duration("announce", out.announce, 0ms, kLongest);
  map.duration("drain", out.drain, 0ms, kLongest);
}

void read(MapReader& map, Limits& out) {
  constexpr std::uint64_t kKiB = 1024, kMiB = 1024 * kKiB, kTiB = kMiB * 1024 * 1024;
  map.size("request_header", out.request_header, kKiB, kMiB);
  map.size("response_header", out.response_header, kKiB, 16 * kMiB);
  map.integer("header_fields", out.header_fields, 16U, 10'000U);
  map.size("request_body", out.request_body, 0, kTiB);
  map.size("least_rate", out.least_rate, 0, kTiB / 1024);
  map.integer("requests_per_second", out.requests_per_second, 0U, 1'000'000U);
  map.integer("pooled_connections", out.pooled_connections, 0U, 1'000'000U);
  map.integer("pooled_per_origin", out.pooled_per_origin, 0U, 100'000U);
  map.size("buffer_memory", out.buffer_memory, 16 * kMiB, kTiB);
  map.integer("client_connections", out.client_connections, 1U, 10'000'000U);
  map.integer("connections_per_client", out.connections_per_client, 0U, 10'000'000U);
  map.integer("leaves_per_client", out.leaves_per_client, 1U, 100'000U);
  map.integer("handshakes", out.handshakes, 1U, 1'000'000U);
  map.integer("http2_streams", out.http2_streams, 1U, 1000U);
}

void read(MapReader& map, AccessLog& out) {
  constexpr std::uint64_t kKiB = 1024;
  map.path_or("file", out.file, {"stdout", "stderr", "journal", "syslog", "off"});
  map.choice("format", out.format,
             {{"json", AccessLog::Format::json},
              {"combined", AccessLog::Format::combined},
              {"squid", AccessLog::Format::squid}});
  map.flag("strip_query", out.strip_query);
  map.size("queue", out.queue, 64 * kKiB, kKiB * kKiB * kKiB);
}

void read(MapReader& map, Log& out) {
  map.choice("level", out.level,
             {{"debug", Log::Level::debug},
              {"info", Log::Level::info},
              {"warning", Log::Level::warning},
              {"error", Log::Level::error}});
  map.path_or("file", out.file, {"stderr", "stdout"});
  map.section("access", out.access);
}

void read(MapReader& map, QueryLog& out) {
  using std::chrono::days;
  constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
  map.choice("record", out.record,
             {{"off", QueryLog::Record::off}, {"blocked", QueryLog::Record::blocked}, {"all", QueryLog::Record::all}});
  map.optional_path("folder", out.folder);
  map.duration("keep", out.keep, Milliseconds(days(1)), Milliseconds(days(3650)));
  map.size("keep_size", out.keep_size, 4 * kMiB, kMiB * kMiB);
  map.choice("clients", out.clients,
             {{"full", QueryLog::Clients::full},
              {"network", QueryLog::Clients::network},
              {"keyed", QueryLog::Clients::keyed},
              {"none", QueryLog::Clients::none}});
  map.choice("queries", out.strip_query, {{"keep", false}, {"strip", true}});
  map.text_list("exclude", out.exclude, kBypass);
}

void read(MapReader& map, Headers& out) {
  map.flag("via", out.via);
  map.text("via_name", out.via_name, kToken);
  map.choice("x_forwarded_for", out.x_forwarded_for,
             {{"off", Headers::ForwardedFor::off},
              {"append", Headers::ForwardedFor::append},
              {"delete", Headers::ForwardedFor::delete_field}});
}

void read(MapReader& map, Admin& out) {
  constexpr std::size_t kLongestSocketPath = 107;  // sun_path less its end
  map.optional_text("address", out.address, kListenAddress);
  map.word_or_section("tls", "internal", out.tls.internal, out.tls);
  map.flag("without_tls", out.without_tls);
  map.text_list("hosts", out.hosts, kHostName);
  map.flag("edits", out.edits);
  map.optional_path("users_file", out.users_file);
  map.optional_path("control_socket", out.control_socket);
  const bool is_plain = out.address && !out.tls.is_on() && out.tls.key.empty();
  if (is_plain && !out.without_tls && !is_of_this_host(*out.address)) {
    map.fail("address",
             "others can reach it: set tls (`tls: internal` has the proxy's own authority sign a certificate for it); "
             "or set "
             "without_tls: true for health and metrics in clear, and no API");
  }
  if (out.control_socket.native().size() > kLongestSocketPath) {
    map.fail("control_socket", "a socket's path may not be longer than 107 octets: " + out.control_socket.native());
  }
}

void read(MapReader& map, InspectionCa& out) {
  map.path("certificate", out.certificate);
  map.path("key", out.key);
  map.optional_path("passphrase_file", out.passphrase_file);
  map.optional_path("next", out.next);
}

void read(MapReader& map, AutoPass& out) {
  using namespace std::chrono_literals;
  map.choice("hosts", out.hosts, {{"off", AutoPass::Hosts::off}, {"unmarked", AutoPass::Hosts::unmarked}});
  map.integer("after", out.after, 1U, 10U);
  map.duration("for", out.pass_for, Milliseconds(1min), Milliseconds(24h));
  map.flag("devices", out.devices);
}

void read(MapReader& map, OriginTrust& out) {
  map.optional_path("ca_file", out.ca_file);
  map.optional_path("extra_ca_file", out.extra_ca_file);
  map.optional_path("intermediates_file", out.intermediates_file);
  map.text_list("intermediates", out.intermediates, kCertificatesUrl);
  constexpr std::size_t kMostIntermediateLists = 16;
  if (out.intermediates.size() > kMostIntermediateLists) map.fail("intermediates", "at most 16 may be");
  map.optional_path("crl_file", out.crl_file);
  map.text_list("distrust", out.distrust, kKeyHash);
  map.optional_path("trust_exceptions", out.trust_exceptions);
}

void read(MapReader& map, LeafCertificates& out) {
  map.integer("days", out.days, 1U, 90U);
  map.integer("cache", out.cache, 16U, 1'000'000U);
}

void read(MapReader& map, TlsInspection& out) {
  using Tls = TlsInspection;
  map.choice(
      "mode", out.mode,
      {{"off", Tls::Mode::off}, {"blocked", Tls::Mode::blocked}, {"urls", Tls::Mode::urls}, {"all", Tls::Mode::all}});
  map.section("ca", out.ca);
  map.choice("on_ca_failure", out.on_ca_failure,
             {{"refuse", Tls::OnCaFailure::refuse}, {"off", Tls::OnCaFailure::off}});
  map.choice("page_for", out.page_for, {{"browsers", Tls::PageFor::browsers}, {"everyone", Tls::PageFor::everyone}});
  map.path_list("never", out.never);
  map.text_list("clients", out.clients, kNetwork);
  map.text_list("never_clients", out.never_clients, kNetwork);
  map.port_list("ports", out.ports);
  map.flag("urls_of_monitor", out.urls_of_monitor);
  map.section("auto_pass", out.auto_pass);
  map.choice("ech", out.ech, {{"intercept", Tls::Ech::intercept}, {"pass", Tls::Ech::pass}, {"deny", Tls::Ech::deny}});
  map.path_list("ech_public_names", out.ech_public_names);
  map.choice("on_bad_certificate", out.on_bad_certificate,
             {{"page", Tls::OnBadCertificate::page}, {"pass", Tls::OnBadCertificate::pass}});
  map.choice("on_failed_handshake", out.on_failed_handshake,
             {{"page", Tls::OnFailedHandshake::page}, {"pass", Tls::OnFailedHandshake::pass}});
  map.section("verify", out.verify);
  map.section("leaf", out.leaf);
  map.choice("log_urls", out.log_urls, {{"blocked", Tls::LogUrls::blocked}, {"all", Tls::LogUrls::all}});
  map.flag("via", out.via);
  map.flag("http2", out.http2);
}

}  // namespace bloomwall::conf
