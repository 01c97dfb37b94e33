// SPDX-License-Identifier: Apache-2.0
#include "proxy/update/filter_update.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/encoding.h"
#include "base/figures.h"
#include "base/units.h"
#include "filter/builder/builder.h"
#include "filter/builder/exact_writer.h"
#include "filter/file/header.h"
#include "filter/lists/list_archive.h"
#include "filter/lists/list_input.h"
#include "filter/lists/list_reader.h"
#include "proxy/update/candidate.h"
#include "proxy/update/file_check.h"
#include "proxy/update/list_copies.h"
#include "proxy/update/source_reading.h"

namespace bloomwall::proxy {
namespace {

std::string change_text(std::uint64_t before, std::uint64_t now) {
  std::string entries = count_text(now, "entry", "entries");
  if (before == 0) return entries;
  const bool more = now >= before;
  return fmt::format("{} ({}{})", entries, more ? "+" : "-", format_count(more ? now - before : before - now));
}

// SHA-256, hexadecimal, of what is stored; empty where it cannot be read.
std::string digest_of(filter::Result<filter::ListInput> input) {
  while (input) {
    const auto piece = input->next();
    if (!piece) break;
    if (piece->empty()) return to_hex(input->stored_digest());
  }
  return {};
}

class FilterUpdate {
 public:
  FilterUpdate(const FilterUpdateOptions& options, ListCopies copies, ListFilterState& state)
      : options_(options),
        filter_(options.filter),
        copies_(std::move(copies)),
        guards_(filter_.guards),
        before_(state),
        state_(state) {
    if (!stops_requests(filter_)) guards_.must_pass.clear();
  }

  FilterOutcome run() {
    const auto begin = std::chrono::steady_clock::now();
    take_sources();
    for (std::size_t i = 0; i < filter_.sources.size(); ++i) {
      if (wants(i)) ask(i);
    }
    if (must_build() && has_whole_copies()) {
      build_file();
    } else {
      take_candidates();
    }
    clean_up();
    state_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return outcome_;
  }

 private:
  void say(const std::string& line) const { options_.say(fmt::format("{}: {}", filter_.name, line)); }

  // The state of each source, in the order of the configuration; of those that are gone nothing.
  void take_sources() {
    std::vector<SourceState> sources;
    for (const conf::Source& source : filter_.sources) {
      SourceState* const known = state_.find(source.url);
      sources.push_back(known == nullptr ? SourceState{.url = source.url} : *known);
    }
    state_.sources = std::move(sources);
    candidates_.resize(filter_.sources.size());
    for (const conf::Source& source : filter_.sources) readings_.push_back(reading_of(source, filter_.action));
    for (std::size_t i = 0; i < readings_.size(); ++i) {
      SourceState& source = state_.sources[i];
      if (copies_.has(source.copy) && source.read_as != text_of_reading(readings_[i]))
        read_again(ask_options(i), source);
    }
  }

  // Its last good copy was there, and was removed.
  bool is_lost(std::size_t i) const {
    const SourceState& source = state_.sources[i];
    return !candidates_[i] && !source.copy.empty() && !copies_.has(source.copy);
  }

  bool wants(std::size_t i) const {
    const SourceState& source = state_.sources[i];
    const Seconds now = options_.now();
    if (options_.force) return true;
    if (!may_ask(source, now)) return false;
    const bool was_good = source.result == FetchResult::updated || source.result == FetchResult::unchanged;
    if (is_lost(i) && was_good) return true;
    const auto every = std::chrono::duration_cast<std::chrono::seconds>(filter_.sources[i].every).count();
    const bool is_file = !conf::is_fetched(filter_.sources[i]);
    return options_.at_once || is_file || is_due(source, every, now);
  }

  AskOptions ask_options(std::size_t i) const {
    return {.source = filter_.sources[i],
            .guards = guards_,
            .read = readings_[i],
            .way = options_.way,
            .shared = options_.shared,
            .archives = options_.archives,
            .copies = copies_,
            .timeout = options_.update.timeout,
            .force = options_.force,
            .now = options_.now(),
            .stop = options_.stop};
  }

  void ask(std::size_t i) {
    SourceState& source = state_.sources[i];
    candidates_[i] = ask_for_list(ask_options(i), source);
    if (candidates_[i]) {
      const Candidate& taken = *candidates_[i];
      say(fmt::format("{}: fetched, {}{}{}", source.url, change_text(source.entries, taken.scan.entries),
                      taken.scan.loss.empty() ? "" : "; " + taken.scan.loss,
                      taken.overruled.empty() ? "" : fmt::format("; taken in spite of guards.{}", taken.overruled)));
      if (!taken.overruled.empty()) note_force();
      return;
    }
    count(source);
    if (source.result == FetchResult::unchanged) return say(fmt::format("{}: unchanged", source.url));
    outcome_.is_bad = true;
    say(fmt::format(
        "{}: {}{}: {}; {}", source.url, to_string(source.result),
        source.guard.empty() ? "" : fmt::format(" ({})", source.guard), source.message,
        source.copy.empty() ? "there is no good copy yet"
        : is_lost(i)        ? "its last good copy is gone"
                     : fmt::format("the copy of {} is kept", format_time(static_cast<std::uint64_t>(source.changed)))));
  }

  static void count(SourceState& source) {
    const auto at = std::ranges::find(kFetchResults, source.result);
    if (at != kFetchResults.end()) ++source.counts[static_cast<std::size_t>(at - kFetchResults.begin())];
  }
  void note_force() {
    state_.forced = options_.now();
    state_.forced_by = options_.forced_by;
  }

  // Names of the copies that the file is to be made of, one a source; empty where there is none.
  std::string copy_of(std::size_t i) const {
    if (candidates_[i]) return candidates_[i]->copy;
    return is_lost(i) ? std::string() : state_.sources[i].copy;
  }
  std::vector<std::string> lists() const {
    std::vector<std::string> out;
    for (std::size_t i = 0; i < filter_.sources.size(); ++i) {
      if (const std::string copy = copy_of(i); !copy.empty()) out.push_back(copy);
    }
    return out;
  }
  std::vector<std::string> known_good() const {
    std::vector<std::string> out;
    for (const auto& list : filter_.build.known_good) out.push_back(list.string());
    std::error_code ignored;
    const bool has_more =
        stops_requests(filter_) && std::filesystem::file_size(options_.known_good, ignored) > 0 && !ignored;
    if (has_more) out.push_back(options_.known_good.string());
    return out;
  }
  // What a build depends on besides the lists; where it changes there is one.
  std::string settings_text() const {
    std::string out = fmt::format("fpr {}", filter_.build.fpr);
    if (filter_.build.exact_side) out += ", exact side";
    if (filter_.build.query_spellings) out += ", query spellings";
    for (const std::string& list : known_good())
      out += fmt::format(", {} {}", list, digest_of(filter::ListInput::open(list)));
    for (const filter::ReadOptions& reading : readings_) out += ", " + text_of_reading(reading);
    return digest_of(filter::ListInput::of_memory(out, "settings"));
  }
  bool has_files() const {
    std::error_code ignored;
    const auto is_there = [&](const std::filesystem::path& file) { return std::filesystem::exists(file, ignored); };
    return is_there(filter_.file) && (!filter_.build.exact_side || is_there(filter::exact_side_of(filter_.file)));
  }

  bool must_build() {
    const std::vector<std::string> wanted = lists();
    made_with_ = settings_text();
    std::error_code ignored;
    const bool is_there = std::filesystem::exists(filter_.file, ignored);
    if (has_files() && wanted == state_.made_of && state_.made_with == made_with_) {
      state_.result = BuildResult::unchanged;
      state_.guard.clear();
      state_.message.clear();
      return false;
    }
    if (wanted.empty()) return fail("no list of it could be fetched yet");
    // The file that is there may hold what cannot be fetched now.
    if (is_there && state_.built == 0 && wanted.size() < filter_.sources.size()) {
      return fail("the file that is there is kept until each of its lists was fetched once");
    }
    return true;
  }

  // Whether every list of the filter is there as it was fetched. What is not is fetched again, since its server would
  // say for ever that nothing has changed; until then the file that holds it is kept.
  bool has_whole_copies() {
    for (std::size_t i = 0; i < filter_.sources.size(); ++i) {
      const SourceState& source = state_.sources[i];
      if (candidates_[i] || !copies_.has(source.copy) || copies_.is_whole(source.copy, source.sha256)) continue;
      say(fmt::format("{}: its last good copy is damaged", source.url));
      copies_.remove(source.copy);
      if (may_ask(source, options_.now())) ask(i);
    }
    std::error_code ignored;
    if (!std::filesystem::exists(filter_.file, ignored)) return true;
    for (std::size_t i = 0; i < filter_.sources.size(); ++i) {
      if (!is_lost(i)) continue;
      return fail(fmt::format("the file that is there is kept until {} was fetched again", state_.sources[i].url));
    }
    return true;
  }
  bool fail(const std::string& why) {
    state_.result = BuildResult::failed;
    state_.guard.clear();
    state_.message = why;
    outcome_.is_bad = true;
    say("not built: " + why);
    return false;
  }

  // What the archive of a source holds; null where it is none, or where the build may say why it cannot be opened.
  std::shared_ptr<const filter::ListTree> unpacked(std::size_t i, const std::string& path) const {
    const std::string& sha256 = candidates_[i] ? candidates_[i]->scan.sha256 : state_.sources[i].sha256;
    const auto known = options_.archives.find(sha256);
    if (known.tree != nullptr || !options_.shared.is_shared(filter_.sources[i].url)) return known.tree;
    const auto tree = filter::open_archive(path);
    if (!tree || *tree == nullptr) return nullptr;
    options_.archives.keep(sha256, {.tree = *tree, .bytes = (*tree)->unpacked_bytes(), .is_shared = true});
    return *tree;
  }

  filter::BuildOptions build_options(std::optional<Refusal>& refusal) {
    filter::BuildOptions options;
    options.output = filter_.file;
    options.target.fpr = filter_.build.fpr;
    options.exact_side = filter_.build.exact_side;
    options.query_spellings = filter_.build.query_spellings;
    options.known_good = known_good();
    // The proxy beside it keeps the other processors, and the caches of its own.
    options.threads = std::max(1U, std::thread::hardware_concurrency() / 2);
    options.allow_unsupported = true;  // the guards have decided about that
    options.stop = options_.stop;
    for (std::size_t i = 0; i < filter_.sources.size(); ++i) {
      const std::string copy = copy_of(i);
      if (copy.empty()) continue;
      const std::string path = copies_.path_of(copy).string();
      options.lists.push_back(path);
      options.read_of[path] = readings_[i];
      options.read_of[path].unpacked = unpacked(i, path);
    }
    options.check = [this, &refusal](const filter::BuildOptions::Made& made) -> filter::Result<void> {
      const FileCheck check{
          .filter = filter_, .guards = guards_, .update = options_.update, .other_error = options_.other_error};
      auto found = check_file(check, made);
      if (!found) return filter::unexpected(std::move(found).error());
      if (!*found) return {};
      if (options_.force) {
        say(fmt::format("taken in spite of guards.{}: {}", (*found)->guard, (*found)->what));
        note_force();
        return {};
      }
      refusal = **found;
      return filter::unexpected(filter::Error{filter::Errc::untrusted, {}, refusal->what});
    };
    return options;
  }

  // Where the process dies with the file replaced, the state would be that of the file before: the next run has to
  // build, and to tell the proxy.
  void note_build() const {
    ListFilterState begun = before_;
    begun.made_with.clear();
    begun.is_untold = true;
    options_.note_build(begun);
  }

  void build_file() {
    std::error_code ignored;  // the builder says why it cannot write there
    std::filesystem::create_directories(filter_.file.parent_path(), ignored);
    note_build();
    std::optional<Refusal> refusal;
    filter::BuildReport report;
    state_.attempted = options_.now();
    const auto built = filter::build(build_options(refusal), report);
    if (!built)
      return not_built(refusal ? *refusal : Refusal{"", in_keys_of_sources(built.error().text())}, refusal.has_value());
    const std::uint64_t before = state_.entries;
    state_.result = BuildResult::built;
    state_.guard.clear();
    state_.message.clear();
    state_.built = options_.now();
    state_.entries = report.summary.total();
    state_.exceptions = report.exceptions;
    state_.bytes = report.header.file_bytes;
    state_.sequence = report.header.sequence;
    state_.made_of = lists();
    state_.made_with = made_with_;
    state_.is_untold = true;
    take_candidates();
    outcome_.is_built = true;
    std::string notes;  // what became of the exceptions of lists, in the words of `build`
    for (const std::string& note : report.notes) notes.append("; ").append(note);
    say(fmt::format("built, {}, {}{}", change_text(before, state_.entries), format_bytes(state_.bytes), notes));
  }

  // Where nothing is built, too: they passed the guards, and the next build needs them.
  void take_candidates() {
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      if (!candidates_[i]) continue;
      accept(*candidates_[i], options_.now(), state_.sources[i]);
      count(state_.sources[i]);
    }
  }

  // The lists that were new in it are not taken, whichever of them is to blame.
  void not_built(const Refusal& why, bool is_refused) {
    state_.result = is_refused ? BuildResult::refused : BuildResult::failed;
    state_.guard = why.guard;
    state_.message = why.what;
    outcome_.is_bad = true;
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      if (!candidates_[i]) continue;
      if (is_refused) {
        refuse(why, ask_options(i), state_.sources[i]);
      } else {
        state_.sources[i].result = FetchResult::failed;
        state_.sources[i].message = "the filter could not be built";
        ++state_.sources[i].failures;
        set_due(state_.sources[i], {});
      }
      count(state_.sources[i]);
      candidates_[i].reset();
    }
    say(fmt::format("{}{}: {}; the file is not replaced", is_refused ? "refused" : "not built",
                    why.guard.empty() ? "" : fmt::format(" ({})", why.guard), why.what));
  }

  void clean_up() {
    options_.archives.end_filter();
    std::vector<std::string> kept = state_.made_of;
    for (const SourceState& source : state_.sources) kept.push_back(source.copy);
    copies_.remove_others(kept);
  }

  const FilterUpdateOptions& options_;
  const conf::Filter& filter_;
  const ListCopies copies_;
  conf::Guards guards_;
  const ListFilterState before_;
  ListFilterState& state_;
  std::vector<filter::ReadOptions> readings_;         // one a source
  std::string made_with_;                             // what the file is to be made with
  std::vector<std::optional<Candidate>> candidates_;  // one a source: what may take the place of its copy
  FilterOutcome outcome_;
};

}  // namespace

FilterOutcome update_filter(const FilterUpdateOptions& options, ListFilterState& state) {
  auto copies = ListCopies::open(copies_of(options.update.folder, options.filter.name));
  if (!copies) {
    state.result = BuildResult::failed;
    state.message = copies.error();
    options.say(fmt::format("{}: {}", options.filter.name, copies.error()));
    return {.is_bad = true};
  }
  return FilterUpdate(options, *std::move(copies), state).run();
}

}  // namespace bloomwall::proxy
