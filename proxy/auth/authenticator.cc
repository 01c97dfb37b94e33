// SPDX-License-Identifier: Apache-2.0
#include "proxy/auth/authenticator.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "proxy/auth/basic_credentials.h"
#include "proxy/state/tokens.h"

namespace bloomwall::proxy {
namespace {

constexpr Milliseconds kTokenHolds{3'600'000};  // in the cache; a change of the tokens drops it at once

}  // namespace

Authenticator::Authenticator(const CredentialHasher::Secret& secret, Clocks clocks, const CurrentTokens* tokens)
    : secret_(secret), clocks_(clocks), tokens_(tokens), helpers_(secret, clocks.monotonic) {}

Authenticator::Authenticator(Clocks clocks, LoginMemory memory, const CurrentTokens* tokens)
    : Authenticator(memory.secret, clocks, tokens) {
  for (CredentialCache::Row& row : memory.passwords) cache_.put(row.key, std::move(row.result));
  helpers_.remember(std::move(memory.groups));
}

LoginMemory Authenticator::memory() const {
  return {.secret = secret_, .passwords = cache_.users(), .groups = helpers_.remembered()};
}

// What a check under these rules has said, or one under other rules that holds under these.
std::optional<UserPtr> Authenticator::find(const AuthenticationRules& rules, const CredentialKey& key) {
  return cache_.find(key, rules.edition, {.yes = rules.cache, .no = kNoHolds}, clocks_.monotonic(),
                     [&](const CredentialCache::Result& known) { return rules.still(known.spelt, known.user); });
}

UserPtr Authenticator::recall(const AuthenticationRules& rules, const CredentialKey& key) {
  if (!rules.has_basic) return nullptr;
  auto known = find(rules, key);
  if (!known || *known == nullptr || clocks_.seconds() >= (*known)->until) return nullptr;
  return *std::move(known);
}

std::optional<Login> Authenticator::log_in(const AuthenticationRulesPtr& rules, const ClientKey& client,
                                           std::string_view token, const CredentialKey& key, CredentialHasher& hasher,
                                           CheckQueue::Done done) {
  auto credentials = decode_basic(token);
  if (!credentials) return refuse_malformed(*rules, client);
  if (tokens_ != nullptr && is_token_text(credentials->password))
    return take_token(*rules, client, credentials->password);
  if (!rules->has_basic) return refuse_malformed(*rules, client);
  auto called = rules->called(credentials->name);
  if (!called) return refuse_malformed(*rules, client);
  const CredentialKey name = hasher.key_of(CredentialHasher::Kind::user_name, *called);
  AttemptLimits::Key user{};
  std::copy_n(name.begin(), user.size(), user.begin());
  if (const Milliseconds left = locked_for(client, user); left > Milliseconds(0)) {
    return Login{.result = Login::Result::locked, .locked_for = left};
  }
  if (auto known = find(*rules, key)) {
    const bool is_right = *known != nullptr && clocks_.seconds() < (*known)->until;
    if (!is_right) return refuse(*rules, client, user);
    return Login{.result = Login::Result::accepted, .user = *std::move(known)};
  }
  CredentialQuestion question;
  question.rules = rules;
  question.credentials = *std::move(credentials);
  question.called = *std::move(called);
  question.key = key;
  question.client = client;
  question.user = user;
  const bool is_asked = rules->is_listed(question.called) ? queue_.ask(std::move(question), std::move(done))
                                                          : ask_helper(std::move(question), std::move(done));
  if (is_asked) return std::nullopt;
  return Login{.result = Login::Result::unchecked};
}

Login Authenticator::take_token(const AuthenticationRules& rules, const ClientKey& client, std::string_view token) {
  if (tokens_ == nullptr || !is_token_text(token)) return refuse_malformed(rules, client);
  const TokenDigest digest = digest_of(token);
  const std::uint64_t edition = tokens_->edition();
  if (const auto known = cache_.find(digest, edition, {.yes = kTokenHolds}, clocks_.monotonic());
      known && clocks_.seconds() < (*known)->until) {
    return {.result = Login::Result::accepted, .user = *known};
  }
  const TokenTablePtr table = tokens_->get();
  const Token* const held = table->find(digest);
  if (held == nullptr || clocks_.seconds() >= held->until) return refuse_malformed(rules, client);
  auto user = std::make_shared<const User>(
      User{.name = held->name, .groups = held->groups, .token = TokenHeld{tokens_, digest}, .until = held->until});
  cache_.put(digest, {.user = user, .edition = edition, .since = clocks_.monotonic()});
  return {.result = Login::Result::accepted, .user = std::move(user)};
}

bool Authenticator::ask_helper(CredentialQuestion question, CheckQueue::Done done) {
  const NameAndPassword credentials = std::move(question.credentials);
  question.credentials.name = credentials.name;
  const auto asked = std::make_shared<const CredentialQuestion>(std::move(question));
  return helpers_.check_password(
      asked->rules, asked->client, asked->key, credentials, asked->called,
      [this, asked] { return attempts_left(*asked->rules, asked->client, &asked->user); },
      [this, asked, done = std::move(done)](HelperLogins::Verdict verdict, UserPtr user) {
        ++progress_;
        done(conclude(*asked, verdict, std::move(user)));
      });
}

// On a thread of the helpers.
Login Authenticator::conclude(const CredentialQuestion& question, HelperLogins::Verdict verdict, UserPtr user) {
  const AuthenticationRules& rules = *question.rules;
  // Others that were asked together with this one may have used up the attempts.
  if (const Milliseconds left = locked_for(question.client, question.user); left > Milliseconds(0)) {
    return {.result = Login::Result::locked, .locked_for = left};
  }
  switch (verdict) {
    case HelperLogins::Verdict::right:
      remember(question, user);
      return {.result = Login::Result::accepted, .user = std::move(user)};
    case HelperLogins::Verdict::wrong:
      remember(question, nullptr);
      return refuse(rules, question.client, question.user);
    case HelperLogins::Verdict::more:  // none of a password
    case HelperLogins::Verdict::unknown:
      break;
  }
  return {.result = Login::Result::unchecked};
}

std::optional<Login> Authenticator::negotiate(const AuthenticationRulesPtr& rules, const ClientKey& client,
                                              std::string_view ticket, const HelperConversationPtr& conversation,
                                              CheckQueue::Done done) {
  const Milliseconds left = clients_.locked_for(client, clocks_.monotonic());
  if (left > Milliseconds(0)) return Login{.result = Login::Result::locked, .locked_for = left};
  const bool is_asked = helpers_.check_ticket(
      rules, client, ticket, conversation, [this, rules, client] { return attempts_left(*rules, client, nullptr); },
      [this, rules, client, done = std::move(done)](HelperLogins::TicketAnswer answer) {
        ++progress_;
        done(conclude_ticket(*rules, client, std::move(answer)));
      });
  if (is_asked) return std::nullopt;
  return Login{.result = Login::Result::unchecked};
}

Login Authenticator::conclude_ticket(const AuthenticationRules& rules, const ClientKey& client,
                                     HelperLogins::TicketAnswer answer) {
  const Milliseconds left = clients_.locked_for(client, clocks_.monotonic());
  if (left > Milliseconds(0)) return {.result = Login::Result::locked, .locked_for = left};
  switch (answer.verdict) {
    case HelperLogins::Verdict::right:
      return {.result = Login::Result::accepted, .user = std::move(answer.user)};
    case HelperLogins::Verdict::more:
      return {.result = Login::Result::more, .token = std::move(answer.token), .conversation = answer.conversation};
    case HelperLogins::Verdict::wrong:
      return refuse_malformed(rules, client);
    case HelperLogins::Verdict::unknown:
      break;
  }
  return {.result = Login::Result::unchecked};
}

Login Authenticator::refuse_malformed(const AuthenticationRules& rules, const ClientKey& client) {
  const Milliseconds now = clocks_.monotonic();
  const Milliseconds left = clients_.locked_for(client, now);
  if (left > Milliseconds(0)) return {.result = Login::Result::locked, .locked_for = left};
  clients_.note_refusal(client, rules.attempts, rules.lock, now);
  return {.result = Login::Result::refused};
}

Authenticator::Figures Authenticator::figures() const {
  const Milliseconds now = clocks_.monotonic();
  return {.remembered = cache_.size(),
          .locked_clients = clients_.locked(now),
          .locked_users = users_.locked(now),
          .helpers = helpers_.figures()};
}

Milliseconds Authenticator::locked_for(const ClientKey& client, const AttemptLimits::Key& user) const {
  const Milliseconds now = clocks_.monotonic();
  return std::max(clients_.locked_for(client, now), users_.locked_for(user, now));
}

std::size_t Authenticator::attempts_left(const AuthenticationRules& rules, const ClientKey& client,
                                         const AttemptLimits::Key* user) {
  const Milliseconds now = clocks_.monotonic();
  const std::uint32_t left = clients_.left(client, rules.attempts, now);
  return user == nullptr ? left : std::min(left, users_.left(*user, rules.attempts, now));
}

Login Authenticator::refuse(const AuthenticationRules& rules, const ClientKey& client, const AttemptLimits::Key& user) {
  const Milliseconds now = clocks_.monotonic();
  clients_.note_refusal(client, rules.attempts, rules.lock, now);
  users_.note_refusal(user, rules.attempts, rules.lock, now);
  return {.result = Login::Result::refused};
}

void Authenticator::remember(const CredentialQuestion& question, UserPtr user) {
  const AuthenticationRules& rules = *question.rules;
  if (user != nullptr && rules.cache <= Milliseconds(0)) return;
  cache_.put(question.key, {.user = std::move(user),
                            .spelt = question.credentials.name,
                            .edition = rules.edition,
                            .since = clocks_.monotonic()});
}

std::size_t Authenticator::room(const CredentialQuestion& question) {
  return attempts_left(*question.rules, question.client, &question.user);
}

// Whether the name is a user's is found out only after the same work was done.
Login Authenticator::check(const CredentialQuestion& question, PasswordHasher& hasher) {
  ++progress_;
  const AuthenticationRules& rules = *question.rules;
  // Others that waited before this one may have used up the attempts.
  if (const Milliseconds left = locked_for(question.client, question.user); left > Milliseconds(0)) {
    return {.result = Login::Result::locked, .locked_for = left};
  }
  const UserTable::Entry* const entry = rules.users->find(question.called);
  const std::string& hash = entry != nullptr ? entry->hash : rules.users->stand_in(question.called);
  const auto compared = hasher.compare(question.credentials.password, hash);
  if (compared == PasswordHasher::Result::failed) return {.result = Login::Result::unchecked};
  // And so may those that were checked at the same time.
  if (const Milliseconds left = locked_for(question.client, question.user); left > Milliseconds(0)) {
    return {.result = Login::Result::locked, .locked_for = left};
  }
  const bool is_right = compared == PasswordHasher::Result::same && entry != nullptr;
  if (!is_right || clocks_.seconds() >= entry->user->until) {
    remember(question, nullptr);
    return refuse(rules, question.client, question.user);
  }
  remember(question, entry->user);
  return {.result = Login::Result::accepted, .user = entry->user};
}

}  // namespace bloomwall::proxy
