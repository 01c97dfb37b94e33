// Text goes the short way, one filter asked by itself; JSON tells the whole story and goes through a policy of one
// filter, and so does a match in text where lists except something (F.bwf.*.allow).
// SPDX-License-Identifier: Apache-2.0
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "base/terminal.h"
#include "filter/cli/commands.h"
#include "filter/cli/header_json.h"
#include "filter/policy/explain.h"
#include "filter/policy/list_exceptions.h"
#include "filter/policy/query.h"

namespace bloomwall::filter {
namespace {

// damaged: the filter is, as was found on the way to this answer, which is not given.
enum class Outcome : std::uint8_t { clear, listed, damaged };
// Answers one line as typed. `too_long`: only its beginning is there.
using Ask = std::function<Outcome(std::string_view line, bool too_long)>;
struct Answer {
  Ask ask;
  std::function<std::vector<Error>()> damage;  // what is damaged, where an outcome says so
};

constexpr const char* kTooLong = "over 64 KiB";

struct Opened {
  std::unique_ptr<FilterFile> file;
  std::unique_ptr<Delta> delta;      // null: none
  std::unique_ptr<ExactSide> exact;  // null: none
};

Result<Opened> open_files(const QueryCommand& command) {
  Opened out;
  auto file = FilterFile::open(command.file);
  if (!file) return unexpected(std::move(file).error());
  if (auto ok = (*file)->check_reads(); !ok) return unexpected(std::move(ok).error());
  out.file = *std::move(file);
  const Header& header = out.file->header();
  const bool has_raw = header.find(SectionType::raw) != nullptr;
  const bool has_hosts = header.find(SectionType::hosts) != nullptr || !out.file->networks().empty();
  if (command.raw && !has_raw) return unexpected(Error{Errc::usage, command.file.string(), "holds no raw keys"});
  if (!command.raw && !has_hosts) {
    return unexpected(Error{Errc::usage, command.file.string(), "holds raw keys alone; ask with --raw"});
  }
  if (!command.exact.empty()) {
    auto exact = ExactSide::open(command.exact, header.exact_root);
    if (!exact) return unexpected(std::move(exact).error());
    // What it refutes would pass, so it is believed no sooner than the proxy believes it.
    if (auto whole = (*exact)->verify(FilterFile::Depth::accident); !whole) return unexpected(std::move(whole).error());
    out.exact = *std::move(exact);
  }
  if (command.delta.empty()) return out;
  auto delta = Delta::load(command.delta, out.file->keys(), content_id(header));
  if (!delta) return unexpected(std::move(delta.error().front()));
  out.delta = std::make_unique<Delta>(*std::move(delta));
  return out;
}

// Writes the answers of text, a line each: word, the line as typed, and what belongs to it.
class TextAnswers {
 public:
  explicit TextAnswers(std::ostream& out) : out_(out) {}

  Outcome listed(std::string_view line, std::string_view expression) {
    begin("listed", line);
    text_ += '\t';
    append_printable(text_, expression);
    return end(Outcome::listed);
  }
  Outcome clear(std::string_view line) {
    begin("clear", line);
    return end(Outcome::clear);
  }
  Outcome invalid(std::string_view line, std::string_view reason) {
    begin("invalid", line);
    text_.append("\t").append(reason);
    return end(Outcome::clear);
  }

 private:
  void begin(std::string_view word, std::string_view line) {
    text_.assign(word);
    text_ += '\t';
    append_printable(text_, line);
  }
  Outcome end(Outcome outcome) {
    text_ += '\n';
    out_.write(text_.data(), std::ssize(text_));
    return outcome;
  }

  std::ostream& out_;
  std::string text_;  // keeps its memory from line to line
};

// `policy`: of the filter with what its lists except; null where they except nothing.
Ask url_as_text(const FilterQuery& query, std::shared_ptr<const Policy> policy, std::ostream& out) {
  return [&query, policy = std::move(policy), answers = TextAnswers(out),
          canonicaliser = std::make_shared<Canonicaliser>()](std::string_view line, bool too_long) mutable {
    const CanonicalUrl& url = canonicaliser->url(line);
    if (too_long || url.action == UrlAction::reject) {
      return answers.invalid(line, too_long ? kTooLong : to_string(url.reason));
    }
    const auto match = query.url(url);
    if (query.damage()) return Outcome::damaged;
    if (!match) return answers.clear(line);
    if (policy) {
      const Decision decision = policy->explain(url).verdict.decision;
      if (!policy->damage().empty()) return Outcome::damaged;
      if (decision != Decision::blocked) return answers.clear(line);
    }
    return answers.listed(line, match->expression);
  };
}

Ask raw_as_text(const FilterQuery& query, std::ostream& out) {
  return [&query, answers = TextAnswers(out)](std::string_view line, bool too_long) mutable {
    if (too_long) return answers.invalid(line, kTooLong);
    const auto match = query.raw(line);
    if (query.damage()) return Outcome::damaged;
    return match ? answers.listed(line, line) : answers.clear(line);
  };
}

nlohmann::ordered_json text_or_null(const std::string& text) {
  return text.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(text);
}

void print_fields(std::ostream& out, std::string_view url, const StoryFields& f) {
  print_json(out, {{"url", url},
                   {"action", f.action},
                   {"canonical", text_or_null(f.canonical)},
                   {"alternatives", f.alternatives},
                   {"expressions", f.expressions},
                   {"verdict", f.verdict},
                   {"filter", text_or_null(f.filter)},
                   {"expression", text_or_null(f.expression)},
                   {"reason", f.reason}});
}

StoryFields rejected(const char* reason) {
  StoryFields f;
  f.action = "reject";
  f.verdict = to_string(Decision::rejected);
  f.reason = reason;
  return f;
}

Ask url_as_json(std::shared_ptr<const Policy> policy, std::ostream& out) {
  return [policy = std::move(policy), &out, canonicaliser = std::make_shared<Canonicaliser>()](std::string_view line,
                                                                                               bool too_long) {
    const CanonicalUrl& url = canonicaliser->url(line);
    if (too_long) {
      print_fields(out, line, rejected(kTooLong));
      return Outcome::clear;
    }
    const Story story = policy->explain(url);
    if (!policy->damage().empty()) return Outcome::damaged;
    print_fields(out, line, story_fields(url, story));
    return story.verdict.decision == Decision::blocked ? Outcome::listed : Outcome::clear;
  };
}

Ask raw_as_json(const FilterQuery& query, std::string name, std::ostream& out) {
  return [&query, name = std::move(name), &out](std::string_view line, bool too_long) {
    if (too_long) {
      print_fields(out, line, rejected(kTooLong));
      return Outcome::clear;
    }
    const auto match = query.raw(line);
    if (query.damage()) return Outcome::damaged;
    StoryFields f;
    f.action = "lookup";
    f.canonical = f.expressions.emplace_back(line);
    f.verdict = to_string(match ? Decision::blocked : Decision::allowed);
    f.reason = to_string(!match             ? VerdictReason::unlisted
                         : match->by_delta  ? VerdictReason::delta
                         : match->confirmed ? VerdictReason::confirmed
                                            : VerdictReason::listed);
    if (match) {
      f.filter = name;
      f.expression = line;
    }
    print_fields(out, line, f);
    return match ? Outcome::listed : Outcome::clear;
  };
}

// How one filter is called: its category, else its file's name.
std::string name_of(const FilterFile& file) {
  const auto info = file.info();
  return info && !info->category.empty() ? info->category : file.path().stem().string();
}

Result<std::shared_ptr<const Policy>> policy_of(const QueryCommand& command, const FilterFile& file) {
  PolicySpec spec;
  spec.filters.push_back({.name = name_of(file), .file = command.file, .delta = command.delta, .exact = command.exact});
  Policy::LoadOptions options;
  options.verify = false;  // pages are checked as they are read
  auto policy = Policy::load(spec, options);
  if (!policy) return unexpected(std::move(policy.error().front()));
  return *std::move(policy);
}

// Whether the lists of the filter or of its delta except anything from being stopped.
Result<bool> has_list_exceptions(const QueryCommand& command, const FilterFile& file) {
  std::vector<std::filesystem::path> beside{exceptions_file(command.file, content_id(file.header()))};
  if (!command.delta.empty()) beside.push_back(exceptions_file_of_delta(command.delta));
  for (const std::filesystem::path& path : beside) {
    auto exceptions = read_exceptions(path);
    if (!exceptions) return unexpected(std::move(exceptions).error());
    if (!exceptions->rules.empty()) return true;
  }
  return false;
}

Result<Answer> make_answer(const QueryCommand& command, const FilterQuery& query, const FilterFile& file,
                           std::ostream& out) {
  const auto damage = [&query] {
    const auto found = query.damage();
    return found ? std::vector{*found} : std::vector<Error>{};
  };
  if (command.raw)
    return Answer{command.json ? raw_as_json(query, name_of(file), out) : raw_as_text(query, out), damage};
  if (!command.json) {
    auto excepted = has_list_exceptions(command, file);
    if (!excepted) return unexpected(std::move(excepted).error());
    if (!*excepted) return Answer{url_as_text(query, nullptr, out), damage};
  }
  auto policy = policy_of(command, file);
  if (!policy) return unexpected(std::move(policy).error());
  const auto policy_damage = [&query, policy = *policy] {
    const auto found = query.damage();
    return found ? std::vector{*found} : policy->damage();
  };
  return Answer{command.json ? url_as_json(*policy, out) : url_as_text(query, *policy, out), policy_damage};
}

}  // namespace

int run_query(const QueryCommand& command, const Streams& io) {
  const auto fail = [&](const Error& error) {
    print_error(io.err, error);
    return kExitError;
  };
  const auto opened = open_files(command);
  if (!opened) return fail(opened.error());
  const FilterQuery query(*opened->file, opened->delta.get(), opened->exact.get());
  const auto answer = make_answer(command, query, *opened->file, io.out);
  if (!answer) return fail(answer.error());
  bool any_listed = false;
  bool is_damaged = false;
  const auto ask = [&](std::string_view line, bool too_long) {
    const Outcome outcome = answer->ask(line, too_long);
    any_listed |= outcome == Outcome::listed;
    is_damaged |= outcome == Outcome::damaged;
    return io.out.good() && !is_damaged;  // false: the reader has closed the pipe, or there is nothing to tell it
  };
  if (command.urls.empty() || (command.urls.size() == 1 && command.urls.front() == "-")) {
    say_reading("bloomwall-filter", command.raw ? "a key" : "a URL", io);
    for (LineSource lines(io.in, io.out); lines.next() && ask(lines.line(), lines.too_long());) {
    }
  } else {
    for (const std::string& url : command.urls) {
      if (!ask(url, url.size() > kMaxQueryLine)) break;
    }
  }
  io.out.flush();
  if (is_damaged) return fail(answer->damage().front());
  if (!io.out.good()) return fail({Errc::io, "standard output", "can't be written"});
  if (opened->file->lost())
    return fail({Errc::io, command.file.string(), "shrank or failed while it was read; the answers mean nothing"});
  return any_listed ? kExitListed : kExitDone;
}

}  // namespace bloomwall::filter
