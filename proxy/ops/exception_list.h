// The exceptions that people have made (filter/policy/overrides.h), with why and when, and the file that keeps them
// over a restart: "exceptions.json" in the state folder, replaced as a whole and synced before a change counts:
//   {"next_id":3,"items":[{"id":2,"action":"allow","kind":"S","entry":"example.com","filters":["ads"],"why":"...",
//    "created":"2026-11-22T12:00:00Z","until":"2026-11-23T12:00:00Z"}]}
// "until" is null for one that stays. A file that cannot be read or understood is an error.
// Not thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "filter/policy/overrides.h"

namespace bloomwall::proxy {

class ExceptionList {
 public:
  static constexpr std::size_t kMaxBytes = std::size_t{64} << 20;
  static constexpr std::size_t kMaxWhy = 500;      // octets
  static constexpr std::size_t kMaxEntry = 2'000;  // likewise
  static constexpr std::size_t kMaxFilters = 256;
  static constexpr std::size_t kMaxName = 64;  // octets, of a filter

  struct Item {
    filter::Override exception;
    std::int64_t created = 0;  // seconds since 1970
    std::string why;
  };

  // Of a folder without the file, or an empty name: none. What is made later is kept nowhere where there is no folder,
  // and none can be made.
  static tl::expected<ExceptionList, std::string> load(const std::filesystem::path& folder);

  const std::vector<Item>& items() const { return items_; }
  std::vector<filter::Override> exceptions() const;
  const Item* find(std::uint64_t id) const;
  bool is_kept() const { return is_kept_; }  // the file says all of it

  // Each is in the file, where there is one, when it returns; after an error nothing has changed.
  // add() sets the id: it takes the place of an exception of the same action, entry and filters.
  tl::expected<std::uint64_t, std::string> add(Item item);
  tl::expected<void, std::string> remove(std::uint64_t id);  // there is one of that id
  // True: some had ended and are gone. They are gone after an error as well, but still in the file.
  tl::expected<bool, std::string> sweep(std::int64_t now);

 private:
  tl::expected<void, std::string> replace(std::vector<Item> items, std::uint64_t next_id);

  std::filesystem::path file_;  // empty: nowhere
  std::vector<Item> items_;     // by id
  std::uint64_t next_id_ = 1;
  bool is_kept_ = true;
};

// As in the file.
nlohmann::ordered_json to_json(const ExceptionList::Item& item);
tl::expected<ExceptionList::Item, std::string> item_from(const nlohmann::ordered_json& json);

// "2026-11-22T12:00:00Z"; nothing where it is none, or past the year 9999.
std::optional<std::int64_t> parse_time(std::string_view text);

}  // namespace bloomwall::proxy
