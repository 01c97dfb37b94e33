// keygen, sign and verify through the command line.
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "filter/file/filter_file.h"
#include "filter/policy/delta.h"
#include "tests/filter/cli/run.h"
#include "tests/support/temp_dir.h"

namespace bloomwall::filter {
namespace {

using test::Ran;
using test::run;
using testing::HasSubstr;

class KeyCommands : public testing::Test {
 protected:
  void SetUp() override {
    dir_.write("list.txt", "bad.example\nhttp://half.example/a\n");
    ASSERT_EQ(run({"build", "-q", "-o", filter_, at("list.txt")}).status, 0);
    const Ran made = run({"keygen", at("my.key")});
    ASSERT_EQ(made.status, 0) << made.err;
    EXPECT_THAT(made.out, HasSubstr(at("my.key.pub")));
    ASSERT_EQ(run({"keygen", at("other.key"), at("other.pem")}).status, 0);
    const auto file = FilterFile::open(filter_);
    delta_ = dir_.write("f.delta", Delta::first_line(content_id((*file)->header())) + "\n+x.example\n").string();
  }
  std::string at(const std::string& name) const { return (dir_.path() / name).string(); }
  Ran verify(const std::string& file, const std::string& key) const { return run({"verify", file, "--key", at(key)}); }
  test::TempDir dir_;
  const std::string filter_ = at("f.bwf");
  std::string delta_;
};

TEST_F(KeyCommands, HelpNamesEveryOption) {
  const Ran keygen = run({"keygen", "--help"});
  EXPECT_THAT(keygen.out, testing::AllOf(HasSubstr("private"), HasSubstr("public"), HasSubstr("Exit status")));
  const Ran sign = run({"sign", "--help"});
  EXPECT_THAT(sign.out, testing::AllOf(HasSubstr("--key"), HasSubstr("--output"), HasSubstr("Exit status")));
  EXPECT_THAT(run({"verify", "--help"}).out, HasSubstr("--key"));
}

TEST_F(KeyCommands, WhatTheListsExceptIsNotSigned) {
  dir_.write("ads.txt", "||bad.example^\n@@||good.bad.example^\n");
  ASSERT_EQ(run({"build", "-q", "-o", filter_, "--format", "adblock", at("ads.txt")}).status, 0);
  for (const std::string& target : {at("copy.bwf"), filter_}) {
    const Ran signing = run({"sign", filter_, "--key", at("my.key"), "-o", target});
    EXPECT_EQ(signing.status, 0);
    EXPECT_THAT(signing.err,
                testing::AllOf(HasSubstr(filter_ + "."), HasSubstr(".allow: not signed, so that it does not")));
  }
}

TEST_F(KeyCommands, KeygenNeverOverwrites) {
  const Ran again = run({"keygen", at("my.key")});
  EXPECT_EQ(again.status, 2);
  EXPECT_THAT(again.err, HasSubstr("never overwritten"));
  EXPECT_EQ(run({"keygen"}).status, 2);
}

TEST_F(KeyCommands, AFilterIsSignedAndVerified) {
  EXPECT_EQ(verify(filter_, "my.key.pub").status, 1) << "not signed yet";
  const Ran signing = run({"sign", filter_, "--key", at("my.key")});
  ASSERT_EQ(signing.status, 0) << signing.err;
  EXPECT_EQ(signing.err, "");
  const Ran good = verify(filter_, "my.key.pub");
  EXPECT_EQ(good.status, 0) << good.err;
  EXPECT_THAT(good.out, HasSubstr("f.bwf: ok, signed by "));
  const Ran foreign = verify(filter_, "other.pem");
  EXPECT_EQ(foreign.status, 1);
  EXPECT_THAT(foreign.err, HasSubstr("not trusted here"));
  EXPECT_EQ(run({"verify", filter_}).out, filter_ + ": ok\n");
  EXPECT_EQ(run({"verify", filter_, "--json", "--key", at("my.key.pub")}).json()["signed_by"].get<std::string>().size(),
            32U);
  EXPECT_EQ(run({"verify", filter_, "--json", "--key", at("other.pem")}).json()["error"]["code"], "untrusted");
  EXPECT_THAT(run({"info", filter_}).out, HasSubstr("signature"));
  EXPECT_EQ(run({"query", filter_, "http://bad.example/"}).status, 1) << "it answers as before";
}

TEST_F(KeyCommands, ADeltaIsSignedAndVerified) {
  EXPECT_EQ(verify(delta_, "my.key.pub").status, 1);
  ASSERT_EQ(run({"sign", delta_, "--key", at("my.key")}).status, 0);
  const Ran good = verify(delta_, "my.key.pub");
  EXPECT_EQ(good.status, 0) << good.err;
  EXPECT_THAT(good.out, HasSubstr("f.delta: ok, signed by "));
  EXPECT_EQ(verify(delta_, "other.pem").status, 1);
  EXPECT_EQ(run({"query", filter_, "--delta", delta_, "http://x.example/"}).status, 1) << "it is served as before";
  std::ofstream(delta_, std::ios::app) << "+y.example\n";
  EXPECT_EQ(verify(delta_, "my.key.pub").status, 2) << "broken text";
}

TEST_F(KeyCommands, UpdateSignsWhatNobodyChanged) {
  const auto update = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments{"update", filter_, "--delta",
                                       delta_,   "--add", dir_.write("a", "y.example\n").string()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
  };
  const Ran refused = update({"--key", at("my.key")});
  EXPECT_EQ(refused.status, 1) << "a delta that nobody signed";
  EXPECT_THAT(refused.err, HasSubstr("f.delta: bears no signature of the key"));
  EXPECT_EQ(update({"--take-unsigned"}).status, 2) << "it signs nothing without a key";
  ASSERT_EQ(update({"--key", at("my.key"), "--take-unsigned"}).status, 0);
  ASSERT_EQ(update({"--key", at("my.key")}).status, 0);
  EXPECT_EQ(verify(delta_, "my.key.pub").status, 0);
  EXPECT_THAT(run({"update", "--help"}).out, HasSubstr("--take-unsigned"));
}

TEST_F(KeyCommands, TheOutputMayBeAnotherFile) {
  ASSERT_EQ(run({"sign", filter_, "--key", at("my.key"), "-o", at("s.bwf")}).status, 0);
  EXPECT_EQ(verify(filter_, "my.key.pub").status, 1);
  EXPECT_EQ(verify(at("s.bwf"), "my.key.pub").status, 0);
  ASSERT_EQ(run({"sign", delta_, "--key", at("my.key"), "-o", at("s.delta")}).status, 0);
  EXPECT_EQ(verify(delta_, "my.key.pub").status, 1);
  EXPECT_EQ(verify(at("s.delta"), "my.key.pub").status, 0);
}

TEST_F(KeyCommands, WhatCantBeSignedSaysWhy) {
  EXPECT_EQ(run({"sign", at("none"), "--key", at("my.key")}).status, 2);
  EXPECT_EQ(run({"sign", filter_, "--key", at("my.key.pub")}).status, 2) << "the public half does not sign";
  EXPECT_EQ(run({"sign", filter_}).status, 2);
  EXPECT_EQ(run({"sign", at("list.txt"), "--key", at("my.key")}).status, 1) << "neither filter nor delta";
  EXPECT_EQ(verify(filter_, "my.key").status, 2) << "the private half does not verify";
  std::filesystem::permissions(at("my.key"), std::filesystem::perms::group_read, std::filesystem::perm_options::add);
  const Ran open = run({"sign", filter_, "--key", at("my.key")});
  EXPECT_EQ(open.status, 0);
  EXPECT_THAT(open.err, HasSubstr("mode 0600 keeps it secret"));
}

}  // namespace
}  // namespace bloomwall::filter
