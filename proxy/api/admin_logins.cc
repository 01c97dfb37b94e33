// SPDX-License-Identifier: Apache-2.0
#include "proxy/api/admin_logins.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "proxy/state/tokens.h"

namespace bloomwall::proxy {
namespace {

AttemptLimits::Key key_of_name(std::string_view name) {
  const TokenDigest digest = digest_of(name);
  AttemptLimits::Key key{};
  std::memcpy(key.data(), digest.data(), key.size());
  return key;
}

}  // namespace

bool AdminLogins::ask(Question question, Done done) {
  return thread_.post([this, question = std::move(question), done = std::move(done)](const std::stop_token&) mutable {
    Answer answer = check(question);
    OPENSSL_cleanse(question.password.data(), question.password.size());
    loop_.post([done = std::move(done), answer = std::move(answer)] { done(answer); });
  });
}

AdminLogins::Answer AdminLogins::check(const Question& question) {
  const AttemptLimits::Key name = key_of_name(question.name);
  const auto locked_for = [&] {
    return std::max(clients_.locked_for(question.client, now_()), names_.locked_for(name, now_()));
  };
  if (const Milliseconds locked = locked_for(); locked > Milliseconds(0)) {
    return {.result = Answer::Result::locked, .locked_for = locked, .name = {}, .hash = {}};
  }
  const UserTable::Entry* const known = question.users->find(question.name);
  const std::string& hash = known == nullptr ? question.users->stand_in(question.name) : known->hash;
  const auto compared = hasher_.compare(question.password, hash);
  if (compared == PasswordHasher::Result::failed) {
    return {.result = Answer::Result::failed, .name = {}, .hash = {}};
  }
  if (known != nullptr && compared == PasswordHasher::Result::same) {
    return {.result = Answer::Result::right, .name = known->user->name, .hash = known->hash};
  }
  clients_.note_refusal(question.client, kMostAttempts, kLock, now_());
  names_.note_refusal(name, kMostAttempts, kLock, now_());
  return {.result = Answer::Result::wrong, .name = {}, .hash = {}};
}

}  // namespace bloomwall::proxy
