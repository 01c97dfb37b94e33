// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/terminal.h"
#include "base/units.h"
#include "filter/cli/commands.h"
#include "filter/cli/header_json.h"
#include "filter/cli/header_text.h"

namespace bloomwall::filter {
namespace {

bool is_textbook(const PlanRow& row) { return row.hashes > 0; }

std::string bits_text(const PlanRow& row) {
  if (is_textbook(row)) return fmt::format("{:.2f} an entry, k = {}", row.path_bits, row.hashes);
  std::string out;
  const auto add = [&](const char* section, const std::optional<Geometry>& g, double bits) {
    if (g) out += fmt::format("{}{} {:.2f} {}", out.empty() ? "" : ", ", section, bits, layout_name(g->layout));
  };
  add("H", row.sections.hosts, row.host_bits);
  add("P", row.sections.paths, row.path_bits);
  add("R", row.sections.raw, row.raw_bits);
  return out;
}

std::string keys_text(const PlanRow& row) {
  if (is_textbook(row)) return format_rate(row.predicted.path_key);
  std::string out;
  const auto add = [&](const char* section, const std::optional<Geometry>& g, double error) {
    if (g) out += fmt::format("{}{} {}", out.empty() ? "" : ", ", section, format_rate(error));
  };
  add("H", row.sections.hosts, row.predicted.host_key);
  add("P", row.sections.paths, row.predicted.path_key);
  add("R", row.sections.raw, row.predicted.raw_key);
  return out;
}

std::string class_text(const ClassError& c) { return fmt::format("{} / {}", format_rate(c.mean), format_rate(c.p99)); }

std::string row_text(const PlanRow& row, const Header& counts) {
  if (!row.possible) return fmt::format("{:<10}can't be had\n", row.name);
  const bool has_hosts = counts.hosts > 0;  // raw keys have no classes of requests
  const bool has_paths = counts.marks > 0;
  return fmt::format("{:<10}{:>10}  {:<34}{:<28}{:<24}{}\n", row.name, format_bytes(row.file_bytes), bits_text(row),
                     keys_text(row), has_hosts ? class_text(row.predicted.unlisted_host) : "-",
                     has_paths || (has_hosts && is_textbook(row)) ? class_text(row.predicted.listed_host) : "-");
}

// How often the filters are asked, and how the chosen one errs on the host where that is most.
std::string questions_text(const PlanTable& table) {
  const PlanRow& chosen = table.rows.back();
  if (table.counts.hosts == 0) return "A raw key is asked once, so the error of a key is that of a question.\n";
  std::string out = fmt::format("The textbook's filter is asked {} times a request in the mean and {} times at p99",
                                table.textbook.mean, table.textbook.p99);
  if (!chosen.possible) return out + ".\n";
  const ClassError& u = chosen.predicted.unlisted_host;
  const ClassError& l = chosen.predicted.listed_host;
  out += fmt::format(", the chosen one {:.0f} and {:.0f} times on an unlisted host", u.mean_questions, u.p99_questions);
  if (table.counts.marks > 0) {
    out += fmt::format(", {:.0f} and {:.0f} on a listed one", l.mean_questions, l.p99_questions);
  }
  return out + fmt::format(".\nOn the worst host that there may be it errs on {}.\n", worst_host_text(chosen.worst));
}

std::string table_text(const PlanTable& table) {
  const Header& c = table.counts;
  std::string out;
  for (std::size_t i = 0; i < kKindCount; ++i) {
    if (c.kinds[i].keys == 0) continue;
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", static_cast<char>(kKinds[i]), format_count(c.kinds[i].keys));
  }
  out = "entries " + out;
  if (c.hosts > 0) out += fmt::format("; {} hosts, {} marks", format_count(c.hosts), format_count(c.marks));
  out += "\n\n";
  out += fmt::format("{:<10}{:>10}  {:<34}{:<28}{:<24}{}\n", "layout", "size", "bits a key", "error a key",
                     "unlisted host, mean/p99", "listed host, mean/p99");
  for (const PlanRow& row : table.rows) out += row_text(row, c);
  out += '\n' + questions_text(table);
  return table.exact ? out + "To know: " + table.exact_text + ".\n" : out;
}

nlohmann::ordered_json row_json(const PlanRow& row) {
  nlohmann::ordered_json out{{"layout", row.name}, {"possible", row.possible}};
  if (!row.possible) return out;
  out["file_bytes"] = row.file_bytes;
  if (is_textbook(row)) out["hashes"] = row.hashes;
  const auto section = [&](const char* name, const std::optional<Geometry>& g, double bits) {
    if (!g) return;
    out[name] = {{"layout", layout_name(g->layout)}, {"bytes", g->bytes()}, {"bits_per_key", bits}};
  };
  if (is_textbook(row)) out["bits_per_key"] = row.path_bits;
  section("hosts", row.sections.hosts, row.host_bits);
  section("paths", row.sections.paths, row.path_bits);
  section("raw", row.sections.raw, row.raw_bits);
  out["predicted"] = to_json(row.predicted);
  if (!is_textbook(row)) out["predicted"]["worst_host"] = to_json(row.worst);
  return out;
}

nlohmann::ordered_json table_json(const PlanTable& table) {
  nlohmann::ordered_json kinds = nlohmann::ordered_json::object();
  for (std::size_t i = 0; i < kKindCount; ++i) {
    if (table.counts.kinds[i].keys > 0) kinds[std::string{static_cast<char>(kKinds[i])}] = table.counts.kinds[i].keys;
  }
  nlohmann::ordered_json out{{"kinds", std::move(kinds)}, {"hosts", table.counts.hosts}, {"marks", table.counts.marks}};
  out["rows"] = nlohmann::ordered_json::array();
  for (const PlanRow& row : table.rows) out["rows"].push_back(row_json(row));
  if (table.exact) {
    out["exact_side"] = {{"fpr", table.exact->fpr},
                         {"file_bytes", table.exact->file_bytes},
                         {"exact_bytes", table.exact->exact_bytes},
                         {"error", table.exact->error}};
  }
  if (table.refusal) out["error"] = to_json(*table.refusal);
  return out;
}

}  // namespace

int run_plan(const PlanCommand& command, const Streams& io) {
  const auto table = make_plan(command.request);
  if (!table) {
    print_error(io.err, table.error());
    return kExitError;
  }
  if (command.json) {
    print_json_tall(io.out, table_json(*table));
  } else {
    io.out << table_text(*table);
  }
  const std::optional<Error>& refusal = table->refusal;
  if (!refusal) return kExitDone;
  print_error(io.err, *refusal);
  return kExitListed;
}

}  // namespace bloomwall::filter
