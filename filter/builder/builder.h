// `build`: makes a filter file of lists. Checks the reports, chooses the size, writes, replaces. Two strategies:
//   collected  every list is read once; all keys are held, counts are exact, the size fits them        key_collector.h
//   streamed   sizes come first, then entries stream through into the file, which may be larger than memory; counts are
//              estimated                                                                              key_stream.h
// A build is streamed where its sizes are given: by what is expected (`expected`), or by the file it has to match
// (`like`). Others are collected. Where memory does not suffice and the lists can be read again, they are read once
// more for estimates, and then streamed.
//   replaced_header / choose_identity   ids, series key, sequence             identity.h
//   Ingest                              lists -> entries -> store             ingest.h
//   choose_size                         geometries for the target             sizing.h
// Before the file replaces the target, a sample of the entries is looked up in it (build_checks.h); a miss is an error.
// Equal lists and equal pinned fields give equal bytes, whatever the number of threads and rounds, and, where the sizes
// are given, whatever the memory. Streamed and collected builds of the same geometry have the same pages.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <concepts>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "filter/builder/ingest.h"
#include "filter/builder/key_stream.h"
#include "filter/builder/plan.h"
#include "filter/file/identity.h"

namespace bloomwall::filter {

// A filter file whose series and geometry a build takes over; empty: none.
struct LikeFile {
  LikeFile() = default;
  template <typename Path>
    requires std::convertible_to<Path, std::filesystem::path>
  LikeFile(Path&& path) : file(std::forward<Path>(path)) {}  // NOLINT: a name is enough
  bool empty() const { return file.empty(); }
  std::filesystem::path file = {};
  // What `file` stands for, where it is no filter but a geometry (filter/slices/geometry.h): sections, series id,
  // canonical options and predictions; no key.
  std::optional<Header> geometry = {};
};

struct BuildOptions {
  std::filesystem::path output;
  std::vector<std::string> lists;
  std::vector<GeneratedList> generated;  // read after the lists
  ReadOptions read;
  std::map<std::string, ReadOptions> read_of = {};  // of lists that are not read as `read` says
  bool raw = false;
  bool query_spellings = false;  // entries with a query match its other spellings: plain_query.h. Not with `raw`
  std::string category;          // empty: that of the lists, where all have the same
  Target target;
  // The expected contents of the lists (its target is ignored). Only this decides the sizes; the build is refused where
  // the lists hold kinds without a section, or so many entries that the target is not met.
  std::optional<PlanRequest> expected;
  // Empty, or a filter file: the same series and geometry, so that both can be merged. Excludes `expected`.
  LikeFile like;
  std::vector<std::string> known_good;  // lists of URLs that must not be stopped by mistake: build_extras.h
  bool exact_side = false;              // writes F.bwx beside F.bwf: exact_writer.h
  bool force = false;                   // not refused where the target is not met
  IdentityOptions identity;
  // The build is refused where more than this share of a list's rules can't be used, unless that is allowed of all
  // lists or of this one.
  double most_unusable = kMostUnusable;
  bool allow_unsupported = false;
  std::vector<std::string> allow_unsupported_of;
  std::filesystem::path sources;         // empty, or what the lists have to be: source_list.h
  bool empty = false;                    // no list: an empty file of the expected sizes, for `like`
  FileAccess access;                     // of every file that is written
  std::filesystem::path allow_out;       // of allow rules; empty: they free what this filter stops (list_exceptions.h)
  std::filesystem::path report_marks;    // empty, or where MarkReport writes
  std::optional<double> max_shrink;      // share of the replaced file's distinct entries
  std::uint64_t ram_bytes = 0;           // 0: default_ram_budget()
  unsigned threads = 0;                  // 0: one a processor
  std::optional<std::uint64_t> samples;  // requests to measure the error with; default: usual_samples()
  // Called with the complete file and its exact side (empty: none) under their temporary names, and the exceptions that
  // will stand beside it, after the sample was found in it; an error leaves the targets unchanged.
  struct Made {
    std::filesystem::path file, exact_side;
    std::string exceptions;  // exceptions_text()
  };
  std::function<Result<void>(const Made& made)> check = {};
  const std::atomic<bool>* stop = nullptr;  // becomes true: nothing is written, error `io` "interrupted"
};

// `estimating`: reading for counts only. `streaming`: reading while a temporary file exists.
enum class BuildPhase : std::uint8_t { reading, estimating, streaming, writing, finishing };
struct BuildProgress {
  BuildPhase phase = BuildPhase::reading;
  IngestPosition input;            // while reading, estimating or streaming
  KeyStream::Figures stream = {};  // while streaming, and after
  std::string warning = {};        // nearly always empty: what can't wait for the report
};
// Called on the calling thread: at least once a phase, and once a block while reading.
using OnBuildProgress = std::function<void(const BuildProgress&)>;

// Filled as far as the build gets.
struct BuildReport {
  std::vector<IngestedFile> files;
  std::uint64_t allow_rules = 0;
  std::uint64_t exceptions = 0;  // of these that are beside the file now: list_exceptions.h
  KeySummary summary;
  std::optional<Sizing> sizing;
  std::optional<Header> replaced;
  // Of the file as written: known of the hosts, or, where entries stream, at most so much (all_mark_questions()).
  WorstHost worst;
  Header header;  // as written; file_bytes is 0 until then
  FileInfo info;
  std::vector<std::string> warnings;
  std::vector<std::string> notes;  // of the extras
  bool streamed = false;
  KeyStream::Figures stream = {};
};

// Errors: usage, unmet_target, limit, io, and those of lists. After an error the target is untouched.
Result<void> build(const BuildOptions& options, BuildReport& report, const OnBuildProgress& progress = {});

// What canonical_options in the header says.
inline std::uint32_t canonical_options(const BuildOptions& options) {
  return options.query_spellings ? kQueriesByParameters : 0;
}

// What converter_options in the header says, bit by bit; of lists that are read in different ways, of all of them.
std::uint32_t converter_options(const BuildOptions& options);
std::uint32_t converter_options(const ReadOptions& read);
inline constexpr std::uint32_t kOptionExact = 1, kOptionHostsAsSuffix = 2, kOptionStrictWildcard = 4,
                               kOptionAllowTld = 8, kOptionAggressive = 16, kOptionWhiteAsBlock = 64,
                               kOptionWideRanges = 128, kOptionCsvColumn = 256, kOptionPathInfo = 1024,
                               kOptionIndexFiles = 2048;

}  // namespace bloomwall::filter
