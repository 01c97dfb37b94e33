// `bloomwall device`: devices with names, in a file of their own beside those of people.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/terminal.h"
#include "conf/config.h"
#include "conf/device_file.h"
#include "proxy/api/reload_api.h"
#include "proxy/cli/commands.h"
#include "proxy/reload/drop_in_file.h"
#include "proxy/reload/loading.h"
#include "proxy/reload/running_socket.h"

namespace bloomwall::proxy {
namespace {

using nlohmann::ordered_json;

int refuse_device(int status, const std::string& why, const Streams& io) {
  print_lines(io.err, {why});
  return status;
}

struct DevicesOnDisk {
  DropInFile file;
  std::vector<conf::Device> devices = {};  // of the whole configuration
};

// Errors are printed.
tl::expected<DevicesOnDisk, int> read_device_file(const std::filesystem::path& config, const Streams& io) {
  auto settings = load_settings(config);
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
  auto file = DropInFile::read(settings->drop_in_folder / conf::kDeviceFile);
  if (!file) return tl::unexpected(refuse_device(kExitError, file.error(), io));
  return DevicesOnDisk{.file = *std::move(file), .devices = std::move(settings->devices)};
}

// Nobody who could be asked is no failure: the next start reads the file.
int reload_with(const DeviceCommand& command, const DropInFile& file, const Streams& io) {
  const auto socket = find_socket(command.config);
  const auto answer = socket
                          ? ask_to_reload(*socket, [&io](std::string_view line) { io.out << printable(line) << '\n'; })
                          : tl::expected<ReloadAnswer, std::string>(tl::unexpected(socket.error().lines.front()));
  if (!answer) {
    print_lines(io.err, {fmt::format("{}: written; no running proxy was asked to reload: {}", file.path().string(),
                                     answer.error())});
    return kExitDone;
  }
  if (answer->exit_status == 0) return kExitDone;
  return refuse_device(kExitRefused, file.path().string() + ": " + file.put_back(), io);
}

int write_device_file(const DeviceCommand& command, DropInFile file, const std::string& text, const Streams& io) {
  const auto check = [&](const conf::Config& settings) -> LoadFailure {
    std::string misplaced = misplaced_device(settings, command.name);
    if (misplaced.empty()) return {kExitDone, {}};
    return {kExitRefused, {std::move(misplaced)}};
  };
  if (const auto done = file.replace(text, {}, check); !done) {
    print_lines(io.err, done.error().lines);
    return done.error().status;
  }
  return reload_with(command, file, io);
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
  const auto text = conf::with_device(state->file.text(), device);
  if (!text) return refuse_device(kExitRefused, fmt::format("{}: {}", state->file.path().string(), text.error()), io);
  return write_device_file(command, state->file, *text, io);
}

int run_device_remove(const DeviceCommand& command, const Streams& io) {
  const auto state = read_device_file(command.config, io);
  if (!state) return state.error();
  const auto text = conf::without_device(state->file.text(), command.name);
  if (!text) return refuse_device(kExitRefused, fmt::format("{}: {}", state->file.path().string(), text.error()), io);
  return write_device_file(command, state->file, *text, io);
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
