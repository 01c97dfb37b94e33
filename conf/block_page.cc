// SPDX-License-Identifier: Apache-2.0
#include "conf/block_page.h"

#include "conf/yaml_reader.h"

namespace bloomwall::conf {

void read(MapReader& map, BlockPage& out) {
  map.optional_path("template", out.html_template);
  map.text("contact", out.contact, kContact);
  map.text("report_url", out.report_url, kReportUrl);
}

}  // namespace bloomwall::conf
