// One exception (filter/policy/overrides.h), with who made it, why and when. As JSON, in the state, in
// its export and in answers of the API:
//   {"id":2,"action":"allow","kind":"S","entry":"example.com","filters":["ads"],"why":"...",
//    "created":"2026-11-22T12:00:00Z","until":"2026-11-23T12:00:00Z",
//    "client":null,"user":null,"group":"pupils","who":"root","until_build":false}
// With "until_build" it is removed once the filters do not list the entry any more; "seen" is then of which builds it
// knows: {"ads":"<id of the file>"}. "until" is null for one that stays. Of "client", "user" and "group" at most one is
// a text: whom it is for. These three, "who", "until_build", "seen", "builds" (that still listed the entry since) and
// "report" (the id of the report that it came from) may be left out.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "filter/policy/overrides.h"

namespace bloomwall::proxy {

struct ExceptionItem {
  static constexpr std::size_t kMaxWhy = 500;      // octets
  static constexpr std::size_t kMaxEntry = 2'000;  // likewise
  static constexpr std::size_t kMaxFilters = 256;
  static constexpr std::size_t kMaxName = 64;   // octets, of a filter or a group
  static constexpr std::size_t kMaxUser = 255;  // octets

  filter::Override exception;
  std::int64_t created = 0;  // seconds since 1970
  std::string why;
  std::string who = {};                          // made it; empty: not known
  bool until_build = false;                      // removed once the filters do not list the entry any more
  static constexpr std::uint32_t kInsists = 3;   // builds that still list it: the list insists
  std::uint32_t builds = 0;                      // that it has outlived
  std::map<std::string, std::string> seen = {};  // by the name of the filter, the build that was asked last
  std::uint64_t report = 0;                      // 0: none
};

// Whether a filter can have that name: 1 to 64 of A-Z a-z 0-9 . _ -.
bool is_filter_name(std::string_view name);

// Of the same action, entry, filters and people: a newer one takes its place.
bool says_the_same(const filter::Override& a, const filter::Override& b);

// Sets whom it is for: an address, a network, or everybody if `text` is empty. False: neither.
bool set_client(filter::Override& exception, std::string_view text);
std::string client_text(const filter::Override& exception);  // empty: for every client

// The entry as people type it, from which its kind is read again.
std::string entry_to_type(const filter::Override& exception);

nlohmann::ordered_json to_json(const ExceptionItem& item);
tl::expected<ExceptionItem, std::string> exception_from(const nlohmann::ordered_json& json);

// As a line of an allow list, without its end; empty: it says nothing that every proxy's allow list can say (a deny,
// one for some people only, one against some filters only, whose names another proxy may not know and then refuses to
// load the list, or one that has ended at `now`).
std::string allow_line(const ExceptionItem& item, std::int64_t now);

}  // namespace bloomwall::proxy
