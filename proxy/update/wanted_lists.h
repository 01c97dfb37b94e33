// Lists of the catalogue that the running proxy wants added (PUT /api/v1/edits/lists/NAME): a file "wanted-NAME" each
// in update.folder, for which systemd's path unit and `update --loop` wait. The run that takes one does what
// `bloomwall update --add NAME` does. Where nothing comes of it "not-added-NAME" says why, until the list is wanted
// again or was added.
// Errors: one line. Blocking. Threads and processes: any; of two that take the same one gets it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

namespace bloomwall::proxy {

struct WantedList {
  std::string name;  // as in the catalogue; no path
  bool refuse_exceptions = false;
};

tl::expected<void, std::string> leave_wanted(const std::filesystem::path& folder, const WantedList& list);
bool is_wanted(const std::filesystem::path& folder, std::string_view name);
bool has_wanted(const std::filesystem::path& folder);
// All that there are, in order of their names; they are gone from the folder.
std::vector<WantedList> take_wanted(const std::filesystem::path& folder);

// `why` empty: it was added.
void note_wanted(const std::filesystem::path& folder, std::string_view name, std::string_view why);
std::string why_not_added(const std::filesystem::path& folder, std::string_view name);  // empty: nothing is known

}  // namespace bloomwall::proxy
