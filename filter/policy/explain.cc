// SPDX-License-Identifier: Apache-2.0
#include "filter/policy/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/names.h"
#include "filter/policy/pending_verdict.h"
#include "filter/policy/policy_impl.h"

namespace bloomwall::filter {
namespace {

// A hostile URL of 64 KiB has gigabytes of expressions: what is kept is bounded in number and size, the rest counted.
class Budget {
 public:
  explicit Budget(std::uint64_t& left_out) : left_out_(left_out) {}
  bool has_room(std::size_t items, std::size_t bytes) {
    if (items < kMaxStoryItems && bytes <= kMaxStoryBytes - used_) {
      used_ += bytes;
      return true;
    }
    ++left_out_;
    return false;
  }

 private:
  std::uint64_t& left_out_;
  std::size_t used_ = 0;
};

class StoryTeller final : public VerdictTrace {
 public:
  StoryTeller(const std::vector<LoadedFilter>& filters, const AllowLists& allow, Story& story)
      : filters_(filters), allow_(allow), story_(story), budget_(story.left_out) {}

  void begin_form(std::size_t form, UrlParts& parts) override {
    form_ = static_cast<std::uint8_t>(form);
    parts_ = &parts;
  }
  void overridden_by(const Override& made) override {
    if (!budget_.has_room(story_.questions.size(), made.entry.size() + 16)) return;
    const char* const action = made.action == Override::Action::allow ? "allow" : "deny";
    keep(fmt::format("exception {}", made.id),
         fmt::format("{} {} {}", action, static_cast<char>(made.kind), made.entry), AskedQuestion::Answer::yes);
  }
  void allowed_by(const ExactMatch& entry) override {
    if (!has_room({entry.kind, false, entry.suffix, entry.depth})) return;
    std::string text{static_cast<char>(entry.kind), ' '};
    text += allow_.expression_of(entry, *parts_);
    keep({}, text + allow_.scope_text(entry.value), AskedQuestion::Answer::yes);
  }
  void begin_filter(std::size_t filter, bool is_overruled) override {
    filter_ = filter;
    is_overruled_ = is_overruled;
  }
  void asked(const Question& question, LookupAnswer answer) override {
    if (has_room(question)) keep(filters_[filter_].spec.name, text_of(question, *parts_), shown(question, answer));
  }

 private:
  bool has_room(const Question& question) {
    return budget_.has_room(story_.questions.size(), parts_->suffix(question.suffix).size() +
                                                         parts_->prefix(question.is_mark ? 0 : question.depth).size() +
                                                         parts_->query().size() + 16);
  }
  void keep(const std::string& filter, std::string expression, AskedQuestion::Answer answer) {
    story_.questions.push_back({filter, std::move(expression), answer, form_});
  }
  AskedQuestion::Answer shown(const Question& question, LookupAnswer answer) const {
    switch (answer) {
      case LookupAnswer::no:
        return AskedQuestion::Answer::no;
      case LookupAnswer::removed_by_delta:
        return AskedQuestion::Answer::removed_by_delta;
      case LookupAnswer::yes:
        // A mark decides nothing, so there is nothing to overrule.
        return is_overruled_ && !question.is_mark ? AskedQuestion::Answer::overruled : AskedQuestion::Answer::yes;
      case LookupAnswer::added_by_delta:
        return is_overruled_ ? AskedQuestion::Answer::overruled : AskedQuestion::Answer::added_by_delta;
      case LookupAnswer::exception:
        return AskedQuestion::Answer::exception;
      case LookupAnswer::refuted:
        return AskedQuestion::Answer::refuted;
      case LookupAnswer::confirmed:
        return is_overruled_ ? AskedQuestion::Answer::overruled : AskedQuestion::Answer::confirmed;
    }
    return AskedQuestion::Answer::no;
  }

  const std::vector<LoadedFilter>& filters_;
  const AllowLists& allow_;
  Story& story_;
  Budget budget_;
  UrlParts* parts_ = nullptr;
  std::uint8_t form_ = 0;
  std::size_t filter_ = 0;
  bool is_overruled_ = false;
};

// The last label alone is an expression only where somebody holds entries of one label.
bool asks_last_label(const std::vector<LoadedFilter>& filters, const AllowLists& allow) {
  const auto holds = [](const LoadedFilter& filter) {
    return filter.plan.min_labels <= 1 && filter.plan.max_labels >= 1;
  };
  const auto adds = [](const LoadedFilter& filter) {
    return filter.delta && filter.delta->entries().may_hold_labels(1);
  };
  return allow.entries().may_hold_labels(1) || std::any_of(filters.begin(), filters.end(), holds) ||
         std::any_of(filters.begin(), filters.end(), adds);
}

class ExpressionList {
 public:
  ExpressionList(Story& story, UrlParts& parts) : story_(story), parts_(parts), budget_(story.left_out) {}

  void add_suffix(std::size_t suffix) {
    const std::size_t depth = parts_.depth();
    add(Kind::suffix, suffix, 0, parts_.suffix(suffix).size());
    const std::size_t whole = parts_.suffix(suffix).size() + parts_.path().size() + 1;
    if (!parts_.query().empty()) add(Kind::url_query, suffix, depth, whole + parts_.query().size());
    add(Kind::url, suffix, depth, whole);
    for (std::size_t d = 1; d <= depth; ++d) {
      add(Kind::directory, suffix, d, parts_.suffix(suffix).size() + parts_.prefix(d).size() + 1);
    }
  }

 private:
  void add(Kind kind, std::size_t suffix, std::size_t depth, std::size_t bytes) {
    if (!budget_.has_room(story_.expressions.size(), bytes)) return;
    story_.expressions.push_back(expression_of(kind, suffix, depth, parts_));
  }
  Story& story_;
  UrlParts& parts_;
  Budget budget_;
};

const char* reason_text(const Story& story, const CanonicalUrl& url) {
  return story.verdict.decision == Decision::rejected ? to_string(url.reason) : to_string(story.verdict.reason);
}

void append_verdict(std::string& out, const CanonicalUrl& url, const Story& story) {
  const Verdict& verdict = story.verdict;
  fmt::format_to(std::back_inserter(out), "verdict     {} ({})", to_string(verdict.decision), reason_text(story, url));
  if (verdict.reason == VerdictReason::default_deny) {
    out += ": on no white list, and `otherwise` is deny";
  } else if (verdict.filter != nullptr) {
    fmt::format_to(std::back_inserter(out), " by filter {}", verdict.filter->name);
    if (verdict.decision == Decision::blocked) {
      fmt::format_to(std::back_inserter(out), ", status {}", verdict.filter->status);
    }
  }
  if (!verdict.expression.empty()) {
    fmt::format_to(std::back_inserter(out), ": {} {}", static_cast<char>(verdict.kind), verdict.expression);
  }
  if (url.asked().size() > 1 && verdict.decision != Decision::rejected) {
    fmt::format_to(std::back_inserter(out), " (form {} of {})", verdict.form + 1, url.asked().size());
  }
  out += '\n';
}

}  // namespace

const char* to_string(AskedQuestion::Answer answer) {
  static constexpr auto kWords =
      name_table<AskedQuestion::Answer>({{AskedQuestion::Answer::no, "no"},
                                         {AskedQuestion::Answer::yes, "yes"},
                                         {AskedQuestion::Answer::removed_by_delta, "removed by the delta"},
                                         {AskedQuestion::Answer::added_by_delta, "added by the delta"},
                                         {AskedQuestion::Answer::overruled, "yes, but overruled by the allow list"},
                                         {AskedQuestion::Answer::exception, "yes, but known to be good (exception)"},
                                         {AskedQuestion::Answer::refuted, "yes, but refuted by the exact side"},
                                         {AskedQuestion::Answer::confirmed, "yes, confirmed by the exact side"}});
  return kWords.text(answer);
}

Story Policy::explain(const CanonicalUrl& url, const Asker& asker) const {
  Story story;
  if (url.action == UrlAction::lookup) {
    UrlParts parts(url);
    ExpressionList list(story, parts);
    const std::size_t fewest = asks_last_label(impl_->filters, impl_->allow) ? 1 : 2;
    for (const UrlForm& form : url.asked()) {
      parts.use_form(form);
      for (std::size_t i = 0; i < parts.suffixes(); ++i) {
        if (i == 0 || parts.labels(i) >= fewest) list.add_suffix(i);
      }
    }
  }
  StoryTeller teller(impl_->filters, impl_->allow, story);
  PendingVerdict pending(*this, url, Scope::url, asker, &teller);
  while (!pending.advance()) {
  }
  story.verdict = pending.take();
  return story;
}

Story Policy::explain_host(const CanonicalUrl& host, const Asker& asker) const {
  Story story;
  StoryTeller teller(impl_->filters, impl_->allow, story);
  PendingVerdict pending(*this, host, Scope::host, asker, &teller);
  while (!pending.advance()) {
  }
  story.verdict = pending.take();
  return story;
}

std::string explain_text(const CanonicalUrl& url, const Story& story) {
  std::string out;
  const auto to = std::back_inserter(out);
  fmt::format_to(to, "canonical   {}\n", url.has_canonical ? url.text() : "none");
  for (std::size_t i = 1; i < url.asked().size(); ++i) fmt::format_to(to, "also read   {}\n", url.text(i));
  append_verdict(out, url, story);
  const char* label = "expressions";
  for (const std::string& expression : story.expressions) {
    fmt::format_to(to, "{:<11} {}\n", std::exchange(label, ""), expression);
  }
  label = "asked";
  for (const AskedQuestion& asked : story.questions) {
    fmt::format_to(to, "{:<11} ", std::exchange(label, ""));
    if (url.asked().size() > 1) fmt::format_to(to, "form {}, ", asked.form + 1);
    fmt::format_to(to, "{}: {}: {}\n", asked.filter.empty() ? "allow list" : asked.filter, asked.expression,
                   to_string(asked.answer));
  }
  if (story.left_out != 0) fmt::format_to(to, "{:<11} {} more are not shown\n", "", story.left_out);
  return out;
}

StoryFields story_fields(const CanonicalUrl& url, const Story& story) {
  StoryFields fields;
  fields.action = url.action == UrlAction::lookup ? "lookup" : "reject";
  if (url.has_canonical) fields.canonical = url.text();
  for (std::size_t i = 1; i < url.forms.size(); ++i) fields.alternatives.push_back(url.text(i));
  fields.expressions = story.expressions;
  fields.verdict = to_string(story.verdict.decision);
  if (story.verdict.filter != nullptr) fields.filter = story.verdict.filter->name;
  fields.expression = story.verdict.expression;
  fields.reason = reason_text(story, url);
  return fields;
}

}  // namespace bloomwall::filter
