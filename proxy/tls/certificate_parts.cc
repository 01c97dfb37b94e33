// SPDX-License-Identifier: Apache-2.0
#include "proxy/tls/certificate_parts.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>

#include <algorithm>
#include <climits>
#include <ctime>
#include <new>
#include <stdexcept>

#include "base/text.h"

namespace bloomwall::proxy {
namespace {

void need(bool done) {
  if (!done) throw std::bad_alloc();
}

const unsigned char* octets_of(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }

int length_of(std::string_view text) {
  need(text.size() <= INT_MAX);
  return static_cast<int>(text.size());
}

// What has been written into a BIO of memory.
std::string text_of(BIO* memory) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(memory, &data);
  return size > 0 ? std::string(data, static_cast<std::size_t>(size)) : std::string();
}

BioPtr new_memory() {
  BioPtr memory(BIO_new(BIO_s_mem()));
  need(memory != nullptr);
  return memory;
}

// The bits of the key in a certificate: what key identifiers are digests of.
std::string key_bits(const X509* certificate) {
  const ASN1_BIT_STRING* const bits = X509_get0_pubkey_bitstr(certificate);
  need(bits != nullptr);
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(bits)),
          static_cast<std::size_t>(ASN1_STRING_length(bits))};
}

}  // namespace

std::string der(std::uint8_t tag, std::string_view content) {
  std::string out(1, static_cast<char>(tag));
  const std::size_t size = content.size();
  if (size < 0x80) {
    out.push_back(static_cast<char>(size));
  } else {
    std::string length;
    for (std::size_t rest = size; rest > 0; rest >>= 8) length.insert(length.begin(), static_cast<char>(rest & 0xff));
    out.push_back(static_cast<char>(0x80 | length.size()));
    out += length;
  }
  return out.append(content);
}

X509ExtensionPtr make_extension(int nid, bool critical, std::string_view value) {
  const OctetStringPtr string(ASN1_OCTET_STRING_new());
  need(string != nullptr && ASN1_OCTET_STRING_set(string.get(), octets_of(value), length_of(value)) == 1);
  X509ExtensionPtr extension(X509_EXTENSION_create_by_NID(nullptr, nid, critical ? 1 : 0, string.get()));
  need(extension != nullptr);
  return extension;
}

void add_extension(X509* certificate, const X509ExtensionPtr& extension) {
  need(X509_add_ext(certificate, extension.get(), -1) == 1);
}

void set_random_serial(X509* certificate) {
  std::array<unsigned char, 16> octets{};
  do {
    if (RAND_bytes(octets.data(), static_cast<int>(octets.size())) != 1) throw std::runtime_error("no random octets");
    octets[0] &= 0x7f;
  } while (octets[0] == 0);  // DER has no leading zeros
  need(ASN1_STRING_set(X509_get_serialNumber(certificate), octets.data(), static_cast<int>(octets.size())) == 1);
}

void set_validity(X509* certificate, std::int64_t not_before, std::int64_t not_after) {
  need(ASN1_TIME_set(X509_getm_notBefore(certificate), not_before) != nullptr &&
       ASN1_TIME_set(X509_getm_notAfter(certificate), not_after) != nullptr);
}

void add_name_part(X509_NAME* name, int nid, std::string_view text) {
  need(X509_NAME_add_entry_by_NID(name, nid, V_ASN1_UTF8STRING, octets_of(text), length_of(text), -1, 0) == 1);
}

std::string key_identifier(EVP_PKEY* key) {
  const X509Ptr holder(X509_new());
  need(holder != nullptr && X509_set_pubkey(holder.get(), key) == 1);
  const Sha256Octets digest = sha256_of(key_bits(holder.get()));
  constexpr std::size_t kOctets = 20;
  return {reinterpret_cast<const char*>(digest.data()), kOctets};
}

std::string address_octets(const std::string& text) {
  std::string octets(16, '\0');
  if (text.find('\0') != std::string::npos) return {};
  if (inet_pton(AF_INET6, text.c_str(), octets.data()) == 1) return octets;
  octets.resize(4);
  return inet_pton(AF_INET, text.c_str(), octets.data()) == 1 ? octets : std::string();
}

bool is_certificate_name(std::string_view name) {
  constexpr std::size_t kMostName = 253, kMostLabel = 63;
  if (name.empty() || name.size() > kMostName) return false;
  bool is_number = true;
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find('.', begin), name.size());
    const std::string_view label = name.substr(begin, end - begin);
    const auto belongs = [](char c) { return (c >= 'a' && c <= 'z') || is_digit(c) || c == '-' || c == '_'; };
    if (label.empty() || label.size() > kMostLabel || !std::ranges::all_of(label, belongs)) return false;
    is_number = std::ranges::all_of(label, is_digit);
    begin = end + 1;
  }
  return !is_number;
}

Sha256Octets sha256_of(std::string_view octets) {
  Sha256Octets digest{};
  need(EVP_Digest(octets.data(), octets.size(), digest.data(), nullptr, EVP_sha256(), nullptr) == 1);
  return digest;
}

std::string der_of(const X509* certificate) {
  unsigned char* made = nullptr;
  const int size = i2d_X509(certificate, &made);
  const OctetsPtr owned(made);
  need(size > 0);
  return {reinterpret_cast<const char*>(made), static_cast<std::size_t>(size)};
}

std::string pem_of(const X509* certificate) {
  const BioPtr memory = new_memory();
  need(PEM_write_bio_X509(memory.get(), certificate) == 1);
  return text_of(memory.get());
}

Sha256Octets fingerprint_of(const X509* certificate) { return sha256_of(der_of(certificate)); }

std::string fingerprint_text(const Sha256Octets& fingerprint) {
  std::string out;
  for (const std::uint8_t octet : fingerprint) out += fmt::format("{}{:02X}", out.empty() ? "" : ":", octet);
  return out;
}

std::int64_t unix_time_of(const ASN1_TIME* time) {
  std::tm parts{};
  return ASN1_TIME_to_tm(time, &parts) == 1 ? ::timegm(&parts) : 0;
}

std::string subject_text(const X509* certificate) {
  const BioPtr memory = new_memory();
  // RFC 2253, which escapes control and non-ASCII octets, with a blank behind each comma.
  constexpr unsigned long kFlags =
      ASN1_STRFLGS_RFC2253 | XN_FLAG_SEP_CPLUS_SPC | XN_FLAG_DN_REV | XN_FLAG_FN_SN | XN_FLAG_DUMP_UNKNOWN_FIELDS;
  need(X509_NAME_print_ex(memory.get(), X509_get_subject_name(certificate), 0, kFlags) >= 0);
  return text_of(memory.get());
}

std::string key_text(const X509* certificate) {
  const EVP_PKEY* const key = X509_get0_pubkey(certificate);
  if (key == nullptr) return "unknown";
  const int bits = EVP_PKEY_get_bits(key);
  switch (EVP_PKEY_get_base_id(key)) {
    case EVP_PKEY_RSA:
      return fmt::format("RSA {}", bits);
    case EVP_PKEY_EC:
      return fmt::format("EC P-{}", bits);
    default:
      break;
  }
  const char* const name = EVP_PKEY_get0_type_name(key);
  return name != nullptr ? name : "unknown";
}

std::string issuer_key_octets(X509* certificate) {
  if (const ASN1_OCTET_STRING* const own = X509_get0_subject_key_id(certificate)) {
    return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(own)),
            static_cast<std::size_t>(ASN1_STRING_length(own))};
  }
  const std::string bits = key_bits(certificate);
  std::string digest(20, '\0');
  need(EVP_Digest(bits.data(), bits.size(), reinterpret_cast<unsigned char*>(digest.data()), nullptr, EVP_sha1(),
                  nullptr) == 1);
  return digest;
}

bool is_self_signed(X509* certificate) {
  const bool is = X509_self_signed(certificate, 1) == 1;
  ERR_clear_error();
  return is;
}

}  // namespace bloomwall::proxy
