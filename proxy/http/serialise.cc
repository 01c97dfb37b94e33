// SPDX-License-Identifier: Apache-2.0

#include "proxy/http/serialise.h"

#include <fmt/chrono.h>

namespace bloomwall::proxy {
namespace {

using std::chrono::floor;
using Second = std::chrono::sys_seconds;

// One form of a second, and the last one written.
class SecondText {
 public:
  explicit SecondText(fmt::format_string<std::tm> form) : form_(form) {}
  std::string_view of(Second second) {
    if (text_.empty() || second != second_) {
      second_ = second;
      text_ = fmt::format(form_, fmt::gmtime(std::chrono::system_clock::to_time_t(second)));
    }
    return text_;
  }

 private:
  fmt::format_string<std::tm> form_;
  Second second_{};
  std::string text_;
};

}  // namespace

std::string_view http_date(TimePoint time) {
  thread_local SecondText last("{:%a, %d %b %Y %H:%M:%S GMT}");
  return last.of(floor<std::chrono::seconds>(time));
}

void append_iso8601(std::string& out, TimePoint time) {
  thread_local SecondText last("{:%Y-%m-%dT%H:%M:%S.}");
  const auto second = floor<std::chrono::seconds>(time);
  out.append(last.of(second));
  append_number(out, static_cast<std::uint64_t>(floor<std::chrono::milliseconds>(time - second).count()), 3);
  out.push_back('Z');
}

void append_common_log(std::string& out, TimePoint time) {
  thread_local SecondText last("{:%d/%b/%Y:%H:%M:%S +0000}");
  out.append(last.of(floor<std::chrono::seconds>(time)));
}

}  // namespace bloomwall::proxy
