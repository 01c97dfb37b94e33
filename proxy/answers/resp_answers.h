// The read-only part of Redis that guards of caches use, over filters with raw keys: BF.EXISTS and BF.MEXISTS, where
// the key of Redis is the name of a filter, and what clients ask beside that: HELLO, PING, ECHO, COMMAND, SELECT 0,
// RESET and QUIT. A filter that does not exist, is off or is lost is an error, and never 0, which would say that it has
// no such member. The action of a filter plays no part: what it holds is a member.
// Commands are answered in order, each once. A fault of the protocol is answered and ends the connection.
// Thread: the worker's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "proxy/answers/answers.h"
#include "proxy/answers/key_desk.h"
#include "proxy/answers/resp.h"

namespace bloomwall::proxy {

class RespAnswers final : public AnswerProtocol, KeyDesk::Owner {
 public:
  explicit RespAnswers(Asker& asker) : asker_(asker), desk_(asker, *this) {}

  std::size_t on_data(std::span<const char> octets) override;
  void on_answer(std::uint64_t, const Answer&) override {}  // no request of HTTP is asked about
  bool is_idle() const override { return reader_.at_start(); }
  bool is_waiting() const override { return desk_.is_waiting(); }

 private:
  struct Command;
  static const Command kCommands[];
  static const Command* find(std::string_view name);
  static void append_description(std::string& out, const Command& command);
  void on_keys_ready() override;
  void run();
  void run(const Command& command);
  void end_command();
  void flush();
  void fail(std::string_view code, std::string_view text);

  void ping();
  void echo();
  void hello();
  void describe();
  void select();
  void reset();
  void quit();
  void exists();

  std::string_view argument(std::size_t place) const { return reader_.argument(place); }

  Asker& asker_;
  KeyDesk desk_;
  RespReader reader_;
  std::string out_;           // replies that were not sent yet
  std::string members_;       // of the keys before next_key_, while the command has more
  std::size_t next_key_ = 2;  // argument of BF.EXISTS or BF.MEXISTS
  unsigned version_ = 2;      // of the protocol
};

}  // namespace bloomwall::proxy
