// SPDX-License-Identifier: Apache-2.0
#include "proxy/answers/squid_answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/text.h"
#include "proxy/auth/helper_line.h"

namespace bloomwall::proxy {
namespace {

// What Squid fetches by URL. Neither scheme nor port counts in a verdict, and these are asked about as URLs of http.
constexpr std::array<std::string_view, 3> kLikeHttp{"ftp", "ws", "http"};
constexpr std::array<std::string_view, 2> kLikeHttps{"https", "wss"};

// "-" is none.
std::string value_of(std::string_view word) { return word == "-" ? std::string() : unescape_of_helper(word); }

// Squid writes the brackets of an address of IPv6 as %5B and %5D, which stand nowhere else in a host.
std::string with_brackets(std::string_view uri, std::size_t host) {
  constexpr std::string_view kOpen = "%5B", kClose = "%5D";
  std::string out(uri);
  if (!uri.substr(host).starts_with(kOpen)) return out;
  const std::size_t end = uri.find(kClose, host);
  if (end == std::string_view::npos || end > uri.find_first_of("/?", host)) return out;
  return out.replace(end, kClose.size(), "]").replace(host, kOpen.size(), "[");
}

// Of what a request line must not have Squid tells an external_acl_type in escapes, and a rewriter as it came.
std::string with_escapes(std::string_view uri) {
  std::string out;
  for (const char c : uri) {
    out += c == '#' ? std::string("%23") : c == '\\' ? std::string("%5C") : std::string(1, c);
  }
  return out;
}

// False: there are more of them than may be asked about.
bool cut_at_marks(HelperQuestion& out) {
  constexpr std::string_view kMark = "%23";
  std::size_t at = 0;
  while ((at = out.target.find(kMark, at)) != std::string::npos) {
    if (out.cuts.size() == Question::kMostReadings) return false;
    out.cuts.push_back(out.target.substr(0, at));
    at += kMark.size();
  }
  return true;
}

// The URI as it is judged, and the method, which CONNECT may stand for.
bool name_target(std::string_view uri, HelperQuestion& out) {
  const std::size_t end = uri.find("://");
  if (out.method == "CONNECT" || (out.method.empty() && end == std::string_view::npos)) {
    out.method = "CONNECT";
    out.target = with_brackets(uri, 0);
    return true;
  }
  if (out.method.empty()) out.method = "GET";
  if (end == std::string_view::npos) return false;
  const std::string_view scheme = uri.substr(0, end);
  const bool is_http = is_one_of(scheme, kLikeHttp), is_https = is_one_of(scheme, kLikeHttps);
  out.target = std::string(is_https ? "https" : "http").append(with_brackets(uri, end + 3).substr(end));
  return is_http || is_https;
}

}  // namespace

// %URI comes escaped once more where it holds blanks and the like alone, so the URL's own escapes are not touched.
tl::expected<void, std::string_view> read_helper_line(std::string_view line, HelperQuestion& out) {
  out = {};
  std::string_view rest = line;
  std::string_view word = next_word(rest);
  if (!word.empty() && std::ranges::all_of(word, is_digit)) {
    if (word.size() > 20) return tl::unexpected(std::string_view("a channel of more than 20 digits"));
    out.channel = word;
    word = next_word(rest);
  }
  const std::string uri = with_escapes(word);
  if (uri.empty() || uri == "-") return tl::unexpected(std::string_view("a line without a URI"));
  out.method = value_of(next_word(rest));
  out.client = value_of(next_word(rest));
  out.user = value_of(next_word(rest));
  if (!name_target(uri, out))
    return tl::unexpected(std::string_view("a URI of another scheme than http, https and ftp"));
  if (out.method != "CONNECT" && !cut_at_marks(out)) {
    return tl::unexpected(std::string_view("a URI with more than 16 %23, which # may have been"));
  }
  return {};
}

std::size_t SquidAnswers::on_data(std::span<const char> octets) {
  const std::string_view text(octets.data(), octets.size());
  const std::size_t end = text.find('\n');
  const std::string_view piece = text.substr(0, end);
  if (line_.size() + piece.size() > kMostLine) {
    reply({}, "BH message=\"a line of more than 64 KiB\"");
    asker_.finish();
    return octets.size();
  }
  line_.append(piece);
  if (end == std::string_view::npos) return octets.size();
  const std::string line = std::exchange(line_, {});
  take(line.ends_with('\r') ? std::string_view(line).substr(0, line.size() - 1) : std::string_view(line));
  return end + 1;
}

void SquidAnswers::take(std::string_view line) {
  HelperQuestion read;
  if (const auto good = read_helper_line(line, read); !good) {
    return reply(read.channel, fmt::format("ERR message=\"{}\"", good.error()));
  }
  Question question{.target = read.target, .also = read.cuts, .method = read.method, .user = read.user};
  if (!read.client.empty() && asker_.is_trusted()) {
    question.client = Endpoint::parse_ip(read.client);
    if (!question.client) return reply(read.channel, "ERR message=\"the client is no address\"");
  }
  is_in_order_ = read.channel.empty();
  channels_.emplace(++last_tag_, std::move(read.channel));
  asker_.ask(question, last_tag_);
}

void SquidAnswers::on_answer(std::uint64_t tag, const Answer& answer) {
  const auto at = channels_.find(tag);
  const std::string channel = std::move(at->second);
  channels_.erase(at);
  if (channel.empty()) is_in_order_ = false;
  switch (answer.kind) {
    case Answer::Kind::pass:
      return reply(channel, "OK");
    case Answer::Kind::block:
      return reply(channel, answer.filter.empty()
                                ? fmt::format("ERR message=\"Blocked, decision {0}\" log={0}", answer.decision_id)
                                : fmt::format("ERR message=\"Blocked by filter {0}, decision {1}\" log={1}",
                                              answer.filter, answer.decision_id));
    case Answer::Kind::refuse:
      return reply(channel, fmt::format("ERR message=\"Refused: {}\"", answer.reason));
    case Answer::Kind::unknown:
      return reply(channel, fmt::format("BH message=\"No verdict: {}\"", answer.reason));
  }
}

void SquidAnswers::reply(std::string_view channel, std::string_view text) {
  asker_.send(channel.empty() ? fmt::format("{}\n", text) : fmt::format("{} {}\n", channel, text));
}

}  // namespace bloomwall::proxy
