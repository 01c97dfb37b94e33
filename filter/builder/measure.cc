// SPDX-License-Identifier: Apache-2.0
#include "filter/builder/measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/units.h"
#include "filter/builder/draft_pages.h"

namespace bloomwall::filter {
namespace {

constexpr double kHitsWanted = 400;  // a standard deviation of 5 %
constexpr double kMostSamples = 4e6;

// splitmix64: a stream of well mixed numbers from any seed.
class Stream {
 public:
  explicit Stream(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  // Stands for the hash of something new: it is a listed one once in 2^128 / entries.
  Hash128 hash() {
    const std::uint64_t lo = next();
    return {.lo = lo, .hi = next()};
  }

 private:
  std::uint64_t state_;
};

unsigned whole(double questions) { return static_cast<unsigned>(std::lround(std::clamp(questions, 0.0, 1000.0))); }

// The questions of one request, by section.
struct Asked {
  unsigned hosts = 0, paths = 0, raw = 0;
  unsigned all() const { return hosts + paths + raw; }
};

Asked worst_request(const PageViews& pages, const PredictedErrors& p) {
  Asked out;
  if (!pages.hosts) {
    out.raw = 1;
    return out;
  }
  if (p.host_key > 0) out.hosts = whole(p.unlisted_host.p99 / p.host_key);
  if (pages.paths) out.paths = whole(p.listed_host.p99_questions - p.unlisted_host.p99_questions);
  return out;
}

struct Question {
  Hash128 key;  // the upper half orders keys as their pages lie
  std::uint32_t request;
};

// The requests of one batch: their questions to one section, in the order of its pages, and which of them test
// positive.
class Batch {
 public:
  explicit Batch(std::size_t requests) : hit_(requests) {}
  void ask(const SectionView& section, unsigned questions, Variant variant, Stream& stream) {
    if (questions == 0) return;
    questions_.clear();
    questions_.reserve(hit_.size() * questions);
    for (std::uint32_t request = 0; request < hit_.size(); ++request) {
      for (unsigned i = 0; i < questions; ++i) questions_.push_back({.key = stream.hash(), .request = request});
    }
    std::sort(questions_.begin(), questions_.end(),
              [](const Question& a, const Question& b) { return a.key.hi < b.key.hi; });
    for (const Question& q : questions_) {
      if (section.test(section.place(q.key), variant)) hit_[q.request] = 1;
    }
  }
  std::uint64_t hits() const { return static_cast<std::uint64_t>(std::count(hit_.begin(), hit_.end(), 1)); }

 private:
  std::vector<std::uint8_t> hit_;
  std::vector<Question> questions_;
};

}  // namespace

std::uint64_t usual_samples(const PredictedErrors& predicted) {
  const double error = worst_error(predicted);
  if (error <= 0 || kHitsWanted / error > kMostSamples) return 0;
  return static_cast<std::uint64_t>(std::ceil(kHitsWanted / error));
}

std::uint64_t samples_for(const std::optional<std::uint64_t>& asked, const FilterDraft& draft,
                          const PredictedErrors& predicted) {
  if (asked) return *asked;
  return draft.end_of_pages() <= kMostMeasuredBytes ? usual_samples(predicted) : 0;
}

std::string measured_text(const Header& header) {
  const MeasuredError& m = header.measured;
  if (m.samples > 0) {
    return fmt::format("{} ({} of {} requests)",
                       format_rate(static_cast<double>(m.hits) / static_cast<double>(m.samples)), format_count(m.hits),
                       format_count(m.samples));
  }
  if (usual_samples(header.predicted) > 0) return "not done (--measure N does it)";
  return "not done: it is so rare that --measure needs very many requests";
}

Result<MeasuredError> measure_error(const FilterDraft& draft, const PredictedErrors& predicted, std::uint64_t samples,
                                    const std::function<bool()>& stop) {
  constexpr std::uint64_t kQuestionsAtOnce = std::uint64_t{1} << 19;
  MeasuredError out;
  if (samples == 0) return out;
  const auto pages = DraftPages::map(draft);
  if (!pages) return unexpected(pages.error());
  const PageViews& views = pages->views();
  const Asked asked = worst_request(views, predicted);
  const std::uint64_t at_once = std::max<std::uint64_t>(1, kQuestionsAtOnce / std::max(1U, asked.all()));
  Stream stream(KeyMaker(draft.plan().header.series_key).seed());
  while (out.samples < samples && !(stop && stop())) {
    const std::uint64_t now = std::min(at_once, samples - out.samples);
    Batch batch(now);
    batch.ask(views.hosts, asked.hosts, kVariantSuffix, stream);
    batch.ask(views.paths, asked.paths, 0, stream);
    batch.ask(views.raw, asked.raw, 0, stream);
    out.samples += now;
    out.hits += batch.hits();
  }
  return out;
}

}  // namespace bloomwall::filter
