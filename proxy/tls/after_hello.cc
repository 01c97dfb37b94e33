// SPDX-License-Identifier: Apache-2.0
#include "proxy/tls/after_hello.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace bloomwall::proxy {
namespace {

constexpr std::uint8_t kChangeCipherSpec = 0x14;
constexpr std::uint8_t kAlert = 0x15;
constexpr std::uint8_t kHandshake = 0x16;
constexpr std::uint8_t kApplicationData = 0x17;
constexpr std::size_t kMostCiphertext = 16'384 + 2048;
constexpr std::size_t kRecordHeader = 5;
constexpr std::size_t kTellingOctets = 5;  // of a handshake message: type, length, major version

std::uint8_t octet(char c) { return static_cast<std::uint8_t>(c); }

}  // namespace

AfterHello::AfterHello(const ClientHelloReader& first)
    : name_(first.name()), has_name_(first.result() == HelloResult::name), early_data_(first.offers_early_data()) {}

AfterHello::Result AfterHello::feed(std::span<const char> bytes) {
  while (!bytes.empty()) {
    Step step = Step::more;
    if (second_) {
      step = take_hello(bytes);
    } else if (record_left_ == 0) {
      step = take_header(bytes);
    } else {
      step = take_fragment(bytes);
    }
    if (step == Step::done) return Result::done;
    if (step == Step::malformed) return Result::malformed;
  }
  return header_used_ > 0 || !candidate_.empty() || second_ ? Result::wait : Result::relay;
}

AfterHello::Step AfterHello::take_header(std::span<const char>& bytes) {
  header_[header_used_++] = octet(bytes.front());
  bytes = bytes.subspan(1);
  // Some servers pass over records of types that they do not know, but none over what is no record.
  if (header_used_ == 2 && !is_tls_record(static_cast<char>(header_[0])) && header_[1] != 3) {
    return end_with("no TLS record behind the ClientHello");
  }
  if (header_used_ < sizeof header_) return Step::more;
  header_used_ = 0;
  return begin_record();
}

AfterHello::Step AfterHello::begin_record() {
  const std::uint8_t type = header_[0];
  if (!is_tls_record(static_cast<char>(type)) || header_[1] != 3) return fail("no TLS record behind the ClientHello");
  record_left_ = static_cast<std::uint32_t>(header_[3]) << 8 | header_[4];
  if (record_left_ > kMostCiphertext) return fail("a TLS record of impossible length");
  in_handshake_ = type == kHandshake;
  if (in_handshake_) {
    candidate_.append(std::begin(header_), std::end(header_));
  } else if (!candidate_.empty()) {
    return fail("another record inside a handshake message");
  }
  if (type == kApplicationData && !early_data_) return end_with("data behind a ClientHello that was not answered");
  if (type == kApplicationData) return Step::more;
  cipher_changed_ |= type == kChangeCipherSpec;
  return ++skipped_ > kMostSkipped ? fail("too many records behind the ClientHello") : Step::more;
}

AfterHello::Step AfterHello::take_fragment(std::span<const char>& bytes) {
  std::size_t size = std::min<std::size_t>(record_left_, bytes.size());
  if (in_handshake_) {
    size = std::min(size, kTellingOctets - message_.size());
    candidate_.append(bytes.data(), size);
    message_.append(bytes.data(), size);
  }
  bytes = bytes.subspan(size);
  record_left_ -= static_cast<std::uint32_t>(size);
  return in_handshake_ ? look_at_message() : Step::more;
}

// In plaintext the message type is reliable. After a ChangeCipherSpec it may be an octet of ciphertext (the Finished of
// TLS 1.2), so there the message must also look like a ClientHello: one in five million random ones does.
AfterHello::Step AfterHello::look_at_message() {
  constexpr const char* kNoHello = "a handshake message behind a ClientHello that was not answered";
  if (octet(message_[0]) != kClientHelloMessage) return end_with(kNoHello);
  if (cipher_changed_) {
    if (message_.size() > 1 && octet(message_[1]) > 2) return end_with(kNoHello);  // larger than any server accepts
    if (message_.size() < kTellingOctets) return Step::more;
    if (octet(message_[4]) != 3) return end_with(kNoHello);
  }
  second_.emplace();
  std::span<const char> held = candidate_;
  return take_hello(held);
}

AfterHello::Step AfterHello::take_hello(std::span<const char>& bytes) {
  const std::size_t before = second_->used();
  switch (second_->feed(bytes)) {
    case HelloResult::need_more:
      bytes = {};
      return Step::more;
    case HelloResult::name:
    case HelloResult::no_name:
      break;
    case HelloResult::malformed:
    case HelloResult::not_tls:
    case HelloResult::sslv2:
      return fail(second_->why());
  }
  bytes = bytes.subspan(second_->used() - before);
  const bool has_name = second_->result() == HelloResult::name;
  if (has_name != has_name_ || second_->name() != name_) return fail("a second ClientHello names another host");
  second_.reset();
  candidate_.clear();
  message_.clear();
  record_left_ = 0;
  return Step::more;
}

// What no client sends before the server has said hello, and afterwards shows that no other hello comes.
AfterHello::Step AfterHello::end_with(const char* why) { return answer_is_unreadable_ ? Step::done : fail(why); }

std::size_t AfterHello::memory() const {
  return candidate_.capacity() + message_.capacity() + (second_ ? second_->memory() : 0);
}

AfterHello::Step AfterHello::fail(const char* why) {
  why_ = why;
  return Step::malformed;
}

RetryPeek::Result RetryPeek::feed(std::span<const char> bytes) {
  while (!bytes.empty() && (result_ == Result::need_more || result_ == Result::retry)) {
    const std::size_t passed = std::min(passing_, bytes.size());
    passing_ -= passed;
    bytes = bytes.subspan(passed);
    if (bytes.empty()) break;
    result_ = take(bytes.front());
    bytes = bytes.subspan(1);
  }
  return result_;
}

// A ServerHello in one record: header, message type, length, version, random. A HelloRetryRequest has this random.
// Alerts and ChangeCipherSpec may come between.
RetryPeek::Result RetryPeek::take(char c) {
  static constexpr std::array<std::uint8_t, 32> kRetryRandom{
      0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91,
      0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c};
  constexpr std::size_t kRandomAt = kRecordHeader + 4 + 2;
  constexpr std::uint8_t kServerHello = 2;
  begin_.push_back(c);
  if (begin_.size() < kRecordHeader) return result_;
  const std::size_t record = static_cast<std::size_t>(octet(begin_[3])) << 8 | octet(begin_[4]);
  if (begin_.size() == kRecordHeader) {
    if (octet(begin_[0]) == kChangeCipherSpec || octet(begin_[0]) == kAlert) {
      passing_ = record;
      begin_.clear();
      return result_;
    }
    const bool is_whole = record + kRecordHeader >= kRandomAt + kRetryRandom.size();
    return octet(begin_[0]) == kHandshake && is_whole ? result_ : Result::unknown;
  }
  if (begin_.size() < kRandomAt + kRetryRandom.size()) return result_;
  if (octet(begin_[kRecordHeader]) != kServerHello) return Result::unknown;
  const bool retry = std::equal(kRetryRandom.begin(), kRetryRandom.end(), begin_.begin() + kRandomAt,
                                [](std::uint8_t a, char b) { return a == octet(b); });
  if (!retry) return Result::no_retry;
  passing_ = record + kRecordHeader - begin_.size();
  begin_.clear();
  return Result::retry;
}

}  // namespace bloomwall::proxy
