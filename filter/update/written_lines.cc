// SPDX-License-Identifier: Apache-2.0
#include "filter/update/written_lines.h"

#include <algorithm>
#include <array>
#include <bit>
#include <span>
#include <utility>

#include "filter/policy/delta_line.h"
#include "filter/policy/entry_text.h"
#include "filter/url/plain_query.h"

namespace bloomwall::filter {
namespace {

enum CharClass : std::uint8_t { other = 0, of_host = 1, of_path = 2 };

constexpr std::array<std::uint8_t, 256> make_classes() {
  std::array<std::uint8_t, 256> out{};
  for (const char c : std::string_view("abcdefghijklmnopqrstuvwxyz0123456789")) {
    out[static_cast<unsigned char>(c)] = of_host | of_path;
  }
  for (const char c : std::string_view("ABCDEFGHIJKLMNOPQRSTUVWXYZ_~=&+,-"))
    out[static_cast<unsigned char>(c)] = of_path;
  return out;
}
constexpr std::array<std::uint8_t, 256> kClasses = make_classes();

bool is_of(char c, CharClass wanted) { return (kClasses[static_cast<unsigned char>(c)] & wanted) != 0; }

// How long the name at the start of a text is, where it is canonical by its characters: two labels or more of ASCII
// letters, digits and single hyphens within (not "xn--"), the last of which begins with a letter. Else 0.
std::size_t plain_name(std::string_view text) {
  constexpr std::size_t kMostOfLabel = 63, kMostOfName = 253;
  std::size_t label = 0, at = 0;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (is_of(c, of_host)) continue;
    if (c != '-' && c != '.') break;
    if (at == label || text[at - 1] == '-') return 0;
    if (c == '-') continue;
    if (at - label > kMostOfLabel) return 0;
    label = at + 1;
  }
  if (label == 0 || at == label || at - label > kMostOfLabel || at > kMostOfName) return 0;
  return text[at - 1] != '-' && text[label] >= 'a' ? at : 0;
}

// Whether a path is canonical by its characters: segments that neither are empty nor begin with '.'.
bool is_plain_path(std::string_view text) {
  char before = 0;
  for (const char c : text) {
    if (!is_of(c, of_path) && (c != '/' && c != '.')) return false;
    if (before == '/' && (c == '/' || c == '.')) return false;
    before = c;
  }
  return text.size() > 1;
}

bool is_plain(std::string_view key) {
  const auto kind = static_cast<Kind>(key[0]);
  const std::string_view text = key.substr(2);
  if (is_host_kind(kind)) return plain_name(text) == text.size() && !text.empty();
  if (kind != Kind::url && kind != Kind::directory) return false;
  const std::size_t name = plain_name(text);
  if (name == 0 || name == text.size() || text[name] != '/') return false;
  return is_plain_path(text.substr(name)) && text.ends_with('/') == (kind == Kind::directory);
}

// Parses lines that are not plain, each by itself.
class OneLine final : DeltaLineParser::Sink {
 public:
  explicit OneLine(QueryReading queries) : queries_(queries) {}

  // Whether a reader takes the line for one entry that is written in this way. `key` has no CR of the line's.
  bool is_as_written(std::string_view line, std::string_view key) {
    key_.clear();
    count_ = 0;
    address_.reset();
    parser_.parse(line);
    return count_ == 1 && key_ == key;
  }
  const std::optional<IpAddress>& address() const { return address_; }  // of the entry, where it is a host

 private:
  void set(const Entry& entry, DeltaAnswer /*answer*/) override {
    ++count_;
    key_ = delta_key(entry, queries_);
    address_ = address_of(entry);
  }
  void set(const AddressRange& /*range*/, DeltaAnswer /*answer*/) override { count_ = 2; }
  void fail(Errc /*code*/, std::string /*what*/) override { count_ = 2; }

  QueryReading queries_;
  std::string key_;
  int count_ = 0;
  std::optional<IpAddress> address_;
  DeltaLineParser parser_{*this};
};

// The key of a line, without what is the line's: its sign and the CR behind a raw key that ends with one.
std::string_view key_of(std::string_view line) {
  line.remove_prefix(1);
  if (line.ends_with("\r\r")) line.remove_suffix(1);
  return line;
}

std::uint64_t half_of(const Hash128& hash) { return hash.hi & 0xffffffff00000000; }

}  // namespace

std::string delta_key(const Entry& entry, QueryReading queries) {
  std::string out{static_cast<char>(entry.kind), ' '};
  if (entry.kind != Kind::url_query || queries == QueryReading::as_spelt) return out + text_of(entry);
  std::string plain;
  set_plain_query(entry.query, plain);
  Entry written = entry;
  if (!plain.empty()) written.query = plain;  // without a query it would be of another kind
  return out + text_of(written);
}

std::string delta_line(std::string_view key, DeltaAnswer answer) {
  std::string out(1, answer == DeltaAnswer::added ? '+' : '-');
  out += key;
  if (key.ends_with('\r')) out += '\r';
  out += '\n';
  return out;
}

std::optional<WrittenLines> WrittenLines::of(std::string_view lines, const KeyMaker& keys) {
  if (lines.size() > kMaxEntryText || (!lines.empty() && lines.back() != '\n')) return std::nullopt;
  WrittenLines out(keys);
  out.text_ = lines;
  if (!out.read(keys.queries())) return std::nullopt;
  return out;
}

bool WrittenLines::read(QueryReading queries) {
  const auto count = static_cast<std::size_t>(std::count(text_.begin(), text_.end(), '\n'));
  slots_.resize(std::bit_ceil(2 * count + 1));
  OneLine one(queries);
  // Slots are fetched while the next lines are looked at.
  struct Pending {
    Hash128 hash;
    std::size_t begin = 0;
  };
  std::array<Pending, 16> pending;
  std::size_t waiting = 0;
  const auto insert_all = [&] {
    for (const Pending& line : std::span(pending).first(waiting)) {
      Slot& slot = slots_[place_of(key_at(line.begin), line.hash)];
      if (slot != 0) return false;
      slot = half_of(line.hash) | kUsed | line.begin;
    }
    waiting = 0;
    return true;
  };
  for (std::size_t begin = 0; begin < text_.size();) {
    const std::size_t end = text_.find('\n', begin);
    const std::string_view line = std::string_view(text_).substr(begin, end - begin);
    if (line.size() < 4 || line.size() > kMaxEntryLine || line[2] != ' ') return false;
    if (line[0] != '+' && line[0] != '-') return false;
    const std::string_view key = key_of(line);
    const bool adds = line[0] == '+';
    if (!is_plain(key)) {
      std::string_view parsed = line;
      if (parsed.ends_with('\r')) parsed.remove_suffix(1);  // as a walk over lines does
      if (!one.is_as_written(parsed, key)) return false;
      if (adds && one.address()) addresses_.push_back(*one.address());
    }
    (adds ? added_ : removed_) += 1;
    const Hash128 hash = keys_.hash(key);
    __builtin_prefetch(&slots_[hash.lo & (slots_.size() - 1)], 1);
    pending[waiting++] = {.hash = hash, .begin = begin};
    if (waiting == pending.size() && !insert_all()) return false;
    begin = end + 1;
  }
  return insert_all();
}

std::string_view WrittenLines::key_at(std::size_t begin) const {
  return key_of(std::string_view(text_).substr(begin, text_.find('\n', begin) - begin));
}

std::size_t WrittenLines::place_of(std::string_view key, const Hash128& hash) const {
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t place = hash.lo & mask;; place = (place + 1) & mask) {
    const Slot slot = slots_[place];
    if (slot == 0) return place;
    if ((slot & 0xffffffff00000000) == half_of(hash) && key_at(slot & (kUsed - 1)) == key) return place;
  }
}

std::optional<std::size_t> WrittenLines::find(std::string_view key) const {
  if (slots_.empty()) return std::nullopt;
  const std::size_t place = place_of(key, keys_.hash(key));
  if (slots_[place] == 0 || (slots_[place] & kGone) != 0) return std::nullopt;
  return place;
}

DeltaAnswer WrittenLines::answer(std::string_view key) const {
  const auto place = find(key);
  if (!place) return DeltaAnswer::nothing;
  return text_[slots_[*place] & (kUsed - 1)] == '+' ? DeltaAnswer::added : DeltaAnswer::removed;
}

void WrittenLines::remove(std::string_view key) {
  if (const auto place = find(key)) remove(*place);
}

void WrittenLines::remove(std::size_t place) {
  const std::size_t begin = slots_[place] & (kUsed - 1);
  slots_[place] |= kGone;
  gone_.push_back(begin);
  (text_[begin] == '+' ? added_ : removed_) -= 1;
}

std::uint64_t WrittenLines::remove_all(DeltaAnswer answer) {
  const char sign = answer == DeltaAnswer::added ? '+' : '-';
  const std::size_t before = gone_.size();
  for (std::size_t place = 0; place < slots_.size(); ++place) {
    if (slots_[place] == 0 || (slots_[place] & kGone) != 0) continue;
    if (text_[slots_[place] & (kUsed - 1)] == sign) remove(place);
  }
  return gone_.size() - before;
}

void WrittenLines::append_to(std::string& out) const {
  std::vector<std::size_t> gone = gone_;
  std::sort(gone.begin(), gone.end());
  std::size_t from = 0;
  for (const std::size_t begin : gone) {
    out.append(text_, from, begin - from);
    from = text_.find('\n', begin) + 1;
  }
  out.append(text_, from);
}

}  // namespace bloomwall::filter
