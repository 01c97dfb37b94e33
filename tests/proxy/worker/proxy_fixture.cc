// SPDX-License-Identifier: Apache-2.0
#include "tests/proxy/worker/proxy_fixture.h"

#include <fcntl.h>
#include <unistd.h>

#include <fstream>
#include <future>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>

#include "filter/builder/builder.h"
#include "filter/file/filter_file.h"
#include "proxy/io/handles.h"
#include "proxy/upstream/upstream.h"
#include "tests/support/page_cache.h"

namespace bloomwall::test {
namespace {

std::vector<proxy::ListeningSocket> passed_sockets(int fd) {
  std::vector<proxy::ListeningSocket> sockets;
  if (fd < 0) return sockets;
  auto socket = proxy::take_over(UniqueFd(fcntl(fd, F_DUPFD_CLOEXEC, 0)));
  if (!socket) throw std::runtime_error(socket.error());
  sockets.push_back(*std::move(socket));
  return sockets;
}

filter::SectionEntry paths_section(const std::filesystem::path& file) {
  const auto opened = filter::FilterFile::open(file);
  return *(*opened)->header().find(filter::SectionType::paths);
}

// Section P becomes zeros, after it was verified.
void zero_paths(const std::filesystem::path& file) {
  const filter::SectionEntry section = paths_section(file);
  std::fstream out(file, std::ios::binary | std::ios::in | std::ios::out);
  out.seekp(static_cast<std::streamoff>(section.offset));
  out << std::string(section.length, '\0');
}

}  // namespace

conf::Config ProxyTest::Given::permissive() {
  conf::Config settings;
  settings.listeners.front().address = "127.0.0.1:0";
  settings.workers = 1;
  settings.access.connect_ports = {};
  settings.access.deny_destinations = {};
  settings.dns.servers = {"127.0.0.1:9"};  // discard: whatever is asked there is a mistake
  for (const char* name : {"ok.test", "blocked.test", "sub.blocked.test", "mixed.test"}) {
    settings.dns.hosts[name] = "127.0.0.1";
  }
  settings.log.access.file = "off";
  settings.admin.address = std::nullopt;
  return settings;
}

std::string ProxyTest::get_origin(const std::string& path, const std::string& fields) const {
  return get(origin.authority(), path, fields);
}

std::string ProxyTest::post_origin(const std::string& fields, const std::string& body, const std::string& path) const {
  return request("POST", origin.authority(), path, fields, body);
}

proxy::Server& ProxyTest::the_proxy() {
  if (server_ != nullptr) return *server_;
  if (given.logged) given.settings.log.access.file = (dir.path() / "access.log").string();
  auto log = proxy::AccessLog::open(given.settings.log.access);
  if (!log) throw std::runtime_error(log.error());
  log_ = *std::move(log);
  auto server = proxy::Server::create(edition(), *log_, passed_sockets(given.passed), {}, &tokens);
  if (!server) throw std::runtime_error(server.error());
  server_ = *std::move(server);
  server_->start();
  return *server_;
}

filter::FilterSpec ProxyTest::build_filter() const {
  const std::string stem = "list" + std::to_string(generation_);
  filter::BuildOptions build;
  build.output = (given.filter_folder.empty() ? dir.path() : given.filter_folder) / (stem + ".bwf");
  if (!given.list.empty()) build.lists.push_back(dir.write(stem + ".txt", given.list).string());
  if (!given.networks.empty()) build.lists.push_back(dir.write(stem + ".netset", given.networks).string());
  build.threads = 1;
  build.raw = given.raw;
  if (given.paged) {
    // So large that the page of a URL lies apart from those of section H, which are read as soon as a host is asked
    // for; the same page each time.
    filter::PlanRequest& expected = build.expected.emplace();
    expected.entries = 4'000'000;
    expected.hosts = 1000;
    build.identity.series_key.emplace();
  }
  filter::BuildReport report;
  if (const auto built = filter::build(build, report); !built) throw std::runtime_error(built.error().text());
  filter::FilterSpec spec;
  spec.name = "testlist";
  spec.file = build.output;
  spec.action = given.action;
  if (given.paged) spec.memory = filter::MemoryUse::paged;
  return spec;
}

proxy::Edition ProxyTest::edition() {
  ++generation_;
  filter::PolicySpec spec;
  conf::Config settings = given.settings;
  if (!given.list.empty() || !given.networks.empty()) {
    const filter::FilterSpec& built = spec.filters.emplace_back(build_filter());
    conf::Filter& configured = settings.filters.emplace_back();
    configured.name = built.name;
    configured.file = built.file;
  }
  if (!given.allowed.empty()) {
    spec.allow_lists.push_back(dir.write("allow" + std::to_string(generation_) + ".txt", given.allowed));
  }
  spec.otherwise = proxy::otherwise_of(settings.otherwise);
  spec.more_allow_lists = proxy::allow_lists_of_groups(settings);
  auto policy = filter::Policy::load(spec, {.verify = true, .make_resident = given.paged, .progress = {}});
  if (!policy) throw std::runtime_error(policy.error().front().text());
  if (given.rotten) zero_paths(spec.filters.front().file);
  if (given.paged) {
    const std::filesystem::path& file = spec.filters.front().file;
    const filter::SectionEntry paths = paths_section(file);
    has_left_memory_ = drop_from_memory(file, paths.offset + paths.length / 2);
  }
  auto made = proxy::make_snapshot(settings, generation_);
  if (!made) throw std::runtime_error(made.error().front());
  return proxy::Edition{*std::move(made), *std::move(policy)}.at(given.at);
}

void ProxyTest::reload() {
  the_proxy();  // which is given the first
  serve(edition());
}

void ProxyTest::serve(const proxy::Edition& next) {
  proxy::Server& server = the_proxy();
  const auto adopted = std::make_shared<std::promise<void>>();
  server.publish(next, [adopted] { adopted->set_value(); });
  if (adopted->get_future().wait_for(kPatience) != std::future_status::ready) {
    throw std::runtime_error("the snapshot was not taken over");
  }
}

ScriptedPeer ProxyTest::new_client(const std::string& text) {
  auto client = ScriptedPeer::connect(the_proxy().addresses().front().port());
  client.send(text);
  return client;
}

std::string ProxyTest::reply_to(const std::string& text) { return new_client(text).read_head(); }

ProxyTest::Exchange ProxyTest::exchange(const std::string& request) {
  auto client = new_client(request);
  auto server = origin.accept();
  std::string asked = server.read_head();
  return {std::move(client), std::move(server), std::move(asked)};
}

ProxyTest::Tunnel ProxyTest::tunnel(const std::string& host) {
  auto client = new_client(connect_to(at(host)));
  auto server = origin.accept();
  const std::string head = client.read_head();
  if (status_of(head) != 200) throw std::runtime_error("no tunnel: " + head);
  return {std::move(client), std::move(server)};
}

std::unique_ptr<Counters> ProxyTest::counters() {
  auto sum = std::make_unique<Counters>();
  the_proxy().add_counters_to(*sum);
  return sum;
}

std::uint64_t ProxyTest::counter(proxy::Count Counters::* member) { return ((*counters()).*member).get(); }

std::uint64_t ProxyTest::errors(proxy::ErrorKind kind) {
  return counters()->errors[static_cast<std::size_t>(kind)].get();
}

void ProxyTest::wait_for_counter(proxy::Count Counters::* member, std::uint64_t value) {
  if (comes_true([&] { return counter(member) == value; })) return;
  throw std::runtime_error("counter is " + std::to_string(counter(member)) + ", expected " + std::to_string(value));
}

void ProxyTest::wait_until(const std::function<bool()>& condition) {
  if (!comes_true(condition)) throw std::runtime_error("what was waited for did not come");
}

void ProxyTest::wait_until_ended() {
  if (!comes_true([&] { return the_proxy().ended(); })) throw std::runtime_error("the proxy does not end");
  the_proxy().wait();
}

std::string ProxyTest::log_text() {
  log_->flush(kPatience);
  std::ifstream in(given.settings.log.access.file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void ProxyTest::expect_alive() {
  ScriptedListener another;
  auto client = new_client(get(another.authority(), "/alive"));
  auto server = another.accept();
  server.read_head();
  answer(server, client, "alive");
}

void rest(ScriptedPeer& server) {
  if (!server.is_quiet_for(proxy::UpstreamPool::kRest + std::chrono::milliseconds(50)))
    throw std::runtime_error("the connection is not kept");
}

void answer(Peer& server, Peer& client, const std::string& body) {
  server.send(ok(body));
  const std::string head = client.read_head();
  if (status_of(head) != 200) throw std::runtime_error("not the origin's answer: " + head);
  client.expect(body);
}

Answer read_answer(Peer& client) {
  Answer answer;
  answer.head = client.read_head();
  answer.body = client.read_exactly(std::stoul(field_of(answer.head, "Content-Length")));
  return answer;
}

}  // namespace bloomwall::test
