// Logins that helpers decide on, through the Authenticator.
// SPDX-License-Identifier: Apache-2.0
#include "proxy/auth/helper_logins.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "proxy/auth/authenticator.h"
#include "tests/proxy/auth/base64.h"
#include "tests/proxy/auth/hashes.h"
#include "tests/support/temp_dir.h"

namespace bloomwall::proxy {
namespace {

using namespace std::chrono_literals;
using test::user_line;
using Result = Login::Result;

Milliseconds helper_now{1'000'000};  // NOLINT: the hand that the test turns
Milliseconds helper_clock() { return helper_now; }
std::int64_t helper_seconds() { return 1'800'000'000; }

// "alice:open sesame" and the like; the password of the last is "cannot tell".
constexpr std::string_view kAliceRight = "YWxpY2U6b3BlbiBzZXNhbWU=", kAliceGuess = "YWxpY2U6eA==",
                           kBobRight = "Ym9iOm9wZW4gc2VzYW1l", kBobBroken = "Ym9iOmNhbm5vdCB0ZWxs";
// "alice@EXAMPLE.COM" and "bob".
constexpr std::string_view kAliceTicket = "YWxpY2VARVhBTVBMRS5DT00=", kBobTicket = "Ym9i";

class HelperLoginsTest : public testing::Test {
 protected:
  HelperLoginsTest() {
    settings.require = {"0.0.0.0/0"};
    settings.basic_helper = helper("honest");
  }
  static conf::AuthHelper helper(const std::string& how, std::vector<std::string> more = {}) {
    conf::AuthHelper made;
    made.command = {"/usr/bin/python3", BLOOMWALL_SOURCE_DIR "/tests/proxy/auth/helper.py", how, "0"};
    made.command.insert(made.command.end(), more.begin(), more.end());
    made.timeout = 10s;
    made.processes = 1;
    return made;
  }
  AuthenticationRulesPtr rules(std::vector<std::string> user_groups = {}) {
    auto made = AuthenticationRules::compile(settings, nullptr, std::move(user_groups));
    if (!made) throw std::runtime_error(made.error().front());
    authenticator.use(made->get());
    return *made;
  }
  template <typename Ask>
  static Login answer_to(Ask ask) {
    std::promise<Login> promise;
    auto answer = promise.get_future();
    const auto at_once = ask([&](const Login& login) { promise.set_value(login); });
    if (at_once) return *at_once;
    if (answer.wait_for(20s) != std::future_status::ready) throw std::runtime_error("no answer within 20 s");
    return answer.get();
  }
  CredentialKey key_of(std::string_view token) { return hasher_.key_of(CredentialHasher::Kind::basic, token); }
  Login log_in(const AuthenticationRulesPtr& by, std::string_view token, ClientKey client = {1}) {
    return answer_to([&](const CheckQueue::Done& done) {
      return authenticator.log_in(by, client, token, key_of(token), hasher_, done);
    });
  }
  Login show(const AuthenticationRulesPtr& by, std::string_view ticket, ClientKey client = {1},
             const HelperConversationPtr& conversation = nullptr) {
    return answer_to(
        [&](const CheckQueue::Done& done) { return authenticator.negotiate(by, client, ticket, conversation, done); });
  }
  std::uint64_t asked(std::string_view name) const {
    for (const auto& [helper, figures] : authenticator.figures().helpers) {
      if (helper == name) return figures.asked;
    }
    return 0;
  }
  CredentialHasher& hasher() { return hasher_; }
  conf::Authentication settings;
  Authenticator authenticator{{7}, {helper_clock, helper_seconds}};
  test::TempDir dir;

 private:
  CredentialHasher hasher_{authenticator.secret()};
};

TEST_F(HelperLoginsTest, APasswordIsAskedAboutOnceAndRemembered) {
  const auto by = rules();
  const Login login = log_in(by, kAliceRight);
  ASSERT_EQ(login.result, Result::accepted);
  EXPECT_EQ(login.user->name, "alice");
  EXPECT_EQ(login.user->groups, std::vector<std::string>{"known"});
  EXPECT_EQ(authenticator.recall(*by, key_of(kAliceRight)), login.user);
  EXPECT_EQ(log_in(by, kAliceGuess).result, Result::refused);
  EXPECT_EQ(log_in(by, kAliceGuess).result, Result::refused);
  EXPECT_EQ(asked("basic"), 2U) << "a no holds for some seconds, too";
  helper_now += settings.cache;
  EXPECT_EQ(authenticator.recall(*by, key_of(kAliceRight)), nullptr);
  EXPECT_EQ(by->current(login.user, 0), login.user) << "as long as the helpers stay as they are";
  settings.basic_helper = helper("honest", {"-x"});
  EXPECT_EQ(rules()->current(login.user, 0), nullptr);
}

TEST_F(HelperLoginsTest, AHelperThatCannotTellLetsNobodyIn) {
  const auto by = rules();
  EXPECT_EQ(log_in(by, kBobBroken).result, Result::unchecked);
  EXPECT_EQ(log_in(by, kBobBroken).result, Result::unchecked) << "and locks nobody";
  EXPECT_EQ(log_in(by, kBobRight).result, Result::accepted);
}

TEST_F(HelperLoginsTest, WrongPasswordsLock) {
  settings.attempts = 2;
  const auto by = rules();
  EXPECT_EQ(log_in(by, kAliceGuess).result, Result::refused);
  EXPECT_EQ(log_in(by, "YWxpY2U6eQ==").result, Result::refused);
  EXPECT_EQ(log_in(by, kBobRight).result, Result::locked);
  EXPECT_EQ(log_in(by, kBobRight, {2}).result, Result::accepted) << "from another address";
}

// Guesses that come at once, of a helper that answers them in order when the gate is open.
class GuessesAtOnce : public HelperLoginsTest {
 protected:
  GuessesAtOnce() {
    settings.basic_helper = helper("held", {(dir.path() / "gate").string()});
    settings.basic_helper.command[3] = "100";
    settings.basic_helper.concurrency = 100;
  }
  void begin(const AuthenticationRulesPtr& by, const std::string& password, ClientKey client) {
    auto answer = std::make_shared<std::promise<Login>>();
    results_.push_back(answer->get_future());
    const std::string token = test::base64("alice:" + password);
    const auto at_once = authenticator.log_in(by, client, token, key_of(token), hasher(),
                                              [answer](const Login& login) { answer->set_value(login); });
    if (at_once) answer->set_value(*at_once);
  }
  void wait_until_asked(std::uint64_t count) const {
    const auto deadline = std::chrono::steady_clock::now() + 20s;
    while (asked("basic") < count && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    ASSERT_EQ(asked("basic"), count);
  }
  std::vector<Result> open_gate() {
    std::ofstream(dir.path() / "gate").put('x');
    std::vector<Result> out;
    for (auto& result : results_) {
      if (result.wait_for(20s) != std::future_status::ready) throw std::runtime_error("no answer within 20 s");
      out.push_back(result.get().result);
    }
    return out;
  }

 private:
  std::vector<std::future<Login>> results_;
};

TEST_F(GuessesAtOnce, OfAnAddressNoMoreAreAskedAboutThanItHasAttempts) {
  settings.attempts = 3;
  const auto by = rules();
  for (int i = 0; i < 10; ++i) begin(by, i == 5 ? "open sesame" : "guess" + std::to_string(i), {1});
  begin(by, "another", {2});
  wait_until_asked(4);
  const auto results = open_gate();
  EXPECT_EQ(std::ranges::count(results, Result::refused), 3);
  EXPECT_EQ(std::ranges::count(results, Result::locked), 8) << "the right one among them";
  EXPECT_EQ(asked("basic"), 4U);
}

TEST_F(GuessesAtOnce, AnAnswerThatComesAfterTheLockCountsForNothing) {
  settings.attempts = 2;
  const auto by = rules();
  const std::vector<std::string> passwords{"guess0", "guess1", "open sesame"};
  for (std::uint8_t i = 0; i < passwords.size(); ++i) {
    begin(by, passwords[i], {i});
    wait_until_asked(i + 1U);
  }
  EXPECT_EQ(open_gate(), (std::vector{Result::refused, Result::refused, Result::locked})) << "the user is locked";
  EXPECT_EQ(authenticator.recall(*by, key_of(kAliceRight)), nullptr);
  EXPECT_EQ(log_in(by, kAliceRight, {9}).result, Result::locked);
}

TEST_F(GuessesAtOnce, RightOnesAndThoseThatNobodyCanTellOfLockNobody) {
  settings.attempts = 4;
  const auto by = rules();
  for (int i = 0; i < 4; ++i) begin(by, "open sesame", {1});
  for (int i = 0; i < 4; ++i) begin(by, "cannot tell", {1});
  wait_until_asked(2);
  const auto results = open_gate();
  EXPECT_EQ(std::ranges::count(results, Result::accepted), 4);
  EXPECT_EQ(std::ranges::count(results, Result::unchecked), 4) << "which locks nobody";
}

TEST_F(HelperLoginsTest, NamesOfTheUsersFileAreNotAskedAbout) {
  settings.users_file = dir.write("users", user_line("alice", ":staff"));
  const auto by = rules();
  EXPECT_EQ(log_in(by, kAliceRight).user->groups, std::vector<std::string>{"staff"});
  EXPECT_EQ(log_in(by, kAliceGuess).result, Result::refused);
  EXPECT_EQ(asked("basic"), 0U);
  EXPECT_EQ(log_in(by, kBobRight).result, Result::accepted);
  EXPECT_EQ(asked("basic"), 1U);
}

class Spellings : public HelperLoginsTest {
 protected:
  Spellings() { settings.basic_helper = helper("nameless"); }
  Login log_in_as(const AuthenticationRulesPtr& by, const std::string& name, ClientKey client = {1}) {
    return log_in(by, test::base64(name + ":open sesame"), client);
  }
  std::string called(const AuthenticationRulesPtr& by, const std::string& name) {
    const Login login = log_in_as(by, name);
    return login.result == Result::accepted ? login.user->name : "";
  }
};

TEST_F(Spellings, OfANameThatAHelperKnowsAreOneUser) {
  const auto by = rules();
  for (const char* name : {"anna", "Anna", "ANNA", "\xef\xbc\xa1nna"}) EXPECT_EQ(called(by, name), "anna") << name;
  EXPECT_EQ(called(by, "\xc2\xa0"), "") << "nobody's name";
  EXPECT_EQ(asked("basic"), 4U) << "each password by itself";
  settings.basic_helper = helper("honest");
  EXPECT_EQ(called(rules(), "Anna"), "Anna") << "the helper says who it is";
}

TEST_F(Spellings, AreDifferentUsersWhereTheSettingsSaySo) {
  const auto before = rules();
  const UserPtr anna = log_in_as(before, "Anna").user;
  ASSERT_NE(anna, nullptr);
  settings.case_sensitive = true;
  const auto by = rules();
  EXPECT_EQ(called(by, "Anna"), "Anna");
  EXPECT_EQ(called(by, "anna"), "anna");
  EXPECT_EQ(by->current(anna, 0), nullptr) << "after the reload she may be another";
}

TEST_F(Spellings, OfANameInTheUsersFileLeadNobodyPastIt) {
  settings.users_file = dir.write("users", user_line("anna", ":pupils"));
  const auto by = rules();
  for (const char* name : {"anna", "Anna"}) {
    const Login login = log_in_as(by, name);
    ASSERT_EQ(login.result, Result::accepted);
    EXPECT_EQ(login.user->name, "anna");
    EXPECT_EQ(login.user->groups, std::vector<std::string>{"pupils"});
  }
  EXPECT_EQ(asked("basic"), 0U);
}

TEST_F(Spellings, ShareTheirAttempts) {
  settings.attempts = 2;
  const auto by = rules();
  EXPECT_EQ(log_in(by, test::base64("anna:x"), {1}).result, Result::refused);
  EXPECT_EQ(log_in(by, test::base64("ANNA:y"), {2}).result, Result::refused);
  EXPECT_EQ(log_in_as(by, "Anna", {3}).result, Result::locked);
}

TEST_F(HelperLoginsTest, GroupsAreAskedAboutOneAfterTheOther) {
  settings.groups_helper = helper("group");
  const auto by = rules({"atlas", "brass", "a b%", "atlas"});
  EXPECT_EQ(log_in(by, kAliceRight).user->groups, (std::vector<std::string>{"known", "a b%", "atlas"}));
  EXPECT_EQ(log_in(by, kBobRight).user->groups, (std::vector<std::string>{"known", "brass"}));
  EXPECT_EQ(asked("groups"), 6U);
}

TEST_F(HelperLoginsTest, AGroupThatNobodyCanTellOfMakesTheLoginUnknown) {
  settings.groups_helper = helper("group");
  const auto by = rules({"cannot tell"});
  EXPECT_EQ(log_in(by, kAliceRight).result, Result::unchecked);
}

TEST_F(HelperLoginsTest, ATicketCountsOnce) {
  settings.negotiate_helper = helper("ticket");
  settings.groups_helper = helper("group");
  const auto by = rules({"atlas"});
  const Login login = show(by, kAliceTicket);
  ASSERT_EQ(login.result, Result::accepted);
  EXPECT_EQ(login.user->name, "alice@EXAMPLE.COM");
  EXPECT_EQ(login.user->groups, std::vector<std::string>{"atlas"});
  EXPECT_EQ(show(by, kAliceTicket).result, Result::refused) << "asked again, and used before";
  EXPECT_EQ(show(by, "////").result, Result::refused);
  EXPECT_EQ(show(by, kBobTicket).result, Result::accepted);
  EXPECT_EQ(asked("negotiate"), 4U);
}

TEST_F(HelperLoginsTest, ANameInATicketIsOneUserInAnySpelling) {
  settings.negotiate_helper = helper("ticket");
  EXPECT_EQ(show(rules(), test::base64("Alice@EXAMPLE.COM")).user->name, "alice@EXAMPLE.COM");
  EXPECT_EQ(show(rules(), test::base64("@EXAMPLE.COM")).result, Result::refused) << "nobody's name";
  settings.strip_realm = true;
  EXPECT_EQ(show(rules(), test::base64("ALICE@EXAMPLE.COM")).user->name, "alice");
  settings.case_sensitive = true;
  EXPECT_EQ(show(rules(), test::base64("aLICE@EXAMPLE.COM")).user->name, "aLICE");
  settings.strip_realm = false;
  EXPECT_EQ(show(rules(), test::base64("alICE@EXAMPLE.COM")).user->name, "alICE@EXAMPLE.COM");
}

class Legs : public HelperLoginsTest {
 protected:
  Legs() {
    settings.negotiate_helper = helper("legs");
    settings.negotiate_helper.command[3] = "4";
    settings.negotiate_helper.concurrency = 4;
  }
  Login begin(const AuthenticationRulesPtr& by, const std::string& name, ClientKey client = {1}) {
    Login login = show(by, test::base64(name), client);
    EXPECT_EQ(login.result, Result::more);
    EXPECT_EQ(login.token, "bGVn");
    EXPECT_NE(login.conversation, nullptr);
    return login;
  }
  Login go_on(const AuthenticationRulesPtr& by, const std::string& text, const Login& before, ClientKey client = {1}) {
    return show(by, test::base64(text), client, before.conversation);
  }
};

TEST_F(Legs, GoToTheProcessAndTheChannelOfTheFirst) {
  settings.negotiate_helper.processes = 2;
  const auto by = rules();
  const Login alice = begin(by, "alice", {1}), bob = begin(by, "bob", {2}), carl = begin(by, "carl", {3});
  EXPECT_EQ(go_on(by, "bob2", bob, {2}).user->name, "bob");
  EXPECT_EQ(go_on(by, "alice2", alice, {1}).user->name, "alice");
  EXPECT_EQ(go_on(by, "alice2", carl, {3}).result, Result::refused) << "of another login";
  EXPECT_EQ(go_on(by, "carl2", carl, {3}).result, Result::unchecked) << "it is over";
}

TEST_F(Legs, AreOneClientsAlone) {
  const auto by = rules();
  const Login alice = begin(by, "alice");
  EXPECT_EQ(go_on(by, "alice2", alice, {2}).result, Result::unchecked);
  EXPECT_EQ(go_on(by, "alice2", alice).user->name, "alice");
}

TEST_F(Legs, KeepHalfTheChannelsOfAClientAtMost) {
  const auto by = rules();
  const Login first = begin(by, "a"), second = begin(by, "b"), third = begin(by, "c");
  EXPECT_EQ(go_on(by, "a2", first).result, Result::unchecked) << "the oldest is lost";
  const Login other = begin(by, "d", {2});
  EXPECT_EQ(go_on(by, "b2", second).user->name, "b");
  EXPECT_EQ(go_on(by, "c2", third).user->name, "c");
  EXPECT_EQ(go_on(by, "d2", other, {2}).user->name, "d");
}

TEST_F(Legs, AreKeptForHalfTheTimeOut) {
  settings.negotiate_helper.timeout = 4s;
  settings.negotiate_helper.concurrency = 0;
  settings.negotiate_helper.command[3] = "0";
  const auto by = rules();
  const Login alice = begin(by, "alice");
  const auto begun = std::chrono::steady_clock::now();
  begin(by, "bob", {2});  // waits for the only channel
  EXPECT_GT(std::chrono::steady_clock::now() - begun, 500ms);
  EXPECT_EQ(go_on(by, "alice2", alice).result, Result::unchecked);
}

TEST_F(Legs, AreAskedOfNoHelperAfterAReload) {
  const auto before = rules();
  const Login alice = begin(before, "alice");
  settings.negotiate_helper = helper("honest");
  EXPECT_EQ(go_on(rules(), "alice2", alice).result, Result::unchecked);
}

TEST_F(Legs, AreNotKeptForWhoHasLeft) {
  settings.negotiate_helper.concurrency = 0;
  settings.negotiate_helper.command[3] = "0";
  const auto by = rules();
  const auto begun = std::chrono::steady_clock::now();
  for (int i = 0; i < 5; ++i) begin(by, "alice");
  EXPECT_LT(std::chrono::steady_clock::now() - begun, settings.negotiate_helper.timeout / 2);
}

TEST_F(Legs, EndWithTheirProcess) {
  settings.negotiate_helper = helper("dies at", {"KK"});
  settings.negotiate_helper.command[3] = "0";
  const auto by = rules();
  const Login alice = begin(by, "alice");
  EXPECT_EQ(go_on(by, "alice2", alice).result, Result::unchecked) << "and no other is asked";
  EXPECT_EQ(begin(by, "bob").result, Result::more) << "by the next";
}

TEST_F(HelperLoginsTest, GroupsOfTheSameUserAreRemembered) {
  settings.negotiate_helper = helper("ticket");
  settings.groups_helper = helper("group");
  settings.strip_realm = true;
  const auto by = rules({"atlas", "brass"});
  EXPECT_EQ(show(by, kAliceTicket).user->name, "alice");
  EXPECT_EQ(show(by, "YWxpY2U=").user->groups, std::vector<std::string>{"atlas"}) << "alice without a realm";
  EXPECT_EQ(asked("groups"), 2U);
}

TEST_F(HelperLoginsTest, TicketsThatAreWrongLockTheAddress) {
  settings.negotiate_helper = helper("ticket");
  settings.attempts = 2;
  const auto by = rules();
  EXPECT_EQ(show(by, "////").result, Result::refused);
  EXPECT_EQ(show(by, "////").result, Result::refused);
  EXPECT_EQ(show(by, kBobTicket).result, Result::locked);
  EXPECT_EQ(show(by, kBobTicket, {2}).result, Result::accepted);
}

TEST_F(HelperLoginsTest, WithoutAHelperNothingIsAsked) {
  const auto by = rules();
  authenticator.use(nullptr);
  EXPECT_EQ(log_in(by, kAliceRight).result, Result::unchecked) << "a request that began before the reload";
}

TEST(HelperRules, OfferWhatHasASource) {
  test::TempDir dir;
  conf::Authentication settings;
  settings.require = {"0.0.0.0/0"};
  settings.negotiate_helper.command = {"/usr/bin/env"};
  settings.users_file = dir.write("users", user_line("alice"));
  settings.basic_without_tls = false;
  auto rules = AuthenticationRules::compile(settings, nullptr).value();
  const std::string negotiate = "Proxy-Authenticate: Negotiate\r\n",
                    basic = "Proxy-Authenticate: Basic realm=\"bloomwall\", charset=\"UTF-8\"\r\n";
  EXPECT_EQ(rules->challenge(true), negotiate + basic);
  EXPECT_EQ(rules->challenge(false), negotiate);
  settings.schemes = {"basic", "negotiate"};
  settings.basic_without_tls = true;
  EXPECT_EQ(AuthenticationRules::compile(settings, nullptr).value()->challenge(false), basic + negotiate);
  settings.schemes = {"negotiate"};
  EXPECT_FALSE(AuthenticationRules::compile(settings, nullptr).value()->takes_basic(true));
  settings.negotiate_helper.command = {"/nowhere/helper"};
  const auto wrong = AuthenticationRules::compile(settings, nullptr);
  ASSERT_FALSE(wrong.has_value());
  EXPECT_EQ(wrong.error().front(),
            "authentication.negotiate_helper.command: /nowhere/helper: No such file or directory");
}

}  // namespace
}  // namespace bloomwall::proxy
