// SPDX-License-Identifier: Apache-2.0
#include "conf/config.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "conf/yaml_tree.h"

namespace bloomwall::conf {
namespace {

class ConfigFile : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "bloomwall-conf-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::filesystem::path write(const std::string& text) const {
    std::ofstream(folder_ / "c.yaml") << text;
    return folder_ / "c.yaml";
  }
  std::filesystem::path folder_;
};

std::string text_of(const tl::expected<Config, ConfigErrors>& loaded) {
  return loaded ? "loaded" : loaded.error().front().text();
}

TEST_F(ConfigFile, RelativePathsStandBesideTheFile) {
  const auto loaded = load_file(
      write("filters: [{name: a, file: lists/a.bwf, delta: ../a.delta}]\nallow_lists: [allow.txt, /etc/allow.txt]\n"
            "block_page: {template: page.html}\nlog: {file: d.log, access: {file: a.log}}\nadmin: {control_socket: "
            "c.sock}\n"));
  ASSERT_TRUE(loaded.has_value()) << text_of(loaded);
  EXPECT_EQ(loaded->filters.at(0).file, folder_ / "lists/a.bwf");
  EXPECT_EQ(loaded->filters.at(0).delta, folder_.parent_path() / "a.delta");
  EXPECT_EQ(loaded->allow_lists.at(0), folder_ / "allow.txt");
  EXPECT_EQ(loaded->allow_lists.at(1), "/etc/allow.txt");
  EXPECT_EQ(loaded->block_page.html_template, folder_ / "page.html");
  EXPECT_EQ(loaded->log.file, (folder_ / "d.log").string());
  EXPECT_EQ(loaded->log.access.file, (folder_ / "a.log").string());
  EXPECT_EQ(loaded->admin.control_socket, folder_ / "c.sock");
}

TEST_F(ConfigFile, AnEmptyFileIsTheDefaults) {
  EXPECT_EQ(*load_file(write("")), Config{});
  EXPECT_EQ(*load_file(write("# nothing\ntimeouts:\n")), Config{});
}

// "null" would leave the address open that whoever wrote it means to close.
TEST_F(ConfigFile, TheAdminSectionIsNotTurnedOffAsAWhole) {
  for (const char* const text : {"workers: 1\nadmin: null\n", "workers: 1\nadmin:\n", "workers: 1\nadmin: ~\n"}) {
    const std::string said = text_of(load_file(write(text)));
    EXPECT_NE(said.find(":2:"), std::string::npos) << said;
    EXPECT_NE(said.find("admin: without a value: `address: null` below it"), std::string::npos) << said;
  }
  EXPECT_EQ(load_file(write("admin: {address: null}\n"))->admin.address, std::nullopt);
}

TEST_F(ConfigFile, WhatCannotBeReadIsAnError) {
  const auto missing = load_file(folder_ / "none.yaml");
  EXPECT_EQ(text_of(missing), (folder_ / "none.yaml").string() + ": No such file or directory");
  EXPECT_EQ(text_of(load_file(folder_)), folder_.string() + ": Is a directory");
  if (::geteuid() != 0) {
    const auto closed = write("workers: 2\n");
    ASSERT_EQ(::chmod(closed.c_str(), 0), 0);
    EXPECT_EQ(text_of(load_file(closed)), closed.string() + ": Permission denied");
  }
}

TEST_F(ConfigFile, AHugeFileIsNotReadToItsEnd) {
  const auto file = write("");
  std::filesystem::resize_file(file, std::uintmax_t{1} << 40);
  EXPECT_EQ(text_of(load_file(file)), file.string() + ": larger than 1024 KiB");
}

TEST_F(ConfigFile, WithoutANameTheFallbackIsReadIfItIsThere) {
  EXPECT_EQ(*load({}, folder_ / "none.yaml"), Config{});
  const auto file = write("workers: 5\n");
  EXPECT_EQ(load({}, file)->workers, 5U);
  EXPECT_EQ(load(file, folder_ / "none.yaml")->workers, 5U);
  EXPECT_FALSE(load(folder_ / "none.yaml", file).has_value()) << "a file that was named must be there";
  EXPECT_FALSE(load({}, write("workers: x\n")).has_value()) << "a broken default file is no reason for the defaults";
}

TEST(Config, TakesInspectionOfTlsAndNoRestartForIt) {
  const auto loaded = load_text(R"(
filters: [{name: bank, file: bank.bwf, action: no_decrypt}]
timeouts: {tls_handshake: 5s}
limits: {leaves_per_client: 3, handshakes: 7}
tls_inspection:
  mode: urls
  ca: {certificate: ca.pem, key: /k, passphrase_file: p, next: n.pem}
  on_ca_failure: "off"
  page_for: everyone
  never: [never.txt, /usr/share/bloomwall/never-decrypt.txt]
  clients: [10.0.0.0/8]
  never_clients: [10.1.0.0/16, "fd00::/8"]
  ports: [443, 8443]
  urls_of_monitor: false
  auto_pass: {hosts: unmarked, after: 3, for: 12h, devices: true}
  ech: deny
  ech_public_names: [outer.txt]
  on_bad_certificate: pass
  on_failed_handshake: pass
  verify: {ca_file: r.pem, extra_ca_file: e.pem, intermediates_file: i.pem, crl_file: c.pem, trust_exceptions: t.txt,
           intermediates: ["https://lists.test/i.csv", /etc/i.pem],
           distrust: [ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef0123456789]}
  leaf: {days: 7, cache: 500}
  log_urls: all
  via: true
)",
                                "c.yaml", "/etc/b");
  ASSERT_TRUE(loaded.has_value()) << text_of(loaded);
  using Tls = TlsInspection;
  TlsInspection want;
  want.mode = Tls::Mode::urls;
  want.ca = {.certificate = "/etc/b/ca.pem", .key = "/k", .passphrase_file = "/etc/b/p", .next = "/etc/b/n.pem"};
  want.on_ca_failure = Tls::OnCaFailure::off;
  want.page_for = Tls::PageFor::everyone;
  want.never = {"/etc/b/never.txt", "/usr/share/bloomwall/never-decrypt.txt"};
  want.clients = {"10.0.0.0/8"};
  want.never_clients = {"10.1.0.0/16", "fd00::/8"};
  want.ports = {443, 8443};
  want.urls_of_monitor = false;
  want.auto_pass = {
      .hosts = AutoPass::Hosts::unmarked, .after = 3, .pass_for = Milliseconds(43'200'000), .devices = true};
  want.ech = Tls::Ech::deny;
  want.ech_public_names = {"/etc/b/outer.txt"};
  want.on_bad_certificate = Tls::OnBadCertificate::pass;
  want.on_failed_handshake = Tls::OnFailedHandshake::pass;
  want.verify = {.ca_file = "/etc/b/r.pem",
                 .extra_ca_file = "/etc/b/e.pem",
                 .intermediates_file = "/etc/b/i.pem",
                 .intermediates = {"https://lists.test/i.csv", "/etc/i.pem"},
                 .crl_file = "/etc/b/c.pem",
                 .distrust = {"abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789"},
                 .trust_exceptions = "/etc/b/t.txt"};
  want.leaf = {.days = 7, .cache = 500};
  want.log_urls = Tls::LogUrls::all;
  want.via = true;
  EXPECT_EQ(loaded->tls_inspection, want);
  EXPECT_EQ(loaded->filters.at(0).action, Filter::Action::no_decrypt);
  EXPECT_EQ(loaded->timeouts.tls_handshake, Milliseconds(5000));
  EXPECT_EQ(loaded->limits.leaves_per_client, 3U);
  EXPECT_EQ(loaded->limits.handshakes, 7U);
  Config running = *loaded;
  running.tls_inspection = {};
  EXPECT_TRUE(needs_restart(running, *loaded).empty());
}

TEST(Config, ErrorsComeAllAtOnceInOrderOfLines) {
  const auto loaded = load_text("log: {level: loud}\nworkers: 0\nfilters: [{}]\nx: 1\n", "c.yaml");
  ASSERT_FALSE(loaded.has_value());
  std::vector<int> lines;
  for (const auto& error : loaded.error()) lines.push_back(error.line);
  EXPECT_EQ(lines, (std::vector<int>{1, 2, 3, 3, 4}));
}

TEST(Config, AnErrorIsOneLineThatAnEditorUnderstands) {
  const ConfigError error{"c.yaml", 3, 7, "timeouts.idle", "what"};
  EXPECT_EQ(error.text(), "c.yaml:3:7: timeouts.idle: what");
  EXPECT_EQ((ConfigError{"c.yaml", 0, 0, "", "gone"}).text(), "c.yaml: gone");
  EXPECT_EQ((ConfigError{"", 0, 0, "", "a\nb\x1b[0m"}).text(), "a\\x0ab\\x1b[0m");
}

TEST(Config, NamesTheKeysThatNeedARestart) {
  const Config running;
  EXPECT_TRUE(needs_restart(running, running).empty());
  Config loaded;
  loaded.timeouts.idle = Milliseconds(1);
  loaded.access.clients.clear();
  loaded.dns.hosts["a"] = "192.0.2.1";
  loaded.log.access.file = "/var/log/other.log";
  loaded.filters.emplace_back();
  loaded.log.level = Log::Level::debug;
  EXPECT_TRUE(needs_restart(running, loaded).empty());
  loaded.listeners[0].address = ":1";
  loaded.workers = 2;
  loaded.log.access.file = "off";
  loaded.admin.address.reset();
  EXPECT_EQ(needs_restart(running, loaded),
            (std::vector<std::string>{"listeners", "workers", "log.access.file", "admin.address"}));
  loaded = running;
  loaded.listeners[0].mode = Listener::Mode::transparent;
  EXPECT_EQ(needs_restart(running, loaded), (std::vector<std::string>{"listeners"}));
  Config sealed;
  sealed.dns.servers = {"192.0.2.1"};
  sealed.dns.cache_entries = 1;
  sealed.log.access.queue = 65536;
  sealed.admin.control_socket = "/x";
  sealed.admin.hosts = {"a"};
  sealed.admin.tls = {"a.crt", "a.key"};
  EXPECT_EQ(needs_restart(running, sealed),
            (std::vector<std::string>{"dns.servers", "dns.cache_entries", "log.access.queue", "admin.tls",
                                      "admin.hosts", "admin.control_socket"}));
  EXPECT_EQ(needs_restart(RestartValues{{"workers", "3"}, {"of another version", "x"}}, running),
            std::vector<std::string>{"workers"})
      << "what is not said counts as unchanged";
}

}  // namespace
}  // namespace bloomwall::conf
