// SPDX-License-Identifier: Apache-2.0

#include "proxy/tls/leaf_cache.h"

#include <fmt/format.h>
#include <openssl/err.h>

#include <algorithm>
#include <new>
#include <system_error>
#include <utility>

#include "base/names.h"
#include "base/units.h"

namespace bloomwall::proxy {
namespace {

constexpr std::int64_t kOneDay = 86'400;
constexpr std::size_t kMostCommonName = 64;  // ub-common-name of RFC 5280
constexpr std::uint8_t kKeyIdentifierTag = 0x80;

constexpr std::string_view kNoCa("\x30\x00", 2);
constexpr std::string_view kDigitalSignature("\x03\x02\x07\x80", 4);
constexpr std::string_view kServerAuth("\x30\x0a\x06\x08\x2b\x06\x01\x05\x05\x07\x03\x01", 12);

void made(bool done) {
  if (!done) throw std::bad_alloc();
}

EvpKeyPtr same_key(EVP_PKEY* key) {
  made(EVP_PKEY_up_ref(key) == 1);
  return EvpKeyPtr(key);
}

// OpenSSL 3 encodes the public key of a certificate through an encoder, a decoder and a copy, 0.2 ms, unless the key is
// of the form that it had before providers: then it takes 5 us. This makes one of that form, without the deprecated
// EC_KEY functions: an empty key of a type given by number has it, takes the curve of another key, and the point. Where
// a later OpenSSL does not do so, the key itself serves, only slower.
EvpKeyPtr with_quick_encoding(EVP_PKEY* key) {
  unsigned char* point = nullptr;
  const std::size_t size = EVP_PKEY_get1_encoded_public_key(key, &point);
  const OctetsPtr owned(point);
  EvpKeyPtr encoded(EVP_PKEY_new());
  made(size > 0 && encoded != nullptr);
  const bool done =
      EVP_PKEY_set_type(encoded.get(), EVP_PKEY_EC) == 1 && EVP_PKEY_copy_parameters(encoded.get(), key) == 1 &&
      EVP_PKEY_set1_encoded_public_key(encoded.get(), point, size) == 1 && EVP_PKEY_eq(encoded.get(), key) == 1;
  ERR_clear_error();
  if (done) return encoded;
  return same_key(key);
}

std::shared_ptr<const LeafKey> new_leaf_key(std::int64_t now, LeafKeyType type) {
  constexpr std::size_t kRsaBits = 2048;
  auto key = std::make_shared<LeafKey>();
  key->key.reset(type == LeafKeyType::rsa ? EVP_RSA_gen(kRsaBits) : EVP_EC_gen("P-256"));
  made(key->key != nullptr);
  key->encoded = type == LeafKeyType::rsa ? same_key(key->key.get()) : with_quick_encoding(key->key.get());
  key->identifier =
      make_extension(NID_subject_key_identifier, false, der(kDerOctetString, key_identifier(key->key.get())));
  key->made = now;
  return key;
}

std::uint64_t next_generation() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

// The GeneralName of the host; empty where a certificate cannot hold it.
std::string general_name(std::string_view host) {
  const std::string octets = address_octets(host);
  if (!octets.empty()) return der(kDerAddress, octets);
  return is_certificate_name(host) ? der(kDerDnsName, host) : std::string();
}

void set_algorithm(X509_ALGOR* algorithm, int nid) {
  // RSA's has NULL for parameters (RFC 4055), ECDSA's has none (RFC 5758).
  const int parameters = nid == NID_sha256WithRSAEncryption ? V_ASN1_NULL : V_ASN1_UNDEF;
  made(X509_ALGOR_set0(algorithm, OBJ_nid2obj(nid), parameters, nullptr) == 1);
}

}  // namespace

bool Leaf::is_fresh(std::int64_t now) const {
  return now < minted_ + kOneDay && now >= not_before_ && now < not_after_;
}

LeafMint::LeafMint(AuthorityPtr authority, int days)
    : authority_(std::move(authority)),
      days_(days),
      generation_(next_generation()),
      constraints_(make_extension(NID_basic_constraints, true, kNoCa)),
      usage_(make_extension(NID_key_usage, true, kDigitalSignature)),
      purpose_(make_extension(NID_ext_key_usage, false, kServerAuth)),
      authority_key_(make_extension(NID_authority_key_identifier, false,
                                    der(kDerSequence, der(kKeyIdentifierTag, authority_->key_identifier())))) {}

bool LeafMint::is_mintable(std::string_view host) { return !general_name(host).empty(); }

std::shared_ptr<const LeafKey> LeafMint::key_at(std::int64_t now, LeafKeyType type) const {
  auto& place = type == LeafKeyType::rsa ? rsa_key_ : key_;
  auto key = place.load(std::memory_order_acquire);
  while (key == nullptr || now - key->made >= kOneDay) {
    auto next = new_leaf_key(now, type);
    if (place.compare_exchange_strong(key, next)) return next;
  }
  return key;
}

tl::expected<LeafPtr, std::string> LeafMint::mint(std::string_view host, std::int64_t now, LeafKeyType type) const {
  return mint_for({&host, 1}, now, type);
}

tl::expected<LeafPtr, std::string> LeafMint::mint_for(std::span<const std::string_view> hosts, std::int64_t now,
                                                      LeafKeyType type) const {
  const std::string_view host = hosts.front();
  std::string names;
  bool has_dns_name = false;
  for (const std::string_view each : hosts) {
    const std::string name = general_name(each);
    if (name.empty())
      return tl::unexpected(std::string("neither a host name nor an address: no certificate can hold it"));
    has_dns_name = has_dns_name || name.starts_with(static_cast<char>(kDerDnsName));
    names += name;
  }
  const std::int64_t today = now - now % kOneDay;
  std::shared_ptr<Leaf> leaf(new Leaf);
  leaf->minted_ = now;
  leaf->not_before_ = std::max(today - 2 * kOneDay, authority_->not_before());
  leaf->not_after_ = std::min(today + days_ * kOneDay, authority_->not_after());
  if (authority_->not_before() > now) {
    return tl::unexpected(fmt::format("the CA is not valid before {}: is the clock right?",
                                      format_time(static_cast<std::uint64_t>(authority_->not_before()))));
  }
  if (leaf->not_after_ <= now) {
    return tl::unexpected(
        fmt::format("the CA expired on {}", format_time(static_cast<std::uint64_t>(authority_->not_after()))));
  }
  leaf->authority_ = authority_;
  leaf->key_ = key_at(now, type);
  leaf->certificate_.reset(X509_new());
  X509* const certificate = leaf->certificate_.get();
  made(certificate != nullptr && X509_set_version(certificate, X509_VERSION_3) == 1);
  set_random_serial(certificate);
  // Verifiers that find no DNS name take the CN for one, and name constraints forbid it.
  const bool is_named = host.size() <= kMostCommonName && (has_dns_name || !authority_->has_name_constraints());
  if (is_named) add_name_part(X509_get_subject_name(certificate), NID_commonName, host);
  made(X509_set_issuer_name(certificate, X509_get_subject_name(authority_->certificate())) == 1);
  set_validity(certificate, leaf->not_before_, leaf->not_after_);
  made(X509_set_pubkey(certificate, leaf->key_->encoded.get()) == 1);
  add_extension(certificate, make_extension(NID_subject_alt_name, !is_named, der(kDerSequence, names)));
  for (const X509ExtensionPtr* extension :
       {&constraints_, &usage_, &purpose_, &authority_key_, &leaf->key_->identifier}) {
    add_extension(certificate, *extension);
  }
  if (auto done = sign(certificate); !done) return tl::unexpected(std::move(done.error()));
  return leaf;
}

tl::expected<void, std::string> LeafMint::sign(X509* certificate) const {
  // OpenSSL signs with keys of its own only; the places of a foreign signature are handed out as const.
  const ASN1_BIT_STRING* signature = nullptr;
  const X509_ALGOR* algorithm = nullptr;
  X509_get0_signature(&signature, &algorithm, certificate);
  const int nid = authority_->signer().algorithm();
  set_algorithm(const_cast<X509_ALGOR*>(algorithm), nid);
  set_algorithm(const_cast<X509_ALGOR*>(X509_get0_tbs_sigalg(certificate)), nid);
  unsigned char* octets = nullptr;
  const int size = i2d_re_X509_tbs(certificate, &octets);
  const OctetsPtr owned(octets);
  made(size > 0);
  const auto got = authority_->signer().sign({octets, static_cast<std::size_t>(size)});
  if (!got) return tl::unexpected(got.error());
  auto* const place = const_cast<ASN1_BIT_STRING*>(signature);
  made(ASN1_STRING_set(place, got->data(), static_cast<int>(got->size())) == 1);
  constexpr long kUnusedBits = 0x07;
  place->flags = (place->flags & ~kUnusedBits) | ASN1_STRING_FLAG_BITS_LEFT;  // none of the last octet is unused
  return {};
}

namespace {

constexpr std::string_view kRsaPrefix = " ";  // which no host has

std::int64_t seconds_since_1970(LeafCache::Clock::time_point time) {
  return std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count();
}

}  // namespace

LeafCache::LeafCache(const Limits& limits) : limits_(limits), leaves_(limits.entries), budgets_(limits.clients) {}

LeafCache::~LeafCache() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  has_jobs_.notify_all();
  if (thread_.joinable()) thread_.join();
}

std::optional<LeafCache::Answer> LeafCache::ask(const LeafMintPtr& mint, std::string_view host, std::string_view client,
                                                Clock::time_point now, Done done, LeafKeyType type) {
  const std::string_view prefix = type == LeafKeyType::rsa ? kRsaPrefix : std::string_view();
  Job job{mint, {mint->generation(), std::string(prefix).append(host)}, seconds_since_1970(now), type};
  std::unique_lock lock(mutex_);
  if (LeafPtr* const leaf = leaves_.find(job.key)) {
    if ((*leaf)->is_fresh(job.now)) return Answer(*leaf);
    leaves_.erase(job.key);
  }
  if (const auto at = waiting_.find(job.key); at != waiting_.end()) {
    at->second.push_back(std::move(done));
    return std::nullopt;
  }
  if (!LeafMint::is_mintable(host)) return refuse(Refusal::bad_host, "no certificate can hold this host");
  if (!spend(client, now)) return refuse(Refusal::client_rate, "the client asks for too many new hosts");
  if (mint->is_fast(type)) {
    waiting_.emplace(job.key, std::vector<Done>());
    lock.unlock();
    return finish(job);
  }
  if (jobs_.size() >= limits_.waiting || !start_thread()) {
    return refuse(Refusal::overload, "too many hosts wait for the CA's signer");
  }
  waiting_[job.key].push_back(std::move(done));
  jobs_.push_back(std::move(job));
  lock.unlock();
  has_jobs_.notify_one();
  return std::nullopt;
}

// With the mutex held.
std::optional<LeafCache::Answer> LeafCache::refuse(Refusal refusal, const char* why) {
  ++figures_.refused;
  return Answer(tl::unexpected(Failure{refusal, why}));
}

// With the mutex held. A clock that was put back gives nothing and takes nothing.
bool LeafCache::spend(std::string_view client, Clock::time_point now) {
  if (limits_.mints_a_second == 0) return true;
  const double most = limits_.mints_a_second;
  const std::string key(client);
  Budget* budget = budgets_.find(key);
  if (budget == nullptr) budget = &budgets_.put(key, {most, now});
  const std::chrono::duration<double> passed = std::max(now - budget->since, Clock::duration::zero());
  budget->mints = std::min(most, budget->mints + passed.count() * most);
  budget->since = now;
  if (budget->mints < 1) return false;
  budget->mints -= 1;
  return true;
}

LeafCache::Answer LeafCache::finish(const Job& job) {
  const auto begin = std::chrono::steady_clock::now();
  std::string_view host = job.key.second;
  if (job.type == LeafKeyType::rsa) host.remove_prefix(kRsaPrefix.size());
  auto leaf = job.mint->mint(host, job.now, job.type);
  const auto took = std::chrono::steady_clock::now() - begin;
  Answer answer = leaf ? Answer(*leaf) : Answer(tl::unexpected(Failure{Refusal::mint, std::move(leaf.error())}));
  std::vector<Done> waiting;
  {
    const std::lock_guard lock(mutex_);
    if (answer) {
      leaves_.put(job.key, *answer);
      ++figures_.minted;
      figures_.minting += took;
    } else {
      ++figures_.refused;
    }
    const auto at = waiting_.find(job.key);
    waiting = std::move(at->second);
    waiting_.erase(at);
  }
  for (const Done& done : waiting) {
    if (done) done(answer);
  }
  return answer;
}

// With the mutex held. False: the system gives no thread.
bool LeafCache::start_thread() {
  if (thread_.joinable()) return true;
  try {
    thread_ = std::thread([this] { run_jobs(); });
  } catch (const std::system_error&) {
    return false;
  }
  return true;
}

void LeafCache::run_jobs() {
  std::unique_lock lock(mutex_);
  for (;;) {
    has_jobs_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
    if (stopping_) return;
    const Job job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    finish(job);
    lock.lock();
  }
}

void LeafCache::set_limits(const Limits& limits) {
  const std::lock_guard lock(mutex_);
  limits_ = limits;
  leaves_.set_most(limits.entries);
  budgets_.set_most(limits.clients);
}

LeafCache::Figures LeafCache::figures() const {
  const std::lock_guard lock(mutex_);
  Figures figures = figures_;
  figures.entries = leaves_.size();
  figures.waiting = jobs_.size();
  return figures;
}

const char* to_string(LeafCache::Refusal refusal) {
  static constexpr auto kWords = name_table<LeafCache::Refusal>({{LeafCache::Refusal::bad_host, "bad_host"},
                                                                 {LeafCache::Refusal::client_rate, "client_rate"},
                                                                 {LeafCache::Refusal::overload, "overload"},
                                                                 {LeafCache::Refusal::mint, "mint"}});
  return kWords.text(refusal);
}

}  // namespace bloomwall::proxy
