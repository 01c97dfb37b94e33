// Whether state.db is still the file that was read, and whose it is to change.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "proxy/log/log.h"
#include "proxy/state/state_store.h"

namespace bloomwall::proxy {
namespace {

using Owned = tl::expected<void, std::string>;

tl::expected<std::int64_t, std::string> version_of(Database& database) {
  Statement statement(database, "PRAGMA data_version");
  if (statement.next()) return statement.integer(0);
  return tl::unexpected(statement.error().empty() ? "no version" : statement.error());
}

}  // namespace

Owned StateStore::read_version() {
  const auto version = version_of(*database_);
  if (!version) return tl::unexpected(version.error());
  version_ = *version;
  return {};
}

void StateStore::wait_for_nobody() {
  waits_ = false;
  if (database_) database_->wait_for_nobody();
}

// Before the first change. What was read is right only where nobody has changed it meanwhile.
Owned StateStore::claim() {
  if (folder_.empty() || lock_.is_held()) return {};
  if (!lock_.take(folder_)) {
    return tl::unexpected(
        fmt::format("another bloomwall keeps its state in {}: give each a state_dir of its own", folder_.string()));
  }
  if (!database_) return {};
  const auto version = version_of(*database_);
  if (!version) return tl::unexpected(version.error());
  if (*version == version_) return {};
  fault_ = "state.db was changed by another process: restart bloomwall";
  log::error("{}; nothing of it can be changed", fault_);
  return tl::unexpected(fault_);
}

void StateStore::release() {
  if (database_ && lock_.is_held() && !read_version()) version_ = -1;  // and nothing is changed any more
  lock_.release();
}

// Inside a transaction, which would be lost with the file.
Owned StateStore::find_file() {
  if (folder_.empty() || !database_->has_moved()) return {};
  fault_ = fmt::format("state.db was removed from {} or replaced: restart bloomwall", folder_.string());
  log::error("{}; nothing can be changed, and what is served is what was confirmed before", fault_);
  return tl::unexpected(fault_);
}

}  // namespace bloomwall::proxy
