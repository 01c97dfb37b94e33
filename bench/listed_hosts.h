// Filter files for benchmarks of questions.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>

#include "filter/file/filter_writer.h"

namespace bloomwall::bench {

inline std::string host_of(std::uint64_t i) { return "listed" + std::to_string(i) + ".example"; }

// Ends the process where it does not hold.
inline void require(bool holds, const std::string& what) {
  if (holds) return;
  std::fprintf(stderr, "bench: %s\n", what.c_str());
  std::exit(1);
}

// A filter of `hosts` domains "listedN.example" and as many URLs "http://pageN.example/a/p": 32 bits a host key, 24 a
// path key.
inline void make_listed_hosts(const std::filesystem::path& file, std::uint64_t hosts, std::uint8_t series) {
  using filter::FilterWriter, filter::Geometry, filter::Hash128, filter::KeyMaker, filter::Kind, filter::KindCounts;
  FilterWriter::Plan plan;
  plan.header.series_key.fill(series);
  plan.header.file_id.fill(series);
  for (const Kind kind : {Kind::suffix, Kind::url}) {
    KindCounts& counts = plan.header.kinds[filter::index_of(kind)];
    counts.entries = counts.keys = hosts;
  }
  plan.header.marks = hosts;
  plan.header.hosts = 2 * hosts;
  plan.header.mark_mask = std::uint32_t{1} << filter::kVariantMarkUrl;
  plan.header.min_labels = plan.header.max_labels = 2;
  plan.hosts = Geometry{.pages = 2 * hosts * 32 / 8 / filter::kPageBytes};
  plan.paths = Geometry{.pages = hosts * 24 / 8 / filter::kPageBytes};
  const KeyMaker keys(plan.header.series_key);
  auto writer = FilterWriter::create(file, std::move(plan));
  require(writer.has_value(), writer ? "" : writer.error().text());
  const Hash128 path = keys.segment("p", keys.segment("a", keys.empty_path()));
  for (std::uint64_t i = 0; i < hosts; ++i) {
    (*writer)->hosts()->insert(keys.host(host_of(i)), filter::kVariantSuffix);
    const Hash128 host = keys.host("page" + std::to_string(i) + ".example");
    (*writer)->hosts()->insert(host, filter::kVariantMarkUrl);
    (*writer)->paths()->insert(keys.url(host, path));
  }
  const auto done = (*writer)->commit();
  require(done.has_value(), done ? "" : done.error().text());
}

}  // namespace bloomwall::bench
