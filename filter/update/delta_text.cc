// SPDX-License-Identifier: Apache-2.0
#include "filter/update/delta_text.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace bloomwall::filter {
namespace {

std::string line_of(const Entry& entry) {
  std::string out{static_cast<char>(entry.kind), ' '};
  out += text_of(entry);
  return out;
}

}  // namespace

tl::expected<DeltaText, std::vector<Error>> DeltaText::read(std::string_view text, const std::string& name,
                                                            const KeyMaker& keys, const FileId& base, bool any_base) {
  DeltaText out(base);
  DeltaReading reading;
  reading.on_change = [&out](const Entry& entry, DeltaAnswer answer) { out.set(entry, answer); };
  reading.on_range = [&out](const AddressRange& range, DeltaAnswer answer) { out.set(range, answer); };
  reading.on_comment = [&out](std::string_view line) { out.comments_.emplace_back(line); };
  const auto parsed = Delta::parse(text, name, keys, any_base ? std::nullopt : std::optional<FileId>(base), reading);
  if (!parsed) return tl::unexpected(parsed.error());
  out.sequence_ = parsed->sequence();
  return out;
}

bool DeltaText::set(const Entry& entry, DeltaAnswer answer) {
  std::string key = line_of(entry);
  const auto known = places_.find(key);
  const DeltaAnswer before = known == places_.end() ? DeltaAnswer::nothing : lines_[known->second].answer;
  if (before == DeltaAnswer::added) --added_;
  if (answer == DeltaAnswer::added) ++added_;
  if (known != places_.end()) lines_[known->second].entry.clear();
  if (answer == DeltaAnswer::nothing) {
    if (known != places_.end()) places_.erase(known);
    return before != answer;
  }
  places_[key] = lines_.size();
  lines_.push_back({.entry = std::move(key), .answer = answer});
  if (lines_.size() > 1000 && lines_.size() > 2 * places_.size()) compact();
  return before != answer;
}

bool DeltaText::set(const AddressRange& range, DeltaAnswer answer) {
  const auto value = static_cast<std::uint32_t>(answer);
  const bool changes = !networks_.has(range, value);
  networks_.set(range, value);
  return changes;
}

bool DeltaText::adds_some_of(const AddressRange& range) const {
  return networks_.touches(range, static_cast<std::uint32_t>(DeltaAnswer::added));
}

void DeltaText::compact() {
  std::erase_if(lines_, [](const Line& line) { return line.entry.empty(); });
  for (std::size_t i = 0; i < lines_.size(); ++i) places_[lines_[i].entry] = i;
}

std::uint64_t DeltaText::drop_removals() {
  std::uint64_t dropped = 0;
  for (Line& line : lines_) {
    if (line.entry.empty() || line.answer != DeltaAnswer::removed) continue;
    places_.erase(line.entry);
    line.entry.clear();
    ++dropped;
  }
  for (const AddressRange& range : networks(DeltaAnswer::removed).ranges()) {
    networks_.set(range, static_cast<std::uint32_t>(DeltaAnswer::nothing));
    ++dropped;
  }
  return dropped;
}

DeltaAnswer DeltaText::answer(const Entry& entry) const {
  const auto known = places_.find(line_of(entry));
  return known == places_.end() ? DeltaAnswer::nothing : lines_[known->second].answer;
}

std::string DeltaText::text() const {
  std::string out = Delta::first_line(base_, sequence_, size()) + '\n';
  for (const std::string& comment : comments_) out += comment + '\n';
  for (const Line& line : lines_) {
    if (line.entry.empty()) continue;
    out += line.answer == DeltaAnswer::added ? '+' : '-';
    out += line.entry;
    if (line.entry.ends_with('\r')) out += '\r';  // of a raw key: a reader takes one CR off the end of a line
    out += '\n';
  }
  for (const DeltaAnswer answer : {DeltaAnswer::added, DeltaAnswer::removed}) {
    const char* const begin = answer == DeltaAnswer::added ? "+N " : "-N ";
    for (const AddressRange& range : networks(answer).ranges()) out += begin + text_of(range) + '\n';
  }
  return out;
}

}  // namespace bloomwall::filter
