// SPDX-License-Identifier: Apache-2.0
#include "proxy/update/wanted_lists.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>

#include "base/handles.h"
#include "filter/file/temp_file.h"

namespace bloomwall::proxy {
namespace {

constexpr std::string_view kWanted = "wanted-", kNotAdded = "not-added-";
constexpr std::string_view kRefuse = "exceptions: refused\n", kUsual = "exceptions: allowed\n";

std::filesystem::path file_of(const std::filesystem::path& folder, std::string_view kind, std::string_view name) {
  return folder / (std::string(kind) += name);
}

// Of a file as this program writes it; empty: it is another kind of file, or none.
std::string first_octets(const std::filesystem::path& file) {
  const UniqueFd fd(::open(file.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status{};
  if (!fd || ::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  std::string text(4096, '\0');
  const ssize_t got = ::read(fd.get(), text.data(), text.size());
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return text;
}

// Of those that are wanted.
std::vector<std::string> wanted_names(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (name.starts_with(kWanted)) names.push_back(name.substr(kWanted.size()));
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace

tl::expected<void, std::string> leave_wanted(const std::filesystem::path& folder, const WantedList& list) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  std::filesystem::remove(file_of(folder, kNotAdded, list.name), error);
  const auto done =
      filter::replace_file(file_of(folder, kWanted, list.name), list.refuse_exceptions ? kRefuse : kUsual);
  return done ? tl::expected<void, std::string>() : tl::unexpected(done.error().text());
}

bool is_wanted(const std::filesystem::path& folder, std::string_view name) {
  std::error_code ignored;
  return std::filesystem::exists(file_of(folder, kWanted, name), ignored);
}

bool has_wanted(const std::filesystem::path& folder) { return !wanted_names(folder).empty(); }

std::vector<WantedList> take_wanted(const std::filesystem::path& folder) {
  std::vector<WantedList> taken;
  for (std::string& name : wanted_names(folder)) {
    const std::filesystem::path file = file_of(folder, kWanted, name);
    const bool refuse = first_octets(file) == kRefuse;
    std::error_code error;
    if (std::filesystem::remove(file, error)) taken.push_back({.name = std::move(name), .refuse_exceptions = refuse});
  }
  return taken;
}

void note_wanted(const std::filesystem::path& folder, std::string_view name, std::string_view why) {
  const std::filesystem::path file = file_of(folder, kNotAdded, name);
  std::error_code ignored;
  if (why.empty() || !filter::replace_file(file, why)) std::filesystem::remove(file, ignored);
}

std::string why_not_added(const std::filesystem::path& folder, std::string_view name) {
  return first_octets(file_of(folder, kNotAdded, name));
}

}  // namespace bloomwall::proxy
