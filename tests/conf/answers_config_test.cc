// `answers:` of the configuration.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "conf/config.h"

namespace bloomwall::conf {
namespace {

std::string what_is_wrong_with_answers(const std::string& item) {
  const auto loaded = load_text("answers:\n- " + item + "\n", "test.yaml");
  return loaded ? std::string() : loaded.error().front().text();
}

TEST(AnswersConfig, TakesAddressesAndPathsOfSockets) {
  const auto loaded = load_text(
      "answers:\n"
      "- {address: 127.0.0.1:3130, protocol: http, trust: [10.0.0.0/8]}\n"
      "- {address: 'unix:/run/bloomwall/squid', protocol: squid}\n",
      "test.yaml");
  ASSERT_TRUE(loaded) << loaded.error().front().text();
  ASSERT_EQ(loaded->answers.size(), 2U);
  EXPECT_EQ(loaded->answers[0].trust, std::vector<std::string>{"10.0.0.0/8"});
  EXPECT_EQ(loaded->answers[1].address, "unix:/run/bloomwall/squid");
  EXPECT_EQ(loaded->answers[1].protocol, Answers::Protocol::squid);
  EXPECT_TRUE(loaded->answers[1].trust.empty());
  EXPECT_FALSE(loaded->answers[0].users) << "who asks is believed for clients alone unless the configuration says so";
  EXPECT_FALSE(loaded->answers[1].group);
}

TEST(AnswersConfig, UsersAndGroupsGoWithWhatCanHaveThem) {
  const auto loaded = load_text(
      "answers:\n"
      "- {address: ':1', protocol: icap, trust: [10.0.0.1], users: true}\n"
      "- {address: 'unix:/run/a', protocol: tcp_table, group: postfix}\n",
      "test.yaml");
  ASSERT_TRUE(loaded) << loaded.error().front().text();
  EXPECT_TRUE(loaded->answers[0].users);
  EXPECT_EQ(loaded->answers[1].group, "postfix");
  using testing::HasSubstr;
  for (const char* protocol : {"resp", "socketmap", "tcp_table"}) {
    EXPECT_THAT(what_is_wrong_with_answers(
                    "{address: ':1', trust: [10.0.0.1], users: true, protocol: " + std::string(protocol) + "}"),
                HasSubstr("answers[0].users: goes with protocol: http, squid or icap"));
  }
  EXPECT_THAT(what_is_wrong_with_answers("{address: ':1', protocol: http, users: true}"),
              HasSubstr("answers[0].users: needs trust"));
  EXPECT_THAT(what_is_wrong_with_answers("{address: ':1', protocol: http, group: proxy}"),
              HasSubstr("answers[0].group: goes with address: unix:/path"));
  EXPECT_THAT(what_is_wrong_with_answers("{address: 'unix:/run/a', protocol: http, group: 'a b'}"),
              HasSubstr("answers[0].group: expected 1 to 64 of"));
}

TEST(AnswersConfig, SaysWhatIsWrong) {
  using testing::HasSubstr;
  EXPECT_THAT(what_is_wrong_with_answers("{address: 127.0.0.1:3130}"), HasSubstr("answers[0].protocol: missing"));
  EXPECT_THAT(what_is_wrong_with_answers("{protocol: http}"), HasSubstr("answers[0].address: missing"));
  EXPECT_THAT(what_is_wrong_with_answers("{address: 127.0.0.1:3130, protocol: gopher}"),
              HasSubstr("test.yaml:2:39: answers[0].protocol: expected http"));
  for (const char* address : {"unix:run/a", "unix:", "unix:/", "unix:/run/", "/run/a", "localhost:1", "127.0.0.1"}) {
    EXPECT_THAT(what_is_wrong_with_answers("{address: '" + std::string(address) + "', protocol: http}"),
                HasSubstr("answers[0].address: expected ip:port"))
        << address;
  }
  EXPECT_THAT(what_is_wrong_with_answers("{address: 'unix:/" + std::string(107, 'a') + "', protocol: http}"),
              HasSubstr("at most 107 octets"));
  EXPECT_THAT(what_is_wrong_with_answers("{address: ':1', protocol: http, trust: [10.0.0.1/8]}"),
              HasSubstr("answers[0].trust"));
}

TEST(AnswersConfig, WhatIsFoundIsOneLineOfText) {
  const auto loaded =
      load_text("answers:\n- {address: ':1', protocol: socketmap, found: 'DISCARD {id}'}\n", "test.yaml");
  ASSERT_TRUE(loaded) << loaded.error().front().text();
  EXPECT_EQ(loaded->answers[0].found, "DISCARD {id}");
  const std::string longest(501, 'x');
  for (const std::string& found : {std::string("''"), std::string("' REJECT'"), std::string("\"REJECT\\n\""),
                                   std::string("\"REJECT\\xe9\""), longest}) {
    EXPECT_THAT(what_is_wrong_with_answers("{address: ':1', protocol: tcp_table, found: " + found + "}"),
                testing::HasSubstr("answers[0].found"))
        << found;
  }
}

TEST(AnswersConfig, DoorsTakeARestartAndTrustDoesNot) {
  Config running, loaded;
  running.answers.emplace_back().address = "127.0.0.1:1";
  loaded.answers = running.answers;
  loaded.answers[0].trust = {"10.0.0.0/8"};
  loaded.answers[0].users = true;
  EXPECT_TRUE(needs_restart(running, loaded).empty());
  loaded.answers[0].group = "proxy";
  EXPECT_EQ(needs_restart(running, loaded), std::vector<std::string>{"answers"});
  loaded.answers[0].group.reset();
  loaded.answers[0].protocol = Answers::Protocol::squid;
  EXPECT_EQ(needs_restart(running, loaded), std::vector<std::string>{"answers"});
}

}  // namespace
}  // namespace bloomwall::conf
