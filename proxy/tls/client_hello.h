// Reads the server name out of a TLS ClientHello that arrives in any number of segments, records and fragments. Only
// inspects: the caller keeps the bytes and relays them unchanged once the name is allowed.
// The first octet decides whether it is TLS: 0x14 to 0x18 are TLS records, of which only a handshake record may begin a
// connection. Servers skip alerts (BoringSSL) and ChangeCipherSpec (GnuTLS) before a ClientHello, so octets that look
// like these are malformed and not another protocol. Records of any other type: UnknownRecordPeek.
// Bounds: records of at most 16,384 octets, a handshake message of at most 64 KiB, 64 KiB + 4 KiB of bytes in all; more
// is `malformed`. Linear in the bytes; one buffer, only where the hello spans records.
// It also reports what decides about interception (HelloFacts), where the hello is well-formed.
// Source: RFC 8446 sections 4.1.2 and 5.1, RFC 6066 section 3, RFC 7301 section 3.1, RFC 9849 section 5.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace bloomwall::proxy {

inline constexpr std::uint8_t kClientHelloMessage = 1;  // its handshake type

enum class HelloResult : std::uint8_t {
  need_more,
  not_tls,    // neither a TLS record nor the ClientHello of SSLv2: some other protocol
  sslv2,      // its beginning: servers took it as that of SSLv3 and TLS, too, and it has no room for a name
  no_name,    // a ClientHello without server_name
  name,       // name() holds the one host_name, as spelt
  malformed,  // TLS by its first octets but no ClientHello within the rules: close
};
// malformed also: several host_names or an unknown name type, an empty name, an octet outside 0x21..0x7e in it, an
// extension twice, lengths that do not add up, octets of the hello beyond its extensions. An encrypted inner
// ClientHello (ECH) cannot be read: the outer name counts.

// Beside the name; of a hello whose result is name or no_name.
struct HelloFacts {
  std::string alpn;       // the protocols offered, each behind its length octet; empty: none, or not well-formed
  bool has_alpn = false;  // the extension is there
  bool has_ech = false;   // likewise encrypted_client_hello, real or GREASE
  bool offers_early_data = false;
  // The highest version of TLS offered: 0x0303 for 1.2, 0x0304 for 1.3. GREASE values do not count; without
  // supported_versions, or where that is not well-formed, the one in the hello's body.
  std::uint16_t highest_version = 0;
  // It takes certificates with RSA keys and none with ECDSA on P-256: by its cipher suites, or with TLS 1.3 by its
  // signature algorithms.
  bool takes_rsa_alone = false;

  bool offers(std::string_view protocol) const;  // "http/1.1", "h2"
  std::size_t protocols() const;                 // how many are offered
};

class ClientHelloReader {
 public:
  // The next bytes, exactly once each. After a result other than need_more further bytes are ignored.
  HelloResult feed(std::span<const char> bytes);
  HelloResult result() const { return result_; }
  std::string_view name() const { return name_; }  // as in the hello: case and a trailing dot kept
  const char* why() const { return why_; }         // malformed: a literal for the log
  const HelloFacts& facts() const { return facts_; }
  bool offers_early_data() const { return facts_.offers_early_data; }
  std::size_t used() const { return total_; }  // octets up to the result, record headers included
  std::size_t memory() const {
    return message_.capacity() + name_.capacity() + facts_.alpn.capacity();
  }  // bytes; of the message until the result

 private:
  HelloResult step(std::span<const char>& bytes);
  HelloResult take_header(std::uint8_t octet);
  HelloResult take_sslv2(std::uint8_t octet);
  HelloResult finish_message();
  HelloResult fail(const char* why);

  HelloResult result_ = HelloResult::need_more;
  const char* why_ = "";
  std::uint8_t header_[5] = {};  // of the record being read
  std::uint8_t header_used_ = 0;
  std::uint32_t record_left_ = 0;
  std::size_t total_ = 0;
  std::string message_;  // handshake message so far
  std::string name_;
  HelloFacts facts_;
};

// Whether octets that are not_tls begin like a TLS record of an unknown type. RFC 2246 and RFC 4346 let servers ignore
// such a record, and some read a ClientHello after it. A SOCKS5 greeting with three methods looks the same, but the
// client sends nothing more before the server's answer.
class UnknownRecordPeek {
 public:
  enum class Result : std::uint8_t { undecided, record, other };
  Result feed(std::span<const char> bytes);  // the next octets from the first one on; once decided they are ignored
  Result result() const { return result_; }

 private:
  Result result_ = Result::undecided;
  std::uint8_t seen_ = 0;
  bool is_like_socks_ = false;
};

constexpr bool is_tls_record(char first_octet) { return first_octet >= 0x14 && first_octet <= 0x18; }

}  // namespace bloomwall::proxy
