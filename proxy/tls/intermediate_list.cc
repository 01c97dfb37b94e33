// SPDX-License-Identifier: Apache-2.0
#include "proxy/tls/intermediate_list.h"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <new>
#include <optional>
#include <utility>

#include "base/units.h"
#include "proxy/tls/certificates.h"
#include "proxy/tls/handles.h"
#include "proxy/tls/origin_memory.h"

namespace bloomwall::proxy {
namespace {

constexpr std::string_view kBegin = "-----BEGIN CERTIFICATE-----", kEnd = "-----END CERTIFICATE-----";
constexpr std::size_t kMostBlock = std::size_t{64} << 10;  // octets
constexpr int kMostRounds = 8;                             // certificates between one that is taken and its root
constexpr int kMostIssuers = 64;                           // that are tried for one

// The next block, taken off the front of `text`. Nothing: there is none that ends.
std::optional<std::string_view> next_block(std::string_view& text) {
  const std::size_t begin = text.find(kBegin);
  if (begin == std::string_view::npos) return std::nullopt;
  const std::size_t end = text.find(kEnd, begin);
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view block = text.substr(begin, end + kEnd.size() - begin);
  text.remove_prefix(end + kEnd.size());
  return block;
}

X509Ptr certificate_of(std::string_view block) {
  if (block.size() > kMostBlock) return nullptr;
  const BioPtr source(BIO_new_mem_buf(block.data(), static_cast<int>(block.size())));
  if (source == nullptr) throw std::bad_alloc();
  X509Ptr certificate(PEM_read_bio_X509(source.get(), nullptr, nullptr, nullptr));
  ERR_clear_error();
  return certificate;
}

bool may_be_taken(X509* certificate) {
  const bool is_authority = X509_check_ca(certificate) == 1 && (X509_get_extension_flags(certificate) & EXFLAG_SS) == 0;
  return is_authority && has_strong_key(certificate);
}

std::string pem_of(const std::vector<X509Ptr>& certificates) {
  const BioPtr text(BIO_new(BIO_s_mem()));
  if (text == nullptr) throw std::bad_alloc();
  for (const X509Ptr& each : certificates) {
    if (PEM_write_bio_X509(text.get(), each.get()) != 1) throw std::bad_alloc();
  }
  char* data = nullptr;
  const long size = BIO_get_mem_data(text.get(), &data);
  return size > 0 ? std::string(data, static_cast<std::size_t>(size)) : std::string();
}

}  // namespace

std::size_t count_certificates(std::string_view text) {
  std::size_t count = 0;
  while (next_block(text)) ++count;
  return count;
}

IntermediateChoice::IntermediateChoice(const OriginVerifier& roots) : store_(roots.new_store()), now_(roots.now()) {}

tl::expected<void, std::string> IntermediateChoice::add(std::string_view text) {
  while (const auto block = next_block(text)) {
    if (++blocks_ > kMostIntermediates) {
      return tl::unexpected(fmt::format("more than {} certificates: not what is expected here", kMostIntermediates));
    }
    X509Ptr certificate = certificate_of(*block);
    if (certificate == nullptr || !may_be_taken(certificate.get())) continue;
    offered_octets_ += block->size() + 1;  // and a line feed, as it would be written
    if (offered_octets_ > kMostIntermediatesFile) {
      return tl::unexpected(
          fmt::format("certificates of over {}: not what is expected here", format_bytes(kMostIntermediatesFile)));
    }
    offered_.push_back(std::move(certificate));
  }
  return {};
}

// Those whose issuers are known first, then those that these have issued.
ChosenIntermediates IntermediateChoice::choose() {
  for (int round = 0; round < kMostRounds && !offered_.empty(); ++round) {
    const std::size_t before = offered_.size();
    std::erase_if(offered_, [&](const X509Ptr& each) { return take(each.get()); });
    if (offered_.size() == before) break;
  }
  offered_.clear();
  return {.pem = pem_of(taken_), .taken = taken_.size(), .left_out = blocks_ - taken_.size()};
}

bool IntermediateChoice::take(X509* certificate) {
  if (!leads_to_root(certificate)) return false;
  const std::size_t known = pool_.size();
  X509Ptr kept = pool_.add(certificate);
  if (pool_.size() > known) taken_.push_back(std::move(kept));
  return true;
}

bool IntermediateChoice::leads_to_root(X509* certificate) const {
  const X509StackPtr issuers(sk_X509_new_null());
  const X509StoreContextPtr context(X509_STORE_CTX_new());
  if (issuers == nullptr || context == nullptr) throw std::bad_alloc();
  pool_.append_issuers(certificate, issuers.get(), kMostIssuers);
  for (int i = 0; i < sk_X509_num(issuers.get()); ++i) {
    pool_.append_issuers(sk_X509_value(issuers.get(), i), issuers.get(), kMostIssuers);
  }
  if (X509_STORE_CTX_init(context.get(), store_.get(), certificate, issuers.get()) != 1) throw std::bad_alloc();
  X509_VERIFY_PARAM* const parameters = X509_STORE_CTX_get0_param(context.get());
  X509_VERIFY_PARAM_set_auth_level(parameters, 2);
  X509_VERIFY_PARAM_set_time(parameters, now_);
  const bool leads = X509_verify_cert(context.get()) == 1;
  ERR_clear_error();
  return leads;
}

}  // namespace bloomwall::proxy
