// `bloomwall device`: devices with names, in a file of their own beside those of people.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/terminal.h"
#include "conf/config.h"
#include "conf/device_file.h"
#include "filter/file/temp_file.h"
#include "proxy/access/access_rules.h"
#include "proxy/access/group_rules.h"
#include "proxy/api/reload_api.h"
#include "proxy/cli/commands.h"
#include "proxy/reload/loading.h"
#include "proxy/reload/running_socket.h"
#include "proxy/update/write_all.h"

namespace bloomwall::proxy {
namespace {

using nlohmann::ordered_json;

int refuse_device(int status, const std::string& why, const Streams& io) {
  print_lines(io.err, {why});
  return status;
}

// The file as it was, so that nothing is lost that somebody writes meanwhile.
struct DeviceFileState {
  std::filesystem::path path;
  filter::FormerFile former;
  std::string text = {};                   // empty where there is none
  std::vector<conf::Device> devices = {};  // of the whole configuration
};

// Nothing: it cannot be read.
std::optional<std::string> text_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(in), {});
  return in.is_open() && !in.bad() ? std::optional(std::move(text)) : std::nullopt;
}

// Errors are printed.
tl::expected<DeviceFileState, int> read_device_file(const std::filesystem::path& config, const Streams& io) {
  const auto settings = load_settings(config);
  if (!settings) {
    print_lines(io.err, settings.error().lines);
    return tl::unexpected(settings.error().status);
  }
  if (const auto none = built_in_defaults(config)) {
    return tl::unexpected(
        refuse_device(kExitError, "there is no configuration that a device could be added to: " + *none, io));
  }
  if (settings->drop_in_folder.empty()) {
    return tl::unexpected(refuse_device(
        kExitError, "there is no folder for a file of devices: add `include: [conf.d/*.yaml]` to the configuration",
        io));
  }
  DeviceFileState state{
      .path = settings->drop_in_folder / conf::kDeviceFile, .former = {}, .text = {}, .devices = settings->devices};
  state.former = filter::FormerFile::of(state.path);
  std::error_code ignored;
  if (!std::filesystem::exists(state.path, ignored)) return state;
  if (auto text = text_of(state.path)) {
    state.text = *std::move(text);
    return state;
  }
  return tl::unexpected(refuse_device(kExitError, state.path.string() + ": cannot be read", io));
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

// Why the configuration is not taken with this text in place of the file; empty: it is.
LoadFailure faults_of(const filter::TempFile& candidate, const std::filesystem::path& place, const std::string& name) {
  const auto settings = load_settings_in_place(candidate.path(), place);
  if (!settings) return settings.error();
  if (auto rules = GroupRules::compile(*settings); !rules) return {kExitConfiguration, std::move(rules).error()};
  const auto device = std::ranges::find(settings->devices, name, &conf::Device::name);
  if (device == settings->devices.end() || !device->group) return {kExitDone, {}};
  for (const std::string& address : device->addresses) {
    const std::string taker = earlier_taker(*settings, *device->group, address);
    if (taker.empty()) continue;
    return {kExitRefused,
            {fmt::format("{} would stay in the group {}, which comes before {} and asks for its address", address,
                         taker, *device->group)}};
  }
  return {kExitDone, {}};
}

// What the reload refused, out of the file again; the words for people. Where somebody has edited it meanwhile it
// stays.
std::string put_back(const DeviceFileState& state, const std::string& written) {
  const filter::FormerFile refused = filter::FormerFile::of(state.path);
  const auto now = text_of(state.path);
  if (now != written)
    return "the reload was refused; somebody has changed the file meanwhile, so that it stays as it is";
  if (!state.text.empty()) {
    const auto done = filter::replace_file(state.path, state.text, {.mode = 0644}, refused);
    return done ? "as it was before, since the reload was refused" : "the reload was refused: " + done.error().text();
  }
  std::error_code error;
  std::filesystem::remove(state.path, error);
  return error ? "the reload was refused, but it is still there: " + error.message()
               : "removed again, since the reload was refused";
}

// Nobody who could be asked is no failure: the next start reads the file.
int reload_with(const DeviceCommand& command, const DeviceFileState& state, const std::string& written,
                const Streams& io) {
  const auto socket = find_socket(command.config);
  const auto answer = socket
                          ? ask_to_reload(*socket, [&io](std::string_view line) { io.out << printable(line) << '\n'; })
                          : tl::expected<ReloadAnswer, std::string>(tl::unexpected(socket.error().lines.front()));
  if (!answer) {
    print_lines(io.err, {fmt::format("{}: written; no running proxy was asked to reload: {}", state.path.string(),
                                     answer.error())});
    return kExitDone;
  }
  if (answer->exit_status == 0) return kExitDone;
  return refuse_device(kExitRefused, state.path.string() + ": " + put_back(state, written), io);
}

int write_device_file(const DeviceCommand& command, const DeviceFileState& state, const std::string& text,
                      const Streams& io) {
  auto candidate = filter::TempFile::create(state.path, {.mode = 0644});
  if (!candidate) return refuse_device(kExitError, candidate.error().text(), io);
  if (!write_all(candidate->descriptor(), text)) {
    return refuse_device(kExitError, state.path.string() + ": " + std::generic_category().message(errno), io);
  }
  if (const LoadFailure faults = faults_of(*candidate, state.path, command.name); faults.status != kExitDone) {
    print_lines(io.err, faults.lines);
    return faults.status;
  }
  candidate->expect(state.former);
  if (const auto done = candidate->commit(); !done) return refuse_device(kExitError, done.error().text(), io);
  return reload_with(command, state, text, io);
}

}  // namespace

int run_device_add(const DeviceCommand& command, const Streams& io) {
  const auto state = read_device_file(command.config, io);
  if (!state) return state.error();
  conf::Device device{.name = command.name, .addresses = command.addresses, .group = {}};
  if (!command.group.empty()) device.group = command.group;
  if (device.addresses.empty()) {
    const auto known = std::ranges::find(state->devices, device.name, &conf::Device::name);
    if (known == state->devices.end()) {
      return refuse_device(kExitRefused,
                           fmt::format("there is no device {} yet: give its addresses", printable(device.name)), io);
    }
    device.addresses = known->addresses;
  }
  const auto text = conf::with_device(state->text, device);
  if (!text) return refuse_device(kExitRefused, fmt::format("{}: {}", state->path.string(), text.error()), io);
  return write_device_file(command, *state, *text, io);
}

int run_device_remove(const DeviceCommand& command, const Streams& io) {
  const auto state = read_device_file(command.config, io);
  if (!state) return state.error();
  const auto text = conf::without_device(state->text, command.name);
  if (!text) return refuse_device(kExitRefused, fmt::format("{}: {}", state->path.string(), text.error()), io);
  return write_device_file(command, *state, *text, io);
}

int run_device_list(const DeviceCommand& command, const Streams& io) {
  const auto settings = load_settings(command.config);
  if (!settings) {
    print_lines(io.err, settings.error().lines);
    return settings.error().status;
  }
  for (const conf::Device& device : settings->devices) {
    if (command.json) {
      print_json(io.out, {{"name", device.name},
                          {"addresses", device.addresses},
                          {"group", device.group ? ordered_json(*device.group) : ordered_json()}});
      continue;
    }
    io.out << fmt::format("{}\t{}\t{}\n", printable(device.name), fmt::join(device.addresses, ","),
                          device.group.value_or("-"));
  }
  return kExitDone;
}

}  // namespace bloomwall::proxy
