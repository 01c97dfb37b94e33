// A small installation in a folder of its own: a filter, an allow list, a configuration that names them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "tests/filter/policy/filter_maker.h"
#include "tests/support/temp_dir.h"

namespace bloomwall::test {

class Site {
 public:
  Site() { make_filter({"S listed.example.test", "D pages.example.test/dir/"}); }

  // Entries as in filter_maker.h: "S example.com", "D example.com/a/".
  void make_filter(const std::vector<std::string>& entries) const {
    filter::make_filter(dir.path() / "ads.bwf", {.entries = entries});
  }
  // The configuration; no listener of it is on a fixed port. Returns its path.
  std::filesystem::path configure(const std::string& more = {}) const {
    return dir.write("bloomwall.yaml",
                     "listeners: [{address: \"127.0.0.1:0\"}]\n"
                     "filters: [{name: ads, file: ads.bwf}]\n" +
                         more);
  }

  TempDir dir;
};

}  // namespace bloomwall::test
