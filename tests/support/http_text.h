// What clients and origins say in a test, as text, and what is read out of the answers.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace bloomwall::test {

// "METHOD http://AUTHORITY/path HTTP/1.1\r\nHost: AUTHORITY\r\n...\r\n" and the body. Each of `fields` ends with
// "\r\n".
std::string request(const std::string& method, const std::string& authority, const std::string& path,
                    const std::string& fields = "", const std::string& body = "");
std::string get(const std::string& authority, const std::string& path = "/", const std::string& fields = "");
std::string connect_to(const std::string& authority, const std::string& fields = "");
// "HTTP/1.1 200 OK\r\n..." with Content-Length and a Date.
std::string ok(const std::string& body);
// "Content-Length: SIZE\r\n"
std::string length_field(std::size_t size);

int status_of(const std::string& head);                                  // throws where there is no status line
std::string field_of(const std::string& head, const std::string& name);  // value of the first such field, else ""

}  // namespace bloomwall::test
