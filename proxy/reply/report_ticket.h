// The tickets of report forms: what the block page says of one decision, sealed, so that only what was really blocked
// can be reported, and by the client that it was blocked for. A ticket is text of A-Z a-z 0-9 - _ (base64url) over
//   version 1 | seconds since 1970, u64 little-endian | the texts of ReportFacts, each u16 little-endian length, octets
//   | HMAC-SHA-256 (RFC 2104) of all that, behind the client, with a key that only this proxy has
// It holds for kHolds from its making, for that client alone. It says nothing that the page does not say, but whose
// request it was; it is no secret from its client. Nothing of it is kept here, so it holds over reloads, and over
// restarts where the key does. After a step of the clock backwards, one from the hours ahead is taken as well.
// A ticket can be used several times: reports of one page are one report.
// Also the tags with which the page of a report is asked for: others' reports cannot be found by counting.
// Threads: any; immutable. Cost: some microseconds. Fuzzed (tests/fuzz/report_form_fuzz.cc).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace bloomwall::proxy {

// What was blocked, and for whom. Longer texts are cut.
struct ReportFacts {
  static constexpr std::size_t kMaxUrl = 2000, kMaxText = 255;
  std::string url = {};         // as shown; octets that no URL has as %XX
  std::string expression = {};  // "S shop.example"; empty: none
  std::string decision_id = {}, host = {}, filter = {}, reason = {}, group = {}, user = {}, client = {};
  friend bool operator==(const ReportFacts&, const ReportFacts&) = default;
};

enum class TicketFault : std::uint8_t {
  forged,  // not made here, changed, or of another client
  late,    // older than kHolds
};

class ReportTickets {
 public:
  using Key = std::array<std::uint8_t, 32>;                        // random
  static constexpr std::int64_t kHolds = std::int64_t{24} * 3600;  // seconds
  static constexpr std::size_t kMaxTicket = 8192;                  // octets of its text

  explicit ReportTickets(const Key& key) : key_(key) {}

  // `client`: what counts as one client, such as "192.0.2.7" or, of 2001:db8:1:2::/64, "20010db800010002/64"
  // (report_client() in proxy/decision/self_request.h). `now`: seconds since 1970.
  std::string make(const ReportFacts& facts, std::string_view client, std::int64_t now) const;
  tl::expected<ReportFacts, TicketFault> open(std::string_view ticket, std::string_view client, std::int64_t now) const;

  // Of a report's page as one of its reporters sees it: "12-K7Q2..." of the first, "12.3-K7Q2..." of number 3.
  // read_page(): nothing where the tag is not the one of these numbers.
  struct Page {
    std::uint64_t report = 0;
    std::uint32_t reporter = 0;
    friend bool operator==(const Page&, const Page&) = default;
  };
  std::string page_of(const Page& page) const;
  std::optional<Page> read_page(std::string_view text) const;

 private:
  const Key key_;
};

}  // namespace bloomwall::proxy
