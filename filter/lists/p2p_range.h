// Ranges of addresses as programs for file sharing have them: the lists of PeerGuardian and eMule, and of I-Blocklist.
//   Some Name, Inc.:1.2.4.0-1.2.4.255               the name may hold anything
//   001.002.004.000 - 001.002.004.255 , 000 , Name  from the access level 128 on the range is let pass
// Octets may be padded with zeros; IPv4 alone. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "filter/url/address_range.h"

namespace bloomwall::filter {

// no_range where a line is neither.
RangeReading read_p2p_range(std::string_view line);

}  // namespace bloomwall::filter
