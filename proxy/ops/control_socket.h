// The door for `bloomwall reload`: a unix socket that only local users with permission to write to it can open (0660).
// One line asks ("reload\n", at most kLongestRequest octets); answered with "from PID CONFIGURATION\n", any number of
// "say TEXT\n" and one "status N\n", where N is the exit status of the command that asked, then the end.
// Bounds: so many connections at a time (the oldest that waits for nothing goes for a new one), so much patience until the
// request is whole and until the answer is taken.
// Thread: the loop's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "proxy/io/transport.h"
#include "proxy/net/acceptor.h"
#include "proxy/ops/reloader.h"

namespace bloomwall::proxy {

class ControlSocket final : Acceptor::Handler {
 public:
  static constexpr std::size_t kLongestRequest = 64;
  struct Bounds {
    std::size_t connections = 32;
    Milliseconds patience{5000};
  };

  // Called with the number of the connection that wants a reload; answer() it later, from the loop.
  using OnReload = std::function<void(std::uint64_t id)>;

  // Takes over a socket that a dead process left; refuses where a living one listens, or something else is there.
  static tl::expected<std::unique_ptr<ControlSocket>, std::string> open(IoContext& io,
                                                                        const std::filesystem::path& path,
                                                                        OnReload on_reload, Bounds bounds);
  static tl::expected<std::unique_ptr<ControlSocket>, std::string> open(IoContext& io,
                                                                        const std::filesystem::path& path,
                                                                        OnReload on_reload) {
    return open(io, path, std::move(on_reload), Bounds{});
  }
  ~ControlSocket();  // removes the socket's name, unless somebody else has taken it meanwhile
  ControlSocket(const ControlSocket&) = delete;
  ControlSocket& operator=(const ControlSocket&) = delete;

  // What this process serves, so that whoever asks sees whether it is the one that was meant.
  void set_configuration(const std::filesystem::path& file) { configuration_ = file.string(); }
  void answer(std::uint64_t id, const ReloadOutcome& outcome);  // nothing happens where the asker has gone
  void say(const std::string& text);                            // to everybody who waits

 private:
  class Connection;
  ControlSocket(IoContext& io, std::filesystem::path path, OnReload on_reload, Bounds bounds, ListeningSocket socket);
  void on_accepted(UniqueFd fd, const Endpoint& client, const Acceptor& from) override;
  void on_request(std::uint64_t id, std::string_view request);
  void on_closed(std::uint64_t id);

  IoContext& io_;
  const std::filesystem::path path_;
  const OnReload on_reload_;
  const Bounds bounds_;
  std::string configuration_;
  std::uint64_t device_ = 0, inode_ = 0;  // of the name, as this process made it
  std::map<std::uint64_t, std::unique_ptr<Connection>> connections_;
  std::uint64_t next_id_ = 1;
  Acceptor acceptor_;
};

}  // namespace bloomwall::proxy
