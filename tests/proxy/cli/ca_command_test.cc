// `bloomwall ca`: what it writes, with which rights, what it says and what it refuses.
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "proxy/cli/ca_files.h"
#include "proxy/cli/commands.h"
#include "proxy/tls/authority_faults.h"
#include "proxy/tls/pem_files.h"
#include "tests/support/temp_dir.h"

namespace bloomwall::proxy {
namespace {

using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

struct CaOutcome {
  int status;
  std::string out, err;
};

class CaCommandTest : public testing::Test {
 protected:
  CaOutcome ca(std::vector<std::string> words) const {
    words.insert(words.begin(), "ca");
    std::istringstream in;
    std::ostringstream out, err;
    const int status = run_program(std::move(words), {.in = in, .out = out, .err = err});
    EXPECT_THAT(out.str() + err.str(), Not(HasSubstr("PRIVATE KEY")));
    return {status, out.str(), err.str()};
  }
  // On the files of this test.
  CaOutcome on_files(std::vector<std::string> words) const {
    words.insert(words.end(), {"--certificate", certificate().string()});
    return ca(std::move(words));
  }
  std::filesystem::path folder() const { return dir_.path() / "ca"; }
  std::filesystem::path certificate() const { return folder() / "ca.crt"; }
  std::filesystem::path key() const { return folder() / "ca.key"; }
  std::string text(const char* name) const { return test::bytes_of(folder() / name); }
  static std::string fingerprint(const std::filesystem::path& file) {
    const auto read = read_authority_file(file);
    return read ? fingerprint_text(fingerprint_of(read->back().get())) : read.error();
  }
  static mode_t mode_of(const std::filesystem::path& file) {
    struct stat status{};
    return ::stat(file.c_str(), &status) == 0 ? status.st_mode & 07777U : 0;
  }
  void init(std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"init", "--out", folder().string()});
    const CaOutcome made = ca(more);
    ASSERT_EQ(made.status, 0) << made.err;
  }
  const test::TempDir dir_;
};

TEST_F(CaCommandTest, InitWritesAPairWithItsRightsAndSaysWhatItMeans) {
  const CaOutcome made = ca({"init", "--out", folder().string(), "--name", "Example", "--days", "100"});
  ASSERT_EQ(made.status, 0) << made.err;
  EXPECT_EQ(mode_of(folder()), 0750U);
  EXPECT_EQ(mode_of(certificate()), 0644U);
  EXPECT_EQ(mode_of(key()), 0600U);
  EXPECT_THAT(made.out, StartsWith("CN=bloomwall "));
  EXPECT_THAT(made.out, HasSubstr(", O=Example\nSHA-256 " + fingerprint(certificate()) + "\n"));
  for (const char* part : {"0600 ", "0644 ", "Users must be told", "works council", "mode blocked", "ca export"}) {
    EXPECT_THAT(made.out, HasSubstr(part));
  }
  EXPECT_THAT(text("ca.key"), StartsWith("-----BEGIN PRIVATE KEY-----"));
  EXPECT_THAT(text("ca.crt"), Not(HasSubstr("PRIVATE")));
}

TEST_F(CaCommandTest, InitWithoutAFolderWritesWhereTheConfigurationLooks) {
  const std::filesystem::path file = dir_.path() / "bloomwall.yaml";
  std::ofstream(file) << "tls_inspection: {ca: {certificate: own/a.crt, key: own/a.key}}\n";
  const CaOutcome made = ca({"init", "--config", file.string()});
  ASSERT_EQ(made.status, 0) << made.err;
  EXPECT_THAT(made.err, Not(HasSubstr("everybody"))) << "the folder is the key's own";
  EXPECT_EQ(mode_of(dir_.path() / "own/a.crt"), 0644U);
  EXPECT_EQ(mode_of(dir_.path() / "own/a.key"), 0600U);
  EXPECT_EQ(mode_of(dir_.path() / "own"), 0750U);
  EXPECT_EQ(ca({"check", "--config", file.string()}).status, 0);
  EXPECT_EQ(ca({"init", "--config", file.string()}).status, 1) << "it is there already";
}

TEST_F(CaCommandTest, InitDoesNotWriteOverACaUnlessForced) {
  init();
  const std::string certificate_before = text("ca.crt"), key_before = text("ca.key");
  const CaOutcome second = ca({"init", "--out", folder().string()});
  EXPECT_EQ(second.status, 1);
  EXPECT_THAT(second.err, HasSubstr("is there already"));
  EXPECT_THAT(second.err, HasSubstr("--force"));
  EXPECT_EQ(text("ca.crt"), certificate_before);
  EXPECT_EQ(text("ca.key"), key_before);
  std::filesystem::remove(certificate());
  EXPECT_EQ(ca({"init", "--out", folder().string()}).status, 1) << "a key alone is worth keeping, too";
  EXPECT_EQ(text("ca.key"), key_before);
  init({"--force"});
  EXPECT_NE(text("ca.crt"), certificate_before);
  EXPECT_NE(text("ca.key"), key_before);
  EXPECT_EQ(mode_of(key()), 0600U);
  EXPECT_EQ(on_files({"check"}).status, 0);
}

TEST_F(CaCommandTest, ShowAndExportNeedNoKey) {
  init();
  std::filesystem::remove(key());
  const CaOutcome shown = on_files({"show"});
  EXPECT_EQ(shown.status, 0) << shown.err;
  EXPECT_THAT(shown.out, StartsWith("in use: CN=bloomwall "));
  EXPECT_THAT(shown.out, HasSubstr("SHA-256  " + fingerprint(certificate())));
  EXPECT_THAT(shown.out, HasSubstr("EC P-256"));
  EXPECT_THAT(shown.out, AnyOf(HasSubstr("3650 days left"), HasSubstr("3649 days left")));  // a second may have passed
  const auto json = nlohmann::json::parse(on_files({"show", "--json"}).out);
  ASSERT_EQ(json.size(), 1U);
  EXPECT_EQ(json[0]["sha256"], fingerprint(certificate()));
  const CaOutcome pem = on_files({"export"});
  EXPECT_EQ(certificates_of(pem.out)->size(), 1U);
  EXPECT_EQ(on_files({"export", "--der"}).out, der_of(certificates_of(pem.out)->front().get()));
  EXPECT_THAT(on_files({"export", "--mobileconfig"}).out, HasSubstr("com.apple.security.root"));
  const CaOutcome bundle = on_files({"export", "--bundle"});
  if (bundle.status == 0) {  // where the system has roots
    EXPECT_THAT(bundle.out, HasSubstr("# SHA-256 " + fingerprint(certificate())));
  }
  EXPECT_EQ(on_files({"export", "--der", "--bundle"}).status, 2);
}

TEST_F(CaCommandTest, CheckFindsEachFault) {
  init();
  EXPECT_THAT(on_files({"check"}).out, HasSubstr("ok: strict clients accept what it signs\n"));
  const auto refused = [&](const char* why) {
    const CaOutcome got = on_files({"check"});
    EXPECT_EQ(got.status, 78) << why;
    EXPECT_THAT(got.err, HasSubstr(why));
    EXPECT_EQ(got.out, "");
  };
  ::chmod(key().c_str(), 0640);
  refused("ca.key: others than its owner may read or write it (mode 0640)");
  ::chmod(key().c_str(), 0600);
  ::chmod(folder().c_str(), 0777);
  refused("everybody may write into the folder of the CA's key; chmod o-w ");
  ::chmod(folder().c_str(), 0755);
  const CaOutcome listed = on_files({"check"});
  EXPECT_EQ(listed.status, 0) << "its own mode counts: " << listed.err;
  EXPECT_THAT(listed.err, HasSubstr("warning: "));
  EXPECT_THAT(listed.err,
              HasSubstr("everybody may list the folder of the CA's key, which is closed itself; chmod o-rwx "));
  ::chmod(folder().c_str(), 0750);
  const std::string key_text = text("ca.key");
  init({"--force"});
  std::ofstream(key()) << key_text;
  refused("ca.key: the key of another certificate than ");
  std::filesystem::remove(key());
  refused("ca.key: cannot read: No such file");
  std::filesystem::remove(certificate());
  refused("ca.crt: there is no such file; `bloomwall ca init` makes a CA");
}

TEST_F(CaCommandTest, CheckWarnsOfItsEnd) {
  init({"--days", "30"});
  const CaOutcome got = on_files({"check"});
  EXPECT_EQ(got.status, 0);
  EXPECT_THAT(got.err, HasSubstr("warning: the CA expires in "));
}

TEST_F(CaCommandTest, TheNextOneIsPublishedThenActivated) {
  init();
  const std::string first = fingerprint(certificate()), first_certificate = text("ca.crt");
  EXPECT_EQ(on_files({"activate"}).status, 78) << "there is none";
  const CaOutcome made = on_files({"next"});
  ASSERT_EQ(made.status, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("tls_inspection.ca.next: " + (folder() / "ca.next.crt").string()));
  EXPECT_EQ(mode_of(folder() / "ca.next.key"), 0600U);
  EXPECT_EQ(text("ca.crt"), first_certificate);
  EXPECT_EQ(on_files({"next"}).status, 1) << "one at a time";
  const std::string second = fingerprint(folder() / "ca.next.crt");
  EXPECT_NE(second, first);
  EXPECT_THAT(on_files({"show"}).out, testing::AllOf(HasSubstr(first), HasSubstr("next: "), HasSubstr(second)));
  EXPECT_EQ(certificates_of(on_files({"export"}).out)->size(), 2U);
  const CaOutcome done = on_files({"activate"});
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_EQ(fingerprint(certificate()), second);
  EXPECT_FALSE(std::filesystem::exists(folder() / "ca.next.crt"));
  EXPECT_FALSE(std::filesystem::exists(folder() / "ca.next.key"));
  EXPECT_EQ(mode_of(key()), 0600U);
  EXPECT_EQ(on_files({"check"}).status, 0);
  EXPECT_THAT(on_files({"show"}).out, testing::AllOf(HasSubstr("previous: "), HasSubstr(first)));
}

TEST_F(CaCommandTest, AnActivationThatWasInterruptedIsFinished) {
  init();
  const std::string first = fingerprint(certificate());
  ASSERT_EQ(on_files({"next"}).status, 0);
  const std::string second = fingerprint(folder() / "ca.next.crt");
  std::filesystem::copy_file(certificate(), folder() / "ca.previous.crt");
  std::filesystem::rename(folder() / "ca.next.key", key());
  EXPECT_EQ(on_files({"check"}).status, 78) << "the key of the other one";
  const CaOutcome done = on_files({"activate"});
  EXPECT_EQ(done.status, 0) << done.err;
  EXPECT_EQ(fingerprint(certificate()), second);
  EXPECT_EQ(fingerprint(folder() / "ca.previous.crt"), first);
  EXPECT_EQ(on_files({"check"}).status, 0);
}

TEST_F(CaCommandTest, ANextOneThatCannotBeUsedIsNotActivated) {
  init();
  ASSERT_EQ(on_files({"next"}).status, 0);
  const std::string before = text("ca.crt"), key_before = text("ca.key");
  ::chmod((folder() / "ca.next.key").c_str(), 0644);
  EXPECT_EQ(on_files({"activate"}).status, 78);
  EXPECT_EQ(text("ca.crt"), before);
  EXPECT_EQ(text("ca.key"), key_before);
}

// As of other proxies: PEM of both in one file. It can be used, but not be replaced part by part.
TEST_F(CaCommandTest, OneFileForBothIsNotWrittenOver) {
  init();
  const std::string both = text("ca.key") + text("ca.crt");
  const std::string file = dir_.write("both.pem", both).string();
  ::chmod(file.c_str(), 0600);
  const auto on_both = [&](std::vector<std::string> words) {
    words.insert(words.end(), {"--certificate", file, "--key", file});
    return ca(words);
  };
  EXPECT_EQ(on_both({"check"}).status, 0);
  EXPECT_EQ(on_both({"next"}).status, 0);
  for (const std::vector<std::string>& words : {std::vector<std::string>{"activate"}, {"init"}, {"init", "--force"}}) {
    const CaOutcome done = on_both(words);
    EXPECT_NE(done.status, 0) << words.back();
    EXPECT_THAT(done.err, HasSubstr("give the key a file of its own")) << words.back();
    EXPECT_EQ(test::bytes_of(file), both) << words.back();
  }
}

TEST_F(CaCommandTest, AnIntermediateLeavesItsRootsKeyApart) {
  const auto names = dir_.write("names", "permitted example.test\n").string();
  init({"--intermediate", "--constrain", names});
  EXPECT_EQ(read_authority_file(certificate())->size(), 2U);
  EXPECT_EQ(mode_of(folder() / "ca.root.key"), 0600U);
  std::filesystem::remove(folder() / "ca.root.key");  // taken offline
  const CaOutcome got = on_files({"check"});
  EXPECT_EQ(got.status, 0) << got.err;
  EXPECT_EQ(fingerprint(certificate()), fingerprint(folder() / "ca.root.crt")) << "clients install the root";
  dir_.write("names", "permit example.test\n");
  const CaOutcome refused = ca({"init", "--force", "--out", folder().string(), "--constrain", names});
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err, HasSubstr("names: line 1: "));
}

TEST_F(CaCommandTest, AnEncryptedKeyIsMadeAndOpened) {
  const auto passphrase = dir_.write("passphrase", "correct horse\n");
  ::chmod(passphrase.c_str(), 0600);
  init({"--passphrase-file", passphrase.string()});
  EXPECT_THAT(text("ca.key"), StartsWith("-----BEGIN ENCRYPTED PRIVATE KEY-----"));
  EXPECT_EQ(on_files({"check"}).status, 78);
  EXPECT_EQ(on_files({"check", "--passphrase-file", passphrase.string()}).status, 0);
}

TEST_F(CaCommandTest, TheConfigurationNamesTheFiles) {
  const auto config = dir_.write("bloomwall.yaml",
                                 "tls_inspection: {ca: {certificate: pki/one.crt, key: pki/one.key, "
                                 "next: pki/two.crt}}\n")
                          .string();
  const auto pki = dir_.path() / "pki";
  ASSERT_EQ(ca({"init", "--config", config}).status, 0);
  EXPECT_EQ(mode_of(pki / "one.key"), 0600U);
  EXPECT_EQ(ca({"check", "--config", config}).status, 0) << "there is no next one yet";
  ASSERT_EQ(ca({"next", "--config", config}).status, 0);
  const std::string second = fingerprint(pki / "two.crt");
  EXPECT_EQ(mode_of(pki / "two.key"), 0600U);
  EXPECT_THAT(ca({"show", "--config", config}).out, HasSubstr("next: "));
  ASSERT_EQ(ca({"activate", "--config", config}).status, 0);
  EXPECT_EQ(fingerprint(pki / "one.crt"), second);
  EXPECT_EQ(ca({"check", "--config", config}).status, 0);
  EXPECT_EQ(ca({"show", "--config", dir_.write("bad.yaml", "tls_inspection: {ca: {x: y}}\n").string()}).status, 78);
}

TEST_F(CaCommandTest, WrongUsageIs2) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{},
                                                {"bogus"},
                                                {"init", "--days", "ten"},
                                                {"init", "--days", "1", "--out", folder().string()},
                                                {"init", "--name", "", "--out", folder().string()},
                                                {"show", "extra"}}) {
    const CaOutcome got = ca(words);
    EXPECT_EQ(got.status, 2);
    EXPECT_NE(got.err, "");
  }
  EXPECT_FALSE(std::filesystem::exists(certificate()));
  for (const char* command : {"init", "show", "check", "export", "next", "activate"}) {
    const CaOutcome help = ca({command, "--help"});
    EXPECT_EQ(help.status, 0);
    EXPECT_THAT(help.out, HasSubstr("--certificate"));
  }
}

}  // namespace
}  // namespace bloomwall::proxy
