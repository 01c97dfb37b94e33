// Ranges of addresses through the command line: build, info, verify, merge, plan, and what refuses them.
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/filter/cli/run.h"
#include "tests/support/temp_dir.h"

namespace bloomwall::filter {
namespace {

using bloomwall::test::Ran;
using bloomwall::test::run;
using testing::HasSubstr;

class NetworksProgramTest : public testing::Test {
 protected:
  std::string write(const std::string& name, std::string_view text) const { return dir_.write(name, text).string(); }
  std::string at(const std::string& name) const { return (dir_.path() / name).string(); }
  std::string drop() const { return write("drop.txt", "; DROP\n1.10.16.0/20 ; SBL1\n2001:db8::/32\n192.0.2.7\n"); }
  std::string built() const {
    const Ran ran = run({"build", "-q", "-o", at("f.bwf"), drop()});
    EXPECT_EQ(ran.status, 0) << ran.err;
    return at("f.bwf");
  }
  test::TempDir dir_;
};

TEST_F(NetworksProgramTest, BuildSaysWhatItTook) {
  const Ran ran = run({"build", "-o", at("f.bwf"), drop()});
  ASSERT_EQ(ran.status, 0) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("drop.txt: networks (detected)"));
  EXPECT_THAT(ran.err, HasSubstr("ranges of addresses: 3"));
  EXPECT_THAT(ran.err, HasSubstr("(range of addresses: 3)"));
  const auto json = run({"build", "--json", "-o", at("f.bwf"), drop()}).json();
  EXPECT_EQ(json["entries"], 3);
  EXPECT_EQ(json["files"][0]["format"], "networks");
  EXPECT_EQ(json["files"][0]["ranges"], 3);
  EXPECT_EQ(json["files"][0]["entries"]["N"], 3);
  EXPECT_EQ(json["header"]["kinds"]["N"]["keys"], 3);
}

TEST_F(NetworksProgramTest, InfoCountsRangesAndAddresses) {
  const std::string file = built();
  const Ran text = run({"info", file});
  ASSERT_EQ(text.status, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("range of addresses"));
  EXPECT_THAT(text.out, HasSubstr("2 ranges of IPv4 that hold 4,097 addresses, 1 of IPv6"));
  const auto json = run({"info", "--json", file}).json();
  EXPECT_EQ(json["networks"]["ipv4"], 2);
  EXPECT_EQ(json["networks"]["ipv4_addresses"], 4097);
  EXPECT_EQ(json["networks"]["ipv6"], 1);
  EXPECT_EQ(json["kinds"]["N"]["entries"], 3);
}

TEST_F(NetworksProgramTest, VerifyReadsThemAndNamesThem) {
  const std::string file = built();
  EXPECT_EQ(run({"verify", file}).status, 0);
  std::uint64_t offset = 0;
  const auto info = run({"info", "--json", file}).json();
  for (const auto& section : info["sections"]) {
    if (section["type"] == "networks") offset = section["offset"];
  }
  ASSERT_GT(offset, 0U);
  std::fstream damaged(file, std::ios::in | std::ios::out | std::ios::binary);
  damaged.seekp(static_cast<std::streamoff>(offset + 16));
  damaged.put('\xff');
  damaged.close();
  const Ran ran = run({"verify", file});
  EXPECT_EQ(ran.status, 1);
  EXPECT_THAT(ran.err, HasSubstr("section networks is damaged"));
}

TEST_F(NetworksProgramTest, MergeUnitesThem) {
  const std::string first = built();
  const std::string list = write("more.txt", "1.10.32.0/20\n192.0.2.8\n");
  ASSERT_EQ(run({"build", "-q", "-o", at("g.bwf"), "--like", first, list}).status, 0);
  const Ran ran = run({"merge", "-o", at("m.bwf"), first, at("g.bwf")});
  ASSERT_EQ(ran.status, 0) << ran.err;
  const auto json = run({"info", "--json", at("m.bwf")}).json();
  EXPECT_EQ(json["networks"]["ipv4"], 2);
  EXPECT_EQ(json["networks"]["ipv4_addresses"], 8194);
}

TEST_F(NetworksProgramTest, FormatAndWidthAreOptions) {
  const std::string wide = write("wide.txt", "224.0.0.0/3\n");
  const Ran refused = run({"build", "-o", at("w.bwf"), wide});
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err, HasSubstr("range too wide; --allow-wide-ranges takes it"));
  const Ran taken = run({"build", "-o", at("w.bwf"), "--allow-wide-ranges", wide});
  EXPECT_EQ(taken.status, 0) << taken.err;
  EXPECT_THAT(run({"info", at("w.bwf")}).out, HasSubstr("--allow-wide-ranges"));
  const std::string addresses = write("addresses.txt", "192.0.2.1\n192.0.2.2\n");
  EXPECT_EQ(run({"build", "--json", "-o", at("x.bwf"), addresses}).json()["header"]["kinds"]["X"]["keys"], 2);
  const auto json = run({"build", "--json", "-o", at("n.bwf"), "--format", "networks", addresses}).json();
  EXPECT_EQ(json["header"]["kinds"]["N"]["entries"], 2);
  EXPECT_EQ(json["header"]["kinds"]["N"]["keys"], 1) << "they touch";
}

TEST_F(NetworksProgramTest, ACountingFilterRefusesThem) {
  const Ran ran = run({"build", "--counting", "-o", at("f.bwc"), drop()});
  EXPECT_EQ(ran.status, 2);
  EXPECT_THAT(ran.err, HasSubstr("address range"));
  EXPECT_FALSE(std::filesystem::exists(at("f.bwc")));
}

TEST_F(NetworksProgramTest, PlanHasNoKindForThem) {
  const Ran ran = run({"plan", "--entries", "1k", "--kinds", "N=1"});
  EXPECT_EQ(ran.status, 2);
  EXPECT_THAT(ran.err, HasSubstr("'N=1' is not KIND=SHARE"));
  EXPECT_THAT(run({"plan", "--help"}).out, HasSubstr("8 bytes each of IPv4, 32 of IPv6"));
}

}  // namespace
}  // namespace bloomwall::filter
