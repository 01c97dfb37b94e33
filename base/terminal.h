// What the commands of both programs share on a terminal: streams and exit statuses, printable text, lines of queries.
// Commands are functions on Streams, so that tests call them directly.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <array>
#include <cstddef>
#include <istream>
#include <ostream>
#include <string>
#include <string_view>

namespace bloomwall {

struct Streams {
  std::istream& in;
  std::ostream& out;  // results
  std::ostream& err;  // messages and progress
  bool err_is_terminal = false;
  bool in_is_terminal = false;
};

inline constexpr int kExitDone = 0;    // done; nothing listed
inline constexpr int kExitListed = 1;  // listed; corrupt; can't be met
inline constexpr int kExitError = 2;   // usage or runtime error

// Text for a terminal: C0 and C1 controls, DEL, marks that turn the direction of text, and what is no UTF-8 as \xNN; a
// backslash stays as it is.
std::string printable(std::string_view text);
void append_printable(std::string& out, std::string_view text);

// One line, and a line feed. Octets that are no UTF-8 become U+FFFD.
void print_json(std::ostream& out, const nlohmann::ordered_json& json);
// JSON over several lines, for people.
void print_json_tall(std::ostream& out, const nlohmann::ordered_json& json);

// Before standard input is read: where that is a terminal, says so on io.err, for nobody else would know what is waited
// for. `program`: its name; `what`: of each line, "a URL".
void say_reading(std::string_view program, std::string_view what, const Streams& io);

inline constexpr std::size_t kMaxQueryLine = std::size_t{64} << 10;

// Lines of a stream, bounded in length. `answers` is flushed before a read that may block: a person gets the answer to
// each URL at once, and a pipe of millions does not pay for it. A line ends with LF, or CR LF; what is over
// kMaxQueryLine octets is dropped. Takes more from the stream than the lines that it has given.
class LineSource {
 public:
  LineSource(std::istream& in, std::ostream& answers) : in_(in), answers_(answers) {}
  bool next();  // false at the end
  std::string_view line() const { return line_; }
  bool too_long() const { return too_long_; }

 private:
  bool refill();  // false: there is no more
  void take(std::string_view text);

  std::istream& in_;
  std::ostream& answers_;
  std::array<char, std::size_t{16} << 10> read_;
  std::string_view rest_;  // of read_
  std::string line_;
  bool too_long_ = false;
};

}  // namespace bloomwall
