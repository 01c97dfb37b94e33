// SPDX-License-Identifier: Apache-2.0
#include "proxy/auth/authenticator.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <future>
#include <mutex>
#include <string>
#include <vector>

#include "proxy/auth/basic_credentials.h"
#include "proxy/state/tokens.h"
#include "tests/proxy/auth/hashes.h"
#include "tests/support/temp_dir.h"

namespace bloomwall::proxy {
namespace {

using namespace bloomwall::test;
using namespace std::chrono_literals;
using Result = Login::Result;

Milliseconds now{1'000'000};         // NOLINT: the hands that the test turns
std::int64_t today = 1'800'000'000;  // NOLINT
Milliseconds test_clock() { return now; }
std::int64_t test_seconds() { return today; }

// "alice:open sesame" and the like.
constexpr std::string_view kAlice = "YWxpY2U6b3BlbiBzZXNhbWU=", kAliceWrong = "YWxpY2U6eA==";
constexpr std::string_view kBob = "Ym9iOm9wZW4gc2VzYW1l", kNobody = "bm9ib2R5Ong=";

class AuthenticatorTest : public ::testing::Test {
 protected:
  AuthenticationRulesPtr rules(const std::string& users, const AuthenticationRulesPtr& before = nullptr) {
    settings.users_file = dir_.write("users", users);
    auto made = AuthenticationRules::compile(settings, before);
    if (!made) throw std::runtime_error(made.error().front());
    return *made;
  }
  CredentialKey key_of(std::string_view token) { return hasher_.key_of(CredentialHasher::Kind::basic, token); }
  UserPtr recall(const AuthenticationRulesPtr& by, std::string_view token) {
    return authenticator.recall(*by, key_of(token));
  }
  // Waits for the check, if there is one.
  Login log_in(const AuthenticationRulesPtr& by, std::string_view token, ClientKey client = {1}) {
    std::promise<Login> promise;
    auto answer = promise.get_future();
    const auto at_once = authenticator.log_in(by, client, token, key_of(token), hasher_,
                                              [&](const Login& login) { promise.set_value(login); });
    if (at_once) return *at_once;
    if (answer.wait_for(20s) != std::future_status::ready) throw std::runtime_error("no answer within 20 s");
    return answer.get();
  }
  Result result_of(const AuthenticationRulesPtr& by, std::string_view token, ClientKey client = {1}) {
    return log_in(by, token, client).result;
  }

  static conf::Authentication for_everybody() {
    conf::Authentication all;
    all.require = {"0.0.0.0/0"};
    return all;
  }
  conf::Authentication settings = for_everybody();
  Authenticator authenticator{{7}, {test_clock, test_seconds}};

 private:
  TempDir dir_;
  CredentialHasher hasher_{authenticator.secret()};
};

TEST_F(AuthenticatorTest, TakesWhatIsRightAndRemembersIt) {
  const auto by = rules(user_line("alice", ":staff") + user_line("bob", "", kSha512));
  EXPECT_EQ(recall(by, kAlice), nullptr);
  const Login login = log_in(by, kAlice);
  ASSERT_EQ(login.result, Result::accepted);
  EXPECT_EQ(login.user->name, "alice");
  EXPECT_EQ(login.user->groups, std::vector<std::string>{"staff"});
  EXPECT_EQ(recall(by, kAlice), login.user);
  EXPECT_EQ(log_in(by, kBob).user->name, "bob");
  now += settings.cache;
  EXPECT_EQ(recall(by, kAlice), nullptr);
}

TEST_F(AuthenticatorTest, RefusesWhatIsWrongUnknownOrMalformed) {
  const auto by = rules(user_line("alice"));
  for (const std::string_view token : {kAliceWrong, kNobody, kBob, std::string_view("!"), std::string_view()}) {
    EXPECT_EQ(result_of(by, token), Result::refused) << token;
    EXPECT_EQ(recall(by, token), nullptr);
  }
}

TEST_F(AuthenticatorTest, RemembersNothingWhereTheCacheIsOff) {
  settings.cache = 0ms;
  const auto by = rules(user_line("alice"));
  EXPECT_EQ(result_of(by, kAlice), Result::accepted);
  EXPECT_EQ(recall(by, kAlice), nullptr);
  EXPECT_EQ(result_of(by, kAlice), Result::accepted);
}

TEST_F(AuthenticatorTest, ForgetsWithTheUsersFileAndNotWithAReload) {
  const auto first = rules(user_line("alice"));
  EXPECT_EQ(result_of(first, kAlice), Result::accepted);
  settings.realm = "other";
  const auto same = rules(user_line("alice"), first);
  EXPECT_NE(recall(same, kAlice), nullptr) << "the file is the same";
  const auto without = rules(user_line("bob"), same);
  EXPECT_EQ(recall(without, kAlice), nullptr);
  EXPECT_EQ(result_of(without, kAlice), Result::refused);
  EXPECT_EQ(without->current(std::make_shared<const User>(User{.name = "alice"}), today), nullptr);
  EXPECT_NE(without->current(std::make_shared<const User>(User{.name = "bob"}), today), nullptr);
}

// Each password would cost a check of 50 ms and more: it is counted, not timed.
TEST_F(AuthenticatorTest, ChecksNobodyAgainForTheLineOfAnother) {
  const std::string alice = user_line("alice", ":staff"), bob = user_line("bob", "", kSha512);
  auto by = rules(alice + bob);
  EXPECT_EQ(result_of(by, kAlice), Result::accepted);
  EXPECT_EQ(result_of(by, kBob), Result::accepted);
  const std::uint64_t checked = authenticator.progress();
  for (const std::string& text :
       {alice + bob + user_line("carol"), bob + alice, "# everybody\n" + alice + "\n" + bob, alice + bob}) {
    by = rules(text, by);
    EXPECT_NE(recall(by, kAlice), nullptr) << text;
    EXPECT_NE(recall(by, kBob), nullptr) << text;
    EXPECT_EQ(recall(by, kAlice), recall(by, kAlice));
  }
  settings.strip_realm = true;
  by = rules(alice, by);
  EXPECT_NE(recall(by, kAlice), nullptr);
  EXPECT_EQ(recall(by, kBob), nullptr) << "removed, and out at once";
  EXPECT_EQ(authenticator.progress(), checked);
}

TEST_F(AuthenticatorTest, TakesGroupsAndEndFromTheLineAsItIsByNow) {
  auto by = rules(user_line("alice", ":staff"));
  EXPECT_EQ(result_of(by, kAlice), Result::accepted);
  by = rules(user_line("alice", ":pupils"), by);
  ASSERT_NE(recall(by, kAlice), nullptr) << "the password is the same";
  EXPECT_EQ(recall(by, kAlice)->groups, std::vector<std::string>{"pupils"});
  EXPECT_EQ(recall(rules(user_line("alice", "::2020-01-31"), by), kAlice), nullptr);
  by = rules(user_line("alice", "", kSha512), by);
  const UserPtr other_hash = recall(by, kAlice);
  EXPECT_EQ(other_hash, nullptr) << "a hash that the password was not compared with";
}

TEST_F(AuthenticatorTest, HandsItsMemoryToTheNextProcess) {
  const auto by = rules(user_line("alice", ":staff") + user_line("bob"));
  EXPECT_EQ(result_of(by, kAlice), Result::accepted);
  EXPECT_EQ(result_of(by, kBob), Result::accepted);
  EXPECT_EQ(result_of(by, kAliceWrong), Result::refused);
  const UniqueFd file = write_memory(authenticator.memory());
  ASSERT_TRUE(file);
  EXPECT_LT(::write(file.get(), "x", 1), 0) << "sealed";
  auto memory = read_memory(file.get());
  ASSERT_TRUE(memory.has_value());
  EXPECT_EQ(memory->passwords.size(), 2U);
  Authenticator next({test_clock, test_seconds}, *std::move(memory));
  ASSERT_EQ(next.secret(), authenticator.secret());
  const UserPtr user = next.recall(*by, key_of(kAlice));
  ASSERT_NE(user, nullptr);
  EXPECT_EQ(user->groups, std::vector<std::string>{"staff"});
  EXPECT_EQ(next.recall(*by, key_of(kAliceWrong)), nullptr);
  const auto without = rules(user_line("alice"), by);
  EXPECT_EQ(next.recall(*without, key_of(kBob)), nullptr) << "removed while the next process loaded";
  EXPECT_EQ(next.progress(), 0U);
  now += settings.cache;
  EXPECT_EQ(next.recall(*by, key_of(kAlice)), nullptr) << "as long as it was to be remembered";
}

TEST(LoginMemoryTest, IsReadWholeOrNotAtAll) {
  LoginMemory memory{.secret = {7}, .passwords = {}, .groups = {}};
  const auto user = std::make_shared<const User>(User{.name = "anna", .groups = {"a", "b"}, .helpers = 3, .until = 9});
  memory.passwords.push_back({{1}, {.user = user, .spelt = "Anna", .since = Milliseconds(5)}});
  memory.groups.push_back({{2}, {.user = user, .since = Milliseconds(6)}});
  const std::string octets = encode(memory);
  const auto read = decode(octets);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->passwords.front().result.spelt, "Anna");
  EXPECT_EQ(read->groups.front().result.user->groups, user->groups);
  EXPECT_EQ(encode(*read), octets);
  for (std::size_t size = 0; size < octets.size(); ++size) {
    ASSERT_FALSE(decode(std::string_view(octets).substr(0, size)).has_value()) << size;
  }
  EXPECT_FALSE(decode(octets + "x").has_value());
  EXPECT_FALSE(decode("bloomwall logins 2\n" + octets.substr(19)).has_value()) << "another version's";
}

TEST_F(AuthenticatorTest, ForgetsWhereTheCacheIsTurnedOffOrBasicIsNotOffered) {
  const auto first = rules(user_line("alice"));
  EXPECT_EQ(result_of(first, kAlice), Result::accepted);
  settings.cache = 0ms;
  EXPECT_EQ(recall(rules(user_line("alice"), first), kAlice), nullptr);
  settings.cache = 300s;
  EXPECT_EQ(result_of(first, kAlice), Result::accepted);
  EXPECT_NE(recall(rules(user_line("alice"), first), kAlice), nullptr) << "as long as before";
  settings.schemes = {"negotiate"};
  settings.negotiate_helper.command = {"/usr/bin/env"};
  const auto tickets = rules(user_line("alice"), first);
  auto same = std::make_shared<AuthenticationRules>(*tickets);
  same->edition = first->edition;
  EXPECT_EQ(recall(same, kAlice), nullptr) << "whatever is remembered";
  EXPECT_EQ(result_of(tickets, kAlice), Result::refused);
}

TEST_F(AuthenticatorTest, RefusesAUserWhoHasEndedAlsoFromMemory) {
  const auto by = rules(user_line("alice", "::2027-01-31"));
  EXPECT_EQ(result_of(by, kAlice), Result::accepted);
  EXPECT_NE(recall(by, kAlice), nullptr);
  today = 1'801'440'000;
  EXPECT_EQ(recall(by, kAlice), nullptr);
  EXPECT_EQ(result_of(by, kAlice), Result::refused);
  EXPECT_EQ(by->current(std::make_shared<const User>(User{.name = "alice"}), today), nullptr);
  today = 1'800'000'000;
}

class TokenLogins : public AuthenticatorTest {
 protected:
  static constexpr std::string_view kTokenText = "bw_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
  // "ci:" and that; "other:" and that.
  static constexpr std::string_view kAsPassword = "Y2k6YndfYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWE=",
                                    kUnderAnotherName = "b3RoZXI6YndfYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWE=";
  void keep(std::vector<Token> all) { tokens.set(std::make_shared<const TokenTable>(std::move(all))); }
  static Token ci(std::int64_t until = Token::kForever) {
    return {.name = "ci", .groups = {"build"}, .until = until, .digest = digest_of(kTokenText)};
  }
  Login bearer(const AuthenticationRulesPtr& by, std::string_view token, ClientKey client = {1}) {
    return with_tokens.take_token(*by, client, token);
  }
  Login basic(const AuthenticationRulesPtr& by, std::string_view token, ClientKey client = {1}) {
    CredentialHasher hasher(with_tokens.secret());
    const CredentialKey key = hasher.key_of(CredentialHasher::Kind::basic, token);
    const auto login = with_tokens.log_in(by, client, token, key, hasher, [](const Login&) {});
    EXPECT_TRUE(login.has_value()) << "at once";
    EXPECT_EQ(with_tokens.recall(*by, key), nullptr) << "each time anew";
    return login.value_or(Login{});
  }
  CurrentTokens tokens;
  Authenticator with_tokens{{7}, {test_clock, test_seconds}, &tokens};
};

TEST_F(TokenLogins, AreTakenAloneAndInPlaceOfAPassword) {
  const auto by = rules(user_line("alice"));
  keep({ci()});
  for (const Login& login : {bearer(by, kTokenText), basic(by, kAsPassword), basic(by, kUnderAnotherName)}) {
    ASSERT_EQ(login.result, Result::accepted);
    EXPECT_EQ(login.user->name, "ci") << "a token names its holder";
    EXPECT_EQ(login.user->groups, std::vector<std::string>{"build"});
  }
  EXPECT_EQ(bearer(by, kTokenText).user, bearer(by, kTokenText).user) << "made once";
}

TEST_F(TokenLogins, EndWithTheirTokenAtOnce) {
  const auto by = rules(user_line("alice"));
  keep({ci()});
  const UserPtr user = bearer(by, kTokenText).user;
  ASSERT_NE(user, nullptr);
  EXPECT_EQ(by->current(user, today), user);
  keep({});
  EXPECT_EQ(bearer(by, kTokenText).result, Result::refused);
  EXPECT_EQ(basic(by, kAsPassword).result, Result::refused);
  EXPECT_EQ(by->current(user, today), nullptr) << "of a tunnel that is open, too";
  keep({ci(today + 10)});
  const UserPtr again = bearer(by, kTokenText).user;
  ASSERT_NE(again, nullptr);
  today += 10;
  EXPECT_EQ(bearer(by, kTokenText).result, Result::refused);
  EXPECT_EQ(by->current(again, today), nullptr);
  today = 1'800'000'000;
}

TEST_F(TokenLogins, GuessesLockWhoeverHasNone) {
  settings.attempts = 2;
  const auto by = rules(user_line("alice"));
  keep({ci()});
  EXPECT_EQ(bearer(by, "bw_baaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa").result, Result::refused);
  EXPECT_EQ(bearer(by, "open sesame").result, Result::refused);
  EXPECT_EQ(bearer(by, "open sesame").result, Result::locked);
  EXPECT_EQ(bearer(by, kTokenText).result, Result::accepted) << "nobody guesses 160 bits";
  EXPECT_EQ(basic(by, kAsPassword).result, Result::accepted);
}

TEST_F(TokenLogins, OfOneWithoutTokensAreRefused) {
  const auto by = rules(user_line("alice"));
  EXPECT_EQ(authenticator.take_token(*by, {1}, kTokenText).result, Result::refused);
  EXPECT_EQ(result_of(by, kAsPassword), Result::refused) << "a password like any other";
}

TEST_F(AuthenticatorTest, LocksAnAddressAfterTooManyRefusals) {
  settings.attempts = 3;
  const auto by = rules(user_line("alice") + user_line("bob"));
  EXPECT_EQ(result_of(by, kBob), Result::accepted);
  EXPECT_EQ(result_of(by, kNobody), Result::refused);
  EXPECT_EQ(result_of(by, kNobody), Result::refused) << "out of memory, and counted all the same";
  EXPECT_EQ(result_of(by, "!"), Result::refused);
  const Login locked = log_in(by, kAlice);
  EXPECT_EQ(locked.result, Result::locked);
  EXPECT_EQ(locked.locked_for, settings.lock);
  EXPECT_EQ(result_of(by, "!"), Result::locked);
  EXPECT_NE(recall(by, kBob), nullptr) << "who is known goes on";
  EXPECT_EQ(result_of(by, kAlice, {2}), Result::accepted) << "from elsewhere";
  now += settings.lock;
  EXPECT_EQ(result_of(by, kAlice), Result::accepted);
}

TEST_F(AuthenticatorTest, LocksAUserAfterTooManyRefusalsFromAnywhere) {
  settings.attempts = 3;
  const auto by = rules(user_line("alice") + user_line("bob"));
  for (std::uint8_t client = 1; client <= 3; ++client) EXPECT_EQ(result_of(by, kAliceWrong, {client}), Result::refused);
  EXPECT_EQ(result_of(by, kAlice, {9}), Result::locked);
  EXPECT_EQ(result_of(by, kBob, {9}), Result::accepted);
  for (std::uint8_t client = 1; client <= 3; ++client) EXPECT_EQ(result_of(by, kNobody, {9}), Result::refused);
  EXPECT_EQ(result_of(by, kNobody, {8}), Result::locked) << "a name that is nobody's is locked like any other";
  now += settings.lock;
}

TEST(AuthenticationRules, SayWhatIsWrong) {
  TempDir dir;
  conf::Authentication settings;
  EXPECT_TRUE(AuthenticationRules::compile(settings, nullptr).has_value()) << "nobody has to log in";
  settings.users_file = dir.write("users", "alice:secret\n");
  const auto wrong = AuthenticationRules::compile(settings, nullptr);
  ASSERT_FALSE(wrong.has_value()) << "an unused file is checked, too";
  EXPECT_EQ(wrong.error().front(), "authentication.users_file: " + settings.users_file.string() +
                                       ":1: not a hash, or one of an unknown kind: make the line with `htpasswd -B`");
  settings.users_file.clear();
  settings.require = {"10.0.0.0/8"};
  EXPECT_FALSE(AuthenticationRules::compile(settings, nullptr).has_value());
  settings.users_file = dir.write("users", user_line("alice"));
  settings.realm = "the office";
  settings.exempt_hosts = {"example.com"};
  const auto rules = AuthenticationRules::compile(settings, nullptr);
  ASSERT_TRUE(rules.has_value());
  EXPECT_EQ((*rules)->challenge(false), "Proxy-Authenticate: Basic realm=\"the office\", charset=\"UTF-8\"\r\n");
  EXPECT_TRUE((*rules)->is_exempt("updates.example.com"));
  EXPECT_FALSE((*rules)->is_exempt("example.org"));
}

TEST(AuthenticationRules, AreReadWhereNobodyMustLogIn) {
  TempDir dir;
  conf::Authentication settings;
  settings.users_file = dir.write("users", user_line("alice"));
  const auto rules = AuthenticationRules::compile(settings, nullptr);
  ASSERT_TRUE(rules.has_value());
  ASSERT_NE((*rules)->users, nullptr);
  EXPECT_EQ(AuthenticationRules::compile(settings, *rules).value()->users, (*rules)->users) << "not read anew";
  EXPECT_EQ((*rules)->named("alice", today)->name, "alice");
}

// A checker whose first check goes on until the test says so.
class HeldChecker final : public CheckQueue::Checker {
 public:
  Login check(const CredentialQuestion& question, PasswordHasher&) override {
    std::unique_lock lock(mutex_);
    checked.push_back(question.client);
    changed_.notify_all();
    changed_.wait(lock, [this] { return is_released_; });
    return {.result = Result::accepted};
  }
  std::size_t room(const CredentialQuestion&) override { return most_of_client; }
  void wait_until_begun(std::size_t count = 1) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return checked.size() >= count; });
  }
  void release() {
    const std::lock_guard lock(mutex_);
    is_released_ = true;
    changed_.notify_all();
  }
  std::vector<ClientKey> checked;
  std::size_t most_of_client = 100;  // before it is asked

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_released_ = false;
};

class CheckQueueTest : public ::testing::Test {
 protected:
  bool ask(std::uint8_t client, std::uint16_t number) {
    CredentialQuestion question;
    question.rules = rules_;
    question.client = {client};
    question.key = {client, static_cast<std::uint8_t>(number), static_cast<std::uint8_t>(number >> 8)};
    return queue.ask(std::move(question), [this](const Login&) { ++answers; });
  }
  void wait_for_answers(int count) {
    const auto deadline = std::chrono::steady_clock::now() + 20s;
    while (answers < count && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    ASSERT_EQ(answers, count);
  }
  HeldChecker checker;
  std::atomic<int> answers{0};
  CheckQueue queue{checker, 1};

 private:
  static AuthenticationRulesPtr make_rules() {
    auto rules = std::make_shared<AuthenticationRules>();
    rules->users = *UserTable::parse("", "users");
    return rules;
  }
  AuthenticationRulesPtr rules_ = make_rules();
};

TEST_F(CheckQueueTest, LetsClientsTakeTurns) {
  ASSERT_TRUE(ask(1, 0));
  checker.wait_until_begun();
  EXPECT_TRUE(queue.is_busy()) << "who waits goes on waiting";
  for (std::uint16_t i = 1; i <= 4; ++i) ASSERT_TRUE(ask(1, i));
  ASSERT_TRUE(ask(2, 0));
  ASSERT_TRUE(ask(3, 0));
  checker.release();
  wait_for_answers(7);
  const std::vector<ClientKey> wanted{{1}, {1}, {2}, {3}, {1}, {1}, {1}};
  EXPECT_EQ(checker.checked, wanted);
}

TEST_F(CheckQueueTest, IsBusyFromTheQuestionUntilTheAnswer) {
  EXPECT_FALSE(queue.is_busy());
  ASSERT_TRUE(ask(1, 0));
  EXPECT_TRUE(queue.is_busy()) << "also before a thread has got to it";
  checker.wait_until_begun();
  ASSERT_TRUE(ask(1, 1));
  checker.release();
  wait_for_answers(2);
  const auto deadline = std::chrono::steady_clock::now() + 20s;
  while (queue.is_busy() && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  EXPECT_FALSE(queue.is_busy());
}

TEST(CheckQueueThreads, ThatHaveNotBegunLeaveNobodyAlone) {
  HeldChecker checker;
  CheckQueue queue(checker, 0);  // the system runs none of them yet
  CredentialQuestion question;
  question.rules = std::make_shared<AuthenticationRules>();
  ASSERT_TRUE(queue.ask(std::move(question), [](const Login&) { ADD_FAILURE(); }));
  EXPECT_TRUE(queue.is_busy()) << "who waits goes on waiting";
}

TEST_F(CheckQueueTest, AsksOnceForAllWhoHaveTheSameCredentials) {
  ASSERT_TRUE(ask(1, 0));
  checker.wait_until_begun();
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(ask(1, 0)) << "those of the check that is running";
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(ask(1, 1));
  checker.release();
  wait_for_answers(11);
  EXPECT_EQ(checker.checked.size(), 2U);
}

TEST_F(CheckQueueTest, IsBoundedForEachClientAndInAll) {
  ASSERT_TRUE(ask(1, 0));
  checker.wait_until_begun();
  constexpr std::uint16_t kHalf = CheckQueue::kMostWaiting / 2;
  std::uint16_t number = 1;
  while (ask(1, number)) ++number;
  EXPECT_GE(number, kHalf / 2) << "users behind one address";
  EXPECT_LE(number, kHalf) << "and room for others";
  std::size_t waiting = number - 1U;
  for (std::uint8_t client = 2; waiting < CheckQueue::kMostWaiting; ++client) {
    for (std::uint16_t i = 0; i < CheckQueue::kMostOfClient && waiting < CheckQueue::kMostWaiting; ++i, ++waiting) {
      ASSERT_TRUE(ask(client, i)) << waiting;
    }
  }
  EXPECT_FALSE(ask(250, 0));
  EXPECT_TRUE(ask(1, 0)) << "who waits for the same takes no room";
  checker.release();
  wait_for_answers(static_cast<int>(waiting) + 2);
  EXPECT_TRUE(ask(250, 0)) << "there is room again";
  wait_for_answers(static_cast<int>(waiting) + 3);
}

TEST(CheckQueueThreads, CheckAtTheSameTimeAndOfAClientNoMoreThanItsRoom) {
  HeldChecker checker;
  checker.most_of_client = 2;
  CheckQueue queue(checker, 4);
  const auto rules = std::make_shared<AuthenticationRules>();
  std::atomic<int> answers{0};
  const auto ask = [&](std::uint8_t client, std::uint8_t number) {
    CredentialQuestion question;
    question.rules = rules;
    question.client = {client};
    question.key = {client, number};
    ASSERT_TRUE(queue.ask(std::move(question), [&](const Login&) { ++answers; }));
  };
  for (std::uint8_t i = 0; i < 5; ++i) ask(1, i);
  for (std::uint8_t i = 0; i < 2; ++i) ask(2, i);
  checker.wait_until_begun(4);
  EXPECT_EQ(std::ranges::count(checker.checked, ClientKey{1}), 2);
  EXPECT_EQ(std::ranges::count(checker.checked, ClientKey{2}), 2);
  checker.release();
  const auto deadline = std::chrono::steady_clock::now() + 20s;
  while (answers < 7 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  EXPECT_EQ(answers, 7);
}

TEST_F(CheckQueueTest, DropsWhatWaitsWhenItEnds) {
  auto own = std::make_unique<HeldChecker>();
  auto ending = std::make_unique<CheckQueue>(*own, 1);
  auto rules = std::make_shared<AuthenticationRules>();
  rules->users = *UserTable::parse("", "users");
  std::atomic<int> answered{0};
  for (std::uint8_t i = 0; i < 3; ++i) {
    CredentialQuestion question;
    question.rules = rules;
    question.key = {i};
    ASSERT_TRUE(ending->ask(std::move(question), [&](const Login&) { ++answered; }));
  }
  own->wait_until_begun();
  std::thread releaser([&] { own->release(); });
  ending.reset();
  releaser.join();
  EXPECT_LE(answered, 3);
  EXPECT_GE(own->checked.size(), 1U);
}

}  // namespace
}  // namespace bloomwall::proxy
