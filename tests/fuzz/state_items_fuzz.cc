// Exceptions, switches, reports and tokens as JSON from anywhere (the API, exceptions.json): what is taken is within
// its bounds and reads back as it was written.
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "proxy/state/exception_item.h"
#include "proxy/state/json_members.h"
#include "proxy/state/report_item.h"
#include "proxy/state/switch_item.h"
#include "proxy/state/tokens.h"

namespace {

using namespace bloomwall::proxy;

template <typename Item, typename Read>
void check(const Item& item, Read read) {
  const std::string text = json_line(to_json(item));
  const auto again = read(nlohmann::ordered_json::parse(text, nullptr, false));
  if (!again || json_line(to_json(*again)) != text) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto json = nlohmann::ordered_json::parse(data, data + size, nullptr, false);
  if (const auto item = exception_from(json)) {
    const auto& made = item->exception;
    if (made.client.has_value() + !made.user.empty() + !made.group.empty() > 1) std::abort();
    if (made.action == bloomwall::filter::Override::Action::deny && !made.filters.empty()) std::abort();
    if (allow_line(*item, 0).find('\n') != std::string::npos) std::abort();
    check(*item, exception_from);
  }
  if (const auto item = switch_from(json)) {
    if (item->why.size() > SwitchItem::kMaxWhy || item->made.until <= 0) std::abort();
    check(*item, switch_from);
  }
  if (const auto report = report_from(json)) {
    if (report->url.empty() || report->url.size() > ReportItem::kMaxUrl || report->count == 0) std::abort();
    check(*report, report_from);
  }
  if (const auto token = token_from(json)) {
    if (!is_token_name(token->name) || token->groups.size() > Token::kMostGroups) std::abort();
    check(*token, token_from);
  }
  return 0;
}
