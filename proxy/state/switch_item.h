// One switch (proxy/access/switches.h), with who set it, why and when. As JSON, in the state, in its
// export and in answers of the API:
//   {"group":"pupils","switch":"otherwise=deny","why":"exam","created":"2026-11-23T08:00:00Z",
//    "until":"2026-11-23T08:45:00Z","who":"root"}
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <tl/expected.hpp>

#include "proxy/access/switches.h"

namespace bloomwall::proxy {

struct SwitchItem {
  static constexpr std::size_t kMost = 1000;
  static constexpr std::size_t kMaxWhy = 500;   // octets
  static constexpr std::size_t kMaxGroup = 64;  // likewise
  static constexpr Instant kLongest = Instant{30} * 24 * 3600;

  Switch made;
  Instant created = 0;
  std::string why = {}, who = {};
};

nlohmann::ordered_json to_json(const SwitchItem& item);
tl::expected<SwitchItem, std::string> switch_from(const nlohmann::ordered_json& json);

}  // namespace bloomwall::proxy
