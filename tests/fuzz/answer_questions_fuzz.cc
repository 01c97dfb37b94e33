// Any text as what other programs ask: a line of Squid, and a request of forward authentication. What is taken is one
// question, whose target can be a target and nothing else, and the helper answers each line once.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "proxy/answers/http_answers.h"
#include "proxy/answers/squid_answers.h"
#include "proxy/answers/squid_helper.h"
#include "proxy/http/http1_reader.h"
#include "tests/fuzz/require.h"

namespace {

using bloomwall::fuzz::require;

bool holds_line_end(std::string_view text) { return text.find_first_of("\r\n") != std::string_view::npos; }

void ask_by_squid(std::string_view text) {
  using namespace bloomwall::proxy;
  const std::string_view line = text.substr(0, text.find('\n'));
  HelperQuestion read;
  const bool is_taken = read_helper_line(line, read).has_value();
  require(read.channel.size() <= 20);
  require(std::ranges::all_of(read.channel, [](char c) { return c >= '0' && c <= '9'; }));
  if (is_taken) require(!read.target.empty() && !read.method.empty() && read.target.find(' ') == std::string::npos);
  SquidHelper helper({});
  const std::string asked = helper.take(line);
  require(asked.ends_with('\n') && asked.find('\n') == asked.size() - 1);
  require(helper.has_open() && helper.next_answer().empty());
  if (!helper.answer(text.substr(0, text.find('\n')))) helper.lose("away");
  const std::string answer = helper.next_answer();
  require(answer.ends_with('\n') && answer.find('\n') == answer.size() - 1);
  require(!helper.has_open() && helper.next_answer().empty());
}

void ask_by_http(std::string_view text) {
  using namespace bloomwall::proxy;
  std::string head_text = "GET / HTTP/1.1\r\n";
  head_text.append(text).append("\r\n\r\n");
  const HeadLimits limits;
  RequestReader reader(limits);
  const auto step = reader.feed(head_text);
  if (!step || step->event != ReadEvent::head) return;
  const auto question = read_forward_auth(reader.head());
  if (!question) return;
  require(question->target.starts_with("http://") || question->target.starts_with("https://"));
  require(!holds_line_end(question->target) && !question->method.empty());
  if (!question->forwarded_for) return;
  const auto client = forwarded_client(*question->forwarded_for, [](const Endpoint&) { return false; });
  if (client) require(question->forwarded_for->find(client->ip().substr(0, 1)) != std::string::npos || client->is_v6());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::vector<char> exact(data, data + size);
  const std::string_view text(exact.data(), exact.size());
  ask_by_squid(text);
  ask_by_http(text);
  return 0;
}
