// The fields of a leaf, read back by OpenSSL's library and by its program, and what names can have one.
// SPDX-License-Identifier: Apache-2.0
#include "proxy/tls/leaf_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string_view>
#include <vector>

#include "tests/proxy/tls/authority_fixture.h"

namespace bloomwall::proxy {
namespace {

using test::AuthorityFolder;
using test::good_request;
using test::kTestDay;
using testing::ContainsRegex;
using testing::HasSubstr;

constexpr std::int64_t kNoon = 1'800'014'400;  // 2027-01-15T12:00:00Z
constexpr std::int64_t kMidnight = 1'799'971'200;

std::string labels_of(std::size_t size) {  // a name of exactly that many octets
  std::string name;
  while (name.size() < size) {
    const std::size_t rest = size - name.size();
    const std::size_t label = rest > 63 ? std::min<std::size_t>(63, rest - 2) : rest;
    name.append(label, 'a');
    if (name.size() < size) name.push_back('.');
  }
  return name;
}

// Verifies as the strictest clients do, and that the certificate is for this host alone.
std::string strict_error(const Leaf& leaf, const AuthorityPtr& authority, const std::string& host, std::int64_t now) {
  const X509StorePtr store(X509_STORE_new());
  X509_STORE_add_cert(store.get(), authority->anchor());
  const X509StoreContextPtr context(X509_STORE_CTX_new());
  X509_STORE_CTX_init(context.get(), store.get(), leaf.certificate(), leaf.chain());
  X509_VERIFY_PARAM* const terms = X509_STORE_CTX_get0_param(context.get());
  X509_VERIFY_PARAM_set_flags(terms, X509_V_FLAG_X509_STRICT);
  X509_VERIFY_PARAM_set_time(terms, now);
  X509_VERIFY_PARAM_set_purpose(terms, X509_PURPOSE_SSL_SERVER);
  X509_VERIFY_PARAM_set_auth_level(terms, 2);
  X509_VERIFY_PARAM_set_hostflags(terms, X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
  if (address_octets(host).empty()) {
    X509_VERIFY_PARAM_set1_host(terms, host.c_str(), host.size());
  } else {
    X509_VERIFY_PARAM_set1_ip_asc(terms, host.c_str());
  }
  if (X509_verify_cert(context.get()) == 1) return "";
  return X509_verify_cert_error_string(X509_STORE_CTX_get_error(context.get()));
}

int critical(X509* certificate, int nid) {
  const int at = X509_get_ext_by_NID(certificate, nid, -1);
  return at < 0 ? -1 : X509_EXTENSION_get_critical(X509_get_ext(certificate, at));
}

// An extension as OpenSSL prints it.
std::string printed(X509* certificate, int nid) {
  const BioPtr memory(BIO_new(BIO_s_mem()));
  const int at = X509_get_ext_by_NID(certificate, nid, -1);
  if (at < 0 || X509V3_EXT_print(memory.get(), X509_get_ext(certificate, at), 0, 0) != 1) return "";
  char* text = nullptr;
  const long size = BIO_get_mem_data(memory.get(), &text);
  return {text, static_cast<std::size_t>(size)};
}

class LeafMintTest : public testing::Test {
 protected:
  LeafPtr mint(const std::string& host, std::int64_t now = kNoon) {
    const auto leaf = mint_.mint(host, now);
    EXPECT_TRUE(leaf) << host << ": " << leaf.error();
    return leaf ? *leaf : nullptr;
  }
  const AuthorityFolder folder_;
  const AuthorityPtr authority_ =
      test::load_authority(folder_.make(good_request(kMidnight - 100 * kTestDay)), test::test_terms(kNoon));
  const LeafMint mint_{authority_};
};

TEST_F(LeafMintTest, EveryFieldIsOurs) {
  const LeafPtr leaf = mint("www.example.test");
  // Parsed anew: what was built is what clients read.
  const std::string octets = der_of(leaf->certificate());
  const auto* at = reinterpret_cast<const unsigned char*>(octets.data());
  const X509Ptr read(d2i_X509(nullptr, &at, static_cast<long>(octets.size())));
  ASSERT_NE(read, nullptr);
  X509* const certificate = read.get();
  EXPECT_EQ(X509_get_version(certificate), X509_VERSION_3);
  EXPECT_EQ(subject_text(certificate), "CN=www.example.test");
  EXPECT_EQ(X509_NAME_cmp(X509_get_issuer_name(certificate), X509_get_subject_name(authority_->certificate())), 0);
  EXPECT_EQ(printed(certificate, NID_subject_alt_name), "DNS:www.example.test");
  EXPECT_EQ(critical(certificate, NID_subject_alt_name), 0);
  EXPECT_EQ(printed(certificate, NID_basic_constraints), "CA:FALSE");
  EXPECT_EQ(critical(certificate, NID_basic_constraints), 1);
  EXPECT_EQ(printed(certificate, NID_key_usage), "Digital Signature");
  EXPECT_EQ(critical(certificate, NID_key_usage), 1);
  EXPECT_EQ(printed(certificate, NID_ext_key_usage), "TLS Web Server Authentication");
  EXPECT_EQ(critical(certificate, NID_ext_key_usage), 0);
  const ASN1_OCTET_STRING* const issuer_key = X509_get0_authority_key_id(certificate);
  const ASN1_OCTET_STRING* const own_key = X509_get0_subject_key_id(certificate);
  EXPECT_EQ(ASN1_OCTET_STRING_cmp(issuer_key, X509_get0_subject_key_id(authority_->certificate())), 0);
  EXPECT_NE(ASN1_OCTET_STRING_cmp(own_key, issuer_key), 0);
  EXPECT_EQ(X509_get_ext_count(certificate), 6);
  EXPECT_EQ(unix_time_of(X509_get0_notBefore(certificate)), kMidnight - 2 * kTestDay);
  EXPECT_EQ(unix_time_of(X509_get0_notAfter(certificate)), kMidnight + 5 * kTestDay);
  EXPECT_EQ(X509_get_signature_nid(certificate), NID_ecdsa_with_SHA256);
  EXPECT_EQ(X509_verify(certificate, X509_get0_pubkey(authority_->certificate())), 1);
  EXPECT_EQ(EVP_PKEY_eq(X509_get0_pubkey(certificate), leaf->key()), 1);
  EXPECT_NE(EVP_PKEY_eq(X509_get0_pubkey(authority_->certificate()), leaf->key()), 1) << "never the CA's key";
  EXPECT_EQ(strict_error(*leaf, authority_, "www.example.test", kNoon), "");
  EXPECT_NE(strict_error(*leaf, authority_, "example.test", kNoon), "");
}

TEST_F(LeafMintTest, OneCertificateForSeveralNamesIsForEachOfThem) {
  const std::vector<std::string_view> hosts{"box.example.test", "localhost", "192.0.2.7", "2001:db8::7"};
  const auto leaf = mint_.mint_for(hosts, kNoon);
  ASSERT_TRUE(leaf) << leaf.error();
  EXPECT_EQ(subject_text((*leaf)->certificate()), "CN=box.example.test");
  for (const std::string_view host : hosts) {
    EXPECT_EQ(strict_error(**leaf, authority_, std::string(host), kNoon), "") << host;
  }
  for (const char* const other : {"www.box.example.test", "192.0.2.8", "2001:db8::8"}) {
    EXPECT_NE(strict_error(**leaf, authority_, other, kNoon), "") << other;
  }
  const std::vector<std::string_view> wrong{"box.example.test", "no name"};
  EXPECT_FALSE(mint_.mint_for(wrong, kNoon));
}

// The octets are the DER that OpenSSL itself would write.
TEST_F(LeafMintTest, ItsOctetsAreCanonical) {
  const std::string octets = der_of(mint("www.example.test")->certificate());
  const auto* at = reinterpret_cast<const unsigned char*>(octets.data());
  const X509Ptr read(d2i_X509(nullptr, &at, static_cast<long>(octets.size())));
  unsigned char* again = nullptr;
  const int size = i2d_re_X509_tbs(read.get(), &again);
  const OctetsPtr owned(again);
  EXPECT_NE(octets.find(std::string(reinterpret_cast<const char*>(again), static_cast<std::size_t>(size))),
            std::string::npos);
}

TEST_F(LeafMintTest, NamesOfEveryKind) {
  struct Row {
    std::string host, alternative_name;
    bool has_common_name;
  };
  const std::vector<Row> rows{
      {labels_of(64), "DNS:" + labels_of(64), true},
      {labels_of(65), "DNS:" + labels_of(65), false},
      {labels_of(253), "DNS:" + labels_of(253), false},
      {"xn--bcher-kva.example", "DNS:xn--bcher-kva.example", true},
      {"intranet", "DNS:intranet", true},
      {"_dmarc.example.test", "DNS:_dmarc.example.test", true},
      {"1.2.3.example", "DNS:1.2.3.example", true},
      {"192.0.2.7", "IP Address:192.0.2.7", true},
      {"2001:db8::1", "IP Address:2001:DB8:0:0:0:0:0:1", true},
      {"::ffff:192.0.2.7", "IP Address:0:0:0:0:0:FFFF:C000:207", true},
  };
  for (const Row& row : rows) {
    ASSERT_TRUE(LeafMint::is_mintable(row.host)) << row.host;
    const LeafPtr leaf = mint(row.host);
    X509* const certificate = leaf->certificate();
    EXPECT_EQ(printed(certificate, NID_subject_alt_name), row.alternative_name);
    EXPECT_EQ(critical(certificate, NID_subject_alt_name), row.has_common_name ? 0 : 1);
    EXPECT_EQ(X509_NAME_entry_count(X509_get_subject_name(certificate)), row.has_common_name ? 1 : 0);
    if (row.host != "_dmarc.example.test") {  // OpenSSL compares such a name, and others need not
      EXPECT_EQ(strict_error(*leaf, authority_, row.host, kNoon), "") << row.host;
    }
  }
  EXPECT_EQ(rows.size(), 10U);
}

TEST_F(LeafMintTest, HostsThatNoCertificateHolds) {
  std::size_t refused = 0;
  for (const std::string& host :
       {std::string(), labels_of(254), std::string(64, 'a') + ".test", std::string("a..b"), std::string(".a"),
        std::string("a."), std::string("*.example.test"), std::string("EXAMPLE.test"), std::string("a b"),
        std::string("[2001:db8::1]"), std::string("fe80::1%eth0"), std::string("1.2.3"), std::string("1.2.3.4.5"),
        std::string("300.1.1.1"), std::string("a\0.test", 7), std::string("bücher.example"), std::string("a,DNS:b"),
        std::string("192.0.2.7\0", 10)}) {
    EXPECT_FALSE(LeafMint::is_mintable(host)) << host;
    EXPECT_FALSE(mint_.mint(host, kNoon)) << host;
    ++refused;
  }
  EXPECT_EQ(refused, 18U);
}

TEST_F(LeafMintTest, SerialsNeverRepeat) {
  std::set<std::string> serials;
  int longest = 0;
  for (int i = 0; i < 1'000; ++i) {
    const LeafPtr leaf = mint("a.test");
    const ASN1_INTEGER* const serial = X509_get0_serialNumber(leaf->certificate());
    const int size = ASN1_STRING_length(serial);
    serials.emplace(reinterpret_cast<const char*>(ASN1_STRING_get0_data(serial)), static_cast<std::size_t>(size));
    const std::unique_ptr<BIGNUM, FreeWith<BN_free>> number(ASN1_INTEGER_to_BN(serial, nullptr));
    EXPECT_FALSE(BN_is_negative(number.get()));
    EXPECT_LE(BN_num_bits(number.get()), 127);
    EXPECT_GE(BN_num_bits(number.get()), 120);
    longest = std::max(longest, BN_num_bits(number.get()));
  }
  EXPECT_EQ(serials.size(), 1'000U);
  EXPECT_EQ(longest, 127);
}

TEST_F(LeafMintTest, LivesWithinItsAuthority) {
  const std::int64_t end = authority_->not_after();
  const LeafPtr last = mint("a.test", end - kTestDay);
  EXPECT_EQ(last->not_after(), end);
  EXPECT_EQ(strict_error(*last, authority_, "a.test", end - 1), "");
  const auto late = mint_.mint("a.test", end);
  ASSERT_FALSE(late);
  EXPECT_THAT(late.error(), HasSubstr("the CA expired on "));
  const auto early = mint_.mint("a.test", authority_->not_before() - 1);
  ASSERT_FALSE(early) << "a clock that was set back";
  EXPECT_THAT(early.error(), HasSubstr("the CA is not valid before "));
  const LeafPtr first = mint("a.test", authority_->not_before() + 60);
  EXPECT_EQ(first->not_before(), authority_->not_before());
  const LeafPtr longer = *LeafMint(authority_, 30).mint("a.test", kNoon);
  EXPECT_EQ(longer->not_after(), kMidnight + 30 * kTestDay);
}

TEST_F(LeafMintTest, ClocksThatAreOffAreServed) {
  const LeafPtr leaf = mint("a.test");
  for (const std::int64_t hours : {-36, 0, 36}) {
    EXPECT_EQ(strict_error(*leaf, authority_, "a.test", kNoon + hours * 3600), "") << hours;
  }
}

TEST_F(LeafMintTest, IsFreshForADay) {
  const LeafPtr leaf = mint("a.test");
  EXPECT_TRUE(leaf->is_fresh(kNoon));
  EXPECT_TRUE(leaf->is_fresh(kNoon + kTestDay - 1));
  EXPECT_FALSE(leaf->is_fresh(kNoon + kTestDay));
  EXPECT_TRUE(leaf->is_fresh(kNoon - kTestDay)) << "a clock that was put right";
  EXPECT_FALSE(leaf->is_fresh(kNoon - 3 * kTestDay)) << "not valid then";
}

TEST_F(LeafMintTest, TheKeyIsOfThisProcessAndLivesADay) {
  const LeafPtr first = mint("a.test"), second = mint("b.test", kNoon + kTestDay - 1);
  const LeafPtr third = mint("c.test", kNoon + kTestDay);
  EXPECT_EQ(first->key(), second->key());
  EXPECT_NE(first->key(), third->key());
  EXPECT_EQ(EVP_PKEY_eq(X509_get0_pubkey(third->certificate()), third->key()), 1);
  const LeafMint other(authority_);
  EXPECT_NE(other.generation(), mint_.generation());
  EXPECT_NE((*other.mint("a.test", kNoon))->key(), first->key());
}

TEST_F(LeafMintTest, ASessionPresentsIt) {
  const LeafPtr leaf = mint("a.test");
  const SslContextPtr context(SSL_CTX_new(TLS_server_method()));
  const SslPtr session(SSL_new(context.get()));
  EXPECT_EQ(SSL_use_cert_and_key(session.get(), leaf->certificate(), leaf->key(), leaf->chain(), 1), 1);
  EXPECT_EQ(SSL_check_private_key(session.get()), 1);
}

TEST_F(LeafMintTest, EveryKindOfAuthorityKeySigns) {
  for (const char* key : {"RSA 2048", "P-384", "P-521"}) {
    const AuthorityFolder folder;
    const AuthorityPtr authority = test::load_authority(folder.write(test::make_odd({.key = key})));
    ASSERT_NE(authority, nullptr);
    const LeafMint mint(authority);
    for (const LeafKeyType type : {LeafKeyType::ecdsa, LeafKeyType::rsa}) EXPECT_FALSE(mint.is_fast(type));
    const auto leaf = mint.mint("a.test", std::time(nullptr));
    ASSERT_TRUE(leaf) << leaf.error();
    EXPECT_EQ(strict_error(**leaf, authority, "a.test", std::time(nullptr)), "") << key;
  }
}

// What the program `openssl` makes of a leaf: another reader than the library calls above.
std::string openssl_text(const std::string& arguments) {
  std::string out;
  const std::string command = "openssl " + arguments + " 2>&1";
  std::FILE* const pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return out;
  std::array<char, 4096> room{};
  for (std::size_t got = 0; (got = std::fread(room.data(), 1, room.size(), pipe)) > 0;) out.append(room.data(), got);
  ::pclose(pipe);
  return out;
}

TEST_F(LeafMintTest, TheOpensslProgramReadsAndVerifiesIt) {
  if (openssl_text("version").find("OpenSSL") != 0) GTEST_SKIP() << "needs the program openssl";
  const AuthorityFolder folder;
  const AuthorityPtr authority = test::good_authority(folder);
  const LeafPtr leaf = *LeafMint(authority).mint("www.example.test", std::time(nullptr));
  const std::string file = folder.dir.write("leaf.pem", pem_of(leaf->certificate())).string();
  const std::string text = openssl_text("x509 -noout -text -in " + file);
  for (const char* part : {"Version: 3", "ecdsa-with-SHA256", "CA:FALSE", "Digital Signature",
                           "TLS Web Server Authentication", "DNS:www.example.test", "ASN1 OID: prime256v1"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  EXPECT_THAT(text, ContainsRegex("Subject: CN ?= ?www\\.example\\.test"));  // OpenSSL 3.0 writes blanks, 3.5 none
  EXPECT_EQ(text.find("URI:"), std::string::npos);
  EXPECT_EQ(openssl_text("verify -x509_strict -purpose sslserver -verify_hostname www.example.test -CAfile " +
                         (folder.dir.path() / "ca.crt").string() + " " + file),
            file + ": OK\n");
}

}  // namespace
}  // namespace bloomwall::proxy
