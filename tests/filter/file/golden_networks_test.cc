// A frozen file of format version 1 that holds ranges of addresses: what it says, and that today's writer still makes
// it.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/encoding.h"
#include "filter/file/networks.h"
#include "tests/filter/file/sample_filter.h"

namespace bloomwall::filter {
namespace {

const std::filesystem::path kFrozen = BLOOMWALL_SOURCE_DIR "/tests/data/golden_v1_networks.bwf";

// As the frozen file was made of them: of both kinds, from the first address to the last, joined and single.
RangeSet networks() {
  std::vector<AddressRange> out;
  for (const char* text : {"0.0.0.0/8", "1.10.16.0/20", "1.10.32.0/20", "192.0.2.7/32", "198.51.100.3-198.51.100.9",
                           "240.0.0.0/4", "::/128", "2001:db8::/32", "2001:db9::1-2001:db9::ff", "ff00::/8"}) {
    out.push_back(read_address_range(text).range);
  }
  return RangeSet(out);
}

FilterWriter::Plan plan() {
  FilterWriter::Plan plan;
  Header& h = plan.header;
  const auto put = [](auto& field, std::string_view text) { std::copy(text.begin(), text.end(), field.begin()); };
  put(h.file_id, "golden networks ");
  put(h.series_id, "golden series   ");
  put(h.series_key, "a key that is no secret at all..");
  h.sequence = 43;
  h.created = 1'767'225'600;
  h.unicode_version = 0x0F0000;
  h.kinds[index_of(Kind::suffix)] = {.entries = 1, .keys = 1};
  h.kinds[index_of(Kind::network)] = {.entries = 10, .keys = 9};
  h.hosts = 1;
  h.min_labels = h.max_labels = 2;
  plan.hosts = Geometry{.layout = Layout::sectors_2x8, .pages = 1};
  plan.info = {.category = "golden",
               .builder = "bloomwall-filter 0.1.0",
               .sources = {{.name = "networks", .format = "networks", .bytes = 200, .entries = 11, .sha256 = {7}}},
               .provenance = {}};
  plan.networks = serialise_networks(networks());
  return plan;
}

TEST(GoldenNetworks, TheFrozenFileAnswersAsItDidWhenItWasWritten) {
  const auto file = FilterFile::open(kFrozen);
  ASSERT_TRUE(file) << file.error().text();
  ASSERT_TRUE((*file)->verify(FilterFile::Depth::tampering));
  EXPECT_EQ((*file)->networks().size(), 9U);
  EXPECT_EQ((*file)->header().kinds[index_of(Kind::network)].entries, 10U);
  EXPECT_EQ(to_hex(content_id((*file)->header())).size(), 32U);
  struct Question {
    const char* address;
    const char* range;  // "": in none
  };
  for (const Question& q :
       {Question{"0.0.0.0", "0.0.0.0/8"}, Question{"1.0.0.0", ""}, Question{"1.10.15.255", ""},
        Question{"1.10.31.255", "1.10.16.0-1.10.47.255"}, Question{"1.10.32.0", "1.10.16.0-1.10.47.255"},
        Question{"192.0.2.6", ""}, Question{"192.0.2.7", "192.0.2.7/32"}, Question{"::ffff:192.0.2.7", "192.0.2.7/32"},
        Question{"64:ff9b::192.0.2.7", "192.0.2.7/32"}, Question{"198.51.100.10", ""},
        Question{"198.51.100.9", "198.51.100.3-198.51.100.9"}, Question{"255.255.255.255", "240.0.0.0/4"},
        Question{"::", "[::]/128"}, Question{"::1", ""}, Question{"2001:db8:ffff::", "[2001:db8::]/32"},
        Question{"2001:db9::100", ""}, Question{"2001:db9::ff", "[2001:db9::1]-[2001:db9::ff]"},
        Question{"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "[ff00::]/8"}}) {
    const auto address = read_address(q.address);
    ASSERT_TRUE(address) << q.address;
    const auto found = (*file)->networks().find(*address);
    EXPECT_EQ(found ? text_of(*found) : "", q.range) << q.address;
  }
}

// The frozen file was made from filter/FORMAT.md by a script that knew nothing else; it predicts no errors. Never
// replace it.
TEST(GoldenNetworks, WhatIsWrittenTodayIsStillThatFile) {
  const std::filesystem::path path = std::filesystem::path(BLOOMWALL_BINARY_DIR) / "golden_v1_networks_now.bwf";
  auto writer = FilterWriter::create(path, plan());
  ASSERT_TRUE(writer) << writer.error().text();
  (*writer)->hosts()->insert(KeyMaker((*writer)->header().series_key).host("listed.example"), kVariantSuffix);
  const auto done = (*writer)->commit();
  ASSERT_TRUE(done) << done.error().text();
  testing_support::expect_frozen_bytes(path, kFrozen);
}

}  // namespace
}  // namespace bloomwall::filter
