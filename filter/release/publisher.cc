// SPDX-License-Identifier: Apache-2.0
#include "filter/release/publisher.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <system_error>
#include <utility>

#include "base/encoding.h"
#include "base/text.h"
#include "base/units.h"
#include "filter/file/filter_file.h"
#include "filter/file/leaves.h"
#include "filter/file/temp_file.h"
#include "filter/policy/delta_signature.h"
#include "filter/policy/entry_text.h"
#include "filter/policy/list_exceptions.h"
#include "filter/update/update_delta.h"

namespace bloomwall::filter {
namespace {

namespace fs = std::filesystem;

tl::unexpected<Error> refused(Errc code, std::string where, std::string what) {
  return unexpected(Error{code, std::move(where), std::move(what)});
}

// A file for one step, which goes whatever becomes of the step. It has a name that no origin needs.
class StepFile {
 public:
  explicit StepFile(fs::path path) : path_(std::move(path)) { remove(); }
  ~StepFile() { remove(); }
  StepFile(const StepFile&) = delete;
  StepFile& operator=(const StepFile&) = delete;
  const fs::path& path() const { return path_; }

 private:
  void remove() const {
    std::error_code ignored;
    fs::remove(path_, ignored);
    fs::remove(exceptions_file_of_delta(path_), ignored);
  }
  fs::path path_;
};

// One change of the folder: what it has now, and what comes next.
class Run {
 public:
  explicit Run(const ReleaseTarget& target) : target_(target), folder_(target.folder), open_(opener_of(target.keys)) {}

  // To be called first.
  Result<void> read_rings() {
    const auto names = folder_.rings();
    if (!names) return unexpected(names.error());
    const auto numbers = folder_.releases();
    if (!numbers) return unexpected(numbers.error());
    next_ = numbers->empty() ? 1 : numbers->back() + 1;
    for (const std::string& name : *names) {
      auto ring = folder_.ring(name, open_);
      if (!ring) return unexpected(ring.error());
      next_ = std::max(next_, ring->release + 1);
      rings_.emplace(name, *std::move(ring));
    }
    if (next_ > kMostReleases) return refused(Errc::limit, "releases", "there are no numbers left");
    return {};
  }

  const std::map<std::string, RingText>& rings() const { return rings_; }
  Result<ReleaseText> release(std::uint64_t number) const { return folder_.release(number, open_); }
  // What this ring has, or every ring where that is newer.
  Result<ReleaseText> before(const std::string& ring) const {
    std::uint64_t number = 0;
    for (const std::string& name : {ring, std::string(kEveryRing)}) {
      if (const auto at = rings_.find(name); at != rings_.end()) number = std::max(number, at->second.release);
    }
    if (number == 0) return refused(Errc::usage, ring, "the ring has nothing yet: publish a filter with --base");
    return release(number);
  }
  Result<std::vector<std::string>> rings_named(const std::vector<std::string>& names) const {
    std::vector<std::string> out = names;
    if (names.empty()) {
      for (const auto& [name, ring] : rings_) out.push_back(name);
    }
    if (out.empty()) return refused(Errc::usage, folder_.filter(), "has no ring yet: publish a filter with --base");
    return out;
  }

  FilterFiles files_of(const ReleaseText& release) const {
    return {.file = folder_.path_of(release.base.file),
            .delta = release.delta ? folder_.path_of(release.delta->file) : fs::path(),
            .exact = release.exact ? folder_.path_of(release.exact->file) : fs::path()};
  }

  // Under the next number. `text` without number and time.
  Result<std::uint64_t> write(ReleaseText release) {
    release.filter = folder_.filter();
    release.release = next_;
    release.created = target_.now;
    const std::string text = text_of(release);
    if (auto ok = parse_release(text, "release"); !ok) return unexpected(ok.error());  // never what gateways refuse
    auto written = folder_.write_release(next_, sign_text(text, kReleaseDomain, target_.keys));
    if (!written) return unexpected(written.error());
    report_.releases.push_back(std::move(release));
    return next_++;
  }

  Result<void> put(const std::string& name, std::uint64_t release) {
    const auto at = rings_.find(name);
    RingText ring{.filter = folder_.filter(),
                  .ring = name,
                  .release = release,
                  .sequence = at == rings_.end() ? 1 : at->second.sequence + 1,
                  .created = target_.now,
                  .valid_until = target_.now + target_.valid_for};
    const std::string text = text_of(ring);
    if (auto ok = parse_ring(text, "ring"); !ok) return unexpected(ok.error());
    auto written = folder_.write_ring(name, sign_text(text, kRingDomain, target_.keys));
    if (!written) return unexpected(written.error());
    report_.rings.push_back({.ring = name, .release = release, .sequence = ring.sequence});
    return {};
  }

  std::uint64_t next() const { return next_; }
  const ReleaseTarget& target() const { return target_; }
  PublishReport& report() { return report_; }

 private:
  const ReleaseTarget& target_;
  const OriginFolder& folder_;
  TextOpener open_;
  std::map<std::string, RingText> rings_;
  std::uint64_t next_ = 1;
  PublishReport report_;
};

// A comment behind the first line.
std::string with_comment(std::string_view delta, std::string_view comment) {
  const std::size_t end = std::min(delta.find('\n'), delta.size() - 1) + 1;
  std::string out(delta.substr(0, end));
  for (const char c : fmt::format("# {}", comment)) out += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  return out.append("\n").append(delta.substr(end));
}

// What update_delta() makes of the delta of `former`, for the base of `next`. Nothing: the lists change nothing.
Result<std::optional<DeltaPart>> make_delta(Run& run, const Publication& publication, const ReleaseText& former,
                                            const FilePart& base) {
  const OriginFolder& folder = run.target().folder;
  const bool is_carried = former.base.content != base.content;
  const fs::path place = folder.path_of(fmt::format("deltas/{}", to_hex(base.content)));
  std::error_code error;
  fs::create_directories(place, error);
  if (error) return refused(Errc::io, place.string(), "cannot be made: " + error.message());
  const StepFile work(place / kWorkFile);
  if (former.delta) {
    const fs::path from = folder.path_of(former.delta->file);
    const auto text = read_entry_text(from);
    if (!text) return unexpected(text.error());
    if (sha256(std::as_bytes(std::span(*text))) != former.delta->sha256) {
      return refused(Errc::bad_digest, from.string(), "is not what its release says");
    }
    if (auto ok = replace_file(work.path(), *text); !ok) return unexpected(ok.error());
  }
  DeltaUpdateReport report;
  const auto errors = update_delta({.filter = folder.path_of(base.file),
                                    .delta = work.path(),
                                    .lists = publication.lists,
                                    .rebase = is_carried,
                                    .key = &run.target().keys.front(),
                                    .take_unsigned = true},  // its digest stands in a release that is signed
                                   report);
  if (!errors.empty()) return unexpected(errors.front());
  auto& notes = run.report().notes;
  if (report.exceptions_unsigned != 0) {
    notes.push_back(fmt::format("{} exceptions of the lists left out: nobody signs them",
                                format_count(report.exceptions_unsigned)));
  }
  if (report.not_there != 0) {
    notes.push_back(fmt::format("{} removals of what is not in the filter left out", format_count(report.not_there)));
  }
  if (!is_carried && report.changed == 0) return std::nullopt;
  if (publication.urgent_why && report.changed > kMostUrgent) {
    return refused(Errc::limit, "urgent",
                   fmt::format("{} additions, of at most {}; without --urgent they go to a ring first",
                               format_count(report.changed), format_count(kMostUrgent)));
  }
  auto text = read_entry_text(work.path());
  if (!text) return unexpected(text.error());
  std::string unsigned_text(split_signatures(*text, "delta").value().text);
  if (publication.urgent_why) {
    unsigned_text = with_comment(unsigned_text, fmt::format("release {}: {}", run.next(), *publication.urgent_why));
  }
  for (const SigningKey& key : run.target().keys) {
    auto made = sign_delta(unsigned_text, "delta", key);
    if (!made) return unexpected(made.error());
    unsigned_text = *std::move(made);
  }
  auto part = folder.add_delta(base.content, run.next(), unsigned_text, report.added + report.removed);
  if (!part) return unexpected(part.error());
  return *std::move(part);
}

Result<FileId> series_of(const OriginFolder& folder, const FilePart& base) {
  const auto file = FilterFile::open(folder.path_of(base.file));
  if (!file) return unexpected(file.error());
  return (*file)->header().series_id;
}

Result<ReleaseText> new_base(Run& run, const Publication& publication) {
  const OriginFolder& folder = run.target().folder;
  auto base = folder.add_base(publication.base, publication.progress);
  if (!base) return unexpected(base.error());
  const auto series = series_of(folder, *base);
  if (!series) return unexpected(series.error());
  ReleaseText next{.filter = {}, .series = *series, .base = *std::move(base)};
  if (!publication.exact.empty()) {
    auto exact = folder.add_exact(publication.exact, next.base, publication.progress);
    if (!exact) return unexpected(exact.error());
    next.exact = *std::move(exact);
  }
  std::error_code ignored;
  if (fs::exists(exceptions_file(publication.base, next.base.content), ignored)) {
    run.report().notes.emplace_back(
        "what its lists except is not part of a release, since nobody signs it; build with --allow-out for a file for "
        "allow_lists");
  }
  const auto former = run.before(publication.ring);
  if (!former) {
    if (former.error().code == Errc::usage) return next;  // the first one
    return unexpected(former.error());
  }
  if (!former->delta || former->delta->changes == 0) return next;
  if (former->base.content == next.base.content) {
    next.delta = former->delta;
  } else if (publication.carry) {
    auto delta = make_delta(run, publication, *former, next.base);
    if (!delta) return unexpected(delta.error());
    next.delta = *std::move(delta);
  } else {
    run.report().notes.push_back(
        fmt::format("the delta of release {} ({} changes) ends with its filter; --carry keeps what it adds",
                    former->release, format_count(former->delta->changes)));
  }
  return next;
}

Result<void> ask_guards(Run& run, const Publication& publication, const ReleaseText& next) {
  std::optional<FilterFiles> last;
  ReleaseGuards guards = publication.guards;
  const auto every = run.rings().find(kEveryRing);
  if (publication.urgent_why) {
    guards.most_error = 1;
    guards.must_block.clear();
  } else if (every != run.rings().end()) {
    const auto release = run.release(every->second.release);
    if (!release) return unexpected(release.error());
    last = run.files_of(*release);
  }
  const auto refusal = refusal_of(guards, run.files_of(next), last ? &*last : nullptr);
  if (!refusal) return unexpected(refusal.error());
  if (*refusal) return refused(Errc::limit, (*refusal)->guard, (*refusal)->what);
  return {};
}

// What is not going to be published goes again.
void forget(const OriginFolder& folder, const std::optional<DeltaPart>& delta, std::uint64_t release) {
  if (delta && delta->to == release) (void)folder.remove(delta->file);
}

Result<void> add_to(Run& run, const Publication& publication, const ReleaseText& former,
                    const std::vector<std::string>& rings) {
  auto delta = make_delta(run, publication, former, former.base);
  if (!delta) return unexpected(delta.error());
  if (!*delta) {
    run.report().notes.push_back(fmt::format("release {} says that already: nothing was published", former.release));
    return {};
  }
  ReleaseText next = former;
  next.delta = *std::move(delta);
  if (auto ok = ask_guards(run, publication, next); !ok) {
    forget(run.target().folder, next.delta, run.next());
    return ok;
  }
  const auto number = run.write(std::move(next));
  if (!number) return unexpected(number.error());
  for (const std::string& ring : rings) {
    if (auto ok = run.put(ring, *number); !ok) return ok;
  }
  return {};
}

Result<void> publish_urgently(Run& run, const Publication& publication) {
  if (run.rings().empty()) return refused(Errc::usage, "urgent", "there is no ring yet: publish a filter with --base");
  std::map<std::uint64_t, std::vector<std::string>> by_release;
  for (const auto& [name, ring] : run.rings()) by_release[ring.release].push_back(name);
  for (const auto& [number, rings] : by_release) {
    const auto former = run.release(number);
    if (!former) return unexpected(former.error());
    if (auto ok = add_to(run, publication, *former, rings); !ok) return ok;
  }
  return {};
}

Result<void> publish_base(Run& run, const Publication& publication) {
  auto next = new_base(run, publication);
  if (!next) return unexpected(next.error());
  if (auto ok = ask_guards(run, publication, *next); !ok) {
    forget(run.target().folder, next->delta, run.next());
    return ok;
  }
  const auto number = run.write(*std::move(next));
  if (!number) return unexpected(number.error());
  return run.put(publication.ring, *number);
}

Result<void> check_publication(const Publication& publication) {
  const bool has_lists = !publication.lists.add.empty() || !publication.lists.remove.empty();
  const auto wrong = [](const char* what) { return refused(Errc::usage, {}, what); };
  if (!is_release_name(publication.ring)) return wrong("the ring's name: letters, digits, '.', '-', '_'");
  if (publication.base.empty() == !has_lists) return wrong("publish either --base, or lists with --add and --remove");
  if (publication.base.empty() && !publication.exact.empty()) return wrong("--exact-side goes with --base");
  if (publication.base.empty() && publication.carry) return wrong("--carry goes with --base");
  if (!publication.urgent_why) return has_lists ? check_change_lists(publication.lists) : Result<void>{};
  if (publication.urgent_why->empty()) return wrong("--urgent needs --why, which says why");
  if (!publication.base.empty() || !publication.lists.remove.empty()) return wrong("--urgent adds, with --add alone");
  return check_change_lists(publication.lists);
}

}  // namespace

Result<PublishReport> publish(const ReleaseTarget& target, const Publication& publication) {
  if (auto ok = check_publication(publication); !ok) return unexpected(ok.error());
  Run run(target);
  if (auto ok = run.read_rings(); !ok) return unexpected(ok.error());
  Result<void> done;
  if (publication.urgent_why) {
    done = publish_urgently(run, publication);
  } else if (!publication.base.empty()) {
    done = publish_base(run, publication);
  } else {
    const auto former = run.before(publication.ring);
    if (!former) return unexpected(former.error());
    done = add_to(run, publication, *former, {publication.ring});
  }
  if (!done) return unexpected(done.error());
  return std::move(run.report());
}

Result<PublishReport> reissue(const ReleaseTarget& target, std::uint64_t release,
                              const std::vector<std::string>& rings) {
  Run run(target);
  if (auto ok = run.read_rings(); !ok) return unexpected(ok.error());
  const auto names = run.rings_named(rings);
  if (!names) return unexpected(names.error());
  auto text = run.release(release);
  if (!text) return unexpected(text.error());
  if (auto ok = target.folder.check_parts(*text, false); !ok) return unexpected(ok.error());
  const auto number = run.write(*std::move(text));
  if (!number) return unexpected(number.error());
  for (const std::string& name : *names) {
    if (auto ok = run.put(name, *number); !ok) return unexpected(ok.error());
  }
  return std::move(run.report());
}

Result<PublishReport> renew(const ReleaseTarget& target, const std::vector<std::string>& rings) {
  Run run(target);
  if (auto ok = run.read_rings(); !ok) return unexpected(ok.error());
  const auto names = run.rings_named(rings);
  if (!names) return unexpected(names.error());
  for (const std::string& name : *names) {
    if (!run.rings().contains(name)) return refused(Errc::usage, name, "there is no such ring");
  }
  for (const std::string& name : *names) {
    if (auto ok = run.put(name, run.rings().at(name).release); !ok) return unexpected(ok.error());
  }
  return std::move(run.report());
}

}  // namespace bloomwall::filter
