// What a reload reads: a line in an allow list or a delta beside a large signed filter that did not change. Counted by
// the kernel (rchar of /proc/PID/io).
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/end_to_end/servers.h"
#include "tests/support/scripted_peer.h"

namespace bloomwall::test {
namespace {

constexpr std::uint64_t kMostRead = 10'000'000;  // bytes; the filter has nine times as many

class ReloadCost : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(filter({"keygen", folder_.path("a.key")}).status, 0);
    build("one.example.test\ntwo.example.test\n");
    update("first.example.test\n");
    folder_.write("allow.txt", "# nobody\n");
    proxy_ =
        std::make_unique<Proxy>(folder_,
                                "filters: [{name: sample, file: test.bwf, delta: test.delta, public_key: a.key.pub}]\n"
                                "allow_lists: [allow.txt]\n"
                                "access: {connect_ports: [], deny_destinations: []}\n"
                                "log: {access: {file: off}}\n"
                                "state_dir: null\n");
    ASSERT_EQ(status("one.example.test"), "403");
  }
  // Some 90 MB, nearly empty.
  void build(const std::string& hosts) const {
    build_filter(file_, hosts, {"--format", "domains", "--entries", "20M", "--kinds", "S=1"});
    ASSERT_GT(std::filesystem::file_size(file_), 5 * kMostRead);
    ASSERT_EQ(filter({"sign", file_, "--key", folder_.path("a.key")}).status, 0);
  }
  static Finished filter(std::vector<std::string> words) {
    words.insert(words.begin(), filter_program());
    return run(words);
  }
  void update(const std::string& added) const {
    const auto made = filter({"update", file_, "--delta", folder_.path("test.delta"), "--add",
                              folder_.write("added.txt", added), "--key", folder_.path("a.key")});
    ASSERT_EQ(made.status, 0) << made.out;
  }
  // 403 blocked; anything else passed, since there is no such host.
  std::string status(const std::string& host) const {
    auto client = ScriptedPeer::connect(proxy_->port());
    client.send("CONNECT " + host + ":443 HTTP/1.1\r\nHost: " + host + ":443\r\n\r\n");
    return client.read_head().substr(9, 3);
  }
  std::uint64_t bytes_read() const {
    std::ifstream io("/proc/" + std::to_string(proxy_->process().pid()) + "/io");
    std::string name;
    std::uint64_t value = 0;
    io >> name >> value;
    EXPECT_EQ(name, "rchar:");
    return value;
  }
  std::uint64_t reload() const {
    const std::uint64_t before = bytes_read();
    const auto answer = proxy_->reload();
    EXPECT_EQ(answer.status, 0) << answer.out;
    return bytes_read() - before;
  }

  const TempDir folder_;
  const std::string file_ = folder_.path("test.bwf");
  std::unique_ptr<Proxy> proxy_;
};

TEST_F(ReloadCost, IsThatOfWhatChanged) {
  folder_.write("allow.txt", "# nobody\none.example.test\n");
  EXPECT_LT(reload(), kMostRead);
  EXPECT_NE(status("one.example.test"), "403");
  EXPECT_EQ(status("two.example.test"), "403");
  update("second.example.test\n");
  EXPECT_LT(reload(), kMostRead);
  EXPECT_EQ(status("first.example.test"), "403");
  EXPECT_EQ(status("second.example.test"), "403");
  // A copy under the name is the same filter, and another build is read in whole.
  std::filesystem::copy_file(file_, folder_.path("next"));
  std::filesystem::rename(folder_.path("next"), file_);
  EXPECT_LT(reload(), kMostRead);
  build("one.example.test\nthree.example.test\n");
  ASSERT_EQ(filter({"update", file_, "--delta", folder_.path("test.delta"), "--rebase", "--key", folder_.path("a.key")})
                .status,
            0);
  EXPECT_GT(reload(), std::filesystem::file_size(file_));
  EXPECT_EQ(status("three.example.test"), "403");
}

}  // namespace
}  // namespace bloomwall::test
