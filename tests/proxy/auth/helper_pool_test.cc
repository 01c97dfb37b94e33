// Helpers that do as they should, and others: whoever asks gets an answer, or is told in time that there is none.
// SPDX-License-Identifier: Apache-2.0
#include "proxy/auth/helper_pool.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "tests/support/temp_dir.h"

namespace bloomwall::proxy {
namespace {

using namespace std::chrono_literals;

constexpr auto kPatience = 20s;

conf::AuthHelper helper(const std::string& how, std::uint32_t concurrency = 0, std::vector<std::string> more = {}) {
  conf::AuthHelper made;
  made.command = {"/usr/bin/python3", BLOOMWALL_SOURCE_DIR "/tests/proxy/auth/helper.py", how,
                  std::to_string(concurrency)};
  made.command.insert(made.command.end(), more.begin(), more.end());
  made.concurrency = concurrency;
  made.processes = 1;
  made.timeout = 10s;
  return made;
}

// Replies as they come, by a name that the test gives them.
class Replies {
 public:
  HelperPool::Done of(const std::string& name) {
    return [this, name](const HelperReply& reply) {
      const std::scoped_lock lock(mutex_);
      replies_[name].push_back(reply);
      ++count_;
      changed_.notify_all();
    };
  }
  bool wait_for(std::size_t count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&] { return count_ >= count; });
  }
  std::vector<HelperReply> get(const std::string& name) {
    const std::scoped_lock lock(mutex_);
    return replies_[name];
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::vector<HelperReply>> replies_;
  std::size_t count_ = 0;
};

class HelperPoolTest : public testing::Test {
 protected:
  bool ask(const std::string& name, const std::string& secret = "open%20sesame", ClientKey client = {1}) {
    return ask(pool, name, secret, client);
  }
  bool ask(HelperPool& of, const std::string& name, const std::string& secret = "open%20sesame",
           ClientKey client = {1}) {
    CredentialKey key{};
    std::copy_n(name.begin(), std::min(name.size(), key.size()), key.begin());
    return of.ask(key, client, name + " " + secret, replies.of(name));
  }
  HelperReply reply_to(const std::string& name) {
    const auto all = replies.get(name);
    EXPECT_EQ(all.size(), 1U) << name;
    return all.empty() ? HelperReply{} : all.front();
  }
  void wait_until_asked(std::uint64_t count) const {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (pool.figures().asked < count && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    ASSERT_EQ(pool.figures().asked, count);
  }
  test::TempDir dir;
  Replies replies;
  HelperPool pool{"basic_helper", HelperPool::Secrets::passwords};
};

TEST_F(HelperPoolTest, AnswersOneQuestionAfterTheOther) {
  pool.use(helper("honest"));
  ASSERT_TRUE(ask("alice"));
  ASSERT_TRUE(ask("bob", "guess"));
  ASSERT_TRUE(ask("carl", "cannot%20tell"));
  ASSERT_TRUE(replies.wait_for(3));
  EXPECT_EQ(reply_to("alice").answer.user, "alice");
  EXPECT_EQ(reply_to("alice").answer.groups, std::vector<std::string>{"known"});
  EXPECT_EQ(reply_to("bob").answer.result, HelperAnswer::Result::error);
  EXPECT_EQ(reply_to("carl").answer.result, HelperAnswer::Result::broken);
  const auto figures = pool.figures();
  EXPECT_EQ(figures.asked, 3U);
  EXPECT_EQ(figures.answered, 3U);
  EXPECT_EQ(figures.deaths, 0U);
  EXPECT_EQ(figures.processes, 1U);
}

TEST_F(HelperPoolTest, AsksManyQuestionsOfOneProcessByChannels) {
  pool.use(helper("honest", 8));
  for (int i = 0; i < 100; ++i)
    ASSERT_TRUE(ask("u" + std::to_string(i), "open%20sesame", {static_cast<std::uint8_t>(i)}));
  ASSERT_TRUE(replies.wait_for(100));
  for (int i = 0; i < 100; ++i) {
    const std::string name = "u" + std::to_string(i);
    EXPECT_EQ(reply_to(name).answer.user, name);
  }
  EXPECT_EQ(pool.figures().processes, 1U);
}

TEST_F(HelperPoolTest, AsksEqualQuestionsOnce) {
  pool.use(helper("honest"));
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(ask("alice"));
  ASSERT_TRUE(replies.wait_for(1000));
  EXPECT_LE(pool.figures().asked, 2U) << "those that came after the answer are another question";
}

TEST_F(HelperPoolTest, RefusesWhatHasNoRoom) {
  EXPECT_FALSE(ask("alice")) << "there is no helper";
  auto settings = helper("hangs");
  settings.queue = 3;
  pool.use(settings);
  ASSERT_TRUE(ask("first"));
  wait_until_asked(1);
  for (const char* name : {"a", "b", "c"}) EXPECT_TRUE(ask(name)) << name;
  EXPECT_FALSE(ask("d"));
  EXPECT_TRUE(ask("a")) << "who waits for the same takes no room";
  EXPECT_FALSE(ask("e", std::string(kMostHelperLine, 'x')));
  EXPECT_EQ(pool.figures().waiting, 3U);
}

TEST_F(HelperPoolTest, StartsMoreProcessesWhenAllAreBusy) {
  auto settings = helper("hangs at", 0, {"slow"});
  settings.processes = 2;
  pool.use(settings);
  ASSERT_TRUE(ask("slow"));
  ASSERT_TRUE(ask("quick"));
  ASSERT_TRUE(replies.wait_for(1));
  EXPECT_TRUE(reply_to("quick").has_answer);
  EXPECT_EQ(pool.figures().processes, 2U);
}

TEST_F(HelperPoolTest, AsksOnceMoreWhenAProcessDies) {
  pool.use(helper("dies once", 0, {(dir.path() / "dead").string()}));
  ASSERT_TRUE(ask("alice"));
  ASSERT_TRUE(replies.wait_for(1));
  EXPECT_EQ(reply_to("alice").answer.user, "alice");
  EXPECT_EQ(pool.figures().deaths, 1U);
  EXPECT_EQ(pool.figures().restarts, 1U);
  EXPECT_EQ(pool.figures().asked, 2U);
}

TEST_F(HelperPoolTest, TakesOtherSettingsFromNowOn) {
  pool.use(helper("honest"));
  ASSERT_TRUE(ask("alice"));
  ASSERT_TRUE(replies.wait_for(1));
  pool.use(helper("group"));
  ASSERT_TRUE(ask("bob", "brass"));
  ASSERT_TRUE(replies.wait_for(2));
  EXPECT_EQ(reply_to("bob").answer.result, HelperAnswer::Result::ok) << "by the helper for groups";
  EXPECT_EQ(pool.figures().processes, 1U) << "the other one has ended";
  EXPECT_EQ(pool.figures().deaths, 0U);
}

TEST_F(HelperPoolTest, AQuestionThatIsUnderWayIsAnotherUnderOtherSettings) {
  const std::filesystem::path gate = dir.path() / "gate";
  pool.use(helper("held", 0, {gate.string()}));
  ASSERT_TRUE(ask("alice"));
  wait_until_asked(1);
  pool.use(helper("group"));
  ASSERT_TRUE(ask("alice"));
  ASSERT_TRUE(replies.wait_for(1));
  EXPECT_EQ(reply_to("alice").answer.result, HelperAnswer::Result::error) << "by the helper of now";
  std::ofstream(gate).put('x');
  ASSERT_TRUE(replies.wait_for(2));
  EXPECT_EQ(replies.get("alice").back().answer.result, HelperAnswer::Result::ok) << "for who asked before";
}

TEST_F(HelperPoolTest, OfAProgramThatIsNotThereNobodyWaits) {
  conf::AuthHelper settings;
  settings.command = {"/nowhere/helper"};
  settings.timeout = 1s;
  pool.use(settings);
  ASSERT_TRUE(ask("alice"));
  ASSERT_TRUE(replies.wait_for(1));
  EXPECT_FALSE(reply_to("alice").has_answer);
  EXPECT_GE(pool.figures().deaths, 1U);
}

TEST_F(HelperPoolTest, GivesAProcessNothingOfOurs) {
  const auto script = dir.write("look.py", R"(
import os, resource, sys, signal
for line in sys.stdin:
    fds = sorted(int(fd) for fd in os.listdir("/proc/self/fd"))
    blocked = [row.split()[1] for row in open("/proc/self/status") if row.startswith(("SigBlk", "SigIgn"))]
    facts = [str(fds), str(sorted(os.environ)), str(resource.getrlimit(resource.RLIMIT_CORE)[0]),
             os.getcwd(), str(os.getpgrp() == os.getpid()), blocked[0]]
    sys.stdout.write("ERR message=\"" + " ".join(facts) + "\"\n")
    sys.stdout.flush()
)");
  ::setenv("BLOOMWALL_TEST_SECRET", "x", 1);
  const std::filesystem::path open_file = dir.write("open", "");
  const std::ifstream held(open_file);
  conf::AuthHelper settings;
  settings.command = {"/usr/bin/python3", script.string()};
  pool.use(settings);
  ASSERT_TRUE(ask("alice"));
  ASSERT_TRUE(replies.wait_for(1));
  EXPECT_EQ(reply_to("alice").answer.message, "[0, 1, 2, 3] ['LANG', 'PATH'] 0 / True 0000000000000000")
      << "3 is the folder that it reads";
}

struct Misbehaviour {
  const char* how;
  std::uint32_t concurrency;
  bool may_answer;  // the first line was right
};
void PrintTo(const Misbehaviour& m, std::ostream* out) { *out << m.how << m.concurrency; }

class MisbehavingHelper : public HelperPoolTest, public testing::WithParamInterface<Misbehaviour> {};

// Each beside one that behaves, which notices nothing.
TEST_P(MisbehavingHelper, IsEndedAndHarmsNobodyElse) {
  const Misbehaviour& m = GetParam();
  auto settings = helper(m.how, m.concurrency);
  settings.timeout = 700ms;
  pool.use(settings);
  HelperPool other("groups_helper", HelperPool::Secrets::none);
  other.use(helper("honest"));
  const auto begun = std::chrono::steady_clock::now();
  ASSERT_TRUE(ask("alice"));
  ASSERT_TRUE(ask(other, "bob"));
  ASSERT_TRUE(replies.wait_for(2));
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 10s);
  EXPECT_TRUE(reply_to("bob").has_answer);
  EXPECT_TRUE(m.may_answer || !reply_to("alice").has_answer);
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (pool.figures().deaths == 0 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  EXPECT_GE(pool.figures().deaths, 1U);
  EXPECT_EQ(other.figures().deaths, 0U);
  pool.use(helper("honest"));
  ASSERT_TRUE(ask("carl"));
  ASSERT_TRUE(replies.wait_for(3));
  EXPECT_TRUE(reply_to("carl").has_answer) << "others that are configured begin anew";
}

INSTANTIATE_TEST_SUITE_P(Table, MisbehavingHelper,
                         testing::Values(Misbehaviour{"hangs", 0, false}, Misbehaviour{"hangs", 4, false},
                                         Misbehaviour{"deaf", 0, false}, Misbehaviour{"dies", 0, false},
                                         Misbehaviour{"dies", 4, false}, Misbehaviour{"exits", 0, false},
                                         Misbehaviour{"complains", 0, false}, Misbehaviour{"early", 0, true},
                                         Misbehaviour{"early", 4, true}, Misbehaviour{"unasked", 0, false},
                                         Misbehaviour{"unasked", 4, false}, Misbehaviour{"chatty", 0, true},
                                         Misbehaviour{"foreign", 4, false}, Misbehaviour{"junk", 0, false},
                                         Misbehaviour{"junk", 4, false}, Misbehaviour{"endless", 0, false},
                                         Misbehaviour{"floods", 0, true}, Misbehaviour{"floods", 4, true}),
                         [](const auto& param) {
                           std::string name = param.param.how + std::to_string(param.param.concurrency);
                           return name;
                         });

// What is asked behind use() is asked of the new helper, also while the pool hands out questions.
TEST_F(HelperPoolTest, NoQuestionGoesToAHelperOfBefore) {
  const auto saying = [](const std::string& answer) {
    conf::AuthHelper made = helper("honest");
    made.command = {"/bin/sh", "-c", "while read -r line; do echo " + answer + "; done"};
    return made;
  };
  pool.use(saying("ERR"));
  std::size_t asked = 0;
  for (int round = 0; round < 200; ++round) {
    const std::string id = std::to_string(round);
    for (const char* name : {"a", "b", "c"}) asked += ask(name + id) ? 1U : 0U;
    pool.use(saying(round % 2 == 0 ? "OK" : "ERR"));
    ASSERT_TRUE(ask("marker" + id));
    ASSERT_TRUE(replies.wait_for(++asked));
    ASSERT_EQ(reply_to("marker" + id).answer.result,
              round % 2 == 0 ? HelperAnswer::Result::ok : HelperAnswer::Result::error)
        << id;
  }
}

// As basic_ldap_auth of Squid 5 does.
TEST_F(HelperPoolTest, AFaultThatIsNoneIsARefusal) {
  pool.use(helper("succeeds"));
  ASSERT_TRUE(ask("alice"));
  ASSERT_TRUE(replies.wait_for(1));
  EXPECT_EQ(reply_to("alice").answer.result, HelperAnswer::Result::error);
  pool.use(helper("complains and succeeds"));
  for (const char* name : {"bob", "carl"}) ASSERT_TRUE(ask(name));
  ASSERT_TRUE(replies.wait_for(3));
  EXPECT_EQ(reply_to("bob").answer.result, HelperAnswer::Result::broken);
  EXPECT_EQ(reply_to("carl").answer.result, HelperAnswer::Result::broken);
}

// Whatever becomes of it in a message: it is cut at 200 octets there, and non-ASCII octets are replaced.
TEST_F(HelperPoolTest, NoPasswordIsLoggedThatAFaultQuotes) {
  const std::vector<std::string> secrets{"plainsecret99", "p%C3%A4ssw%C3%B6rd-geheim",
                                         std::string(190, 'x') + "LONGSECRET-" + std::string(100, 'y')};
  testing::internal::CaptureStderr();  // where the log goes that nobody has opened
  for (std::size_t i = 0; i < secrets.size(); ++i) {
    HelperPool fresh("basic_helper", HelperPool::Secrets::passwords);  // one line a second
    fresh.use(helper("quotes"));
    EXPECT_TRUE(ask(fresh, "alice" + std::to_string(i), secrets[i]));
    EXPECT_TRUE(replies.wait_for(i + 1));
  }
  const std::string log = testing::internal::GetCapturedStderr();
  for (const char* part : {"plainsecret", "ssw", "geheim", "LONGSEC", "xxxx"}) {
    EXPECT_EQ(log.find(part), std::string::npos) << log;
  }
  std::size_t lines = 0;
  for (std::size_t at = 0; (at = log.find("basic_helper: BH: it could not tell", at)) != std::string::npos; ++at)
    ++lines;
  EXPECT_EQ(lines, secrets.size()) << log;
}

TEST_F(HelperPoolTest, AFaultIsLoggedUnlessItQuotesATicket) {
  std::size_t asked = 0;
  const auto said = [&](HelperPool::Secrets secrets, const std::string& how, const std::string& word) {
    HelperPool fresh("some_helper", secrets);
    fresh.use(helper(how));
    testing::internal::CaptureStderr();
    EXPECT_TRUE(ask(fresh, "alice", word));
    EXPECT_TRUE(replies.wait_for(++asked));
    return testing::internal::GetCapturedStderr();
  };
  using Secrets = HelperPool::Secrets;
  EXPECT_NE(said(Secrets::tickets, "honest", "cannot%20tell").find("BH the directory is gone"), std::string::npos);
  EXPECT_NE(said(Secrets::none, "quotes", "atlas").find("BH atlas is wrong"), std::string::npos);
  const std::string quoted = said(Secrets::tickets, "quotes", std::string(300, 'Y') + "==");
  EXPECT_NE(quoted.find("BH (quotes the question)"), std::string::npos) << quoted;
  EXPECT_EQ(quoted.find("YY"), std::string::npos);
}

TEST_F(HelperPoolTest, OneThatClosesItsStderrIsServed) {
  pool.use(helper("mute"));
  ASSERT_TRUE(ask("alice"));
  ASSERT_TRUE(replies.wait_for(1));
  EXPECT_TRUE(reply_to("alice").has_answer);
}

class AdversaryOfHelpers : public HelperPoolTest, public testing::WithParamInterface<int> {};

// Processes that die, lie, hang, stutter and answer in any order: each asker hears once, and never of another.
TEST_P(AdversaryOfHelpers, NeverCrossesAnswers) {
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  auto settings = helper("adversary", 4, {std::to_string(GetParam())});
  settings.processes = 3;
  settings.timeout = 1500ms;
  pool.use(settings);
  std::size_t asked = 0, answered = 0;
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < 12; ++i) {
      const auto client = static_cast<std::uint8_t>(i);
      if (ask("r" + std::to_string(round) + "n" + std::to_string(i), "open%20sesame", {client})) ++asked;
    }
    ASSERT_TRUE(replies.wait_for(asked)) << "within " << settings.timeout.count() << " ms each";
  }
  ASSERT_EQ(asked, 120U);
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < 12; ++i) {
      const std::string name = "r" + std::to_string(round) + "n" + std::to_string(i);
      const HelperReply reply = reply_to(name);
      if (!reply.has_answer) continue;
      ++answered;
      EXPECT_EQ(reply.answer.user, name);
    }
  }
  EXPECT_GT(answered, 20U);
  EXPECT_GT(pool.figures().deaths, 0U);
  EXPECT_LE(pool.figures().processes, 3U);
}

INSTANTIATE_TEST_SUITE_P(Seeds, AdversaryOfHelpers, testing::Range(1, 4));

TEST_F(HelperPoolTest, EndsAtOnceWhateverItsProcessesDo) {
  const auto begun = std::chrono::steady_clock::now();
  {
    HelperPool ending("basic_helper", HelperPool::Secrets::passwords);
    auto settings = helper("deaf");
    settings.timeout = 10 * kPatience;
    ending.use(settings);
    ASSERT_TRUE(ask(ending, "alice"));
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begun, kPatience);
  EXPECT_TRUE(replies.get("alice").empty()) << "who is dropped is not called";
}

}  // namespace
}  // namespace bloomwall::proxy
