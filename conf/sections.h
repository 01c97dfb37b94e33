// The sections of the configuration: a struct for each, every default at its field, and what reads it. The shipped
// bloomwall.yaml documents each key and equals these defaults (shipped_config_test.cc).
// Strings that name addresses, networks and ports are checked for form only; proxy/ turns them into sockaddrs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "conf/update.h"

namespace bloomwall::conf {

class MapReader;

// Clients speak TLS to the proxy itself. `certificate` and `key`: both or none. All PEM files are read again by each
// reload.
struct ListenerTls {
  enum class ClientCertificate : std::uint8_t { off, optional, required };
  std::filesystem::path certificate = {}, key = {};
  std::filesystem::path client_ca = {};  // who may vouch for clients
  ClientCertificate client_certificate = ClientCertificate::off;
  std::filesystem::path crl = {};  // revoked certificates of clients; empty: none
  friend bool operator==(const ListenerTls&, const ListenerTls&) = default;
};

// An item of `listeners:`: where clients connect.
struct Listener {
  enum class Mode : std::uint8_t { forward, transparent };
  std::string address = "127.0.0.1:3128";  // ip:port, [ip6]:port or :port (all addresses); port 0: the kernel chooses
  // transparent: clients know nothing of the proxy; a firewall redirects their connections here. Plain HTTP and TLS.
  Mode mode = Mode::forward;
  ListenerTls tls;  // empty: plain
  // Networks of load balancers. Where not empty, each client must connect from one of them and begin with a PROXY
  // header.
  std::vector<std::string> proxy_protocol;
  friend bool operator==(const Listener&, const Listener&) = default;
};

// An item of `answers:`: where other programs ask for verdicts.
struct Answers {
  enum class Protocol : std::uint8_t { http, squid, icap, resp, socketmap, tcp_table };
  std::string address;  // ip:port, [ip6]:port or :port, as of a listener; or unix:/path of a socket that is made there
  Protocol protocol = Protocol::http;
  std::vector<std::string> trust;  // networks of programs that are believed for which client they ask; empty: none
  // socketmap, tcp_table: the action for what is listed, with {filter} and {id} in place of names.
  std::string found = "REJECT listed in {filter}, decision {id}";
  bool users = false;                // whoever is in `trust` is believed for which user, too
  std::optional<std::string> group;  // of the system, which a socket by a path belongs to; nothing: the process's own
  // Of protocols whose questions may name a user.
  bool may_name_users() const {
    return protocol == Protocol::http || protocol == Protocol::squid || protocol == Protocol::icap;
  }
  friend bool operator==(const Answers&, const Answers&) = default;
};
const char* to_string(Answers::Protocol protocol);  // as in the configuration

// Where the process is connected to, but for `admin:`.
struct Doors {
  std::vector<Listener> listeners{Listener{}};
  std::vector<Answers> answers;
  friend bool operator==(const Doors&, const Doors&) = default;
};

// What becomes of a request that no filter and no allow list decides.
enum class Otherwise : std::uint8_t { allow, deny };

// An item of `filters:`: a block list, or a white list. They are asked in their order.
struct Filter {
  // no_decrypt blocks nothing: TLS to a host that it lists is not intercepted.
  // allow: a white list, what it holds passes and no filter behind it is asked.
  enum class Action : std::uint8_t { block, monitor, no_decrypt, allow };
  enum class OnError : std::uint8_t { block, allow };
  std::string name;                  // [A-Za-z0-9._-]{1,64}, unique
  std::filesystem::path file;        // .bwf
  std::filesystem::path delta;       // empty: none
  std::filesystem::path exact = {};  // .bwx; empty: none
  // PEM, one or more Ed25519 keys; one of them must have signed the file and its delta. Empty: no signature is
  // required.
  std::filesystem::path public_key = {};
  // A delta of more than this share of the filter's entries makes a rebuild due, which is reported and has no other
  // effect. 1 to 100.
  std::uint32_t rebuild_at = 2;  // percent
  Action action = Action::block;
  int status = 403;                           // 403 or 451
  std::string legal_link;                     // status 451: the Link of RFC 7725 ("" = none)
  OnError on_error = OnError::block;          // what a lost filter does
  bool takes_exceptions = true;               // false: `bloomwall allow` does not let pass what it lists
  std::filesystem::path sources_folder = {};  // of the lists that it was built from, for `bloomwall why`; empty: none
  std::vector<Source> sources = {};           // what `bloomwall update` makes `file` of; empty: others make it
  Build build = {};
  Guards guards = {};
  Milliseconds stale_after{259'200'000};  // 1 hour to 365 days without a source that was fetched: a warning
  // Where its bytes are while it is served: filter/file/residence.h.
  enum class Memory : std::uint8_t { automatic, paged, locked, copied };
  Memory memory = Memory::automatic;
  friend bool operator==(const Filter&, const Filter&) = default;
};

// `block_page:` what a blocked client is shown.
struct BlockPage {
  std::filesystem::path html_template;  // empty: the built-in page
  std::string contact;                  // mail address or URL shown on the page; empty: none
  std::string report_url;               // "{id}" and "{url}" are replaced, percent-encoded; empty: no link
  bool reports = true;                  // a form to report mistakes with, where report_url is empty and state is kept
  friend bool operator==(const BlockPage&, const BlockPage&) = default;
};

// `reports:` of mistakes, by the form of block_page.
struct Reports {
  std::string webhook;  // http(s) URL that each new one is sent to; empty: none
  friend bool operator==(const Reports&, const Reports&) = default;
};

// `self_page:` pages that the proxy answers itself.
struct SelfPage {
  std::string host = "bloomwall.internal";  // lower case
  bool recent = true;                       // a client is shown what was blocked for it a moment ago
  friend bool operator==(const SelfPage&, const SelfPage&) = default;
};

// `pac:` the file that tells browsers what goes to the proxy (/proxy.pac, /wpad.dat).
struct Pac {
  std::vector<std::string> proxies;  // "host:port", "https://host:port"; empty: where the client has asked
  std::vector<std::string> direct;   // domains with everything below them, and networks
  std::filesystem::path file;        // served instead of a generated one; empty: none
  friend bool operator==(const Pac&, const Pac&) = default;
};

// `access:` who may use the proxy, and where it may go.
struct Access {
  enum class SniMismatch : std::uint8_t { allow, log, deny };
  std::vector<std::string> clients{"127.0.0.0/8", "::1/128"};
  enum class OpaqueTunnels : std::uint8_t { allow, http, deny };
  enum class NoSni : std::uint8_t { allow, deny };
  std::vector<std::uint16_t> connect_ports{443, 80};  // empty: any
  // Plain HTTP never goes there. The default: "bad port" of the Fetch standard, where other protocols listen that would
  // take the lines of a request for commands.
  std::vector<std::uint16_t> deny_ports{
      1,    7,    9,    11,   13,   15,   17,   19,   20,   21,   22,   23,   25,   37,   42,   43,   53,
      69,   77,   79,   87,   95,   101,  102,  103,  104,  109,  110,  111,  113,  115,  117,  119,  123,
      135,  137,  139,  143,  161,  179,  389,  427,  465,  512,  513,  514,  515,  526,  530,  531,  532,
      540,  548,  554,  556,  563,  587,  601,  636,  989,  990,  993,  995,  1719, 1720, 1723, 2049, 3659,
      4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080};
  // Judged on the address dialled: loopback, private, link_local, shared, multicast, unspecified, reserved, or a CIDR.
  std::vector<std::string> deny_destinations{"loopback",  "private",     "link_local", "shared",
                                             "multicast", "unspecified", "reserved"};
  std::vector<std::string> allow_destinations;  // the most specific of the two wins
  SniMismatch sni_mismatch = SniMismatch::allow;
  NoSni no_sni = NoSni::allow;                         // a ClientHello without server_name
  OpaqueTunnels opaque_tunnels = OpaqueTunnels::http;  // what may pass through a tunnel beside TLS
  bool strict_path = false;                            // refuse every path that origins read in several ways
  friend bool operator==(const Access&, const Access&) = default;
};

// `dns:` how names become addresses.
struct Dns {
  std::vector<std::string> servers;          // ip or ip:port; empty: the system's
  std::map<std::string, std::string> hosts;  // lower-case name -> address; asked before any server
  std::vector<std::string> nat64_prefixes;   // IPv6 networks of RFC 6052, beside 64:ff9b::/96
  std::uint32_t cache_entries = 65536;       // 0 .. 10,000,000; 0: no cache
  friend bool operator==(const Dns&, const Dns&) = default;
};

// `upstream:` the way out, where it is not the open net.
struct Upstream {
  std::optional<std::string> parent;  // host:port of a proxy for everything; nothing: origins are dialled directly
  bool tls = false;                   // the parent is spoken to in TLS, and verified
  std::filesystem::path ca_file;      // PEM, authorities to verify its certificate with; empty: the system's
  std::filesystem::path
      credentials_file;             // one line user:password for the parent; empty: the client's own are passed on
  std::vector<std::string> bypass;  // domains (with what is below them) and networks that are dialled directly
  friend bool operator==(const Upstream&, const Upstream&) = default;
};

// `timeouts:` how long each wait may last.
struct Timeouts {
  Milliseconds request_header{10'000};    // from the first byte of a request to the end of its head
  Milliseconds connect{10'000};           // resolving and dialling, all addresses together
  Milliseconds response_header{600'000};  // from the end of the request to the end of the response's head
  Milliseconds body{600'000};             // a body, of request or response, without progress
  Milliseconds idle{60'000};              // a connection between requests, of a client or to an origin
  Milliseconds tunnel_idle{600'000};      // a tunnel without a byte in either direction
  Milliseconds tunnel_lifetime{0};        // a tunnel in all; 0: no limit
  Milliseconds tls_handshake{10'000};     // of an intercepted connection, each side
  Milliseconds announce{5'000};  // SIGTERM: listeners stay open for so long, while answers close; 0: not at all
  Milliseconds drain{30'000};    // after that: what is still under way then is cut
  friend bool operator==(const Timeouts&, const Timeouts&) = default;
};

// `limits:` how much anyone may take.
struct Limits {
  std::uint64_t request_header = std::uint64_t{64} << 10;   // bytes, 1KiB .. 1MiB
  std::uint64_t response_header = std::uint64_t{64} << 10;  // bytes, 1KiB .. 16MiB
  std::uint32_t header_fields = 256;                        // of one head, 16 .. 10,000
  std::uint64_t request_body = 0;                           // bytes, 0 .. 1TiB; 0: no limit
  std::uint64_t least_rate = 64;          // bytes a second of a body, over timeouts.body, 0 .. 1GiB; 0: none
  std::uint32_t requests_per_second = 0;  // by address, 0 .. 1,000,000; 0: no limit
  // Idle, to origins, beyond as many as were in use at once in the last seconds; 0 keeps none.
  std::uint32_t pooled_connections = 4096;               // whole process, 0 .. 1,000,000
  std::uint32_t pooled_per_origin = 128;                 // to one origin, of each worker, 0 .. 100,000
  std::uint64_t buffer_memory = std::uint64_t{1} << 30;  // bytes, whole process, 16MiB .. 1TiB
  std::uint32_t client_connections = 20'000;             // whole process, 1 .. 10,000,000
  std::uint32_t connections_per_client = 4096;           // by address; 0: no limit
  std::uint32_t leaves_per_client = 20;                  // certificates made a second, by address or /64, 1 .. 100,000
  std::uint32_t handshakes = 1024;    // TLS of intercepted connections at once, of each worker, 1 .. 1,000,000
  std::uint32_t http2_streams = 100;  // requests at once on one HTTP/2 connection, 1 .. 1000
  friend bool operator==(const Limits&, const Limits&) = default;
};

// `log.access:` one line a request.
struct AccessLog {
  enum class Format : std::uint8_t { json, combined, squid };
  std::string file = "stdout";  // a path, stdout, stderr or off
  Format format = Format::json;
  bool strip_query = false;  // write URLs without what follows '?'
  std::uint64_t queue =
      std::uint64_t{4} << 20;  // bytes a worker that wait for a slow disk, 64KiB .. 1GiB; more is dropped
  friend bool operator==(const AccessLog&, const AccessLog&) = default;
};

// `log:` what is written where.
struct Log {
  enum class Level : std::uint8_t { debug, info, warning, error };
  Level level = Level::info;
  std::string file = "stderr";  // a path, stderr or stdout
  AccessLog access;
  friend bool operator==(const Log&, const Log&) = default;
};

// `query_log:` requests in files of SQLite, one a day, that the API searches.
struct QueryLog {
  enum class Record : std::uint8_t { off, blocked, all };
  // What is kept of the client's address: all of it, its network (/24, /48), a pseudonym of the day, nothing.
  enum class Clients : std::uint8_t { full, network, keyed, none };
  Record record = Record::blocked;
  std::filesystem::path folder;                            // empty: "log" in state_dir, and nothing is kept without one
  Milliseconds keep{Milliseconds(std::chrono::days(30))};  // 1d .. 3650d; whole days go
  std::uint64_t keep_size = std::uint64_t{2} << 30;        // bytes of all days together, 4MiB .. 1TiB
  Clients clients = Clients::full;
  bool strip_query = false;          // keep URLs without what follows '?'
  std::vector<std::string> exclude;  // domains (with what is below them) and networks that are not recorded
  friend bool operator==(const QueryLog&, const QueryLog&) = default;
};

// `headers:` what the proxy says of itself and of its clients.
struct Headers {
  enum class ForwardedFor : std::uint8_t { off, append, delete_field };  // YAML: off | append | delete
  bool via = true;
  std::string via_name = "bloomwall";  // the pseudonym in Via and Proxy-Status: a token
  ForwardedFor x_forwarded_for = ForwardedFor::off;
  friend bool operator==(const Headers&, const Headers&) = default;
};

// `admin.tls:` of the admin address: the word `internal`, or PEM files, read again by each reload.
struct AdminTls {
  std::filesystem::path certificate = {}, key = {};
  bool internal = false;  // a certificate that the authority of tls_inspection.ca signs
  bool is_on() const { return internal || !certificate.empty(); }
  friend bool operator==(const AdminTls&, const AdminTls&) = default;
};

// `admin:` endpoints of the program's own HTTP server, for its operators.
struct Admin {
  std::optional<std::string> address = "127.0.0.1:9128";  // /healthz /readyz /metrics; nothing: off
  AdminTls tls;                                           // not is_on(): plain
  std::vector<std::string> hosts;                         // names it may be asked by, beside localhost and IP addresses
  bool without_tls = false;  // an address that others can reach may be plain: without the API
  bool edits = false;        // devices, groups, schedules and lists may be edited over the API
  std::filesystem::path
      users_file;  // people who sign in with a password; read again by each reload; empty: tokens alone
  std::filesystem::path control_socket = "/run/bloomwall/control.sock";  // for `bloomwall reload`; empty: off
  friend bool operator==(const Admin&, const Admin&) = default;
};

// `tls_inspection.ca:` the authority that signs for intercepted hosts. PEM files, read again by each reload.
struct InspectionCa {
  std::filesystem::path certificate = "/etc/bloomwall/ca/ca.crt", key = "/etc/bloomwall/ca/ca.key";
  std::filesystem::path passphrase_file;  // of the key; empty: it has none
  std::filesystem::path next;             // certificate of the authority to come, published only; empty: none
  friend bool operator==(const InspectionCa&, const InspectionCa&) = default;
};

// `tls_inspection.auto_pass:` what becomes of clients that refuse the authority's certificates.
struct AutoPass {
  enum class Hosts : std::uint8_t { off, unmarked };
  Hosts hosts = Hosts::off;          // unmarked: in mode all, hosts without URL entries pass undecrypted
  std::uint32_t after = 2;           // refusals within 60 s, 1 .. 10
  Milliseconds pass_for{3'600'000};  // `for`
  bool devices = false;              // also clients that have accepted no certificate in the last 24 h
  friend bool operator==(const AutoPass&, const AutoPass&) = default;
};

// `tls_inspection.verify:` whom to trust as an intercepted origin.
struct OriginTrust {
  std::filesystem::path ca_file;             // PEM roots; empty: the system's
  std::filesystem::path extra_ca_file;       // PEM roots beside these; empty: none
  std::filesystem::path intermediates_file;  // PEM, for origins that leave theirs out; empty: none
  // Where `bloomwall update` gets more of them: http(s) URLs and absolute paths; what it has taken is at
  // kept_intermediates() (config.h).
  std::vector<std::string> intermediates;
  std::filesystem::path crl_file;          // PEM; empty: none
  std::vector<std::string> distrust;       // SHA-256 of public keys (SPKI) in 64 hexadecimal digits, lower case
  std::filesystem::path trust_exceptions;  // empty: none
  friend bool operator==(const OriginTrust&, const OriginTrust&) = default;
};

// `tls_inspection.leaf:` the certificates made for intercepted hosts.
struct LeafCertificates {
  std::uint32_t days = 5;        // from now to their end, 1 .. 90
  std::uint32_t cache = 10'000;  // kept, whole process, 16 .. 1,000,000
  friend bool operator==(const LeafCertificates&, const LeafCertificates&) = default;
};

// `tls_inspection:` looking into HTTPS. A reload takes all of it over. What else may pass through a tunnel:
// access.opaque_tunnels.
struct TlsInspection {
  // Each includes the one before. blocked: only to show the page; urls: also hosts with URL entries; all: every host.
  enum class Mode : std::uint8_t { off, blocked, urls, all };
  enum class OnCaFailure : std::uint8_t { refuse, off };
  enum class PageFor : std::uint8_t { browsers, everyone };
  enum class Ech : std::uint8_t { intercept, pass, deny };
  enum class OnBadCertificate : std::uint8_t { page, pass };
  enum class OnFailedHandshake : std::uint8_t { page, pass };
  enum class LogUrls : std::uint8_t { blocked, all };
  Mode mode = Mode::off;
  InspectionCa ca;
  OnCaFailure on_ca_failure = OnCaFailure::refuse;
  PageFor page_for = PageFor::browsers;
  // Files of hosts that are never decrypted.
  std::vector<std::filesystem::path> never{"/usr/share/bloomwall/never-decrypt.txt"};
  std::vector<std::string> clients;        // networks whose TLS is intercepted; empty: all
  std::vector<std::string> never_clients;  // networks whose TLS is not
  std::vector<std::uint16_t> ports;        // likewise of destinations; empty: all
  bool urls_of_monitor = true;             // URL entries of filters that monitor count as those of filters that block
  AutoPass auto_pass;
  Ech ech = Ech::intercept;
  // Files of names that ClientHellos with ECH show, beside those that are built in.
  std::vector<std::filesystem::path> ech_public_names;
  OnBadCertificate on_bad_certificate = OnBadCertificate::page;
  OnFailedHandshake on_failed_handshake = OnFailedHandshake::page;
  OriginTrust verify;
  LeafCertificates leaf;
  LogUrls log_urls = LogUrls::blocked;
  bool via = false;   // Via in requests and answers inside TLS
  bool http2 = true;  // HTTP/2 inside TLS, where client and origin both speak it
  friend bool operator==(const TlsInspection&, const TlsInspection&) = default;
};

void read(MapReader& map, ListenerTls& out);
void read(MapReader& map, AdminTls& out);
void read(MapReader& map, Listener& out);
void read(MapReader& map, Answers& out);
void read(MapReader& map, Filter& out);
void read(MapReader& map, BlockPage& out);
void read(MapReader& map, Reports& out);
void read(MapReader& map, SelfPage& out);
void read(MapReader& map, Pac& out);
void read(MapReader& map, Access& out);
void read(MapReader& map, Dns& out);
void read(MapReader& map, Upstream& out);
void read(MapReader& map, Timeouts& out);
void read(MapReader& map, Limits& out);
void read(MapReader& map, AccessLog& out);
void read(MapReader& map, Log& out);
void read(MapReader& map, QueryLog& out);
void read(MapReader& map, Headers& out);
void read(MapReader& map, Admin& out);
void read(MapReader& map, InspectionCa& out);
void read(MapReader& map, AutoPass& out);
void read(MapReader& map, OriginTrust& out);
void read(MapReader& map, LeafCertificates& out);
void read(MapReader& map, TlsInspection& out);

}  // namespace bloomwall::conf
