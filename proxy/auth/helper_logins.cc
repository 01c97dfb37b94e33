// SPDX-License-Identifier: Apache-2.0
#include "proxy/auth/helper_logins.h"

#include <algorithm>
#include <cstring>

namespace bloomwall::proxy {
namespace {

using Verdict = HelperLogins::Verdict;
using Answered = HelperAnswer::Result;

// Of a reply to a question about credentials. A helper that could not tell about a ticket was shown junk, or one that
// was used before.
Verdict verdict_of(const HelperReply& reply, bool is_ticket) {
  if (!reply.has_answer) return Verdict::unknown;
  switch (reply.answer.result) {
    case Answered::ok:
      return is_ticket && reply.answer.user.empty() ? Verdict::unknown : Verdict::right;
    case Answered::error:
      return Verdict::wrong;
    case Answered::more:
      return is_ticket && reply.conversation != nullptr ? Verdict::more : Verdict::unknown;
    case Answered::broken:
      break;
  }
  return is_ticket ? Verdict::wrong : Verdict::unknown;
}

// `helpers`: which of the two that name users has answered.
User user_of(const HelperAnswer& answer, const std::string& called, std::uint64_t helpers) {
  return {.name = answer.user.empty() ? called : answer.user, .groups = answer.groups, .helpers = helpers};
}

}  // namespace

HelperLogins::HelperLogins(const CredentialHasher::Secret& secret, Milliseconds (*clock)())
    : clock_(clock), hasher_(secret) {}

void HelperLogins::use(const AuthenticationRules* rules) {
  static const conf::AuthHelper kNone;
  basic_.use(rules == nullptr ? kNone : rules->basic_helper);
  negotiate_.use(rules == nullptr ? kNone : rules->negotiate_helper);
  groups_.use(rules == nullptr ? kNone : rules->groups_helper);
}

CredentialKey HelperLogins::key_of(CredentialHasher::Kind kind, std::string_view text) {
  const std::scoped_lock lock(hasher_mutex_);
  return hasher_.key_of(kind, text);
}

bool HelperLogins::check_password(const AuthenticationRulesPtr& rules, const ClientKey& client,
                                  const CredentialKey& key, const NameAndPassword& credentials,
                                  const std::string& called, HelperPool::Room room, Done done) {
  std::string words;
  words.reserve(3 * (credentials.name.size() + credentials.password.size()) + 16);  // not moved while it grows
  words.append(escape_for_helper(credentials.name)).append(" ").append(escape_for_helper(credentials.password));
  return basic_.ask(
      key, client, std::move(words),
      [this, rules, client, called, done = std::move(done)](const HelperReply& reply) {
        const Verdict verdict = verdict_of(reply, false);
        if (verdict != Verdict::right) return done(verdict, nullptr);
        find_groups(std::make_shared<Search>(
            Search{rules, client, user_of(reply.answer, called, rules->helpers), {}, 0, done}));
      },
      std::move(room));
}

bool HelperLogins::check_ticket(const AuthenticationRulesPtr& rules, const ClientKey& client, std::string_view ticket,
                                const HelperConversationPtr& conversation, HelperPool::Room room, TicketDone done) {
  CredentialKey key{};  // of this question alone
  const std::uint64_t number = ++tickets_;
  std::memcpy(key.data(), &number, sizeof number);
  HelperPool::Done answered = [this, rules, client, done = std::move(done)](const HelperReply& reply) {
    on_ticket(rules, client, reply, done);
  };
  if (conversation != nullptr) {
    return negotiate_.go_on(*conversation, key, client, std::string("KK ").append(ticket), std::move(answered));
  }
  return negotiate_.ask(key, client, std::string("YR ").append(ticket), std::move(answered), std::move(room));
}

void HelperLogins::on_ticket(const AuthenticationRulesPtr& rules, const ClientKey& client, const HelperReply& reply,
                             const TicketDone& done) {
  const Verdict verdict = verdict_of(reply, true);
  if (verdict == Verdict::more) {
    return done({.verdict = verdict, .token = reply.answer.token, .conversation = reply.conversation});
  }
  if (verdict != Verdict::right) return done({.verdict = verdict});
  User user = user_of(reply.answer, {}, rules->tickets);
  auto called = rules->called_by_ticket(user.name);
  if (!called) return done({.verdict = Verdict::wrong});
  user.name = *std::move(called);
  const auto found = [done](Verdict with_groups, UserPtr whose) {
    done({.verdict = with_groups, .user = std::move(whose)});
  };
  find_groups(std::make_shared<Search>(Search{rules, client, std::move(user), {}, 0, found}));
}

// Of the helper that has named the user, and those of groups_helper.
void HelperLogins::find_groups(const SearchPtr& search) {
  const AuthenticationRules& rules = *search->rules;
  if (rules.groups_helper.command.empty() || rules.user_groups.empty()) {
    return search->done(Verdict::right, std::make_shared<const User>(std::move(search->user)));
  }
  std::string text(search->user.helpers == rules.tickets ? "ticket\n" : "password\n");
  text += search->user.name;
  for (const std::string& group : search->user.groups) text.append("\n").append(group);
  search->key = key_of(CredentialHasher::Kind::helper_user, text);
  const auto is_by_these = [&](const CredentialCache::Result& known) {
    return known.user->helpers == search->user.helpers ? known.user : nullptr;
  };
  if (auto known = users_.find(search->key, search->user.helpers, {.yes = rules.cache}, clock_(), is_by_these)) {
    return search->done(Verdict::right, *std::move(known));
  }
  ask_next(search);
}

void HelperLogins::ask_next(const SearchPtr& search) {
  const AuthenticationRules& rules = *search->rules;
  if (search->next == rules.user_groups.size()) {
    auto user = std::make_shared<const User>(std::move(search->user));
    if (rules.cache > Milliseconds(0)) {
      users_.put(search->key, {.user = user, .edition = user->helpers, .since = clock_()});
    }
    return search->done(Verdict::right, std::move(user));
  }
  const std::string words =
      escape_for_helper(search->user.name) + " " + escape_for_helper(rules.user_groups[search->next]);
  const bool is_asked = groups_.ask(key_of(CredentialHasher::Kind::helper_group, words), search->client, words,
                                    [this, search](const HelperReply& reply) { on_group(search, reply); });
  if (!is_asked) search->done(Verdict::unknown, nullptr);
}

void HelperLogins::on_group(const SearchPtr& search, const HelperReply& reply) {
  const bool is_known =
      reply.has_answer && (reply.answer.result == Answered::ok || reply.answer.result == Answered::error);
  if (!is_known) return search->done(Verdict::unknown, nullptr);
  const std::string& group = search->rules->user_groups[search->next++];
  std::vector<std::string>& own = search->user.groups;
  const bool is_new = std::ranges::find(own, group) == own.end();
  if (reply.answer.result == Answered::ok && is_new) own.push_back(group);
  ask_next(search);
}

void HelperLogins::remember(std::vector<CredentialCache::Row> rows) {
  for (CredentialCache::Row& row : rows) users_.put(row.key, std::move(row.result));
}

HelperLogins::Figures HelperLogins::figures() const {
  return {{{"basic", basic_.figures()}, {"negotiate", negotiate_.figures()}, {"groups", groups_.figures()}}};
}

}  // namespace bloomwall::proxy
