// Turns a URL, an authority or a host as a client or a list spelt it into the one canonical form that filters are asked
// about, plus, for the rare ambiguous path, the forms other origins would read (at most kMaxForms, besides those of
// origins to which '\' is data), for a path with parameters those of origins that take these away, and those of what a
// server hands to the next. At most kMaxAsked are asked in all; where there are more, the URL is rejected.
// Rules: the numbered steps in canonical_url.cc; published vectors in tests/data/canonical_urls.tsv.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace bloomwall::filter {

inline constexpr std::size_t kMaxForms = 8;
inline constexpr std::size_t kMaxAsked = 32;

enum class UrlAction : std::uint8_t { lookup, reject };

// Why a URL is rejected (the proxy answers 400) or has no canonical form at all. The first reason found is kept.
enum class UrlReason : std::uint8_t {
  none,
  empty,           // nothing left after trimming
  control_octet,   // TAB, CR or LF inside
  unknown_scheme,  // not http, https, ws, wss, ftp, or not followed by "//"
  backslash,       // '\' in scheme or authority
  userinfo,        // "user@"
  bad_port,        // not a number up to 65535
  empty_host,
  escaped_host,       // percent-escapes in the host
  separator_in_host,  // / \ ? @ : [ ] once decoded
  bad_idn,            // not UTF-8, or not allowed by UTS 46
  odd_dots,           // leading or doubled dots
  bad_ipv4,           // ends in a number but is not an IPv4 address
  bad_ipv6,
  bad_host_octet,  // an octet that no host name has
  host_too_long,   // over 253 octets, or a label over 63
  odd_escape,      // "%uXXXX" in the path, which some servers decode
  many_readings,   // more than kMaxAsked
};
const char* to_string(UrlReason reason);

enum class HostKind : std::uint8_t { name, ipv4, ipv6 };

// One reading of path and query. Views live as long as the CanonicalUrl they belong to.
struct UrlForm {
  std::string_view path = "/";  // canonical, starts with '/'
  std::string_view query = {};  // without '?'; empty also where there is a lone '?'
  bool has_query_mark = false;
};

// The result of Canonicaliser; cheap views, no ownership. Valid until the next call on the same Canonicaliser, and only
// while the text that was given is alive (an already canonical URL is not copied).
struct CanonicalUrl {
  UrlAction action = UrlAction::reject;
  UrlReason reason = UrlReason::empty;
  bool has_canonical = false;  // false: nothing below means anything
  HostKind host_kind = HostKind::name;
  std::uint16_t port = 0;  // 0: none given, or an empty one
  std::string_view scheme = {};
  std::string_view host = {};           // lower case, no trailing dot; IPv4 dotted, IPv6 in brackets as in RFC 5952
  std::span<const UrlForm> forms = {};  // forms[0] is the primary one; never empty where has_canonical
  // More readings lie behind the forms. First the literal ones, of servers to which an escaped '\' is an octet like any
  // other: a request is asked in them, too, and each gets its own verdict. Then the bare ones, of servers that take a
  // segment's parameters ("/a;x=1/b", "/..;/") away before they look at the path. A request is asked in them, too; an
  // entry means what it says, and neither make a path ambiguous. The last `handed_on_forms` of the bare ones are of
  // servers behind a server ("//x/a", "/a%23", "/a%20", "/a%2>b": forms.h); all that is said of bare ones holds for
  // them.
  std::uint8_t literal_forms = 0;
  std::uint8_t bare_forms = 0;
  std::uint8_t handed_on_forms = 0;
  std::span<const UrlForm> asked() const { return {forms.data(), forms.size() + literal_forms + bare_forms}; }
  bool is_bare(std::size_t form) const { return form >= forms.size() + literal_forms; }

  // "scheme://host/path?query" of one form that is asked, for people and tests; "!" where there is no canonical form.
  std::string text(std::size_t form = 0) const;
  std::string expression(std::size_t form = 0) const;  // the same without "scheme://"
};

// Turns spellings into canonical forms; one per thread or connection, reused for every URL. Time is linear in the
// length of the URL whatever its bytes. A URL that is canonical already is neither copied nor takes memory; for others
// scratch space is made once and kept, so that after the first few calls nothing is allocated (but by ICU, for hosts
// with bytes >= 0x80). Nor is a canonical path copied, whatever its host. Moving it ends the validity of its
// results. Not thread-safe.
class Canonicaliser {
 public:
  Canonicaliser();
  ~Canonicaliser();
  Canonicaliser(Canonicaliser&&) noexcept;
  Canonicaliser& operator=(Canonicaliser&&) noexcept;

  // An absolute URL, or scheme-less "host[:port]/path" (http is then assumed). Steps 1 to 15.
  const CanonicalUrl& url(std::string_view raw);
  // A bare host: the name in a TLS ClientHello, a Host field, the host of a CONNECT authority. Steps 7 to 11; path "/".
  // Brackets are expected around IPv6 literals. Nothing is trimmed: a blank is an octet that no host name has.
  const CanonicalUrl& host(std::string_view raw);

 private:
  friend struct CanonicaliserAccess;  // tests take the slow path with canonical URLs too
  struct Scratch;
  enum class Paths : std::uint8_t { taken_where_canonical, read_in_full };
  const CanonicalUrl& url_the_long_way(std::string_view raw, Paths paths);
  const CanonicalUrl& host_the_long_way(std::string_view raw);
  bool take_canonical_path(std::string_view path_and_query);
  void reject(UrlReason reason);
  Scratch& scratch();
  UrlForm& accept(std::string_view scheme, std::string_view host);  // its one form, which is to be written

  CanonicalUrl result_;
  std::array<UrlForm, kMaxAsked> forms_;
  std::unique_ptr<Scratch> scratch_;  // null until the first URL that is not canonical
};

// Steps 1 to 6: trims a URL and cuts it into scheme, host, port and what follows. The text is split before anything is
// decoded, so an escaped separator never moves a border.
// Linear; copies (into `cleaned`) only where TAB, CR or LF stand inside.
struct SplitUrl {
  bool usable = false;                 // false: there is no canonical form, and only `reason` means anything
  UrlReason reason = UrlReason::none;  // the first one found; a usable URL may have one too
  std::string_view scheme;             // one of the five, lower case, static
  std::string_view host;               // as spelt, with its brackets
  std::uint16_t port = 0;
  std::string_view path_and_query;  // as spelt
  std::string_view rest;            // the same without the path's first slash
};

// Views into `raw` or `cleaned`.
SplitUrl split_url(std::string_view raw, std::string& cleaned);

}  // namespace bloomwall::filter
