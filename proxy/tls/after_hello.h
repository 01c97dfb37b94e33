// Watches what a TLS client sends after its first ClientHello, as long as a second one may come: after a
// HelloRetryRequest the client sends another ClientHello, and OpenSSL uses the name in the second one. Reads record
// headers, passes over records that may come between (ChangeCipherSpec, alerts, rejected early data), and compares the
// second hello's name with the first one's. Before the ServerHello, or after a HelloRetryRequest, a client sends
// nothing else, and other records are malformed, because some servers skip unexpected records. Where the server's
// answer cannot be read, the first record that proves progress of the handshake ends the watch. Only inspects: the
// caller holds back or relays.
// Bounds: kMostSkipped records between; a second ClientHello as in ClientHelloReader. Allocates only for a second one.
// Source: RFC 8446 sections 4.1.2, 4.2.10, 5 and D.4; of records of an unknown type RFC 2246 section 6 and RFC 4346
// section 6.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "proxy/tls/client_hello.h"

namespace bloomwall::proxy {

class AfterHello {
 public:
  enum class Result : std::uint8_t {
    relay,      // all that was given may pass; give what follows
    wait,       // hold back what was given since the last `relay`, and give what follows
    done,       // all may pass, and no further hello can come
    malformed,  // close; why() says why
  };
  static constexpr unsigned kMostSkipped = 64;  // application data is not counted

  explicit AfterHello(const ClientHelloReader& first);  // whose result is name or no_name
  Result feed(std::span<const char> bytes);             // the next octets, each once
  const char* why() const { return why_; }
  void on_unreadable_answer() { answer_is_unreadable_ = true; }  // the server's, as RetryPeek says
  std::size_t memory() const;                                    // bytes held of a second hello

 private:
  enum class Step : std::uint8_t { more, done, malformed };
  Step take_header(std::span<const char>& bytes);
  Step begin_record();
  Step take_fragment(std::span<const char>& bytes);
  Step look_at_message();
  Step take_hello(std::span<const char>& bytes);
  Step end_with(const char* why);
  Step fail(const char* why);

  std::string name_;
  const char* why_ = "";
  std::string candidate_;  // records of what may be a hello, until its first octets have shown it
  std::string message_;    // their content
  std::optional<ClientHelloReader> second_;
  std::uint8_t header_[5] = {};
  std::uint8_t header_used_ = 0;
  std::uint32_t record_left_ = 0;
  unsigned skipped_ = 0;
  bool has_name_, early_data_;
  bool cipher_changed_ = false;  // a handshake record may be encrypted from now on
  bool in_handshake_ = false;    // record_left_ is about a handshake record
  bool answer_is_unreadable_ = false;
};

// Says of a TLS server's octets whether they ask for another ClientHello.
class RetryPeek {
 public:
  enum class Result : std::uint8_t {
    need_more,
    retry,     // asked for another, and has not answered that yet
    no_retry,  // has said hello: no other ClientHello will be believed
    unknown,   // what this cannot read: not TLS, or a hello in pieces
  };
  Result feed(std::span<const char> bytes);  // the next octets, each once; after no_retry and unknown it says so again

 private:
  Result take(char c);
  Result result_ = Result::need_more;
  std::string begin_;        // of a record, as far as it is telling
  std::size_t passing_ = 0;  // octets of a record that are not looked at
};

}  // namespace bloomwall::proxy
