// SPDX-License-Identifier: Apache-2.0
#include "proxy/tls/client_hello.h"

#include <algorithm>
#include <bitset>
#include <initializer_list>

namespace bloomwall::proxy {
namespace {

constexpr std::size_t kMostRecord = 16'384;
constexpr std::size_t kMostMessage = 65'536;
constexpr std::size_t kMostBytes = 69'632;  // with record headers: a hello in tiny records is an attack
constexpr std::size_t kHandshakeHeader = 4;
constexpr std::uint8_t kHandshakeRecord = 0x16;
constexpr std::uint16_t kServerName = 0;
constexpr std::uint16_t kSignatureAlgorithms = 13;
constexpr std::uint16_t kAlpn = 16;
constexpr std::uint16_t kEarlyData = 42;
constexpr std::uint16_t kSupportedVersions = 43;
constexpr std::uint16_t kEncryptedClientHello = 0xfe0d;

// Takes numbers and vectors off the front of a message; `ok` is false once something did not fit.
class Cursor {
 public:
  explicit Cursor(std::string_view bytes) : bytes_(bytes) {}
  bool ok() const { return ok_; }
  bool empty() const { return bytes_.empty(); }
  std::string_view take(std::size_t size) {
    if (size > bytes_.size()) {
      ok_ = false;
      bytes_ = {};
      return {};
    }
    const std::string_view taken = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return taken;
  }
  std::size_t number(std::size_t octets) {
    std::size_t value = 0;
    for (const char c : take(octets)) value = value << 8 | static_cast<std::uint8_t>(c);
    return value;
  }
  std::string_view vector(std::size_t length_octets) { return take(number(length_octets)); }

 private:
  std::string_view bytes_;
  bool ok_ = true;
};

struct Name {
  const char* error = nullptr;  // a literal; else `text`, empty where no name was given
  std::string_view text;
};

// server_name of RFC 6066: exactly one entry, of type host_name.
Name parse_server_name(std::string_view extension) {
  Cursor outer(extension);
  Cursor list(outer.vector(2));
  if (!outer.ok() || !outer.empty()) return {"server_name whose lengths do not add up", {}};
  if (list.number(1) != 0) return {"server_name of an unknown type", {}};
  const std::string_view host = list.vector(2);
  if (!list.ok()) return {"server_name whose lengths do not add up", {}};
  if (!list.empty()) return {"several names in server_name", {}};
  const auto visible = [](char c) { return c > 0x20 && c < 0x7f; };
  if (host.empty() || !std::all_of(host.begin(), host.end(), visible)) return {"an octet no host name has", {}};
  return {nullptr, host};
}

// The list of protocols where its lengths add up, else nothing: the server will refuse it, we need not.
std::string_view parse_protocols(std::string_view extension) {
  Cursor outer(extension);
  const std::string_view list = outer.vector(2);
  if (!outer.ok() || !outer.empty()) return {};
  Cursor protocols(list);
  while (!protocols.empty()) {
    if (protocols.vector(1).empty()) return {};
  }
  return protocols.ok() ? list : std::string_view{};
}

// RFC 8701: 0x0a0a, 0x1a1a, ...
constexpr bool is_grease(std::size_t value) { return (value & 0x0f0f) == 0x0a0a && value >> 8 == (value & 0xff); }

std::uint16_t highest_version(std::string_view extension, std::uint16_t otherwise) {
  Cursor outer(extension);
  const std::string_view list = outer.vector(1);
  if (!outer.ok() || !outer.empty() || list.empty() || list.size() % 2 != 0) return otherwise;
  std::uint16_t highest = 0;
  for (Cursor versions(list); !versions.empty();) {
    const std::size_t version = versions.number(2);
    if (!is_grease(version)) highest = std::max(highest, static_cast<std::uint16_t>(version));
  }
  return highest;
}

bool has_any(std::string_view numbers, std::initializer_list<std::size_t> any) {
  for (Cursor list(numbers); !list.empty();) {
    const std::size_t number = list.number(2);
    if (!list.ok()) return false;
    if (std::ranges::find(any, number) != any.end()) return true;
  }
  return false;
}

// Of TLS 1.2: ECDHE with AES-GCM or ChaCha20.
bool takes_rsa_alone(std::string_view suites) {
  return has_any(suites, {0xc02f, 0xc030, 0xcca8}) && !has_any(suites, {0xc02b, 0xc02c, 0xcca9});
}

// Of TLS 1.3: RSA-PSS, and ECDSA with SHA-256.
bool signs_rsa_alone(std::string_view extension) {
  Cursor outer(extension);
  const std::string_view list = outer.vector(2);
  return outer.ok() && has_any(list, {0x0804, 0x0805, 0x0806}) && !has_any(list, {0x0403});
}

Name parse_extensions(std::string_view bytes, HelloFacts& facts) {
  std::bitset<65536> seen;
  std::string_view signatures;
  Cursor extensions(bytes);
  Name name;
  while (!extensions.empty()) {
    const std::size_t type = extensions.number(2);
    const std::string_view body = extensions.vector(2);
    if (!extensions.ok()) return {"extensions whose lengths do not add up", {}};
    if (seen.test(type)) return {"an extension given twice", {}};
    seen.set(type);
    if (type == kAlpn) facts.alpn = parse_protocols(body);
    if (type == kSupportedVersions) facts.highest_version = highest_version(body, facts.highest_version);
    if (type == kSignatureAlgorithms) signatures = body;
    if (type != kServerName) continue;
    name = parse_server_name(body);
    if (name.error != nullptr) return name;
  }
  facts.has_alpn = seen.test(kAlpn);
  facts.has_ech = seen.test(kEncryptedClientHello);
  facts.offers_early_data = seen.test(kEarlyData);
  constexpr std::uint16_t kTls13 = 0x0304;
  if (facts.highest_version >= kTls13) facts.takes_rsa_alone = signs_rsa_alone(signatures);
  return name;
}

// The body of a ClientHello, RFC 8446 section 4.1.2. A hello of TLS 1.2 and older may end before the extensions.
Name parse_hello(std::string_view body, HelloFacts& facts) {
  Cursor hello(body);
  const std::size_t version = hello.number(2);
  hello.take(32);
  const std::string_view session = hello.vector(1);
  const std::string_view suites = hello.vector(2);
  const std::string_view compression = hello.vector(1);
  if (!hello.ok() || version >> 8 != 3) return {"no ClientHello", {}};
  if (session.size() > 32 || suites.empty() || suites.size() % 2 != 0 || compression.empty()) {
    return {"a ClientHello field of impossible length", {}};
  }
  facts.highest_version = static_cast<std::uint16_t>(version);
  facts.takes_rsa_alone = takes_rsa_alone(suites);
  if (hello.empty()) return {};
  const std::string_view extensions = hello.vector(2);
  if (!hello.ok() || !hello.empty()) return {"octets around the extensions", {}};
  return parse_extensions(extensions, facts);
}

}  // namespace

bool HelloFacts::offers(std::string_view protocol) const {
  for (Cursor list(alpn); !list.empty();) {
    if (list.vector(1) == protocol) return true;
  }
  return false;
}

std::size_t HelloFacts::protocols() const {
  std::size_t count = 0;
  for (Cursor list(alpn); !list.empty(); ++count) list.vector(1);
  return count;
}

HelloResult ClientHelloReader::feed(std::span<const char> bytes) {
  while (result_ == HelloResult::need_more && !bytes.empty()) result_ = step(bytes);
  if (result_ != HelloResult::need_more) std::string().swap(message_);
  return result_;
}

// Consumes the rest of a record header, or what there is of a record's fragment.
HelloResult ClientHelloReader::step(std::span<const char>& bytes) {
  if (total_ >= kMostBytes) return fail("a ClientHello over its limit");
  if (record_left_ == 0) {
    const auto octet = static_cast<std::uint8_t>(bytes.front());
    bytes = bytes.subspan(1);
    ++total_;
    header_[header_used_++] = octet;
    return total_ <= 5 && header_[0] >= 0x80 ? take_sslv2(octet) : take_header(octet);
  }
  const std::size_t take = std::min<std::size_t>(record_left_, bytes.size());
  message_.append(bytes.data(), take);
  bytes = bytes.subspan(take);
  record_left_ -= static_cast<std::uint32_t>(take);
  total_ += take;
  return finish_message();
}

HelloResult ClientHelloReader::take_header(std::uint8_t octet) {
  if (header_used_ == 1 && octet != kHandshakeRecord) {
    if (!message_.empty()) return fail("another record inside the ClientHello");
    return is_tls_record(static_cast<char>(octet)) ? fail("a TLS record before the ClientHello") : HelloResult::not_tls;
  }
  if (header_used_ == 2 && octet != 3) return fail("no TLS record version");
  if (header_used_ < 5) return HelloResult::need_more;
  record_left_ = static_cast<std::uint32_t>(header_[3]) << 8 | header_[4];
  header_used_ = 0;
  if (record_left_ == 0 || record_left_ > kMostRecord) return fail("a TLS record of impossible length");
  return HelloResult::need_more;
}

// The ClientHello of SSLv2: two octets of length, 1, and the version. RFC 8446 appendix D.5 forbids to send it as TLS;
// what still does begins another protocol in its guise, such as WebRTC's "ssltcp".
HelloResult ClientHelloReader::take_sslv2(std::uint8_t octet) {
  const bool is_old = header_used_ == 5 && header_[3] == 0 && octet == 2;
  if (is_old || (header_used_ == 4 && octet == 3)) return HelloResult::sslv2;
  if (header_used_ == 3 && octet != kClientHelloMessage) return HelloResult::not_tls;
  if (header_used_ == 4 && octet != 0) return HelloResult::not_tls;
  return header_used_ == 5 ? HelloResult::not_tls : HelloResult::need_more;
}

HelloResult ClientHelloReader::finish_message() {
  if (static_cast<std::uint8_t>(message_.front()) != kClientHelloMessage) return fail("no ClientHello");
  if (message_.size() < kHandshakeHeader) return HelloResult::need_more;
  const std::size_t size = Cursor(std::string_view(message_).substr(1, 3)).number(3);
  if (size > kMostMessage) return fail("a ClientHello over its limit");
  if (message_.size() + record_left_ > kHandshakeHeader + size)
    return fail("octets behind the ClientHello in its record");
  if (message_.size() < kHandshakeHeader + size) return HelloResult::need_more;
  const Name name = parse_hello(std::string_view(message_).substr(kHandshakeHeader), facts_);
  if (name.error != nullptr) {
    facts_ = {};
    return fail(name.error);
  }
  name_ = name.text;
  return name_.empty() ? HelloResult::no_name : HelloResult::name;
}

UnknownRecordPeek::Result UnknownRecordPeek::feed(std::span<const char> bytes) {
  constexpr char kSocks5 = 5, kMajorVersion = 3;
  constexpr std::uint8_t kSocksGreeting = 2 + 3;
  for (const char c : bytes) {
    if (result_ != Result::undecided) break;
    ++seen_;
    if (seen_ == 1) {
      is_like_socks_ = c == kSocks5;
    } else if (seen_ == 2 && c != kMajorVersion) {
      result_ = Result::other;
    } else if (!is_like_socks_ || seen_ > kSocksGreeting) {
      result_ = Result::record;
    }
  }
  return result_;
}

HelloResult ClientHelloReader::fail(const char* why) {
  why_ = why;
  return HelloResult::malformed;
}

}  // namespace bloomwall::proxy
