// One report that a page was blocked by mistake. As JSON, in the state and in answers of the API:
//   {"id":12,"state":"open","url":"http://shop.example/a","host":"shop.example","filter":"ads","reason":"listed",
//    "expression":"S shop.example","group":"pupils","client":"192.0.2.7","user":null,"decision":"7K3M...",
//    "comment":"it is a shop","name":"Anna","first":"2026-11-23T08:00:00Z","last":"...","count":2,
//    "decided":null,"reviewer":null,"words":null,"exception":null,"until":null,"until_build":false}
// Reports of the same URL, filter and group are one while it is open, with "reporters", the first kMostReporters of
// them: each with client, user, decision, comment and name of its own, and how often ("count") it was reported by that
// one; those of the report are the first one's. Where it is accepted for some of them alone, the others are "moved" to
// another report, which stays open. "filter" is empty where none has blocked it (`otherwise:
// deny`, `bloomwall deny`). "client" and "user" are null, a network or a pseudonym, and URL and expression have no
// query, where no more may be written (proxy/query_log/written_form.h). Of one that is not open: "decided", "reviewer",
// and "words" for whoever has reported it; accepted: "exception" is the number of the exception that was made, "until"
// its end.
//   open -> accepted -> cured      accepted until a build, and a build does not list it any more
//        -> rejected
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "filter/policy/overrides.h"
#include "filter/url/address_range.h"
#include "proxy/state/time_text.h"

namespace bloomwall::proxy {

// One of those who have reported the same; the limits of texts are those of ReportItem.
struct Reporter {
  std::uint32_t number = 0;  // in the links of pages (report_ticket.h); another one than all others of the report
  std::string client = {}, user = {}, decision = {}, comment = {}, name = {};
  std::int64_t last = 0;
  std::uint64_t count = 1;
};

struct ReportItem {
  // Octets, but for the two that people type.
  static constexpr std::size_t kMaxUrl = 2000, kMaxHost = 255, kMaxLabel = 64, kMaxClient = 64, kMaxUser = 255;
  static constexpr std::size_t kMaxDecision = 32, kMaxWords = 500;
  static constexpr std::size_t kMaxComment = 500, kMaxName = 64;  // characters
  static constexpr std::size_t kMostReporters = 20;               // with words of their own
  static constexpr std::uint32_t kOneOfMany = 0xffff;             // Reporter::number of all who come behind these
  static constexpr std::size_t kMostOpen = 1000, kMostClosed = 2000;
  static constexpr std::int64_t kKept = std::int64_t{90} * 24 * 3600;  // seconds, once it is no longer open

  enum class State : std::uint8_t { open, accepted, rejected, cured };

  std::uint64_t id = 0;
  State state = State::open;
  std::string url, host, filter, reason, expression, group, client, user, decision;
  std::string comment, name;         // plain_text()
  std::int64_t first = 0, last = 0;  // seconds since 1970
  std::uint64_t count = 1;           // how often it was reported
  std::int64_t decided = 0;          // likewise; 0: it is open
  std::string reviewer, words;       // who has decided; what that one says of it
  std::uint64_t exception = 0;       // accepted: 0 never
  std::int64_t until = kNoEnd;       // likewise
  bool until_build = false;          // likewise
  std::vector<Reporter> reporters;   // none is empty but where the report was stored by an older program
  std::uint64_t moved = 0;           // the report of those who are not of this one any more; 0: there are none
  std::uint32_t asker = 0;           // of add_report(): the number of the one who has just reported it; not kept

  const Reporter* find(std::uint32_t number) const;  // nullptr: none
};
const char* to_string(ReportItem::State state);
std::optional<ReportItem::State> report_state_of(std::string_view text);

// Would be one, while the first is open.
bool is_about_the_same(const ReportItem& a, const ReportItem& b);

// The reporter that `report`, which nobody else has reported, is of.
Reporter reporter_of(const ReportItem& report);
// Adds one that is_about_the_same(), and sets `asker`. The same client and user is the same reporter, whose words the
// newest are.
void join_report(ReportItem& report, const ReportItem& newer);
// Whether an exception opens the page for a reporter (nullptr: one of many) of that report.
bool opens_for(const filter::Override& made, const ReportItem& report, const Reporter* reporter);
// Takes out those for whom it does not, as a report that is open; nothing: it opens it for all, or for none.
std::optional<ReportItem> split_report(ReportItem& report, const filter::Override& made);

nlohmann::ordered_json to_json(const ReportItem& report);
tl::expected<ReportItem, std::string> report_from(const nlohmann::ordered_json& json);

// What an exception for it would be for, as an allow list has it: the URL or the directory that the filter lists, where
// that is an entry for a URL; else the host. Empty: there is nothing that an exception could be for.
std::string entry_of(const ReportItem& report);
// The network that its host lies in or leads to, where that is what the filter lists.
std::optional<filter::AddressRange> network_of(const ReportItem& report);

using Reports = std::vector<ReportItem>;  // by id
using ReportsPtr = std::shared_ptr<const Reports>;
const ReportItem* find_report(const Reports& reports, std::uint64_t id);  // null: there is none

}  // namespace bloomwall::proxy
