// SPDX-License-Identifier: Apache-2.0
#include "proxy/telemetry/access_record.h"

#include <algorithm>
#include <array>

#include "proxy/http/escape.h"
#include "proxy/http/serialise.h"

namespace bloomwall::proxy {
namespace {

using conf::AccessLog;

constexpr std::size_t kMostUrl = 8192;
constexpr std::size_t kMostReferer = 2048;
constexpr std::size_t kMostOther = 1024;

// "12.345" of microseconds.
void append_milliseconds(std::string& out, std::chrono::microseconds time) {
  const auto count = static_cast<std::uint64_t>(std::max<std::int64_t>(time.count(), 0));
  append_number(out, count / 1000);
  out.push_back('.');
  append_number(out, count % 1000, 3);
}

// What may be shown of a URL, or of the entry that it has met: without what follows '?' where that is wished.
std::string_view shown(std::string_view url, const LogStyle& style) {
  if (style.strip_query) url = url.substr(0, std::min(url.find('?'), url.size() - 1) + 1);
  return url;
}

// At most so many octets of a text, and neither a part of a character nor of a %XX at its end.
std::string_view beginning(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  const auto is_inside_character = [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) == 0x80U; };
  std::size_t end = most;
  for (int i = 0; i < 3 && end > 0 && is_inside_character(text[end]); ++i) --end;
  for (std::size_t back = 1; back <= 2 && back <= end; ++back) {
    if (text[end - back] == '%') return text.substr(0, end - back);
  }
  return text.substr(0, end);
}

// How much of each text is shown: with each step half as much, so that a line gets short enough for its reader.
struct TextBounds {
  int step = 0;
  static constexpr int kLastStep = 9;
  std::size_t of(std::size_t most) const { return std::max<std::size_t>(most >> step, 16); }
};

// Where readers know no field that could say that a URL was cut.
void append_url_or_beginning(std::string& out, std::string_view url, std::size_t most) {
  const std::string_view begin = beginning(url, most);
  append_log_bare(out, begin);
  if (begin.size() < url.size()) out.append("...");
}

// A member's name as it stands in the line, `,"name":`, made by the compiler.
class JsonKey {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor): a key is written as its name
  consteval JsonKey(const char* name) {
    append(",\"");
    append(name);
    append("\":");
  }
  std::string_view text() const { return {text_.data(), size_}; }
  std::string_view first() const { return text().substr(1); }  // where it follows '{'

 private:
  consteval void append(std::string_view part) {
    for (const char c : part) text_[size_++] = c;
  }
  std::array<char, 40> text_{};
  std::size_t size_ = 0;
};

// Members of one JSON object, of which the start time is the first; empty texts and zero times are left out.
class JsonLine {
 public:
  JsonLine(std::string& out, const JsonKey& key, TimePoint start, TextBounds bounds) : out_(out), bounds_(bounds) {
    out_.append("{").append(key.first()).append("\"");
    append_iso8601(out_, start);
    out_.push_back('"');
  }
  void text(const JsonKey& key, std::string_view value, std::size_t most = kMostOther) {
    if (value.empty()) return;
    const std::string_view begin = beginning(value, bounds_.of(most));
    out_.append(key.text()).push_back('"');
    append_json(out_, begin);
    out_.push_back('"');
    if (begin.size() == value.size()) return;
    const std::string_view name = key.text().substr(0, key.text().size() - 2);  // without the '":'
    out_.append(name).append("_cut\":true");
  }
  void number(const JsonKey& key, std::uint64_t value) { append_number(out_.append(key.text()), value); }
  void flag(const JsonKey& key, bool value) { out_.append(key.text()).append(value ? "true" : "false"); }
  void milliseconds(const JsonKey& key, std::chrono::microseconds value) {
    append_milliseconds(out_.append(key.text()), value);
  }
  void endpoint(const JsonKey& key, std::string_view address, std::uint16_t port) {
    if (address.empty()) return;
    const bool v6 = address.find(':') != std::string_view::npos;
    append_json(out_.append(key.text()).append(v6 ? "\"[" : "\""), address);
    append_number(out_.append(v6 ? "]:" : ":"), port);
    out_.push_back('"');
  }
  void end() { out_.append("}\n"); }

 private:
  std::string& out_;
  TextBounds bounds_;
};

void append_tls_ends(JsonLine& line, const AccessRecord& record) {
  line.text("tls_client", record.tls_client);
  line.text("tls_origin", record.tls_origin);
  if (record.tls_client_resumed) line.flag("tls_client_resumed", true);
  if (record.tls_origin_resumed) line.flag("tls_origin_resumed", true);
  if (record.tls_client_alert != 0) line.number("tls_client_alert", record.tls_client_alert);
  if (record.tls_origin_alert != 0) line.number("tls_origin_alert", record.tls_origin_alert);
  line.text("tls_error", record.tls_error);
}

bool is_open(filter::Decision decision) {
  return decision == filter::Decision::allowed || decision == filter::Decision::monitored;
}

void append_json_line(std::string& out, const AccessRecord& record, const LogStyle& style, TextBounds bounds) {
  // A request that the access rules refused was not forwarded, whatever the filters' verdict.
  const bool refused = record.refused && is_open(record.decision);
  JsonLine line(out, "start_time", record.start, bounds);
  const bool holds_requests = record.tunnel && record.method == "CONNECT";
  line.text("id", holds_requests && record.decision_id.empty() ? record.tunnel_id : record.decision_id);
  if (!holds_requests) line.text("in", record.tunnel_id);
  line.text("trace_id", record.trace_id);
  line.endpoint("inbound_remote_addr", record.client, record.client_port);
  line.text("user", record.user);
  line.text("listener", record.listener);
  const bool is_connect = record.tunnel || record.method == "CONNECT";
  line.text("proxy_type", is_connect           ? "connect"
                          : record.intercepted ? "https_in_tunnel"
                          : record.inside      ? "http_in_tunnel"
                                               : "http");
  if (record.http2) line.flag("http2", true);
  line.text("method", record.method);
  line.text("url", shown(record.url, style), kMostUrl);
  line.text("requested_host", record.host);
  line.text("sni", record.sni);
  line.text("tls_action", record.tls_action);
  line.text("tls_reason", record.tls_reason);
  append_tls_ends(line, record);
  line.number("status", static_cast<std::uint64_t>(std::max(record.status, 0)));
  line.flag("allow", !was_stopped(record));
  line.text("decision", refused ? "refused" : filter::to_string(record.decision));
  line.text("decision_reason", refused ? record.error : std::string_view(filter::to_string(record.reason)));
  if (record.decision == filter::Decision::monitored) line.flag("enforce_would_deny", true);
  line.text("group", record.group);
  line.text("filter", record.filter);
  line.text("expression", shown(record.expression, style), kMostReferer);
  line.text("asked_as", record.asked_as);
  if (record.exception != 0) line.number("exception_id", record.exception);
  if (record.exception != 0) line.number("exception", record.exception);  // the old name, until 0.2
  line.text("dialled_as", record.dialled_as);
  line.text("outbound_remote_addr", record.peer);
  if (record.reused) line.flag("reused", true);
  line.number("bytes_sent", record.bytes_sent);
  line.number("bytes_received", record.bytes_received);
  line.milliseconds("duration_ms", record.duration);
  if (record.dns.count() > 0) line.milliseconds("dns_lookup_time_ms", record.dns);
  if (record.connect.count() > 0) line.milliseconds("conn_establish_time_ms", record.connect);
  line.text("content_type", record.content_type);
  line.text("referer", shown(record.referer, style), kMostReferer);
  line.text("user_agent", record.user_agent);
  line.text("error", record.error);
  line.text("error_detail", record.detail);
  line.end();
}

// Squid's words for what happened, which log analysers know.
std::string_view result_tag(const AccessRecord& record) {
  // Refused where the client hears nothing of it, too: in a tunnel, or because it was closed without a word.
  const bool is_refused =
      record.refused && (record.status == 403 || record.status == 407 || record.status == 0 || record.tunnel);
  const bool own_403 = record.status == 403 && record.peer.empty();
  if (record.decision == filter::Decision::blocked || is_refused || own_403) return "TCP_DENIED";
  if (record.method.empty() || record.decision == filter::Decision::rejected) return "NONE_NONE";
  if (record.tunnel) return "TCP_TUNNEL";
  return record.peer.empty() ? "NONE_NONE" : "TCP_MISS";
}
std::string_view hierarchy(const AccessRecord& record) {
  if (record.peer.empty()) return "HIER_NONE";
  return record.peer_is_parent ? "FIRSTUP_PARENT" : "HIER_DIRECT";
}

// Where more is known than the format has words for: what decided, and the id that stands on the page.
void append_decision(std::string& out, const AccessRecord& record, TextBounds bounds) {
  if (record.decision_id.empty() && record.error.empty()) return;
  const bool by_filter = record.decision == filter::Decision::blocked || record.decision == filter::Decision::monitored;
  out.push_back(' ');
  if (by_filter && !record.filter.empty()) {
    append_log_bare(out.append("filter:"), beginning(record.filter, bounds.of(kMostOther)));
  } else if (!record.error.empty()) {
    append_log_bare(out.append("error:"), beginning(record.error, bounds.of(kMostOther)));
  } else {
    out.push_back('-');
  }
  out.push_back(' ');
  append_log_bare(out, record.decision_id);
}

void append_combined_line(std::string& out, const AccessRecord& record, const LogStyle& style, TextBounds bounds) {
  append_log_bare(out, record.client);
  out.append(" - ");
  append_log_bare(out, record.user.substr(0, bounds.of(kMostOther)));
  out.append(" [");
  append_common_log(out, record.start);
  out.append("] \"");
  append_log_quoted(out, record.method.empty() ? "-" : record.method.substr(0, bounds.of(kMostOther)));
  out.push_back(' ');
  append_url_or_beginning(out, shown(record.url, style), bounds.of(kMostUrl));
  out.append(record.http10 ? " HTTP/1.0\" " : record.http2 ? " HTTP/2.0\" " : " HTTP/1.1\" ");
  append_number(out, static_cast<std::uint64_t>(std::max(record.status, 0)), 3);
  out.push_back(' ');
  append_number(out, record.bytes_sent);
  out.append(" \"");
  append_log_quoted(out,
                    record.referer.empty() ? "-" : beginning(shown(record.referer, style), bounds.of(kMostReferer)));
  out.append("\" \"");
  append_log_quoted(out, record.user_agent.empty() ? "-" : beginning(record.user_agent, bounds.of(kMostOther)));
  out.append("\" ").append(result_tag(record)).append(1, ':').append(hierarchy(record));
  append_decision(out, record, bounds);
  out.push_back('\n');
}

void append_squid_line(std::string& out, const AccessRecord& record, const LogStyle& style, TextBounds bounds) {
  using std::chrono::milliseconds;
  const auto end = std::chrono::duration_cast<milliseconds>(record.start.time_since_epoch() + record.duration);
  const auto stamp = static_cast<std::uint64_t>(std::max<std::int64_t>(end.count(), 0));
  append_number(out, stamp / 1000);
  out.push_back('.');
  append_number(out, stamp % 1000, 3);
  out.push_back(' ');
  const auto took = std::chrono::duration_cast<milliseconds>(record.duration).count();
  append_number(out, static_cast<std::uint64_t>(std::max<std::int64_t>(took, 0)), 6, ' ');
  out.push_back(' ');
  append_log_bare(out, record.client);
  out.append(1, ' ').append(result_tag(record)).push_back('/');
  append_number(out, static_cast<std::uint64_t>(std::max(record.status, 0)), 3);
  out.push_back(' ');
  append_number(out, record.bytes_sent);
  out.push_back(' ');
  append_log_bare(out, record.method.substr(0, bounds.of(kMostOther)));
  out.push_back(' ');
  append_url_or_beginning(out, shown(record.url, style), bounds.of(kMostUrl));
  out.push_back(' ');
  append_log_bare(out, record.user.substr(0, bounds.of(kMostOther)));
  out.append(1, ' ').append(hierarchy(record)).push_back('/');
  append_log_bare(out, beginning(record.peer.substr(0, record.peer.rfind(':')),
                                 bounds.of(kMostOther)));  // Squid writes the address without the port
  out.push_back(' ');
  // A media type as Squid writes it, without parameters.
  append_log_bare(
      out, record.content_type.substr(0, std::min(record.content_type.find_first_of("; "), bounds.of(kMostOther))));
  append_decision(out, record, bounds);
  out.push_back('\n');
}

void append_as(std::string& out, const AccessRecord& record, const LogStyle& style, TextBounds bounds) {
  switch (style.format) {
    case AccessLog::Format::json:
      return append_json_line(out, record, style, bounds);
    case AccessLog::Format::combined:
      return append_combined_line(out, record, style, bounds);
    case AccessLog::Format::squid:
      return append_squid_line(out, record, style, bounds);
  }
}

}  // namespace

bool was_stopped(const AccessRecord& record) { return record.refused || !is_open(record.decision); }

void append_line(std::string& out, const AccessRecord& record, const LogStyle& style) {
  const std::size_t begin = out.size();
  for (TextBounds bounds;; ++bounds.step) {
    append_as(out, record, style, bounds);
    if (style.most == 0 || out.size() - begin <= style.most || bounds.step == TextBounds::kLastStep) return;
    out.resize(begin);
  }
}

}  // namespace bloomwall::proxy
