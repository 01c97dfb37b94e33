// SPDX-License-Identifier: Apache-2.0
#include "proxy/reload/running_socket.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include "base/encoding.h"
#include "proxy/io/unix_socket.h"
#include "proxy/state/tokens.h"

namespace bloomwall::proxy {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kOctetsOfName = 8;

std::string name_of(const fs::path& file) {
  std::error_code failed;
  const fs::path place = fs::absolute(configuration_file(file), failed).lexically_normal();
  const TokenDigest digest = digest_of(place.native());
  return "running-" + to_hex(std::span(digest).first<kOctetsOfName>());
}

std::vector<fs::path> folders() {
  std::vector<fs::path> out{"/run/bloomwall"};
  if (const char* const own = std::getenv("XDG_RUNTIME_DIR"); own != nullptr && *own == '/') {
    out.push_back(fs::path(own) / "bloomwall");
  }
  return out;
}

// At once: a command that looks meanwhile finds the old one or the new one.
bool put_link(const fs::path& target, const fs::path& link) {
  std::error_code failed;
  fs::create_directory(link.parent_path(), failed);
  const fs::path made = fs::path(link) += "." + std::to_string(::getpid());
  fs::remove(made, failed);
  fs::create_symlink(target, made, failed);
  if (failed) return false;
  fs::rename(made, link, failed);
  if (!failed) return true;
  std::error_code ignored;
  fs::remove(made, ignored);
  return false;
}

// Where somebody listens; empty: nowhere.
fs::path left_by_running(const fs::path& file) {
  const std::string name = name_of(file);
  for (const fs::path& folder : folders()) {
    std::error_code failed;
    fs::path socket = fs::read_symlink(folder / name, failed);
    if (failed || !socket.is_absolute()) continue;
    const bool is_there = connect_to(socket) || (errno != ENOENT && errno != ECONNREFUSED);
    if (is_there) return socket;
  }
  return {};
}

}  // namespace

RunningSocket::RunningSocket(const fs::path& file, const fs::path& socket) {
  std::error_code failed;
  target_ = fs::absolute(socket, failed).lexically_normal();
  const std::string name = name_of(file);
  for (const fs::path& folder : folders()) {
    if (!put_link(target_, folder / name)) continue;
    link_ = folder / name;
    return;
  }
}

RunningSocket::~RunningSocket() {
  std::error_code failed;
  if (!link_.empty() && fs::read_symlink(link_, failed) == target_) fs::remove(link_, failed);
}

fs::path& socket_option() {
  static fs::path given;
  return given;
}

fs::path socket_to_ask(const fs::path& file, const fs::path& configured) {
  if (!socket_option().empty()) return socket_option();
  fs::path left = left_by_running(file);
  return left.empty() ? configured : left;
}

Loaded<fs::path> find_socket(const fs::path& file) {
  if (fs::path socket = socket_to_ask(file, {}); !socket.empty()) return socket;
  auto settings = load_settings(file);
  if (!settings) return tl::unexpected(std::move(settings).error());
  if (!settings->admin.control_socket.empty()) return settings->admin.control_socket;
  return tl::unexpected(LoadFailure{kExitError, {"admin.control_socket is null: the running proxy cannot be asked"}});
}

}  // namespace bloomwall::proxy
