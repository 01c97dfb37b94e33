// SPDX-License-Identifier: Apache-2.0
#include "proxy/reply/report_ticket.h"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <optional>
#include <span>

#include "base/encoding.h"
#include "base/text.h"
#include "base/units.h"

namespace bloomwall::proxy {
namespace {

using Mac = std::array<std::uint8_t, 32>;

constexpr char kTicketVersion = 1;
constexpr std::string_view kTicketLabel = "report ticket", kPageLabel = "report page";
constexpr std::size_t kTagBytes = 10;
constexpr std::array kFactTexts{&ReportFacts::url,   &ReportFacts::expression, &ReportFacts::decision_id,
                                &ReportFacts::host,  &ReportFacts::filter,     &ReportFacts::reason,
                                &ReportFacts::group, &ReportFacts::user,       &ReportFacts::client};

std::size_t most_of(std::string ReportFacts::* text) {
  const bool is_long = text == &ReportFacts::url || text == &ReportFacts::expression;
  return is_long ? ReportFacts::kMaxUrl : ReportFacts::kMaxText;
}

// No two pairs of texts have the same MAC: each is preceded by its length.
Mac mac_of(const ReportTickets::Key& key, std::string_view label, std::string_view client, std::string_view text) {
  std::string all;
  all.reserve(label.size() + client.size() + text.size() + 48);
  for (const std::string_view part : {label, client, text})
    all.append(std::to_string(part.size())).append(":").append(part);
  Mac mac{};
  unsigned size = mac.size();
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), reinterpret_cast<const unsigned char*>(all.data()),
       all.size(), mac.data(), &size);
  return mac;
}

void append_little_endian(std::string& out, std::uint64_t value, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) out.push_back(static_cast<char>(value >> (8 * i) & 0xffU));
}

// Nothing where there is not enough.
std::optional<std::uint64_t> take_little_endian(std::string_view& text, std::size_t bytes) {
  if (text.size() < bytes) return std::nullopt;
  std::uint64_t value = 0;
  for (std::size_t i = bytes; i-- > 0;) value = value << 8U | static_cast<std::uint8_t>(text[i]);
  text.remove_prefix(bytes);
  return value;
}

std::optional<ReportFacts> read_facts(std::string_view text) {
  ReportFacts facts;
  for (const auto member : kFactTexts) {
    const auto size = take_little_endian(text, 2);
    if (!size || *size > text.size() || *size > most_of(member)) return std::nullopt;
    facts.*member = text.substr(0, *size);
    text.remove_prefix(*size);
  }
  if (!text.empty()) return std::nullopt;
  return facts;
}

}  // namespace

std::string ReportTickets::make(const ReportFacts& facts, std::string_view client, std::int64_t now) const {
  std::string text(1, kTicketVersion);
  append_little_endian(text, static_cast<std::uint64_t>(now), 8);
  for (const auto member : kFactTexts) {
    const std::string_view value = std::string_view(facts.*member).substr(0, most_of(member));
    append_little_endian(text, value.size(), 2);
    text.append(value);
  }
  const Mac mac = mac_of(key_, kTicketLabel, client, text);
  text.append(reinterpret_cast<const char*>(mac.data()), mac.size());
  return to_base64url(text);
}

tl::expected<ReportFacts, TicketFault> ReportTickets::open(std::string_view ticket, std::string_view client,
                                                           std::int64_t now) const {
  const tl::unexpected kForged(TicketFault::forged);
  const auto octets = ticket.size() > kMaxTicket ? std::nullopt : from_base64url(ticket);
  if (!octets || octets->size() < sizeof(Mac)) return kForged;
  std::string_view text(*octets);
  const std::string_view said = text.substr(text.size() - sizeof(Mac));
  text.remove_suffix(sizeof(Mac));
  const Mac mac = mac_of(key_, kTicketLabel, client, text);
  if (CRYPTO_memcmp(mac.data(), said.data(), mac.size()) != 0) return kForged;
  const auto version = take_little_endian(text, 1), made = take_little_endian(text, 8);
  if (!made || version != static_cast<std::uint64_t>(kTicketVersion)) return kForged;
  const auto at = static_cast<std::int64_t>(*made);
  if (at <= now - kHolds || at >= now + kHolds) return tl::unexpected(TicketFault::late);
  auto facts = read_facts(text);
  if (!facts) return kForged;
  return *std::move(facts);
}

std::string ReportTickets::page_of(const Page& page) const {
  std::string name = std::to_string(page.report);
  if (page.reporter != 0) name += fmt::format(".{}", page.reporter);
  const Mac mac = mac_of(key_, kPageLabel, {}, name);
  return fmt::format("{}-{}", name, to_hex(std::span(mac).first<kTagBytes>()));
}

std::optional<ReportTickets::Page> ReportTickets::read_page(std::string_view text) const {
  constexpr std::uint64_t kMost = ~std::uint32_t{0};
  std::string_view name = text.substr(0, text.find('-'));
  const auto report = parse_integer(next_part(name, '.'));
  const auto reporter = name.empty() ? std::optional<std::uint64_t>(0) : parse_integer(name);
  if (!report || *report == 0 || !reporter || *reporter > kMost) return std::nullopt;
  const Page page{.report = *report, .reporter = static_cast<std::uint32_t>(*reporter)};
  const std::string wanted = page_of(page);
  if (wanted.size() != text.size() || CRYPTO_memcmp(wanted.data(), text.data(), text.size()) != 0) return std::nullopt;
  return page;
}

}  // namespace bloomwall::proxy
