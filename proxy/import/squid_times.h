// The values of an ACL of the type time, as schedules[].times has them. Source: Squid 5's squid.conf.documented, and
// what it does: hours end with the minute that they name, hours without days in front of them are those of every day,
// days behind which no hours stand are whole days, and "-" among days means nothing.
// Pure. Threads: any.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace bloomwall::proxy::foreign {

// {"MTWHF", "8:00-12:29"} is {"mon,tue,wed,thu,fri 08:00-12:30"}. Nothing: a word is none of these.
std::optional<std::vector<std::string>> squid_times(const std::vector<std::string>& words);

}  // namespace bloomwall::proxy::foreign
