// Which bodies could be taken for requests by a server that does not read them.
// SPDX-License-Identifier: Apache-2.0
#include "proxy/http/hidden_request.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

namespace bloomwall::proxy::http_test {
namespace {

bool is_found(std::string_view body, std::size_t piece) {
  HiddenRequestSearch search;
  for (; !body.empty(); body.remove_prefix(std::min(piece, body.size()))) search.add(body.substr(0, piece));
  return search.found();
}

TEST(HiddenRequest, IsFoundHoweverTheBodyIsCut) {
  struct Row {
    std::string_view rule, body;
    bool found;
  };
  for (const auto& [rule, body, found] : {
           Row{"a request", "GET /b HTTP/1.1\r\nHost: a\r\n\r\n", true},
           Row{"behind something", "a=1&b=2\r\nGET /b HTTP/1.1\r\n\r\n", true},
           Row{"that is not whole", "GET /b HTTP/1.1\r\nX: ", true},
           Row{"whose version is not whole", "GET /b HTTP/1.", true},
           Row{"without a version", "GET /b HTTP/\r\n", true},
           Row{"with a line feed alone", "GET /b HTTP/1.0\n", true},
           Row{"in small letters", "get /b http/1.1\r\n", true},
           Row{"behind a tab", "GET\t/b\tHTTP/1.1\r\n", true},
           Row{"with white space behind", "GET /b HTTP/1.1 \r\n", true},
           Row{"of another version", "GET /b HTTP/001.01\r\n", true},
           Row{"behind slashes", "// http:// / HTTP//1 HTTP/1 HTTP/1.1\n", true},
           Row{"none: nothing", "", false},
           Row{"none: a form", "url=http%3A%2F%2Fb.example%2F&proto=HTTP/1.1", false},
           Row{"none: JSON", R"({"line": "GET /b HTTP/1.1", "url": "http://b.example/"})", false},
           Row{"none: an access log", "192.0.2.1 - - [1] \"GET /b HTTP/1.1\" 200 5\n", false},
           Row{"none: a name of a namespace", "<a xmlns='http://www.w3.org/1999/xhtml'/> http://b.example/", false},
           Row{"none: another protocol", "OPTIONS * RTSP/1.0\r\n HTTPS/1.1\r\n", false},
       }) {
    for (std::size_t piece = 1; piece <= body.size() + 1; ++piece) EXPECT_EQ(is_found(body, piece), found) << rule;
  }
}

}  // namespace
}  // namespace bloomwall::proxy::http_test
