// SPDX-License-Identifier: Apache-2.0
#include "filter/lists/rpz_zone.h"

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <vector>

#include "base/text.h"
#include "filter/lists/indicator.h"
#include "filter/lists/list_format.h"
#include "filter/lists/zone_record.h"
#include "filter/url/public_suffix.h"

namespace bloomwall::filter {
namespace {

// Owners of records that stop or free a name, with their last dot where they have one; none where the zone is named.
std::vector<std::string> owners_of(std::string_view sample) {
  std::vector<std::string> owners;
  ZoneReader reader;
  for (LineWalk lines(sample); lines.next() && owners.size() < kSampleLines;) {
    const ZoneLine line = reader.line(lines.line());
    if (reader.knows_zone()) return {};
    if (line != ZoneLine::record || lines.line().empty() || is_blank(lines.line().front())) continue;
    const std::string_view type = reader.record().type;
    if (!equals_ignoring_case(type, "CNAME") && !equals_ignoring_case(type, "A") &&
        !equals_ignoring_case(type, "AAAA")) {
      continue;
    }
    std::string_view rest = lines.line();
    std::string_view owner = next_word(rest);
    if (owner.starts_with("*.")) owner.remove_prefix(2);
    owners.emplace_back(owner);
  }
  return owners;
}

// Whether nine of ten end in ".zone." after a host.
bool is_zone_of(std::string_view zone, const std::vector<std::string>& owners) {
  std::size_t under = 0;
  for (const std::string_view owner : owners) {
    if (owner.size() <= zone.size() || !equals_ignoring_case(owner.substr(owner.size() - zone.size()), zone)) continue;
    const std::string_view name = owner.substr(0, owner.size() - zone.size());
    if (name.ends_with('.') && indicator_of(name.substr(0, name.size() - 1)) == Indicator::host) ++under;
  }
  return under * 10 >= owners.size() * 9;
}

}  // namespace

Result<void> refuse_unknown_zone(std::string_view sample, std::string_view path) {
  const std::vector<std::string> owners = owners_of(sample);
  if (owners.size() < 2 || !owners.front().ends_with('.')) return {};
  // Most of the owners end alike, so that one of any two neighbours does.
  for (std::size_t i = 0; i < 2; ++i) {
    const std::string_view owner = owners[i];
    for (std::size_t dot = owner.find('.'); dot < owner.size(); dot = owner.find('.', dot + 1)) {
      const std::string_view zone = owner.substr(dot + 1);
      if (!zone.ends_with('.') || is_public_suffix(zone.substr(0, zone.size() - 1)) || !is_zone_of(zone, owners))
        continue;
      return unexpected(
          Error{Errc::usage, std::string(path),
                fmt::format("most names in it end in \"{}\", which seems to be the zone's own name, and no "
                            "line says so; put the line \"$ORIGIN {}\" before the others",
                            zone, zone)});
    }
  }
  return {};
}

}  // namespace bloomwall::filter
