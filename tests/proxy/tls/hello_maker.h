// TLS ClientHellos for tests: built from parts, so that each part can be wrong.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bloomwall::proxy::http_test {

inline std::string number(std::size_t value, int octets) {
  std::string out;
  for (int i = octets - 1; i >= 0; --i) out.push_back(static_cast<char>(value >> (8 * i)));
  return out;
}
inline std::string vector_of(int length_octets, std::string_view content) {
  return number(content.size(), length_octets).append(content);
}
inline std::string extension(std::uint16_t type, std::string_view body) { return number(type, 2) + vector_of(2, body); }

// server_name with entries (type, name).
inline std::string server_name(const std::vector<std::pair<int, std::string>>& names) {
  std::string list;
  for (const auto& [type, name] : names) list += number(static_cast<std::size_t>(type), 1) + vector_of(2, name);
  return extension(0, vector_of(2, list));
}
inline std::string server_name(std::string_view name) { return server_name({{0, std::string(name)}}); }

inline std::string hello_body(std::string_view extensions, std::string_view suites = "\x13\x01\x1a\x1a") {
  return "\x03\x03" + std::string(32, 'r') + vector_of(1, std::string(32, 's')) + vector_of(2, suites) +
         vector_of(1, std::string_view("\0", 1)) + vector_of(2, extensions);
}
inline std::string handshake(std::string_view body, char type = 1) { return type + vector_of(3, body); }

// Cuts a handshake message into records of at most `record` octets.
inline std::string records(std::string_view message, std::size_t record = 16384) {
  std::string out;
  for (std::size_t at = 0; at < message.size(); at += record) {
    out += "\x16\x03\x01" + vector_of(2, message.substr(at, record));
  }
  return out;
}
inline std::string client_hello(std::string_view extensions, std::size_t record = 16384) {
  return records(handshake(hello_body(extensions)), record);
}

}  // namespace bloomwall::proxy::http_test
