// Whether a response policy zone can be read without its name. Where every owner is absolute ("a.example.com.rpz.corp.test."),
// as transfers and some feeds have it, the zone's own name has to come off; it stands in $ORIGIN or with the SOA record. A file
// without either would be read as a list of names that nobody asks for.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "filter/result.h"

namespace bloomwall::filter {

// Error `usage`, saying which name it may be, where nine of ten owners in `sample` (whole lines of the file `path`) end in
// one that they have in common, with a host under a top-level domain before it, and no line names the zone.
Result<void> refuse_unknown_zone(std::string_view sample, std::string_view path);

}  // namespace bloomwall::filter
