// SPDX-License-Identifier: Apache-2.0
#include "proxy/update/candidate.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/handles.h"
#include "proxy/update/source_reading.h"
#include "proxy/update/write_all.h"

namespace bloomwall::proxy {
namespace {

struct Arrived {
  Fetched fetched;
  std::int64_t retry_after = 0;
};

// What distinguishes versions of a file that is not a URL, instead of an ETag.
std::string stamp_of(const struct stat& status) {
  return fmt::format("{}-{}-{}.{:09}", status.st_ino, status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
}

tl::expected<Fetched, FetchFailure> copy_file(const AskOptions& options, const std::string& known, int into) {
  const auto fail = [&](const std::string& why) {
    return tl::unexpected(FetchFailure{.what = fmt::format("{}: {}", options.source.url, why)});
  };
  const UniqueFd from(::open(options.source.url.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status{};
  if (!from || ::fstat(from.get(), &status) != 0) return fail(std::generic_category().message(errno));
  if (!S_ISREG(status.st_mode)) return fail("is no file; a folder of lists goes into a tar archive");
  Fetched out{.etag = stamp_of(status)};
  if (out.etag == known) return Fetched{.is_unchanged = true};
  std::array<char, 65536> piece{};
  std::uint64_t total = 0;
  for (;;) {
    const ssize_t got = ::read(from.get(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(std::generic_category().message(errno));
    if (got == 0) break;
    total += static_cast<std::uint64_t>(got);
    if (total > options.guards.most_bytes) {
      return tl::unexpected(FetchFailure{
          .kind = FetchFailure::Kind::too_large,
          .what = fmt::format("larger than guards.most_bytes ({})", format_size(options.guards.most_bytes))});
    }
    if (!write_all(into, {piece.data(), static_cast<std::size_t>(got)})) {
      return fail("the copy cannot be written: " + std::generic_category().message(errno));
    }
  }
  if (::fstat(from.get(), &status) != 0 || stamp_of(status) != out.etag)
    return fail("it was changed while it was read");
  return out;
}

ScanOptions scan_options_of(const AskOptions& options) {
  return {.read = options.read,
          .most_bytes = options.guards.most_bytes,
          .must_pass = options.guards.must_pass,
          .archives = &options.archives,
          .is_shared = options.shared.is_shared(options.source.url),
          .stop = options.stop};
}

class Asking {
 public:
  Asking(const AskOptions& options, SourceState& state) : options_(options), state_(state) {}

  std::optional<Candidate> run() {
    state_.checked = options_.now;
    state_.guard.clear();
    state_.message.clear();
    auto file = options_.copies.fetched_file();
    if (!file) return fail({.what = file.error()});
    auto fetched = fetch_into(*file);
    if (!fetched) return fail(fetched.error());
    if (fetched->is_unchanged) return unchanged();
    auto scan = scan_list(file->path(), scan_options_of(options_));
    if (!scan && scan.error().kind == ScanFailure::Kind::stopped) return fail({.what = scan.error().what});
    if (!scan) return refused(refusal_of(scan.error()));
    if (options_.source.sha256 && *options_.source.sha256 != scan->sha256) {
      return refused({"sha256", fmt::format("its SHA-256 is {}", scan->sha256)});
    }
    if (scan->sha256 == state_.sha256 && options_.copies.has(state_.copy)) {
      state_.etag = fetched->etag;
      state_.last_modified = fetched->last_modified;
      state_.expires = scan->expires;
      return unchanged();
    }
    return judge(*file, *std::move(fetched), *std::move(scan));
  }

 private:
  // Whether it is enough to hear that nothing has changed: what was fetched before it was fixed may be another list.
  bool has_copy() const {
    const auto& fixed = options_.source.sha256;
    return options_.copies.has(state_.copy) && (!fixed || *fixed == state_.sha256);
  }
  tl::expected<Fetched, FetchFailure> fetch_into(const FetchedFile& file) const {
    if (!conf::is_fetched(options_.source))
      return copy_file(options_, has_copy() ? state_.etag : "", file.descriptor());
    FetchRequest request{.url = options_.source.url,
                         .allows_http = options_.source.sha256.has_value(),
                         .most_bytes = options_.guards.most_bytes,
                         .timeout = options_.timeout,
                         .stop = options_.stop};
    if (has_copy()) {
      request.etag = state_.etag;
      request.last_modified = state_.last_modified;
    }
    if (!options_.source.header_file.empty()) {
      auto line = read_secret_line(options_.source.header_file);
      if (!line) return tl::unexpected(FetchFailure{.what = "header_file: " + line.error()});
      request.secret_header = *std::move(line);
    }
    return options_.shared.fetch(request, options_.way, file.descriptor());
  }

  static Refusal refusal_of(const ScanFailure& failure) {
    return {failure.kind == ScanFailure::Kind::too_large ? "most_bytes" : "no_list", failure.what};
  }

  // Half a name is another name, and what was cut off is missing.
  static Refusal cut_in(std::uint64_t line) {
    return {"whole", fmt::format("its last line, {}, has no end, and its server gives neither a length nor another "
                                 "sign that all of it has come; was it cut?",
                                 line)};
  }

  std::optional<Candidate> judge(const FetchedFile& file, Fetched fetched, ListScan scan) {
    auto refusal = proxy::refusal_of(scan, state_, options_.guards);
    const bool may_be_cut = fetched.may_be_cut && !options_.source.sha256;
    if (!refusal && may_be_cut && scan.open_line > 0) refusal = cut_in(scan.open_line);
    if (refusal && (!options_.force || scan.entries == 0)) return refused(*refusal);
    auto copy = options_.copies.keep(file, options_.source.url, scan.sha256);
    if (!copy) return fail({.what = copy.error()});
    finish(FetchResult::updated, {.expires = scan.expires});
    return Candidate{.copy = *std::move(copy),
                     .scan = std::move(scan),
                     .read_as = text_of_reading(options_.read),
                     .etag = std::move(fetched.etag),
                     .last_modified = std::move(fetched.last_modified),
                     .overruled = refusal ? refusal->guard : ""};
  }

  std::optional<Candidate> fail(const FetchFailure& failure) {
    if (failure.kind == FetchFailure::Kind::too_large) return refused({"most_bytes", failure.what});
    state_.message = failure.what;
    ++state_.failures;
    return finish(FetchResult::failed, {.retry_after = failure.retry_after});
  }
  std::optional<Candidate> refused(const Refusal& refusal) {
    state_.guard = refusal.guard;
    state_.message = refusal.what;
    return finish(FetchResult::refused, {});
  }
  std::optional<Candidate> unchanged() { return finish(FetchResult::unchanged, {.expires = state_.expires}); }

  std::nullopt_t finish(FetchResult result, DueTimes times) {
    state_.result = result;
    if (result != FetchResult::failed) state_.failures = 0;
    if (result == FetchResult::unchanged) state_.succeeded = options_.now;
    times.every = std::chrono::duration_cast<std::chrono::seconds>(options_.source.every).count();
    set_due(state_, times);
    return std::nullopt;
  }

  const AskOptions& options_;
  SourceState& state_;
};

}  // namespace

std::optional<Candidate> ask_for_list(const AskOptions& options, SourceState& state) {
  return Asking(options, state).run();
}

void read_again(const AskOptions& options, SourceState& state) {
  const auto scan = scan_list(options.copies.path_of(state.copy), scan_options_of(options));
  state.entries = scan ? scan->entries : 0;
  state.rules = scan ? scan->rules : 0;
  state.unusable = scan ? scan->unusable : 0;
  state.loss = scan ? scan->loss : "";
  state.read_as = text_of_reading(options.read);
}

void accept(const Candidate& candidate, Seconds now, SourceState& state) {
  state.copy = candidate.copy;
  state.etag = candidate.etag;
  state.last_modified = candidate.last_modified;
  state.sha256 = candidate.scan.sha256;
  state.read_as = candidate.read_as;
  state.entries = candidate.scan.entries;
  state.rules = candidate.scan.rules;
  state.unusable = candidate.scan.unusable;
  state.loss = candidate.scan.loss;
  state.bytes = candidate.scan.bytes;
  state.expires = candidate.scan.expires;
  state.changed = now;
  state.succeeded = now;
}

void refuse(const Refusal& refusal, const AskOptions& options, SourceState& state) {
  state.result = FetchResult::refused;
  state.guard = refusal.guard;
  state.message = refusal.what;
  set_due(state, {.every = std::chrono::duration_cast<std::chrono::seconds>(options.source.every).count()});
}

}  // namespace bloomwall::proxy
