// SPDX-License-Identifier: Apache-2.0
#include "bench/ten_billion/serving.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <thread>
#include <utility>

#include "bench/ten_billion/url_line.h"

namespace bloomwall::bench {
namespace {

using Clock = std::chrono::steady_clock;
using PolicyPtr = std::shared_ptr<const filter::Policy>;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

filter::Result<PolicyPtr> load(const std::filesystem::path& file, bool verify) {
  filter::PolicySpec spec;
  filter::FilterSpec& served = spec.filters.emplace_back();
  served.name = "made-up";
  served.file = file;
  auto policy = filter::Policy::load(spec, {.verify = verify, .make_resident = true, .progress = {}});
  if (policy) return *std::move(policy);
  return filter::unexpected(policy.error().front());
}

std::string residence_of(const filter::Policy& policy) {
  const filter::FilterFile& file = *policy.filters().front().file;
  std::string text = filter::to_string(file.residence());
  if (file.residence() == filter::Residence::paged) {
    text += file.hosts_locked() ? ", section H locked in memory" : ", section H in memory";
  }
  return text;
}

}  // namespace

const char* const kLatencyHead = "| verdicts | how many | p50 | p99 | p99.9 | longest |\n|---|---|---|---|---|---|\n";

std::string Latencies::row(const std::string& name) {
  if (values_.empty()) return fmt::format("| {} | 0 | | | | |\n", name);
  std::sort(values_.begin(), values_.end());
  const auto at = [&](double share) {
    const auto rank = static_cast<std::size_t>(share * static_cast<double>(values_.size()));
    return static_cast<double>(values_[std::min(rank, values_.size() - 1)]) / 1e3;
  };
  return fmt::format("| {} | {} | {:.1f} us | {:.1f} us | {:.1f} us | {:.1f} us |\n", name, values_.size(), at(0.5),
                     at(0.99), at(0.999), at(1));
}

bool VerdictAsker::judge(const filter::Policy& policy, const std::string& url, bool& waited_for_pages) {
  const filter::CanonicalUrl& canonical = canonicaliser_.url(url);
  for (;;) {
    const auto verdict = policy.judge_at_once(canonical, absent_);
    if (verdict) return verdict->decision == filter::Decision::blocked;
    waited_for_pages = true;
    filter::Policy::fault_in(absent_);
    policy.check_pages(absent_);
  }
}

void VerdictAsker::ask(const filter::Policy& policy) {
  const std::uint64_t number = mix(++next_);
  const bool is_entry = next_ % 2 == 0;
  url_.clear();
  if (is_entry) {
    series_.append_entry(number % series_.entries(), url_);
  } else {
    next_ % 4 == 1 ? series_.append_listed_host(number, url_) : series_.append_unlisted_host(number >> 30, url_);
  }
  bool waited_for_pages = false;
  const auto begin = Clock::now();
  const bool blocked = judge(policy, url_, waited_for_pages);
  const auto lasted = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin);
  (waited_for_pages ? waited : at_once).add(static_cast<std::uint64_t>(lasted.count()));
  missed += is_entry && !blocked ? 1U : 0U;
}

filter::Result<ServingResult> measure_verdicts(const std::filesystem::path& file, const UrlSeries& series,
                                               std::uint64_t verdicts) {
  const auto begin = Clock::now();
  const auto policy = load(file, false);
  if (!policy) return filter::unexpected(policy.error());
  const double loading = seconds_since(begin);
  VerdictAsker asker(series, 0x5eed);
  for (std::uint64_t i = 0; i < verdicts; ++i) asker.ask(**policy);
  ServingResult result;
  result.holds = asker.missed == 0;
  result.text = fmt::format(
      "The filter is {}, brought there in {:.1f} s. One thread; entries and other URLs in turn, all over "
      "the file; {} entries let pass.\n\n",
      residence_of(**policy), loading, asker.missed);
  result.text += kLatencyHead;
  result.text += asker.at_once.row("all pages in memory");
  result.text += asker.waited.row("pages awaited from disk");
  return result;
}

filter::Result<ServingResult> measure_swap(const std::filesystem::path& file, const UrlSeries& series) {
  constexpr std::chrono::seconds kBeforeAndAfter{5};
  const std::filesystem::path copy = file.string() + ".next";
  std::error_code failed;
  std::filesystem::copy_file(file, copy, std::filesystem::copy_options::overwrite_existing, failed);
  if (failed) return filter::unexpected(filter::Error{filter::Errc::io, copy.string(), failed.message()});
  auto served = load(file, false);
  if (!served) return filter::unexpected(served.error());

  enum Stage : int { before, during, after, ended };
  std::atomic<int> stage = before;
  std::atomic<PolicyPtr> current = *served;
  served->reset();
  std::vector<VerdictAsker> askers;
  for (std::uint64_t i = before; i < ended; ++i) askers.emplace_back(series, i << 40);
  std::jthread worker([&] {
    for (int now = stage; now != ended; now = stage) askers[static_cast<std::size_t>(now)].ask(*current.load());
  });
  std::this_thread::sleep_for(kBeforeAndAfter);
  stage = during;
  const auto begin = Clock::now();
  auto next = load(copy, true);
  const double loading = seconds_since(begin);
  if (next) current = *next;
  stage = next ? after : ended;
  if (next) std::this_thread::sleep_for(kBeforeAndAfter);
  stage = ended;
  worker.join();
  std::filesystem::remove(copy, failed);
  if (!next) return filter::unexpected(next.error());

  ServingResult result;
  const char* const names[] = {"before", "while the next file is verified", "after the swap"};
  std::uint64_t missed = 0;
  std::string rows;
  for (std::size_t i = 0; i < askers.size(); ++i) {
    rows += askers[i].at_once.row(fmt::format("{}: pages in memory", names[i]));
    rows += askers[i].waited.row(fmt::format("{}: pages from disk", names[i]));
    missed += askers[i].missed;
  }
  result.holds = missed == 0;
  result.text = fmt::format(
      "A copy of the file took its place under load. Every byte of it was read and verified in {:.1f} s; "
      "then the policy was swapped. The new one is {}. {} entries let pass.\n\n{}{}",
      loading, residence_of(**next), missed, kLatencyHead, rows);
  return result;
}

}  // namespace bloomwall::bench
