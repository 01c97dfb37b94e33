// RESP, the wire protocol of Redis: commands as clients send them, and the replies that are made here.
// A command is an array of bulk strings, "*2\r\n$4\r\nPING\r\n$1\r\nx\r\n"; clients send nothing else. Refused as a
// fault that is final: inline commands (a line of words), which no client library sends and which a browser's request
// could be read as; empty and null arrays, which Redis answers with nothing; null strings; numbers with a sign or
// leading zeros; line ends other than CRLF, also behind a string.
// Bounds: kMostArguments, kMostArgument octets each, kMostCommand octets together. A longer one is refused by its
// length, before it is kept.
// No sockets, no clock. Not thread-safe. Source: redis.io/docs/latest/develop/reference/protocol-spec.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bloomwall::proxy {

inline constexpr std::size_t kMostArguments = 4098;                  // a command, a filter and 4,096 keys
inline constexpr std::size_t kMostArgument = std::size_t{64} << 10;  // as lines of lists
inline constexpr std::size_t kMostCommand = std::size_t{256} << 10;  // arguments together

class RespReader {
 public:
  enum class Event : std::uint8_t {
    need_more,  // everything given was consumed
    command,    // arguments() are complete; call next() before the next feed()
    error,      // error() says why; final
  };
  struct Step {
    Event event = Event::need_more;
    std::size_t consumed = 0;
  };

  Step feed(std::span<const char> bytes);
  std::size_t arguments() const { return ends_.size(); }
  std::string_view argument(std::size_t place) const;  // until next()
  std::string_view error() const { return error_; }    // a literal
  void next();                                         // only after Event::command
  bool at_start() const { return state_ == State::array; }
  std::size_t memory() const { return text_.capacity() + ends_.capacity() * sizeof(std::size_t); }

 private:
  enum class State : std::uint8_t {
    array,  // "*"
    count,  // its number, to CR
    count_lf,
    string,  // "$"
    size,    // its number, to CR
    size_lf,
    octets,
    octets_cr,
    octets_lf,
    command,
    error,
  };
  void on_frame_octet(char c);
  void on_digit(char c, std::size_t most, std::string_view too_many);
  void on_count();
  void on_size();
  void on_string_end();
  void expect(char got, char wanted, State next, std::string_view else_error);
  void fail(std::string_view error);

  State state_ = State::array;
  bool has_digits_ = false;
  std::size_t number_ = 0;  // being read
  std::size_t left_ = 0;    // octets of this string still to come
  std::size_t wanted_ = 0;  // arguments of this command
  std::string text_;        // all arguments, one behind the other
  std::vector<std::size_t> ends_;
  std::string_view error_;
};

// Replies. `version`: 2 or 3, as HELLO has chosen.
void append_resp_simple(std::string& out, std::string_view text);  // +text; without line ends
// -CODE text: control octets become blanks, and what is longer than 200 octets is cut: it may quote a command.
void append_resp_error(std::string& out, std::string_view text);
void append_resp_bulk(std::string& out, std::string_view octets);
void append_resp_integer(std::string& out, std::uint64_t number);
void append_resp_boolean(std::string& out, unsigned version, bool is_true);  // #t; 2: :1
void append_resp_array(std::string& out, std::size_t elements);
void append_resp_map(std::string& out, unsigned version, std::size_t pairs);  // %n; 2: an array of twice as many

}  // namespace bloomwall::proxy
