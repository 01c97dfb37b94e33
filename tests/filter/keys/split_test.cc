// SPDX-License-Identifier: Apache-2.0
#include "filter/keys/keys.h"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace bloomwall::filter {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> suffixes(std::string_view host, HostKind kind) {
  std::vector<std::string> out;
  for (const HostSuffix s : HostSuffixes(host, kind)) out.push_back(fmt::format("{} {}", s.labels, s.text));
  EXPECT_EQ(out.size(), HostSuffixes(host, kind).size());
  return out;
}

std::vector<std::string> prefixes(std::string_view path) {
  std::vector<std::string> out;
  for (const PathSegment& s : PathPrefixes(path)) {
    out.push_back(fmt::format("{} {} {} {}", s.depth, s.text, s.prefix, s.is_directory ? "dir" : "file"));
  }
  EXPECT_EQ(out.size(), path_depth(path));
  return out;
}

TEST(HostSuffixesTest, GivesTheHostAndEachParentWithItsLabels) {
  EXPECT_THAT(suffixes("a.b.example", HostKind::name), ElementsAre("3 a.b.example", "2 b.example", "1 example"));
  EXPECT_THAT(suffixes("intranet", HostKind::name), ElementsAre("1 intranet"));
}

TEST(HostSuffixesTest, AnAddressHasNoParents) {
  EXPECT_THAT(suffixes("192.0.2.1", HostKind::ipv4), ElementsAre("1 192.0.2.1"));
  EXPECT_THAT(suffixes("[2001:db8::1]", HostKind::ipv6), ElementsAre("1 [2001:db8::1]"));
}

TEST(HostSuffixesTest, HasNoCap) {
  std::string host = "x";
  for (int i = 0; i < 126; ++i) host += ".x";
  EXPECT_EQ(suffixes(host, HostKind::name).size(), 127U);
  EXPECT_EQ(suffixes(host, HostKind::name).back(), "1 x");
}

TEST(HostSuffixesTest, NoHostNoSuffix) { EXPECT_THAT(suffixes("", HostKind::name), IsEmpty()); }

TEST(PathPrefixesTest, TheLastSegmentOfAFileIsNoDirectory) {
  EXPECT_THAT(prefixes("/a/b"), ElementsAre("1 a /a/ dir", "2 b /a/b file"));
  EXPECT_THAT(prefixes("/a"), ElementsAre("1 a /a file"));
}

TEST(PathPrefixesTest, ATrailingSlashChangesNoSegment) {
  EXPECT_THAT(prefixes("/a/b/"), ElementsAre("1 a /a/ dir", "2 b /a/b/ dir"));
}

TEST(PathPrefixesTest, TheRootHasNoSegment) { EXPECT_THAT(prefixes("/"), IsEmpty()); }

TEST(PathPrefixesTest, ADotSegmentOfAFormIsAName) {
  EXPECT_THAT(prefixes("/a/../b"), ElementsAre("1 a /a/ dir", "2 .. /a/../ dir", "3 b /a/../b file"));
}

}  // namespace
}  // namespace bloomwall::filter
