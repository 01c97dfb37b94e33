// bw_seen.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/random.h"
#include "base/units.h"
#include "filter/file/temp_file.h"
#include "filter/seen/key_text.h"
#include "filter/seen/seen_set.h"
#include "filter/seen/seen_size.h"
#include "include/bloomwall.h"
#include "library/failure.h"
#include "library/lines.h"

// Threads: `former` and the set's save() under `saving`; the rest by itself.
struct bw_seen {
  bloomwall::filter::SeenSet set;
  std::filesystem::path file;  // empty: none
  bloomwall::filter::FormerFile former;
  std::mutex saving;
};

namespace bloomwall::library {
namespace {

using filter::Added;
using filter::Errc;
using filter::Error;
using filter::FormerFile;
using filter::MadeFor;
using filter::Place;
using filter::Result;
using filter::SeenKey;
using filter::SeenSet;

int fail_use(const char* call, std::string what) { return fail({Errc::usage, call, std::move(what)}); }

filter::KeyText& texts_of_thread() {
  thread_local filter::KeyText texts;
  return texts;
}

Place place_of_text(const SeenSet& set, std::string_view text) {
  return set.place(texts_of_thread().of(set.key(), text).octets);
}

std::optional<SeenKey> key_of_kind(int kind) {
  if (kind == BW_URL) return SeenKey::url;
  if (kind == BW_HOST) return SeenKey::host;
  if (kind == BW_RAW) return SeenKey::line;
  return std::nullopt;
}

const char* kind_of(SeenKey key) {
  switch (key) {
    case SeenKey::line:
      return "BW_RAW";
    case SeenKey::url:
      return "BW_URL";
    case SeenKey::host:
      return "BW_HOST";
  }
  return "";
}

struct Wanted {
  SeenKey key;
  std::uint64_t keys;
  double error;
};

tl::unexpected<Error> misfit(const std::filesystem::path& file, std::string what) {
  return filter::unexpected(Error{Errc::usage, file.string(), std::move(what)});
}

std::string promise_text(const MadeFor& made_for) {
  return fmt::format("{} keys at an error of {}", format_count(made_for.keys), format_rate(made_for.error));
}

// What the set is to hold, from what its file says and what the caller wants.
Result<MadeFor> made_for_of(const SeenSet& set, const std::filesystem::path& file, const Wanted& wanted) {
  const MadeFor said = set.made_for();
  if (said.keys == 0) {
    const double error = wanted.error != 0 ? wanted.error : filter::kUsualSeenError;
    return MadeFor{.keys = wanted.keys != 0 ? wanted.keys : filter::seen_capacity(set.geometry(), error),
                   .error = error};
  }
  const MadeFor asked{.keys = wanted.keys != 0 ? wanted.keys : said.keys,
                      .error = wanted.error != 0 ? wanted.error : said.error};
  if (asked == said) return said;
  return misfit(file, fmt::format("was made for {}, not for {}: open it with 0 for both to go on with it, or name "
                                  "another file, in which everything is new",
                                  promise_text(said), promise_text(asked)));
}

Result<SeenSet> load(const std::filesystem::path& file, const Wanted& wanted) {
  auto set = SeenSet::load(file);
  if (!set) {
    Error error = std::move(set).error();
    error.what +=
        "; it cannot be gone on with: put a copy of it back, or name another file, in which everything is new";
    return filter::unexpected(std::move(error));
  }
  if (set->key() != wanted.key) {
    return misfit(file, fmt::format("is a set of the kind {}, not {}", kind_of(set->key()), kind_of(wanted.key)));
  }
  return set;
}

Result<SeenSet> create(const std::filesystem::path& file, const Wanted& wanted) {
  if (wanted.keys == 0) {
    return misfit(file, "there is no such set yet: say how many keys it is to hold");
  }
  const double error = wanted.error != 0 ? wanted.error : filter::kUsualSeenError;
  const filter::Geometry size = filter::least_seen_size(wanted.keys, error);
  if (size.pages == 0) {
    return filter::unexpected(Error{Errc::unmet_target, file.string(), "no size gives so small an error for so many"});
  }
  if (!file.empty()) {  // whether it can be saved is said now, not at the first save
    if (const auto trial = filter::TempFile::create(file); !trial) return filter::unexpected(trial.error());
  }
  return SeenSet::create({.geometry = size, .series_key = random_value<filter::SeriesKey>(), .key = wanted.key});
}

bw_seen* open(const std::filesystem::path& named, const Wanted& wanted) {
  // It stays where it is, wherever the process goes by chdir().
  const std::filesystem::path file = named.empty() ? named : std::filesystem::absolute(named);
  const auto refuse = [](const Error& error) {
    fail(error);
    return static_cast<bw_seen*>(nullptr);
  };
  const FormerFile former = file.empty() ? FormerFile() : FormerFile::of(file);
  auto set = former.stamp ? load(file, wanted) : create(file, wanted);
  if (!set) return refuse(set.error());
  const auto made_for = made_for_of(*set, file, wanted);
  if (!made_for) return refuse(made_for.error());
  if (const auto promised = set->promise(*made_for); !promised) {
    return refuse({promised.error().code, file.string(), promised.error().what});
  }
  return new bw_seen{.set = *std::move(set), .file = file, .former = former, .saving = {}};
}

int fail_full(const bw_seen& seen) {
  return fail(
      {Errc::limit, seen.file.string(),
       fmt::format("the set is full: it was made for {}; what is new goes into a larger one, which begins empty",
                   promise_text(seen.set.made_for()))});
}

unsigned char outcome_of(Added added) {
  switch (added) {
    case Added::fresh:
      return BW_NEW;
    case Added::seen:
      return BW_SEEN;
    case Added::full:
      return BW_FULL;
  }
  return BW_FULL;
}

// Adds texts as they come, some of them behind, so that their cache lines are there by then.
class Pipeline {
 public:
  Pipeline(SeenSet& set, unsigned char* outcomes) : set_(set), outcomes_(outcomes) {}
  void put(std::string_view text) {
    const Place place = place_of_text(set_, text);
    set_.prefetch(place);
    if (come_ - gone_ == kAhead) add_oldest();
    waiting_[come_++ % kAhead] = place;
  }
  // True: one of them was refused.
  bool finish() {
    while (gone_ != come_) add_oldest();
    return is_full_;
  }

 private:
  static constexpr std::size_t kAhead = 24;
  void add_oldest() {
    const Added added = set_.add(waiting_[gone_ % kAhead]);
    outcomes_[gone_++] = outcome_of(added);
    is_full_ = is_full_ || added == Added::full;
  }
  SeenSet& set_;
  unsigned char* outcomes_;
  std::array<Place, kAhead> waiting_{};
  std::size_t come_ = 0, gone_ = 0;
  bool is_full_ = false;
};

// A text that somebody changes meanwhile may have more or fewer lines than were counted: nothing is written beyond
// them, and what is left of them is called seen.
int add_lines(bw_seen& seen, std::string_view text, std::span<unsigned char> outcomes) {
  Pipeline pipeline(seen.set, outcomes.data());
  std::size_t come = 0;
  for_each_line(text, false, [&](std::string_view line) {
    if (come == outcomes.size()) return false;
    ++come;
    pipeline.put(line);
    return true;
  });
  const bool is_full = pipeline.finish();
  std::ranges::fill(outcomes.subspan(come), static_cast<unsigned char>(BW_SEEN));
  return is_full ? fail_full(seen) : 0;
}

int add_many(bw_seen& seen, std::size_t count, const char* const* texts, const std::size_t* lengths,
             unsigned char* outcomes) {
  Pipeline pipeline(seen.set, outcomes);
  for (std::size_t i = 0; i < count; ++i) {
    if (texts[i] == nullptr) return fail_use("bw_seen_add_many", "a text is NULL");
    pipeline.put({texts[i], lengths != nullptr ? lengths[i] : std::strlen(texts[i])});
  }
  return pipeline.finish() ? fail_full(seen) : 0;
}

int save(bw_seen& seen) {
  if (seen.file.empty()) return fail_use("bw_seen_save", "the set has no file: bw_seen_open() was called without one");
  const std::scoped_lock lock(seen.saving);
  const auto saved = seen.set.save(seen.file, seen.former, "libbloomwall " BLOOMWALL_VERSION);
  return saved ? 0 : fail(saved.error());
}

constexpr const char* kSetIsNull = "the set is NULL";
constexpr const char* kTextIsNull = "the text is NULL";

std::string_view view_of(const char* text, std::size_t length) {
  return text == nullptr ? std::string_view() : std::string_view(text, length);
}

}  // namespace
}  // namespace bloomwall::library

using bloomwall::library::fail_use;
using bloomwall::library::guarded;

extern "C" {

bw_seen* bw_seen_open(const char* file, int kind, unsigned long long keys, double error) {
  const auto none = [](int) { return static_cast<bw_seen*>(nullptr); };
  return guarded(
      [&] {
        const auto key = bloomwall::library::key_of_kind(kind);
        if (!key) return none(fail_use("bw_seen_open", "the kind is none of BW_URL, BW_HOST, BW_RAW"));
        if (file != nullptr && *file == '\0') return none(fail_use("bw_seen_open", "the name of the file is empty"));
        const bool is_rate = error == 0 || (error > 0 && error < 1);
        if (!is_rate) return none(fail_use("bw_seen_open", "the error must be between 0 and 1"));
        return bloomwall::library::open(file == nullptr ? "" : file, {.key = *key, .keys = keys, .error = error});
      },
      none);
}

void bw_seen_free(bw_seen* seen) { delete seen; }

int bw_seen_add(bw_seen* seen, const char* text, size_t length) {
  return guarded([&] {
    if (seen == nullptr) return fail_use("bw_seen_add", bloomwall::library::kSetIsNull);
    if (text == nullptr && length != 0) return fail_use("bw_seen_add", bloomwall::library::kTextIsNull);
    const auto place = bloomwall::library::place_of_text(seen->set, bloomwall::library::view_of(text, length));
    const int outcome = bloomwall::library::outcome_of(seen->set.add(place));
    return outcome == BW_FULL ? bloomwall::library::fail_full(*seen) : outcome;
  });
}

int bw_seen_has(const bw_seen* seen, const char* text, size_t length) {
  return guarded([&]() -> int {
    if (seen == nullptr) return fail_use("bw_seen_has", bloomwall::library::kSetIsNull);
    if (text == nullptr && length != 0) return fail_use("bw_seen_has", bloomwall::library::kTextIsNull);
    const auto place = bloomwall::library::place_of_text(seen->set, bloomwall::library::view_of(text, length));
    return seen->set.holds(place) ? BW_SEEN : BW_NEW;
  });
}

int bw_seen_add_many(bw_seen* seen, size_t count, const char* const* texts, const size_t* lengths,
                     unsigned char* outcomes) {
  return guarded([&] {
    if (seen == nullptr) return fail_use("bw_seen_add_many", bloomwall::library::kSetIsNull);
    if (count != 0 && (texts == nullptr || outcomes == nullptr)) {
      return fail_use("bw_seen_add_many", "texts and outcomes must not be NULL");
    }
    return bloomwall::library::add_many(*seen, count, texts, lengths, outcomes);
  });
}

int bw_seen_add_lines(bw_seen* seen, const char* text, size_t length, unsigned char* outcomes, size_t capacity,
                      size_t* lines) {
  return guarded([&] {
    if (seen == nullptr) return fail_use("bw_seen_add_lines", bloomwall::library::kSetIsNull);
    if (lines == nullptr || (text == nullptr && length != 0)) {
      return fail_use("bw_seen_add_lines", "text and lines must not be NULL");
    }
    const std::string_view all = bloomwall::library::view_of(text, length);
    *lines = bloomwall::library::count_lines(all);
    if (*lines > capacity || (outcomes == nullptr && *lines != 0)) {
      return fail_use("bw_seen_add_lines", "there is less room for outcomes than there are lines");
    }
    return bloomwall::library::add_lines(*seen, all, {outcomes, *lines});
  });
}

int bw_seen_save(bw_seen* seen) {
  return guarded([&] {
    if (seen == nullptr) return fail_use("bw_seen_save", bloomwall::library::kSetIsNull);
    return bloomwall::library::save(*seen);
  });
}

unsigned long long bw_seen_count(const bw_seen* seen) { return seen == nullptr ? 0 : seen->set.counts().keys; }

unsigned long long bw_seen_capacity(const bw_seen* seen) { return seen == nullptr ? 0 : seen->set.made_for().keys; }

unsigned long long bw_seen_bytes(const bw_seen* seen) { return seen == nullptr ? 0 : seen->set.geometry().bytes(); }

double bw_seen_error(const bw_seen* seen) { return seen == nullptr ? 0 : seen->set.made_for().error; }

double bw_seen_error_now(const bw_seen* seen) {
  const auto none = [](int) { return 0.0; };
  return guarded(
      [&] {
        return seen == nullptr ? 0.0 : bloomwall::filter::seen_error(seen->set.geometry(), seen->set.counts().keys);
      },
      none);
}
}
