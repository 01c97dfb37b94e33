// Fetches one list by HTTP(S) into a file, with libcurl. Conditional: what has not changed since is not sent again.
//   redirects      at most 5, to https alone (to http too where the digest is known); none where a secret is sent
//   proxy          the one that is given, or none: variables of the environment count for nothing
//   most_bytes     as unpacked from Content-Encoding; more ends the fetch, and so does what goes on and unpacks to
//                  nothing, or a page of more than 1 MiB that says an error
//   time           `timeout` in all, 30 s to connect, 60 s without an octet
// Secrets (header_file, credentials) stand in no message.
// Blocking. Threads: one at a time for each call; curl is set up once a process, by the first.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <tl/expected.hpp>

#include "base/units.h"
#include "conf/config.h"

namespace bloomwall::proxy {

// The way to the servers of lists.
struct FetchWay {
  std::string proxy = {};                        // a URL; empty: none
  std::string proxy_login = {};                  // user:password; empty: none
  std::filesystem::path proxy_ca = {}, ca = {};  // PEM; empty: the system's
};
// Of `update` and `upstream`. Error: a file of credentials that cannot be read or that others may read.
tl::expected<FetchWay, std::string> fetch_way(const conf::Config& settings);

struct FetchRequest {
  std::string url = {};
  std::string etag = {}, last_modified = {};  // of the copy that is there; empty: none
  std::string secret_header = {};             // "Name: value"; empty: none
  bool allows_http = false;
  std::uint64_t most_bytes = 0;
  Milliseconds timeout{0};
  const std::atomic<bool>* stop = nullptr;
};

struct Fetched {
  bool is_unchanged = false;  // nothing was written
  std::string etag = {}, last_modified = {};
  // Nothing says that all of it has come: no length, no chunks, no compression, no end of a stream of HTTP/2.
  bool may_be_cut = false;
};

struct FetchFailure {
  enum class Kind : std::uint8_t { failed, too_large, stopped } kind = Kind::failed;
  std::string what = {};
  std::int64_t retry_after = 0;  // seconds; 0: the server did not say
};

// Writes the body to `file`, which is open and empty.
tl::expected<Fetched, FetchFailure> fetch(const FetchRequest& request, const FetchWay& way, int file);

// The one line of a file that holds a secret. Error: it cannot be read, others may read it, or it has more than a line.
tl::expected<std::string, std::string> read_secret_line(const std::filesystem::path& file);

}  // namespace bloomwall::proxy
