// SPDX-License-Identifier: Apache-2.0
#include "proxy/access/proxy_header.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "proxy/http/octets.h"

namespace bloomwall::proxy {
namespace {

constexpr std::string_view kText = "PROXY ";
constexpr std::string_view kBinary = {"\r\n\r\n\0\r\nQUIT\n", 12};
constexpr std::size_t kFixedBytes = 16;  // of version 2: signature, command, family, length
constexpr std::uint8_t kLocal = 0x20, kProxy = 0x21;
constexpr std::uint8_t kUnspecified = 0x00, kTcp4 = 0x11, kTcp6 = 0x21;

std::uint8_t octet_at(std::string_view text, std::size_t at) { return static_cast<std::uint8_t>(text[at]); }
std::uint16_t word_at(std::string_view text, std::size_t at) {
  return static_cast<std::uint16_t>(octet_at(text, at) << 8U | octet_at(text, at + 1));
}

// One word up to the next space; the space is taken too.
std::string_view word_before_space(std::string_view& text) {
  const std::size_t end = std::min(text.find(' '), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return word;
}

std::optional<std::uint16_t> parse_port(std::string_view word) {
  if (word.empty() || word.size() > 5 || !all(octets::digit, word)) return std::nullopt;
  if (word.size() > 1 && word.front() == '0') return std::nullopt;
  std::uint32_t port = 0;
  for (const char c : word) port = port * 10 + static_cast<std::uint32_t>(c - '0');
  if (port > 65535) return std::nullopt;
  return static_cast<std::uint16_t>(port);
}

std::optional<IpAddress> parse_address(std::string_view word, bool v6) {
  if ((word.find(':') != std::string_view::npos) != v6) return std::nullopt;
  return IpAddress::parse(word);
}

// Type, length, value, and so on to the very end.
bool is_tlv_list(std::string_view text) {
  while (!text.empty()) {
    if (text.size() < 3) return false;
    const std::size_t size = std::size_t{3} + word_at(text, 1);
    if (size > text.size()) return false;
    text.remove_prefix(size);
  }
  return true;
}

}  // namespace

ProxyHeaderReader::Step ProxyHeaderReader::feed(std::span<const char> bytes) {
  std::size_t used = 0;
  while (result_ == Result::need_more && used < bytes.size()) {
    held_.push_back(bytes[used++]);
    result_ = look();
  }
  return {result_, used};
}

// Which version it is shows in the first octet; every further one must agree.
ProxyHeaderReader::Result ProxyHeaderReader::look() {
  const std::string_view held = held_;
  if (held.front() == kText.front()) {
    return held.substr(0, kText.size()) == kText.substr(0, held.size()) ? look_at_text() : Result::malformed;
  }
  return held.substr(0, kBinary.size()) == kBinary.substr(0, held.size()) ? look_at_binary() : Result::malformed;
}

ProxyHeaderReader::Result ProxyHeaderReader::look_at_text() {
  if (held_.back() == '\n') return parse_text();
  return held_.size() < kMostTextBytes ? Result::need_more : Result::malformed;
}

ProxyHeaderReader::Result ProxyHeaderReader::parse_text() {
  std::string_view text = std::string_view(held_).substr(kText.size());
  if (!text.ends_with("\r\n")) return Result::malformed;
  text.remove_suffix(2);
  if (!is_field_text(text)) return Result::malformed;
  const std::string_view protocol = word_before_space(text);
  if (protocol == "UNKNOWN") return Result::done;
  if (protocol != "TCP4" && protocol != "TCP6") return Result::malformed;
  const bool v6 = protocol == "TCP6";
  const auto source = parse_address(word_before_space(text), v6),
             destination = parse_address(word_before_space(text), v6);
  const auto source_port = parse_port(word_before_space(text));
  const auto destination_port = parse_port(text);  // the last word: nothing may follow it
  if (!source || !destination || !source_port || !destination_port) return Result::malformed;
  source_ = Source{*source, *source_port};
  return Result::done;
}

ProxyHeaderReader::Result ProxyHeaderReader::look_at_binary() {
  if (held_.size() < kFixedBytes) return Result::need_more;
  const std::size_t size = kFixedBytes + word_at(held_, kFixedBytes - 2);
  if (size > kMostBytes) return Result::malformed;
  return held_.size() < size ? Result::need_more : parse_binary();
}

ProxyHeaderReader::Result ProxyHeaderReader::parse_binary() {
  const std::uint8_t command = octet_at(held_, 12), family = octet_at(held_, 13);
  if (command == kLocal) return Result::done;
  if (command != kProxy) return Result::malformed;
  if (family == kUnspecified) return Result::done;
  if (family != kTcp4 && family != kTcp6) return Result::malformed;
  const std::size_t address_bytes = family == kTcp4 ? 4 : 16;
  const std::string_view body = std::string_view(held_).substr(kFixedBytes);
  const std::size_t fixed = 2 * address_bytes + 4;
  if (body.size() < fixed || !is_tlv_list(body.substr(fixed))) return Result::malformed;
  Source source{.address = {}, .port = word_at(body, 2 * address_bytes)};
  if (family == kTcp4) {
    source.address = IpAddress::v4(std::uint32_t{word_at(body, 0)} << 16U | word_at(body, 2));
  } else {
    std::copy_n(body.begin(), source.address.octets.size(), source.address.octets.begin());
  }
  source_ = source;
  return Result::done;
}

}  // namespace bloomwall::proxy
