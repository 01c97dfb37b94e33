// SPDX-License-Identifier: Apache-2.0
#include "proxy/log/log.h"

#include <poll.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "proxy/log/line_writer.h"

namespace bloomwall::proxy {
namespace {

constexpr std::size_t kQueueBytes = std::size_t{1} << 20;

// Never blocks: if the file's disk is full, a stopped terminal must not stop the daemon as well.
void write_to_stderr(std::string_view line) {
  pollfd room{STDERR_FILENO, POLLOUT, 0};
  if (::poll(&room, 1, 0) == 0) return;
  // No place is left to report a failure of this write.
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
}

// spdlog formats under this sink's lock (lines of the daemon are rare); the LineWriter takes over from there.
class WriterSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit WriterSink(std::unique_ptr<LineWriter> writer) : writer_(std::move(writer)), ring_(writer_->add_ring()) {}
  LineWriter& writer() { return *writer_; }

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    writer_->push(ring_, {line.data(), line.size()});
  }
  void flush_() override {}

  const std::unique_ptr<LineWriter> writer_;
  LineWriter::Ring* const ring_;
};

// The priority that the journal reads from the start of a line (sd-daemon(3)).
class JournalPriority final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&, spdlog::memory_buf_t& out) override {
    const char digit = message.level >= spdlog::level::err    ? '3'
                       : message.level == spdlog::level::warn ? '4'
                       : message.level == spdlog::level::info ? '6'
                                                              : '7';
    out.push_back('<');
    out.push_back(digit);
    out.push_back('>');
  }
  std::unique_ptr<custom_flag_formatter> clone() const override { return std::make_unique<JournalPriority>(); }
};

std::unique_ptr<spdlog::formatter> make_formatter(bool journal) {
  auto formatter = std::make_unique<spdlog::pattern_formatter>(spdlog::pattern_time_type::utc, "\n");
  formatter->add_flag<JournalPriority>('*').set_pattern(journal ? "%*%v" : "%Y-%m-%dT%H:%M:%S.%eZ %-7l %v");
  return formatter;
}

spdlog::level::level_enum level_of(log::Level level) {
  switch (level) {
    case log::Level::debug:
      return spdlog::level::debug;
    case log::Level::info:
      return spdlog::level::info;
    case log::Level::warning:
      return spdlog::level::warn;
    case log::Level::error:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

struct DaemonLog {
  DaemonLog(std::unique_ptr<LineWriter> writer, log::Level level)
      : sink(std::make_shared<WriterSink>(std::move(writer))), logger("bloomwall", sink) {
    sink->set_formatter(make_formatter(sink->writer().is_journal()));
    logger.set_level(level_of(level));
  }
  std::shared_ptr<WriterSink> sink;
  spdlog::logger logger;
};

std::atomic<DaemonLog*> current{nullptr};

// Never freed: a thread that is writing a line may still use a log that was closed. A process has one, except in tests.
void keep_for_ever(std::unique_ptr<DaemonLog> log) {
  static std::mutex mutex;
  static auto* const all = new std::vector<std::unique_ptr<DaemonLog>>;
  const std::lock_guard lock(mutex);
  all->push_back(std::move(log));
}

bool is_control(char c) { return (c >= 0 && c < 0x20) || c == 0x7f; }

std::string without_controls(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (is_control(c)) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

tl::expected<void, std::string> open_log(const conf::Log& settings) {
  auto writer = LineWriter::open(settings.file, kQueueBytes, [](const std::string& what) {
    // Said where it may yet be read: the log itself is what does not work.
    write_to_stderr(fmt::format("log {}\n", what));
  });
  if (!writer) return tl::unexpected("log.file: " + writer.error());
  auto log = std::make_unique<DaemonLog>(std::move(*writer), settings.level);
  current.store(log.get());
  keep_for_ever(std::move(log));
  return {};
}

void reopen_log(const conf::Log& settings) {
  DaemonLog* const log = current.load();
  if (log == nullptr) return;
  log->logger.set_level(level_of(settings.level));
  log->sink->writer().reopen(settings.file);
}

void close_log(std::chrono::milliseconds bound) {
  if (DaemonLog* const log = current.exchange(nullptr); log != nullptr) log->sink->writer().close(bound);
}

bool flush_log(std::chrono::milliseconds bound) {
  DaemonLog* const log = current.load();
  return log == nullptr || log->sink->writer().flush(bound);
}

std::uint64_t log_lines_dropped() {
  const DaemonLog* const log = current.load();
  return log == nullptr ? 0 : log->sink->writer().dropped();
}

namespace log {

bool wanted(Level level) noexcept {
  const DaemonLog* const log = current.load();
  return log == nullptr ? level >= Level::info : log->logger.should_log(level_of(level));
}

void write(Level level, std::string_view text) noexcept {
  std::string clean;
  if (std::ranges::any_of(text, is_control)) text = clean = without_controls(text);
  if (DaemonLog* const log = current.load(); log != nullptr) {
    log->logger.log(level_of(level), spdlog::string_view_t(text.data(), text.size()));
  } else {
    write_to_stderr(fmt::format("{}\n", text));
  }
}

}  // namespace log
}  // namespace bloomwall::proxy
