// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "filter/cli/commands.h"
#include "filter/cli/header_json.h"
#include "filter/cli/header_text.h"
#include "filter/cli/text.h"
#include "filter/file/filter_file.h"

namespace bloomwall::filter {

int status_of(const Error& error) {
  switch (error.code) {
    case Errc::too_short:
    case Errc::bad_magic:
    case Errc::unsupported:
    case Errc::bad_header:
    case Errc::bad_section:
    case Errc::bad_digest:
    case Errc::untrusted:
    case Errc::outdated:
      return kExitListed;
    case Errc::io:
    case Errc::bad_syntax:
    case Errc::wrong_base:
    case Errc::unmet_target:
    case Errc::limit:
    case Errc::usage:
      return kExitError;
  }
  return kExitError;
}

int run_info(const InfoCommand& command, const Streams& io) {
  const auto fail = [&](const Error& error) {
    if (command.json) print_json_tall(io.out, {{"file", command.file.string()}, {"error", to_json(error)}});
    print_error(io.err, error);
    return status_of(error);
  };
  const auto file = FilterFile::open(command.file);
  if (!file) return fail(file.error());
  const auto info = (*file)->info();
  if (!info) return fail(info.error());
  const Header& header = (*file)->header();
  if (!command.json) {
    io.out << info_text(*info) << header_text(header, command.show_secret) << errors_text(header);
    return kExitDone;
  }
  nlohmann::ordered_json out{{"file", command.file.string()}};
  out.update(to_json(*info));
  out.update(to_json(header, command.show_secret));
  print_json_tall(io.out, out);
  return kExitDone;
}

}  // namespace bloomwall::filter
