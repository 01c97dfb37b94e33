// SPDX-License-Identifier: Apache-2.0
#include "proxy/reload/drop_in_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <optional>
#include <system_error>
#include <utility>

#include "base/ip.h"
#include "proxy/access/access_rules.h"
#include "proxy/access/group_rules.h"

namespace bloomwall::proxy {
namespace {

// Nothing: it cannot be read.
std::optional<std::string> text_of_file(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(in), {});
  return in.is_open() && !in.bad() ? std::optional(std::move(text)) : std::nullopt;
}

// A new file is for everybody to read, as the others of the folder; one that is there stays as its owner has it.
filter::FileAccess access_of(const filter::FormerFile& former) {
  return {.mode = former.stamp ? std::nullopt : std::optional<mode_t>(0644)};
}

LoadFailure failed_io(std::string line) { return {kExitError, {std::move(line)}}; }

// The place of an error in the file that is to be, not in the one that stands in for it.
LoadFailure named_as(LoadFailure failure, const std::string& candidate, const std::string& place) {
  for (std::string& line : failure.lines) {
    if (line.starts_with(candidate)) line.replace(0, candidate.size(), place);
  }
  return failure;
}

// A group that is asked before the device's and takes the address whoever uses it; empty: there is none.
std::string earlier_taker(const conf::Config& settings, const std::string& wanted, const std::string& address) {
  const auto asked = IpAddress::parse_host(address);
  for (const conf::Group& group : settings.groups) {
    if (group.name == wanted) return {};
    const bool asks_more =
        !group.listeners.empty() || !group.users.empty() || !group.user_groups.empty() || !group.certificates.empty();
    const auto clients = CidrSet::build(group.clients);
    if (!asks_more && clients && asked && clients->contains(*asked)) return group.name;
  }
  return {};
}

}  // namespace

std::string misplaced_device(const conf::Config& settings, const std::string& name) {
  const auto device = std::ranges::find(settings.devices, name, &conf::Device::name);
  if (device == settings.devices.end() || !device->group) return {};
  for (const std::string& address : device->addresses) {
    const std::string taker = earlier_taker(settings, *device->group, address);
    if (taker.empty()) continue;
    return fmt::format("{} would stay in the group {}, which comes before {} and asks for its address", address, taker,
                       *device->group);
  }
  return {};
}

tl::expected<DropInFile, std::string> DropInFile::read(std::filesystem::path path) {
  DropInFile file(std::move(path));
  file.former_ = filter::FormerFile::of(file.path_);
  std::error_code ignored;
  if (!std::filesystem::exists(file.path_, ignored)) return file;
  auto text = text_of_file(file.path_);
  if (!text) return tl::unexpected(file.path_.string() + ": cannot be read");
  file.text_ = *std::move(text);
  return file;
}

tl::expected<DropInCandidate, std::string> DropInCandidate::write(std::filesystem::path place, const std::string& text,
                                                                  const filter::FormerFile& former) {
  auto file = filter::TempFile::create(place, access_of(former));
  if (!file) return tl::unexpected(file.error().text());
  file->expect(former);
  std::ofstream out(file->path(), std::ios::binary | std::ios::trunc);
  out << text;
  out.close();
  if (!out) return tl::unexpected(place.string() + ": cannot be written: is the disk full?");
  return DropInCandidate(std::move(place), *std::move(file));
}

Loaded<conf::Config> DropInCandidate::settings(const std::filesystem::path& main) const {
  auto settings = load_settings_in_place(file_.path(), place_, main);
  if (settings) return settings;
  return tl::unexpected(named_as(std::move(settings).error(), file_.path().string(), place_.string()));
}

tl::expected<void, std::string> DropInCandidate::take_place() {
  const auto done = file_.commit();
  return done ? tl::expected<void, std::string>() : tl::unexpected(done.error().text());
}

Loaded<void> DropInFile::replace(const std::string& text, const std::filesystem::path& main, const Check& check) {
  auto candidate = DropInCandidate::write(path_, text, former_);
  if (!candidate) return tl::unexpected(failed_io(candidate.error()));
  const auto settings = candidate->settings(main);
  if (!settings) return tl::unexpected(settings.error());
  if (auto rules = GroupRules::compile(*settings); !rules) {
    return tl::unexpected(LoadFailure{kExitConfiguration, std::move(rules).error()});
  }
  if (LoadFailure faults = check(*settings); faults.status != kExitDone) return tl::unexpected(std::move(faults));
  if (const auto done = candidate->take_place(); !done) return tl::unexpected(failed_io(done.error()));
  written_ = text;
  if (!text.empty()) return {};
  std::error_code error;
  std::filesystem::remove(path_, error);
  return error ? Loaded<void>(tl::unexpected(failed_io(path_.string() + ": " + error.message()))) : Loaded<void>();
}

std::string DropInFile::put_back() const {
  const filter::FormerFile refused = filter::FormerFile::of(path_);
  const std::optional<std::string> now = refused.stamp ? text_of_file(path_) : std::string();
  const bool was_removed = written_.empty() && !refused.stamp;
  if (now != written_ || (!refused.stamp && !was_removed)) {
    return "the reload was refused; somebody has changed the file meanwhile, so that it stays as it is";
  }
  if (former_.stamp) {
    const auto done = filter::replace_file(path_, text_, access_of(refused), refused);
    return done ? "as it was before, since the reload was refused" : "the reload was refused: " + done.error().text();
  }
  std::error_code error;
  std::filesystem::remove(path_, error);
  return error ? "the reload was refused, but it is still there: " + error.message()
               : "removed again, since the reload was refused";
}

}  // namespace bloomwall::proxy
