// SPDX-License-Identifier: Apache-2.0
#include "proxy/query_log/request_row.h"

#include <array>
#include <chrono>
#include <cstring>
#include <span>
#include <type_traits>

#include "base/names.h"

namespace bloomwall::proxy {
namespace {

constexpr auto kDecisionNames = name_table<RowDecision>({{RowDecision::allowed, "allowed"},
                                                         {RowDecision::monitored, "monitored"},
                                                         {RowDecision::blocked, "blocked"},
                                                         {RowDecision::rejected, "rejected"},
                                                         {RowDecision::refused, "refused"}});
static_assert(kDecisionNames.size() == kRowDecisions);
constexpr std::array kTexts{&RequestRow::id,     &RequestRow::client,    &RequestRow::user, &RequestRow::group,
                            &RequestRow::method, &RequestRow::host,      &RequestRow::url,  &RequestRow::reason,
                            &RequestRow::filter, &RequestRow::expression};

struct RowHead {
  std::int64_t at = 0, microseconds = 0;
  std::uint64_t bytes_sent = 0, bytes_received = 0;
  std::int32_t status = 0;
  std::uint8_t decision = 0, is_tunnel = 0, is_kept = 0, is_shown = 0;
  std::array<std::uint16_t, kTexts.size()> lengths{};
};
static_assert(std::is_trivially_copyable_v<RowHead>);

}  // namespace

const char* to_string(RowDecision decision) { return kDecisionNames.text(decision); }

std::optional<RowDecision> parse_row_decision(std::string_view text) { return kDecisionNames.parse(text); }

RowDecision decision_of(const AccessRecord& record) {
  const bool is_open = record.decision == filter::Decision::allowed || record.decision == filter::Decision::monitored;
  if (record.refused && is_open) return RowDecision::refused;
  switch (record.decision) {
    case filter::Decision::allowed:
      return RowDecision::allowed;
    case filter::Decision::monitored:
      return RowDecision::monitored;
    case filter::Decision::blocked:
      return RowDecision::blocked;
    case filter::Decision::rejected:
      return RowDecision::rejected;
  }
  return RowDecision::rejected;
}

void append_row(std::string& out, const AccessRecord& record, const RowUse& use) {
  using std::chrono::duration_cast;
  const RowDecision decision = decision_of(record);
  const std::string_view reason =
      decision == RowDecision::refused ? record.error : std::string_view(filter::to_string(record.reason));
  const auto kept_of = [&](std::string_view url) { return use.strips_query ? without_query(url) : url; };
  const std::string_view url = kept_of(record.url), expression = kept_of(record.expression);
  // In the order of kTexts.
  const std::array<std::string_view, kTexts.size()> texts{record.decision_id.substr(0, RequestRow::kMostText),
                                                          record.client.substr(0, RequestRow::kMostText),
                                                          record.user.substr(0, RequestRow::kMostText),
                                                          record.group.substr(0, RequestRow::kMostText),
                                                          record.method.substr(0, RequestRow::kMostText),
                                                          record.host.substr(0, RequestRow::kMostText),
                                                          url.substr(0, RequestRow::kMostUrl),
                                                          reason.substr(0, RequestRow::kMostText),
                                                          record.filter.substr(0, RequestRow::kMostText),
                                                          expression.substr(0, RequestRow::kMostExpression)};
  RowHead head;
  head.at = duration_cast<std::chrono::milliseconds>((record.start + record.duration).time_since_epoch()).count();
  head.microseconds = record.duration.count();
  head.bytes_sent = record.bytes_sent;
  head.bytes_received = record.bytes_received;
  head.status = record.status;
  head.decision = static_cast<std::uint8_t>(decision);
  head.is_tunnel = record.tunnel ? 1 : 0;
  head.is_kept = use.is_kept ? 1 : 0;
  head.is_shown = use.is_shown ? 1 : 0;
  for (std::size_t i = 0; i < texts.size(); ++i) head.lengths[i] = static_cast<std::uint16_t>(texts[i].size());
  const std::array<char, 2> kind{record.expression_kind, ' '};  // stands before the expression, which is the last text
  const bool has_kind = !expression.empty() && record.expression_kind != '\0';
  if (has_kind) head.lengths.back() = static_cast<std::uint16_t>(head.lengths.back() + kind.size());
  out.append(reinterpret_cast<const char*>(&head), sizeof head);
  for (const std::string_view text : std::span(texts).first(texts.size() - 1)) out.append(text);
  if (has_kind) out.append(kind.data(), kind.size());
  out.append(texts.back());
}

std::optional<RowInRing> read_row(std::string_view octets) {
  RowHead head;
  if (octets.size() < sizeof head) return std::nullopt;
  std::memcpy(&head, octets.data(), sizeof head);
  RowInRing found;
  found.size = sizeof head;
  for (const std::uint16_t length : head.lengths) found.size += length;
  if (octets.size() < found.size || head.decision >= kRowDecisions) return std::nullopt;
  RequestRow& row = found.row;
  std::size_t at = sizeof head;
  for (std::size_t i = 0; i < kTexts.size(); ++i) {
    row.*kTexts[i] = octets.substr(at, head.lengths[i]);
    at += head.lengths[i];
  }
  row.at = head.at;
  row.microseconds = head.microseconds;
  row.bytes_sent = head.bytes_sent;
  row.bytes_received = head.bytes_received;
  row.status = head.status;
  row.decision = static_cast<RowDecision>(head.decision);
  row.is_tunnel = head.is_tunnel != 0;
  found.use = {.is_kept = head.is_kept != 0, .is_shown = head.is_shown != 0};
  return found;
}

}  // namespace bloomwall::proxy
