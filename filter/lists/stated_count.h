// The number of entries that a list says it has, in a comment: shows that a list was cut.
//   # Number of entries: 1000      ! Domains: 122680        # Domain count: 42,531       #  |Blocked: 52,577 domains
//   ; CTI RPZ | entries 6125       # Entries : 1530 subnets, 18459 unique IPs            # 1,234 unique domains
// A comment of other words states nothing. Addresses are not counted: a list of ranges states how many are in them.
// Source: the comments of published lists (HaGeZi, 1Hosts, StevenBlack, FireHOL, URLhaus, DNSBunker). Pure; no errors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace bloomwall::filter {

// `comment` with its mark. About a hundred nanoseconds where it holds no digit.
std::optional<std::uint64_t> stated_count(std::string_view comment);

}  // namespace bloomwall::filter
