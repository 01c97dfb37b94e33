// SPDX-License-Identifier: Apache-2.0
#include "filter/update/delta_text.h"

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

#include "filter/policy/delta_line.h"
#include "filter/policy/delta_signature.h"

namespace bloomwall::filter {
namespace {

// A text as `update` writes it.
struct DeltaParts {
  std::string_view first_line;  // without the number of changes
  std::uint64_t changes = 0;
  std::string_view comments, entries, networks;  // whole lines
};

// The lines at the start of a text that begin with '#'.
std::string_view comments_of(std::string_view text) {
  std::size_t end = 0;
  while (end < text.size() && text[end] == '#') end = std::min(text.find('\n', end), text.size() - 1) + 1;
  return text.substr(0, end);
}

std::optional<DeltaParts> parts_of(std::string_view text) {
  constexpr std::string_view kChanges = " changes=";
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos || text.back() != '\n') return std::nullopt;
  DeltaParts out;
  out.first_line = text.substr(0, end);
  const std::size_t changes = out.first_line.rfind(kChanges);
  if (changes == std::string_view::npos) return std::nullopt;
  const std::string_view number = out.first_line.substr(changes + kChanges.size());
  const auto [last, error] = std::from_chars(number.data(), number.data() + number.size(), out.changes);
  if (error != std::errc{} || last != number.data() + number.size()) return std::nullopt;
  out.first_line.remove_suffix(out.first_line.size() - changes);
  text.remove_prefix(end + 1);
  out.comments = comments_of(text);
  text.remove_prefix(out.comments.size());
  out.entries = text.substr(0, size_before_networks(text));
  out.networks = text.substr(out.entries.size());
  return out;
}

}  // namespace

tl::expected<DeltaText, std::vector<Error>> DeltaText::read(std::string_view text, const std::string& name,
                                                            const KeyMaker& keys, const FileId& base, bool any_base) {
  if (!any_base) {
    if (auto written = read_written(text, keys, base)) return *std::move(written);
  }
  DeltaText out(base, keys);
  DeltaReading reading;
  reading.on_change = [&out](const Entry& entry, DeltaAnswer answer) { out.set(entry, answer); };
  reading.on_range = [&out](const AddressRange& range, DeltaAnswer answer) { out.set(range, answer); };
  reading.on_comment = [&out](std::string_view line) { out.comments_.emplace_back(line); };
  const auto parsed = Delta::parse(text, name, keys, any_base ? std::nullopt : std::optional<FileId>(base), reading);
  if (!parsed) return tl::unexpected(parsed.error());
  out.sequence_ = parsed->sequence();
  return out;
}

// A text that `update` wrote and nobody edited: its entries stay text, what is around them is parsed. Nothing: it is
// another one, and has to be parsed as a whole.
std::optional<DeltaText> DeltaText::read_written(std::string_view text, const KeyMaker& keys, const FileId& base) {
  const auto split = split_signatures(text, {});
  const auto parts = split ? parts_of(split->text) : std::nullopt;
  if (!parts) return std::nullopt;
  auto written = WrittenLines::of(parts->entries, keys);
  if (!written) return std::nullopt;
  DeltaText out(base, keys);
  std::uint64_t ranges = 0;
  DeltaReading reading;
  reading.on_range = [&](const AddressRange& range, DeltaAnswer answer) {
    out.set(range, answer);
    ++ranges;
  };
  reading.on_comment = [&out](std::string_view line) { out.comments_.emplace_back(line); };
  const std::string others =
      std::string(parts->first_line) + '\n' + std::string(parts->comments) + std::string(parts->networks);
  const auto parsed = Delta::parse(others, {}, keys, base, reading);
  if (!parsed || parts->changes != written->added() + written->removed() + ranges) return std::nullopt;
  out.sequence_ = parsed->sequence();
  out.addresses_.insert(written->added_addresses().begin(), written->added_addresses().end());
  out.written_ = *std::move(written);
  return out;
}

bool DeltaText::set(const Entry& entry, DeltaAnswer answer) {
  bool closes = false;
  if (const auto address = address_of(entry)) {
    if (answer == DeltaAnswer::added) {
      addresses_.insert(*address);
      const AddressRange range = range_of(*address);
      closes = networks_.has(range, static_cast<std::uint32_t>(DeltaAnswer::removed));
      if (closes) networks_.set(range, static_cast<std::uint32_t>(DeltaAnswer::added));
    } else {
      addresses_.erase(*address);
    }
  }
  std::string key = delta_key(entry, keys_.queries());
  const DeltaAnswer before = answer_of(key);
  forget(key);
  if (answer == DeltaAnswer::nothing) return before != answer;
  if (answer == DeltaAnswer::added) ++added_;
  places_[key] = lines_.size();
  lines_.push_back({.key = std::move(key), .answer = answer});
  if (lines_.size() > 1000 && lines_.size() > 2 * places_.size()) compact();
  return before != answer || closes;
}

// What was said about the entry before.
void DeltaText::forget(const std::string& key) {
  const auto known = places_.find(key);
  if (known == places_.end()) return written_.remove(key);
  Line& line = lines_[known->second];
  if (line.answer == DeltaAnswer::added) --added_;
  line.key.clear();
  places_.erase(known);
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

bool DeltaText::removes(const AddressRange& range) const {
  return networks_.has(range, static_cast<std::uint32_t>(DeltaAnswer::removed));
}

std::vector<IpAddress> DeltaText::added_addresses(const AddressRange& range) const {
  std::vector<IpAddress> out(addresses_.lower_bound(range.first), addresses_.upper_bound(range.last));
  std::erase_if(out, [&](const IpAddress& address) { return !range.contains(address); });
  return out;
}

void DeltaText::compact() {
  std::erase_if(lines_, [](const Line& line) { return line.key.empty(); });
  for (std::size_t i = 0; i < lines_.size(); ++i) places_[lines_[i].key] = i;
}

std::uint64_t DeltaText::drop_removals() {
  std::uint64_t dropped = written_.remove_all(DeltaAnswer::removed);
  for (Line& line : lines_) {
    if (line.key.empty() || line.answer != DeltaAnswer::removed) continue;
    places_.erase(line.key);
    line.key.clear();
    ++dropped;
  }
  for (const AddressRange& range : networks(DeltaAnswer::removed).ranges()) {
    networks_.set(range, static_cast<std::uint32_t>(DeltaAnswer::nothing));
    ++dropped;
  }
  return dropped;
}

DeltaAnswer DeltaText::answer(const Entry& entry) const { return answer_of(delta_key(entry, keys_.queries())); }

DeltaAnswer DeltaText::answer_of(const std::string& key) const {
  const auto known = places_.find(key);
  return known == places_.end() ? written_.answer(key) : lines_[known->second].answer;
}

std::string DeltaText::text() const {
  std::string out = Delta::first_line(base_, sequence_, size()) + '\n';
  append_comments(out);
  written_.append_to(out);
  append_changes(out);
  return out;
}

std::string DeltaText::changed_text() const {
  std::string out = Delta::first_line(base_, sequence_) + '\n';
  append_comments(out);
  append_changes(out);
  return out;
}

void DeltaText::append_comments(std::string& out) const {
  for (const std::string& comment : comments_) out += comment + '\n';
}

void DeltaText::append_changes(std::string& out) const {
  for (const Line& line : lines_) {
    if (!line.key.empty()) out += delta_line(line.key, line.answer);
  }
  for (const DeltaAnswer answer : {DeltaAnswer::added, DeltaAnswer::removed}) {
    const char* const begin = answer == DeltaAnswer::added ? "+N " : "-N ";
    for (const AddressRange& range : networks(answer).ranges()) out += begin + text_of(range) + '\n';
  }
}

}  // namespace bloomwall::filter
