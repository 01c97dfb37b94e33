// SPDX-License-Identifier: Apache-2.0
#include "proxy/http/http_date.h"

#include <algorithm>
#include <iterator>

namespace bloomwall::proxy {
namespace {

using std::chrono::floor;

constexpr std::array<std::string_view, 7> kDays{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
constexpr std::array<std::string_view, 12> kMonths{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                   "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

// Calendar and clock of a moment, in UTC.
struct Civil {
  explicit Civil(TimePoint time) {
    const auto day = floor<std::chrono::days>(time);
    const std::chrono::year_month_day date{day};
    const std::chrono::hh_mm_ss clock{floor<std::chrono::milliseconds>(time - day)};
    year = std::clamp(static_cast<int>(date.year()), 0, 9999);
    month = static_cast<unsigned>(date.month());
    day_of_month = static_cast<unsigned>(date.day());
    weekday = std::chrono::weekday{day}.c_encoding();
    hour = static_cast<unsigned>(clock.hours().count());
    minute = static_cast<unsigned>(clock.minutes().count());
    second = static_cast<unsigned>(clock.seconds().count());
    millisecond = static_cast<unsigned>(clock.subseconds().count());
  }
  int year;
  unsigned month, day_of_month, weekday, hour, minute, second, millisecond;
};

// Writes `digits` digits, zero-padded; returns what follows them.
template <typename Out>
Out write_number(Out out, unsigned number, std::size_t digits) {
  std::array<char, 4> text;
  for (std::size_t i = digits; i > 0; number /= 10) text[--i] = static_cast<char>('0' + number % 10);
  return std::copy_n(text.begin(), digits, out);
}
template <typename Out>
Out write_text(Out out, std::string_view text) {
  return std::copy(text.begin(), text.end(), out);
}
template <typename Out>
Out write_clock(Out out, const Civil& civil) {
  out = write_number(out, civil.hour, 2);
  *out++ = ':';
  out = write_number(out, civil.minute, 2);
  *out++ = ':';
  return write_number(out, civil.second, 2);
}

}  // namespace

HttpDate::HttpDate(TimePoint time) {
  const Civil civil(time);
  auto out = write_text(text_.begin(), kDays[civil.weekday]);
  out = write_text(out, ", ");
  out = write_number(out, civil.day_of_month, 2);
  *out++ = ' ';
  out = write_text(out, kMonths[civil.month - 1]);
  *out++ = ' ';
  out = write_number(out, static_cast<unsigned>(civil.year), 4);
  *out++ = ' ';
  write_text(write_clock(out, civil), " GMT");
}

void append_iso8601(std::string& out, TimePoint time) {
  const Civil civil(time);
  std::array<char, std::string_view("2026-01-01T00:00:00.000Z").size()> text;
  auto to = text.begin();
  to = write_number(to, static_cast<unsigned>(civil.year), 4);
  *to++ = '-';
  to = write_number(to, civil.month, 2);
  *to++ = '-';
  to = write_number(to, civil.day_of_month, 2);
  *to++ = 'T';
  to = write_clock(to, civil);
  *to++ = '.';
  to = write_number(to, civil.millisecond, 3);
  *to = 'Z';
  out.append(text.data(), text.size());
}

void append_common_log(std::string& out, TimePoint time) {
  const Civil civil(time);
  auto to = std::back_inserter(out);
  to = write_number(to, civil.day_of_month, 2);
  *to++ = '/';
  to = write_text(to, kMonths[civil.month - 1]);
  *to++ = '/';
  to = write_number(to, static_cast<unsigned>(civil.year), 4);
  *to++ = ':';
  to = write_clock(to, civil);
  write_text(to, " +0000");
}

}  // namespace bloomwall::proxy
