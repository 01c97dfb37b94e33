// The users of `authentication.users_file`, one a line:
//   alice:$2y$10$...                            # what `htpasswd -B` writes
//   bob:$y$j9T$...:staff,night shift            # groups, separated by commas
//   guest:$6$...::2027-01-31                    # until the end of that day in UTC, or 2027-01-31T18:00:00Z
// and those of `admin.users_file`, who sign in at the admin address:
//   carol:$2y$10$...:operator                   # viewer, reviewer, operator or admin
//   dave:$y$j9T$...:reviewer:staff,night shift  # who reviews for these groups alone
// Blank lines and lines that begin with # are passed over; there are no comments behind a line. Hashes:
// password_hash.h. Errors, each with file and line: a missing or unusable hash, a name or a group that is empty or too
// long or has control octets, a name that stands there twice, more than kMostUsers. No error quotes what stands in the
// place of a hash.
// Built off the loops, then immutable and thread-safe. find(): one hash probe. Memory: the texts and about 300 bytes a
// user. User::password tells whether a line still has the hash that somebody's password was compared with.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <unordered_map>
#include <vector>

#include "proxy/auth/user.h"
#include "proxy/state/tokens.h"

namespace bloomwall::proxy {

class UserTable {
 public:
  static constexpr std::size_t kMostBytes = std::size_t{32} << 20;  // of the file
  static constexpr std::size_t kMostUsers = 100'000;
  static constexpr std::size_t kMostGroups = 64;  // of one user
  static constexpr std::size_t kMostName = 255;   // octets of a name
  static constexpr std::size_t kMostGroupName = 64;
  static constexpr std::size_t kMostErrors = 20;  // further ones are not listed

  enum class Form : std::uint8_t { clients, people };  // of the proxy; of the admin address
  struct Entry {
    UserPtr user;
    std::string hash;
    std::optional<Role> role = {};  // of Form::people alone
  };
  using Ptr = std::shared_ptr<const UserTable>;

  // `before`: what a reload replaces; the same table again where the file has not changed. Errors one line each.
  static tl::expected<Ptr, std::vector<std::string>> load(const std::filesystem::path& file, const Ptr& before,
                                                          Form form = Form::clients);
  // The same of a text that is in memory; `name` stands in errors.
  static tl::expected<Ptr, std::vector<std::string>> parse(std::string_view text, const std::string& name,
                                                           Form form = Form::clients);

  const Entry* find(std::string_view name) const;  // octet by octet; nullptr: nobody
  // The hash that an unknown name is checked against, so that the answer takes as long as for a user: that
  // of one of the users, always the same for one name.
  const std::string& stand_in(std::string_view name) const;
  // Equal for tables of the same text alone.
  std::uint64_t edition() const { return edition_; }
  std::size_t size() const { return users_.size(); }
  // In no order.
  template <typename Visit>
  void each(const Visit& visit) const {
    for (const auto& [name, entry] : users_) visit(entry);
  }
  // In the order of the lines.
  template <typename Visit>
  void each_hash(const Visit& visit) const {
    for (const std::string* hash : hashes_) visit(*hash);
  }

 private:
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  UserTable() = default;
  std::string add(std::string_view line, Form form);  // what is wrong with it, or empty

  std::unordered_map<std::string, Entry, TextHash, std::equal_to<>> users_;
  std::vector<const std::string*> hashes_;  // in the order of the lines
  std::uint64_t edition_ = 0;
};

}  // namespace bloomwall::proxy
