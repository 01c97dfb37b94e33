// SPDX-License-Identifier: Apache-2.0
#include "proxy/api/report_desk.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/terminal.h"
#include "base/units.h"
#include "proxy/log/log.h"
#include "proxy/reply/report_form.h"
#include "proxy/state/json_members.h"
#include "proxy/state/plain_text.h"

namespace bloomwall::proxy {
namespace {

using Says = ReportPage::Says;

// What the ticket says is what may be written (ticket_of() in recent_denials.h). Names of users may be any octets.
ReportItem item_of(const ReportFacts& facts, const ReportForm& form, std::int64_t now) {
  constexpr std::size_t kMostOctets = 4;  // of a character
  ReportItem report;
  report.url = facts.url;
  report.host = facts.host;
  report.filter = facts.filter;
  report.reason = facts.reason;
  report.expression = plain_text(facts.expression, ReportItem::kMaxUrl);
  report.group = facts.group;
  report.client = facts.client;
  report.user = plain_text(facts.user, ReportItem::kMaxUser / kMostOctets);
  report.decision = facts.decision_id;
  report.comment = plain_text(form.comment, ReportItem::kMaxComment);
  report.name = plain_text(form.name, ReportItem::kMaxName);
  report.first = report.last = now;
  return report;
}

Author author_of(const ReportItem& report) {
  if (!report.user.empty()) return {.who = "user " + report.user, .via = "form"};
  return {.who = report.client.empty() ? std::string("a client") : "client " + report.client, .via = "form"};
}

Says said_of(ReportItem::State state) {
  switch (state) {
    case ReportItem::State::open:
      return Says::open;
    case ReportItem::State::accepted:
      return Says::accepted;
    case ReportItem::State::rejected:
      return Says::rejected;
    case ReportItem::State::cured:
      return Says::cured;
  }
  return Says::open;
}

// Whether it has reporters without words of their own.
bool is_of_many(const ReportItem& report) {
  std::uint64_t known = 0;
  for (const Reporter& reporter : report.reporters) known += reporter.count;
  return known < report.count;
}

}  // namespace

ReportDesk::ReportDesk(EventLoop& loop, StateService& state, const ReportTickets::Key& key,
                       std::function<bool()> is_ending, ReportCounts& counts, Clocks clocks,
                       std::function<void(const ReportItem&)> is_new)
    : loop_(loop),
      state_(state),
      tickets_(key),
      is_ending_(std::move(is_ending)),
      clocks_(clocks),
      counts_(counts),
      is_new_(std::move(is_new)) {}

bool ReportDesk::ask(SelfQuestion question, Done done) {
  if (questions_->fetch_add(1) >= kMostQuestions) {
    questions_->fetch_sub(1);
    return false;
  }
  const auto answered = [questions = questions_, done = std::move(done)](const ReportPage& page) {
    questions->fetch_sub(1);
    done(page);
  };
  loop_.post([this, question = std::move(question), answered] { answer(question, answered); });
  return true;
}

void ReportDesk::answer(const SelfQuestion& question, const Done& done) {
  switch (question.kind) {
    case SelfQuestion::Kind::submit:
      return submit(question, done);
    case SelfQuestion::Kind::look:
      return done(look(question.text));
  }
}

void ReportDesk::submit(const SelfQuestion& question, const Done& done) {
  const auto form = read_report_form(question.text);
  if (!form) return done({.says = Says::not_a_form});
  const std::int64_t now = clocks_.seconds();
  const auto facts = tickets_.open(form->ticket, question.client, now);
  if (!facts) {
    const bool is_late = facts.error() == TicketFault::late;
    ++(is_late ? counts_.late : counts_.forged);
    return done({.says = is_late ? Says::late : Says::refused});
  }
  if (is_ending_() || !state_.is_usable()) return done({.says = Says::unavailable});
  const auto wait = rate_.take(question.client, clocks_.monotonic());
  if (wait.count() > 0) {
    ++counts_.limited;
    return done({.says = Says::often, .again_in = static_cast<std::uint32_t>(wait.count())});
  }
  const ReportItem report = item_of(*facts, *form, now);
  const bool is_asked = state_.ask([report](StateStore& store) { return store.add_report(report, author_of(report)); },
                                   [this, done](const StateResult<ReportItem>& kept) { done(page_of(kept)); });
  if (!is_asked) done({.says = Says::unavailable});
}

ReportPage ReportDesk::page_of(const StateResult<ReportItem>& kept) {
  if (!kept) {
    ++counts_.failed;
    log::warning("a report was not taken: {}", kept.error().what);
    return {.says = kept.error().kind == StateError::Kind::conflict ? Says::full : Says::unavailable};
  }
  const bool is_new = kept->count == 1;
  ++(is_new ? counts_.taken : counts_.merged);
  if (is_new && is_new_) is_new_(*kept);
  // What is in it stands in state.db, for those who may read it.
  log::info("report {}: {}", kept->id, is_new ? "made" : "made again");
  return {.says = Says::taken, .report = kept->id, .reporter = kept->asker};
}

// The report that one who has reported it is of by now: it may have been accepted for others alone.
const ReportItem* ReportDesk::report_of(std::uint64_t id, std::uint32_t reporter) const {
  constexpr int kMostMoves = 100;
  const ReportItem* report = find_report(*state_.state().reports, id);
  for (int moves = 0; report != nullptr && report->moved != 0 && moves < kMostMoves; ++moves) {
    const bool is_here = reporter == ReportItem::kOneOfMany ? is_of_many(*report) : report->find(reporter) != nullptr;
    if (is_here) break;
    report = find_report(*state_.state().reports, report->moved);
  }
  return report;
}

ReportPage ReportDesk::look(std::string_view text) const {
  const auto asked = tickets_.read_page(text);
  const ReportItem* const report = asked ? report_of(asked->report, asked->reporter) : nullptr;
  if (report == nullptr) return {.says = Says::unknown};
  ReportPage page{.says = said_of(report->state), .report = asked->report, .reporter = asked->reporter};
  page.words = report->words;
  if (report->state != ReportItem::State::accepted) return page;
  const ExceptionItem* const exception = state_.state().find(report->exception);
  if (exception != nullptr && !opens_for(exception->exception, *report, report->find(asked->reporter))) {
    page.says = Says::rejected;  // it was accepted for somebody else, and stays blocked for all who have reported it
    return page;
  }
  if (exception == nullptr || exception->exception.until <= clocks_.seconds()) {
    page.says = Says::ended;
  } else if (report->until != kNoEnd) {
    page.until = format_time(static_cast<std::uint64_t>(report->until));
  }
  return page;
}

}  // namespace bloomwall::proxy
