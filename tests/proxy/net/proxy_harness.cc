// SPDX-License-Identifier: Apache-2.0
#include "tests/proxy/net/proxy_harness.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <thread>
#include <utility>

#include "filter/build/builder.h"
#include "proxy/io/handles.h"

namespace bloomwall::test {
namespace {

std::string vec(std::size_t length_bytes, const std::string& data) {
  std::string out;
  for (std::size_t i = length_bytes; i > 0; --i)
    out.push_back(static_cast<char>((data.size() >> (8 * (i - 1))) & 0xffU));
  return out + data;
}

bool equal_names(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

std::vector<proxy::ListeningSocket> passed_sockets(int fd) {
  std::vector<proxy::ListeningSocket> sockets;
  if (fd < 0) return sockets;
  auto socket = proxy::take_over(proxy::UniqueFd(fcntl(fd, F_DUPFD_CLOEXEC, 0)));
  if (!socket) throw std::runtime_error(socket.error());
  sockets.push_back(*std::move(socket));
  return sockets;
}

// Pages that nobody has mapped leave the page cache.
void drop_from_memory(const std::filesystem::path& file) {
  const proxy::UniqueFd fd(open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0 || fsync(fd.get()) != 0 || posix_fadvise(fd.get(), 0, 0, POSIX_FADV_DONTNEED) != 0) {
    throw std::runtime_error("cannot drop " + file.string() + " from memory");
  }
}

}  // namespace

conf::Config HarnessOptions::permissive() {
  conf::Config settings;
  settings.listeners.front().address = "127.0.0.1:0";
  settings.workers = 1;
  settings.access.connect_ports = {};
  settings.access.deny_destinations = {};
  settings.dns.servers = {"127.0.0.1:9"};  // discard: whatever is asked there is a mistake
  for (const char* name : {"ok.test", "blocked.test", "sub.blocked.test", "allowed.blocked.test", "mixed.test"}) {
    settings.dns.hosts[name] = "127.0.0.1";
  }
  settings.log.access.file = "off";
  settings.admin.address = std::nullopt;
  return settings;
}

ProxyHarness::ProxyHarness(HarnessOptions options) : options_(std::move(options)) {
  if (options_.settings.log.access.file == "file") {
    options_.settings.log.access.file = (dir_.path() / "access.log").string();
  }
  auto log = proxy::AccessLog::open(options_.settings.log.access);
  if (!log) throw std::runtime_error(log.error());
  log_ = *std::move(log);
  auto server = proxy::Server::create(snapshot(), *log_, passed_sockets(options_.passed));
  if (!server) throw std::runtime_error(server.error());
  server_ = *std::move(server);
  server_->start();
}

ProxyHarness::~ProxyHarness() = default;

proxy::SnapshotPtr ProxyHarness::snapshot() {
  filter::PolicySpec spec;
  ++generation_;
  conf::Config settings = options_.settings;
  if (!options_.list.empty()) {
    const std::string stem = "list" + std::to_string(generation_);
    filter::BuildOptions build;
    build.output = dir_.path() / (stem + ".bwf");
    build.lists = {dir_.write(stem + ".txt", options_.list).string()};
    build.threads = 1;
    filter::BuildReport report;
    if (const auto built = filter::build(build, report); !built) throw std::runtime_error(built.error().text());
    filter::FilterSpec one;
    one.name = "testlist";
    one.file = build.output;
    if (options_.paged) one.memory = filter::MemoryUse::paged;
    spec.filters.push_back(one);
    conf::Filter configured;
    configured.name = one.name;
    configured.file = one.file;
    settings.filters = {configured};
  }
  if (!options_.allow.empty()) spec.allow_lists.push_back(dir_.write("allow.txt", options_.allow));
  auto policy = filter::Policy::load(spec, {.verify = true, .settle = options_.paged, .progress = {}});
  if (!policy) throw std::runtime_error(policy.error().front().text());
  if (options_.paged) drop_from_memory(spec.filters.front().file);
  auto made = proxy::make_snapshot(settings, *std::move(policy), generation_);
  if (!made) throw std::runtime_error(made.error().front());
  return *std::move(made);
}

void ProxyHarness::reload(const conf::Config& settings) {
  options_.settings = settings;
  server_->publish(snapshot());
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (server_->generation() != generation_) {
    if (std::chrono::steady_clock::now() > deadline) throw std::runtime_error("the snapshot was not taken over");
    std::this_thread::yield();
  }
}

void ProxyHarness::reload_list(const std::string& list) {
  options_.list = list;
  reload(options_.settings);
}

std::uint64_t ProxyHarness::counter(proxy::Count proxy::Counters::* member) const {
  auto sum = std::make_unique<proxy::Counters>();
  server_->add_counters_to(*sum);
  return ((*sum).*member).get();
}

void ProxyHarness::wait_for_counter(proxy::Count proxy::Counters::* member, std::uint64_t value) const {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (counter(member) != value) {
    if (std::chrono::steady_clock::now() > deadline) {
      throw std::runtime_error("counter is " + std::to_string(counter(member)) + ", expected " + std::to_string(value));
    }
    std::this_thread::yield();
  }
}

std::string ProxyHarness::log_text() {
  log_->flush(kPatience);
  std::ifstream in(options_.settings.log.access.file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string request(const std::string& method, const std::string& authority, const std::string& path,
                    const std::string& fields, const std::string& body) {
  return method + " http://" + authority + path + " HTTP/1.1\r\nHost: " + authority + "\r\n" + fields + "\r\n" + body;
}

std::string get(const std::string& authority, const std::string& path, const std::string& fields) {
  return request("GET", authority, path, fields);
}

std::string connect_to(const std::string& authority) {
  return "CONNECT " + authority + " HTTP/1.1\r\nHost: " + authority + "\r\n\r\n";
}

std::string ok(const std::string& body, const std::string& fields) {
  return "HTTP/1.1 200 OK\r\nDate: Sat, 01 Jan 2022 00:00:00 GMT\r\n" + fields +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

int status_of(const std::string& head) {
  if (!head.starts_with("HTTP/1.1 ") || head.size() < 12) throw std::runtime_error("no status line: " + head);
  return std::stoi(head.substr(9, 3));
}

std::string field_of(const std::string& head, const std::string& name) {
  for (std::size_t at = head.find("\r\n"); at != std::string::npos && at + 2 < head.size();
       at = head.find("\r\n", at)) {
    at += 2;
    const std::size_t end = head.find("\r\n", at);
    const std::string line = head.substr(at, end - at);
    const std::size_t colon = line.find(':');
    if (colon != std::string::npos && equal_names(line.substr(0, colon), name)) {
      return line.substr(std::min(line.find_first_not_of(' ', colon + 1), line.size()));
    }
  }
  return "";
}

void expect_alive(const ProxyHarness& proxy) {
  ScriptedListener origin;
  auto client = proxy.client();
  client.send(get(origin.authority(), "/alive"));
  auto server = origin.accept();
  server.read_head();
  server.send(ok("alive"));
  if (status_of(client.read_head()) != 200) throw std::runtime_error("the proxy does not serve any more");
  client.expect("alive");
}

std::string client_hello(const std::string& sni) {
  std::string extensions;
  if (!sni.empty()) {
    extensions += std::string("\x00\x00", 2) + vec(2, vec(2, std::string(1, '\0') + vec(2, sni)));
  }
  extensions += std::string("\x00\x0a", 2) + vec(2, vec(2, std::string("\x00\x1d\x00\x17", 4)));
  extensions += std::string("\x00\x2b", 2) + vec(2, vec(1, "\x03\x04\x03\x03"));
  std::string hello = "\x03\x03" + std::string(32, '\x11') + vec(1, std::string(32, '\x22'));
  hello += vec(2, "\x13\x01\x13\x02") + vec(1, std::string(1, '\0')) + vec(2, extensions);
  return "\x16\x03\x01" + vec(2, "\x01" + vec(3, hello));
}

}  // namespace bloomwall::test
