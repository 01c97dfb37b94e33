// Questions about keys (RESP, Postfix), as connections ask them.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "tests/proxy/answers/answers_fixture.h"

namespace bloomwall::test {
namespace {

using SteadyClock = std::chrono::steady_clock;

class KeyAnswers : public AnswersTest {
 protected:
  KeyAnswers() { give_door(conf::Answers::Protocol::tcp_table); }
};

// The asker begins each question with the end of the one before. A machine that is too slow for that is tried with
// longer times.
TEST_F(KeyAnswers, EachQuestionHasATimeOfItsOwn) {
  for (auto time = std::chrono::milliseconds(300);; time *= 4) {
    given.settings.timeouts.request_header = time;
    reload();
    ScriptedPeer peer = asker();
    SteadyClock::duration longest{};
    try {
      peer.send("ge");
      const auto begin = SteadyClock::now();
      for (auto last = begin; last - begin < 3 * time;) {
        peer.send("t ok.test\nge");
        peer.read_until("\n");
        const auto now = SteadyClock::now();
        longest = std::max(longest, now - last);
        last = now;
      }
      return;
    } catch (const std::exception&) {
      if (longest < time / 2) throw;
    }
  }
}

TEST_F(KeyAnswers, AnAddressInBracketsIsAHostWithAndWithoutAMailbox) {
  given.list = "192.0.2.77\n2001:db8:bad::1\nblocked.test\n";
  ScriptedPeer peer = asker();
  for (const char* const key : {"a@[192.0.2.77]", "[192.0.2.77]", "a@[IPv6:2001:db8:bad::1]", "[ipv6:2001:db8:bad::1]",
                                "a@blocked.test", "blocked.test"}) {
    peer.send(std::string("get ") + key + "\n");
    EXPECT_EQ(peer.read_until("\n").substr(0, 4), "200 ") << key;
  }
}

// One row for each thing that a key can be: 200 found, 500 not found, 400 a wrong question.
TEST_F(KeyAnswers, AKeyWhoseHostIsNoneIsAWrongQuestionAndNoneIsHiddenByItsSpelling) {
  const std::string label(64, 'a'), dots(300, '.');
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"a@ok.test", "500 "},
      {"a@x.blocked.test", "200 "},
      {"a@BLOCKED.test.", "200 "},
      {"\"a%20b\"@blocked.test", "200 "},
      {"@relay.test:a@blocked.test", "200 "},
      {"a@ok.test@blocked.test", "200 "},
      {"a@x..blocked.test", "400 "},
      {"a@.blocked.test", "400 "},
      {"a@blocked.test..", "400 "},
      {"a@blocked.test%00", "400 "},
      {"a@blocked.test%2500", "400 "},
      {"a@blocked.test%20", "400 "},
      {"a@blocked.test:25", "400 "},
      {"a@blocked.test/x", "400 "},
      {"a@blocked.test#x", "400 "},
      {"a@", "400 "},
      {"a@.", "400 "},
      {"a@[blocked.test", "400 "},
      {"a@" + label + ".blocked.test", "400 "},
      {"a@x" + dots + "blocked.test", "400 "},
      {"a@" + std::string(60, 'b') + "." + std::string(60, 'b') + "." + std::string(60, 'b') + "." +
           std::string(60, 'b') + ".blocked.test",
       "400 "},
      {"a%25blocked.test", "400 "},
      {"blocked.test!a", "400 "},
      {"a%25blocked.test@ok.test", "500 "},
      {"x..blocked.test", "400 "},
      {"blocked.test..", "400 "},
      {"blocked.test.", "200 "},
      // What Postfix asks about and is no host.
      {"<>", "500 "},
      {"unknown", "500 "},
      {"postmaster", "500 "},
      {"8A:0F:33", "500 "},
      {"2001:db8::1", "500 "},
      {"192.0.2.1", "500 "},
  };
  ScriptedPeer peer = asker();
  for (const auto& [key, wanted] : rows) {
    peer.send("get " + key + "\n");
    EXPECT_EQ(peer.read_until("\n").substr(0, 4), wanted) << key;
  }
}

}  // namespace
}  // namespace bloomwall::test
