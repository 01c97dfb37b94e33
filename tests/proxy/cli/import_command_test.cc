// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "proxy/cli/commands.h"
#include "tests/support/temp_dir.h"

namespace bloomwall::proxy {
namespace {

class ImportProgram : public testing::Test {
 protected:
  struct Told {
    int status;
    std::string out, err;
  };
  static Told run(std::vector<std::string> words) {
    std::istringstream in;
    std::ostringstream out, err;
    words.insert(words.begin(), "import");
    const int status = run_program(std::move(words), {.in = in, .out = out, .err = err});
    return {status, out.str(), err.str()};
  }
  std::string path(const char* name) const { return (dir_.path() / name).string(); }
  test::TempDir dir_;
};

TEST_F(ImportProgram, WritesAConfigurationThatLoadsAndSaysWhatComesNext) {
  dir_.write("squid.conf",
             "acl net src 10.0.0.0/8\nacl bad dstdomain .bad.test\nhttp_access deny bad\nhttp_access allow "
             "net\nhttp_access deny all\n");
  const Told told = run({path("squid.conf"), "--out", path("new")});
  EXPECT_EQ(told.status, 0) << told.out << told.err;
  EXPECT_TRUE(std::filesystem::exists(dir_.path() / "new/bloomwall.yaml"));
  EXPECT_TRUE(std::filesystem::exists(dir_.path() / "new/lists/bad.txt"));
  EXPECT_NE(told.out.find("squid.conf:3: taken: http_access deny bad\n"), std::string::npos) << told.out;
  EXPECT_NE(told.err.find("Next: bloomwall update --config"), std::string::npos) << told.err;
}

TEST_F(ImportProgram, EndsWithOneWhereADenyIsLost) {
  dir_.write("squid.conf", "acl r url_regex x\nhttp_access deny r\nhttp_access allow all\n");
  const Told told = run({path("squid.conf"), "--out", path("new"), "--json"});
  EXPECT_EQ(told.status, 1) << told.out << told.err;
  std::istringstream lines(told.out);
  std::string line, outcomes;
  while (std::getline(lines, line)) outcomes += nlohmann::json::parse(line).at("outcome").get<std::string>() + ";";
  EXPECT_EQ(outcomes, "not;not (deny lost);taken;");
}

TEST_F(ImportProgram, KeepsAConfigurationThatIsThere) {
  dir_.write("squid.conf", "http_access allow all\n");
  std::filesystem::create_directory(dir_.path() / "new");
  dir_.write("new/bloomwall.yaml", "mine");
  const Told refused = run({path("squid.conf"), "--out", path("new")});
  EXPECT_EQ(refused.status, 2);
  EXPECT_NE(refused.err.find("--force"), std::string::npos) << refused.err;
  EXPECT_EQ(std::filesystem::file_size(dir_.path() / "new/bloomwall.yaml"), 4U);
  EXPECT_EQ(run({path("squid.conf"), "--out", path("new"), "--force"}).status, 0);
}

TEST_F(ImportProgram, SaysWhichFileItCannotRead) {
  const Told told = run({path("nothing"), "--out", path("new")});
  EXPECT_EQ(told.status, 2);
  EXPECT_NE(told.err.find("nothing: No such file"), std::string::npos) << told.err;
}

}  // namespace
}  // namespace bloomwall::proxy
