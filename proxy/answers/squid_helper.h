// What `bloomwall answer squid` says between Squid and the proxy, without pipes and sockets. Squid starts it as a
// helper and gives it a line for each request; to the proxy (`protocol: squid`, squid_answers.h) each gets a number for
// its channel, so that one connection serves all of them.
//   external_acl_type     [CHANNEL] URI METHOD SRC [LOGIN] ...           OK, ERR or BH as the proxy says
//   url_rewrite_program   [CHANNEL] URI SRC/NAME LOGIN METHOD ...        OK; what is blocked: OK status=302 url="PAGE"
// Where there is no verdict the answer is BH, or, of a rewriter that fails closed, the page.
// Lines without a channel are answered in their order. Nothing is left without an answer: lose() answers what is open.
// Thread: one.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace bloomwall::proxy {

class SquidHelper {
 public:
  struct Settings {
    bool rewrites = false;
    std::string page;           // of a rewriter: where blocked requests are sent, {id} being the decision
    bool fails_closed = false;  // likewise
  };
  explicit SquidHelper(Settings settings) : settings_(std::move(settings)) {}

  // A line of Squid, without its end. The line for the proxy, with its end; empty: it is answered already.
  std::string take(std::string_view line);
  // A line of the proxy, without its end. False: it answers nothing that is open, and nothing of it can be believed.
  bool answer(std::string_view line);
  void lose(std::string_view why);  // no proxy is there: every open question has no verdict
  std::string open_lines() const;   // to ask again, of another connection
  bool has_open() const { return !open_.empty(); }
  // Whole lines for Squid, each for a write of its own; empty: there is none.
  std::string next_answer();

 private:
  struct Open {
    std::string channel;  // empty: none
    std::string line;     // for the proxy
    std::string answer;   // that waits for those before it; empty: none yet
  };
  void finish(std::map<std::uint64_t, Open>::iterator at, std::string text);
  std::string without_verdict(std::string_view why) const;
  std::string sent_to_page(std::string_view id) const;

  Settings settings_;
  std::map<std::uint64_t, Open> open_;  // by number
  std::deque<std::string> answers_;
  std::uint64_t last_ = 0;
};

}  // namespace bloomwall::proxy
