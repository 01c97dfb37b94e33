// Every file of tests/data/bad_config holds one mistake (or several, where its name says so) and, behind it, the
// messages it must bring: "# expect:LINE:COLUMN: key: what". All of them, and no others.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "conf/config.h"

namespace bloomwall::conf {
namespace {

struct Case {
  std::string name, yaml;
  std::vector<std::string> messages;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const auto& entry : std::filesystem::directory_iterator(BLOOMWALL_SOURCE_DIR "/tests/data/bad_config")) {
    std::ifstream in(entry.path(), std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    const std::string mark = "# expect:";
    const std::size_t end = text.find(mark);
    Case c{entry.path().stem().string(), text.substr(0, end), {}};
    std::istringstream lines(end == std::string::npos ? "" : text.substr(end));
    for (std::string line; std::getline(lines, line);) c.messages.push_back(line.substr(mark.size() - 1));
    all.push_back(std::move(c));
  }
  return all;
}

TEST(BadConfig, EveryMistakeIsNamedWithItsPlaceAndRange) {
  const auto all = cases();
  EXPECT_EQ(all.size(), 119U) << "files were added or lost";
  for (const Case& c : all) {
    SCOPED_TRACE(c.name);
    EXPECT_FALSE(c.messages.empty());
    const auto loaded = load_text(c.yaml, "");
    ASSERT_FALSE(loaded.has_value());
    std::vector<std::string> got;
    for (const ConfigError& error : loaded.error()) got.push_back(error.text());
    EXPECT_EQ(got, c.messages);
  }
}

}  // namespace
}  // namespace bloomwall::conf
