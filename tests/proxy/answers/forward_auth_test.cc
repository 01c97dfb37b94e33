// What a request of `protocol: http` asks about, without sockets.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "proxy/answers/http_answers.h"
#include "proxy/http/request.h"

namespace bloomwall::proxy {
namespace {

struct ForwardAuthCase {
  const char* name;
  std::string line = "GET / HTTP/1.1";
  std::string fields;
  std::string target;  // empty: refused
  std::string method = "GET";
};

class ForwardAuth : public testing::TestWithParam<ForwardAuthCase> {};

TEST_P(ForwardAuth, IsReadInOneWayOrNotAtAll) {
  const ForwardAuthCase& c = GetParam();
  std::string text = c.line + "\r\n" + c.fields + "\r\n";
  RequestHead head;
  ASSERT_FALSE(parse_request_head(text, 100, head)) << text;
  const auto question = read_forward_auth(head);
  ASSERT_EQ(question.has_value(), !c.target.empty()) << (question ? question->target : std::string());
  if (!question) return;
  EXPECT_EQ(question->target, c.target);
  EXPECT_EQ(question->method, c.method);
}

INSTANTIATE_TEST_SUITE_P(
    Forms, ForwardAuth,
    testing::Values(
        ForwardAuthCase{.name = "TheWholeUrl",
                        .fields = "Host: x\r\nX-Original-URL: https://a.test/b?c\r\n",
                        .target = "https://a.test/b?c"},
        ForwardAuthCase{.name = "ItsMethod",
                        .fields = "Host: x\r\nX-Original-URL: http://a.test/\r\nX-Original-Method: POST\r\n",
                        .target = "http://a.test/",
                        .method = "POST"},
        ForwardAuthCase{
            .name = "APathAndHost", .fields = "Host: a.test\r\nX-Original-URI: /b\r\n", .target = "http://a.test/b"},
        ForwardAuthCase{.name = "APathHostAndScheme",
                        .fields = "Host: a.test:8443\r\nX-Original-URI: /b\r\nX-Forwarded-Proto: https\r\n",
                        .target = "https://a.test:8443/b"},
        ForwardAuthCase{.name = "WhatTraefikSends",
                        .fields = "Host: bloomwall:3130\r\nX-Forwarded-Method: PUT\r\nX-Forwarded-Proto: wss\r\n"
                                  "X-Forwarded-Host: a.test\r\nX-Forwarded-Uri: /b?c=d\r\n",
                        .target = "https://a.test/b?c=d",
                        .method = "PUT"},
        ForwardAuthCase{.name = "WhatEnvoySends",
                        .line = "DELETE /ask/b?c HTTP/1.1",
                        .fields = "Host: a.test\r\n",
                        .target = "http://a.test/b?c",
                        .method = "DELETE"},
        ForwardAuthCase{.name = "AnEmptyFieldIsNone",
                        .fields = "Host: a.test\r\nX-Original-URI: /b\r\nX-Forwarded-Uri:\r\nX-Original-URL:\r\n",
                        .target = "http://a.test/b"},
        ForwardAuthCase{.name = "NoQuestion", .fields = "Host: a.test\r\n", .target = {}},
        ForwardAuthCase{.name = "TheUrlTwice",
                        .fields = "Host: x\r\nX-Original-URL: http://a.test/\r\nX-Original-URL: http://b.test/\r\n",
                        .target = {}},
        ForwardAuthCase{.name = "TheUrlTwiceOneOfThemEmpty",
                        .fields = "Host: x\r\nX-Original-URL: http://a.test/\r\nX-Original-URL:\r\n",
                        .target = {}},
        ForwardAuthCase{.name = "TwoForms",
                        .fields = "Host: a.test\r\nX-Original-URL: http://a.test/\r\nX-Original-URI: /\r\n",
                        .target = {}},
        ForwardAuthCase{.name = "TwoFormsOfWhichOneIsThePath",
                        .line = "GET /ask/b HTTP/1.1",
                        .fields = "Host: a.test\r\nX-Original-URI: /c\r\n",
                        .target = {}},
        ForwardAuthCase{.name = "TwoHosts",
                        .fields = "Host: a.test\r\nX-Forwarded-Host: b.test\r\nX-Original-URI: /\r\n",
                        .target = {}},
        ForwardAuthCase{.name = "AListOfHosts",
                        .fields = "Host: x\r\nX-Forwarded-Host: a.test, b.test\r\nX-Forwarded-Uri: /\r\n",
                        .target = {}},
        ForwardAuthCase{.name = "NoHost", .fields = "Host: x\r\nX-Forwarded-Uri: /\r\n", .target = {}},
        ForwardAuthCase{.name = "AHostWithAPath",
                        .fields = "Host: x\r\nX-Forwarded-Host: a.test/b\r\nX-Forwarded-Uri: /\r\n",
                        .target = {}},
        ForwardAuthCase{
            .name = "APathThatIsAUrl", .fields = "Host: a.test\r\nX-Original-URI: http://b.test/\r\n", .target = {}},
        ForwardAuthCase{.name = "AUrlThatIsAPath", .fields = "Host: a.test\r\nX-Original-URL: /b\r\n", .target = {}},
        ForwardAuthCase{
            .name = "AnotherScheme", .fields = "Host: a.test\r\nX-Original-URL: ftp://a.test/b\r\n", .target = {}},
        ForwardAuthCase{.name = "TwoMethods",
                        .fields = "Host: x\r\nX-Original-URL: http://a.test/\r\nX-Original-Method: GET\r\n"
                                  "X-Forwarded-Method: POST\r\n",
                        .target = {}},
        ForwardAuthCase{.name = "AMethodThatIsNone",
                        .fields = "Host: x\r\nX-Original-URL: http://a.test/\r\nX-Original-Method: G T\r\n",
                        .target = {}},
        ForwardAuthCase{.name = "AConnect",
                        .fields = "Host: x\r\nX-Original-URL: http://a.test/\r\nX-Original-Method: CONNECT\r\n",
                        .target = {}}),
    [](const auto& each) { return std::string(each.param.name); });

std::string client_of(std::string_view list) {
  const auto client =
      forwarded_client(list, [](const Endpoint& address) { return address.unmapped().ip().starts_with("10."); });
  return client ? client->ip() : "none";
}

TEST(ForwardedClient, IsTheLastThatIsNotTrusted) {
  EXPECT_EQ(client_of("192.0.2.1"), "192.0.2.1");
  EXPECT_EQ(client_of("192.0.2.9, 192.0.2.1, 10.0.0.1"), "192.0.2.1");
  EXPECT_EQ(client_of("192.0.2.9,\t2001:db8::1 , 10.0.0.1,10.0.0.2"), "2001:db8::1");
}

TEST(ForwardedClient, IsTheFirstWhereAllAreTrusted) { EXPECT_EQ(client_of("10.0.0.3, 10.0.0.1"), "10.0.0.3"); }

TEST(ForwardedClient, IsNoneBehindSomethingThatIsNoAddress) {
  EXPECT_EQ(client_of("192.0.2.1, unknown"), "none");
  EXPECT_EQ(client_of("192.0.2.1, unknown, 10.0.0.1"), "none");
  EXPECT_EQ(client_of("192.0.2.1,"), "none");
  EXPECT_EQ(client_of("unknown, 192.0.2.1"), "192.0.2.1");  // what a client wrote before is not looked at
}

}  // namespace
}  // namespace bloomwall::proxy
