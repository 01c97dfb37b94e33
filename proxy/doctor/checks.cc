// SPDX-License-Identifier: Apache-2.0
#include "proxy/doctor/checks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "base/figures.h"
#include "base/units.h"
#include "conf/forms.h"
#include "proxy/access/access_rules.h"
#include "proxy/io/endpoint.h"
#include "proxy/state/time_text.h"
#include "proxy/update/intermediates_update.h"

namespace bloomwall::proxy {
namespace {

constexpr std::int64_t kClockSlack = 600;  // seconds that a file may be ahead: of another machine with its own clock
constexpr std::int64_t kFirstYear = 1'735'689'600;             // 2025-01-01: no file of this program is older
constexpr std::uint64_t kLeastFree = std::uint64_t{64} << 20;  // bytes, beside the next filter; of a small disk a tenth

bool is_served(const Running& running) { return running.answer == Running::Answer::yes; }

// "listeners[0]" listens where other machines come to.
bool is_reachable(const conf::Listener& listener) { return !conf::is_of_this_host(listener.address); }

bool lets_others_in(const std::vector<std::string>& clients) {
  const auto is_other = [](const std::string& network) {
    const auto cidr = IpNetwork::parse(network);
    return !cidr ||
           !(cidr->base == IpAddress::v4(0x7f000000) || network.starts_with("127.") || network.starts_with("::1"));
  };
  return std::ranges::any_of(clients, is_other);
}

std::vector<const Interface*> outside(const std::vector<Interface>& interfaces) {
  std::vector<const Interface*> out;
  for (const Interface& each : interfaces) {
    if (!each.is_loopback) out.push_back(&each);
  }
  return out;
}

// The addresses that `listener` is to be had at, from outside.
bool has_address(const Interface& interface, const Endpoint& listener) {
  if (listener.is_wildcard()) return listener.is_v6() || interface.address.find(':') == std::string::npos;
  return interface.address == listener.ip();
}

Finding reach_of(const std::string& key, const Endpoint& listener, const CidrSet& clients,
                 const std::vector<Interface>& all) {
  std::vector<std::string> let_in, refused;
  bool is_here = false;
  for (const Interface* each : outside(all)) {
    if (!has_address(*each, listener)) continue;
    is_here = true;
    const auto address = IpAddress::parse_host(each->address);
    const bool is_in = address && clients.contains(*address);
    (is_in ? let_in : refused).push_back(fmt::format("{} ({})", each->network, each->name));
  }
  if (!is_here && !listener.is_wildcard()) {
    return {Grade::wrong, "reach", fmt::format("{}: {} is no address of this machine", key, listener.ip()),
            "give an address that `ip address` shows, or \":PORT\" for all of them; then restart"};
  }
  if (!is_here)
    return {Grade::note, "reach", key + ": this machine has no address beside its own", "connect it to a network"};
  if (let_in.empty()) {
    return {Grade::wrong, "reach",
            fmt::format("{}: other machines can connect, and all neighbours are refused: access.clients has none of {}",
                        key, fmt::join(refused, ", ")),
            "add their networks to access.clients, then reload; or listen on 127.0.0.1 alone"};
  }
  Finding out{Grade::good, "reach", fmt::format("{}: reached and used from {}", key, fmt::join(let_in, ", "))};
  if (!refused.empty()) {
    out.grade = Grade::note;
    out.what += fmt::format("; refused are {}", fmt::join(refused, ", "));
    out.cure = "access.clients says who is let in";
  }
  return out;
}

}  // namespace

Finding check_service(const Running& running, const std::optional<std::string>& unit) {
  const std::string said = unit ? fmt::format("; systemd says: {}", *unit) : std::string();
  switch (running.answer) {
    case Running::Answer::yes:
      if (running.is_ready) return {Grade::good, "service", fmt::format("process {} serves", running.pid)};
      return {Grade::wrong, "service", fmt::format("process {} does not serve: {}", running.pid, running.readiness),
              "journalctl -u bloomwall says why"};
    case Running::Answer::nobody:
      return {Grade::wrong, "service", fmt::format("it does not run: {}{}", running.why, said),
              unit == "failed"
                  ? "journalctl -u bloomwall says why; then systemctl restart bloomwall"
                  : "systemctl start bloomwall, or bloomwall run; journalctl -u bloomwall says what it said"};
    case Running::Answer::not_allowed:
      return {Grade::unseen, "service", fmt::format("{}{}", running.why, said),
              "ask as root, or as a user of its group"};
    case Running::Answer::not_asked:
      break;
  }
  if (unit == "active") return {Grade::good, "service", "systemd says: active"};
  return {Grade::unseen, "service", fmt::format("{}{}", running.why, said), "set admin.control_socket"};
}

Diagnosis check_reload(const Running& running, const std::string& configuration, const std::vector<FileTime>& files) {
  if (!is_served(running)) {
    return {{Grade::unseen, "reload", "what is served is not known, since the proxy was not heard"}};
  }
  if (!running.configuration.empty() && running.configuration != configuration) {
    return {{Grade::wrong, "reload",
             fmt::format("the proxy that answers serves {}, and not {}", running.configuration, configuration),
             "give --config, or another admin.control_socket to one of them"}};
  }
  Diagnosis out;
  if (running.has_failed_reload) {
    out.push_back({Grade::wrong, "reload",
                   fmt::format("the last reload failed at {}: {}", time_text(running.failed_at), running.failure),
                   "mend it, then bloomwall reload; what was good before is served"});
  }
  for (const FileTime& each : files) {
    // Times are of whole seconds; a file of the same second was read.
    if (running.loaded == 0 || each.changed <= running.loaded) continue;
    out.push_back({Grade::wrong, "reload",
                   fmt::format("{} was changed at {}, and is served as it was at {}", each.file.string(),
                               time_text(each.changed), time_text(running.loaded)),
                   "bloomwall reload"});
  }
  if (out.empty()) {
    out.push_back(
        {Grade::good, "reload", fmt::format("loaded at {}; no file has changed since", time_text(running.loaded))});
  }
  return out;
}

Diagnosis check_served(const std::vector<FilterIdentity>& on_disk, const Running& running) {
  if (!is_served(running)) return {};
  Diagnosis out;
  for (const FilterIdentity& file : on_disk) {
    const auto at = std::ranges::find(running.filters, file.name, &FilterIdentity::name);
    if (at == running.filters.end()) {
      out.push_back({Grade::wrong, "served", fmt::format("filter {} is configured and not served", file.name),
                     "bloomwall reload"});
      continue;
    }
    if (at->lost) {
      out.push_back({Grade::wrong, "served",
                     fmt::format("filter {} is lost: its file has changed or failed under the proxy", file.name),
                     "put a good file in its place (bloomwall-filter verify), then bloomwall reload"});
      continue;
    }
    if (*at == file) continue;
    out.push_back(
        {Grade::wrong, "served",
         fmt::format("filter {}: the file was made at {} (sequence {}), served is the one of {} (sequence {})",
                     file.name, file.created, file.sequence, at->created, at->sequence),
         "bloomwall reload"});
  }
  for (const FilterIdentity& served : running.filters) {
    if (std::ranges::find(on_disk, served.name, &FilterIdentity::name) != on_disk.end()) continue;
    out.push_back({Grade::wrong, "served", fmt::format("filter {} is served and not configured any more", served.name),
                   "bloomwall reload"});
  }
  if (out.empty()) {
    out.push_back({Grade::good, "served", count_text(on_disk.size(), "filter", "filters") + ", as on the disk"});
  }
  return out;
}

Diagnosis check_holders(const std::vector<ConfiguredAddress>& addresses, const Running& running) {
  Diagnosis out;
  for (const auto& [key, address, holder] : addresses) {
    const auto endpoint = Endpoint::parse(address);
    if (endpoint && endpoint->port() == 0) continue;  // the kernel has chosen one
    if (holder && holder->pid != 0 && holder->program != "bloomwall" && holder->pid != 1) {
      out.push_back({Grade::wrong, "ports",
                     fmt::format("{}: {} is held by {} (process {})", key, address, holder->program, holder->pid),
                     endpoint ? "stop that program, or take another port" : "stop that program, or take another path"});
    } else if (!holder && is_served(running)) {
      out.push_back({Grade::wrong, "ports",
                     fmt::format("{}: nobody listens on {}, though the proxy runs", key, address),
                     "a changed address needs a restart: systemctl restart bloomwall"});
    } else if (holder) {
      out.push_back(
          {Grade::good, "ports",
           fmt::format("{}: {}{}", key, address,
                       holder->pid == 0 ? " is taken, by a process that is not seen from here" : " listens")});
    } else {
      out.push_back({Grade::good, "ports", fmt::format("{}: {} is free", key, address)});
    }
  }
  return out;
}

Diagnosis check_reach(const conf::Config& settings, const std::vector<Interface>& interfaces) {
  const auto clients = CidrSet::build(settings.access.clients);
  if (!clients) return {};  // which the configuration says itself
  const bool others = lets_others_in(settings.access.clients);
  if (std::ranges::none_of(settings.listeners, is_reachable)) {
    if (!others) return {{Grade::good, "reach", "this machine alone uses it (listeners, access.clients)"}};
    return {{Grade::wrong, "reach",
             fmt::format("access.clients lets other machines in, and none can connect: it listens on {} alone",
                         settings.listeners.empty() ? "nothing" : settings.listeners.front().address),
             "listeners: [{address: \":3128\"}], then systemctl restart bloomwall"}};
  }
  Diagnosis out;
  for (std::size_t i = 0; i < settings.listeners.size(); ++i) {
    const conf::Listener& listener = settings.listeners[i];
    const auto endpoint = Endpoint::parse(listener.address);
    if (!endpoint || !is_reachable(listener)) continue;
    out.push_back(reach_of(fmt::format("listeners[{}].address", i), *endpoint, *clients, interfaces));
  }
  return out;
}

Finding check_dashboard(const conf::Config& settings, const std::optional<InternalCertificate>& internal,
                        const std::vector<Interface>& interfaces) {
  const conf::Admin& admin = settings.admin;
  const auto endpoint = Endpoint::parse(admin.address.value_or(""));
  if (!endpoint) return {Grade::note, "dashboard", "it is off (admin.address: null)"};
  const char* const scheme = admin.tls.is_on() ? "https" : "http";
  if (conf::is_of_this_host(*admin.address)) {
    return {Grade::good, "dashboard", fmt::format("{}://{}/, for this machine alone", scheme, endpoint->text())};
  }
  if (!admin.tls.is_on()) {
    return {Grade::note, "dashboard", fmt::format("{} serves health and metrics alone, in clear", *admin.address),
            "admin.tls: internal (after `bloomwall ca init`) serves the dashboard too; then restart"};
  }
  std::vector<std::string> places;
  const auto add = [&](const std::string& host) {
    places.push_back(fmt::format("https://{}:{}/", host, endpoint->port()));
  };
  for (const std::string& host : admin.hosts) add(host);
  for (const Interface* each : outside(interfaces)) {
    if (!has_address(*each, *endpoint)) continue;
    add(each->address.find(':') == std::string::npos ? each->address : fmt::format("[{}]", each->address));
  }
  if (!internal) return {Grade::good, "dashboard", fmt::format("{}", fmt::join(places, " "))};
  const std::string what =
      fmt::format("{}; the certificate is for {}; browsers warn until they trust the CA {} (`bloomwall ca export`)",
                  fmt::join(places, " "), fmt::join(internal->names, ", "), internal->authority);
  if (internal->forbidden.empty()) return {Grade::good, "dashboard", what};
  return {Grade::wrong, "dashboard",
          fmt::format("{}; its name constraints forbid {}", what, fmt::join(internal->forbidden, ", ")),
          "use a name that the certificate has, or a CA that may sign for the others"};
}

Finding check_folder(const FolderState& folder, std::uint64_t needed) {
  const std::string name = fmt::format("{}: {}", folder.key, folder.path.string());
  if (folder.error == EACCES) return {Grade::unseen, "disk", name + ": you may not look into it", "ask as root"};
  if (folder.error != 0) {
    return {Grade::wrong, "disk", fmt::format("{}: {}", name, std::generic_category().message(folder.error)),
            fmt::format("install -d -o {} -m 2750 {}", folder.writer, folder.path.string())};
  }
  if (!folder.is_writable) {
    return {Grade::wrong, "disk", fmt::format("{}: {} may not write there", name, folder.writer),
            fmt::format("chown {} {}", folder.writer, folder.path.string())};
  }
  const std::uint64_t least = needed + std::min(kLeastFree, folder.bytes / 10);
  if (folder.bytes != 0 && folder.free < least) {
    return {Grade::wrong, "disk",
            fmt::format("{}: {} are free, and {} are wanted", name, format_bytes(folder.free), format_bytes(least)),
            "make room: what is fetched, built or kept next finds none"};
  }
  if (folder.inodes != 0 && folder.unused < folder.inodes / 100) {
    return {Grade::wrong, "disk", name + ": its file system has no inodes left for files", "remove small files there"};
  }
  return {Grade::good, "disk", fmt::format("{}: {} are free", name, format_bytes(folder.free))};
}

Diagnosis check_clock(const MachineClock& clock, const std::vector<Made>& made) {
  Diagnosis out;
  if (clock.now < kFirstYear) {
    out.push_back({Grade::wrong, "clock", fmt::format("it is not {}", time_text(clock.now)),
                   "set it (timedatectl set-ntp true): certificates and schedules go by it"});
  }
  for (const Made& each : made) {
    if (each.at <= clock.now + kClockSlack) continue;
    out.push_back({Grade::wrong, "clock",
                   fmt::format("{} says that it was made at {}, and it is {} here", each.what, time_text(each.at),
                               time_text(clock.now)),
                   "set the clock of the machine that is wrong"});
  }
  if (out.empty() && !clock.is_synchronised) {
    return {{Grade::note, "clock", fmt::format("{}; nothing keeps it right", time_text(clock.now)),
             "timedatectl set-ntp true, where this machine is no container"}};
  }
  if (out.empty()) out.push_back({Grade::good, "clock", time_text(clock.now)});
  return out;
}

namespace {

std::string failure_text(const SourceState& source) {
  return fmt::format("{}: {} {} times: {}", source.url, to_string(source.result), std::max(source.failures, 1U),
                     source.message);
}

// Of a list that failed or was refused.
std::string cure_of(const SourceState& source, const std::string& update) {
  if (source.result == FetchResult::refused && source.guard == "no_list") {
    return "mend filters[].sources: another url, or how it is read; then " + update;
  }
  if (source.result == FetchResult::refused) return update + " --force --why TEXT, if the list is right as it is";
  return update + ", once its server answers" + (source.copy.empty() ? "" : "; the last good copy is in use");
}

}  // namespace

Diagnosis check_lists(const conf::Config& settings, const ListsState& state) {
  Diagnosis out;
  std::size_t filters = 0;
  for (const conf::Filter& filter : settings.filters) {
    if (filter.sources.empty()) continue;
    ++filters;
    const ListFilterState* const known = state.find(filter.name);
    const std::string cure = fmt::format("bloomwall update {}", filter.name);
    if (known == nullptr ||
        std::ranges::all_of(known->sources, [](const auto& source) { return source.checked == 0; })) {
      out.push_back({Grade::wrong, "lists", fmt::format("filter {}: its lists were never fetched", filter.name), cure});
      continue;
    }
    for (const SourceState& source : known->sources) {
      if (source.result != FetchResult::failed && source.result != FetchResult::refused) continue;
      out.push_back({Grade::wrong, "lists", fmt::format("filter {}: {}", filter.name, failure_text(source)),
                     cure_of(source, cure)});
    }
    if (known->result == BuildResult::failed || known->result == BuildResult::refused) {
      out.push_back(
          {Grade::wrong, "lists", fmt::format("filter {}: not built: {}", filter.name, known->message), cure});
    }
  }
  if (out.empty() && filters != 0) {
    out.push_back({Grade::good, "lists",
                   fmt::format("those of {} were fetched and built", count_text(filters, "filter", "filters"))});
  }
  return out;
}

Diagnosis check_intermediates(const conf::Config& settings, const ListsState& state) {
  constexpr const char* kArea = "intermediates";
  if (!wants_intermediates(settings)) return {};
  const ListFilterState& known = state.intermediates;
  Diagnosis out;
  for (const std::string& url : settings.tls_inspection.verify.intermediates) {
    const auto at = std::ranges::find(known.sources, url, &SourceState::url);
    if (at == known.sources.end() || at->checked == 0) {
      out.push_back({Grade::wrong, kArea, url + ": was never fetched", "bloomwall update"});
    } else if (at->result == FetchResult::refused) {
      out.push_back({Grade::wrong, kArea, fmt::format("{}: refused: {}", url, at->message),
                     "mend tls_inspection.verify.intermediates: another url; then bloomwall update"});
    } else if (at->result == FetchResult::failed) {
      out.push_back({Grade::wrong, kArea, failure_text(*at), cure_of(*at, "bloomwall update")});
    }
  }
  if (known.result == BuildResult::failed || known.result == BuildResult::refused) {
    out.push_back({Grade::wrong, kArea, "not chosen: " + known.message, "bloomwall update"});
  }
  if (out.empty()) {
    out.push_back({Grade::good, kArea,
                   count_text(known.entries, "certificate", "certificates") + " for origins that do not send theirs"});
  }
  return out;
}

std::optional<Finding> check_timer(const conf::Config& settings, const std::optional<std::string>& timer) {
  const auto has_sources = [](const conf::Filter& filter) { return !filter.sources.empty(); };
  if (std::ranges::none_of(settings.filters, has_sources) && !wants_intermediates(settings)) return std::nullopt;
  if (!timer) {
    return Finding{Grade::unseen, "timer", "there is no systemd to ask whether bloomwall-update.timer runs",
                   "without it `bloomwall update --loop` keeps the lists up to date"};
  }
  if (*timer == "active") return Finding{Grade::good, "timer", "bloomwall-update.timer is active"};
  return Finding{Grade::wrong, "timer", fmt::format("bloomwall-update.timer is {}: lists grow old", *timer),
                 "systemctl enable --now bloomwall-update.timer"};
}

Finding check_descriptors(std::uint64_t needed, std::optional<std::uint64_t> limit, const Running& running) {
  if (!is_served(running)) {
    return {Grade::unseen, "descriptors", "the limit is that of the running proxy, which was not heard"};
  }
  if (!limit) {
    return {Grade::unseen, "descriptors", fmt::format("the limits of process {} are not seen", running.pid),
            "ask as root"};
  }
  if (*limit >= needed) return {Grade::good, "descriptors", fmt::format("{} are needed, {} allowed", needed, *limit)};
  return {
      Grade::wrong, "descriptors", fmt::format("{} are needed, {} allowed: fewer clients are served", needed, *limit),
      "raise LimitNOFILE= (systemctl edit bloomwall) or ulimit -n, or lower limits.client_connections; then restart"};
}

}  // namespace bloomwall::proxy
