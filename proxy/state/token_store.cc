// Tokens and the audit of the state.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "proxy/state/item_table.h"
#include "proxy/state/state_store.h"

namespace bloomwall::proxy {
StateResult<Token> StateStore::add_token(Token token, const Author& author) {
  std::vector<Token> tokens = state_->tokens->all();
  if (std::ranges::find(tokens, token.name, &Token::name) != tokens.end()) {
    return state_error(StateError::Kind::conflict, fmt::format("there is a token {} already", token.name));
  }
  if (tokens.size() >= Token::kMost) {
    return state_error(StateError::Kind::conflict,
                       fmt::format("there are {} tokens, the most there may be", Token::kMost));
  }
  tokens.push_back(token);
  if (auto refused = refuse_unreadable(token)) return tl::unexpected(*std::move(refused));
  const auto done = change_tokens(std::move(tokens), [&] {
    auto added = insert_item(*database_, token);
    return added ? write(row_of_made("token.made", author, token)) : added;
  });
  if (!done) return tl::unexpected(done.error());
  return token;
}

StateResult<Token> StateStore::remove_token(std::string_view name, const Author& author) {
  std::vector<Token> tokens = state_->tokens->all();
  const auto found = std::ranges::find(tokens, name, &Token::name);
  if (found == tokens.end()) return state_error(StateError::Kind::missing, fmt::format("no token is called {}", name));
  Token token = std::move(*found);
  tokens.erase(found);
  const auto done = change_tokens(std::move(tokens), [&] {
    auto removed = erase_item(*database_, token);
    return removed ? write(row_of_gone("token.removed", author, token)) : removed;
  });
  if (!done) return tl::unexpected(done.error());
  return token;
}

StateResult<void> StateStore::note_forced_update(const std::vector<std::string>& filters, const Author& author,
                                                 std::string_view why) {
  return commit(*state_, [&]() -> tl::expected<void, std::string> {
    static const std::vector<std::string> kAll{""};
    for (const std::string& filter : filters.empty() ? kAll : filters) {
      auto written = write({.author = author,
                            .what = "update.forced",
                            .subject = filter,
                            .before = {},
                            .after = {},
                            .why = std::string(why)});
      if (!written) return written;
    }
    return {};
  });
}

StateResult<void> StateStore::change_tokens(std::vector<Token> tokens, const Change& change) {
  State next = *state_;
  next.tokens = std::make_shared<const TokenTable>(std::move(tokens));
  return commit(std::move(next), change);
}

StateResult<std::vector<AuditRow>> StateStore::audit(std::int64_t since, std::uint64_t before) {
  std::vector<AuditRow> out;
  if (!fault_.empty()) return state_error(StateError::Kind::failed, fault_);
  if (!database_) return out;
  const auto below = static_cast<std::int64_t>(std::min<std::uint64_t>(before, std::uint64_t{1} << 62));
  Statement rows(*database_,
                 "SELECT id, at, who, via, what, subject, before, after, why, report FROM audit "
                 "WHERE at >= ? AND id < ? ORDER BY id DESC LIMIT ?",
                 {since, below, static_cast<std::int64_t>(kAuditPage)});
  while (rows.next()) {
    out.push_back({.id = static_cast<std::uint64_t>(rows.integer(0)),
                   .at = rows.integer(1),
                   .author = {.who = rows.text(2), .via = rows.text(3)},
                   .what = rows.text(4),
                   .subject = rows.text(5),
                   .before = rows.text(6),
                   .after = rows.text(7),
                   .why = rows.text(8),
                   .report = static_cast<std::uint64_t>(rows.integer(9))});
  }
  if (!rows.error().empty()) return state_error(StateError::Kind::failed, rows.error());
  return out;
}

}  // namespace bloomwall::proxy
