// SPDX-License-Identifier: Apache-2.0
#include "conf/yaml_text.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

#include "base/handles.h"

namespace bloomwall::conf {

tl::expected<std::string, std::vector<ConfigError>> read_yaml_file(const std::filesystem::path& path) {
  const auto fail = [&](int error) {
    return tl::unexpected(std::vector<ConfigError>{{path.string(), 0, 0, "", std::generic_category().message(error)}});
  };
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return fail(errno);
  std::string text;
  std::array<char, 65536> piece{};
  ssize_t got = 0;
  while (text.size() <= kMaxYamlBytes) {
    got = ::read(fd.get(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    text.append(piece.data(), static_cast<std::size_t>(got));
  }
  if (got < 0) return fail(errno);
  return text;
}

}  // namespace bloomwall::conf
