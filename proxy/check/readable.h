// Checks that the service's user can read the files that the configuration names; `check` run by root would not notice.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "conf/config.h"

namespace bloomwall::proxy {

inline constexpr const char* kServiceUser = "bloomwall";  // as in systemd/bloomwall.service

// Every file that a start or a reload reads because the configuration names it.
std::vector<std::filesystem::path> named_files(const conf::Config& settings);

// One line for each file that `user`, with all its groups, cannot open: "F: the user U cannot read it: Permission
// denied". Asks the kernel, as that user, in a child process: access lists and folders on the way count too. Error:
// there is no such user, or the caller may not take its place (only root may).
tl::expected<std::vector<std::string>, std::string> unreadable_for(const std::string& user,
                                                                   const std::vector<std::filesystem::path>& files);

// True where this process is root and the service's user exists: the check is then made without --user.
bool service_user_may_differ();

}  // namespace bloomwall::proxy
