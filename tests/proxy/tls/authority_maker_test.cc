// CAs that are made here, and the forms that they are handed out in.
// SPDX-License-Identifier: Apache-2.0
#include "proxy/tls/authority_maker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proxy/tls/leaf_cache.h"
#include "proxy/tls/pem_files.h"
#include "tests/proxy/tls/authority_fixture.h"

namespace bloomwall::proxy {
namespace {

using test::AuthorityFolder;
using test::good_request;
using test::kTestDay;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

X509Ptr first_certificate(const std::string& pem) { return std::move(certificates_of(pem)->front()); }

TEST(AuthorityMaker, MakesAStrictRoot) {
  const std::int64_t now = std::time(nullptr);
  const auto made = make_authority(good_request(now));
  ASSERT_TRUE(made) << made.error();
  const X509Ptr root = first_certificate(made->certificate);
  EXPECT_THAT(subject_text(root.get()), testing::MatchesRegex("CN=bloomwall gateway [0-9a-f]{8}, O=Example"));
  EXPECT_EQ(unix_time_of(X509_get0_notBefore(root.get())), now - 7 * kTestDay);
  EXPECT_EQ(unix_time_of(X509_get0_notAfter(root.get())), now + 3650 * kTestDay);
  EXPECT_EQ(X509_get_pathlen(root.get()), 0);
  EXPECT_EQ(X509_get_key_usage(root.get()), std::uint32_t{KU_KEY_CERT_SIGN | KU_CRL_SIGN});
  for (const int nid : {NID_basic_constraints, NID_key_usage}) {
    const int at = X509_get_ext_by_NID(root.get(), nid, -1);
    ASSERT_GE(at, 0);
    EXPECT_EQ(X509_EXTENSION_get_critical(X509_get_ext(root.get(), at)), 1);
  }
  EXPECT_EQ(X509_get_ext_by_NID(root.get(), NID_info_access, -1), -1);
  EXPECT_EQ(X509_get_ext_by_NID(root.get(), NID_crl_distribution_points, -1), -1);
  EXPECT_EQ(key_text(root.get()), "EC P-256");
  EXPECT_TRUE(is_self_signed(root.get()));
  EXPECT_THAT(std::string(made->key.text()), StartsWith("-----BEGIN PRIVATE KEY-----"));
  EXPECT_EQ(made->root_certificate, "");
}

TEST(AuthorityMaker, TwoShareNothing) {
  const X509Ptr one = first_certificate(make_authority(good_request())->certificate);
  const X509Ptr other = first_certificate(make_authority(good_request())->certificate);
  EXPECT_NE(subject_text(one.get()), subject_text(other.get()));
  EXPECT_NE(ASN1_INTEGER_cmp(X509_get0_serialNumber(one.get()), X509_get0_serialNumber(other.get())), 0);
  EXPECT_NE(issuer_key_octets(one.get()), issuer_key_octets(other.get()));
}

TEST(AuthorityMaker, NamesFitAndAreEscapedWhereTheyAreShown) {
  AuthorityRequest request = good_request();
  request.host = std::string(200, 'h');
  request.organisation = "Bücher, \"O\" = x";
  const X509Ptr long_named = first_certificate(make_authority(request)->certificate);
  const std::string subject = subject_text(long_named.get());
  EXPECT_THAT(subject, StartsWith("CN=bloomwall hhhh"));
  EXPECT_EQ(subject.find(", O="), std::string_view("CN=").size() + 64);
  EXPECT_THAT(subject, HasSubstr("B\\C3\\BCcher\\, \\\"O\\\" = x"));
  for (const std::string& name : {std::string(), std::string(65, 'n'), std::string("a\nb")}) {
    request.organisation = name;
    EXPECT_FALSE(make_authority(request));
  }
  request = good_request();
  request.days = 7;
  EXPECT_FALSE(make_authority(request));
}

TEST(AuthorityMaker, AnIntermediateStandsBelowARootWhoseKeyIsApart) {
  AuthorityRequest request = good_request();
  request.with_intermediate = true;
  const auto made = make_authority(request);
  const auto chain = certificates_of(made->certificate);
  ASSERT_EQ(chain->size(), 2U);
  EXPECT_EQ(X509_get_pathlen((*chain)[0].get()), 0);
  EXPECT_EQ(X509_get_pathlen((*chain)[1].get()), -1);
  EXPECT_EQ(pem_of((*chain)[1].get()), made->root_certificate);
  EXPECT_EQ(X509_check_issued((*chain)[1].get(), (*chain)[0].get()), X509_V_OK);
  EXPECT_NE(made->key.text(), made->root_key.text());
}

TEST(AuthorityMaker, KeysAreEncryptedOnRequest) {
  const AuthorityFolder folder;
  AuthorityRequest request = good_request();
  request.passphrase = "correct horse";
  AuthorityFiles files = folder.make(request);
  EXPECT_THAT(test::bytes_of(files.key), StartsWith("-----BEGIN ENCRYPTED PRIVATE KEY-----"));
  files.passphrase_file = folder.dir.write("passphrase", "correct horse\n");
  ::chmod(files.passphrase_file.c_str(), 0600);
  EXPECT_NE(test::load_authority(files), nullptr);
}

// Whether a leaf for the host verifies under its CA as OpenSSL sees it.
int verify_error(const AuthorityPtr& authority, const std::string& host) {
  const auto leaf = LeafMint(authority).mint(host, std::time(nullptr));
  EXPECT_TRUE(leaf) << leaf.error();
  const X509StorePtr store(X509_STORE_new());
  X509_STORE_add_cert(store.get(), authority->anchor());
  const X509StoreContextPtr context(X509_STORE_CTX_new());
  X509_STORE_CTX_init(context.get(), store.get(), (*leaf)->certificate(), authority->chain());
  X509_VERIFY_PARAM_set_flags(X509_STORE_CTX_get0_param(context.get()), X509_V_FLAG_X509_STRICT);
  X509_verify_cert(context.get());
  return X509_STORE_CTX_get_error(context.get());
}

TEST(AuthorityMaker, NameConstraintsBindItsLeaves) {
  AuthorityRequest request = good_request();
  request.names = *parse_name_limits(
      "# those of the pilot\npermitted example.test\n\npermitted 10.0.0.0/8 # and these\nexcluded bank.example.test\n");
  for (const bool with_intermediate : {false, true}) {
    const AuthorityFolder folder;
    request.with_intermediate = with_intermediate;
    const AuthorityPtr authority = test::load_authority(folder.make(request));
    ASSERT_NE(authority, nullptr);
    EXPECT_EQ(verify_error(authority, "www.example.test"), X509_V_OK);
    EXPECT_EQ(verify_error(authority, "10.1.2.3"), X509_V_OK);
    EXPECT_EQ(verify_error(authority, "www.example.com"), X509_V_ERR_PERMITTED_VIOLATION);
    EXPECT_EQ(verify_error(authority, "11.1.2.3"), X509_V_ERR_PERMITTED_VIOLATION);
    EXPECT_EQ(verify_error(authority, "x.bank.example.test"), X509_V_ERR_EXCLUDED_VIOLATION);
    const auto strict = check_strictly(authority, std::time(nullptr));
    EXPECT_TRUE(strict) << strict.error();
  }
  const AuthorityFolder folder;
  request.names = *parse_name_limits("permitted example.test\n");
  const AuthorityPtr authority = test::load_authority(folder.make(request));
  EXPECT_EQ(verify_error(authority, "10.1.2.3"), X509_V_ERR_EXCLUDED_VIOLATION) << "domains alone permit no address";
  EXPECT_EQ(verify_error(authority, "2001:db8::1"), X509_V_ERR_EXCLUDED_VIOLATION);
}

TEST(AuthorityMaker, NameLimitsThatCannotBeMeant) {
  struct Row {
    const char *text, *error;
  };
  std::size_t count = 0;
  for (const Row& row :
       {Row{"allowed example.test", "line 1: \"permitted DOMAIN\""}, Row{"\npermitted", "line 2: \"permitted DOMAIN\""},
        Row{"permitted a.test b.test", "line 1: \"permitted DOMAIN\""},
        Row{"permitted *.test", "line 1: neither a domain"}, Row{"excluded 10.0.0.1/8", "line 1: neither a domain"},
        Row{"excluded 10.0.0.0/33", "line 1: neither a domain"},
        Row{"excluded bücher.test", "line 1: neither a domain"},
        Row{"permitted 10.0.0.0/8", "only networks are permitted"}}) {
    const auto limits = parse_name_limits(row.text);
    ASSERT_FALSE(limits) << row.text;
    EXPECT_THAT(limits.error(), StartsWith(row.error));
    ++count;
  }
  EXPECT_EQ(count, 8U);
  EXPECT_EQ(parse_name_limits("excluded EXAMPLE.test")->excluded, std::vector<std::string>{"example.test"});
}

class AuthorityForms : public testing::Test {
 protected:
  std::vector<PublishedAuthority> published() {
    std::vector<PublishedAuthority> list;
    list.push_back({PublishedAuthority::Role::in_use, first_certificate(make_authority(request_)->certificate)});
    list.push_back({PublishedAuthority::Role::next, first_certificate(make_authority(request_)->certificate)});
    return list;
  }
  AuthorityRequest request_ = good_request();
};

TEST_F(AuthorityForms, PemHasEachUnderItsName) {
  const auto list = published();
  const std::string pem = published_pem(list);
  EXPECT_EQ(certificates_of(pem)->size(), 2U);
  EXPECT_THAT(pem, StartsWith("# in use: CN=bloomwall gateway "));
  EXPECT_THAT(pem, HasSubstr("# SHA-256 " + fingerprint_text(fingerprint_of(list[1].certificate.get()))));
  EXPECT_THAT(pem, Not(HasSubstr("PRIVATE")));
}

TEST_F(AuthorityForms, TheProfileHoldsDerAndEscapes) {
  request_.organisation = "A<&>B";
  const auto list = published();
  const std::string profile = mobile_profile(list);
  EXPECT_EQ(profile, mobile_profile(list)) << "replaces itself";
  EXPECT_THAT(profile, HasSubstr("A\\&lt;&amp;\\&gt;B"));
  EXPECT_THAT(profile, Not(HasSubstr("A<")));
  std::string body = pem_of(list[0].certificate.get());
  body = body.substr(body.find('\n') + 1);
  body = body.substr(0, body.find("-----END"));
  std::erase(body, '\n');
  EXPECT_THAT(profile, HasSubstr("<data>" + body + "</data>"));
}

TEST_F(AuthorityForms, TheBundleStandsBehindTheSystemsRoots) {
  const AuthorityFolder folder;
  const std::string root = make_authority(good_request())->certificate;
  const auto bundle = bundle_with_system_roots(published(), {.bundle = folder.dir.write("roots.pem", root)});
  ASSERT_TRUE(bundle) << bundle.error();
  EXPECT_THAT(*bundle, StartsWith(root));
  EXPECT_EQ(certificates_of(*bundle)->size(), 3U);
  EXPECT_FALSE(bundle_with_system_roots(published(), {.bundle = folder.dir.path() / "none.pem"}));
}

}  // namespace
}  // namespace bloomwall::proxy
