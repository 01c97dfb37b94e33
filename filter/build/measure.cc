// SPDX-License-Identifier: Apache-2.0
#include "filter/build/measure.h"

#include <algorithm>
#include <cmath>

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
  // As good as the hash of something new: a listed one turns up once in 2^128 / entries.
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
};

Asked worst_request(FilterWriter& writer, const PredictedErrors& p) {
  Asked out;
  if (writer.hosts() == nullptr) {
    out.raw = 1;
    return out;
  }
  if (p.host_key > 0) out.hosts = whole(p.unlisted_host.p99 / p.host_key);
  if (writer.paths() != nullptr) out.paths = whole(p.listed_host.p99_questions - p.unlisted_host.p99_questions);
  return out;
}

bool any_hit(SectionWriter* section, unsigned questions, Variant variant, Stream& stream) {
  bool hit = false;
  for (unsigned i = 0; i < questions; ++i) {
    const SectionView view = section->view();
    hit |= view.test(view.place(stream.hash()), variant);
  }
  return hit;
}

}  // namespace

std::uint64_t usual_samples(const PredictedErrors& predicted) {
  const double error = worst_error(predicted);
  if (error <= 0 || kHitsWanted / error > kMostSamples) return 0;
  return static_cast<std::uint64_t>(std::ceil(kHitsWanted / error));
}

MeasuredError measure_error(FilterWriter& writer, const PredictedErrors& predicted, std::uint64_t samples,
                            const std::function<bool()>& stop) {
  constexpr std::uint64_t kBetweenLooks = 4096;
  const Asked asked = worst_request(writer, predicted);
  Stream stream(KeyMaker(writer.header().series_key).seed());
  MeasuredError out;
  for (; out.samples < samples; ++out.samples) {
    if (out.samples % kBetweenLooks == 0 && stop && stop()) break;
    bool hit = any_hit(writer.hosts(), asked.hosts, kVariantSuffix, stream);
    hit |= any_hit(writer.paths(), asked.paths, 0, stream);
    hit |= any_hit(writer.raw(), asked.raw, 0, stream);
    out.hits += hit ? 1 : 0;
  }
  return out;
}

}  // namespace bloomwall::filter
