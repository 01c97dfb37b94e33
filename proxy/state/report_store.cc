// Reports of the state, and what belongs to them.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <system_error>
#include <tuple>
#include <utility>

#include "base/encoding.h"
#include "base/random.h"
#include "base/text.h"
#include "filter/file/temp_file.h"
#include "filter/policy/entry_text.h"
#include "proxy/state/item_table.h"
#include "proxy/state/state_store.h"

namespace bloomwall::proxy {
namespace {

using ReportDone = tl::expected<void, std::string>;
using ReportState = ReportItem::State;

const Author kByBuild{.who = "bloomwall", .via = "itself"};
constexpr const char* kKnownGood = "known-good.txt";
constexpr const char* kSecretName = "reports";

std::string audit_text(const ReportItem& report) { return Kept<ReportItem>::audited(report); }

Reports::iterator find_in(Reports& reports, std::uint64_t id) {
  const auto at = std::ranges::lower_bound(reports, id, {}, &ReportItem::id);
  return at == reports.end() || at->id != id ? reports.end() : at;
}

// `reports` with another one instead of the one with its id.
ReportsPtr with(const Reports& reports, const ReportItem& changed) {
  Reports next = reports;
  *find_in(next, changed.id) = changed;
  return std::make_shared<const Reports>(std::move(next));
}

}  // namespace

StateResult<ReportItem> StateStore::add_report(ReportItem report, const Author& author) {
  State next = *state_;
  Reports reports = *next.reports;
  const auto at = std::ranges::find_if(reports, [&](const ReportItem& other) {
    return other.state == ReportState::open && is_about_the_same(other, report);
  });
  const bool is_new = at == reports.end();
  std::string before;
  ReportItem said;  // by this one alone, for the audit
  if (is_new) {
    const auto open = std::ranges::count(reports, ReportState::open, &ReportItem::state);
    if (static_cast<std::size_t>(open) >= ReportItem::kMostOpen) {
      return state_error(StateError::Kind::conflict,
                         fmt::format("{} reports are open, the most there may be", ReportItem::kMostOpen));
    }
    report.id = next_report_;
    report.state = ReportState::open;
    report.count = 1;
    report.reporters = {reporter_of(report)};
    said = report;
    reports.push_back(report);
  } else {
    before = audit_text(*at);
    join_report(*at, report);
    said = report;
    said.id = at->id;
    said.count = at->count;
    report = *at;
  }
  if (auto refused = refuse_unreadable(report)) return tl::unexpected(*std::move(refused));
  next.reports = std::make_shared<const Reports>(std::move(reports));
  const auto done = commit(std::move(next), [&] {
    ReportDone changed = is_new ? insert_item(*database_, report) : update_item(*database_, report);
    if (changed) changed = write(row_of_made(is_new ? "report.made" : "report.again", author, said, before));
    return changed;
  });
  if (!done) return tl::unexpected(done.error());
  next_report_ += is_new ? 1 : 0;
  return report;
}

StateResult<ReportItem> StateStore::open_report(std::uint64_t id) const {
  const ReportItem* const report = find_report(*state_->reports, id);
  if (report == nullptr) return state_error(StateError::Kind::missing, fmt::format("there is no report {}", id));
  if (report->state != ReportState::open) {
    return state_error(StateError::Kind::conflict,
                       fmt::format("report {} is {} already, by {}", id, to_string(report->state), report->reviewer));
  }
  return *report;
}

StateResult<StateStore::Accepted> StateStore::accept_report(std::uint64_t id, ExceptionItem item,
                                                            std::string_view words, const Author& author) {
  auto report = open_report(id);
  if (!report) return tl::unexpected(report.error());
  State next = *state_;
  item.report = id;
  const auto placed = place(item, author, next);
  if (!placed) return tl::unexpected(placed.error());
  const std::string before = audit_text(*report);
  report->state = ReportState::accepted;
  report->decided = std::time(nullptr);
  report->reviewer = author.who;
  report->words = words;
  report->exception = item.exception.id;
  report->until = item.exception.until;
  report->until_build = item.until_build;
  // Those for whom the page stays blocked wait on.
  auto rest = split_report(*report, item.exception);
  if (rest) {
    rest->id = report->moved = next_report_;
    rest->state = ReportState::open;
    rest->decided = 0;
    rest->exception = 0;
    rest->until = kNoEnd;
    rest->until_build = false;
    rest->reviewer.clear();
    rest->words.clear();
  }
  next.reports = with(*next.reports, *report);
  if (rest) {
    Reports reports = *next.reports;
    reports.push_back(*rest);
    next.reports = std::make_shared<const Reports>(std::move(reports));
  }
  const auto done = commit(std::move(next), [&] {
    ReportDone changed = write_exception(item, *placed, author);
    if (changed) changed = update_item(*database_, *report);
    if (changed) changed = write(row_of_made("report.accepted", author, *report, before, report->words));
    if (changed && rest) changed = insert_item(*database_, *rest);
    if (changed && rest) {
      changed = write(row_of_made("report.made", author, *rest, {},
                                  fmt::format("the exception of report {} is not for these", report->id)));
    }
    return changed;
  });
  if (!done) return tl::unexpected(done.error());
  if (rest) ++next_report_;
  ++next_id_;
  write_exports();
  return Accepted{*std::move(report), std::move(item)};
}

StateResult<ReportItem> StateStore::reject_report(std::uint64_t id, std::string_view words, const Author& author) {
  auto report = open_report(id);
  if (!report) return report;
  const std::string before = audit_text(*report);
  report->state = ReportState::rejected;
  report->decided = std::time(nullptr);
  report->reviewer = author.who;
  report->words = words;
  State next = *state_;
  next.reports = with(*next.reports, *report);
  const auto done = commit(std::move(next), [&] {
    ReportDone changed = update_item(*database_, *report);
    if (changed) changed = write(row_of_made("report.rejected", author, *report, before, report->words));
    return changed;
  });
  if (!done) return tl::unexpected(done.error());
  return report;
}

std::vector<ReportItem> StateStore::hand_over_reports(const std::vector<ExceptionItem>& from, const ExceptionItem& to,
                                                      State& next) {
  std::vector<ReportItem> changed;
  if (from.empty()) return changed;
  Reports reports = *next.reports;
  for (ReportItem& report : reports) {
    const bool is_of_one =
        std::ranges::any_of(from, [&](const ExceptionItem& item) { return item.exception.id == report.exception; });
    if (!is_of_one || report.state != ReportState::accepted) continue;
    report.exception = to.exception.id;
    report.until = to.exception.until;
    report.until_build = to.until_build;
    changed.push_back(report);
  }
  if (!changed.empty()) next.reports = std::make_shared<const Reports>(std::move(reports));
  return changed;
}

// By a build that has cured their exception.
ReportDone StateStore::cure_reports(std::uint64_t exception, State& next) {
  const auto is_cured = [exception](const ReportItem& report) {
    return report.state == ReportState::accepted && report.exception == exception;
  };
  if (std::ranges::none_of(*next.reports, is_cured)) return {};  // as of nearly all exceptions: nothing is copied
  Reports reports = *next.reports;
  for (ReportItem& report : reports) {
    if (!is_cured(report)) continue;
    const std::string before = audit_text(report);
    report.state = ReportState::cured;
    ReportDone changed = update_item(*database_, report);
    if (changed)
      changed = write(row_of_made("report.cured", kByBuild, report, before, "the filters do not list it any more"));
    if (!changed) return changed;
  }
  next.reports = std::make_shared<const Reports>(std::move(reports));
  return {};
}

// Decided for longer than they are kept, unless a build is awaited that does not list them; and the oldest of too many.
std::vector<std::uint64_t> StateStore::drop_old_reports(State& next, std::int64_t now) {
  std::vector<std::uint64_t> ids;
  auto closed = static_cast<std::size_t>(
      std::ranges::count_if(*next.reports, [](const ReportItem& report) { return report.state != ReportState::open; }));
  for (const ReportItem& report : *next.reports) {
    if (report.state == ReportState::open) continue;
    const bool is_awaited =
        report.state == ReportState::accepted && report.until_build && next.find(report.exception) != nullptr;
    const bool is_old = !is_awaited && report.decided + ReportItem::kKept <= now;
    if (!is_old && closed <= ReportItem::kMostClosed) continue;
    ids.push_back(report.id);
    --closed;
  }
  if (ids.empty()) return ids;
  Reports kept;
  for (const ReportItem& report : *next.reports) {
    if (!std::ranges::binary_search(ids, report.id)) kept.push_back(report);
  }
  next.reports = std::make_shared<const Reports>(std::move(kept));
  return ids;
}

ReportDone StateStore::forget_reports(const std::vector<std::uint64_t>& ids) {
  for (const std::uint64_t id : ids) {
    auto removed = database_->run("DELETE FROM reports WHERE id = ?", {static_cast<std::int64_t>(id)});
    if (!removed) return removed;
  }
  return {};
}

StateResult<StateStore::Secret> StateStore::report_secret() {
  if (!fault_.empty()) return state_error(StateError::Kind::failed, fault_);
  if (const ReportDone made = make_file(); !made) return state_error(StateError::Kind::failed, made.error());
  Statement kept(*database_, "SELECT value FROM secrets WHERE name = ?", {std::string_view(kSecretName)});
  if (kept.next()) {
    if (const auto secret = parse_hex<std::tuple_size_v<Secret>>(kept.text(0))) return *secret;
  }
  if (!kept.error().empty()) return state_error(StateError::Kind::failed, kept.error());
  if (const ReportDone claimed = claim(); !claimed) return state_error(StateError::Kind::failed, claimed.error());
  const auto secret = random_value<Secret>();
  const std::string text = to_hex(secret);
  const auto written = database_->run(
      "INSERT INTO secrets (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
      {std::string_view(kSecretName), std::string_view(text)});
  if (!written) return state_error(StateError::Kind::failed, written.error());
  return secret;
}

StateResult<void> StateStore::add_known_good(std::string_view entry) const {
  if (!is_kept()) return {};
  const std::filesystem::path file = folder_ / kKnownGood;
  std::string text;
  std::error_code error;
  if (std::filesystem::exists(file, error)) {
    auto before = filter::read_entry_text(file);
    if (!before) return state_error(StateError::Kind::failed, before.error().text());
    text = *std::move(before);
  }
  std::size_t lines = 0;
  for (LineWalk walk(text); walk.next(); ++lines) {
    if (trim(walk.line()) == entry) return {};
  }
  if (lines >= kMostKnownGood) return state_error(StateError::Kind::conflict, std::string(kKnownGood) + " is full");
  if (!text.empty() && text.back() != '\n') text.push_back('\n');
  text.append(entry).push_back('\n');
  if (const auto saved = filter::replace_file(file, text); !saved) {
    return state_error(StateError::Kind::failed, saved.error().text());
  }
  return {};
}

}  // namespace bloomwall::proxy
