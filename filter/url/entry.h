// One entry as a person types it (a plain list, a delta, an allow list), turned into what is stored or hashed.
//   example.com   *.example.com   .example.com   ||example.com^     suffix
//   |example.com^                                                    exact host
//   ||*.example.com^                                                 subdomains alone
//   192.0.2.1   2001:db8::1   [2001:db8::1]   http://192.0.2.1/      exact host: an address has no subdomains
//   http://example.com/   example.com:8080                           suffix: ports do not count
//   http://example.com/a/b.html   example.com/a/b.html               URL
//   http://example.com/a/b.html?q                                    URL with query
//   http://example.com/a/                                            directory
// An entry whose path is ambiguous gives one Entry for each form, all of them URLs, queries or directories: where such
// a form is the root, it is the URL "/" and not the whole host, which nobody asked for.
// A host that is a number is an address in four decimal parts without leading zeros; "85285", "10.1" and "010.0.0.1",
// which browsers read as addresses, too, have no host unless a scheme stands before them.
// A URL whose scheme is mistyped ("http//example.com", "1http://example.com") is none.
// A lone '?' is no query. Names beyond ASCII are converted (UTS 46).
// What text_of() gives is canonical already and read back by canonical(), which never decodes nor resolves again: an
// alternative form may hold a segment ".." that is a name, and an escaped separator that is data.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "filter/kind.h"
#include "filter/url/canonical_url.h"

namespace bloomwall::filter {

struct Entry {
  Kind kind = Kind::suffix;
  HostKind host_kind = HostKind::name;
  std::string_view host = {};  // canonical; empty for raw
  std::string_view path =
      {};  // canonical path of U, Q, D (U and Q without a trailing slash, but for "/"); raw: the bytes
  std::string_view query = {};  // Q only
  friend bool operator==(const Entry&, const Entry&) = default;
};
// "example.com", "example.com/a/b.html?q", "example.com/a/": how an entry is shown and how deltas and allow lists
// match. A raw entry is its bytes.
std::string text_of(const Entry& entry);

// The whole host of an entry for a URL: a suffix, or the address.
inline Entry whole_host_of(const Entry& entry) {
  return {.kind = entry.host_kind == HostKind::name ? Kind::suffix : Kind::exact_host,
          .host_kind = entry.host_kind,
          .host = entry.host};
}

// Whether a request may name this host. To others, such as "a,b.example", the proxy answers 400, so that they match
// nothing.
bool can_be_asked_for(const Entry& entry);

// Where several hold: empty, no_host or pattern before odd before single_label.
enum class EntryProblem : std::uint8_t {
  none,
  odd,  // taken, but a proxy would answer 400 to a request spelt like this; see url_reason
  empty,
  no_host,       // no canonical form: see url_reason
  single_label,  // taken; a bare word that stands for a whole host: of the local network, or a typing error, or a TLD
  pattern,       // wildcards, ranges or separators that no key stands for
};

struct ParsedEntry {
  EntryProblem problem = EntryProblem::none;
  UrlReason url_reason = UrlReason::none;
  std::span<const Entry> entries = {};  // empty where it was not taken; more than one where the path is ambiguous
};

// Reusable scratch; views are valid until the next call, and only while the text that was given is alive. Blanks at
// both ends do not count. Linear; allocates only while its scratch grows. Not thread-safe.
class EntryParser {
 public:
  ParsedEntry domain(std::string_view text, Kind kind = Kind::suffix);  // a bare host or address; IP addresses become X
  ParsedEntry url(std::string_view text);                               // with or without scheme
  ParsedEntry any(std::string_view text);                               // the table above, by its shape
  // The entry of that kind whose text_of() is `text`, octet for octet; nothing where no entry has that text. An address
  // is an exact host, whatever host kind was asked for, but never `subdomains`.
  std::optional<Entry> canonical(Kind kind, std::string_view text);

 private:
  ParsedEntry from(const CanonicalUrl& url);
  ParsedEntry finish(const CanonicalUrl& url) const;
  Canonicaliser canonicaliser_;
  std::vector<Entry> entries_;
  std::string bracketed_;  // an IPv6 address that was given without
};

}  // namespace bloomwall::filter
