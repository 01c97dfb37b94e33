// SPDX-License-Identifier: Apache-2.0
#include "proxy/import/squid_directives.h"

#include <algorithm>
#include <array>

namespace bloomwall::proxy::foreign {
namespace {

constexpr const char* kNoCache = "nothing is cached";
constexpr const char* kRuntime = "systemd, or nothing, does this";
constexpr const char* kPages = "pages are built in; block_page.template replaces the one for blocked requests";

constexpr const char* kRedirector = "whom it spares from the redirector is filtered; give them a group of their own";

constexpr std::array kKnown{
    Directive{"adaptation_access", Outcome::lost_deny,
              "there is no ICAP or eCAP client; what such a service refuses passes"},
    Directive{"adaptation_", Outcome::lost, "there is no ICAP or eCAP client"},
    Directive{"icap_access", Outcome::lost_deny, "there is no ICAP or eCAP client; what such a service refuses passes"},
    Directive{"icap_", Outcome::lost, "there is no ICAP or eCAP client"},
    Directive{"ecap_", Outcome::lost, "there is no ICAP or eCAP client"},
    Directive{"loadable_modules", Outcome::lost, "there are no modules"},
    Directive{"cache", Outcome::needless, kNoCache},
    Directive{"no_cache", Outcome::needless, kNoCache},
    Directive{"cache_dir", Outcome::needless, kNoCache},
    Directive{"cache_mem", Outcome::needless, kNoCache},
    Directive{"cache_swap_", Outcome::needless, kNoCache},
    Directive{"cache_replacement_policy", Outcome::needless, kNoCache},
    Directive{"cache_log", Outcome::nearly, "log.file; the journal has it under systemd"},
    Directive{"cache_store_log", Outcome::needless, kNoCache},
    Directive{"cache_effective_", Outcome::needless, kRuntime},
    Directive{"memory_", Outcome::needless, kNoCache},
    Directive{"maximum_object_size", Outcome::needless, kNoCache},
    Directive{"maximum_object_size_in_memory", Outcome::needless, kNoCache},
    Directive{"minimum_object_size", Outcome::needless, kNoCache},
    Directive{"refresh_", Outcome::needless, kNoCache},
    Directive{"quick_abort_", Outcome::needless, kNoCache},
    Directive{"range_offset_limit", Outcome::needless, kNoCache},
    Directive{"read_ahead_gap", Outcome::needless, kNoCache},
    Directive{"negative_", Outcome::needless, kNoCache},
    Directive{"positive_dns_ttl", Outcome::needless, "the TTL of each answer counts"},
    Directive{"store_", Outcome::needless, kNoCache},
    Directive{"offline_mode", Outcome::needless, kNoCache},
    Directive{"collapsed_forwarding", Outcome::needless, kNoCache},
    Directive{"vary_ignore_expire", Outcome::needless, kNoCache},
    Directive{"send_hit", Outcome::needless, kNoCache},
    Directive{"icp_", Outcome::needless, "there are no cache peers"},
    Directive{"htcp_", Outcome::needless, "there are no cache peers"},
    Directive{"digest_generation", Outcome::needless, "there are no cache peers"},
    Directive{"cache_peer_access", Outcome::lost, "the parent proxy is for everything but upstream.bypass"},
    Directive{"hierarchy_stoplist", Outcome::needless, "there are no cache peers"},
    Directive{"coredump_dir", Outcome::needless, kRuntime},
    Directive{"pid_filename", Outcome::needless, kRuntime},
    Directive{"chroot", Outcome::needless, kRuntime},
    Directive{"umask", Outcome::needless, kRuntime},
    Directive{"max_filedescriptors", Outcome::needless,
              "the limit is raised as far as the system allows; LimitNOFILE= of the unit"},
    Directive{"logfile_rotate", Outcome::needless, "logrotate does this, with SIGUSR1"},
    Directive{"logformat", Outcome::lost, "log.access.format is json, combined or squid"},
    Directive{"debug_options", Outcome::nearly, "log.level"},
    Directive{"log_access", Outcome::lost, "log.access has every request"},
    Directive{"log_mime_hdrs", Outcome::lost, "log.access.format is json, combined or squid"},
    Directive{"logfile_daemon", Outcome::needless, "logs are written by a thread of their own"},
    Directive{"buffered_logs", Outcome::needless, "logs are written by a thread of their own"},
    Directive{"visible_hostname", Outcome::needless, "headers.via_name and self_page.host name the proxy"},
    Directive{"unique_hostname", Outcome::needless, "each start has an identity of its own"},
    Directive{"hostname_aliases", Outcome::needless, "requests for the proxy's own addresses are its own pages"},
    Directive{"httpd_suppress_version_string", Outcome::needless, "no version is shown"},
    Directive{"error_", Outcome::nearly, kPages},
    Directive{"err_", Outcome::nearly, kPages},
    Directive{"email_err_data", Outcome::nearly, kPages},
    Directive{"deny_info", Outcome::nearly, "groups[].block_page.template; there are no redirects"},
    Directive{"ftp_", Outcome::needless, "ftp:// is not proxied"},
    Directive{"cachemgr_passwd", Outcome::needless, "there is no cache manager"},
    Directive{"spoof_client_ip", Outcome::needless, "origins see the address of the proxy"},
    Directive{"collapsed_forwarding_access", Outcome::needless, kNoCache},
    Directive{"response_delay_pool", Outcome::lost, "there are no delay pools"},
    Directive{"response_delay_pool_access", Outcome::lost, "there are no delay pools"},
    Directive{"snmp_", Outcome::nearly, "metrics are at /metrics for Prometheus"},
    Directive{"delay_", Outcome::lost, "there are no delay pools"},
    Directive{"tcp_outgoing_address", Outcome::lost, "the system chooses the address"},
    Directive{"tcp_outgoing_mark", Outcome::lost, "packets are not marked"},
    Directive{"reply_body_max_size", Outcome::lost_deny, "answers have no limit"},
    Directive{"http_reply_access", Outcome::lost_deny, "answers are not filtered"},
    Directive{"request_header_access", Outcome::lost,
              "fields other than Via, X-Forwarded-For and Proxy-* are left alone"},
    Directive{"reply_header_access", Outcome::lost, "fields of answers are left alone"},
    Directive{"header_access", Outcome::lost, "fields other than Via, X-Forwarded-For and Proxy-* are left alone"},
    Directive{"header_replace", Outcome::lost, "no fields are added to requests"},
    Directive{"request_header_add", Outcome::lost, "no fields are added to requests"},
    Directive{"request_header_replace", Outcome::lost, "no fields are added to requests"},
    Directive{"reply_header_add", Outcome::lost, "no fields are added to answers"},
    Directive{"follow_x_forwarded_for", Outcome::lost,
              "load balancers tell the client's address by the PROXY protocol (listeners[].proxy_protocol)"},
    Directive{"ident_", Outcome::lost, "ident is not asked; use authentication"},
    Directive{"dns_defnames", Outcome::lost, "names are looked up as they are"},
    Directive{"append_domain", Outcome::lost, "names are looked up as they are"},
    Directive{"dns_v4_first", Outcome::needless, "both families are tried side by side"},
    Directive{"dns_", Outcome::nearly, "resolver settings are those of dns: in bloomwall.yaml"},
    Directive{"ipcache_", Outcome::nearly, "dns.cache_entries"},
    Directive{"fqdncache_size", Outcome::needless, "addresses are not looked up"},
    Directive{"hosts_file", Outcome::nearly, "dns.hosts; /etc/hosts is read where dns.servers is []"},
    Directive{"sslcrtd_", Outcome::needless, "certificates are made by a thread of the proxy"},
    Directive{"sslproxy_", Outcome::nearly, "tls_inspection.verify and tls_inspection.on_bad_certificate"},
    Directive{"sslpassword_program", Outcome::nearly, "tls_inspection.ca.passphrase_file"},
    Directive{"tls_outgoing_options", Outcome::nearly, "tls_inspection.verify"},
    Directive{"url_rewrite_access", Outcome::lost, kRedirector},
    Directive{"redirector_access", Outcome::lost, kRedirector},
    Directive{"redirector_", Outcome::needless, "the filters are part of the proxy"},
    Directive{"url_rewrite_", Outcome::needless, "the filters are part of the proxy"},
    Directive{"redirect_", Outcome::needless, "the filters are part of the proxy"},
    Directive{"external_acl_type", Outcome::lost,
              "only programs that know groups of users are asked (authentication.groups_helper)"},
    Directive{"authenticate_", Outcome::nearly, "authentication.cache and authentication.attempts"},
    Directive{"client_", Outcome::needless, "limits and timeouts of bloomwall.yaml have defaults for this"},
    Directive{"server_", Outcome::needless, "connections to origins are kept by rules of their own"},
    Directive{"half_closed_clients", Outcome::needless, "half-closed connections are served to their end"},
    Directive{"persistent_", Outcome::needless, "connections are kept wherever HTTP allows it"},
    Directive{"pipeline_prefetch", Outcome::needless, "pipelined requests are answered in order"},
    Directive{"forward_", Outcome::needless, "timeouts.connect is for all addresses together"},
    Directive{"connect_retries", Outcome::needless, "all addresses are tried within timeouts.connect"},
    Directive{"retry_on_error", Outcome::needless, "an answer of an origin is passed on as it is"},
    Directive{"detect_broken_pconn", Outcome::needless, "nothing is reused that got surplus octets"},
    Directive{"acl_uses_indirect_client", Outcome::lost,
              "load balancers tell the client's address by the PROXY protocol"},
    Directive{"high_", Outcome::needless, "metrics show this"},
    Directive{"minimum_", Outcome::needless, "this is about the cache"},
    Directive{"netdb_filename", Outcome::needless, "there are no cache peers"},
    Directive{"pinger_", Outcome::needless, "there are no cache peers"},
    Directive{"query_icmp", Outcome::needless, "there are no cache peers"},
    Directive{"mime_table", Outcome::needless, "ftp:// is not proxied"},
    Directive{"wccp", Outcome::lost, "there is no WCCP"},
    Directive{"wccp2_", Outcome::lost, "there is no WCCP"},
    Directive{"check_hostnames", Outcome::needless, "hosts are checked always"},
    Directive{"allow_underscore", Outcome::needless, "_ in names of hosts is accepted"},
    Directive{"uri_whitespace", Outcome::needless, "blanks in URLs are refused"},
    Directive{"relaxed_header_parser", Outcome::needless, "what can be read in two ways is refused"},
    Directive{"ignore_expect_100", Outcome::needless, "100-continue is passed on"},
    Directive{"strip_query_terms", Outcome::nearly, "log.access.strip_query"},
};

}  // namespace

const Directive* directive(std::string_view name) {
  const auto fits = [name](const Directive& row) {
    return row.name.ends_with('_') ? name.starts_with(row.name) : name == row.name;
  };
  const auto exact =
      std::find_if(kKnown.begin(), kKnown.end(), [name](const Directive& row) { return row.name == name; });
  if (exact != kKnown.end()) return &*exact;
  const auto found = std::find_if(kKnown.begin(), kKnown.end(), fits);
  return found == kKnown.end() ? nullptr : &*found;
}

}  // namespace bloomwall::proxy::foreign
