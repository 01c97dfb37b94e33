// The text of a file of `devices:` as `bloomwall device` changes it: a device a line, and everything else, comments and
// blank lines, stays as people have written it.
//   devices:
//   - {name: Anna's tablet, addresses: [192.168.1.33], group: children}   # since May
// What it cannot change without a guess is left to people: other keys in the file, an entry over several lines, what
// edited_text.h refuses.
// Errors: one line, "line 3: ...". Threads: any.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "conf/groups.h"

namespace bloomwall::conf {

inline constexpr const char* kDeviceFile = "devices.yaml";  // in Config::drop_in_folder

// The device in the place of the one with its name, or with the name `before`, where that is not empty; else behind the
// last one. `text` may be empty. What is made is read again, and is as it was asked for.
tl::expected<std::string, std::string> with_device(std::string_view text, const Device& device,
                                                   std::string_view before = {});
// Error, too: there is none of that name.
tl::expected<std::string, std::string> without_device(std::string_view text, std::string_view name);

}  // namespace bloomwall::conf
