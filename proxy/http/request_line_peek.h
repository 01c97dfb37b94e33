// Peeks at the first octets that a client sends in a tunnel: whether they are an HTTP/1 request, without delaying other
// protocols. A line that begins like a registered method is held back until it is decided; other text passes and is
// watched to the end of its line, so that a request with an unregistered method is recognised before it is complete.
// Reads as the most lenient servers do: empty lines and blanks before the method, any white space between the words,
// HTTP/0.9, whose target may look like anything. A line that begins with a registered method and a blank is HTTP unless
// it ends in the version of another protocol (RTSP/1.0, ICAP/1.0); of GET there is no such protocol. In lower case
// (BusyBox accepts it) it is HTTP if a path follows. RequestReader refuses what is recognised here and is malformed.
// No allocation beyond the method's few octets; no clock. Bound: kMostHeld octets are held back.
// Source: RFC 9112 sections 2.2 and 3, RFC 9110 section 9; the methods: IANA HTTP Method Registry.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace bloomwall::proxy {

class RequestLinePeek {
 public:
  enum class Result : std::uint8_t {
    hold,   // may be a request: hold back what was given since the last `relay`, and give what follows
    relay,  // let pass what was given, and give what follows
    http,   // what is held is a request, or the beginning of one
    other,  // it is not HTTP/1, and need no longer be looked at
    late,   // a request of which a part has passed: its end must not
  };
  static constexpr std::size_t kMostHeld = std::size_t{16} * 1024;

  Result feed(std::span<const char> bytes);  // the next octets, each once; after http, other or late it says so again
  // While the result is hold: whether a whole method and a blank have arrived, which some servers take for a request
  // when the client ends.
  bool has_method() const { return is_known_ && place_ > Place::method; }

 private:
  enum class Place : std::uint8_t { before, method, gap, target, rest };
  enum class Word : std::uint8_t { none, name, slash, version, other };
  Result step(char c);
  Result in_method(char c);
  Result in_line(char c);
  Result at_line_end() const;
  void look_at_word(char c, bool gap);
  Result undecided() const { return is_known_ && place_ != Place::before ? Result::hold : Result::relay; }
  Result found() const { return is_known_ && !blank_has_passed_ ? Result::http : Result::late; }

  std::string method_;  // while it may be a registered one
  std::size_t held_ = 0;
  Place place_ = Place::before;
  std::uint8_t version_ = 0;       // how much of "HTTP/" the octets before this one match
  Word word_ = Word::none;         // how the one that is being read looks: a version is NAME/DIGIT...
  bool ends_in_version_ = false;   // the last word that is whole is one, and not the first behind the method
  bool is_known_ = true;           // begins like a registered method
  bool is_alike_ = true;           // likewise, ignoring case
  bool blank_has_passed_ = false;  // one before the method
  Result result_ = Result::relay;
};

}  // namespace bloomwall::proxy
