// Owners of what c-ares hands out. No ares_destroy() or ares_free*() anywhere else.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ares.h>

#include <memory>

#include "proxy/io/handles.h"

namespace bloomwall::proxy {

using AresChannelPtr = std::unique_ptr<ares_channeldata, FreeWith<ares_destroy>>;
using AresAddrinfoPtr = std::unique_ptr<ares_addrinfo, FreeWith<ares_freeaddrinfo>>;

}  // namespace bloomwall::proxy
