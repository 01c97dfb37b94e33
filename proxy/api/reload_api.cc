// SPDX-License-Identifier: Apache-2.0
#include "proxy/api/reload_api.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "base/terminal.h"

namespace bloomwall::proxy {
namespace {

using nlohmann::ordered_json;

constexpr std::string_view kMethod = "POST", kPath = "/api/v1/reload";
constexpr std::size_t kLongestLine = std::size_t{64} << 10;

std::string line_of(const ordered_json& json) {
  std::ostringstream out;
  print_json(out, json);
  return std::move(out).str();
}

std::string text_line(std::string_view text) {
  std::string one_line(text);
  std::ranges::replace_if(one_line, [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return line_of({{"text", printable(one_line)}});
}

// Parses the lines of the answer as they arrive.
class AnswerReader {
 public:
  explicit AnswerReader(const std::function<void(std::string_view)>& said) : said_(said) {}

  // Only the first line of an error is shown; it has the reason.
  void take(int status, std::string_view piece) {
    if (pending_.size() <= kLongestLine) pending_ += piece;
    if (status != 200) return;
    std::size_t begin = 0;
    for (std::size_t end = 0; (end = pending_.find('\n', begin)) != std::string::npos; begin = end + 1) {
      take_line(std::string_view(pending_).substr(begin, end - begin));
    }
    pending_.erase(0, begin);
  }
  std::string_view first_pending_line() const { return std::string_view(pending_).substr(0, pending_.find('\n')); }
  const ReloadAnswer* answer() const { return is_whole_ ? &answer_ : nullptr; }

 private:
  void take_line(std::string_view line) {
    const auto json = ordered_json::parse(line, nullptr, false);
    if (!json.is_object()) return;
    if (const auto text = json.find("text"); text != json.end() && text->is_string()) {
      said_(text->get_ref<const std::string&>());
    }
    if (const auto pid = json.find("pid"); pid != json.end() && pid->is_number_integer()) answer_.pid = pid->get<int>();
    if (const auto file = json.find("configuration"); file != json.end() && file->is_string()) {
      answer_.configuration = file->get<std::string>();
    }
    if (const auto status = json.find("exit_status"); status != json.end() && status->is_number_integer()) {
      answer_.exit_status = status->get<int>();
      is_whole_ = true;
    }
  }

  const std::function<void(std::string_view)>& said_;
  std::string pending_;
  ReloadAnswer answer_;
  bool is_whole_ = false;
};

}  // namespace

ReloadApi::ReloadApi(EventLoop& loop, const std::filesystem::path& configuration, Reload reload)
    : loop_(loop),
      introduction_(line_of({{"pid", ::getpid()}, {"configuration", printable(configuration.string())}})),
      reload_(std::move(reload)) {}

HttpRoute ReloadApi::route() {
  return {.method = kMethod, .path = kPath, .handler = [this](const HttpRequest& request) {
            return begin(request.stream);
          }};
}

HttpReply ReloadApi::begin(const HttpStream& asker) {
  waiting_.push_back(asker);
  reload_(
      [this, asker](const ReloadOutcome& outcome) { loop_.post([this, asker, outcome] { answer(asker, outcome); }); });
  return {.type = "application/x-ndjson", .body = introduction_, .goes_on = true};
}

void ReloadApi::say(std::string_view text) {
  const std::string line = text_line(text);
  for (const HttpStream& asker : waiting_) asker.write(line);
}

void ReloadApi::answer(const HttpStream& asker, const ReloadOutcome& outcome) {
  std::erase(waiting_, asker);
  for (const std::string& warning : outcome.warnings) asker.write(text_line(warning));
  for (const std::string& line : outcome.lines) asker.write(text_line(line));
  asker.write(line_of({{"exit_status", outcome.status}}));
  asker.end();
}

tl::expected<ReloadAnswer, std::string> ask_to_reload(const std::filesystem::path& socket,
                                                      const std::function<void(std::string_view)>& said,
                                                      const HttpPatience& patience) {
  return ask_and_follow(socket, {kMethod, kPath}, said, patience);
}

tl::expected<ReloadAnswer, std::string> ask_and_follow(const std::filesystem::path& socket,
                                                       const HttpQuestion& question,
                                                       const std::function<void(std::string_view)>& said,
                                                       const HttpPatience& patience) {
  AnswerReader reader(said);
  const auto status =
      ask_http(socket, question, [&](int code, std::string_view piece) { reader.take(code, piece); }, patience);
  if (!status) return tl::unexpected(status.error());
  if (*status != 200) {
    return tl::unexpected(fmt::format("{}: {} {}", socket.string(), *status, reader.first_pending_line()));
  }
  if (reader.answer() == nullptr) {
    return tl::unexpected(fmt::format("{}: bloomwall went away before it answered", socket.string()));
  }
  return *reader.answer();
}

}  // namespace bloomwall::proxy
