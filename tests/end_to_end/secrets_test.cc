// What is known inside intercepted TLS, and the keys that it takes, stay in the memory of the proxy: with the log at
// its most talkative, none of it is in a file, in a descriptor that is open, in what the proxy says of itself, or could
// be in a core file.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/handles.h"
#include "tests/end_to_end/networks.h"
#include "tests/end_to_end/servers.h"

namespace bloomwall::test {
namespace {

namespace fs = std::filesystem;
using KeyPtr = std::unique_ptr<EVP_PKEY, FreeWith<EVP_PKEY_free>>;
using FilePtr = std::unique_ptr<std::FILE, FreeWith<&std::fclose>>;

struct FreeNumber {
  void operator()(BIGNUM* number) const { BN_clear_free(number); }
};

constexpr const char* kPosted = "body-marker-0f7e21";
constexpr const char* kAnswer = "answer-marker-77ab3c";
constexpr const char* kCookie = "cookie-marker-5d81ee";
constexpr const char* kCredential = "credential-marker-a94c10";
constexpr const char* kPath = "path-marker-e2c6b8";
constexpr const char* kQuery = "query-marker-3b90d5";
constexpr const char* kListed = "listed-marker-61c7f4";

std::string text_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string hex_of(const std::string& octets, bool upper) {
  const char* const digits = upper ? "0123456789ABCDEF" : "0123456789abcdef";
  std::string out;
  for (const char c : octets) {
    out.push_back(digits[static_cast<unsigned char>(c) >> 4]);
    out.push_back(digits[static_cast<unsigned char>(c) & 15]);
  }
  return out;
}

std::string octets_of_hex(const std::string& hex) {
  std::string out;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    out.push_back(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  return out;
}

// The number that is the whole secret of an EC key.
std::string scalar_of(const fs::path& key_file) {
  const FilePtr file(std::fopen(key_file.c_str(), "r"));
  const KeyPtr key(file == nullptr ? nullptr : PEM_read_PrivateKey(file.get(), nullptr, nullptr, nullptr));
  BIGNUM* number = nullptr;
  if (key == nullptr || EVP_PKEY_get_bn_param(key.get(), OSSL_PKEY_PARAM_PRIV_KEY, &number) != 1) return {};
  const std::unique_ptr<BIGNUM, FreeNumber> owned(number);
  std::array<unsigned char, 32> octets{};
  BN_bn2binpad(number, octets.data(), static_cast<int>(octets.size()));
  return {octets.begin(), octets.end()};
}

using Secrets = std::map<std::string, std::string>;  // octets that must not be found, by what they are

void add_octets(Secrets& secrets, const std::string& what, const std::string& octets) {
  ASSERT_GE(octets.size(), 16U) << what;
  secrets[what] = octets;
  secrets[what + " in hexadecimal"] = hex_of(octets, false);
  secrets[what + " in HEXADECIMAL"] = hex_of(octets, true);
}

class SecretsTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* program : {"nginx", "openssl", "curl"}) {
      if (!have_program(program)) GTEST_SKIP() << "needs " << program;
    }
    origin_ = std::make_unique<Nginx>(elsewhere_);
    elsewhere_.write("nginx/root/page.html", kAnswer);
    ASSERT_EQ(run({bloomwall_program(), "ca", "init", "--out", elsewhere_.path("ca")}).status, 0);
    build_filter(folder_.path("list.bwf"),
                 std::string("blocked.example.test\nhttp://www.example.test/") + kListed + "/\n");
  }
  void serve(const std::string& log_urls) {
    fs::create_directory(folder_.path("state"));
    proxy_ = std::make_unique<Proxy>(
        folder_,
        "workers: 2\nfilters: [{name: list, file: list.bwf}]\nstate_dir: " + folder_.path("state") +
            "\naccess: {connect_ports: [" + std::to_string(origin_->tls_port()) +
            "], deny_destinations: []}\ndns: {hosts: {www.example.test: 127.0.0.1}}\n"
            "log: {level: debug, access: {file: " +
            folder_.path("access.log") + "}}\ntls_inspection: {mode: urls, never: [], log_urls: " + log_urls +
            ", ca: {certificate: " + elsewhere_.path("ca/ca.crt") + ", key: " + elsewhere_.path("ca/ca.key") +
            "}, verify: {ca_file: " + origin_->certificate() + "}}\n",
        Proxy::Admin::on);
  }
  Finished fetch(const std::string& path, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> argv{"env",      "SSLKEYLOGFILE=" + elsewhere_.path("keys.log"),
                                  "curl",     "-s",
                                  "-m",       "10",
                                  "--cacert", elsewhere_.path("ca/ca.crt"),
                                  "-x",       proxy_->url(),
                                  "-b",       std::string("session=") + kCookie,
                                  "-H",       std::string("Authorization: Bearer ") + kCredential};
    argv.insert(argv.end(), more.begin(), more.end());
    argv.push_back("https://www.example.test:" + std::to_string(origin_->tls_port()) + path);
    return run(argv);
  }
  void use() const {
    const std::string path = std::string("/") + kPath + "?" + kQuery + "=1";
    EXPECT_EQ(fetch(path).out, kAnswer) << proxy_->url();
    fetch(path, {"-d", kPosted});  // nginx refuses it, once it has it
    const std::string listed = std::string("/") + kListed + "/x?" + kQuery + "=1";
    EXPECT_NE(fetch(listed, {"-w", "%{http_code}"}).out.find("403"), std::string::npos);
    const auto logged = [&] { return text_of(folder_.path("access.log")).find(kListed) != std::string::npos; };
    ASSERT_TRUE(wait_until(logged)) << "what was stopped is logged: " << text_of(folder_.path("access.log"));
    ASSERT_NE(text_of(elsewhere_.path("nginx/access.log")).find(kPath), std::string::npos) << "the origin was asked";
  }

  // Everything that the proxy may have written to, or holds open, or says. By where it was found.
  std::map<std::string, std::string> everything() const {
    std::map<std::string, std::string> places;
    for (const auto& entry : fs::recursive_directory_iterator(folder_.path())) {
      if (entry.is_regular_file()) places[entry.path().string()] = text_of(entry.path());
    }
    const std::string process = "/proc/" + std::to_string(proxy_->process().pid());
    for (const auto& entry : fs::directory_iterator(process + "/fd")) {
      std::error_code gone;
      if (fs::is_regular_file(entry.path(), gone)) places[entry.path().string()] = text_of(entry.path());
    }
    for (const char* file : {"/cmdline", "/environ", "/comm"}) places[process + file] = text_of(process + file);
    const std::string admin = "http://127.0.0.1:" + std::to_string(proxy_->admin_port());
    for (const char* page : {"/metrics", "/healthz", "/readyz"}) places[page] = run({"curl", "-s", admin + page}).out;
    for (const char* page : {"/metrics", "/api/v1/exceptions", "/api/v1/tls/refused"}) {
      places[std::string("control ") + page] =
          run({"curl", "-s", "--unix-socket", folder_.path("control.sock"), std::string("http://localhost") + page})
              .out;
    }
    for (const char* page : {"/ca", "/ca.crt", "/ca.der", "/ca.mobileconfig"}) {
      places[std::string("listener ") + page] = run({"curl", "-s", proxy_->url() + page}).out;
    }
    places["messages"] = proxy_->process().output();
    return places;
  }

  // What the CA's key is, and what the client's TLS knows.
  Secrets secrets() const {
    Secrets out{
        {"body", kPosted}, {"answer", kAnswer}, {"cookie", kCookie}, {"credential", kCredential}, {"query", kQuery}};
    std::istringstream pem(text_of(elsewhere_.path("ca/ca.key")));
    int number = 0;
    for (std::string line; std::getline(pem, line);) {
      if (!line.starts_with("-----") && line.size() >= 20)
        out["line " + std::to_string(++number) + " of the key"] = line;
    }
    add_octets(out, "the key's number", scalar_of(elsewhere_.path("ca/ca.key")));
    std::istringstream keys(text_of(elsewhere_.path("keys.log")));
    for (std::string label, random, secret; keys >> label >> random >> secret;) {
      if (label.starts_with('#')) continue;
      add_octets(out, label + " " + random.substr(0, 8), octets_of_hex(secret));
    }
    return out;
  }

  const TempDir folder_, elsewhere_;  // the proxy's, and that of everybody else
  std::unique_ptr<Nginx> origin_;
  std::unique_ptr<Proxy> proxy_;
};

TEST_F(SecretsTest, AreInNoFileAndInNoAnswer) {
  serve("blocked");
  use();
  Secrets hidden = secrets();
  hidden["path"] = kPath;
  EXPECT_GE(hidden.size(), 10U);
  const auto places = everything();
  ASSERT_GE(places.size(), 12U);
  for (const auto& [place, text] : places) {
    for (const auto& [what, octets] : hidden) {
      EXPECT_EQ(text.find(octets), std::string::npos) << what << " is in " << place;
    }
  }
  proxy_->process().signal(SIGTERM);
  EXPECT_EQ(proxy_->process().wait(), 0);
  for (const auto& entry : fs::recursive_directory_iterator(folder_.path())) {
    if (!entry.is_regular_file()) continue;
    for (const auto& [what, octets] : hidden) {
      EXPECT_EQ(text_of(entry.path()).find(octets), std::string::npos)
          << what << " is in " << entry.path() << " at the end";
    }
  }
}

// That the search finds what is there: the same run, told to log paths.
TEST_F(SecretsTest, WouldBeFoundWhereTheyAreAskedFor) {
  serve("all");
  use();
  const auto places = everything();
  EXPECT_NE(places.at(folder_.path("access.log")).find(kPath), std::string::npos);
  Secrets hidden = secrets();
  hidden.erase("query");  // which is a part of what was asked for
  for (const auto& [place, text] : places) {
    for (const auto& [what, octets] : hidden) {
      EXPECT_EQ(text.find(octets), std::string::npos) << what << " is in " << place;
    }
  }
}

TEST_F(SecretsTest, CannotGetIntoACoreFile) {
  serve("blocked");
  use();
  const std::string limits = text_of("/proc/" + std::to_string(proxy_->process().pid()) + "/limits");
  const std::size_t at = limits.find("Max core file size");
  ASSERT_NE(at, std::string::npos);
  std::istringstream row(limits.substr(at + std::string("Max core file size").size()));
  std::string soft, hard;
  row >> soft >> hard;
  EXPECT_EQ(soft + " " + hard, "0 0");
}

}  // namespace
}  // namespace bloomwall::test
