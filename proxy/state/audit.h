// The audit: who changed what of the state, when, how and why; a row for each change, written in its transaction.
// Rows are never changed or removed: the database refuses to.
//   what                                  subject
//   exception.made .removed .ended .cured the exception's id
//   switch.set .removed .ended            "pupils otherwise"
//   report.made .again .accepted .rejected .cured   the report's id
//   token.made .removed                   its name
//   update.forced                         the filter's name; empty: of all filters
//   state.imported                        "exceptions.json"
//   device.made .changed .removed, group. and schedule. likewise   its name: edits of the configuration
//   list.wanted .removed                  likewise, of lists of the catalogue
//   upgrade.begun .failed                 "process 4711 to 4712", "process 4711"
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace bloomwall::proxy {

struct Author {
  std::string who;  // "root", "uid 1000", "token ci", "user anna", "client 192.0.2.7", "bloomwall"
  std::string via;  // "socket", "api", "page", "form"; "itself" for what ends by its time
};

struct AuditRow {
  std::uint64_t id = 0;
  std::int64_t at = 0;  // seconds since 1970
  Author author;
  std::string what, subject;
  std::string before, after;  // JSON; empty: there was nothing, there is nothing
  std::string why;
  std::uint64_t report = 0;  // 0: none
};

// {"id":1,"at":"...","who":"root","via":"socket","what":"exception.made","subject":"7","before":null,"after":{...},
//  "why":"...","report":null}
nlohmann::ordered_json to_json(const AuditRow& row);
// The same as one line of ASCII. Where it would be longer than `most` octets (0: as long as it is) what is long is
// null, and "cut" is true.
std::string audit_line(const AuditRow& row, std::size_t most = 0);

}  // namespace bloomwall::proxy
