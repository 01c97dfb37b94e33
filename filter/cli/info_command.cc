// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/figures.h"
#include "base/terminal.h"
#include "base/units.h"
#include "filter/builder/exact_writer.h"
#include "filter/cli/commands.h"
#include "filter/cli/header_json.h"
#include "filter/cli/header_text.h"
#include "filter/file/filter_file.h"
#include "filter/file/header.h"
#include "filter/file/networks.h"
#include "filter/policy/entry_text.h"
#include "filter/update/counting.h"
#include "filter/update/delta_text.h"
#include "filter/update/update_delta.h"

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

namespace {

struct Told {
  std::string text;
  nlohmann::ordered_json json;
};

// What a delta, or the counters themselves, say of how the filter is now.
Result<Told> present_state(const InfoCommand& command, const FilterFile& file) {
  const Header& header = file.header();
  Told out;
  if (header.form() == Form::counters) {
    // All counters are read for it anyway.
    if (auto whole = file.verify(FilterFile::Depth::accident); !whole) return unexpected(std::move(whole).error());
    for (const SectionEntry& section : header.sections) {
      if (!has_pages(section.type)) continue;
      const CellCounts cells = cells_of(file, section.type);
      const bool with_marks = section.type == SectionType::hosts && header.marks > 0;
      out.text += fmt::format("{:<18}{}: {}\n", "counters", to_string(section.type), cells_text(cells, with_marks));
      out.json["counters"][to_string(section.type)] = cells_json(cells);
    }
  }
  if (command.delta.empty()) return out;
  const auto text = read_entry_text(command.delta);
  if (!text) return unexpected(text.error());
  const auto read = DeltaText::read(*text, command.delta.string(), file.keys(), content_id(header));
  if (!read) return unexpected(read.error().front());
  const DeltaSize delta{.adds = read->added(), .removes = read->removed(), .rebuild_at = command.rebuild_at};
  out.text +=
      fmt::format("{:<18}{}\n{:<18}{}\n", "delta", delta_text(delta, header), "error now", error_now_text(header));
  out.json["delta"] = delta_json(delta, header);
  return out;
}

}  // namespace

namespace {

// The exact side beside it, where there is one that belongs to it.
std::unique_ptr<ExactSide> exact_beside(const FilterFile& file) {
  auto exact = ExactSide::open(exact_side_of(file.path()), file.header().exact_root);
  return exact ? *std::move(exact) : nullptr;
}

std::string networks_text(const RangeSet& networks) {
  if (networks.empty()) return {};
  return fmt::format("networks      {} ranges of IPv4 that hold {} addresses, {} of IPv6\n",
                     format_count(networks.ipv4().size()), format_count(ipv4_addresses(networks)),
                     format_count(networks.ipv6().size()));
}

nlohmann::ordered_json networks_json(const RangeSet& networks) {
  return {
      {"ipv4", networks.ipv4().size()}, {"ipv4_addresses", ipv4_addresses(networks)}, {"ipv6", networks.ipv6().size()}};
}

std::string extras_text(const FilterFile& file) {
  std::string out;
  if (!file.exceptions().empty()) {
    out += fmt::format("exceptions    {} keys of known-good URLs\n", format_count(file.exceptions().size()));
  }
  out += networks_text(file.networks());
  const auto exact = exact_beside(file);
  if (!exact) return out;
  const ExactHeader& h = exact->header();
  return out + fmt::format("exact side    {}: {} fingerprints, {}; confirms an unlisted key with probability {}\n",
                           printable(exact->path().string()), format_count(h.fingerprints), format_bytes(h.file_bytes),
                           one_in(residual_error(h)));
}

nlohmann::ordered_json exact_json(const FilterFile& file) {
  const auto exact = exact_beside(file);
  if (!exact) return nullptr;
  const ExactHeader& h = exact->header();
  return {{"file", exact->path().string()},
          {"fingerprints", h.fingerprints},
          {"bytes", h.file_bytes},
          {"residual_error", residual_error(h)}};
}

}  // namespace

int run_info(const InfoCommand& command, const Streams& io) {
  const auto fail = [&](const Error& error) {
    if (command.json) print_json_tall(io.out, {{"file", command.file.string()}, {"error", to_json(error)}});
    print_error(io.err, error);
    return status_of(error);
  };
  const auto kind = file_kind(command.file);
  if (!kind) return fail(kind.error());
  const auto file = FilterFile::open(command.file, *kind == FileKind::counting ? Form::counters : Form::bits);
  if (!file) return fail(file.error());
  const auto info = (*file)->info();
  if (!info) return fail(info.error());
  const auto now = present_state(command, **file);
  if (!now) return fail(now.error());
  const Header& header = (*file)->header();
  if (!command.json) {
    io.out << info_text(*info) << header_text(header, command.show_secret) << errors_text(header) << now->text
           << extras_text(**file);
    return kExitDone;
  }
  nlohmann::ordered_json out{{"file", command.file.string()}};
  out.update(to_json(*info));
  out.update(to_json(header, command.show_secret));
  if (!now->json.is_null()) out.update(now->json);
  out["exceptions"] = (*file)->exceptions().size();
  out["networks"] = networks_json((*file)->networks());
  out["exact_side"] = exact_json(**file);
  print_json_tall(io.out, out);
  return kExitDone;
}

}  // namespace bloomwall::filter
