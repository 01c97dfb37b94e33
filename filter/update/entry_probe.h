// Whether a filter's bits hold exactly one entry (networks are not in the bits): not what the entry covers, and not what covers it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "filter/file/filter_file.h"
#include "filter/url/entry.h"

namespace bloomwall::filter {

// False is sure; true may be a mistake, at the rate of one question. Thread-safe; linear in the entry.
bool may_hold(const FilterFile& file, const Entry& entry);

}  // namespace bloomwall::filter
