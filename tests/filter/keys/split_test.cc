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

std::vector<std::string> prefixes(std::string_view path) {
  std::vector<std::string> out;
  for (const PathSegment& s : PathPrefixes(path)) {
    out.push_back(fmt::format("{} {} {} {}", s.depth, s.text, s.prefix, s.is_directory ? "dir" : "file"));
  }
  return out;
}

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
