// SPDX-License-Identifier: Apache-2.0
#include "proxy/io/unit_state.h"

#include <systemd/sd-bus.h>
#include <systemd/sd-daemon.h>

#include <cstdlib>
#include <memory>

#include "base/handles.h"

namespace bloomwall::proxy {
namespace {

constexpr const char* kService = "org.freedesktop.systemd1";
constexpr const char* kUnits = "/org/freedesktop/systemd1/unit";

struct Unref {
  void operator()(sd_bus* bus) const { ::sd_bus_flush_close_unref(bus); }
};

}  // namespace

std::optional<std::string> unit_state(const std::string& unit) {
  if (::sd_booted() <= 0) return std::nullopt;
  sd_bus* opened = nullptr;
  if (::sd_bus_open_system(&opened) < 0) return std::nullopt;
  const std::unique_ptr<sd_bus, Unref> bus(opened);
  char* path = nullptr;
  if (::sd_bus_path_encode(kUnits, unit.c_str(), &path) < 0) return std::nullopt;
  const std::unique_ptr<char, FreeWith<std::free>> owned_path(path);
  char* state = nullptr;
  const int got = ::sd_bus_get_property_string(bus.get(), kService, path, "org.freedesktop.systemd1.Unit",
                                               "ActiveState", nullptr, &state);
  const std::unique_ptr<char, FreeWith<std::free>> owned_state(state);
  if (got < 0) return std::nullopt;
  return std::string(state);
}

}  // namespace bloomwall::proxy
