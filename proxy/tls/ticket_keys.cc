// SPDX-License-Identifier: Apache-2.0
#include "proxy/tls/ticket_keys.h"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include <algorithm>
#include <stdexcept>

namespace bloomwall::proxy {
namespace {

TicketKeys::Key new_key(TicketKeys::Clock::time_point now) {
  TicketKeys::Key key;
  key.made = now;
  const auto fill = [](auto& octets) {
    if (RAND_bytes(octets.data(), static_cast<int>(octets.size())) != 1) throw std::runtime_error("no random octets");
  };
  fill(key.name);
  fill(key.cipher);
  fill(key.mac);
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
