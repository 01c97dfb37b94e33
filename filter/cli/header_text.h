// Text for people: a filter's header and info, and what `update`, `build --counting` and `info` say of deltas and
// counters.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "filter/bits/counters.h"
#include "filter/builder/ingest.h"
#include "filter/file/file_info.h"
#include "filter/file/header.h"
#include "filter/file/prediction.h"
#include "filter/policy/delta.h"

namespace bloomwall::filter {

const char* layout_name(Layout layout);                        // "2x8", "4x4"
std::vector<std::string> option_names(std::uint32_t options);  // "--exact", ...; unknown bits as a number
std::vector<std::string> mark_names(std::uint32_t mark_mask);  // "U", "Q", "D1", ... "D16+"
std::string joined(const std::vector<std::string>& words, std::string_view between = ", ");

// Lines of text, ended by LF. The series key only where `show_secret`.
std::string header_text(const Header& header, bool show_secret);
std::string errors_text(const Header& header);  // predictions per key and class, as filled, measured
std::string info_text(const FileInfo& info);

std::string files_text(const std::vector<IngestedFile>& files);
// What a delta holds, and from which share of its filter on a rebuild is due.
struct DeltaSize {
  std::uint64_t adds = 0, removes = 0;
  double rebuild_at = kRebuildShare;
};
// "12 adds and 3 removes, 1.40 % of the filter's entries: no rebuild is due".
std::string delta_text(const DeltaSize& delta, const Header& filter);
nlohmann::ordered_json delta_json(const DeltaSize& delta, const Header& filter);
std::string_view kind_meaning(Kind kind);  // "host and subdomains"
// The error of a request as the bits are now.
std::string error_now_text(const Header& filter);
// "error of a request at p99: ... on an unlisted host, ... on a listed one", of raw keys that of a question; `said`
// stands before each colon, as in ", predicted".
std::string worst_error_text(const Header& filter, std::string_view said = {});
// "one in 240 (4.2e-03), of a request that asks 24 host keys and 18 URL keys"; of raw keys the error of a question.
std::string worst_host_text(const WorstHost& worst);
// Counters of marks are 15 from the start; marks are in the host section only.
std::string cells_text(const CellCounts& cells, bool with_marks);
nlohmann::ordered_json cells_json(const CellCounts& cells);

}  // namespace bloomwall::filter
