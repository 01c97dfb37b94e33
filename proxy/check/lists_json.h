// What is known of the lists of filters, as the API and `bloomwall update --json` show it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "conf/config.h"
#include "proxy/update/lists_state.h"

namespace bloomwall::proxy {

// An array: of each filter that has sources, in the order of the configuration.
//   {"filter":"ads","file":"/var/lib/...","result":"built","guard":null,"message":null,"built":"2026-...",
//    "stale":false,"entries":12,"exceptions":0,"bytes":4096,"sequence":3,"seconds":1.5,"forced":null,
//    "forced_by":null,
//    "sources":[{"url":"https://...","result":"updated","guard":null,"message":null,"checked":"...","succeeded":"...",
//                "changed":"...","due":"...","entries":12,"rules":12,"unusable":0,"loss":null,"bytes":300,
//                "sha256":"...","copy":"/var/lib/...","failures":0,
//                "counts":{"updated":1,"unchanged":0,"failed":0,"refused":0}}]}
nlohmann::ordered_json lists_json(const conf::Config& settings, const ListsState& state, std::int64_t now);

// Of tls_inspection.verify.intermediates: what is made of them, and each as in lists_json(); null: none are fetched.
//   {"file":"/var/lib/.../intermediates.pem","result":"built","message":null,"built":"2026-...","entries":1900,
//    "bytes":4096,"sources":[...]}
nlohmann::ordered_json intermediates_json(const conf::Config& settings, const ListsState& state);

// Whether some list of it was not fetched for filters[].stale_after.
bool is_stale(const conf::Filter& filter, const ListsState& state, std::int64_t now);

// One line for each filter that is stale, and one where intermediates are wanted and not there.
std::vector<std::string> list_warnings(const conf::Config& settings, std::int64_t now);

}  // namespace bloomwall::proxy
