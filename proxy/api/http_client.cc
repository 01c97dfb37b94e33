// SPDX-License-Identifier: Apache-2.0

#include "proxy/api/http_client.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "proxy/http/http1_reader.h"
#include "proxy/io/unix_socket.h"
#include "proxy/reload/loading.h"
#include "proxy/reload/running_socket.h"
#include "proxy/state/json_members.h"

namespace bloomwall::proxy {
namespace {

using Outcome = tl::expected<int, std::string>;

std::string system_reason(int error) {
  if (error == ENOENT || error == ECONNREFUSED) return "no bloomwall listens there";
  if (error == EAGAIN) return "bloomwall accepts no connection";
  return std::generic_category().message(error);
}

void set_receive_timeout(int fd, Milliseconds timeout) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(timeout);
  const timeval time{.tv_sec = seconds.count(), .tv_usec = std::chrono::microseconds(timeout - seconds).count()};
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
}

bool send_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t sent = ::send(fd, text.data(), text.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

// Reads one response incrementally.
class Response {
 public:
  Response(int fd, Method method, const OnHttpBody& on_body, const HttpPatience& patience)
      : fd_(fd), on_body_(on_body), patience_(patience) {
    reader_.start({.method = method});
    set_receive_timeout(fd, patience.head);
  }

  Outcome read() {
    std::array<char, 4096> piece{};
    for (;;) {
      const ssize_t got = ::recv(fd_, piece.data(), piece.size(), 0);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0 && errno == EAGAIN)
        return tl::unexpected(fmt::format("bloomwall has said nothing for {}", silence()));
      if (got <= 0) return finish();
      const auto taken = take({piece.data(), static_cast<std::size_t>(got)});
      if (!taken) return tl::unexpected(taken.error());
      if (reader_.at_end()) return status_;
    }
  }

 private:
  tl::expected<void, std::string> take(std::span<const char> bytes) {
    for (;;) {
      const auto step = reader_.feed(bytes);
      if (!step)
        return tl::unexpected(std::string("what answers there does not speak HTTP; is it an older bloomwall?"));
      bytes = bytes.subspan(step->consumed);
      if (step->event == ReadEvent::need_more || step->event == ReadEvent::end) return {};
      if (step->event == ReadEvent::head) {
        status_ = reader_.head().status;
        set_receive_timeout(fd_, patience_.silence);
      }
      if (step->event == ReadEvent::body) on_body_(status_, {step->body.data(), step->body.size()});
    }
  }
  // A response without a length ends with the connection.
  Outcome finish() {
    const auto step = reader_.finish();
    if (step && step->event == ReadEvent::end) return status_;
    return tl::unexpected(std::string("bloomwall went away before it answered"));
  }
  std::chrono::seconds silence() const {
    return std::chrono::ceil<std::chrono::seconds>(status_ == 0 ? patience_.head : patience_.silence);
  }

  const int fd_;
  const OnHttpBody& on_body_;
  const HttpPatience& patience_;
  const HeadLimits limits_;
  ResponseReader reader_{limits_};
  int status_ = 0;
};

}  // namespace

tl::expected<int, std::string> ask_http(const std::filesystem::path& socket, const HttpQuestion& question,
                                        const OnHttpBody& on_body, const HttpPatience& patience) {
  const auto failure = [&](std::string_view why) {
    return tl::unexpected(fmt::format("{}: {}", socket.string(), why));
  };
  const UniqueFd fd = connect_to(socket);
  if (!fd) return failure(system_reason(errno));
  const std::string request =
      fmt::format("{} {} HTTP/1.1\r\nHost: localhost\r\n{}Content-Length: {}\r\nConnection: close\r\n\r\n{}",
                  question.method, question.path, question.body.empty() ? "" : "Content-Type: application/json\r\n",
                  question.body.size(), question.body);
  if (!send_all(fd.get(), request)) return failure(system_reason(errno));
  auto status = Response(fd.get(), method_of(question.method), on_body, patience).read();
  if (!status) return failure(status.error());
  return status;
}

using nlohmann::ordered_json;

tl::expected<ordered_json, int> ask_running(const std::filesystem::path& config, const HttpQuestion& question,
                                            const Streams& io) {
  constexpr std::size_t kMostAnswer = std::size_t{64} << 20;
  const auto fail = [&](const std::vector<std::string>& lines, int status) {
    print_lines(io.err, lines);
    return tl::unexpected(status);
  };
  const auto socket = find_socket(config);
  if (!socket) return fail(socket.error().lines, socket.error().status);
  std::string body;
  const auto status = ask_http(*socket, question, [&](int, std::string_view piece) {
    if (body.size() < kMostAnswer) body += piece;
  });
  if (!status) return fail({status.error()}, kExitError);
  auto json = ordered_json::parse(body, nullptr, false);
  if (!json.is_object()) return fail({fmt::format("{}: {} {}", socket->string(), *status, body)}, kExitError);
  if (*status < 300) {
    for (const auto& warning : json.value("warnings", ordered_json::array())) {
      if (warning.is_string()) print_lines(io.err, {"warning: " + warning.get<std::string>()});
    }
    return json;
  }
  const auto detail = json.find("detail");
  const bool is_said = detail != json.end() && detail->is_string();
  return fail({is_said ? detail->get<std::string>() : body}, *status < 500 ? kExitRefused : kExitError);
}

tl::expected<ordered_json, int> ask_for_all(const std::filesystem::path& config, const std::string& path,
                                            const Streams& io) {
  ordered_json all = ordered_json::array();
  std::string cursor;
  do {
    const std::string page = cursor.empty() ? path : path + "&cursor=" + cursor;
    auto answer = ask_running(config, {.method = "GET", .path = page}, io);
    if (!answer) return answer;
    for (ordered_json& item : (*answer)["items"]) all.push_back(std::move(item));
    const std::string next = text_member(*answer, "next").value_or("");
    if (!next.empty() && next == cursor) break;
    cursor = next;
  } while (!cursor.empty());
  return ordered_json{{"items", std::move(all)}, {"next", nullptr}};
}

}  // namespace bloomwall::proxy
