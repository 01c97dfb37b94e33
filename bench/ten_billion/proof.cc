// SPDX-License-Identifier: Apache-2.0
#include "bench/ten_billion/proof.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <utility>

#include "filter/parallel.h"
#include "filter/policy/lookup.h"

namespace bloomwall::bench {
namespace {

constexpr std::uint64_t kBlock = 16384;  // requests that a thread makes and asks at a time
constexpr std::size_t kMissedShown = 10;

// One thread's way from a URL to the questions about it.
class Asker {
 public:
  Asker(const filter::FilterFile& file, const filter::FilterPlan& plan) : file_(file), plan_(plan) {}

  // True: a host matches, and nothing else is asked. What is to be asked of P goes into `later`.
  bool ask(std::string_view text, std::uint32_t request, std::vector<SweepQuestion>& later) {
    host_questions = path_questions = 0;
    const filter::CanonicalUrl& url = canonicaliser_.url(text);
    if (url.action != filter::UrlAction::lookup) std::abort();  // the series makes none such
    filter::UrlParts parts(url);
    filter::UrlHashes hashes(file_.keys(), parts);
    for (const filter::UrlForm& form : url.forms) {
      parts.use_form(form);
      hashes.forget_form();
      filter::Lookup lookup({.file = &file_, .delta = nullptr, .plan = &plan_}, hashes, filter::Scope::url);
      if (ask_form(lookup, request, later)) return true;
    }
    return false;
  }
  std::uint32_t host_questions = 0, path_questions = 0;

 private:
  bool ask_form(filter::Lookup& lookup, std::uint32_t request, std::vector<SweepQuestion>& later) {
    bool is_done = lookup.start();
    while (!is_done && lookup.pending_questions().empty()) is_done = lookup.advance();
    host_questions += lookup.questions();
    for (const auto& asked : lookup.pending_questions()) {
      later.push_back(sweep_question(asked.place, request));
      ++path_questions;
    }
    // More than one round of questions would need the answers to the first: no host of the series has so many marks.
    if (lookup.pending_questions().size() >= 16) std::abort();
    return lookup.match().has_value();
  }

  const filter::FilterFile& file_;
  const filter::FilterPlan& plan_;
  filter::Canonicaliser canonicaliser_;
};

}  // namespace

void Tally::add(const Tally& other) {
  for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
}

double Tally::mean() const {
  double sum = 0;
  double requests = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    requests += static_cast<double>(counts_[i]);
    sum += static_cast<double>(i) * static_cast<double>(counts_[i]);
  }
  return requests == 0 ? 0 : sum / requests;
}

std::uint32_t Tally::percentile(double share) const {
  std::uint64_t requests = 0;
  for (const std::uint64_t count : counts_) requests += count;
  std::uint64_t below = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    below += counts_[i];
    if (static_cast<double>(below) >= share * static_cast<double>(requests)) return static_cast<std::uint32_t>(i);
  }
  return 0;
}

void Proof::ask_hosts(const ProofSizes& sizes) {
  const std::uint64_t sampled = std::min(sizes.sampled, series_.entries());
  // One entry of each stretch of the list.
  const std::uint64_t stretch = sampled == 0 ? 1 : series_.entries() / sampled;
  const Make entry = [this, stretch](std::uint64_t r, std::string& url) {
    series_.append_entry(r * stretch + mix(r + 1) % stretch, url);
  };
  const auto request = [this](void (UrlSeries::*make)(std::uint64_t, std::string&) const) -> Make {
    return [this, make](std::uint64_t r, std::string& url) { (series_.*make)(r, url); };
  };
  classes_ = {{"entries", 0, sampled, entry, {}, {}},
              {"unlisted hosts", 0, sizes.unlisted_hosts, request(&UrlSeries::append_unlisted_host), {}, {}},
              {"unlisted URLs on listed hosts", 0, sizes.listed_hosts, request(&UrlSeries::append_listed_host), {}, {}},
              {"the same, hosts with U, Q and D at two depths",
               0,
               sizes.mixed_hosts,
               request(&UrlSeries::append_mixed_host),
               {},
               {}}};
  std::uint64_t requests = 0;
  for (Class& one : classes_) {
    one.first = requests;
    requests += one.count;
  }
  matched_.assign(requests / 64 + 1, 0);
  for (Class& one : classes_) ask(one);
}

void Proof::ask(Class& of) {
  std::mutex mutex;
  filter::for_each_index((of.count + kBlock - 1) / kBlock, threads_, [&](std::size_t block) {
    Asker asker(file_, plan_);
    Tally hosts, paths;
    std::vector<SweepQuestion> later;
    std::string url;
    const std::uint64_t end = std::min((block + 1) * kBlock, of.count);
    for (std::uint64_t i = block * kBlock; i < end; ++i) {
      url.clear();
      of.make(i, url);
      const auto request = static_cast<std::uint32_t>(of.first + i);
      if (asker.ask(url, request, later)) mark(request);
      hosts.add(asker.host_questions);
      paths.add(asker.path_questions);
    }
    const std::lock_guard lock(mutex);
    of.host_questions.add(hosts);
    of.path_questions.add(paths);
    sweep_.add(later);
  });
}

void Proof::mark(std::uint32_t request) {
  std::atomic_ref(matched_[request / 64]).fetch_or(std::uint64_t{1} << request % 64, std::memory_order_relaxed);
}

bool Proof::is_marked(std::uint64_t request) const { return (matched_[request / 64] >> request % 64 & 1) != 0; }

ClassResult Proof::result_of(const Class& of) const {
  ClassResult result{of.name, {0, of.count}, of.host_questions, of.path_questions};
  for (std::uint64_t i = 0; i < of.count; ++i) result.matched.hits += is_marked(of.first + i) ? 1U : 0U;
  return result;
}

ProofResult Proof::ask_paths() {
  ProofResult result;
  result.questions_swept = sweep_.size();
  result.file_held = sweep_.ask(threads_, [this](std::uint32_t request) { mark(request); });
  result.sampled = result_of(classes_[0]);
  for (std::size_t i = 0; i < result.requests.size(); ++i) result.requests[i] = result_of(classes_[i + 1]);
  const Class& entries = classes_[0];
  for (std::uint64_t i = 0; i < entries.count && result.missed.size() < kMissedShown; ++i) {
    if (!is_marked(entries.first + i)) entries.make(i, result.missed.emplace_back());
  }
  return result;
}

}  // namespace bloomwall::bench
