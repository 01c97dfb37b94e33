// Exceptions and switches as JSON: whom one is for is read, or it is refused.
// SPDX-License-Identifier: Apache-2.0
#include "proxy/state/exception_item.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace bloomwall::proxy {
namespace {

using nlohmann::ordered_json;
using testing::StartsWith;

ordered_json allow_json() {
  return {{"id", 1U},
          {"action", "allow"},
          {"kind", "S"},
          {"entry", "a.test"},
          {"filters", ordered_json::array()},
          {"why", "x"},
          {"created", "2026-11-22T12:00:00Z"},
          {"until", nullptr}};
}

// Left out or null it is for everybody; of another type it must not be.
TEST(ExceptionItemJson, AScopeThatIsNoTextIsRefused) {
  const ordered_json wrong[] = {ordered_json::array({"pupils"}), 7,  true, ordered_json::object({{"name", "pupils"}}),
                                ordered_json::array(),           "", 0.5,  false};
  for (const std::string member : {"client", "user", "group"}) {
    ordered_json json = allow_json();
    json[member] = nullptr;
    EXPECT_TRUE(exception_from(json).has_value()) << member;
    for (const ordered_json& value : wrong) {
      json[member] = value;
      const auto read = exception_from(json);
      ASSERT_FALSE(read.has_value()) << json.dump();
      EXPECT_THAT(read.error(), StartsWith(member + ": a text")) << json.dump();
    }
  }
  ordered_json json = allow_json();
  json["until_build"] = "yes";
  EXPECT_FALSE(exception_from(json).has_value());
}

// Another proxy loads it as an allow list, and would refuse the whole of it for a filter that it has not.
TEST(ExceptionItemLine, SaysOnlyWhatEveryAllowListCan) {
  ExceptionItem item = exception_from(allow_json()).value();
  EXPECT_EQ(allow_line(item, 0), "a.test  # exception 1, ever: x");
  item.until_build = true;
  EXPECT_EQ(allow_line(item, 0), "a.test  # exception 1, until a build: x");
  for (const char* const filter : {"nosuch", "nosuch filter"}) {
    item.exception.filters = {filter};
    EXPECT_EQ(allow_line(item, 0), "") << filter;
  }
  item.exception.filters.clear();
  item.exception.group = "pupils";
  EXPECT_EQ(allow_line(item, 0), "");
}

TEST(ExceptionItemLine, EscapesAStarThatAnAllowListWouldRefuse) {
  ExceptionItem item = exception_from(allow_json()).value();
  item.exception.kind = filter::Kind::url_query;
  item.exception.entry = "a.test/web/*/b?c=*";
  EXPECT_EQ(allow_line(item, 0), "a.test/web/%2A/b?c=*  # exception 1, ever: x");
  filter::Override again;
  ASSERT_TRUE(filter::read_override(filter::text_to_type(item.exception.entry), again).has_value());
  EXPECT_EQ(again.entry, item.exception.entry);
  EXPECT_FALSE(filter::read_override(item.exception.entry, again).has_value());
}

TEST(FilterName, IsOneThatTheConfigurationTakes) {
  EXPECT_TRUE(is_filter_name("ads-2.list_A"));
  for (const std::string& name : {std::string(), std::string("nosuch filter"), std::string("a@b"), std::string("a\nb"),
                                  std::string("\xc3\xa4"), std::string(65, 'a')}) {
    EXPECT_FALSE(is_filter_name(name)) << name;
  }
}

// A client behind a translator is another one than the client of the address that it carries.
TEST(ExceptionItemClient, IsTheAddressAsItIsWritten) {
  struct Row {
    std::string_view client, kept, inside, outside;
  };
  for (const auto& [client, kept, inside, outside] : {
           Row{"192.0.2.7", "192.0.2.7", "::ffff:192.0.2.7", "64:ff9b::c000:207"},
           Row{"64:ff9b::c000:207", "[64:ff9b::c000:207]", "64:ff9b::192.0.2.7", "192.0.2.7"},
           Row{"192.0.2.0/24", "192.0.2.0/24", "192.0.2.255", "64:ff9b::c000:207"},
           Row{"64:ff9b::/120", "[64:ff9b::]/120", "64:ff9b::7", "0.0.0.7"},
           Row{"::ffff:192.0.2.0/120", "192.0.2.0/24", "192.0.2.7", "192.0.3.7"},
       }) {
    filter::Override made;
    ASSERT_TRUE(set_client(made, client)) << client;
    EXPECT_EQ(client_text(made), kept);
    EXPECT_TRUE(made.client->contains(*IpAddress::parse(inside))) << client;
    EXPECT_FALSE(made.client->contains(*IpAddress::parse(outside))) << client;
  }
}

}  // namespace
}  // namespace bloomwall::proxy
