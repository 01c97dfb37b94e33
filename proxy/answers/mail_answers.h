// Postfix's socketmap and tcp_table over the filters: what is blocked is found, with the action that `found` says; what
// cannot be told is answered TEMP or 400, after which Postfix tries again later.
// socketmap questions for the map "mail" are judged by the whole policy (Decider::mail_key), as all of tcp_table are;
// other names are those of filters, which are asked about raw keys.
// Questions are answered one by one, in order. What breaks the frame ends the connection, after an answer that says so.
// Thread: the worker's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "proxy/answers/answers.h"
#include "proxy/answers/key_desk.h"
#include "proxy/answers/mail_tables.h"
#include "proxy/answers/netstring.h"

namespace bloomwall::proxy {

class MailAnswers : public AnswerProtocol, KeyDesk::Owner {
 public:
  explicit MailAnswers(Asker& asker) : asker_(asker), desk_(asker, *this) {}

  std::size_t on_data(std::span<const char> octets) override;
  void on_answer(std::uint64_t, const Answer&) override {}  // no request of HTTP is asked about
  bool is_waiting() const override { return desk_.is_waiting(); }

 protected:
  struct Frame {
    enum class State : std::uint8_t { incomplete, complete, broken };
    State state = State::incomplete;
    std::size_t consumed = 0;
  };
  virtual Frame read(std::span<const char> octets) = 0;
  virtual tl::expected<TableQuestion, std::string_view> parse() const = 0;  // the frame that is complete
  virtual void next() = 0;                                                  // of the reader
  virtual void append_answer(std::string& out, TableResult result, std::string_view text) const = 0;
  virtual std::string_view method() const = 0;  // for the log

 private:
  void on_keys_ready() override;
  void answer();
  void append(const KeyAnswer& answer);
  void flush();

  Asker& asker_;
  KeyDesk desk_;
  std::string out_;  // answers that were not sent yet
};

class SocketmapAnswers final : public MailAnswers {
 public:
  using MailAnswers::MailAnswers;
  bool is_idle() const override { return reader_.at_start(); }

 private:
  Frame read(std::span<const char> octets) override;
  tl::expected<TableQuestion, std::string_view> parse() const override { return parse_socketmap(reader_.text()); }
  void next() override { reader_.next(); }
  void append_answer(std::string& out, TableResult result, std::string_view text) const override {
    append_socketmap_answer(out, result, text);
  }
  std::string_view method() const override { return "SOCKETMAP"; }

  NetstringReader reader_{kMostSocketmapQuestion};
};

class TcpTableAnswers final : public MailAnswers {
 public:
  using MailAnswers::MailAnswers;
  bool is_idle() const override { return reader_.at_start(); }

 private:
  Frame read(std::span<const char> octets) override;
  tl::expected<TableQuestion, std::string_view> parse() const override { return parse_tcp_table(reader_.text()); }
  void next() override { reader_.next(); }
  void append_answer(std::string& out, TableResult result, std::string_view text) const override {
    append_tcp_table_answer(out, result, text);
  }
  std::string_view method() const override { return "TCP_TABLE"; }

  TableLineReader reader_{kMostTcpTableLine};
};

}  // namespace bloomwall::proxy
