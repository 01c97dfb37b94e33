// SPDX-License-Identifier: Apache-2.0
#include "tests/support/http_text.h"

#include <algorithm>
#include <cctype>
#include <stdexcept>
#include <string_view>

namespace bloomwall::test {
namespace {

bool equal_names(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

}  // namespace

std::string request(const std::string& method, const std::string& authority, const std::string& path,
                    const std::string& fields, const std::string& body) {
  return method + " http://" + authority + path + " HTTP/1.1\r\nHost: " + authority + "\r\n" + fields + "\r\n" + body;
}

std::string get(const std::string& authority, const std::string& path, const std::string& fields) {
  return request("GET", authority, path, fields);
}

std::string connect_to(const std::string& authority, const std::string& fields) {
  return "CONNECT " + authority + " HTTP/1.1\r\nHost: " + authority + "\r\n" + fields + "\r\n";
}

std::string ok(const std::string& body) {
  return "HTTP/1.1 200 OK\r\nDate: Sat, 01 Jan 2022 00:00:00 GMT\r\n" + length_field(body.size()) + "\r\n" + body;
}

std::string length_field(std::size_t size) { return "Content-Length: " + std::to_string(size) + "\r\n"; }

int status_of(const std::string& head) {
  if (!head.starts_with("HTTP/1.1 ") || head.size() < 12) throw std::runtime_error("no status line: " + head);
  return std::stoi(head.substr(9, 3));
}

std::string field_of(const std::string& head, const std::string& name) {
  for (std::size_t at = head.find("\r\n"); at != std::string::npos && at + 2 < head.size();
       at = head.find("\r\n", at)) {
    at += 2;
    const std::size_t end = head.find("\r\n", at);
    const std::string line = head.substr(at, end - at);
    const std::size_t colon = line.find(':');
    if (colon != std::string::npos && equal_names(line.substr(0, colon), name)) {
      return line.substr(std::min(line.find_first_not_of(' ', colon + 1), line.size()));
    }
  }
  return "";
}

}  // namespace bloomwall::test
