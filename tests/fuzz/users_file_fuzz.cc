// Any text as a users file: each error names the file and shows no hash; whoever was taken has a hash that can be
// checked in reasonable time and is found again.
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "proxy/auth/password_hash.h"
#include "proxy/auth/user_table.h"
#include "tests/fuzz/require.h"

namespace {

using bloomwall::fuzz::require;

void check(std::string_view text, bloomwall::proxy::UserTable::Form form) {
  using bloomwall::proxy::UserTable;
  const auto made = UserTable::parse(text, "f", form);
  if (!made) {
    require(!made.error().empty() && made.error().size() <= UserTable::kMostErrors + 1);
    for (const std::string& error : made.error()) require(error.starts_with("f:") && error.size() < 300);
    return;
  }
  std::size_t users = 0;
  for (bloomwall::LineWalk lines(text); lines.next();) {
    std::string_view line = lines.line();
    if (line.empty() || line.front() == '#') continue;
    const auto* const entry = (*made)->find(bloomwall::next_part(line, ':'));
    require(entry != nullptr && !bloomwall::proxy::find_hash_fault(entry->hash));
    require(entry->user->groups.size() <= UserTable::kMostGroups);
    require(entry->role.has_value() == (form == UserTable::Form::people));
    ++users;
  }
  require(users == (*made)->size());
  require(!bloomwall::proxy::find_hash_fault((*made)->stand_in("nobody")));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using Form = bloomwall::proxy::UserTable::Form;
  const std::vector<char> exact(data, data + size);
  check({exact.data(), exact.size()}, Form::clients);
  check({exact.data(), exact.size()}, Form::people);
  return 0;
}
