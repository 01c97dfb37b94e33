// What a fallible call of filter/ returns: the value, or an Error that a person can act on.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <tl/expected.hpp>

namespace bloomwall::filter {

// Append only: programs that script us match on the names that to_string gives.
enum class Errc : std::uint8_t {
  io,            // the system refused: open, read, write, map, rename
  too_short,     // fewer bytes than the header promises
  bad_magic,     // not a filter file
  unsupported,   // a version, feature or critical section this build does not know
  bad_header,    // a field outside its range, or fields that contradict each other
  bad_section,   // a section outside the file, overlapping, or of impossible geometry
  bad_digest,    // the bytes are not those that were written
  bad_syntax,    // a text file (list, delta, allow list) that cannot be read
  wrong_base,    // a delta that was made for another filter file
  unmet_target,  // an error rate or size that cannot be had
  limit,         // a size or count over its limit
  usage,         // a wrong combination of options
  untrusted,     // not signed by a key that is trusted, or changed since
  outdated,      // older than one that was accepted before
};

constexpr const char* to_string(Errc code) {
  switch (code) {
    case Errc::io:
      return "io";
    case Errc::too_short:
      return "too_short";
    case Errc::bad_magic:
      return "bad_magic";
    case Errc::unsupported:
      return "unsupported";
    case Errc::bad_header:
      return "bad_header";
    case Errc::bad_section:
      return "bad_section";
    case Errc::bad_digest:
      return "bad_digest";
    case Errc::bad_syntax:
      return "bad_syntax";
    case Errc::wrong_base:
      return "wrong_base";
    case Errc::unmet_target:
      return "unmet_target";
    case Errc::limit:
      return "limit";
    case Errc::usage:
      return "usage";
    case Errc::untrusted:
      return "untrusted";
    case Errc::outdated:
      return "outdated";
  }
  return "unknown";
}

struct Error {
  Errc code;
  std::string where;  // file, file:line or header field
  std::string what;   // what is wrong and what to do about it
  // One line for a log or a terminal: "where: what".
  std::string text() const { return where.empty() ? what : where + ": " + what; }
};

template <typename T>
using Result = tl::expected<T, Error>;
using tl::unexpected;

// The error of a failed system call on a file.

// "PATH: cannot ACTION: reason"; `code` is an errno.
inline tl::unexpected<Error> system_error(const std::filesystem::path& path, const char* action, int code = errno) {
  return unexpected(Error{Errc::io, path.string(), std::string("cannot ") + action + ": " + std::strerror(code)});
}

}  // namespace bloomwall::filter
