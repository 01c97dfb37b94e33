// SPDX-License-Identifier: Apache-2.0
#include "bench/ten_billion/result_page.h"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "base/units.h"

namespace bloomwall::bench {
namespace {

// What stands behind "name : " in a file of /proc.
std::string line_in(const char* file, std::string_view name) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with(name)) continue;
    const std::size_t begin = line.find_first_not_of(": \t", name.size());
    return begin == std::string::npos ? std::string() : line.substr(begin);
  }
  return "unknown";
}

std::string machine() {
  utsname kernel{};
  uname(&kernel);
  const auto memory =
      static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  return fmt::format("{} processors ({}), {} of memory, {} {}", std::thread::hardware_concurrency(),
                     line_in("/proc/cpuinfo", "model name"), format_bytes(memory), kernel.sysname, kernel.release);
}

std::string checks_table(const ResultPage& page) {
  std::string out = "| promise | measured | |\n|---|---|---|\n";
  for (const Check& check : page.checks) {
    out += fmt::format("| {} | {} | {} |\n", check.promise, check.measured, check.holds ? "holds" : "**FAILS**");
  }
  return out;
}

std::string list_table(const UrlSeries& series) {
  using filter::Kind;
  std::string out = fmt::format(
      "{} distinct URLs of at most {} bytes, made on the fly: ", format_count(series.entries()), kMaxUrlBytes);
  out += fmt::format("{} without query (U), {} with (Q), {} directories at depths 1, 2, 3, 4 and 6 (D), ",
                     format_count(series.count(Kind::url)), format_count(series.count(Kind::url_query)),
                     format_count(series.count(Kind::directory)));
  out += fmt::format(
      "all on {} hosts with 1.02 marks each, and {} host entries (S) on hosts of their own. For instance:\n\n",
      format_count(series.path_hosts()), format_count(series.host_entries()));
  for (std::uint64_t i = 0; i < 6; ++i) {
    out += "    ";
    series.append_entry(i * (series.entries() / 6) + i, out);
    out += '\n';
  }
  return out;
}

std::string geometry_text(const filter::Header& header, filter::SectionType type, std::uint64_t keys) {
  const filter::SectionEntry* const section = header.find(type);
  if (section == nullptr) return "none";
  return fmt::format("{} in layout {}, {:.2f} bits for each of {} keys", format_bytes(section->length),
                     section->geometry.layout == filter::Layout::lines_4x4 ? "4x4" : "2x8",
                     8.0 * static_cast<double>(section->length) / static_cast<double>(keys), format_count(keys));
}

std::string file_text(const filter::Header& header) {
  std::uint64_t hosts = header.marks, paths = 0;
  for (const filter::Kind kind : filter::kKinds) {
    const std::uint64_t keys = header.kinds[filter::index_of(kind)].keys;
    if (filter::is_host_kind(kind)) hosts += keys;
    if (filter::is_path_kind(kind)) paths += keys;
  }
  std::string out = fmt::format("{} bytes. Section H: {}. Section P: {}.\n\n", format_count(header.file_bytes),
                                geometry_text(header, filter::SectionType::hosts, hosts),
                                geometry_text(header, filter::SectionType::paths, paths));
  return out +
         fmt::format(
             "Its header predicts, per request: unlisted host {:.2e} (p99 {:.2e}), listed host {:.2e} (p99 {:.2e}).\n",
             header.predicted.unlisted_host.mean, header.predicted.unlisted_host.p99, header.predicted.listed_host.mean,
             header.predicted.listed_host.p99);
}

std::string classes_table(const ProofResult& proof) {
  std::string out =
      "| asked for | requests | matched | share | 99 % interval | questions to H: mean, p99 | to P: mean, p99 |\n"
      "|---|---|---|---|---|---|---|\n";
  const auto row = [&](const ClassResult& c) {
    out += fmt::format("| {} | {} | {} | {:.2e} | {:.2e} to {:.2e} | {:.1f}, {} | {:.2f}, {} |\n", c.name,
                       format_count(c.matched.trials), format_count(c.matched.hits), c.matched.value(), c.matched.low(),
                       c.matched.high(), c.host_questions.mean(), c.host_questions.percentile(0.99),
                       c.path_questions.mean(), c.path_questions.percentile(0.99));
  };
  row(proof.sampled);
  for (const ClassResult& one : proof.requests) row(one);
  return out;
}

std::string phases_table(const ResultPage& page) {
  std::string out = "| phase | wall time | CPU time | peak RSS | read | written |\n|---|---|---|---|---|---|\n";
  PhaseCost sum;
  const auto row = [&](const PhaseCost& p, const std::string& name) {
    out += fmt::format("| {} | {:.1f} s | {:.1f} s | {} | {} | {} |\n", name, p.wall_seconds, p.cpu_seconds,
                       format_bytes(p.peak_resident), format_bytes(p.disk_read), format_bytes(p.disk_written));
  };
  for (const PhaseCost& phase : page.phases) {
    row(phase, phase.name);
    sum.wall_seconds += phase.wall_seconds;
    sum.cpu_seconds += phase.cpu_seconds;
    sum.peak_resident = std::max(sum.peak_resident, phase.peak_resident);
    sum.disk_read += phase.disk_read;
    sum.disk_written += phase.disk_written;
  }
  row(sum, "all");
  return out;
}

}  // namespace

std::string markdown(const ResultPage& page, const UrlSeries& series, const filter::Header& header,
                     const ProofResult& proof) {
  std::string out = fmt::format("# {} URLs: one run\n\n", format_count(series.entries()));
  out += fmt::format("Command: `{}` (bloomwall {}, seed {}).\nMachine: {}.\n\n", page.command, BLOOMWALL_VERSION,
                     page.seed, machine());
  out += checks_table(page);
  out += "\n## The list\n" + list_table(series);
  out += "\n## The file\n" + file_text(header);
  out += "\n## Errors, per request\n";
  out +=
      "Requests go through the proxy's own look-up; none of them is in the list, but for the entries, which all "
      "are.\n\n";
  out += classes_table(proof);
  for (const std::string& url : proof.missed) out += fmt::format("\nNot found: {}\n", url);
  out += fmt::format("\n{} questions to P were asked in the order of the file, which was read once for them.\n",
                     format_count(proof.questions_swept));
  for (const Section& section : page.more) out += fmt::format("\n## {}\n{}", section.title, section.text);
  out += "\n## What it took\n";
  out +=
      "Peak RSS counts pages of mapped files, which the kernel may take back at any time. Read and written is what "
      "went to "
      "the disk.\n\n";
  return out + phases_table(page);
}

}  // namespace bloomwall::bench
