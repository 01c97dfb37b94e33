// Questions about keys (RESP, Postfix), as connections ask them.
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
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
      {"a!blocked.test", "400 "},
      {"a!b", "500 "},
      {"a@[10.1]", "400 "},
      {"a@10.0.5", "400 "},
      {"a@192", "400 "},
      {"a@10.0.0.5", "200 "},
      {"blocked.test.", "200 "},
      {"10.0.0.5", "200 "},
      {"10.0.0.5.", "200 "},
      {"0.0.0.192", "200 "},
      // What Postfix asks about and is no host.
      {"<>", "500 "},
      {"unknown", "500 "},
      {"postmaster", "500 "},
      {"8A:0F:33", "500 "},
      {"2001:db8::1", "500 "},
      {"192.0.2.1", "500 "},
      {"::ffff:192.0.2.1", "500 "},
      {"::ffff:10.0.0.5", "200 "},
      {"x..blocked.test", "500 "},
      {"blocked.test..", "500 "},
      {"localhost.(none)", "500 "},
      {"printer.1", "500 "},
      {"pc_1.10", "500 "},
      {"laptop.o'brien.lan", "500 "},
      {"mx~1.ok.test", "500 "},
      {label + ".ok.test", "500 "},
      {"corp\\john.doe", "500 "},
      {"john.o'neil", "500 "},
      // Browsers take these for addresses.
      {"192", "500 "},
      {"10", "500 "},
      {"10.5", "500 "},
      {"10.0.5", "500 "},
      {"0x0a000005", "500 "},
  };
  given.list = "blocked.test\n10.0.0.5\n0.0.0.0/8\n";
  ScriptedPeer peer = asker();
  for (const auto& [key, wanted] : rows) {
    peer.send("get " + key + "\n");
    EXPECT_EQ(peer.read_until("\n").substr(0, 4), wanted) << key;
  }
}

TEST_F(KeyAnswers, ARawKeyWithAnXnDomainIsFoundByTheNameThatItStandsFor) {
  given.raw = true;
  given.list = "spam@xn--bcher-kva.example\nxn--bcher-kva.test\nspam@bücher.example.org\n";
  ScriptedPeer peer = asker();
  for (const auto& [key, wanted] : std::vector<std::pair<std::string, std::string>>{
           {"spam@xn--bcher-kva.example", "200 "},
           {"spam@b\xc3\xbc"
            "cher.example",
            "200 "},
           {"SPAM@B\xc3\x9c"
            "CHER.Example.",
            "200 "},
           {"\"spam\"@b\xc3\xbc"
            "cher.example",
            "200 "},
           {"B\xc3\xbc"
            "cher.test",
            "200 "},
           {"spam@b\xc3\xbc"
            "cher.example.org",
            "200 "},
           {"ham@b\xc3\xbc"
            "cher.example",
            "500 "},
           {"b\xc3\xbc"
            "cher.example",
            "500 "},
           {"sp\xc3\xa4m@xn--bcher-kva.example", "500 "},
       }) {
    peer.send("get " + key + "\n");
    EXPECT_EQ(peer.read_until("\n").substr(0, 4), wanted) << key;
  }
}

TEST_F(KeyAnswers, TheLogOfAWrongKeySaysWhatIsWrongWithAKey) {
  given.logged = true;
  ScriptedPeer peer = asker();
  peer.send("get a@x..test\n");
  const std::string answer = peer.read_until("\n");
  const std::string text = log_text();
  EXPECT_THAT(text, testing::HasSubstr("the domain or host of the key is none that mail could be for"));
  EXPECT_THAT(answer, testing::StartsWith("400 the%20domain%20or%20host%20of%20the%20key"));
}

// One filter: as it is, as mail servers compare it where that is another key, and its host, which is two questions
// to this list.
TEST_F(KeyAnswers, EachFormOfAKeyIsCountedAsOneQuestionToAFilter) {
  const auto asked = [&](const std::string& key) {
    const std::uint64_t before = counter(&Counters::filter_lookups_total);
    ScriptedPeer peer = asker();
    peer.send("get " + key + "\n");
    peer.read_until("\n");
    return counter(&Counters::filter_lookups_total) - before;
  };
  EXPECT_EQ(asked("ok.test"), 3U);
  EXPECT_EQ(asked("a@ok.test"), 3U);
  EXPECT_EQ(asked("A@ok.test"), 4U);
  EXPECT_EQ(asked("printer.1"), 1U);
}

}  // namespace
}  // namespace bloomwall::test
