// SPDX-License-Identifier: Apache-2.0
#include "proxy/tls/trust_exceptions.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>

#include "base/encoding.h"
#include "base/ip.h"
#include "base/text.h"

namespace bloomwall::proxy {
namespace {

constexpr std::size_t kMaxHost = 253;

// The host as it is compared: lower case, addresses as IpAddress writes them. Empty where it is none.
std::string host_of(std::string_view word) {
  std::string host(word);
  make_lower(host);
  if (const auto address = IpAddress::parse(host)) return address->text();
  const auto is_fit = [](char c) { return is_alpha(c) || is_digit(c) || c == '-' || c == '_' || c == '.'; };
  const bool fits = !host.empty() && host.size() <= kMaxHost && std::all_of(host.begin(), host.end(), is_fit) &&
                    host.front() != '.' && host.back() != '.' && host.find("..") == std::string::npos;
  return fits ? host : std::string();
}

template <typename Number>
bool read_number(std::string_view text, Number& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}

// The end of a day that is written YYYY-MM-DD.
std::optional<std::int64_t> end_of_day(std::string_view text) {
  constexpr std::size_t kSize = 10, kMonthAt = 5, kDayAt = 8;
  int year = 0;
  unsigned month = 0, day = 0;
  if (text.size() != kSize || text[kMonthAt - 1] != '-' || text[kDayAt - 1] != '-') return std::nullopt;
  if (std::count_if(text.begin(), text.end(), is_digit) != kSize - 2) return std::nullopt;
  if (!read_number(text.substr(0, 4), year) || !read_number(text.substr(kMonthAt, 2), month) ||
      !read_number(text.substr(kDayAt, 2), day)) {
    return std::nullopt;
  }
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(month), std::chrono::day(day)};
  if (!date.ok()) return std::nullopt;
  return std::chrono::seconds((std::chrono::sys_days(date) + std::chrono::days(1)).time_since_epoch()).count();
}

std::optional<KeyHash> key_hash_of_base64(std::string_view text) {
  const auto octets = from_base64(text);
  KeyHash hash{};
  if (!octets || octets->size() != hash.size()) return std::nullopt;
  std::ranges::copy(*octets, hash.begin());
  return hash;
}

}  // namespace

std::optional<KeyHash> parse_key_hash(std::string_view text) {
  constexpr std::string_view kChromium = "sha256/", kCurl = "sha256//";
  if (text.starts_with(kCurl) && text.size() == kCurl.size() + 44) return key_hash_of_base64(text.substr(kCurl.size()));
  if (text.starts_with(kChromium)) return key_hash_of_base64(text.substr(kChromium.size()));
  return parse_hex<std::tuple_size_v<KeyHash>>(text);
}

tl::expected<TrustExceptions, std::string> TrustExceptions::parse(std::string_view text, std::string_view file) {
  TrustExceptions out;
  for (LineWalk lines(text); lines.next();) {
    std::string_view rest = without_comment(lines.line());
    if (rest.empty()) continue;
    const auto wrong = [&](std::string_view what) {
      return tl::unexpected(fmt::format("{}:{}: {}", file, lines.number(), what));
    };
    const std::string host = host_of(next_word(rest));
    if (host.empty()) return wrong("expected one host name or address first: no wildcard, port or brackets");
    const auto key = parse_key_hash(next_word(rest));
    if (!key) return wrong("expected the SHA-256 of a public key second: 64 hexadecimal digits, or sha256/ and base64");
    const auto end = end_of_day(next_word(rest));
    if (!end) return wrong("expected the last day of the exception third, as YYYY-MM-DD");
    if (!rest.empty()) return wrong("expected nothing behind the last day; a reason begins with #");
    out.by_host_.emplace(host, Accepted{*key, *end});
  }
  return out;
}

std::optional<std::int64_t> TrustExceptions::end_of(const std::string& host, const KeyHash& key,
                                                    std::int64_t now) const {
  std::optional<std::int64_t> end;
  const auto [first, last] = by_host_.equal_range(host);
  for (auto at = first; at != last; ++at) {
    if (at->second.key == key && at->second.end > now) end = std::max(end.value_or(0), at->second.end);
  }
  return end;
}

}  // namespace bloomwall::proxy
