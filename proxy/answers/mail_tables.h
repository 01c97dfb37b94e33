// The questions and answers of Postfix's two table protocols, once their frames are off: a netstring of socketmap, a
// line of tcp_table. Pure functions; linear; no sockets.
//   socketmap  "NAME KEY"  ->  "OK TEXT" | "NOTFOUND " | "TEMP TEXT" | "PERM TEXT"
//   tcp_table  "get KEY"   ->  "200 TEXT" | "500 TEXT" | "400 TEXT", where %XX stands for an octet
// A question that cannot be understood is never answered NOTFOUND or 500, which would mean that nothing is against the
// key: tcp_table has 400 for it, socketmap PERM; with either Postfix defers the mail.
// Source: socketmap_table(5), tcp_table(5).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace bloomwall::proxy {

// Octets of a question. A mail address has at most 254, a host 253.
inline constexpr std::size_t kMostSocketmapQuestion = 2048;
inline constexpr std::size_t kMostTcpTableLine = 4096;  // with its line feed, and escapes as they came

struct TableQuestion {
  std::string_view name = {};  // of the map; empty: tcp_table, whose questions have none
  std::string key;             // at least one octet
};
// The error is a literal for the answer.
tl::expected<TableQuestion, std::string_view> parse_socketmap(std::string_view text);
// A line without its line feed.
tl::expected<TableQuestion, std::string_view> parse_tcp_table(std::string_view line);

enum class TableResult : std::uint8_t {
  found,
  not_found,
  later,    // it cannot be told now
  refused,  // it will never be told: the question is wrong
};
// The answer with its frame. `text`: what is found, or why not; control octets become blanks, and more than
// kMostTableText octets are cut, as Postfix would refuse them.
inline constexpr std::size_t kMostTableText = 1000;
void append_socketmap_answer(std::string& out, TableResult result, std::string_view text);
void append_tcp_table_answer(std::string& out, TableResult result, std::string_view text);

// Takes the lines of tcp_table off octets as they come; the shape of NetstringReader, which is the other frame.
// A line that is too long is a fault that is final.
class TableLineReader {
 public:
  enum class Event : std::uint8_t {
    need_more,  // everything given was consumed
    line,       // text() is complete, without its line feed; call next() before the next feed()
    too_long,   // final
  };
  struct Step {
    Event event = Event::need_more;
    std::size_t consumed = 0;
  };

  explicit TableLineReader(std::size_t most) : most_(most) {}  // octets, the line feed included
  Step feed(std::string_view bytes);
  std::string_view text() const { return text_; }
  void next();
  bool at_start() const { return text_.empty() && event_ == Event::need_more; }
  std::size_t memory() const { return text_.capacity(); }

 private:
  std::size_t most_;
  Event event_ = Event::need_more;
  std::string text_;
};

}  // namespace bloomwall::proxy
