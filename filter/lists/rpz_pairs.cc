// SPDX-License-Identifier: Apache-2.0
#include "filter/lists/rpz_pairs.h"

namespace bloomwall::filter {
namespace {
constexpr char kBlockKey = '-';
constexpr char kAllowKey = '+';

}  // namespace

void RpzPairs::hand_over(const std::string& key, Kind kind, std::uint64_t line, EntryGate& gate) {
  Entry entry;
  entry.kind = kind;
  entry.host = std::string_view(key).substr(1);
  gate.hand_over(entry, key.front() == kAllowKey ? Side::allow : Side::block, line);
}

void RpzPairs::add(std::string_view host, bool wildcard, Side side, EntryGate& gate) {
  std::string key(1, side == Side::allow ? kAllowKey : kBlockKey);
  key.append(host);
  const auto [at, is_new] = halves_.try_emplace(key, Half{gate.line(), wildcard, false});
  if (is_new) {
    order_.push_back(std::move(key));
    if (order_.size() > window_) forget_oldest(gate);
    return;
  }
  Half& half = at->second;
  if (half.paired || half.wildcard == wildcard) return;
  half.paired = true;
  hand_over(at->first, Kind::suffix, half.line, gate);
}

void RpzPairs::forget_oldest(EntryGate& gate) {
  const auto at = halves_.find(order_.front());
  const Half half = at->second;
  if (!half.paired) hand_over(at->first, half.wildcard ? Kind::subdomains : Kind::exact_host, half.line, gate);
  halves_.erase(at);
  order_.pop_front();
}

void RpzPairs::flush(EntryGate& gate) {
  while (!order_.empty()) forget_oldest(gate);
}

}  // namespace bloomwall::filter
