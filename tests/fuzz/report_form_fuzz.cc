// Any octets as the body of a report form: no ticket is taken that was not made here, and what people type becomes
// plain. One that is sealed here with parts of the body comes back as it was.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "proxy/reply/report_form.h"
#include "proxy/reply/report_ticket.h"
#include "proxy/state/plain_text.h"
#include "tests/fuzz/require.h"

namespace {

using namespace bloomwall::proxy;

constexpr std::int64_t kNow = 1'800'000'000;

using bloomwall::fuzz::require;

void check_plain(std::string_view text, std::size_t most) {
  const std::string plain = plain_text(text, most);
  require(plain_text(plain, most) == plain && plain.size() <= 4 * most);
  for (const char c : plain) require(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f);
}

void check_ticket(const ReportTickets& tickets, const ReportForm& form) {
  ReportFacts facts{.url = form.ticket, .expression = form.comment, .host = form.name};
  const std::string sealed = tickets.make(facts, "192.0.2.7", kNow);
  const auto opened = tickets.open(sealed, "192.0.2.7", kNow);
  facts.url.resize(std::min(facts.url.size(), ReportFacts::kMaxUrl));
  facts.expression.resize(std::min(facts.expression.size(), ReportFacts::kMaxUrl));
  facts.host.resize(std::min(facts.host.size(), ReportFacts::kMaxText));
  require(opened.has_value() && *opened == facts && sealed.size() <= ReportTickets::kMaxTicket);
  require(!tickets.open(sealed, "192.0.2.70", kNow));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::vector<char> exact(data, data + size);
  const std::string_view body(exact.data(), exact.size());
  const ReportTickets tickets(ReportTickets::Key{7, 1, 9});
  require(!tickets.open(body, "192.0.2.7", kNow));
  require(!tickets.read_page(body));
  static_cast<void>(report_path(body, false));
  static_cast<void>(report_path(body, true));
  const auto form = read_report_form(body);
  if (!form) return 0;
  require(!tickets.open(form->ticket, "192.0.2.7", kNow));
  check_plain(form->comment, 500);
  check_plain(form->name, 64);
  check_ticket(tickets, *form);
  return 0;
}
