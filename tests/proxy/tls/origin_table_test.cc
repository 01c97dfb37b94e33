// The table of origins, good and bad: chains and names, rows 1 to 18 and 29. Rows 19 to 22, 31 and 32 are in
// origin_trust_test.cc, rows 23 to 28, 30, 33 and 34 in origin_protocol_test.cc.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "tests/proxy/tls/test_origin.h"

namespace bloomwall::test {
namespace {

constexpr std::int64_t kDay = 24 * 3600;
const std::string kMissing = "certificate unknown_issuer", kForbidden = "certificate not_permitted",
                  kWeak = "certificate weak", kName = "certificate wrong_name";

class OriginTable : public testing::TestWithParam<OriginRow> {};

TEST_P(OriginTable, EndsAsItSays) {
  Scene scene;
  GetParam().arrange(scene);
  EXPECT_EQ(scene.run(), GetParam().expected) << scene.client->why();
  if (GetParam().expected == "ok") {
    EXPECT_NE(scene.origin->sent_by_client, "");
  } else {
    EXPECT_EQ(scene.origin->sent_by_client, "") << "nothing was said to a stranger";
    EXPECT_NE(scene.client->why(), "");
  }
}

std::string name_of_row(const testing::TestParamInfo<OriginRow>& info) { return info.param.name; }

// A leaf of these names, asked for by `wanted`.
auto named(std::vector<std::string> names, std::string wanted) {
  return [names = std::move(names), wanted = std::move(wanted)](Scene& s) {
    s.leaf_spec.dns = names;
    s.make_leaf();
    s.target.name = wanted;
  };
}
auto with_leaf_key(std::string kind) {
  return [kind = std::move(kind)](Scene& s) {
    s.leaf_spec.key = kind;
    s.make_leaf();
  };
}
auto with_leaf_extension(std::string name, std::string value) {
  return [name = std::move(name), value = std::move(value)](Scene& s) {
    s.leaf_spec.extensions.emplace_back(name, value);
    s.make_leaf();
  };
}
auto with_intermediate_extension(std::string name, std::string value) {
  return [name = std::move(name), value = std::move(value)](Scene& s) {
    s.intermediate_spec.extensions.emplace_back(name, value);
    s.make();
  };
}

INSTANTIATE_TEST_SUITE_P(Dates, OriginTable,
                         testing::Values(OriginRow{"Row01AllGood", [](Scene&) {}, "ok"},
                                         OriginRow{"Row02LeafExpiredYesterday",
                                                   [](Scene& s) {
                                                     s.leaf_spec.from = -30 * kDay;
                                                     s.leaf_spec.to = -kDay;
                                                     s.make_leaf();
                                                   },
                                                   "certificate expired"},
                                         OriginRow{"Row02IntermediateExpired",
                                                   [](Scene& s) {
                                                     s.intermediate_spec.from = -30 * kDay;
                                                     s.intermediate_spec.to = -kDay;
                                                     s.make();
                                                   },
                                                   "certificate expired"},
                                         OriginRow{"Row02RootExpired",
                                                   [](Scene& s) {
                                                     s.root_spec.from = -30 * kDay;
                                                     s.root_spec.to = -kDay;
                                                     s.make();
                                                   },
                                                   "certificate expired"},
                                         OriginRow{"Row02NotBeforeTomorrow",
                                                   [](Scene& s) {
                                                     s.leaf_spec.from = kDay;
                                                     s.make_leaf();
                                                   },
                                                   "certificate not_yet_valid"}),
                         name_of_row);

INSTANTIATE_TEST_SUITE_P(
    Names, OriginTable,
    testing::Values(
        OriginRow{"Row03NameOfAnotherHost", named({"other.example.test"}, "good.example.test"), kName},
        OriginRow{"Row03RightNameOnlyInTheCommonName",
                  [](Scene& s) {
                    s.leaf_spec.common_name = "good.example.test";
                    s.leaf_spec.dns = {"other.example.test"};
                    s.make_leaf();
                  },
                  kName},
        OriginRow{"Row03RightNameInTheCommonNameAndNoSan",
                  [](Scene& s) {
                    s.leaf_spec.common_name = "good.example.test";
                    s.leaf_spec.dns = {};
                    s.make_leaf();
                  },
                  kName},
        OriginRow{"Row04SanOnlyWithoutCommonName",
                  [](Scene& s) {
                    s.leaf_spec.common_name = "";
                    s.make_leaf();
                  },
                  "ok"},
        OriginRow{"Row04EmptySubjectAndCriticalSan",
                  [](Scene& s) {
                    s.leaf_spec.common_name = "";
                    s.leaf_spec.critical_names = true;
                    s.make_leaf();
                  },
                  "ok"},
        OriginRow{"Row15AddressInIpAddress",
                  [](Scene& s) {
                    s.leaf_spec.addresses = {"192.0.2.7"};
                    s.make_leaf();
                    s.target.name = "192.0.2.7";
                  },
                  "ok"},
        OriginRow{"Row15Ipv6InIpAddress",
                  [](Scene& s) {
                    s.leaf_spec.addresses = {"2001:db8::7"};
                    s.make_leaf();
                    s.target.name = "2001:db8:0::7";
                  },
                  "ok"},
        OriginRow{"Row15AddressAsDnsNameOnly", named({"192.0.2.7"}, "192.0.2.7"), kName},
        OriginRow{"Row15AddressOnlyInTheCommonName",
                  [](Scene& s) {
                    s.leaf_spec.common_name = "192.0.2.7";
                    s.leaf_spec.dns = {};
                    s.make_leaf();
                    s.target.name = "192.0.2.7";
                  },
                  kName},
        OriginRow{"Row15AnotherAddress",
                  [](Scene& s) {
                    s.leaf_spec.addresses = {"192.0.2.8"};
                    s.make_leaf();
                    s.target.name = "192.0.2.7";
                  },
                  kName},
        OriginRow{"Row16WildcardForOneLabel", named({"*.example.test"}, "a.example.test"), "ok"},
        OriginRow{"Row16WildcardInCapitals", named({"*.EXAMPLE.Test"}, "a.example.test"), "ok"},
        OriginRow{"Row16WildcardForTwoLabels", named({"*.example.test"}, "a.b.example.test"), kName},
        OriginRow{"Row16WildcardForTheParent", named({"*.example.test"}, "example.test"), kName},
        OriginRow{"Row16WildcardForAnUnderscore", named({"*.example.test"}, "my_bucket.example.test"), "ok"},
        OriginRow{"Row16WildcardForAnUnderscoreAlone", named({"*.example.test"}, "_.example.test"), "ok"},
        OriginRow{"Row16UnderscoreInFull", named({"my_bucket.example.test"}, "my_bucket.example.test"), "ok"},
        OriginRow{"Row16UnderscoreOfAnother", named({"my-bucket.example.test"}, "my_bucket.example.test"), kName},
        OriginRow{"Row16WildcardForUnderscoresInTwoLabels", named({"*.example.test"}, "a.my_bucket.example.test"),
                  kName},
        OriginRow{"Row16WildcardUnderATopLevelDomainForAnUnderscore", named({"*.test"}, "my_bucket.test"), kName},
        OriginRow{"Row16WildcardUnderAPublicSuffixForAnUnderscore", named({"*.co.uk"}, "my_bucket.co.uk"), kName},
        OriginRow{"Row17WildcardAlone", named({"*"}, "test"), kName},
        OriginRow{"Row17WildcardAloneForTwoLabels", named({"*"}, "example.test"), kName},
        OriginRow{"Row17WildcardUnderATopLevelDomain", named({"*.test"}, "example.test"), kName},
        OriginRow{"Row17PartialWildcard", named({"f*.example.test"}, "foo.example.test"), kName},
        OriginRow{"Row17WildcardAtTheEndOfALabel", named({"*oo.example.test"}, "foo.example.test"), kName},
        OriginRow{"Row17WildcardInAnInnerLabel", named({"a.*.example.test"}, "a.b.example.test"), kName},
        OriginRow{"Row17WildcardOfALabels", named({"xn--*.example.test"}, "xn--bcher-kva.example.test"), kName},
        OriginRow{"Row17WildcardForALabelThatIsIdn", named({"*.example.test"}, "xn--bcher-kva.example.test"), "ok"},
        OriginRow{"Row17WildcardUnderAPublicSuffix", named({"*.co.uk"}, "example.co.uk"), kName},
        OriginRow{"Row17WildcardUnderARegistrysWildcard", named({"*.any.ck"}, "example.any.ck"), kName},
        OriginRow{"Row17WildcardUnderASuffixOfOneCompany", named({"*.github.io"}, "example.github.io"), "ok"},
        OriginRow{"Row17WildcardUnderASuffixOfOneCompanyIsOneLabel", named({"*.github.io"}, "a.example.github.io"),
                  kName},
        OriginRow{"Row17WildcardBesideTheExactName", named({"*.co.uk", "example.co.uk"}, "example.co.uk"), "ok"},
        OriginRow{"Row18NulInTheName", named({std::string("good.example.test\0.evil.test", 28)}, "good.example.test"),
                  kName},
        OriginRow{"Row18NulBehindTheName", named({std::string("good.example.test\0", 18)}, "good.example.test"), kName},
        OriginRow{"EmptyName", named({"good.example.test"}, ""), kName},
        OriginRow{"NameThatBeginsWithADot", named({"good.example.test"}, ".example.test"), kName},
        OriginRow{"NameWithNul", named({"good.example.test"}, std::string("good.example.test\0x", 19)), kName},
        OriginRow{"OneLabelName", named({"intranet"}, "intranet"), "ok"}),
    name_of_row);

INSTANTIATE_TEST_SUITE_P(
    Chains, OriginTable,
    testing::Values(OriginRow{"Row05SelfSignedLeaf",
                              [](Scene& s) {
                                s.leaf = issue(s.leaf_spec);
                                s.sent = {s.leaf.get()};
                              },
                              "certificate self_signed"},
                    OriginRow{"Row05RootNotInTheStore",
                              [](Scene& s) {
                                static const Issued other = issue({.common_name = "Another Root", .is_ca = true});
                                s.roots = {other.get()};
                              },
                              kMissing},
                    OriginRow{"Row05RootSentByTheOrigin",
                              [](Scene& s) {
                                static const Issued other = issue({.common_name = "Another Root", .is_ca = true});
                                s.roots = {other.get()};
                                s.sent = {s.leaf.get(), s.intermediate.get(), s.root.get()};
                              },
                              kMissing},
                    OriginRow{"Row05RootOfTheSameNameAndAnotherKey",
                              [](Scene& s) {
                                static const Issued other = issue({.common_name = "Test Root",
                                                                   .key_use = "forged",
                                                                   .is_ca = true,
                                                                   .extensions = {{"subjectKeyIdentifier", ""}}});
                                s.root_spec.extensions = {{"subjectKeyIdentifier", ""}};
                                s.make();
                                s.roots = {other.get()};
                              },
                              "certificate malformed"},
                    OriginRow{"Row06IntermediateMissing", [](Scene& s) { s.sent = {s.leaf.get()}; },
                              "certificate incomplete_chain"},
                    OriginRow{"Row06IntermediateInTheFile",
                              [](Scene& s) {
                                s.sent = {s.leaf.get()};
                                s.trust.intermediates_file =
                                    s.dir.write("intermediates.pem", pem_of({s.intermediate.get()}));
                              },
                              "ok"},
                    OriginRow{"Row07UnrelatedExtraCertificate",
                              [](Scene& s) {
                                static const Issued other = issue({.common_name = "Unrelated", .is_ca = true});
                                s.sent = {s.leaf.get(), other.get(), s.intermediate.get()};
                              },
                              "ok"},
                    OriginRow{"Row07ReverseOrderBehindTheLeaf",
                              [](Scene& s) { s.sent = {s.leaf.get(), s.root.get(), s.intermediate.get()}; }, "ok"},
                    OriginRow{"RootSentAsWell",
                              [](Scene& s) { s.sent = {s.leaf.get(), s.intermediate.get(), s.root.get()}; }, "ok"}),
    name_of_row);

auto with_digest(std::string digest, bool of_intermediate) {
  return [digest = std::move(digest), of_intermediate](Scene& s) {
    (of_intermediate ? s.intermediate_spec : s.leaf_spec).digest = digest;
    // MD5 goes with RSA only.
    (of_intermediate ? s.root_spec : s.intermediate_spec).key = "RSA-2048";
    s.make();
  };
}

INSTANTIATE_TEST_SUITE_P(Strength, OriginTable,
                         testing::Values(OriginRow{"Row08Sha1SignedLeaf", with_digest("SHA1", false), kWeak},
                                         OriginRow{"Row08Md5SignedLeaf", with_digest("MD5", false), kWeak},
                                         OriginRow{"Row08Sha1SignedIntermediate", with_digest("SHA1", true), kWeak},
                                         OriginRow{"Row08Sha1SignedRoot",
                                                   [](Scene& s) {
                                                     s.root_spec.digest = "SHA1";
                                                     s.make();
                                                   },
                                                   "ok"},
                                         OriginRow{"Row09Rsa1024Leaf", with_leaf_key("RSA-1024"), kWeak},
                                         OriginRow{"Row09Rsa1024Intermediate",
                                                   [](Scene& s) {
                                                     s.intermediate_spec.key = "RSA-1024";
                                                     s.make();
                                                   },
                                                   kWeak},
                                         OriginRow{"Row09P224Leaf", with_leaf_key("P-224"),
                                                   "alert 40"},  // no signature of TLS 1.3, and not in our list
                                         OriginRow{"Row09P224Intermediate",
                                                   [](Scene& s) {
                                                     s.intermediate_spec.key = "P-224";
                                                     s.make();
                                                   },
                                                   kWeak},
                                         OriginRow{"Row09DsaIntermediate",
                                                   [](Scene& s) {
                                                     s.intermediate_spec.key = "DSA-2048";
                                                     s.make();
                                                   },
                                                   kWeak},
                                         OriginRow{"Row10Rsa2048", with_leaf_key("RSA-2048"), "ok"},
                                         OriginRow{"Row10Rsa4096", with_leaf_key("RSA-4096"), "ok"},
                                         OriginRow{"Row10Rsa8192", with_leaf_key("RSA-8192"), "ok"},
                                         OriginRow{"Row10P256", with_leaf_key("P-256"), "ok"},
                                         OriginRow{"Row10P384", with_leaf_key("P-384"), "ok"},
                                         OriginRow{"Row10P521", with_leaf_key("P-521"), "ok"},
                                         OriginRow{"Row10Ed25519", with_leaf_key("Ed25519"), "ok"},
                                         OriginRow{"Row10Ed25519Throughout",
                                                   [](Scene& s) {
                                                     s.root_spec.key = s.intermediate_spec.key = s.leaf_spec.key =
                                                         "Ed25519";
                                                     s.make();
                                                   },
                                                   "ok"}),
                         name_of_row);

INSTANTIATE_TEST_SUITE_P(
    Purposes, OriginTable,
    testing::Values(
        OriginRow{"Row11ClientAuthOnly", with_leaf_extension("extendedKeyUsage", "clientAuth"), kForbidden},
        OriginRow{"Row11ServerGatedCryptographyOnly", with_leaf_extension("extendedKeyUsage", "msSGC"), kForbidden},
        OriginRow{"Row11ClientAndServer", with_leaf_extension("extendedKeyUsage", "clientAuth,serverAuth"), "ok"},
        OriginRow{"Row11NoExtendedKeyUsage", with_leaf_extension("extendedKeyUsage", ""), "ok"},
        OriginRow{"Row11IntermediateForClientsOnly", with_intermediate_extension("extendedKeyUsage", "clientAuth"),
                  kForbidden},
        OriginRow{"Row12SignedByALeaf", with_intermediate_extension("basicConstraints", "critical,CA:FALSE"),
                  kForbidden},
        OriginRow{"Row12Version1Intermediate",
                  [](Scene& s) {
                    s.intermediate_spec.version = 1;
                    s.make();
                  },
                  kForbidden},
        OriginRow{"Row12IntermediateWithoutBasicConstraints", with_intermediate_extension("basicConstraints", ""),
                  kForbidden},
        OriginRow{"Row12IntermediateMayNotSign", with_intermediate_extension("keyUsage", "critical,digitalSignature"),
                  kForbidden},
        OriginRow{"Row12PathLengthExceeded",
                  [](Scene& s) {
                    s.root_spec.extensions.emplace_back("basicConstraints", "critical,CA:TRUE,pathlen:0");
                    s.make();
                  },
                  kForbidden},
        OriginRow{"Row13NameIsExcluded", with_intermediate_extension("nameConstraints", "critical,excluded;DNS:test"),
                  kForbidden},
        OriginRow{"Row13NameIsNotPermitted",
                  with_intermediate_extension("nameConstraints", "critical,permitted;DNS:other.test"), kForbidden},
        OriginRow{"Row13NameIsPermitted",
                  with_intermediate_extension("nameConstraints", "critical,permitted;DNS:example.test"), "ok"},
        OriginRow{"Row13NotCriticalCountsAsWell",
                  with_intermediate_extension("nameConstraints", "permitted;DNS:other.test"), kForbidden},
        OriginRow{"Row14UnknownCriticalExtension", with_leaf_extension("1.3.6.1.4.1.99999.1", "critical,DER:0500"),
                  kForbidden},
        OriginRow{"Row14UnknownExtension", with_leaf_extension("1.3.6.1.4.1.99999.1", "DER:0500"), "ok"},
        OriginRow{"Row14UnknownCriticalExtensionAbove",
                  with_intermediate_extension("1.3.6.1.4.1.99999.1", "critical,DER:0500"), kForbidden},
        OriginRow{"Row29ThousandNames",
                  [](Scene& s) {
                    for (int i = 0; i < 1000; ++i) s.leaf_spec.dns.push_back("n" + std::to_string(i) + ".example.test");
                    s.make_leaf();
                    s.target.name = "n999.example.test";
                  },
                  "ok"},
        OriginRow{"Row29CertificatesOfOver48Kb",
                  [](Scene& s) {
                    for (int i = 0; i < 6000; ++i) s.leaf_spec.dns.push_back("n" + std::to_string(i) + ".example.test");
                    s.make_leaf();
                  },
                  "certificate too_large"}),
    name_of_row);

// The certificate chain is judged before what follows it in the handshake: with TLS 1.2 as well.
TEST(OriginTableOfTls12, GoodAndBadChains) {
  const auto only_12 = [](SSL_CTX* server) { SSL_CTX_set_max_proto_version(server, TLS1_2_VERSION); };
  for (const char* const key : {"P-256", "P-384", "RSA-2048", "Ed25519"}) {
    Scene scene;
    scene.adjust = only_12;
    scene.leaf_spec.key = key;
    scene.make_leaf();
    EXPECT_EQ(scene.run(), "ok") << key << scene.client->why();
    EXPECT_EQ(scene.client->version(), "1.2");
  }
  Scene bad;
  bad.adjust = only_12;
  bad.target.name = "other.example.test";
  EXPECT_EQ(bad.run(), kName);
}

TEST(OriginTableOfTls12, Row06AnIntermediateIsLearntFromAnotherOrigin) {
  Scene scene;
  scene.load();
  const std::vector<X509*> alone{scene.leaf.get()};
  scene.sent = alone;
  EXPECT_EQ(scene.run(), "certificate incomplete_chain");
  CertificateSpec spec = scene.leaf_spec;
  spec.dns = {"another.example.test"};
  spec.common_name = "another";
  const Issued another = issue(spec, &scene.intermediate);
  scene.sent = {another.get(), scene.intermediate.get()};
  scene.key = another.key;
  scene.target = {"another.example.test", "another.example.test:443"};
  EXPECT_EQ(scene.run(), "ok");
  EXPECT_EQ(scene.verifier->learnt(), 1U);
  scene.sent = alone;
  scene.key = nullptr;
  scene.target = {"good.example.test", "good.example.test:443"};
  EXPECT_EQ(scene.run(), "ok") << "the other origin sent it";

  const auto before = scene.verifier;
  scene.load();
  EXPECT_EQ(scene.run(), "certificate incomplete_chain") << "other settings";
  scene.load();
  scene.verifier->learn_from(*before);
  EXPECT_EQ(scene.run(), "ok");
}

}  // namespace
}  // namespace bloomwall::test
