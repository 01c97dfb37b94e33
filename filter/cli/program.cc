// SPDX-License-Identifier: Apache-2.0
#include "filter/cli/program.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <functional>

#include "base/terminal.h"
#include "base/units.h"
#include "filter/cli/build_options.h"
#include "filter/cli/command_tree.h"
#include "filter/cli/commands.h"
#include "filter/cli/parsed_option.h"
#include "filter/cli/release_command.h"
#include "filter/cli/slice_commands.h"

namespace bloomwall::filter {
namespace {

constexpr const char* kBuildFooter =
    R"(LIST is a file, - for stdin, a folder in squidGuard/UT1 form, or a tar archive of one; .gz, .xz, .zst, .bz2 and .lz4
are decompressed. A FIFO waits for its writer.
The target is replaced as a whole or not at all. No filter is made where more than 5 % of a list can't be used.
SOURCE_DATE_EPOCH in the environment is the default of --created.
Exit status: 0 done, 2 refused or failed.)";
constexpr const char* kQueryFooter =
    R"(Answers, one a line, in the order of the questions:
  listed<TAB>URL<TAB>expression    clear<TAB>URL    invalid<TAB>URL<TAB>reason
What the lists of the file except (FILE.*.allow) is clear, as it is to the proxy. Control octets in a URL are shown as
\xNN. What is read of the file is compared with its digests: a damaged page gives an error and no answer.
Exit status: 0 nothing listed, 1 something listed, 2 error.)";
constexpr const char* kMergeFooter =
    R"(Filters can be merged where one was built --like another, or all with the same --series-key, --entries, --hosts and
--kinds. Shards of one input become, in any order, the filter that a build of the whole input would have made; shards
built with --known-good need the same lists here. An exception is dropped where one of the files may list what it excepts.
Exit status: 0 done, 2 refused or failed.)";
constexpr const char* kPlanFooter =
    R"(With --memory: the least error for that size; with --fpr (default 1e-6): the least size for that error; with both:
whether that size can meet that error. Errors are per request, in the mean and at p99; of raw keys per question.
Ranges of addresses are stored apart from the bits: 8 bytes each of IPv4, 32 of IPv6, and no error.
With -o and what `count` has written of all slices of a build, a geometry for `map` and `build --like`, for their entries
and 2 % more; --raw and kinds follow from the counts.
Exit status: 0 done, 1 `build` would refuse, 2 error, 3 a slice is missing.)";
constexpr const char* kDedupFooter =
    R"(Lines are compared octet by octet, without their line feed; with --urls by the URL that they spell, whatever its
scheme, port and fragment, and what is no URL octet by octet. No line is printed twice; a new line is lost where the filter
takes it for a repeated one. The summary names that rate, as predicted and as given by the bits set at the end.
A line over 1 MiB is printed without being compared.
A state is a filter file of raw keys: `info`, `verify` and `query --raw` read it, and what `build --raw` has made is one. It
is replaced once all was read and written, as a whole; after an error, a kill or a crash it is as it was, and the next run
prints again what this one has printed. Of two runs at the same time the later one fails.
Exit status: 0 done, 1 the error ended above --fpr (default here: 1e-4), 2 error.)";

Result<unsigned> asks_from(std::string_view text) {
  const auto count = count_from(text);
  if (!count) return unexpected(count.error());
  if (*count > kMostAsks) return unexpected(Error{Errc::usage, {}, fmt::format("at most {}", kMostAsks)});
  return static_cast<unsigned>(*count);
}

using Shares = std::array<double, kKindCount>;

Result<Shares> parse_kinds(std::string_view text) {
  Shares shares{};
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const std::string_view item = rest.substr(0, comma);
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    const std::size_t kind = item.empty() ? kKindCount : index_of(static_cast<Kind>(item.front()));
    const auto weight = item.size() > 2 && item[1] == '=' ? weight_from(item.substr(2)) : weight_from("");
    if (kind >= kKeyKindCount || !weight) {
      return unexpected(Error{Errc::usage, {}, fmt::format("'{}' is not KIND=SHARE, KIND one of S X W U Q D R", item)});
    }
    shares[kind] = *weight;
  }
  return shares;
}

// What decides the sizes before the lists are read.
void add_expected_options(CLI::App& app, BuildOptions& o) {
  const auto expected = [&o]() -> PlanRequest& { return o.expected ? *o.expected : o.expected.emplace(); };
  CLI::Option* const entries =
      add_parsed(app, "--entries", "N", "expected distinct entries; the file may then be larger than memory",
                 count_from, [expected](std::uint64_t n) { expected().entries = n; });
  add_parsed(app, "--hosts", "N", "with --entries: distinct hosts of the URL entries; default: one for every 50",
             count_from, [expected](std::uint64_t n) { expected().hosts = n; })
      ->needs(entries);
  add_parsed(app, "--marks", "N",
             "with --entries: different kinds and depths of URL entries, summed over hosts; "
             "default: 1.02 a host",
             count_from, [expected](std::uint64_t n) { expected().marks = n; })
      ->needs(entries);
  add_parsed(app, "--asks", "N", "with --entries: as for `plan`", asks_from, [expected](unsigned n) {
    expected().asks = n;
  })->needs(entries);
  add_parsed(app, "--kinds", "K=SHARE,...",
             "with --entries: shares of S, X, W, U, Q, D, R; default S=1,U=80,Q=12,D=7, with --raw R=1", parse_kinds,
             [expected](const Shares& shares) { expected().kinds = shares; })
      ->needs(entries);
  app.add_flag("--empty", o.empty, "with --entries, without lists: a template for --like")->needs(entries);
  app.add_option(
         "--like", o.like.file,
         "use the series and geometry of this filter, so that the two can be merged, or of a geometry that `plan` has "
         "made, with --series-key")
      ->type_name("FILE")
      ->excludes(entries);
  app.add_flag("--force", o.force, "accept more entries than expected, whatever the error becomes");
}

void add_build(CLI::App& program, int& status, BuildCommand& command, const Streams& io) {
  CLI::App& app = add_command(program, "build", "make a filter file from lists", status, [&] {
    if (command.options.lists.empty() && !command.options.empty) throw CLI::RequiredError("lists");
    return command.counting ? run_build_counting(command, io) : run_build(command, io);
  });
  BuildOptions& o = command.options;
  app.footer(kBuildFooter);
  app.add_option("-o,--output", o.output, "the filter file")->type_name("FILE")->required();
  app.add_option("lists", o.lists, "lists to read")->type_name("LIST");
  app.add_option("--sources", o.sources,
                 "output of sha256sum for the lists; one that is missing, altered or given twice is refused")
      ->type_name("FILE");
  add_reading_options(app, o);
  app.add_option("--allow-out", o.allow_out, "write the allow rules found to this file, and make no exceptions of them")
      ->type_name("FILE");
  app.add_option("--report-marks", o.report_marks,
                 "write the domains that have URL entries of their own, which tls_inspection decrypts entirely")
      ->type_name("FILE");
  app.add_option("--category", o.category, "what the filter stops, for logs and pages")->type_name("NAME");
  add_target_options(app, o.target);
  add_expected_options(app, o);
  add_identity_options(app, o.identity);
  app.add_option(
         "--known-good", o.known_good,
         "URLs that must not be stopped by mistake; false positives among them become exceptions of the filter; "
         "may be given several times")
      ->type_name("LIST");
  app.add_flag(
      "--exact-side", o.exact_side,
      "also write F.bwx beside F.bwf: 27 to 48 bits an entry, with which the proxy confirms or refutes a match");
  add_parsed(app, "--max-shrink", "PERCENT", "refuse a filter that has so many fewer entries than the one it replaces",
             share_from, [&o](double share) { o.max_shrink = share; });
  add_parsed(app, "--ram", "BYTES", "memory for keys; default: what is free, less a reserve", bytes_from,
             [&o](std::uint64_t bytes) { o.ram_bytes = bytes; });
  add_threads(app, o.threads);
  add_parsed(app, "--measure", "N",
             "measure the error with N requests; default: a few million, in files of up to 1 GiB", count_from,
             [&o](std::uint64_t n) { o.samples = n; });
  add_access_options(app, o.access);
  app.add_flag("--counting", command.counting,
               "make a counting filter (.bwc), which `update` changes and `emit` turns into filters; it holds no "
               "address ranges");
  app.add_flag("--json", command.json, "the report as JSON on standard output");
  app.add_flag("-q,--quiet", command.quiet, "no report as text");
}

void add_readers(CLI::App& program, int& status, InfoCommand& info, QueryCommand& query, VerifyCommand& verify,
                 const Streams& io) {
  CLI::App& i =
      add_command(program, "info", "show what a filter file contains", status, [&] { return run_info(info, io); });
  i.add_option("file", info.file, "the filter file")->type_name("FILE")->required();
  CLI::Option* const delta =
      i.add_option("--delta", info.delta, "its delta: show how large a share of the filter it is")->type_name("FILE");
  add_rebuild_at(i, info.rebuild_at)->needs(delta);
  i.add_flag("--show-secret", info.show_secret,
             "print the series key as well; who knows it can craft URLs that are blocked");
  i.add_flag("--json", info.json, "as JSON");
  i.footer("Exit status: 0 done, 1 corrupt, 2 error.");

  CLI::App& q =
      add_command(program, "query", "look up URLs in a filter file", status, [&] { return run_query(query, io); });
  q.add_option("file", query.file, "the filter file")->type_name("FILE")->required();
  q.add_option("urls", query.urls, "URLs; none, or -: from stdin, one a line")->type_name("URL");
  q.add_option("--delta", query.delta, "the delta of this file")->type_name("FILE");
  q.add_option("--exact", query.exact, "the exact side of this file; what it refutes is clear")->type_name("FILE");
  q.add_flag("--raw", query.raw, "ask about raw keys instead of URLs");
  q.add_flag(
      "--json", query.json,
      "one JSON object a line: url, action, canonical, alternatives, expressions, verdict, filter, expression, reason");
  q.footer(kQueryFooter);

  CLI::App& v = add_command(program, "verify", "check every byte, digest and signature of a filter file", status,
                            [&] { return run_verify(verify, io); });
  v.add_option("file", verify.file, "the filter file, or a delta")->type_name("FILE")->required();
  v.add_option("--key", verify.key, "a public key; the file must bear its signature")->type_name("PUBLIC");
  v.add_flag("--json", verify.json, "as JSON");
  v.footer("Exit status: 0 whole, 1 corrupt or not signed by the key, 2 error.");
}

void add_merge(CLI::App& program, int& status, MergeCommand& command, const Streams& io) {
  CLI::App& app = add_command(program, "merge", "merge filters of the same series and geometry into one", status,
                              [&] { return run_merge(command, io); });
  MergeOptions& o = command.options;
  app.footer(kMergeFooter);
  app.add_option("-o,--output", o.output, "the filter file")->type_name("FILE")->required();
  app.add_option("inputs", o.inputs, "filters, in any order")->type_name("FILE")->required();
  app.add_option("--like", command.like,
                 "the inputs must be of the series and geometry of this file, a geometry of `plan`")
      ->type_name("FILE");
  add_parsed(app, "--fpr", "RATE", "greatest error per request; default: 1e-6, or that of the worst input", rate_from,
             [&o](double rate) { o.fpr = rate; });
  app.add_flag("--force", o.force, "merge even if --fpr is not met");
  add_parsed(app, "--measure", "N", "measure the error with N requests; default: as `build` does", count_from,
             [&o](std::uint64_t n) { o.samples = n; });
  app.add_option("--known-good", o.known_good,
                 "URLs that must not be stopped by mistake, as for `build`; checked again on the merged bits; may be "
                 "given several times")
      ->type_name("LIST");
  add_parsed(app, "--max-unusable", "PERCENT",
             "refuse a list of known-good URLs of which more than this can't be used; default 5 %", share_from,
             [&o](double share) { o.gate.most = share; });
  app.add_flag("--allow-unsupported", o.gate.is_open, "merge even if more than 5 % of such a list can't be used");
  app.add_option("--sources", o.sources,
                 "output of sha256sum for all lists; one that is missing, altered or given twice is refused")
      ->type_name("FILE");
  add_access_options(app, o.access);
  app.add_flag_callback("--no-provenance", [&o] { o.provenance = false; }, "do not note which files were merged");
  add_pins(app, o.identity);
  add_threads(app, o.threads);
  app.add_flag("--json", command.json, "the report as JSON on standard output");
}

void add_plan(CLI::App& program, int& status, PlanCommand& plan, GeometryOptions& counted, const Streams& io) {
  const auto run = [&program, &plan, &counted, &io] {
    const bool has_entries = program.get_subcommand("plan")->get_option("--entries")->count() > 0;
    const bool is_counted = !counted.output.empty() && !counted.counts.empty();
    if (is_counted && !has_entries) return run_plan_of_counts(plan, counted, io);
    if (!has_entries) throw CLI::RequiredError("--entries, or -o and counts");
    if (counted.output.empty() && counted.counts.empty()) return run_plan(plan, io);
    throw CLI::ValidationError("--entries", "excludes -o and counts");
  };
  CLI::App& app = add_command(program, "plan", "predict size and error of a filter before it is built", status, run);
  add_parsed(app, "--entries", "N", "distinct entries, e.g. 10G", count_from,
             [&plan](std::uint64_t n) { plan.request.entries = n; });
  add_plan_of_counts(app, counted);
  add_parsed(app, "--hosts", "N", "distinct hosts of the URL entries; default: one for every 50", count_from,
             [&plan](std::uint64_t n) { plan.request.hosts = n; });
  add_parsed(app, "--marks", "N", "different kinds and depths of URL entries, summed over hosts; default: 1.02 a host",
             count_from, [&plan](std::uint64_t n) { plan.request.marks = n; });
  add_parsed(app, "--asks", "N",
             "how many URL keys the deepest request asks on 99 % of the hosts with URL entries, with --fpr-of worst on "
             "any of them; `info` of a filter like it says so; default: marks by hosts, or every mark of the kinds",
             asks_from, [&plan](unsigned n) { plan.request.asks = n; });
  add_parsed(app, "--kinds", "K=SHARE,...", "shares of S, X, W, U, Q, D, R; default S=1,U=80,Q=12,D=7", parse_kinds,
             [&plan](const Shares& shares) { plan.request.kinds = shares; });
  CLI::Option* const raw = app.add_flag_callback(
      "--raw", [&plan] { plan.request.kinds = kRawAlone; }, "the entries are keys of `build --raw`, and no URLs");
  for (const char* const other : {"--hosts", "--marks", "--asks", "--kinds"}) raw->excludes(app.get_option(other));
  add_target_options(app, plan.request.target);
  app.add_flag("--json", plan.json, "as JSON");
  app.footer(kPlanFooter);
}

void add_dedup(CLI::App& program, int& status, DedupCommand& dedup, const Streams& io) {
  CLI::App& app = add_command(program, "dedup", "print each distinct line once, in order", status,
                              [&] { return run_dedup(dedup, io); });
  app.add_option("files", dedup.files,
                 "texts to read; none, or -: stdin; .gz, .xz, .zst, .bz2 and .lz4 are decompressed")
      ->type_name("FILE");
  add_parsed(app, "--memory", "BYTES", "size of the filter; default 200MB, enough for 50 million lines", bytes_from,
             [&dedup](std::uint64_t bytes) { dedup.target.memory = bytes; });
  add_parsed(app, "--fpr", "RATE",
             "probability that the last new line is taken for a repeated one; default with --entries 1e-6", rate_from,
             [&dedup](double rate) { dedup.target.fpr = rate; });
  add_parsed(app, "--entries", "N", "expected distinct lines; without --memory they determine the size", count_from,
             [&dedup](std::uint64_t n) { dedup.target.entries = n; });
  app.add_option("--state", dedup.state,
                 "where the lines seen so far are kept for the next run; made if missing, with the size of that run")
      ->type_name("FILE")
      ->check([](const std::string& name) { return name.empty() ? "the name of a file is needed" : ""; });
  app.add_flag("--urls", dedup.urls, "lines that spell the same URL are the same; they are printed as they are");
  app.add_option("--series-key", dedup.series_key_file,
                 "64 hex digits or 32 bytes; with the same key two runs make the same errors; default: random")
      ->type_name("FILE");
  app.add_option("--threads", dedup.threads, "hashing threads; default: one a processor, less one")
      ->check(CLI::Range(1, 1024))
      ->type_name("N");
  app.add_flag("--json", dedup.json, "the summary as JSON, on standard error");
  app.add_flag("-q,--quiet", dedup.quiet, "no summary");
  app.footer(kDedupFooter);
}

// For reproducible builds; https://reproducible-builds.org/specs/source-date-epoch/
Result<std::optional<std::uint64_t>> date_from_environment() {
  const char* text = std::getenv("SOURCE_DATE_EPOCH");
  if (text == nullptr) return std::nullopt;
  const auto time = count_from(text);
  if (!time) return unexpected(Error{Errc::usage, "SOURCE_DATE_EPOCH", time.error().what});
  return *time;
}

}  // namespace

int with_command_line(const Streams& io, const std::function<int(CLI::App& app, const int& status)>& use) {
  CLI::App app{"Builds, inspects and queries bloomwall filter files.", "bloomwall-filter"};
  app.set_version_flag("--version", "bloomwall-filter " BLOOMWALL_VERSION);
  app.require_subcommand(1);
  app.footer("Numbers take suffixes: 10G entries, 30GB, 24GiB. Results on stdout, messages on stderr.");
  int status = kExitDone;
  BuildCommand build;
  MergeCommand merge;
  InfoCommand info;
  QueryCommand query;
  VerifyCommand verify;
  PlanCommand plan;
  DedupCommand dedup;
  UpdateCommands update;
  SliceCommands slices;
  ReleaseCommand release;
  const auto date = date_from_environment();
  if (!date) {
    print_error(io.err, date.error());
    return kExitError;
  }
  build.options.identity.created = *date;
  merge.options.identity.created = *date;
  slices.assemble.options.identity.created = *date;
  add_build(app, status, build, io);
  add_merge(app, status, merge, io);
  add_readers(app, status, info, query, verify, io);
  add_plan(app, status, plan, slices.plan, io);
  add_dedup(app, status, dedup, io);
  add_slice_commands(app, status, slices, io);
  add_update_commands(app, status, update, io);
  add_release(app, status, release, io);
  add_self_description(app, status, io);
  take_one_word_each(app);
  return use(app, status);
}

int run_program(std::vector<std::string> arguments, const Streams& io) {
  return with_command_line(
      io, [&](CLI::App& app, const int& status) { return run_command_line(app, std::move(arguments), status, io); });
}

void print_error(std::ostream& err, const Error& error) {
  err << "bloomwall-filter: " << printable(error.text()) << '\n';
}

void say_reading_if_named(const std::vector<std::string>& words, std::string_view what, const Streams& io) {
  if (std::ranges::find(words, "-") != words.end()) say_reading("bloomwall-filter", what, io);
}

}  // namespace bloomwall::filter
