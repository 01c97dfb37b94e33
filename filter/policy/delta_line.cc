// SPDX-License-Identifier: Apache-2.0
#include "filter/policy/delta_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "filter/policy/entry_text.h"
#include "filter/url/address_range.h"
#include "filter/url/host.h"

namespace bloomwall::filter {
namespace {

// An escape takes three octets for one, so a line that a list may hold is longer in canonical form.
constexpr std::size_t kMaxCanonicalLine = 4 * kMaxEntryLine;

// "X example.com" names its kind; the rest is the entry. A host never is one letter followed by a blank.
std::optional<Kind> take_kind(std::string_view& text) {
  if (text.size() < 2 || (text[1] != ' ' && text[1] != '\t')) return std::nullopt;
  const auto known = std::find(kKinds.begin(), kKinds.end(), static_cast<Kind>(text[0]));
  if (known == kKinds.end()) return std::nullopt;
  text.remove_prefix(2);
  return *known;
}

// Whether the text of a URL ends in its root: "example.com/", "http://example.com/".
bool names_root(std::string_view text) {
  const std::size_t scheme = text.find("://");
  const std::size_t slash = text.find('/', scheme == std::string_view::npos ? 0 : scheme + 3);
  return slash != std::string_view::npos && slash + 1 == text.size();
}

const char* shape_of(Kind kind) {
  switch (kind) {
    case Kind::suffix:
    case Kind::exact_host:
    case Kind::subdomains:
      return "a host";
    case Kind::url:
      return "a URL whose path does not end in '/', without a query";
    case Kind::url_query:
      return "a URL with a query";
    case Kind::directory:
      return "a URL whose path ends in '/'";
    case Kind::raw:
      return "raw bytes";
    case Kind::network:
      return "an address or a range of addresses";
  }
  return "an entry";
}

// Entries that a person typed and hardly meant are refused, where nobody counts what a line did not stop.
bool is_spelt_out(std::string_view text) { return text.starts_with('.') || text.starts_with("*."); }

bool has_star_in_path(const Entry& entry) {
  return is_path_kind(entry.kind) && entry.path.find('*') != std::string_view::npos;
}

// "'a,.example' is a host that no request can have ...".
std::string no_request_text(std::string_view text) {
  return fmt::format("{} names a host that no request can have, and would match nothing; one plain host or URL a line",
                     in_quotes(text));
}

// Why the entries that `text` was read as are not taken, and what to write instead; empty where they are. Refused are
//   hosts that no request can have ("evil.example,", "a;b.example"), for nothing would ever match them;
//   a '*' in a path, which would stand for itself;
//   a URL of which only the host is left ("/#/page");
//   a top-level domain or public suffix that is added, unless it is written "*.com": it stands for everything below.
//   What takes it away takes one entry.
std::string why_not_typed(const ParsedEntry& parsed, std::string_view text, bool adds) {
  const Entry& entry = parsed.entries.front();
  if (!can_be_asked_for(entry)) return no_request_text(text);
  if (has_star_in_path(entry)) {
    return fmt::format("{} is no pattern: '*' in a path stands for itself; a path that ends in '/' is all below it",
                       in_quotes(text));
  }
  if (!is_host_kind(entry.kind) || entry.host_kind != HostKind::name) return {};
  if (text.find('#') != std::string_view::npos) {
    return fmt::format(
        "{} stands for all of {}: what follows '#' is never sent to a proxy; write the host alone if "
        "that is meant",
        in_quotes(text), entry.host);
  }
  if (!adds || is_spelt_out(text) || !is_public_suffix(entry.host)) return {};
  return fmt::format(
      "{} is a public suffix and would stop everything below it; write '*.{}' if that is meant, or "
      "'X {}' for that host alone",
      in_quotes(text), entry.host, entry.host);
}

}  // namespace

std::optional<IpAddress> address_of(const Entry& entry) {
  if (!is_host_kind(entry.kind) || entry.host_kind == HostKind::name) return std::nullopt;
  return read_address(entry.host);
}

void DeltaLineParser::parse(std::string_view line) {
  const std::size_t length = line.size();
  line = without_leading_blanks(line);
  const DeltaAnswer answer = line.front() == '+' ? DeltaAnswer::added : DeltaAnswer::removed;
  line = without_leading_blanks(line.substr(1));
  const std::optional<Kind> kind = take_kind(line);
  const std::size_t longest = kind ? kMaxCanonicalLine : kMaxEntryLine;
  if (length > longest) {
    sink_.fail(Errc::limit, fmt::format("a line of {} bytes; at most {} are read", length, longest));
  } else if (kind == Kind::raw) {
    raw(line, answer);
  } else if (line = without_comment(line); !network(line, kind, answer)) {
    entry(line, kind, answer);
  }
}

void DeltaLineParser::raw(std::string_view bytes, DeltaAnswer answer) {
  if (bytes.empty()) return sink_.fail(Errc::bad_syntax, "a raw key of no bytes; write it after 'R '");
  Entry entry;
  entry.kind = Kind::raw;
  entry.path = bytes;
  sink_.set(entry, answer);
}

// False: no network is meant.
bool DeltaLineParser::network(std::string_view text, std::optional<Kind> kind, DeltaAnswer answer) {
  if (kind && kind != Kind::network) return false;
  const RangeReading reading = read_address_range(text);
  switch (reading.outcome) {
    case RangeReading::Outcome::range:
      if (!kind && answer == DeltaAnswer::removed && reading.range.is_one_address()) {
        remove_address(reading.range.first);
      } else {
        sink_.set(reading.range, answer);
      }
      return true;
    case RangeReading::Outcome::malformed:
    case RangeReading::Outcome::unsupported:
      sink_.fail(Errc::bad_syntax, fmt::format("{}: {}", in_quotes(text), reading.reason));
      return true;
    case RangeReading::Outcome::no_range:
      break;
  }
  if (!kind) return false;
  if (const auto address = read_address(text)) {
    sink_.set(range_of(*address), answer);
  } else {
    sink_.fail(Errc::bad_syntax,
               fmt::format("kind N is {}, which {} is not", shape_of(Kind::network), in_quotes(text)));
  }
  return true;
}

// "-192.0.2.1/32" without a kind is what "-192.0.2.1" is. Who adds it so has written a range, as in a list.
void DeltaLineParser::remove_address(const IpAddress& address) {
  const std::string text = text_of(address);
  by_shape(parser_.domain(text).entries.front(), DeltaAnswer::removed);
}

void DeltaLineParser::entry(std::string_view text, std::optional<Kind> kind, DeltaAnswer answer) {
  if (std::any_of(text.begin(), text.end(), is_blank)) {
    return sink_.fail(
        Errc::bad_syntax,
        fmt::format("{} has white space inside; one entry a line, a blank in a URL is %20", in_quotes(text)));
  }
  if (text.find(kByteOrderMark) != std::string_view::npos) {
    return sink_.fail(Errc::bad_syntax,
                      fmt::format("{} has a byte order mark inside; one entry a line", in_quotes(text)));
  }
  if (kind) {
    if (const auto known = parser_.canonical(*kind, text)) {
      if (!can_be_asked_for(*known)) return sink_.fail(Errc::bad_syntax, no_request_text(text));
      return sink_.set(*known, answer);
    }
  }
  const ParsedEntry parsed = parser_.any(text);
  if (parsed.entries.empty()) return sink_.fail(Errc::bad_syntax, problem_text(parsed, text));
  if (std::string reason = why_not_typed(parsed, text, answer == DeltaAnswer::added && !kind); !reason.empty()) {
    return sink_.fail(Errc::bad_syntax, std::move(reason));
  }
  if (kind) return typed_with_kind(parsed.entries, *kind, answer, text);
  for (const Entry& found : parsed.entries) by_shape(found, answer);
}

// The text is not canonical, so a person wrote it. Several forms can't all be meant by one kind and one text.
void DeltaLineParser::typed_with_kind(std::span<const Entry> found, Kind kind, DeltaAnswer answer,
                                      std::string_view text) {
  if (found.size() > 1) {
    return sink_.fail(Errc::bad_syntax,
                      fmt::format("{} can be read in several ways; leave out the {} to mean all of them, "
                                  "or write the canonical form of one",
                                  in_quotes(text), static_cast<char>(kind)));
  }
  if (of_kind(found.front(), kind, answer, text)) return;
  sink_.fail(Errc::bad_syntax,
             fmt::format("kind {} is {}, which {} is not", static_cast<char>(kind), shape_of(kind), in_quotes(text)));
}

void DeltaLineParser::by_shape(Entry entry, DeltaAnswer answer) {
  sink_.set(entry, answer);
  if (answer != DeltaAnswer::removed || !is_host_kind(entry.kind)) return;
  // Lists of different formats give S or X for the same name; a user who removes it means both.
  entry.kind = entry.kind == Kind::suffix ? Kind::exact_host : Kind::suffix;
  sink_.set(entry, answer);
  // Nor does a user tell an address of a list of hosts from one of a list of networks.
  if (const auto address = address_of(entry)) sink_.set(range_of(*address), answer);
}

bool DeltaLineParser::of_kind(Entry entry, Kind kind, DeltaAnswer answer, std::string_view text) {
  if (kind == Kind::url && is_host_kind(entry.kind) && names_root(text)) {
    entry.kind = Kind::url;
    entry.path = "/";
    sink_.set(entry, answer);
    return true;
  }
  if (is_host_kind(kind) != is_host_kind(entry.kind)) return false;
  if (is_path_kind(kind) && kind != entry.kind) return false;
  if (is_host_kind(kind) && entry.host_kind != HostKind::name) {
    if (kind == Kind::subdomains) return false;
    kind = Kind::exact_host;  // an address has neither subdomains nor parents
  }
  entry.kind = kind;
  sink_.set(entry, answer);
  return true;
}

}  // namespace bloomwall::filter
