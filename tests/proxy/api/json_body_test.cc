// What the API takes for a body: nothing that two readers could read in two ways.
// SPDX-License-Identifier: Apache-2.0
#include "proxy/api/json_body.h"

#include <gtest/gtest.h>

#include <string>

namespace bloomwall::proxy {
namespace {

std::string fault_of(const std::string& body) {
  const auto read = read_json_body(body);
  return read ? std::string() : read.error();
}

TEST(JsonBody, IsAnObject) {
  const auto read = read_json_body(R"({"a":1,"b":{"a":2},"c":[{"a":3},{"a":4}],"A":5,"":6})");
  ASSERT_TRUE(read.has_value()) << read.error();
  EXPECT_EQ((*read)["a"], 1);
  EXPECT_EQ((*read)["b"]["a"], 2) << "the same name in another object";
  EXPECT_EQ((*read)["c"][1]["a"], 4);
  for (const char* const body :
       {"", "[]", "1", "null", "{", R"({"a":1}{)", R"({"a":1} x)", R"({"a":NaN})", "{\"a\":\"\xff\"}"}) {
    EXPECT_EQ(fault_of(body), "the body is not a JSON object") << body;
  }
  for (const std::string& behind : {std::string(1, '\0'), std::string("\0{\"a\":2}", 9)}) {
    EXPECT_EQ(fault_of(R"({"a":1})" + behind), "the body is not a JSON object") << "NUL is not its end";
  }
}

TEST(JsonBody, HasNoMemberTwice) {
  for (const char* const body :
       {R"({"group":"staff","group":"pupils"})", R"({"group":"staff","\u0067roup":"pupils"})",
        R"({"\u0067roup":1,"x":2,"gr\u006fup":3})", R"({"group":1,"group":1})", R"({"group":null,"group":null})",
        R"({"a":{"group":1,"group":2}})", R"({"a":[{"x":1},{"group":1,"y":{"group":3},"group":2}]})",
        R"({"group":{"x":1},"y":[],"group":{"x":1}})"}) {
    EXPECT_EQ(fault_of(body), "group: this member is there twice") << body;
  }
  EXPECT_EQ(fault_of(R"({"\u001b[31m":1,"\u001b[31m":2})").find('\x1b'), std::string::npos);
}

TEST(JsonBody, TakesDeepOnesAndManyMembers) {
  std::string deep = R"({"a":)" + std::string(20'000, '[') + std::string(20'000, ']') + "}";
  EXPECT_TRUE(read_json_body(deep).has_value());
  std::string objects;
  for (int i = 0; i < 5000; ++i) objects += R"({"a":)";
  EXPECT_TRUE(read_json_body(objects + "1" + std::string(5000, '}')).has_value());
  std::string many = "{";
  for (int i = 0; i < 5000; ++i) many += "\"m" + std::to_string(i) + "\":" + std::to_string(i) + ",";
  EXPECT_TRUE(read_json_body(many + "\"end\":1}").has_value());
  EXPECT_FALSE(read_json_body(many + "\"m7\":1}").has_value());
}

}  // namespace
}  // namespace bloomwall::proxy
