// SPDX-License-Identifier: Apache-2.0

#include "proxy/tls/tls_context.h"

#include <fmt/format.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>
#include <system_error>
#include <utility>

#include "base/random.h"
#include "proxy/tls/certificates.h"
#include "proxy/tls/leaf_cache.h"
#include "proxy/tls/origin_handshake.h"
#include "proxy/tls/peer_certificates.h"

namespace bloomwall::proxy {
namespace {

// TLS 1.2: only forward secrecy with authenticated encryption. TLS 1.3 has nothing else.
constexpr const char* kCiphers = "ECDHE+AESGCM:ECDHE+CHACHA20";
constexpr std::array<unsigned char, 9> kHttp11{8, 'h', 't', 't', 'p', '/', '1', '.', '1'};
// Of origins. SHA-2 with ECDSA, Ed25519 or RSA; the curves that everybody has.
constexpr const char* kSignatures =
    "ECDSA+SHA256:ECDSA+SHA384:ECDSA+SHA512:ed25519:RSA-PSS+SHA256:RSA-PSS+SHA384:RSA-PSS+SHA512:RSA+SHA256:RSA+SHA384:"
    "RSA+SHA512";
constexpr const char* kGroups = "X25519:P-256:P-384";

tl::expected<SslContextPtr, std::string> make(const SSL_METHOD* method) {
  SslContextPtr context(SSL_CTX_new(method));
  if (context == nullptr) return tl::unexpected(tls_error("no TLS"));
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_mode(context.get(), SSL_MODE_RELEASE_BUFFERS);  // idle connections hold none
  SSL_CTX_set_max_cert_list(context.get(), static_cast<long>(kMostCertificateOctets));
#ifdef SSL_OP_NO_RX_CERTIFICATE_COMPRESSION
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RX_CERTIFICATE_COMPRESSION);  // its lists could not be measured
#endif
  return context;
}

// A client that offers only what is not spoken here is told so, instead of being answered in what it cannot read. The
// session says in its slot 0 what is spoken, else it is http/1.1.
int choose_protocol(SSL* ssl, const unsigned char** chosen, unsigned char* size, const unsigned char* offered,
                    unsigned int offered_size, void*) {
  const auto* const spoken = static_cast<const std::string*>(SSL_get_ex_data(ssl, 0));
  const auto* const list = spoken == nullptr ? kHttp11.data() : reinterpret_cast<const unsigned char*>(spoken->data());
  const auto list_size = static_cast<unsigned int>(spoken == nullptr ? kHttp11.size() : spoken->size());
  unsigned char* out = nullptr;
  if (SSL_select_next_proto(&out, size, list, list_size, offered, offered_size) != OPENSSL_NPN_NEGOTIATED) {
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  }
  *chosen = out;
  return SSL_TLSEXT_ERR_OK;
}

// The first error is the cause; those behind it only name the callers: "system lib", "PEM lib".
std::string cause_of_failure(const char* otherwise) {
  const unsigned long cause = ERR_peek_error();
  ERR_clear_error();
  const int library = ERR_GET_LIB(cause), reason = ERR_GET_REASON(cause);
  if (ERR_SYSTEM_ERROR(cause)) return std::generic_category().message(reason);
  const bool is_no_pem = (library == ERR_LIB_PEM && reason == PEM_R_NO_START_LINE) ||
                         (library == ERR_LIB_OSSL_DECODER && reason == ERR_R_UNSUPPORTED);
  if (is_no_pem) return fmt::format("{} in PEM form", otherwise);
  const char* const text = ERR_reason_error_string(cause);
  return text != nullptr ? text : otherwise;
}

tl::unexpected<std::string> failure(const std::filesystem::path& file, const char* otherwise) {
  return tl::unexpected(fmt::format("{}: {}", file.string(), cause_of_failure(otherwise)));
}

TlsContext::Validity validity_of(const X509* certificate) {
  return {unix_time_of(X509_get0_notBefore(certificate)), unix_time_of(X509_get0_notAfter(certificate))};
}

bool set_up_listener(SSL_CTX* context) {
  SSL_CTX_set_alpn_select_cb(context, choose_protocol, nullptr);
  SSL_CTX_set_options(context,
                      SSL_OP_PRIORITIZE_CHACHA);  // for clients that put it first: they have no AES in hardware
  TicketKeys::install(context, TicketKeys::Use::listeners);
  SSL_CTX_set_session_id_context(context, kHttp11.data(), kHttp11.size());
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);  // tickets do without memory here
  return SSL_CTX_set_cipher_list(context, kCiphers) == 1;
}

// Never asks a terminal for a passphrase: a daemon has none.
int no_passphrase(char*, int, int, void*) { return 0; }

}  // namespace

TlsContext::Made TlsContext::for_listener(const std::filesystem::path& certificate, const std::filesystem::path& key,
                                          const ClientCertificates& clients) {
  ERR_clear_error();
  auto made = make(TLS_server_method());
  if (!made) return tl::unexpected(made.error());
  SSL_CTX* const context = made->get();
  SSL_CTX_set_default_passwd_cb(context, no_passphrase);
  if (SSL_CTX_use_certificate_chain_file(context, certificate.c_str()) != 1)
    return failure(certificate, "no certificate");
  if (SSL_CTX_use_PrivateKey_file(context, key.c_str(), SSL_FILETYPE_PEM) != 1) return failure(key, "no private key");
  if (SSL_CTX_check_private_key(context) != 1) return failure(key, "not the certificate's key");
  if (!set_up_listener(context)) return failure(certificate, "no ciphers");
  std::int64_t revocations_end = 0;
  if (clients.is_asked()) {
    const auto asked = ask_for_certificates(context, clients);
    if (!asked) return tl::unexpected(asked.error());
    revocations_end = *asked;
  }
  std::shared_ptr<TlsContext> listener(new TlsContext(*std::move(made)));
  listener->clients_ = clients;
  listener->revocations_end_ = revocations_end;
  listener->validity_ = validity_of(SSL_CTX_get0_certificate(context));
  return listener;
}

TlsContext::Made TlsContext::for_leaf(const Leaf& leaf) {
  ERR_clear_error();
  auto made = make(TLS_server_method());
  if (!made) return tl::unexpected(made.error());
  SSL_CTX* const context = made->get();
  // The context takes references of its own.
  if (SSL_CTX_use_cert_and_key(context, leaf.certificate(), leaf.key(), leaf.chain(), 1) != 1 ||
      !set_up_listener(context)) {
    return tl::unexpected(tls_error("the certificate cannot be used"));
  }
  std::shared_ptr<TlsContext> listener(new TlsContext(*std::move(made)));
  listener->validity_ = validity_of(leaf.certificate());
  return listener;
}

bool TlsContext::admits(X509* certificate, const STACK_OF(X509) * chain) const {
  if (!clients_.is_asked()) return true;
  return certificate == nullptr ? !clients_.required : is_client_certificate_valid(get(), certificate, chain);
}

bool TlsContext::is_for(std::string_view host) const {
  X509* const certificate = SSL_CTX_get0_certificate(get());
  if (certificate == nullptr || host.empty()) return false;
  if (host.front() == '[') host = host.substr(1, host.size() - 2);
  const std::string name(host);
  return X509_check_host(certificate, name.data(), name.size(), 0, nullptr) == 1 ||
         X509_check_ip_asc(certificate, name.c_str(), 0) == 1;
}

TlsContext::Made TlsContext::for_peers(const std::filesystem::path& authorities) {
  ERR_clear_error();
  auto made = make(TLS_client_method());
  if (!made) return tl::unexpected(made.error());
  SSL_CTX* const context = made->get();
  const bool found = authorities.empty() ? SSL_CTX_set_default_verify_paths(context) == 1
                                         : SSL_CTX_load_verify_file(context, authorities.c_str()) == 1;
  if (!found) return failure(authorities, "no certificates of authorities");
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_alpn_protos(context, kHttp11.data(), kHttp11.size());
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  return std::shared_ptr<const TlsContext>(new TlsContext(*std::move(made)));
}

TlsContext::Made TlsContext::for_origins(std::shared_ptr<OriginVerifier> verifier) {
  ERR_clear_error();
  auto made = make(TLS_client_method());
  if (!made) return tl::unexpected(made.error());
  SSL_CTX* const context = made->get();
  SSL_CTX_set_security_level(context, 2);
  if (SSL_CTX_set_cipher_list(context, kCiphers) != 1 || SSL_CTX_set1_sigalgs_list(context, kSignatures) != 1 ||
      SSL_CTX_set1_groups_list(context, kGroups) != 1) {
    return tl::unexpected(tls_error("this OpenSSL lacks a cipher, signature or group for origins"));
  }
  SSL_CTX_set_cert_store(context, verifier->new_store().release());  // which the context owns from here on
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  OriginHandshake::install(context);
  std::shared_ptr<TlsContext> origins(new TlsContext(*std::move(made)));
  origins->verifier_ = std::move(verifier);
  return origins;
}

TlsContext::Made TlsContext::for_intercepted() {
  ERR_clear_error();
  auto made = make(TLS_server_method());
  if (!made) return tl::unexpected(made.error());
  SSL_CTX* const context = made->get();
  if (SSL_CTX_set_cipher_list(context, kCiphers) != 1) return tl::unexpected(tls_error("no ciphers"));
  SSL_CTX_set_options(context, SSL_OP_PRIORITIZE_CHACHA);
  SSL_CTX_set_alpn_select_cb(context, choose_protocol, nullptr);
  TicketKeys::install(context, TicketKeys::Use::intercepted);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_max_early_data(context, 0);
  return std::shared_ptr<const TlsContext>(new TlsContext(*std::move(made)));
}

std::string tls_error(const char* otherwise) {
  const unsigned long code = ERR_peek_last_error();
  ERR_clear_error();
  if (code == 0) return otherwise;
  const char* const reason = ERR_reason_error_string(code);
  return reason != nullptr ? reason : otherwise;
}

namespace {

TicketKeys::Key new_key(TicketKeys::Clock::time_point now) {
  TicketKeys::Key key;
  key.made = now;
  fill_random(key.name);
  fill_random(key.cipher);
  fill_random(key.mac);
  return key;
}

// OpenSSL takes the parameters as writable and only reads them.
bool set_mac(EVP_MAC_CTX* context, TicketKeys::Key key) {
  std::array<char, 7> digest{"sha256"};
  const std::array<OSSL_PARAM, 3> parameters{
      OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, key.mac.data(), key.mac.size()),
      OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest.data(), 0), OSSL_PARAM_construct_end()};
  return EVP_MAC_CTX_set_params(context, parameters.data()) == 1;
}

template <TicketKeys::Use kUse>
TicketKeys& of_process() {
  static TicketKeys keys(TicketKeys::Clock::now(), kUse == TicketKeys::Use::listeners
                                                       ? TicketKeys::Clock::duration(TicketKeys::kLifetime)
                                                       : TicketKeys::Clock::duration(TicketKeys::kInterceptedLifetime));
  return keys;
}

// SSL_CTX_set_tlsext_ticket_key_evp_cb(3): 1 go on, 2 go on and send a new ticket, 0 no such key, -1 failure.
template <TicketKeys::Use kUse>
int use_key(SSL*, unsigned char* name, unsigned char* iv, EVP_CIPHER_CTX* cipher, EVP_MAC_CTX* mac, int encrypting) {
  const auto keys = of_process<kUse>().at(TicketKeys::Clock::now());
  if (encrypting == 1) {
    const TicketKeys::Key& key = keys->current;
    if (RAND_bytes(iv, EVP_CIPHER_get_iv_length(EVP_aes_256_cbc())) != 1) return -1;
    std::copy(key.name.begin(), key.name.end(), name);
    const bool ready = EVP_EncryptInit_ex(cipher, EVP_aes_256_cbc(), nullptr, key.cipher.data(), iv) == 1;
    return ready && set_mac(mac, key) ? 1 : -1;
  }
  for (const TicketKeys::Key* const key : {&keys->current, &keys->before}) {
    if (!std::equal(key->name.begin(), key->name.end(), name)) continue;
    const bool ready = EVP_DecryptInit_ex(cipher, EVP_aes_256_cbc(), nullptr, key->cipher.data(), iv) == 1;
    if (!ready || !set_mac(mac, *key)) return -1;
    return key == &keys->current ? 1 : 2;
  }
  return 0;
}

}  // namespace

TicketKeys::TicketKeys(Clock::time_point now, Clock::duration lifetime)
    : lifetime_(lifetime), pair_(std::make_shared<const Pair>(Pair{new_key(now), new_key(now)})) {}

std::shared_ptr<const TicketKeys::Pair> TicketKeys::at(Clock::time_point now) {
  auto pair = pair_.load(std::memory_order_acquire);
  while (now - pair->current.made >= lifetime_) {
    auto next = std::make_shared<const Pair>(Pair{new_key(now), pair->current});
    if (pair_.compare_exchange_strong(pair, next)) return next;
  }
  return pair;
}

void TicketKeys::install(SSL_CTX* context, Use use) {
  SSL_CTX_set_tlsext_ticket_key_evp_cb(context,
                                       use == Use::listeners ? use_key<Use::listeners> : use_key<Use::intercepted>);
}

}  // namespace bloomwall::proxy
