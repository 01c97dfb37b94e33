// SPDX-License-Identifier: Apache-2.0
#include "proxy/answers/squid_helper.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <vector>

#include "base/text.h"

namespace bloomwall::proxy {
namespace {

constexpr std::string_view kIdPlace = "{id}";

bool is_channel(std::string_view word) { return !word.empty() && std::ranges::all_of(word, is_digit); }

// The words of a rewriter's line in the order of an external_acl_type's.
std::string in_order_of_acl(std::string_view line) {
  const std::string_view uri = next_word(line);
  std::string_view client = next_word(line);
  client = client.substr(0, client.find('/'));
  const std::string_view user = next_word(line), method = next_word(line);
  const auto or_none = [](std::string_view word) { return word.empty() ? std::string_view("-") : word; };
  return fmt::format("{} {} {} {}", or_none(uri), or_none(method), or_none(client), or_none(user));
}

std::string_view value_of_log(std::string_view text) {
  constexpr std::string_view kKey = " log=";
  const std::size_t at = text.rfind(kKey);
  return at == std::string_view::npos ? std::string_view() : text.substr(at + kKey.size());
}

}  // namespace

std::string SquidHelper::take(std::string_view line) {
  std::string_view rest = line;
  Open open;
  if (const std::string_view first = next_word(rest); is_channel(first)) {
    open.channel = first;
  } else {
    rest = line;
  }
  const auto at = open_.emplace(++last_, std::move(open)).first;
  at->second.line =
      settings_.rewrites ? fmt::format("{} {}\n", last_, in_order_of_acl(rest)) : fmt::format("{} {}\n", last_, rest);
  return at->second.line;
}

bool SquidHelper::answer(std::string_view line) {
  const std::string_view number = next_word(line);
  std::uint64_t value = 0;
  const auto [end, failed] = std::from_chars(number.data(), number.data() + number.size(), value);
  const auto at = failed == std::errc() && end == number.data() + number.size() ? open_.find(value) : open_.end();
  if (at == open_.end() || !at->second.answer.empty()) return false;
  std::string_view rest = line;
  const std::string_view word = next_word(rest);
  if (word == "BH") {
    finish(at, settings_.fails_closed ? sent_to_page({}) : std::string(line));
  } else if (word == "OK" || word == "ERR") {
    const bool is_page = settings_.rewrites && word == "ERR";
    finish(at, is_page ? sent_to_page(value_of_log(line)) : std::string(line));
  } else {
    return false;
  }
  return true;
}

void SquidHelper::lose(std::string_view why) {
  std::vector<std::uint64_t> numbers;
  for (const auto& [number, open] : open_) {
    if (open.answer.empty()) numbers.push_back(number);
  }
  for (const std::uint64_t number : numbers) finish(open_.find(number), without_verdict(why));
}

std::string SquidHelper::without_verdict(std::string_view why) const {
  return settings_.fails_closed ? sent_to_page({}) : fmt::format("BH message=\"{}\"", why);
}

std::string SquidHelper::sent_to_page(std::string_view id) const {
  std::string page = settings_.page;
  for (std::size_t at = 0; (at = page.find(kIdPlace, at)) != std::string::npos; at += id.size()) {
    page.replace(at, kIdPlace.size(), id);
  }
  return fmt::format("OK status=302 url=\"{}\"", page);
}

// With a channel at once; else once all before it that have none are answered.
void SquidHelper::finish(std::map<std::uint64_t, Open>::iterator at, std::string text) {
  if (!at->second.channel.empty()) {
    answers_.push_back(fmt::format("{} {}\n", at->second.channel, text));
    open_.erase(at);
    return;
  }
  at->second.answer = std::move(text);
  for (auto next = open_.begin(); next != open_.end();) {
    if (!next->second.channel.empty()) {
      ++next;
      continue;
    }
    if (next->second.answer.empty()) return;
    answers_.push_back(next->second.answer + "\n");
    next = open_.erase(next);
  }
}

std::string SquidHelper::open_lines() const {
  std::string lines;
  for (const auto& [number, open] : open_) {
    if (open.answer.empty()) lines += open.line;
  }
  return lines;
}

std::string SquidHelper::next_answer() {
  if (answers_.empty()) return {};
  std::string answer = std::move(answers_.front());
  answers_.pop_front();
  return answer;
}

}  // namespace bloomwall::proxy
