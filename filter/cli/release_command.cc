// SPDX-License-Identifier: Apache-2.0
#include "filter/cli/release_command.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <ctime>
#include <functional>
#include <optional>
#include <utility>

#include "base/encoding.h"
#include "base/units.h"
#include "filter/cli/commands.h"
#include "filter/cli/header_json.h"
#include "filter/cli/parsed_option.h"
#include "filter/cli/progress.h"

namespace bloomwall::filter {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kReleaseFooter =
    R"(DIR/FILTER is what an origin serves: any web server, CDN or bucket. Copy it in the order files, deltas, releases, rings.
Releases have numbers that only grow; going back is `reissue` of an old one. A text of DIR that bears no signature of a --key
is refused; to change keys, publish with both (--key OLD --key NEW) until every ring and its release bear both.
Exit status: 0 done, 1 refused by a guard, not signed or corrupt, 2 error.)";
constexpr const char* kPublishFooter =
    R"(Makes the next release and puts it into --ring: of a new filter (--base), or of the one that the ring, or the ring all if
that is newer, has, with what lists add and remove. Guards compare it with the ring all before anything is published.
--must-pass and --must-block name lists of URLs, hosts or raw keys, one a line. --urgent puts at most 1,000 additions into
every ring at once, each on top of what it has; of the guards it asks must-pass alone.
Exit status: 0 done, 1 refused by a guard, not signed or corrupt, 2 error.)";
constexpr const char* kCheckFooter =
    R"(Reads what every ring names, as a gateway would: signatures, ends, sizes and all digests.
Exit status: 0 all of it can be served, 1 it cannot, or a ring has ended, 2 error.)";

Result<double> percent_from(std::string_view text) {
  const auto percent = parse_percent(text);
  if (!percent || *percent > 1'000'000) {
    return unexpected(Error{Errc::usage, {}, fmt::format("'{}': expected whole percents, as 10%", text)});
  }
  return static_cast<double>(*percent) / 100;
}

Result<std::uint64_t> validity_from(std::string_view text) {
  const auto time = parse_duration(text);
  const auto seconds = time ? std::chrono::duration_cast<std::chrono::seconds>(*time).count() : 0;
  if (seconds < 60 || seconds > std::int64_t{3650} * 86400) {
    return unexpected(Error{Errc::usage, {}, fmt::format("'{}': expected a time from 1m to 3650d", text)});
  }
  return static_cast<std::uint64_t>(seconds);
}

int fail(const ReleaseCommand& command, const Error& error, const Streams& io) {
  if (command.json) print_json_tall(io.out, {{"status", "refused"}, {"error", to_json(error)}});
  print_error(io.err, error);
  return error.code == Errc::io || error.code == Errc::usage ? kExitError : kExitListed;
}

Result<std::vector<SigningKey>> read_keys(const ReleaseCommand& command) {
  std::vector<SigningKey> keys;
  for (const auto& file : command.keys) {
    auto key = SigningKey::read(file);
    if (!key) return unexpected(Error{Errc::usage, key.error().where, key.error().what});
    keys.push_back(*std::move(key));
  }
  if (keys.size() > kMaxSignatures) {
    return unexpected(Error{Errc::usage, "--key", fmt::format("at most {}", kMaxSignatures)});
  }
  return keys;
}

Result<TextOpener> opener_from(const ReleaseCommand& command) {
  auto trusted = TrustedKeys::read(command.public_key);
  if (!trusted) return unexpected(Error{Errc::usage, trusted.error().where, trusted.error().what});
  return opener_of(*std::move(trusted));
}

void print_report(const ReleaseCommand& command, const PublishReport& report, const Streams& io) {
  for (const std::string& note : report.notes) io.err << "bloomwall-filter: " << printable(note) << '\n';
  if (command.json) {
    Json releases = Json::array(), rings = Json::array();
    for (const ReleaseText& release : report.releases) {
      releases.push_back({{"release", release.release},
                          {"base", release.base.file},
                          {"exact", release.exact ? Json(release.exact->file) : Json()},
                          {"delta", release.delta ? Json(release.delta->file) : Json()},
                          {"changes", release.delta ? release.delta->changes : 0}});
    }
    for (const PublishedRing& ring : report.rings) {
      rings.push_back({{"ring", ring.ring}, {"release", ring.release}, {"sequence", ring.sequence}});
    }
    print_json_tall(io.out, {{"status", "done"}, {"releases", releases}, {"rings", rings}, {"notes", report.notes}});
    return;
  }
  for (const PublishedRing& ring : report.rings) {
    io.out << fmt::format("{}: ring {} has release {} (sequence {})\n", command.filter, ring.ring, ring.release,
                          ring.sequence);
  }
}

// Of the commands that change the folder: keys, lock, report.
int change(const ReleaseCommand& command, OriginFolder::Use use, const Streams& io,
           const std::function<Result<PublishReport>(const ReleaseTarget&)>& what) {
  const auto keys = read_keys(command);
  if (!keys) return fail(command, keys.error(), io);
  const auto folder = OriginFolder::open(command.folder, command.filter, use);
  if (!folder) return fail(command, folder.error(), io);
  const auto report = what({.folder = *folder,
                            .keys = *keys,
                            .now = static_cast<std::uint64_t>(std::time(nullptr)),
                            .valid_for = command.valid_for});
  if (!report) return fail(command, report.error(), io);
  print_report(command, *report, io);
  return kExitDone;
}

int run_publish(ReleaseCommand& command, const Streams& io) {
  Publication& publication = command.publication;
  if (command.is_urgent) publication.urgent_why = command.why;
  if (!command.is_urgent && !command.why.empty()) {
    return fail(command, {Errc::usage, {}, "--why belongs to --urgent"}, io);
  }
  ReadProgress progress(io);
  publication.progress = [&](std::uint64_t done, std::uint64_t total) {
    progress.show(done, total);
    return true;
  };
  const auto use = publication.base.empty() ? OriginFolder::Use::change : OriginFolder::Use::create;
  return change(command, use, io, [&](const ReleaseTarget& target) { return publish(target, publication); });
}

int run_prune(const ReleaseCommand& command, const Streams& io) {
  const auto open = opener_from(command);
  if (!open) return fail(command, open.error(), io);
  const auto folder = OriginFolder::open(command.folder, command.filter, OriginFolder::Use::change);
  if (!folder) return fail(command, folder.error(), io);
  const auto gone = prune(*folder, *open, static_cast<std::size_t>(command.keep));
  if (!gone) return fail(command, gone.error(), io);
  if (command.json) {
    print_json_tall(io.out, {{"status", "done"}, {"removed", *gone}});
  } else {
    for (const std::string& part : *gone) io.out << "removed " << part << '\n';
  }
  return kExitDone;
}

struct RingState {
  RingText text;
  std::optional<ReleaseText> release;
  std::string wrong;  // empty: nothing
};

Result<std::vector<RingState>> read_rings(const OriginFolder& folder, const TextOpener& open) {
  const auto names = folder.rings();
  if (!names) return unexpected(names.error());
  std::vector<RingState> out;
  for (const std::string& name : *names) {
    auto ring = folder.ring(name, open);
    if (!ring) return unexpected(ring.error());
    RingState state{.text = *std::move(ring), .release = {}, .wrong = {}};
    if (auto release = folder.release(state.text.release, open)) {
      state.release = *std::move(release);
    } else {
      state.wrong = release.error().text();
    }
    out.push_back(std::move(state));
  }
  return out;
}

Json json_of(const RingState& state, std::uint64_t now) {
  const auto& release = state.release;
  return {{"ring", state.text.ring},
          {"release", state.text.release},
          {"sequence", state.text.sequence},
          {"created", state.text.created},
          {"valid_until", state.text.valid_until},
          {"ended", state.text.valid_until <= now},
          {"base", release ? Json(release->base.file) : Json()},
          {"delta", release && release->delta ? Json(release->delta->file) : Json()},
          {"changes", release && release->delta ? release->delta->changes : 0},
          {"error", state.wrong.empty() ? Json() : Json(state.wrong)}};
}

int run_status(const ReleaseCommand& command, const Streams& io) {
  TextOpener open = opener_of_anybody();
  if (!command.public_key.empty()) {
    auto trusted = opener_from(command);
    if (!trusted) return fail(command, trusted.error(), io);
    open = *std::move(trusted);
  }
  const auto folder = OriginFolder::open(command.folder, command.filter, OriginFolder::Use::read);
  if (!folder) return fail(command, folder.error(), io);
  const auto rings = read_rings(*folder, open);
  if (!rings) return fail(command, rings.error(), io);
  const auto now = static_cast<std::uint64_t>(std::time(nullptr));
  if (command.json) {
    Json out = Json::array();
    for (const RingState& state : *rings) out.push_back(json_of(state, now));
    print_json_tall(io.out, {{"filter", command.filter}, {"rings", out}});
    return kExitDone;
  }
  io.out << fmt::format("{:<16} {:>8} {:>9} {:>12} {:<20} {}\n", "ring", "release", "sequence", "changes",
                        "valid until", "base");
  for (const RingState& state : *rings) {
    const auto& release = state.release;
    io.out << fmt::format("{:<16} {:>8} {:>9} {:>12} {:<20} {}{}\n", state.text.ring, state.text.release,
                          state.text.sequence, format_count(release && release->delta ? release->delta->changes : 0),
                          format_time(state.text.valid_until), release ? release->base.file : printable(state.wrong),
                          state.text.valid_until <= now ? "  ended" : "");
  }
  return kExitDone;
}

int run_check(const ReleaseCommand& command, const Streams& io) {
  const auto open = opener_from(command);
  if (!open) return fail(command, open.error(), io);
  const auto folder = OriginFolder::open(command.folder, command.filter, OriginFolder::Use::read);
  if (!folder) return fail(command, folder.error(), io);
  auto rings = read_rings(*folder, *open);
  if (!rings) return fail(command, rings.error(), io);
  if (rings->empty()) return fail(command, {Errc::io, command.filter, "has no ring"}, io);
  const auto now = static_cast<std::uint64_t>(std::time(nullptr));
  ReadProgress progress(io);
  const auto show = [&](std::uint64_t done, std::uint64_t total) {
    progress.show(done, total);
    return true;
  };
  bool is_whole = true;
  Json out = Json::array();
  for (RingState& state : *rings) {
    if (state.release) {
      if (auto ok = folder->check_parts(*state.release, true, show); !ok) state.wrong = ok.error().text();
    }
    if (state.wrong.empty() && state.text.valid_until <= now) {
      state.wrong = fmt::format("has ended at {}: renew it", format_time(state.text.valid_until));
    }
    is_whole = is_whole && state.wrong.empty();
    out.push_back(json_of(state, now));
    if (command.json) continue;
    io.out << fmt::format("ring {}: release {}: {}\n", state.text.ring, state.text.release,
                          state.wrong.empty() ? "ok" : printable(state.wrong));
  }
  if (command.json) print_json_tall(io.out, {{"filter", command.filter}, {"ok", is_whole}, {"rings", out}});
  return is_whole ? kExitDone : kExitListed;
}

CLI::App& add(CLI::App& parent, ReleaseCommand& command, const char* name, const char* help, int& status,
              std::function<int()> run) {
  CLI::App& app = *parent.add_subcommand(name, help);
  app.final_callback([&status, run = std::move(run)] { status = run(); });
  app.add_option("folder", command.folder, "the folder with all filters of the origin")->type_name("DIR")->required();
  app.add_option("--filter", command.filter, "the filter: a folder in DIR")->type_name("NAME")->required();
  app.add_flag("--json", command.json, "the report as JSON");
  return app;
}

void add_keys(CLI::App& app, ReleaseCommand& command) {
  app.add_option("--key", command.keys, "a private key to sign with; may be given several times")
      ->type_name("PRIVATE")
      ->required();
  add_parsed(app, "--valid-for", "TIME", "how long gateways take the ring for fresh; default 7d", validity_from,
             [&command](std::uint64_t seconds) { command.valid_for = seconds; });
}

void add_public_key(CLI::App& app, ReleaseCommand& command, bool is_required) {
  app.add_option("--public-key", command.public_key, "the public keys, one of which must have signed")
      ->type_name("PUBLIC")
      ->required(is_required);
}

void add_guards(CLI::App& app, ReleaseGuards& guards) {
  add_parsed(app, "--max-shrink", "PERCENT", "of the entries it may lose; default 10%", percent_from,
             [&guards](double share) { guards.max_shrink = share; });
  add_parsed(app, "--max-growth", "PERCENT", "by which it may grow; default 300%", percent_from,
             [&guards](double share) { guards.max_growth = share; });
  add_parsed(app, "--most-error", "RATE", "of a request to a host that is not listed; default 1e-4", rate_from,
             [&guards](double rate) { guards.most_error = rate; });
  app.add_option("--must-pass", guards.must_pass, "what it must not stop; may be given several times")
      ->type_name("LIST");
  app.add_option("--must-block", guards.must_block, "what it must stop; may be given several times")->type_name("LIST");
}

void add_publish(CLI::App& parent, int& status, ReleaseCommand& command, const Streams& io) {
  CLI::App& app = add(parent, command, "publish", "make the next release and put it into a ring", status,
                      [&] { return run_publish(command, io); });
  add_keys(app, command);
  Publication& publication = command.publication;
  app.add_option("--ring", publication.ring, "the ring; default canary")->type_name("NAME");
  app.add_option("--base", publication.base, "a new filter")->type_name("FILE");
  app.add_option("--exact-side", publication.exact, "its exact side")->type_name("FILE");
  app.add_flag("--carry", publication.carry, "with --base: what the delta before has added stays added");
  ChangeLists& lists = publication.lists;
  app.add_option("--add", lists.add, "a list of entries to add; may be given several times")->type_name("LIST");
  app.add_option("--remove", lists.remove, "a list of entries to remove; may be given several times")
      ->type_name("LIST");
  add_read_options(app, lists.read, lists.raw);
  app.add_flag("--allow-unsupported", lists.allow_unsupported, "accept lists of which more than 5 % can't be used");
  add_guards(app, publication.guards);
  app.add_flag("--urgent", command.is_urgent, "into every ring at once; needs --why");
  app.add_option("--why", command.why, "the reason, which stands in the delta")->type_name("TEXT");
  app.footer(kPublishFooter);
}

}  // namespace

void add_release(CLI::App& program, int& status, ReleaseCommand& command, const Streams& io) {
  CLI::App& release = *program.add_subcommand("release", "publish filters for gateways that follow an origin");
  release.require_subcommand(1);
  release.footer(kReleaseFooter);
  add_publish(release, status, command, io);
  CLI::App& again =
      add(release, command, "reissue", "put the parts of a release into rings under the next number", status, [&] {
        return change(command, OriginFolder::Use::change, io,
                      [&](const ReleaseTarget& target) { return reissue(target, command.release, command.rings); });
      });
  add_keys(again, command);
  add_parsed(again, "--release", "NUMBER", "the release to be served again, or in more rings", count_from,
             [&command](std::uint64_t number) { command.release = number; })
      ->required();
  CLI::App& later = add(release, command, "renew", "give rings a later end", status, [&] {
    return change(command, OriginFolder::Use::change, io,
                  [&](const ReleaseTarget& target) { return renew(target, command.rings); });
  });
  add_keys(later, command);
  for (CLI::App* const app : {&again, &later}) {
    app->add_option("--ring", command.rings, "a ring; may be given several times; default: every ring")
        ->type_name("NAME");
  }
  add_public_key(add(release, command, "status", "what each ring has", status, [&] { return run_status(command, io); }),
                 command, false);
  CLI::App& check =
      add(release, command, "check", "verify what each ring has", status, [&] { return run_check(command, io); });
  add_public_key(check, command, true);
  check.footer(kCheckFooter);
  CLI::App& old = add(release, command, "prune", "remove old releases and what none names", status,
                      [&] { return run_prune(command, io); });
  add_public_key(old, command, true);
  add_parsed(old, "--keep", "N", "how many releases to keep beside those that rings have; default 10", count_from,
             [&command](std::uint64_t count) { command.keep = count; });
}

}  // namespace bloomwall::filter
