// Why a load of configuration and filters was refused, or a start served the last good files of a filter: the labels of
// bloomwall_reloads_refused_total. A load counts once for each reason that it had.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/names.h"
#include "filter/result.h"

namespace bloomwall::proxy {

enum class RefusalReason : std::uint8_t {
  configuration,  // the configuration's files, or what they name beside filters and lists
  signature,      // a filter or a delta is not signed by a key that is trusted
  older,          // than what was served before, or of another series
  unfit,          // a delta or an exact side that belongs to another filter
  damaged,        // its bytes are not those that were written
  version,        // of a format, or with a feature, that this program does not know
  syntax,         // a line of a delta or an allow list
  disk,           // a file that is missing, cannot be read, or has no room for its copy; a record in state_dir likewise
  other,
};
inline constexpr auto kRefusalReasonNames = name_table<RefusalReason>({{RefusalReason::configuration, "configuration"},
                                                                       {RefusalReason::signature, "signature"},
                                                                       {RefusalReason::older, "older"},
                                                                       {RefusalReason::unfit, "unfit"},
                                                                       {RefusalReason::damaged, "damaged"},
                                                                       {RefusalReason::version, "version"},
                                                                       {RefusalReason::syntax, "syntax"},
                                                                       {RefusalReason::disk, "disk"},
                                                                       {RefusalReason::other, "other"}});
inline constexpr std::size_t kRefusalReasons = static_cast<std::size_t>(RefusalReason::other) + 1;

constexpr RefusalReason reason_of(filter::Errc code) {
  switch (code) {
    case filter::Errc::io:
      return RefusalReason::disk;
    case filter::Errc::too_short:
    case filter::Errc::bad_magic:
    case filter::Errc::bad_header:
    case filter::Errc::bad_section:
    case filter::Errc::bad_digest:
      return RefusalReason::damaged;
    case filter::Errc::unsupported:
      return RefusalReason::version;
    case filter::Errc::bad_syntax:
      return RefusalReason::syntax;
    case filter::Errc::wrong_base:
      return RefusalReason::unfit;
    case filter::Errc::untrusted:
      return RefusalReason::signature;
    case filter::Errc::outdated:
      return RefusalReason::older;
    case filter::Errc::unmet_target:
    case filter::Errc::limit:
    case filter::Errc::usage:
      return RefusalReason::other;
  }
  return RefusalReason::other;
}

}  // namespace bloomwall::proxy
