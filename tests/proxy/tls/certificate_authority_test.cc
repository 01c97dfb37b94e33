// What is taken for a CA and what is refused, each fault by itself.
// SPDX-License-Identifier: Apache-2.0
#include "proxy/tls/certificate_authority.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proxy/tls/authority_faults.h"
#include "proxy/tls/certificates.h"
#include "proxy/tls/leaf_cache.h"
#include "tests/proxy/tls/authority_fixture.h"

namespace bloomwall::proxy {
namespace {

using test::AuthorityFolder;
using test::good_request;
using test::kTestDay;
using test::make_odd;
using test::OddAuthority;
using test::OddPair;
using test::test_terms;
using testing::HasSubstr;
using testing::StartsWith;

std::string load_error(const AuthorityFiles& files, const AuthorityTerms& terms = test_terms()) {
  const auto loaded = CertificateAuthority::load(files, terms);
  return loaded ? "loaded" : loaded.error();
}

TEST(CertificateAuthority, OneThatInitMadeIsTakenAndIsStrict) {
  const AuthorityFolder folder;
  const AuthorityPtr authority = test::good_authority(folder);
  ASSERT_NE(authority, nullptr);
  EXPECT_EQ(authority->certificate(), authority->anchor());
  EXPECT_EQ(sk_X509_num(authority->chain()), 0);
  EXPECT_TRUE(authority->signer().is_fast());
  EXPECT_EQ(authority->key_identifier().size(), 20U);
  const auto strict = check_strictly(authority, std::time(nullptr));
  EXPECT_TRUE(strict) << strict.error();
}

TEST(CertificateAuthority, AnIntermediateIsSentAndItsRootIsNot) {
  const AuthorityFolder folder;
  AuthorityRequest request = good_request();
  request.with_intermediate = true;
  const AuthorityPtr authority = test::load_authority(folder.make(request));
  ASSERT_NE(authority, nullptr);
  EXPECT_NE(authority->certificate(), authority->anchor());
  EXPECT_TRUE(is_self_signed(authority->anchor()));
  ASSERT_EQ(sk_X509_num(authority->chain()), 1);
  EXPECT_EQ(X509_cmp(sk_X509_value(authority->chain(), 0), authority->certificate()), 0);
  const auto strict = check_strictly(authority, std::time(nullptr));
  EXPECT_TRUE(strict) << strict.error();
}

struct FaultRow {
  const char* what;
  OddAuthority odd;
  const char* error;
};

TEST(CertificateAuthority, RefusesEachFault) {
  const std::vector<FaultRow> rows{
      {"an end certificate", {.constraints = "critical,CA:FALSE"}, "no CA (its basicConstraints"},
      {"no basicConstraints", {.constraints = nullptr}, "no CA (its basicConstraints"},
      {"version 1", {.version = X509_VERSION_1}, "no certificate of version 3"},
      {"keyUsage without keyCertSign", {.usage = "critical,digitalSignature"}, "keyUsage does not allow keyCertSign"},
      {"for mail only", {.purposes = "emailProtection"}, "extendedKeyUsage does not allow serverAuth"},
      {"RSA 1024", {.key = "RSA 1024"}, "an RSA key of 1024 bits"},
      {"P-224", {.key = "P-224"}, "a key of 224 bits"},
      {"Ed25519", {.key = "ED25519"}, "a kind of key that clients do not verify"},
      {"SHA-1", {.digest = EVP_sha1()}, "signed with SHA-1 or MD5"},
      {"expired", {.begin = -20 * kTestDay, .end = -kTestDay}, "expired on "},
      {"of tomorrow", {.begin = kTestDay}, "not valid before "},
      {"four days left", {.end = 4 * kTestDay}, "within the 5 days that a leaf lives"},
  };
  std::size_t refused = 0;
  for (const FaultRow& row : rows) {
    const AuthorityFolder folder;
    const std::string error = load_error(folder.write(make_odd(row.odd)));
    EXPECT_THAT(error, HasSubstr(row.error)) << row.what;
    EXPECT_THAT(error, HasSubstr(folder.dir.path().string() + "/ca.")) << row.what;
    EXPECT_EQ(error.find('\n'), std::string::npos);
    ++refused;
  }
  EXPECT_EQ(refused, 12U);
}

TEST(CertificateAuthority, TakesCompanyKeysOfOtherKinds) {
  struct Row {
    const char* key;
    bool fast;
  };
  for (const Row& row : {Row{"RSA 2048", false}, Row{"P-384", false}, Row{"P-521", false}, Row{"P-256", true}}) {
    const AuthorityFolder folder;
    const AuthorityPtr authority = test::load_authority(folder.write(make_odd({.key = row.key})));
    ASSERT_NE(authority, nullptr) << row.key;
    EXPECT_EQ(authority->signer().is_fast(), row.fast) << row.key;
    const auto strict = check_strictly(authority, std::time(nullptr));
    EXPECT_TRUE(strict) << row.key << ": " << strict.error();
  }
}

TEST(CertificateAuthority, TheKeyMustBeTheCertificatesAndPrivate) {
  const AuthorityFolder folder;
  const OddPair one = make_odd({}), other = make_odd({});
  const auto files = folder.write(pem_of(one.certificate.get()), test::pem_of_test_key(other.key.get()));
  EXPECT_THAT(load_error(files), HasSubstr("ca.key: the key of another certificate than "));
  for (const mode_t mode : {0640U, 0604U, 0620U, 0602U, 0666U}) {
    folder.write(one);
    ::chmod(files.key.c_str(), mode);
    EXPECT_THAT(load_error(files), HasSubstr("others than its owner may read or write it")) << mode;
    EXPECT_THAT(load_error(files), HasSubstr("chmod 600")) << mode;
  }
  for (const mode_t mode : {0600U, 0400U}) {
    ::chmod(files.key.c_str(), mode);
    EXPECT_EQ(load_error(files), "loaded") << mode;
  }
}

TEST(CertificateAuthority, FilesThatAreNone) {
  const AuthorityFolder folder;
  const OddPair good = make_odd({});
  AuthorityFiles files = folder.write(good);
  files.key = folder.dir.path() / "nowhere.key";
  EXPECT_THAT(load_error(files), HasSubstr("nowhere.key: cannot read: No such file"));
  files = folder.write(good);
  files.certificate = folder.dir.path() / "nowhere.crt";
  EXPECT_THAT(load_error(files), HasSubstr("nowhere.crt: there is no such file; `bloomwall ca init` makes a CA"));
  files = folder.write("", test::pem_of_test_key(good.key.get()));
  EXPECT_THAT(load_error(files), HasSubstr("holds no CERTIFICATE in PEM form"));
  files = folder.write("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "x");
  EXPECT_THAT(load_error(files), HasSubstr(":1: this CERTIFICATE does not parse"));
  files = folder.write(pem_of(good.certificate.get()), "nothing");
  EXPECT_THAT(load_error(files), HasSubstr("ca.key: no private key in PEM"));
  files = folder.write(pem_of(good.certificate.get()), std::string(70'000, 'x'));
  EXPECT_THAT(load_error(files), HasSubstr("over 64 KiB"));
  files.key = folder.dir.path();
  EXPECT_THAT(load_error(files), HasSubstr("no regular file"));
}

TEST(CertificateAuthority, AnEncryptedKeyNeedsItsPassphrase) {
  const AuthorityFolder folder;
  const OddPair good = make_odd({});
  AuthorityFiles files = folder.write(pem_of(good.certificate.get()), test::pem_of_test_key(good.key.get(), "secret"));
  EXPECT_THAT(load_error(files), HasSubstr("is encrypted: name the file of its passphrase"));
  files.passphrase_file = folder.dir.write("passphrase", "secret\nmore\n");
  EXPECT_THAT(load_error(files), HasSubstr("passphrase: others than its owner may read"));
  ::chmod(files.passphrase_file.c_str(), 0600);
  EXPECT_EQ(load_error(files), "loaded");
  folder.dir.write("passphrase", "wrong\n");
  EXPECT_THAT(load_error(files), HasSubstr("does not open it"));
  folder.dir.write("passphrase", "\n");
  EXPECT_THAT(load_error(files), HasSubstr("no passphrase in its first line"));
}

TEST(CertificateAuthority, AChainMustBeInOrderAndAllowItself) {
  const AuthorityFolder folder;
  const OddPair root = make_odd({.constraints = "critical,CA:TRUE,pathlen:1", .name = "root"});
  const OddPair issuing = make_odd({.name = "issuing"}, &root);
  const OddPair stranger = make_odd({.constraints = "critical,CA:TRUE,pathlen:1", .name = "stranger"});
  const std::string key = test::pem_of_test_key(issuing.key.get());
  const auto pem = [](const OddPair& pair) { return pem_of(pair.certificate.get()); };
  EXPECT_EQ(load_error(folder.write(pem(issuing) + pem(root), key)), "loaded");
  EXPECT_EQ(load_error(folder.write(pem(issuing), key)), "loaded") << "clients have the root";
  EXPECT_THAT(load_error(folder.write(pem(issuing) + pem(stranger), key)),
              HasSubstr("certificate 2: did not issue the certificate before it"));
  const OddPair tight = make_odd({.constraints = "critical,CA:TRUE,pathlen:0", .name = "tight"});
  const OddPair below = make_odd({.name = "below"}, &tight);
  EXPECT_THAT(load_error(folder.write(pem(below) + pem(tight), test::pem_of_test_key(below.key.get()))),
              HasSubstr("certificate 2: its pathlen 0 does not allow the 1 CAs below it"));
  const OddPair old_root = make_odd({.constraints = "critical,CA:TRUE", .digest = EVP_sha1(), .name = "old root"});
  const OddPair modern = make_odd({.name = "modern"}, &old_root);
  EXPECT_EQ(load_error(folder.write(pem(modern) + pem(old_root), test::pem_of_test_key(modern.key.get()))), "loaded")
      << "nobody verifies a root's own signature";
}

TEST(CertificateAuthority, APublicRootIsRefusedAndOneThatWasAddedHereIsNot) {
  const AuthorityFolder folder;
  const OddPair good = make_odd({});
  const AuthorityFiles files = folder.write(good);
  AuthorityTerms terms = test_terms();
  terms.roots.bundle =
      folder.dir.write("roots.pem", pem_of(make_odd({}).certificate.get()) + pem_of(good.certificate.get()));
  EXPECT_THAT(load_error(files, terms), HasSubstr("is a public CA that this system trusts"));
  EXPECT_EQ(root_trust(good.certificate.get(), terms.roots), RootTrust::is_public);
  std::filesystem::create_directory(folder.dir.path() / "local");
  folder.dir.write("local/company.crt", pem_of(good.certificate.get()));
  terms.roots.added = {folder.dir.path() / "local"};
  EXPECT_EQ(load_error(files, terms), "loaded");
  EXPECT_EQ(root_trust(good.certificate.get(), terms.roots), RootTrust::added);
}

TEST(CertificateAuthority, StrictClientsNeedMoreThanOthers) {
  const AuthorityFolder folder;
  for (const OddAuthority& odd : {OddAuthority{.constraints = "CA:TRUE"}, OddAuthority{.usage = nullptr},
                                  OddAuthority{.has_key_identifier = false}}) {
    const AuthorityPtr authority = test::load_authority(folder.write(make_odd(odd)));
    ASSERT_NE(authority, nullptr);
    const auto strict = check_strictly(authority, std::time(nullptr));
    ASSERT_FALSE(strict);
    EXPECT_THAT(strict.error(), StartsWith("strict clients refuse its leaves: "));
  }
}

TEST(CertificateAuthority, WarnsBeforeItsEnd) {
  const AuthorityFolder folder;
  const AuthorityPtr authority = test::good_authority(folder);
  const std::int64_t end = authority->not_after();
  EXPECT_FALSE(expiry_warning(*authority, end - 61 * kTestDay));
  const auto early = expiry_warning(*authority, end - 59 * kTestDay);
  ASSERT_TRUE(early);
  EXPECT_THAT(early->text, StartsWith("the CA expires in 59 days, on "));
  EXPECT_FALSE(early->is_urgent);
  EXPECT_TRUE(expiry_warning(*authority, end - 13 * kTestDay)->is_urgent);
}

// A signer that another process could be.
class ForeignSigner final : public Signer {
 public:
  explicit ForeignSigner(SignerPtr inner) : inner_(std::move(inner)) {}
  int algorithm() const override { return inner_->algorithm(); }
  bool is_fast() const override { return false; }
  tl::expected<std::string, std::string> sign(std::span<const unsigned char> octets) const override {
    return inner_->sign(octets);
  }

 private:
  SignerPtr inner_;
};

TEST(CertificateAuthority, TheKeyMayBeElsewhere) {
  OddPair one = make_odd({}), other = make_odd({});
  const SignerPtr right = std::make_shared<ForeignSigner>(*make_signer(std::move(one.key)));
  const SignerPtr wrong = std::make_shared<ForeignSigner>(*make_signer(std::move(other.key)));
  const auto certificates = [&] {
    std::vector<X509Ptr> list;
    list.push_back(share(one.certificate.get()));
    return list;
  };
  const auto refused = CertificateAuthority::make(certificates(), wrong, test_terms(), "token");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error(), "token: what signs does not have this certificate's key");
  const auto taken = CertificateAuthority::make(certificates(), right, test_terms(), "token");
  ASSERT_TRUE(taken) << taken.error();
  const auto strict = check_strictly(*taken, std::time(nullptr));
  EXPECT_TRUE(strict) << strict.error();
}

TEST(PublishedAuthorities, AreTheOneInUseTheNextAndTheFormer) {
  const AuthorityFolder folder;
  AuthorityFiles files = folder.make(good_request());
  AuthorityTerms terms = test_terms();
  ASSERT_EQ(published_authorities(files, terms)->size(), 1U);
  files.next = folder.dir.write("ca.next.crt", make_authority(good_request())->certificate);
  folder.dir.write("ca.previous.crt", make_authority(good_request())->certificate);
  EXPECT_EQ(previous_file(files.certificate), folder.dir.path() / "ca.previous.crt");
  const auto all = published_authorities(files, terms);
  ASSERT_TRUE(all) << all.error();
  ASSERT_EQ(all->size(), 3U);
  EXPECT_STREQ(to_string((*all)[0].role), "in use");
  EXPECT_STREQ(to_string((*all)[1].role), "next");
  EXPECT_STREQ(to_string((*all)[2].role), "previous");
  terms.now += 7 * kTestDay;
  EXPECT_EQ(published_authorities(files, terms)->size(), 2U) << "its last leaf has died";
  const auto keys = own_authority_keys(files, terms);
  ASSERT_TRUE(keys) << keys.error();
  for (const char* file : {"ca.crt", "ca.next.crt", "ca.previous.crt"}) {
    const auto own = read_authority_file(folder.dir.path() / file);
    EXPECT_EQ(std::ranges::count(*keys, public_key_info(own->front().get())) > 0, true) << file << ": no origin has it";
  }
  folder.dir.write("ca.next.crt", pem_of(make_odd({.constraints = "CA:FALSE"}).certificate.get()));
  const auto none = published_authorities(files, terms);
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error(), HasSubstr("ca.next.crt: no CA"));
}

}  // namespace
}  // namespace bloomwall::proxy
