// A filter's header, info and list reports as JSON: what `info --json` and `build --json` print. Names are those of the
// fields; programs rely on them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "filter/builder/ingest.h"
#include "filter/file/file_info.h"
#include "filter/file/header.h"
#include "filter/file/prediction.h"

namespace bloomwall::filter {

nlohmann::ordered_json to_json(const Error& error);
nlohmann::ordered_json to_json(const PredictedErrors& predicted);
nlohmann::ordered_json to_json(const WorstHost& worst);
// The series key only where `show_secret`.
nlohmann::ordered_json to_json(const Header& header, bool show_secret);
nlohmann::ordered_json to_json(const FileInfo& info);
nlohmann::ordered_json to_json(const IngestedFile& file);

}  // namespace bloomwall::filter
