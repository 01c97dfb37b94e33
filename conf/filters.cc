// SPDX-License-Identifier: Apache-2.0
#include "conf/filters.h"

#include "conf/yaml_reader.h"

namespace bloomwall::conf {

void read(MapReader& map, Filter& out) {
  map.text("name", out.name, kLabel);
  map.path("file", out.file);
  map.optional_path("delta", out.delta);
  map.optional_path("exact", out.exact);
  map.optional_path("public_key", out.public_key);
  map.percent("rebuild_at", out.rebuild_at, 1, 100);
  map.choice("action", out.action, {{"block", Filter::Action::block}, {"monitor", Filter::Action::monitor}});
  map.choice("status", out.status, {{"403", 403}, {"451", 451}});
  map.text("legal_link", out.legal_link, kHttpUrl);
  map.choice("on_error", out.on_error, {{"block", Filter::OnError::block}, {"allow", Filter::OnError::allow}});
  map.choice("memory", out.memory,
             {{"auto", Filter::Memory::automatic},
              {"paged", Filter::Memory::paged},
              {"locked", Filter::Memory::locked},
              {"copied", Filter::Memory::copied}});
  map.require("name");
  map.require("file");
  if (!out.legal_link.empty() && out.status != 451) map.fail("legal_link", "goes with status: 451 only");
}

}  // namespace bloomwall::conf
