// `filters:` the block lists, in the order they are asked.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace bloomwall::conf {

class MapReader;

struct Filter {
  enum class Action : std::uint8_t { block, monitor };
  enum class OnError : std::uint8_t { block, allow };
  std::string name;                  // [A-Za-z0-9._-]{1,64}, unique
  std::filesystem::path file;        // .bwf
  std::filesystem::path delta;       // empty: none
  std::filesystem::path exact = {};  // .bwx; empty: none
  // PEM, one or more Ed25519 keys; one of them must have signed the file and its delta. Empty: nobody need have.
  std::filesystem::path public_key = {};
  // A delta of more than this share of the filter's entries makes a rebuild due, which is told and nothing else. 1 to 100.
  std::uint32_t rebuild_at = 2;  // percent
  Action action = Action::block;
  int status = 403;                   // 403 or 451
  std::string legal_link;             // status 451: the Link of RFC 7725 ("" = none)
  OnError on_error = OnError::block;  // what a lost filter does
  // Where its bytes are while it is served: filter/file/residence.h.
  enum class Memory : std::uint8_t { automatic, paged, locked, copied };
  Memory memory = Memory::automatic;
  friend bool operator==(const Filter&, const Filter&) = default;
};

void read(MapReader& map, Filter& out);

}  // namespace bloomwall::conf
