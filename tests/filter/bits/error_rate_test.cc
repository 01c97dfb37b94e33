// Measured against predicted, on fixed seeds, where at least 400 hits are expected: within 3 standard deviations.
// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <bit>
#include <cmath>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "filter/bits/bloom_math.h"
#include "tests/filter/bits/owned_section.h"

namespace bloomwall::filter {
namespace {

constexpr double kExpectedHits = 450;
constexpr SeriesKey kRateKey{11, 22, 33, 44, 55, 66, 77, 88};

struct Setting {
  Layout layout;
  double target;
};
#ifdef BLOOMWALL_SANITIZED  // the others ask ten times as much of the same code
const auto kSettings = testing::Values(Setting{Layout::sectors_2x8, 1e-3}, Setting{Layout::lines_4x4, 1e-3});
#else
const auto kSettings = testing::Values(Setting{Layout::sectors_2x8, 1e-3}, Setting{Layout::sectors_2x8, 1e-4},
                                       Setting{Layout::lines_4x4, 1e-3}, Setting{Layout::lines_4x4, 1e-4});
#endif
std::string name_of(const testing::TestParamInfo<Setting>& of) {
  return std::string(of.param.layout == Layout::sectors_2x8 ? "Sectors2x8" : "Lines4x4") +
         (of.param.target > 5e-4 ? "At1e3" : "At1e4");
}

class ErrorRateTest : public testing::TestWithParam<Setting> {
 protected:
  // A section sized for the target.
  static Geometry sized(const SectionLoad& load) {
    return {.layout = GetParam().layout, .pages = pages_for(load, GetParam().target)};
  }
  static void expect_rate(double hits, double questions, double predicted, double spread = 1) {
    const double want = questions * predicted;
    RecordProperty("measured_over_predicted", std::to_string(hits / want));
    EXPECT_GE(want, 400);
    EXPECT_NEAR(hits, want, 3 * spread * std::sqrt(want)) << "ratio " << hits / want;
  }
  const KeyMaker keys_{kRateKey};
};
INSTANTIATE_TEST_SUITE_P(Settings, ErrorRateTest, kSettings, name_of);

// URL i on one of a thousand hosts, as a list would have them.
class Urls {
 public:
  explicit Urls(const KeyMaker& keys) : keys_(keys) {
    for (std::size_t i = 0; i < hosts_.size(); ++i) hosts_[i] = keys.host("host" + std::to_string(i) + ".example.com");
    folder_ = keys.segment("path", keys.empty_path());
  }
  Hash128 operator()(std::size_t i) const {
    std::array<char, 24> text{};
    const int length = std::snprintf(text.data(), text.size(), "%zu", i);
    const std::string_view segment(text.data(), static_cast<std::size_t>(length));
    return keys_.url(hosts_[i % hosts_.size()], keys_.segment(segment, folder_));
  }

 private:
  const KeyMaker& keys_;
  std::array<Hash128, 1000> hosts_;
  Hash128 folder_;
};

TEST_P(ErrorRateTest, OfKeysOfTheirOwn) {
  constexpr std::size_t kKeys = 200'000;
  const Urls url(keys_);
  for (const SectionKind kind : {SectionKind::paths, SectionKind::raw}) {
    SectionLoad load{.layout = GetParam().layout, .kind = kind, .keys = kKeys};
    const Geometry g = sized(load);
    load.pages = g.pages;
    OwnedSection section(g, kind);
    const SectionView view = section.view();
    for (std::size_t i = 0; i < kKeys; ++i) section.writer().insert_exclusive(view.place(url(i)));
    for (std::size_t i = 0; i < kKeys; ++i) ASSERT_TRUE(view.test(view.place(url(i)))) << i;
    const auto questions = static_cast<std::size_t>(kExpectedHits / question_error(load));
    double hits = 0;
    for (std::size_t i = kKeys; i < kKeys + questions; ++i) hits += view.test(view.place(url(i))) ? 1 : 0;
    expect_rate(hits, static_cast<double>(questions), question_error(load));
  }
}

// H as lists make it: most hosts have one set (S or a mark), some two or three.
class HostErrorRateTest : public ErrorRateTest {
 protected:
  static constexpr std::size_t kHosts = 200'000;
  static constexpr std::uint32_t kAll = (1U << kHostVariantCount) - 1;

  static std::uint32_t variants_of(std::size_t host) {
    std::uint32_t variants = 1U << (host % kHostVariantCount);
    if (host % 10 == 0) variants |= 1U << kVariantMarkUrl;
    if (host % 50 == 0) variants |= 1U << directory_mark(static_cast<unsigned>(host / 50 % 16 + 1));
    return variants;
  }
  Hash128 host(std::size_t i) const { return keys_.host("h" + std::to_string(i) + ".example.net"); }

  void SetUp() override {
    double sets = 0;
    double squares = 0;
    for (std::size_t i = 0; i < kHosts; ++i) {
      const double n = std::popcount(variants_of(i));
      sets += n;
      squares += n * n;
    }
    const double mean = sets / kHosts;
    load_ = {.layout = GetParam().layout, .kind = SectionKind::hosts, .keys = kHosts, .sets = sets};
    load_.dispersion = (squares / kHosts - mean * mean) / (mean - 1);
    const Geometry g = sized(load_);
    load_.pages = g.pages;
    section_ = std::make_unique<OwnedSection>(g, SectionKind::hosts);
    for (std::size_t i = 0; i < kHosts; ++i) {
      for (Variant v = 0; v < kHostVariantCount; ++v) {
        if ((variants_of(i) >> v & 1) != 0) section_->writer().insert(host(i), v);
      }
    }
  }
  SectionLoad load_;
  std::unique_ptr<OwnedSection> section_;
};
INSTANTIATE_TEST_SUITE_P(Settings, HostErrorRateTest, kSettings, name_of);

TEST_P(HostErrorRateTest, OfQuestionsAboutHostsThatAreNotThere) {
  const SectionView view = section_->view();
  const double predicted = question_error(load_);
  const auto questions = static_cast<std::size_t>(kExpectedHits / predicted);
  double hits = 0;
  for (std::size_t i = kHosts; i < kHosts + questions; ++i) {
    hits += view.test_variants(view.place(host(i)), 1U << (i % kHostVariantCount)) != 0 ? 1 : 0;
  }
  expect_rate(hits, static_cast<double>(questions), predicted);
}

// All 21 questions at once: as often wrong as they are one by one, though those of one host share lines.
TEST_P(HostErrorRateTest, OfAllVariantsTogether) {
  const SectionView view = section_->view();
  const double predicted = question_error(load_);
  const std::size_t hosts = 500'000;
  double hits = 0;
  double squares = 0;
  for (std::size_t i = kHosts; i < kHosts + hosts; ++i) {
    const double wrong = std::popcount(view.test_variants(view.place(host(i)), kAll));
    hits += wrong;
    squares += wrong * wrong;
  }
  // Hits on one host come in groups: variance of a sum of 21 correlated questions.
  expect_rate(hits, static_cast<double>(hosts * kHostVariantCount), predicted, std::sqrt(squares / hits));
}

// A host that is in H asked about what was not inserted: its own bits lie in the lines asked.
TEST_P(HostErrorRateTest, OfQuestionsAboutHostsThatAreThereWithOthers) {
  const SectionView view = section_->view();
  double hits = 0;
  double want = 0;
  for (std::size_t i = 0; i < kHosts; ++i) {
    const std::uint32_t own = variants_of(i);
    const std::uint32_t answer = view.test_variants(view.place(host(i)), kAll);
    ASSERT_EQ(answer & own, own) << "never a false negative";
    hits += std::popcount(answer & ~own);
  }
  std::array<double, 4> error{};
  for (std::size_t sets = 1; sets <= 3; ++sets) error[sets] = question_error(load_, static_cast<double>(sets));
  for (std::size_t i = 0; i < kHosts; ++i) {
    const auto sets = static_cast<std::size_t>(std::popcount(variants_of(i)));
    want += error[sets] * static_cast<double>(kHostVariantCount - sets);
  }
  const double questions = want / error[1];
  expect_rate(hits, questions, error[1], 1.2);
}

}  // namespace
}  // namespace bloomwall::filter
