// SPDX-License-Identifier: Apache-2.0
#include "filter/cli/build_options.h"

#include <fmt/format.h>

#include <utility>

#include "filter/cli/parsed_option.h"

namespace bloomwall::filter {
namespace {

Result<WhiteUse> parse_white(std::string_view text) {
  if (text == "refuse") return WhiteUse::refuse;
  if (text == "allow") return WhiteUse::allow;
  if (text == "block") return WhiteUse::block;
  return unexpected(Error{Errc::usage, {}, fmt::format("'{}' is none of refuse, allow, block", text)});
}

Result<FprOf> parse_fpr_of(std::string_view text) {
  if (text == "p99") return FprOf::p99;
  if (text == "worst") return FprOf::worst;
  return unexpected(Error{Errc::usage, {}, fmt::format("'{}' is neither p99 nor worst", text)});
}

}  // namespace

CLI::App& add_command(CLI::App& app, const char* name, const char* help, int& status, std::function<int()> run) {
  CLI::App& command = *app.add_subcommand(name, help);
  command.final_callback([&status, run = std::move(run)] { status = run(); });
  return command;
}

void add_reading_options(CLI::App& app, BuildOptions& o) {
  add_read_options(app, o.read, o.raw);
  app.add_flag("--query-spellings", o.query_spellings,
               "URLs with a query (/a?b=1&c=x) also match its other spellings (/a?&b=1;c=x&): the file says so, and "
               "releases that do not know this refuse it");
  add_parsed(app, "--white", "USE", "categories meant to be allowed: refuse (default), allow or block", parse_white,
             [&o](WhiteUse use) { o.read.white_categories = use; });
  app.add_option("--categories", o.read.categories,
                 "of folders and archives of categories read these alone, with commas between them; may be given "
                 "several times")
      ->delimiter(',')
      ->type_name("NAMES");
  app.add_flag("--allow-unsupported", o.allow_unsupported, "build even if more than 5 % of a list can't be used");
  app.add_option("--allow-unsupported-of", o.allow_unsupported_of,
                 "the same for this list only; LIST as it is given to the command; may be given several times")
      ->type_name("LIST");
  add_parsed(app, "--max-unusable", "PERCENT", "refuse a list of which more than this can't be used; default 5 %",
             share_from, [&o](double share) { o.most_unusable = share; });
}

void add_fpr(CLI::App& app, Target& target) {
  add_parsed(app, "--fpr", "RATE", "error per request that must be met, at p99 of the worst class; default 1e-6",
             rate_from, [&target](double rate) { target.fpr = rate; });
  add_parsed(
      app, "--fpr-of", "WHAT",
      "whose error that is: p99 (default), of a request on 99 % of the hosts, or worst, of the request that asks "
      "most, on any host",
      parse_fpr_of, [&target](FprOf of) { target.of = of; });
}

void add_target_options(CLI::App& app, Target& target) {
  add_fpr(app, target);
  add_parsed(app, "--false-marks", "RATE",
             "greatest share of hosts without entries that seem to have URL entries, which tls_inspection decrypts for "
             "nothing; default 1e-4; a larger one makes filters smaller whose --fpr is above 1e-4",
             rate_from, [&target](double rate) { target.false_marks = rate; });
  add_parsed(app, "--memory", "BYTES",
             "greatest size of the file; alone: the least error that fits, where 1e-6 does not", bytes_from,
             [&target](std::uint64_t bytes) { target.memory = bytes; });
}

void add_pins(CLI::App& app, IdentityOptions& o) {
  add_parsed(app, "--file-id", "HEX", "32 hex digits; default: random", file_id_from,
             [&o](FileId id) { o.file_id = id; });
  add_parsed(app, "--created", "SECONDS", "time of making, since 1970; default: now", count_from,
             [&o](std::uint64_t time) { o.created = time; });
  add_parsed(app, "--sequence", "N", "default: one more than that of the file that is replaced", count_from,
             [&o](std::uint64_t n) { o.sequence = n; });
  add_parsed(app, "--valid-until", "SECONDS", "end of validity, since 1970; default: none", count_from,
             [&o](std::uint64_t time) { o.valid_until = time; });
}

CLI::Option* add_series_key(CLI::App& app, IdentityOptions& o) {
  return app
      .add_option("--series-key", o.series_key_file,
                  "the series' key: 64 hex digits or 32 bytes; mode 0600 keeps it secret")
      ->type_name("FILE");
}

void add_identity_options(CLI::App& app, IdentityOptions& o) {
  add_series_key(app, o);
  app.add_flag("--new-series", o.new_series, "a new random key instead of the one of the file that is replaced");
  add_pins(app, o);
}

void add_threads(CLI::App& app, unsigned& threads) {
  app.add_option("--threads", threads, "default: one a processor")->check(CLI::Range(1, 1024))->type_name("N");
}

}  // namespace bloomwall::filter
