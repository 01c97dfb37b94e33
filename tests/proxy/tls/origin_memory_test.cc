// What is remembered of origins, and where it ends: sessions, verified chains, learnt intermediates; from many threads.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <thread>
#include <vector>

#include "proxy/tls/origin_memory.h"
#include "tests/proxy/tls/test_origin.h"

namespace bloomwall::test {
namespace {

using proxy::IntermediatePool;
using proxy::OriginSessions;
using proxy::VerifiedChains;

// A session that OpenSSL takes for resumable.
SSL_SESSION& new_session(int version, unsigned char id = 1) {
  static const proxy::SslContextPtr context(SSL_CTX_new(TLS_client_method()));
  static const proxy::SslPtr ssl(SSL_new(context.get()));
  static proxy::SslSessionPtr session;
  session.reset(SSL_SESSION_new());
  const std::array<unsigned char, 2> suite =
      version == TLS1_3_VERSION ? std::array<unsigned char, 2>{0x13, 0x01} : std::array<unsigned char, 2>{0xc0, 0x2f};
  SSL_SESSION_set_cipher(session.get(), SSL_CIPHER_find(ssl.get(), suite.data()));
  SSL_SESSION_set_protocol_version(session.get(), version);
  SSL_SESSION_set1_id(session.get(), &id, 1);
  return *session;
}

TEST(OriginSessions, OfTls13AreUsedOnceAndOfTls12UntilTheirEnd) {
  OriginSessions sessions;
  sessions.keep("a", new_session(TLS1_3_VERSION), 100);
  EXPECT_EQ(sessions.take("b", 0).session, nullptr);
  const auto taken = sessions.take("a", 99);
  EXPECT_NE(taken.session, nullptr);
  EXPECT_EQ(taken.until, 100);
  EXPECT_EQ(sessions.take("a", 99).session, nullptr);
  EXPECT_EQ(sessions.size(), 0U);

  sessions.keep("a", new_session(TLS1_2_VERSION), 100);
  const auto one = sessions.take("a", 0), other = sessions.take("a", 99);
  ASSERT_TRUE(one.session && other.session);
  EXPECT_NE(one.session, other.session) << "each connection has its own";
  EXPECT_EQ(sessions.take("a", 100).session, nullptr) << "its end";
  EXPECT_EQ(sessions.size(), 0U);
}

// What an origin puts into its tickets is its own choice.
TEST(OriginSessions, AreBoundedInOctets) {
  const auto ticket_of = [](std::size_t octets) {
    Scene scene;
    static std::string data;
    data.assign(octets, 't');
    scene.adjust = [](SSL_CTX* server) {
      SSL_CTX_set_session_ticket_cb(
          server,
          [](SSL* ssl, void*) {
            return SSL_SESSION_set1_ticket_appdata(SSL_get_session(ssl), data.data(), data.size());
          },
          [](SSL*, SSL_SESSION*, const unsigned char*, std::size_t, SSL_TICKET_STATUS, void*) {
            return SSL_TICKET_RETURN_USE;
          },
          nullptr);
    };
    EXPECT_EQ(scene.run(), "ok");
    return scene.verifier->sessions().take(scene.target.at + ' ' + scene.target.name, scene.clock).session;
  };
  EXPECT_EQ(ticket_of(10'000), nullptr) << "over kMostOfOne";
  const auto session = ticket_of(6'000);
  ASSERT_NE(session, nullptr);
  OriginSessions sessions;
  for (std::size_t i = 0; i < 5'000; ++i) sessions.keep(std::to_string(i), *session, 100);
  EXPECT_LE(sessions.octets(), OriginSessions::kMostOctets);
  EXPECT_GT(sessions.octets(), OriginSessions::kMostOctets / 10 * 9);
  EXPECT_LT(sessions.size(), 5'000U);
  EXPECT_NE(sessions.take("4999", 0).session, nullptr);
  EXPECT_EQ(sessions.take("0", 0).session, nullptr) << "the oldest goes first";
  for (std::size_t i = 0; i < 5'000; ++i) (void)sessions.take(std::to_string(i), 100);
  EXPECT_EQ(sessions.size(), 0U);
  EXPECT_EQ(sessions.octets(), 0U);
}

TEST(OriginSessions, AreTwoForEachOriginAndBoundedInAll) {
  OriginSessions sessions;
  for (unsigned char id = 1; id < 5; ++id) sessions.keep("a", new_session(TLS1_3_VERSION, id), 100);
  EXPECT_EQ(sessions.size(), OriginSessions::kPerOrigin);
  unsigned int size = 0;
  EXPECT_EQ(*SSL_SESSION_get_id(sessions.take("a", 0).session.get(), &size), 4) << "the newest first";
  EXPECT_EQ(*SSL_SESSION_get_id(sessions.take("a", 0).session.get(), &size), 3);
  for (std::size_t i = 0; i < OriginSessions::kLimit + 10; ++i) {
    sessions.keep(std::to_string(i), new_session(TLS1_2_VERSION), 100);
    (void)sessions.take("0", 0);  // used, so it stays
  }
  EXPECT_EQ(sessions.size(), OriginSessions::kLimit);
  EXPECT_NE(sessions.take("0", 0).session, nullptr);
  EXPECT_EQ(sessions.take("1", 0).session, nullptr);
}

TEST(VerifiedChains, AreBoundedInNumberAndTime) {
  VerifiedChains chains;
  const auto digest = [](std::size_t i) {
    VerifiedChains::Digest out{};
    for (std::size_t k = 0; k < 4; ++k) out.at(k) = static_cast<std::uint8_t>(i >> (8 * k));
    return out;
  };
  chains.add(digest(0), {nullptr, 10'000}, 1000);
  EXPECT_TRUE(chains.find(digest(0), 1000));
  EXPECT_TRUE(chains.find(digest(0), 1000 + VerifiedChains::kLifetime - 1));
  EXPECT_FALSE(chains.find(digest(0), 1000 + VerifiedChains::kLifetime));
  EXPECT_FALSE(chains.find(digest(0), 999)) << "a clock that was set back";
  EXPECT_FALSE(chains.find(digest(1), 1000));
  chains.add(digest(1), {nullptr, 1010}, 1000);
  EXPECT_FALSE(chains.find(digest(1), 1010)) << "the end of a certificate";
  for (std::size_t i = 2; i < VerifiedChains::kLimit + 2; ++i) chains.add(digest(i), {nullptr, 10'000}, 1000);
  EXPECT_EQ(chains.size(), VerifiedChains::kLimit);
  EXPECT_FALSE(chains.find(digest(0), 1000));
}

TEST(VerifiedChains, DigestsTellChainsAndNamesApart) {
  const Issued a = issue({.common_name = "a"}), b = issue({.common_name = "b"});
  const auto digest = [](const std::vector<X509*>& certificates, const std::string& name) {
    const proxy::X509StackPtr stack(sk_X509_new_null());
    for (X509* const certificate : certificates) sk_X509_push(stack.get(), proxy::share(certificate).release());
    return VerifiedChains::digest_of(stack.get(), name);
  };
  const std::set<VerifiedChains::Digest> all{digest({a.get()}, "n"),          digest({b.get()}, "n"),
                                             digest({a.get()}, "m"),          digest({a.get(), b.get()}, "n"),
                                             digest({b.get(), a.get()}, "n"), digest({}, "n")};
  EXPECT_EQ(all.size(), 6U);
  EXPECT_TRUE(all.contains(digest({a.get(), b.get()}, "n")));
}

TEST(IntermediatePools, ForgetTheOldestAndShareWhatTheyHave) {
  IntermediatePool pool(2);
  std::vector<Issued> made;
  for (const char* const name : {"one", "two", "three"}) made.push_back(issue({.common_name = name, .is_ca = true}));
  const auto has_issuer_of = [&](const Issued& issuer) {
    const Issued leaf = issue({.common_name = "leaf"}, &issuer);
    const proxy::X509StackPtr stack(sk_X509_new_null());
    pool.append_issuers(leaf.get(), stack.get(), 10);
    return sk_X509_num(stack.get()) == 1;
  };
  for (const Issued& one : made) pool.add(one.get());
  EXPECT_EQ(pool.size(), 2U);
  EXPECT_FALSE(has_issuer_of(made[0]));
  EXPECT_TRUE(has_issuer_of(made[1]));
  EXPECT_TRUE(has_issuer_of(made[2]));
  const proxy::X509Ptr twin(X509_dup(made[2].get()));
  EXPECT_EQ(pool.add(twin.get()).get(), made[2].get());
  EXPECT_EQ(pool.size(), 2U);
}

TEST(IntermediatePools, OfferNoMoreThanTheLimit) {
  IntermediatePool pool(100);
  for (int i = 0; i < 20; ++i) {
    pool.add(issue({.common_name = "same", .key_use = "same", .is_ca = true}).get());
  }
  const Issued issuer = issue({.common_name = "same", .key_use = "same", .is_ca = true});
  const Issued leaf = issue({.common_name = "leaf"}, &issuer);
  const proxy::X509StackPtr stack(sk_X509_new_null());
  pool.append_issuers(leaf.get(), stack.get(), 5);
  EXPECT_EQ(sk_X509_num(stack.get()), 5);
}

// One verifier of the process, a context for each worker.
TEST(OriginVerifiers, ServeManyThreads) {
  Scene scene;
  scene.load();
  const proxy::SslContextPtr server = scene.server();
  std::vector<std::thread> workers;
  std::array<int, 4> resumed{};
  for (int& count : resumed) {
    workers.emplace_back([&scene, &server, &count] {
      const auto context = *proxy::TlsContext::for_origins(scene.verifier);
      for (int i = 0; i < 25; ++i) {
        TestOrigin origin(server.get());
        const auto client = proxy::TlsSession::connect(*context, scene.target);
        origin.run(*client);
        if (outcome_of(*client) != "ok") count = -1000;
        if (client->resumed()) ++count;
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
  for (const int count : resumed) EXPECT_GE(count, 15);
  EXPECT_EQ(scene.verifier->learnt(), 1U);
}

}  // namespace
}  // namespace bloomwall::test
