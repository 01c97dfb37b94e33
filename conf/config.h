// The whole configuration: one struct per YAML section, every default at its field, as load_file() returns it.
// The shipped bloomwall.yaml documents each key and equals these defaults (shipped_config_test.cc).
// Strings that name addresses, networks and ports are checked here for form only; proxy/ turns them into sockaddrs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "conf/config_error.h"

namespace bloomwall::conf {

using Milliseconds = std::chrono::milliseconds;

struct Listener {
  std::string address = "127.0.0.1:3128";  // ip:port, [ip6]:port or :port (all addresses); port 0: the kernel chooses
  friend bool operator==(const Listener&, const Listener&) = default;
};

struct Filter {
  enum class Action : std::uint8_t { block, monitor };
  enum class OnError : std::uint8_t { block, allow };
  std::string name;                // [A-Za-z0-9._-]{1,64}, unique
  std::filesystem::path file;
  std::filesystem::path delta;     // empty: none
  Action action = Action::block;
  int status = 403;                // 403 or 451
  std::string legal_link;          // status 451: the Link of RFC 7725 ("" = none)
  OnError on_error = OnError::block;
  friend bool operator==(const Filter&, const Filter&) = default;
};

struct BlockPage {
  std::filesystem::path html_template;  // empty: the built-in page
  std::string contact;                  // mail address or URL shown on the page; empty: none
  std::string report_url;               // "{id}" and "{url}" are replaced, percent-encoded; empty: no link
  friend bool operator==(const BlockPage&, const BlockPage&) = default;
};

struct Access {
  enum class SniMismatch : std::uint8_t { allow, log, deny };
  std::vector<std::string> clients{"127.0.0.0/8", "::1/128"};
  std::vector<std::uint16_t> connect_ports{443};  // empty: any
  // loopback, private, link_local, shared, multicast, unspecified, or a CIDR
  std::vector<std::string> deny_destinations{"loopback", "private", "link_local", "shared", "multicast", "unspecified"};
  std::vector<std::string> allow_destinations;
  SniMismatch sni_mismatch = SniMismatch::allow;
  bool strict_path = false;
  friend bool operator==(const Access&, const Access&) = default;
};

struct Dns {
  std::vector<std::string> servers;            // ip or ip:port; empty: the system's
  std::map<std::string, std::string> hosts;    // lower-case name -> address
  std::uint32_t cache_entries = 65536;         // 0 .. 10,000,000
  friend bool operator==(const Dns&, const Dns&) = default;
};

struct Upstream {
  std::optional<std::string> parent;  // host:port
  friend bool operator==(const Upstream&, const Upstream&) = default;
};

struct Timeouts {
  Milliseconds request_header{10'000};
  Milliseconds connect{10'000};
  Milliseconds response_header{60'000};
  Milliseconds idle{60'000};
  Milliseconds tunnel_idle{600'000};
  Milliseconds drain{30'000};
  friend bool operator==(const Timeouts&, const Timeouts&) = default;
};

struct Limits {
  std::uint64_t request_header = 64 * 1024;    // bytes, 1KiB .. 1MiB
  std::uint64_t response_header = 256 * 1024;  // bytes, 1KiB .. 16MiB
  std::uint32_t header_fields = 256;           // 16 .. 10000
  std::uint32_t client_connections = 20'000;   // whole process
  std::uint32_t connections_per_client = 0;    // 0: no limit
  friend bool operator==(const Limits&, const Limits&) = default;
};

struct AccessLog {
  enum class Format : std::uint8_t { json, combined, squid };
  std::string file = "stdout";  // a path, stdout, stderr or off
  Format format = Format::json;
  bool strip_query = false;     // write URLs without what follows '?'
  std::uint32_t queue_lines = 65536;  // waiting for a slow disk; more are dropped and counted
  friend bool operator==(const AccessLog&, const AccessLog&) = default;
};

struct Log {
  enum class Level : std::uint8_t { debug, info, warning, error };
  Level level = Level::info;
  std::string file = "stderr";  // a path, stderr or stdout
  AccessLog access;
  friend bool operator==(const Log&, const Log&) = default;
};

struct Headers {
  enum class ForwardedFor : std::uint8_t { off, append, delete_field };  // YAML: off | append | delete
  bool via = true;
  std::string via_name = "bloomwall";  // the pseudonym in Via and Proxy-Status: a token
  ForwardedFor x_forwarded_for = ForwardedFor::off;
  friend bool operator==(const Headers&, const Headers&) = default;
};

struct Admin {
  std::optional<std::string> address = "127.0.0.1:9128";        // null: off
  std::filesystem::path control_socket = "/run/bloomwall/control.sock";  // for `bloomwall reload`; empty: off
  friend bool operator==(const Admin&, const Admin&) = default;
};

struct TlsInspection {
  enum class Mode : std::uint8_t { off };
  Mode mode = Mode::off;
  friend bool operator==(const TlsInspection&, const TlsInspection&) = default;
};

struct Config {
  std::vector<Listener> listeners{Listener{}};
  std::uint32_t workers = 0;  // threads; 0 = auto: one a processor
  std::vector<Filter> filters;
  std::vector<std::filesystem::path> allow_lists;
  BlockPage block_page;
  Access access;
  Dns dns;
  Upstream upstream;
  Timeouts timeouts;
  Limits limits;
  Log log;
  Headers headers;
  Admin admin;
  TlsInspection tls_inspection;
  friend bool operator==(const Config&, const Config&) = default;
};

// Every error of the file, in order of lines; relative paths in it are resolved against the file's folder.
tl::expected<Config, std::vector<ConfigError>> load_file(const std::filesystem::path& path);
tl::expected<Config, std::vector<ConfigError>> load_text(const std::string& yaml, const std::string& name,
                                                         const std::filesystem::path& folder = {});

// Keys of which a change takes effect only after a restart ("listeners", "workers", ...), compared between two loads.
std::vector<std::string> needs_restart(const Config& running, const Config& loaded);

}  // namespace bloomwall::conf
