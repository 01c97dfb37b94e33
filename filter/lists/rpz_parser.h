// Response policy zones. ZoneReader reads a DNS zone file (RFC 1035 section 5) line by line into records: owner, type
// and the first word of the data.
// Parentheses make a record go on over several lines; ';' starts a comment; a line that begins with white space has the
// owner of the one before. Names come out relative to the zone: with "$ORIGIN rpz.example." both "a.test" and
// "a.test.rpz.example." are "a.test". Absolute names outside of the zone stay as they are, less the last dot.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

#include "filter/lists/line_parser.h"
#include "filter/result.h"

namespace bloomwall::filter {

struct ZoneRecord {
  std::string_view owner;      // relative to the zone, no trailing dot; empty for the zone itself
  std::string_view type;       // as written
  std::string_view data;       // first word
  bool owner_is_data = false;  // data names the owner itself
};

enum class ZoneLine : std::uint8_t {
  blank,
  comment,
  directive,     // $TTL, $ORIGIN
  unread,        // $INCLUDE, $GENERATE and other directives, whose names stay unknown
  open,          // the record goes on in the next line
  never_closed,  // a parenthesis open for longer than any record is
  record,
  damaged,  // no type, or a closing parenthesis too many
};

// Not thread-safe; one per file.
class ZoneReader {
 public:
  ZoneLine line(std::string_view text);
  const ZoneRecord& record() const { return record_; }  // after ZoneLine::record, until the next line
  // Whether a line named the zone: $ORIGIN, or an SOA record of an absolute name.
  bool knows_zone() const { return !zone_.empty(); }
  // Drops a record that goes on: the next line begins a new one.
  void abandon() { depth_ = 0; }

 private:
  static constexpr std::size_t kMaxWords = 8;  // owner, TTL, class, type, data and some to spare
  static constexpr std::size_t kMaxHeld = std::size_t{16} << 10;
  static constexpr std::size_t kMaxLines = 1000;

  bool split(std::string_view text);
  void add_word(std::string_view word);
  ZoneLine hold();
  ZoneLine directive();
  ZoneLine read_record();
  std::string_view resolve(std::string_view owner);

  std::array<std::string_view, kMaxWords> words_;
  std::size_t count_ = 0;
  bool inherits_ = false;  // the first line of the record begins with white space
  int depth_ = 0;
  std::size_t held_lines_ = 0;
  std::string held_;    // words of the lines of an open record
  std::string origin_;  // what relative names are relative to, without the last dot
  std::string zone_;    // the first origin
  std::string owner_;   // of the last record
  ZoneRecord record_;
};

// Refuses a zone whose name is unknown and needed. Where every owner is absolute ("a.example.com.rpz.corp.test."), as
// in transfers and some feeds, the zone's own name has to be taken off; it stands in $ORIGIN or in the SOA record. A
// file without either would be read as a list of names that no request has.
// Error `usage`, saying which name it may be, where nine of ten owners in `sample` (whole lines of the file `path`) end
// in one that they have in common, with a host under a top-level domain before it, and no line names the zone.
Result<void> refuse_unknown_zone(std::string_view sample, std::string_view path);

// Finds the two halves of a pair in a response policy zone: "x" and "*.x" together are the suffix x, one entry instead
// of two. Looks back over a bounded window; halves that leave it unpaired are X and W, which together mean the same.
class RpzPairs {
 public:
  // Names remembered; about 40 MB at most.
  static constexpr std::size_t kWindow = 65'536;
  explicit RpzPairs(std::size_t window = kWindow) : window_(window) {}

  // `host`: canonical name of the trigger, without "*.".
  void add(std::string_view host, bool wildcard, Side side, EntryGate& gate);
  void flush(EntryGate& gate);

 private:
  struct Half {
    std::uint64_t line = 0;
    bool wildcard = false;
    bool paired = false;  // handed over already; kept so that a second record of the name is not a new half
  };
  void forget_oldest(EntryGate& gate);
  static void hand_over(const std::string& key, Kind kind, std::uint64_t line, EntryGate& gate);

  std::size_t window_;
  std::unordered_map<std::string, Half> halves_;  // by side and host
  std::deque<std::string> order_;
};

}  // namespace bloomwall::filter
