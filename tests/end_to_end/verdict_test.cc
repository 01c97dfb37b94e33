// What a user sees: curl and Chromium through the real proxy, nginx behind it, names mapped in dns.hosts.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "tests/end_to_end/servers.h"

namespace bloomwall::test {
namespace {

constexpr const char* kVerdictList =
    "listed.example.test\n"
    "http://pages.example.test/listed.html\n"
    "http://pages.example.test/dir/\n"
    "http://pages.example.test/search?q=listed\n"
    "http://wrong.example.test/\n";

constexpr const char* kVerdictYaml = R"(
filters: [{name: malware, file: test.bwf}]
allow_lists: [allow.txt]
block_page: {contact: helpdesk@example.test, report_url: "https://report.example.test/?id={id}&url={url}"}
access: {connect_ports: [], deny_destinations: []}
log: {access: {file: off}}
dns:
  hosts:
    listed.example.test: 127.0.0.1
    sub.listed.example.test: 127.0.0.1
    pages.example.test: 127.0.0.1
    innocent.example.test: 127.0.0.1
    wrong.example.test: 127.0.0.1
)";

class Verdict : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (!have_program("curl") || !have_program("nginx")) return;
    folder_ = std::make_unique<TempDir>();
    build_filter(folder_->path("test.bwf"), kVerdictList, {"--format", "urls", "--category", "malware"});
    folder_->write("allow.txt", "# a false positive\nwrong.example.test\n");
    nginx_ = std::make_unique<Nginx>(*folder_);
    folder_->write("nginx/root/page.html", "<!doctype html><title>origin</title>the origin's page\n");
    proxy_ = std::make_unique<Proxy>(*folder_, kVerdictYaml);
  }
  static void TearDownTestSuite() {
    proxy_.reset();
    nginx_.reset();
    folder_.reset();
  }
  void SetUp() override {
    if (!proxy_) GTEST_SKIP() << "needs curl and nginx";
  }

  // Status, a space, and the body or what curl says.
  static Finished curl(const std::string& url, std::vector<std::string> more = {}) {
    std::vector<std::string> argv{"curl",           "-sS", "-x", proxy_->url(), "-w",
                                  "\n%{http_code}", "-m",  "20", "--noproxy",   ""};
    argv.insert(argv.end(), more.begin(), more.end());
    argv.push_back(url);
    return run(argv);
  }
  static std::string plain(const std::string& host_and_path) {
    const auto slash = host_and_path.find('/');
    return "http://" + host_and_path.substr(0, slash) + ":" + std::to_string(nginx_->port()) +
           host_and_path.substr(slash);
  }
  static std::string origin_log() {
    std::ifstream in(nginx_->access_log());
    std::stringstream all;
    all << in.rdbuf();
    return all.str();
  }

  // The origin logs a request after its client has the answer.
  static bool origin_logs(const std::string& text) {
    for (const auto end = std::chrono::steady_clock::now() + Seconds(20); std::chrono::steady_clock::now() < end;) {
      if (origin_log().find(text) != std::string::npos) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return false;
  }

  static std::unique_ptr<TempDir> folder_;
  static std::unique_ptr<Nginx> nginx_;
  static std::unique_ptr<Proxy> proxy_;
};
std::unique_ptr<TempDir> Verdict::folder_;
std::unique_ptr<Nginx> Verdict::nginx_;
std::unique_ptr<Proxy> Verdict::proxy_;

TEST_F(Verdict, PlainRequestsFollowTheTable) {
  const struct {
    const char* name;
    const char* url;
    const char* status;
  } rows[] = {
      {"listed domain", "listed.example.test/", "403"},
      {"its subdomain", "sub.listed.example.test/any/path", "403"},
      {"listed URL", "pages.example.test/listed.html", "403"},
      {"listed URL with any query", "pages.example.test/listed.html?x=1", "403"},
      {"URL under a listed directory", "pages.example.test/dir/deep/er.html", "403"},
      {"the directory itself", "pages.example.test/dir/", "403"},
      {"listed URL with parameters", "pages.example.test/listed.html;x=1", "403"},
      {"under a listed directory with parameters", "pages.example.test/dir;v=2/deep;w/er.html", "403"},
      {"dots behind parameters", "pages.example.test/x/..;/listed.html", "403"},
      {"an unlisted URL with parameters", "pages.example.test/other.html;x=listed.html", "200"},
      {"listed query", "pages.example.test/search?q=listed", "403"},
      {"another query", "pages.example.test/search?q=other", "200"},
      {"sibling URL", "pages.example.test/other.html", "200"},
      {"sibling of the directory", "pages.example.test/dirt/", "200"},
      {"allow-listed", "wrong.example.test/", "200"},
      {"unlisted host", "innocent.example.test/", "200"},
  };
  for (const auto& row : rows) {
    const auto got = curl(plain(row.url), {"--path-as-is"});
    EXPECT_EQ(got.out.substr(got.out.rfind('\n') + 1), row.status) << row.name << "\n" << got.out;
  }
}

TEST_F(Verdict, ObfuscatedSpellingsMeetTheSameEntry) {
  const std::string port = std::to_string(nginx_->port());
  const std::vector<std::string> spellings{
      "http://LISTED.example.test.:" + port + "/", "http://pages.example.test:" + port + "/x/../listed%2ehtml",
      "http://pages.example.test:" + port + "//dir//x", "http://pages.example.test:" + port + "/%64ir/x"};
  for (const auto& url : spellings) {
    const auto got = curl(url, {"--path-as-is"});
    EXPECT_EQ(got.out.substr(got.out.rfind('\n') + 1), "403") << url << "\n" << got.out;
  }
}

TEST_F(Verdict, PageNamesUrlFilterAndContact) {
  const auto html = curl(plain("pages.example.test/listed.html?%3Cscript%3E\"'"), {"-i", "-H", "Accept: text/html"});
  for (const char* wanted :
       {"403", "text/html", "no-store", "Proxy-Status: bloomwall; error=http_request_denied", "malware",
        "pages.example.test", "helpdesk@example.test", "https://report.example.test/?id="}) {
    EXPECT_NE(html.out.find(wanted), std::string::npos) << wanted << "\n" << html.out;
  }
  EXPECT_EQ(html.out.find("<script>"), std::string::npos);
}

TEST_F(Verdict, MachinesGetJson) {
  const auto got = curl(plain("pages.example.test/listed.html"), {"-H", "Accept: application/json"});
  const auto body = nlohmann::json::parse(got.out.substr(0, got.out.rfind('\n')), nullptr, false);
  ASSERT_TRUE(body.is_object()) << got.out;
  EXPECT_EQ(body.value("filter", ""), "malware");
  EXPECT_EQ(body.value("expression", ""), "pages.example.test/listed.html");
}

TEST_F(Verdict, ConnectToAListedHostIs403AndUrlEntriesNeverBlockAHost) {
  const std::string port = std::to_string(nginx_->tls_port());
  const auto listed = curl("https://listed.example.test:" + port + "/", {"-k", "-v"});
  EXPECT_NE(listed.out.find("403"), std::string::npos) << listed.out;
  EXPECT_NE(listed.status, 0);
  const auto pages = curl("https://pages.example.test:" + port + "/listed.html", {"-k"});
  EXPECT_EQ(pages.out.substr(pages.out.rfind('\n') + 1), "200") << pages.out;
}

// What ws:// clients do: CONNECT, and HTTP in it.
TEST_F(Verdict, AnHttpUrlThroughATunnelIsJudgedLikeAnyOther) {
  const auto status = [&](const std::string& url, std::vector<std::string> options = {}) {
    options.insert(options.end(), {"--proxytunnel", "--path-as-is"});
    const auto got = curl(plain(url), options);
    return got.out.substr(got.out.rfind('\n') + 1);
  };
  EXPECT_EQ(status("pages.example.test/other.html"), "200");
  EXPECT_EQ(status("pages.example.test/listed.html"), "403");
  EXPECT_EQ(status("pages.example.test/x/../listed%2ehtml"), "403");
  EXPECT_EQ(status("innocent.example.test/", {"-H", "Host: listed.example.test"}), "403");
  EXPECT_EQ(status("pages.example.test/dir/x", {"-H", "Host: innocent.example.test"}), "403");
  EXPECT_EQ(status("innocent.example.test/", {"-X", "BREW"}), "405") << "nginx's own answer";
}

TEST_F(Verdict, ListedSniInAnInnocentTunnelIsCutBeforeAByteLeaves) {
  const std::string port = std::to_string(nginx_->tls_port());
  // --connect-to: CONNECT names the innocent host, the ClientHello the listed one.
  const auto got = curl("https://listed.example.test:" + port + "/secret-path",
                        {"-k", "--connect-to", "listed.example.test:" + port + ":innocent.example.test:" + port});
  EXPECT_NE(got.status, 0) << got.out;
  const auto control = curl("https://wrong.example.test:" + port + "/control-path",
                            {"-k", "--connect-to", "wrong.example.test:" + port + ":innocent.example.test:" + port});
  EXPECT_EQ(control.out.substr(control.out.rfind('\n') + 1), "200") << control.out;
  EXPECT_TRUE(origin_logs("control-path")) << "the control shows that the way is open";
  EXPECT_EQ(origin_log().find("secret-path"), std::string::npos);
}

TEST_F(Verdict, ChromiumShowsTheBlockPageAndTheOrigin) {
  if (!have_program("chromium")) GTEST_SKIP() << "needs chromium";
  const auto dump = [&](const std::string& url) {
    return run({"chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
                "--disable-background-networking", "--disable-component-update", "--disable-sync",
                "--disable-dev-shm-usage", "--user-data-dir=" + folder_->path("chromium"),
                "--proxy-server=" + proxy_->address(), "--virtual-time-budget=5000", "--dump-dom", url},
               {}, Seconds(60));
  };
  const auto blocked = dump(plain("sub.listed.example.test/"));
  EXPECT_NE(blocked.out.find("sub.listed.example.test"), std::string::npos) << blocked.out;
  EXPECT_NE(blocked.out.find("malware"), std::string::npos) << blocked.out;
  const auto passed = dump(plain("innocent.example.test/"));
  EXPECT_NE(passed.out.find("the origin's page"), std::string::npos) << passed.out;
}

}  // namespace
}  // namespace bloomwall::test
