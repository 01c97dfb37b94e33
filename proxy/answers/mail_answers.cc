// SPDX-License-Identifier: Apache-2.0
#include "proxy/answers/mail_answers.h"

#include <optional>

#include "proxy/decision/snapshot.h"

namespace bloomwall::proxy {
namespace {

constexpr std::string_view kMailMap = "mail";
constexpr std::size_t kMostGathered = std::size_t{32} << 10;  // octets of answers that leave together

// `found` with the name of the filter and the decision id in place of {filter} and {id}.
std::string found_text(std::string_view found, const KeyAnswer& answer) {
  constexpr std::string_view kFilter = "{filter}", kId = "{id}";
  std::string out;
  while (!found.empty()) {
    if (found.starts_with(kFilter)) {
      out += answer.filter;
      found.remove_prefix(kFilter.size());
    } else if (found.starts_with(kId)) {
      out += answer.decision_id;
      found.remove_prefix(kId.size());
    } else {
      out += found.front();
      found.remove_prefix(1);
    }
  }
  return out;
}

}  // namespace

std::size_t MailAnswers::on_data(std::span<const char> octets) {
  std::size_t used = 0;
  bool is_broken = false;
  while (used < octets.size() && !is_broken && !is_waiting() && out_.size() < kMostGathered) {
    const Frame frame = read(octets.subspan(used));
    used += frame.consumed;
    if (frame.state == Frame::State::complete) answer();
    is_broken = frame.state == Frame::State::broken;
  }
  if (is_broken) {
    append_answer(out_, TableResult::refused, "this is no question of the protocol, or it is too long");
    asker_.finish();
    used = octets.size();
  }
  flush();
  return used;
}

// The frame that was read; again after a wait.
void MailAnswers::answer() {
  const auto question = parse();
  if (!question) {
    append_answer(out_, TableResult::refused, question.error());
    return next();
  }
  const std::string_view filter = question->name == kMailMap ? std::string_view() : question->name;
  const std::optional<KeyAnswer> found = desk_.ask({.key = question->key, .filter = filter, .method = method()});
  if (!found) return;
  append(*found);
  next();
}

void MailAnswers::append(const KeyAnswer& answer) {
  switch (answer.kind) {
    case KeyAnswer::Kind::listed:
      return append_answer(out_, TableResult::found, found_text(asker_.rules().found, answer));
    case KeyAnswer::Kind::unlisted:
      return append_answer(out_, TableResult::not_found, "not listed");
    case KeyAnswer::Kind::unknown:
      return append_answer(out_, TableResult::later, answer.why);
    case KeyAnswer::Kind::wrong:
      return append_answer(out_, TableResult::refused, answer.why);
  }
}

void MailAnswers::on_keys_ready() {
  answer();
  flush();
  if (!is_waiting()) asker_.on_waited();
}

void MailAnswers::flush() {
  if (out_.empty()) return;
  asker_.send(out_);
  out_.clear();
}

MailAnswers::Frame SocketmapAnswers::read(std::span<const char> octets) {
  const NetstringReader::Step step = reader_.feed(octets);
  switch (step.event) {
    case NetstringReader::Event::need_more:
      return {Frame::State::incomplete, step.consumed};
    case NetstringReader::Event::text:
      return {Frame::State::complete, step.consumed};
    case NetstringReader::Event::malformed:
    case NetstringReader::Event::too_long:
      break;
  }
  return {Frame::State::broken, step.consumed};
}

MailAnswers::Frame TcpTableAnswers::read(std::span<const char> octets) {
  const TableLineReader::Step step = reader_.feed({octets.data(), octets.size()});
  switch (step.event) {
    case TableLineReader::Event::need_more:
      return {Frame::State::incomplete, step.consumed};
    case TableLineReader::Event::line:
      return {Frame::State::complete, step.consumed};
    case TableLineReader::Event::too_long:
      break;
  }
  return {Frame::State::broken, step.consumed};
}

}  // namespace bloomwall::proxy
