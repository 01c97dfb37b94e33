// `block_page:` what a blocked client is shown.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace bloomwall::conf {

class MapReader;

struct BlockPage {
  std::filesystem::path html_template;  // empty: the built-in page
  std::string contact;                  // mail address or URL shown on the page; empty: none
  std::string report_url;               // "{id}" and "{url}" are replaced, percent-encoded; empty: no link
  friend bool operator==(const BlockPage&, const BlockPage&) = default;
};

void read(MapReader& map, BlockPage& out);

}  // namespace bloomwall::conf
