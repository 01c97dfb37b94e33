// SPDX-License-Identifier: Apache-2.0

#include "filter/builder/build_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "base/figures.h"
#include "base/units.h"
#include "filter/builder/draft_pages.h"
#include "filter/file/filter_file.h"
#include "filter/policy/entry_text.h"
#include "filter/policy/query.h"

namespace bloomwall::filter {
namespace {

constexpr std::size_t kMostSampleBytes = std::size_t{16} << 20;  // of all parts
constexpr std::size_t kLeastKept = 64;                           // of a part

bool holds(const RangeSet& networks, const AddressRange& range) {
  return networks.find(range.first).has_value() && networks.find(range.last).has_value();
}

}  // namespace

// Looks entries up in one file.
class SampleQuestions {
 public:
  explicit SampleQuestions(const FilterFile& file) : query_(file) {}

  bool finds(const EntrySample::Kept& entry) {
    if (entry.kind == Kind::raw) return query_.raw(entry.path).has_value();
    // W blocks subdomains only, D the URLs below it.
    const std::string host = entry.kind == Kind::subdomains ? "a." + entry.host : entry.host;
    const std::string path = is_host_kind(entry.kind)        ? "/"
                             : entry.kind == Kind::directory ? entry.path + "x"
                                                             : entry.path;
    const std::string spelt = fmt::format("http://{}{}{}{}", host, path, entry.query.empty() ? "" : "?", entry.query);
    const CanonicalUrl& url = canonicaliser_.url(spelt);
    if (url.action == UrlAction::reject) return true;  // no request can have it; lists count it as odd
    const bool is_form = std::any_of(url.forms.begin(), url.forms.end(), [&](const UrlForm& form) {
      return form.path == path && form.query == entry.query;
    });
    return is_form ? query_.url(url).has_value() : finds_form(entry.host_kind, host, path, entry.query);
  }

 private:
  // An alternative form of an ambiguous path: its text would be read as another form.
  bool finds_form(HostKind kind, std::string_view host, std::string_view path, std::string_view text) const {
    const std::array<UrlForm, 1> forms{UrlForm{.path = path, .query = text, .has_query_mark = !text.empty()}};
    CanonicalUrl url;
    url.action = UrlAction::lookup;
    url.reason = UrlReason::none;
    url.has_canonical = true;
    url.host_kind = kind;
    url.scheme = "http";
    url.host = host;
    url.forms = forms;
    return query_.url(url).has_value();
  }

  FilterQuery query_;
  Canonicaliser canonicaliser_;
};

void EntrySample::expect_workers(unsigned workers) {
  if (parts_.size() < workers) parts_.resize(workers);
}

std::size_t EntrySample::size() const {
  std::size_t sum = 0;
  for (const Part& part : parts_) sum += part.kept.size() + part.ranges.size();
  return sum;
}

void EntrySample::keep(Part& part, const Entry& entry) const {
  part.kept.push_back({.kind = entry.kind,
                       .host_kind = entry.host_kind,
                       .host = std::string(entry.host),
                       .path = std::string(entry.path),
                       .query = std::string(entry.query)});
  part.bytes += entry.host.size() + entry.path.size() + entry.query.size();
  const std::size_t most = std::max(kLeastKept, most_ / parts_.size());
  if (part.kept.size() > most || part.bytes > kMostSampleBytes / parts_.size()) thin(part);
}

void EntrySample::keep(Part& part, const AddressRange& range) const {
  part.ranges.push_back(range);
  if (part.ranges.size() <= std::max(kLeastKept, most_ / parts_.size())) return;
  part.range_mask = part.range_mask * 2 + 1;
  std::size_t to = 0;
  for (std::size_t from = 0; from < part.ranges.size(); from += 2) part.ranges[to++] = part.ranges[from];
  part.ranges.resize(to);
}

// Keeps every second one, of these and of those to come.
void EntrySample::thin(Part& part) {
  part.mask = part.mask * 2 + 1;
  part.bytes = 0;
  std::size_t to = 0;
  for (std::size_t from = 0; from < part.kept.size(); from += 2, ++to) {
    if (to != from) part.kept[to] = std::move(part.kept[from]);
    part.bytes += part.kept[to].host.size() + part.kept[to].path.size() + part.kept[to].query.size();
  }
  part.kept.resize(to);
}

std::string EntrySample::name_of(const Kept& entry) {
  return fmt::format("{} {}", static_cast<char>(entry.kind),
                     text_of(Entry{.kind = entry.kind,
                                   .host_kind = entry.host_kind,
                                   .host = entry.host,
                                   .path = entry.path,
                                   .query = entry.query}));
}

Result<void> EntrySample::check(const std::filesystem::path& file) const {
  if (size() == 0) return {};
  const auto opened = FilterFile::open(file);
  if (!opened) return unexpected(opened.error());
  SampleQuestions questions(**opened);
  std::size_t missed = 0;
  std::string first;
  const auto miss = [&](const auto& name) {
    if (missed++ == 0) first = name();
  };
  for (const Part& part : parts_) {
    for (const Kept& entry : part.kept) {
      if (!questions.finds(entry)) miss([&] { return name_of(entry); });
    }
    for (const AddressRange& range : part.ranges) {
      if (!holds((*opened)->networks(), range)) miss([&] { return fmt::format("N {}", text_of(range)); });
    }
  }
  if ((*opened)->lost()) return unexpected(Error{Errc::io, file.string(), "shrank or failed while it was asked"});
  if (missed == 0) return {};
  return unexpected(Error{
      Errc::bad_section,
      {},
      fmt::format("the file that was built does not hold what it was built of: {}, and {} more of {} that were asked; "
                  "nothing was replaced. This is an error of the program or of the machine",
                  in_quotes(first), missed - 1, size())});
}

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
    const char* const what = header.find(SectionType::hosts) != nullptr ? "requests" : "questions";
    std::string share = fmt::format("{} of {} {}", format_count(m.hits), format_count(m.samples), what);
    if (m.hits == 0) return share;
    return fmt::format("{}, {}", share, one_in(static_cast<double>(m.hits) / static_cast<double>(m.samples)));
  }
  if (usual_samples(header.predicted) > 0) return "not done; use --measure N";
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
