// SPDX-License-Identifier: Apache-2.0

#include "proxy/access/host_lists.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <system_error>
#include <utility>

#include "base/text.h"
#include "filter/url/canonical_url.h"
#include "filter/url/host.h"

namespace bloomwall::proxy {

tl::expected<BypassList, std::string> BypassList::build(const std::vector<std::string>& entries) {
  BypassList list;
  std::vector<std::string> networks;
  for (const std::string& entry : entries) {
    if (IpNetwork::parse(entry)) {
      networks.push_back(entry);
    } else if (!entry.empty() && entry.find('/') == std::string::npos) {
      std::string domain = entry;
      make_lower(domain);
      list.domains_.insert(std::move(domain));
    } else {
      return tl::unexpected(entry);
    }
  }
  auto built = CidrSet::build(networks);
  if (!built) return tl::unexpected(built.error());
  list.networks_ = *std::move(built);
  return list;
}

bool BypassList::contains(std::string_view host) const {
  if (domains_.empty() && networks_.empty()) return false;
  if (const auto address = IpAddress::parse_host(host)) return networks_.contains(*address);
  for (std::string_view rest = host; !rest.empty();) {
    if (domains_.find(rest) != domains_.end()) return true;
    rest.remove_prefix(std::min(rest.find('.'), rest.size() - 1) + 1);
  }
  return false;
}

namespace {

tl::expected<std::string, std::string> read_never_file(const std::filesystem::path& file) {
  std::error_code failed;
  if (std::filesystem::is_directory(file, failed)) {
    return tl::unexpected(fmt::format("{}: {}", file.string(), std::generic_category().message(EISDIR)));
  }
  std::ifstream in(file, std::ios::binary);
  if (!in) return tl::unexpected(fmt::format("{}: {}", file.string(), std::generic_category().message(errno)));
  std::string text;
  std::string piece(std::size_t{1} << 16, '\0');
  while (in.read(piece.data(), static_cast<std::streamsize>(piece.size())) || in.gcount() > 0) {
    text.append(piece, 0, static_cast<std::size_t>(in.gcount()));
    if (text.size() > NeverList::kMostBytes) {
      return tl::unexpected(fmt::format("{}: larger than {} MiB", file.string(), NeverList::kMostBytes >> 20));
    }
  }
  if (in.bad()) return tl::unexpected(fmt::format("{}: cannot be read", file.string()));
  return text;
}

// An entry's host as the canonicaliser wants it: IPv6 in brackets.
std::string bracketed(std::string_view host) {
  const bool bare = !host.starts_with('[') && host.find(':') != host.rfind(':');
  return bare ? fmt::format("[{}]", host) : std::string(host);
}

// Why a line is no entry; empty where nothing particular can be said.
std::string mistake_in(std::string_view host) {
  if (host.empty()) return "a host is missing";
  if (host.find("://") != std::string_view::npos) return "a URL; write its host alone";
  if (host.starts_with("*.") || host.starts_with('.')) {
    return fmt::format("a wildcard; write {}, which covers everything below it", host.substr(host.find('.') + 1));
  }
  if (host.find('/') != std::string_view::npos) return "neither networks nor paths are taken, hosts alone";
  if (host.find_first_of(" \t") != std::string_view::npos) return "one host a line, and # before a reason";
  return {};
}

struct NeverLine {
  std::string host, reason;
  bool covers_subdomains = true;
};
tl::expected<NeverLine, std::string> read_never_line(std::string_view line, filter::Canonicaliser& canonicaliser) {
  NeverLine out;
  std::string_view host = without_comment(line);
  // Of an entry's line the comment is the reason.
  if (const std::size_t mark = line.find('#', host.size()); mark != std::string_view::npos) {
    out.reason = trim(line.substr(mark + 1));
  }
  if (host.starts_with('=')) {
    out.covers_subdomains = false;
    host = trim(host.substr(1));
  }
  if (auto why = mistake_in(host); !why.empty()) return tl::unexpected(std::move(why));
  const std::string text = bracketed(host);  // `canonical` may point into it
  const filter::CanonicalUrl& canonical = canonicaliser.host(text);
  if (!canonical.has_canonical || canonical.action == filter::UrlAction::reject) {
    return tl::unexpected(fmt::format("no host: {}", filter::to_string(canonical.reason)));
  }
  out.host = canonical.host;
  if (canonical.host_kind != filter::HostKind::name) out.covers_subdomains = false;
  if (out.covers_subdomains && filter::is_top_level_domain(out.host)) {
    return tl::unexpected(fmt::format("{} is a top-level domain: everything below it would be exempt", out.host));
  }
  return out;
}

}  // namespace

std::string NeverList::Entry::place() const { return fmt::format("{}:{}", *file, line); }

tl::expected<NeverList, std::vector<std::string>> NeverList::load(const std::vector<std::filesystem::path>& files) {
  NeverList list;
  std::vector<std::string> errors;
  for (const std::filesystem::path& file : files) {
    auto text = read_never_file(file);
    if (text) {
      list.add(*text, file.string(), errors);
    } else {
      errors.push_back(std::move(text).error());
    }
  }
  if (!errors.empty()) return tl::unexpected(std::move(errors));
  return list;
}

void NeverList::add(std::string_view text, const std::string& name, std::vector<std::string>& errors) {
  const std::string* const file = names_.emplace_back(std::make_unique<const std::string>(name)).get();
  filter::Canonicaliser canonicaliser;
  LineWalk lines(text);
  while (lines.next()) {
    const std::string_view line = trim(lines.line());
    if (line.empty() || is_comment(line)) continue;
    const auto fail = [&](std::string_view why) {
      errors.push_back(fmt::format("{}:{}: {}", name, lines.number(), why));
    };
    if (lines.too_long()) {
      fail("a line over 64 KiB");
      continue;
    }
    auto read = read_never_line(line, canonicaliser);
    if (!read) {
      fail(read.error());
      continue;
    }
    if (size() >= kMostEntries) {
      fail(fmt::format("more than {} entries", kMostEntries));
      return;
    }
    Entry entry{.file = file,
                .line = lines.number(),
                .host = read->host,
                .reason = std::move(read->reason),
                .covers_subdomains = read->covers_subdomains};
    Entries& entries = entry.covers_subdomains ? subdomains_ : hosts_;
    entries.try_emplace(std::move(read->host), std::move(entry));
  }
}

const NeverList::Entry* NeverList::find(std::string_view host) const {
  if (const auto own = hosts_.find(host); own != hosts_.end()) return &own->second;
  if (subdomains_.empty() || host.starts_with('[')) return nullptr;
  for (;;) {
    if (const auto at = subdomains_.find(host); at != subdomains_.end()) return &at->second;
    const std::size_t dot = host.find('.');
    if (dot == std::string_view::npos) return nullptr;
    host.remove_prefix(dot + 1);
  }
}

std::vector<const NeverList::Entry*> NeverList::entries() const {
  std::vector<const Entry*> out;
  out.reserve(size());
  for (const Entries* some : {&subdomains_, &hosts_}) {
    for (const auto& [host, entry] : *some) out.push_back(&entry);
  }
  return out;
}

}  // namespace bloomwall::proxy
