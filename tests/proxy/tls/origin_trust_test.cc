// What the operator's files say of an origin: revocation, own CAs, distrusted keys, exceptions, roots of the system
// (rows 19 to 22, 31 and 32 of the table), and the errors of those files.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "tests/proxy/tls/test_origin.h"

namespace bloomwall::test {
namespace {

const std::string kRevoked = "certificate revoked", kNoStaple = "certificate no_staple", kOwnCa = "certificate own_ca",
                  kDistrusted = "certificate distrusted";

class OriginTrustTable : public testing::TestWithParam<OriginRow> {};

TEST_P(OriginTrustTable, EndsAsItSays) {
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    Scene scene;
    scene.adjust = [version](SSL_CTX* server) { SSL_CTX_set_max_proto_version(server, version); };
    GetParam().arrange(scene);
    EXPECT_EQ(scene.run(), GetParam().expected) << scene.client->why();
    EXPECT_EQ(scene.origin->sent_by_client.empty(), GetParam().expected != "ok");
    EXPECT_EQ(scene.client->why().empty(), GetParam().expected == "ok");
  }
}

std::string name_of_trust_row(const testing::TestParamInfo<OriginRow>& info) { return info.param.name; }

auto must_staple_and(std::string (*answer)(const Scene&)) {
  return [answer](Scene& s) {
    s.leaf_spec.extensions.emplace_back("tlsfeature", "status_request");
    s.make_leaf();
    s.staple = answer(s);
  };
}
std::string no_answer(const Scene&) { return ""; }
std::string good_answer(const Scene& s) { return ocsp_answer(s.leaf.get(), s.intermediate, {}); }
std::string revoked_answer(const Scene& s) { return ocsp_answer(s.leaf.get(), s.intermediate, {.revoked = true}); }
std::string expired_answer(const Scene& s) {
  return ocsp_answer(s.leaf.get(), s.intermediate, {.revoked = true, .from = -9000, .to = -3600});
}
std::string future_answer(const Scene& s) {
  return ocsp_answer(s.leaf.get(), s.intermediate, {.from = 3600, .to = 9000});
}
std::string answer_for_another(const Scene& s) { return ocsp_answer(s.intermediate.get(), s.root, {.revoked = true}); }
std::string forged_answer(const Scene& s) {
  const Issued stranger = issue({.common_name = "stranger"});
  return ocsp_answer(s.leaf.get(), s.intermediate, {.revoked = true, .responder = &stranger});
}
std::string delegated_answer(const Scene& s, bool revoked, const char* usage) {
  CertificateSpec spec{.common_name = "responder"};
  spec.extensions.emplace_back("extendedKeyUsage", usage);
  const Issued responder = issue(spec, &s.intermediate);
  return ocsp_answer(s.leaf.get(), s.intermediate, {.revoked = revoked, .responder = &responder});
}
std::string responders_answer(const Scene& s) { return delegated_answer(s, false, "OCSPSigning"); }
std::string responders_revocation(const Scene& s) { return delegated_answer(s, true, "OCSPSigning"); }
std::string answer_of_a_leaf(const Scene& s) { return delegated_answer(s, false, "serverAuth"); }

auto with_answer(std::string (*answer)(const Scene&)) {
  return [answer](Scene& s) { s.staple = answer(s); };
}
auto with_list(std::string (*list)(const Scene&)) {
  return [list](Scene& s) { s.trust.crl_file = s.dir.write("crl.pem", list(s)); };
}
// Revocation lists with a stranger's of the same name.
std::string strangers_list(const Scene& s) {
  const Issued stranger = issue({.common_name = "Test Intermediate", .key_use = "forged", .is_ca = true});
  return revocation_list(stranger, {s.leaf.get()});
}

INSTANTIATE_TEST_SUITE_P(
    Revocation, OriginTrustTable,
    testing::Values(
        OriginRow{"Row19LeafInTheList",
                  with_list([](const Scene& s) { return revocation_list(s.intermediate, {s.leaf.get()}); }), kRevoked},
        OriginRow{"Row19LeafInAnExpiredList",
                  with_list([](const Scene& s) { return revocation_list(s.intermediate, {s.leaf.get()}, true); }),
                  kRevoked},
        OriginRow{"Row19IntermediateInTheList",
                  with_list([](const Scene& s) { return revocation_list(s.root, {s.intermediate.get()}); }), kRevoked},
        OriginRow{"Row19SecondListOfTheFile", with_list([](const Scene& s) {
                    return revocation_list(s.root, {}) + revocation_list(s.intermediate, {s.leaf.get()});
                  }),
                  kRevoked},
        OriginRow{"Row19ListOfAnotherIssuer",
                  with_list([](const Scene& s) { return revocation_list(s.root, {s.leaf.get()}); }), "ok"},
        OriginRow{"Row19ListOfAnotherIssuerOfTheSameName", with_list(strangers_list), "ok"},
        OriginRow{"Row19StapledRevoked", with_answer(revoked_answer), kRevoked},
        OriginRow{"Row19StapledRevokedByAResponder", with_answer(responders_revocation), kRevoked},
        OriginRow{"Row19MustStapleWithoutOne", must_staple_and(no_answer), kNoStaple},
        OriginRow{"Row20StapledGood", with_answer(good_answer), "ok"},
        OriginRow{"Row20StapledGarbage", with_answer([](const Scene&) { return std::string("garbage"); }), "ok"},
        OriginRow{"Row20StapledButExpired", with_answer(expired_answer), "ok"},
        OriginRow{"Row20StapledForAnother", with_answer(answer_for_another), "ok"},
        OriginRow{"Row20StapledByAStranger", with_answer(forged_answer), "ok"},
        OriginRow{"Row20MustStapleAndGood", must_staple_and(good_answer), "ok"},
        OriginRow{"Row20MustStapleAndGoodByAResponder", must_staple_and(responders_answer), "ok"},
        OriginRow{"Row20MustStapleAndByALeaf", must_staple_and(answer_of_a_leaf), kNoStaple},
        OriginRow{"Row20MustStapleAndRevoked", must_staple_and(revoked_answer), kRevoked},
        OriginRow{"Row20MustStapleAndExpired", must_staple_and(expired_answer), kNoStaple},
        OriginRow{"Row20MustStapleAndOfTheFuture", must_staple_and(future_answer), kNoStaple},
        OriginRow{"Row20MustStapleAndForAnother", must_staple_and(answer_for_another), kNoStaple},
        OriginRow{"Row20MustStapleAndByAStranger", must_staple_and(forged_answer), kNoStaple}),
    name_of_trust_row);

auto distrusting(X509* (*which)(const Scene&)) {
  return [which](Scene& s) { s.trust.distrust = {std::string(64, '0'), hex_key_hash(which(s))}; };
}

INSTANTIATE_TEST_SUITE_P(
    Keys, OriginTrustTable,
    testing::Values(
        OriginRow{"Row21LeafOfOurCaInTheStore",
                  [](Scene& s) {
                    s.trust.own_keys = {s.own_key()};
                    s.leaf = issue(s.leaf_spec, &s.root);
                    s.sent = {s.leaf.get()};
                  },
                  kOwnCa},
        OriginRow{"Row21ChainThroughOurCaInTheStore", [](Scene& s) { s.trust.own_keys = {s.own_key()}; }, kOwnCa},
        OriginRow{"Row21OurIntermediate",
                  [](Scene& s) { s.trust.own_keys = {proxy::public_key_info(s.intermediate.get())}; }, kOwnCa},
        OriginRow{"Row21LeafOfOurCaThatIsNotInTheStore",
                  [](Scene& s) {
                    const Issued own = issue({.common_name = "Our CA", .is_ca = true});
                    s.trust.own_keys = {proxy::public_key_info(own.get())};
                    s.leaf = issue(s.leaf_spec, &own);
                    s.sent = {s.leaf.get()};
                  },
                  kOwnCa},
        OriginRow{"Row21OurCaSentAndNotInTheStore",
                  [](Scene& s) {
                    s.other = issue({.common_name = "Our CA", .is_ca = true});
                    s.trust.own_keys = {proxy::public_key_info(s.other.get())};
                    s.intermediate = issue(s.intermediate_spec, &s.other);
                    s.make_leaf();
                    s.sent = {s.leaf.get(), s.intermediate.get(), s.other.get()};
                  },
                  "certificate own_ca"},
        OriginRow{"Row21AnExceptionDoesNotExcuseIt",
                  [](Scene& s) {
                    s.trust.own_keys = {s.own_key()};
                    s.trust.trust_exceptions =
                        s.dir.write("exceptions", "good.example.test " + hex_key_hash(s.leaf.get()) + " 2999-12-31\n");
                  },
                  kOwnCa},
        OriginRow{"Row22DistrustedLeaf", distrusting([](const Scene& s) { return s.leaf.get(); }), kDistrusted},
        OriginRow{"Row22DistrustedIntermediate", distrusting([](const Scene& s) { return s.intermediate.get(); }),
                  kDistrusted},
        OriginRow{"Row22DistrustedRoot", distrusting([](const Scene& s) { return s.root.get(); }), kDistrusted},
        OriginRow{"Row22AnExceptionDoesNotExcuseIt",
                  [](Scene& s) {
                    s.trust.distrust = {hex_key_hash(s.intermediate.get())};
                    s.trust.trust_exceptions =
                        s.dir.write("exceptions", "good.example.test " + hex_key_hash(s.leaf.get()) + " 2999-12-31\n");
                  },
                  kDistrusted}),
    name_of_trust_row);

// A self-signed origin and one line of the file.
auto excepted(std::string line, bool with_key = true) {
  return [line = std::move(line), with_key](Scene& s) {
    s.leaf = issue(s.leaf_spec);
    s.sent = {s.leaf.get()};
    std::string text = line;
    const std::string key = with_key ? hex_key_hash(s.leaf.get()) : hex_key_hash(s.root.get());
    text.replace(text.find("KEY"), 3, key);
    s.trust.trust_exceptions = s.dir.write("exceptions", text + "\n");
  };
}

INSTANTIATE_TEST_SUITE_P(
    Exceptions, OriginTrustTable,
    testing::Values(
        OriginRow{"Row31RightKey", excepted("good.example.test KEY 2999-12-31 # printer"), "ok"},
        OriginRow{"Row31RightKeyInCapitals", excepted("GOOD.example.TEST KEY 2999-12-31"), "ok"},
        OriginRow{"Row31AnotherKey", excepted("good.example.test KEY 2999-12-31", false), "certificate self_signed"},
        OriginRow{"Row31AnotherHost", excepted("other.example.test KEY 2999-12-31"), "certificate self_signed"},
        OriginRow{"Row31ParentHost", excepted("example.test KEY 2999-12-31"), "certificate self_signed"},
        OriginRow{"Row31ExpiredException", excepted("good.example.test KEY 2020-01-01"), "certificate self_signed"},
        OriginRow{"Row31ExceptionForRevoked",
                  [](Scene& s) {
                    s.staple = revoked_answer(s);
                    s.trust.trust_exceptions =
                        s.dir.write("exceptions", "good.example.test " + hex_key_hash(s.leaf.get()) + " 2999-12-31\n");
                  },
                  "ok"},
        OriginRow{"Row31OriginsOwnCertificateAsARoot",
                  [](Scene& s) {
                    s.leaf = issue(s.leaf_spec);
                    s.sent = {s.leaf.get()};
                    s.trust.extra_ca_file = s.dir.write("extra.pem", pem_of({s.leaf.get()}));
                  },
                  "ok"}),
    name_of_trust_row);

TEST(OriginTrusts, SayWhichExceptionWasUsed) {
  Scene scene;
  excepted("good.example.test KEY 2999-12-31")(scene);
  EXPECT_EQ(scene.run(), "ok");
  EXPECT_TRUE(scene.client->by_exception());
  Scene good;
  EXPECT_EQ(good.run(), "ok");
  EXPECT_FALSE(good.client->by_exception());
}

// $SSL_CERT_FILE stands for the system's roots while this exists.
class SystemRoots {
 public:
  explicit SystemRoots(const std::filesystem::path& file) { setenv("SSL_CERT_FILE", file.c_str(), 1); }
  ~SystemRoots() { unsetenv("SSL_CERT_FILE"); }
  SystemRoots(const SystemRoots&) = delete;
  SystemRoots& operator=(const SystemRoots&) = delete;
};

TEST(OriginTrusts, Row32CountPublicCertificatesWithoutScts) {
  Scene scene;
  const SystemRoots system(scene.dir.write("system.pem", pem_of({scene.root.get()})));
  const auto run = [&](const std::filesystem::path& ca_file) {
    auto loaded = proxy::OriginVerifier::load({.ca_file = ca_file});
    EXPECT_TRUE(loaded.has_value());
    scene.verifier = *std::move(loaded);
    scene.context = *proxy::TlsContext::for_origins(scene.verifier);
    return scene.run();
  };
  EXPECT_EQ(run({}), "ok");
  EXPECT_TRUE(scene.client->without_scts());
  EXPECT_EQ(run(scene.dir.path() / "system.pem"), "ok");
  EXPECT_FALSE(scene.client->without_scts()) << "a root of the operator's";
  scene.leaf_spec.extensions.emplace_back("1.3.6.1.4.1.11129.2.4.2", "DER:04020000");
  scene.make_leaf();
  EXPECT_EQ(run({}), "ok");
  EXPECT_FALSE(scene.client->without_scts());
}

TEST(OriginTrusts, TakeOtherRootsBesideTheSystems) {
  Scene scene;
  const Issued other = issue({.common_name = "Another Root", .is_ca = true});
  const SystemRoots system(scene.dir.write("system.pem", pem_of({other.get()})));
  const auto extra = scene.dir.write("extra.pem", pem_of({scene.root.get()}));
  const auto loaded = proxy::OriginVerifier::load({.extra_ca_file = extra});
  ASSERT_TRUE(loaded.has_value()) << loaded.error();
  scene.verifier = *loaded;
  scene.context = *proxy::TlsContext::for_origins(scene.verifier);
  EXPECT_EQ(scene.run(), "ok");
  EXPECT_FALSE(scene.client->without_scts());
}

struct LoadError {
  const char* name;
  std::function<void(Scene&)> arrange;
  const char* expected;  // DIR stands for the folder
};
TEST(OriginTrusts, SayWhichFileAndLineIsWrong) {
  const std::string begin = "-----BEGIN CERTIFICATE-----\n", end = "-----END CERTIFICATE-----\n";
  const std::vector<LoadError> errors{
      {"no file", [](Scene& s) { s.trust.ca_file = s.dir.path() / "none"; }, "DIR/none: No such file"},
      {"a folder", [](Scene& s) { s.trust.ca_file = s.dir.path(); }, "DIR: "},
      {"empty", [](Scene& s) { s.trust.ca_file = s.dir.write("f", "text\n"); },
       "DIR/f: holds no CERTIFICATE in PEM form"},
      {"second is broken",
       [&](Scene& s) { s.trust.ca_file = s.dir.write("f", "x\n" + pem_of({s.root.get()}) + begin + "AAAA\n" + end); },
       "this CERTIFICATE does not parse; remove it"},
      {"cut", [&](Scene& s) { s.trust.ca_file = s.dir.write("f", begin + "MIIB\n"); },
       "DIR/f:1: this CERTIFICATE does not parse"},
      {"intermediate as a root",
       [](Scene& s) { s.trust.extra_ca_file = s.dir.write("f", pem_of({s.root.get(), s.intermediate.get()})); },
       "DIR/f: certificate 2 is not self-signed"},
      {"certificates as revocation lists",
       [](Scene& s) { s.trust.crl_file = s.dir.write("f", pem_of({s.root.get()})); }, "DIR/f: holds no X509 CRL"},
      {"no intermediates", [](Scene& s) { s.trust.intermediates_file = s.dir.path() / "none"; }, "DIR/none: "},
      {"exceptions", [](Scene& s) { s.trust.trust_exceptions = s.dir.write("f", "# reason\nhost\n"); },
       "DIR/f:2: expected the SHA-256"},
      {"distrust", [](Scene& s) { s.trust.distrust = {"0123"}; },
       "tls_inspection.verify.distrust: \"0123\" is no SHA-256"},
      {"own key", [](Scene& s) { s.trust.own_keys = {"x"}; }, "the public key of an own CA does not parse"},
  };
  for (const LoadError& row : errors) {
    Scene scene;
    scene.trust.ca_file = scene.dir.write("roots.pem", pem_of({scene.root.get()}));
    row.arrange(scene);
    const auto loaded = proxy::OriginVerifier::load(scene.trust);
    ASSERT_FALSE(loaded.has_value()) << row.name;
    std::string expected = row.expected;
    if (const auto at = expected.find("DIR"); at != std::string::npos)
      expected.replace(at, 3, scene.dir.path().string());
    EXPECT_NE(loaded.error().find(expected), std::string::npos) << row.name << ": " << loaded.error();
    EXPECT_EQ(loaded.error().find('\n'), std::string::npos);
  }
}

// Two keys of one authority, and a certificate that does not say which of them has signed it.
TEST(OriginIssuers, EachOfOneNameIsTried) {
  Scene scene;
  scene.leaf_spec.extensions = {{"authorityKeyIdentifier", ""}};
  scene.make_leaf();
  std::vector<Issued> others;
  for (const char* const key : {"second", "third"}) {
    CertificateSpec spec = scene.intermediate_spec;
    spec.key_use = key;
    others.push_back(issue(spec, &scene.root));
  }
  scene.sent = {scene.leaf.get(), others[0].get(), others[1].get(), scene.intermediate.get()};
  EXPECT_EQ(scene.run(), "ok") << scene.client->why();
  scene.sent.pop_back();
  scene.load();
  EXPECT_EQ(scene.run(), "certificate unknown_issuer") << "neither of those";
}

// The table of causes is what the metric's label can be.
TEST(CertificateErrors, AreFourteen) {
  EXPECT_EQ(proxy::kCertificateErrors.size(), 14U);
  std::set<std::string_view> words;
  for (const auto error : proxy::kCertificateErrors) words.insert(to_string(error));
  EXPECT_EQ(words.size(), 14U);
  EXPECT_EQ(proxy::cause_of(X509_V_OK), proxy::CertificateError::none);
  for (int code = 1; code < 120; ++code) EXPECT_NE(proxy::cause_of(code), proxy::CertificateError::none);
}

}  // namespace
}  // namespace bloomwall::test
