// Where a log goes: a path, "stdout", "stderr", or the machine's own log, "journal" or "syslog" (log_frame.h), to which
// each line is a datagram; one that is too long for that is left out. Writing never waits for a reader: a pipe, a
// terminal and a socket (the journal) take what they have room for and no more. A regular file takes as long as its
// disk takes.
// Writes to a pipe are at most PIPE_BUF octets and end at a line's end where there is one, so that other writers to the
// same pipe do not interleave (POSIX write()). Not thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

#include "base/handles.h"

namespace bloomwall::proxy {

class OutputFile {
 public:
  // The error is "TARGET: why". A file is made with mode 0640; a FIFO must have its reader.
  static tl::expected<OutputFile, std::string> open(const std::string& target);

  // Of a socket for datagrams; open() knows the paths of "journal" and "syslog".
  static tl::expected<OutputFile, std::string> open_socket(const std::string& target, const std::string& path);

  struct Written {
    std::size_t bytes = 0;
    int error = 0;  // 0; EAGAIN: no room now, poll fd() for POLLOUT; else an errno
  };
  static constexpr std::size_t kMostPieces = 64;  // that a write looks at; the rest is left for the next
  Written write(std::span<const std::string_view> pieces);
  tl::expected<void, std::string> reopen();  // a path: opens it by name again; failure keeps the old one

  int fd() const { return fd_.get(); }
  // Device and inode: equal where a file that was opened again is the one it was.
  std::pair<std::uint64_t, std::uint64_t> identity() const;
  const std::string& target() const { return target_; }
  bool is_journal() const;  // what systemd made for stdout and stderr of a service

 private:
  enum class Kind : std::uint8_t { regular, socket, datagrams, other };
  OutputFile(std::string target, UniqueFd fd);
  Written write_some(std::span<const std::string_view> pieces);
  Written send_line(std::span<const std::string_view> pieces);

  std::string target_;
  std::string socket_;  // its path; empty: it is no socket of datagrams
  UniqueFd fd_;
  Kind kind_ = Kind::other;
};

}  // namespace bloomwall::proxy
