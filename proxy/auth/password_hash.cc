// SPDX-License-Identifier: Apache-2.0
#include "proxy/auth/password_hash.h"

#include <fmt/format.h>
#include <openssl/crypto.h>

#include <algorithm>
#include <cerrno>

#include "base/text.h"
#include "base/units.h"

namespace bloomwall::proxy {
namespace {

constexpr unsigned kLeastCost = 4, kMostCost = 15;  // of bcrypt: powers of two
constexpr std::uint64_t kMostRounds = 1'000'000;    // of SHA-crypt
constexpr char kMostMemory = 'C';                   // of yescrypt with r = 32: 128 MiB
constexpr std::size_t kBcryptTail = 53, kSha256Digest = 43, kSha512Digest = 86, kYescryptDigest = 43;
constexpr std::size_t kMostSalt = 86;

bool is_hash_text(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return is_alpha(c) || is_digit(c) || c == '.' || c == '/'; });
}

bool is_salt_and_digest(std::string_view rest, std::size_t digest) {
  const std::size_t end = rest.find('$');
  if (end > kMostSalt) return false;  // npos, too
  return is_hash_text(rest.substr(0, end)) && is_hash_text(rest.substr(end + 1)) && rest.size() - end - 1 == digest;
}

std::optional<std::string> fault_in_bcrypt(std::string_view rest) {
  if (rest.size() != 3 + kBcryptTail || !is_digit(rest[0]) || !is_digit(rest[1]) || rest[2] != '$' ||
      !is_hash_text(rest.substr(3))) {
    return "a bcrypt hash that is cut short or has been changed";
  }
  const auto cost = static_cast<unsigned>((rest[0] - '0') * 10 + (rest[1] - '0'));
  if (cost >= kLeastCost && cost <= kMostCost) return std::nullopt;
  return fmt::format("bcrypt with cost {}: use {} to {}, such as `htpasswd -B -C 10`", cost, kLeastCost, kMostCost);
}

std::optional<std::string> fault_in_sha_crypt(std::string_view rest, std::size_t digest) {
  constexpr std::string_view kRounds = "rounds=";
  if (rest.starts_with(kRounds)) {
    rest.remove_prefix(kRounds.size());
    const auto rounds = parse_integer(next_part(rest, '$'));
    if (!rounds || *rounds > kMostRounds) return "SHA-crypt with more than 1,000,000 rounds: use fewer";
  }
  if (is_salt_and_digest(rest, digest)) return std::nullopt;
  return "a SHA-crypt hash that is cut short or has been changed";
}

// Parameters as crypt_gensalt(3) writes them: a flavour, log2 of the memory's blocks, the size of a block (5: 1 KiB,
// T: 4 KiB).
std::optional<std::string> fault_in_yescrypt(std::string_view rest) {
  const std::string_view parameters = next_part(rest, '$');
  const bool is_known =
      parameters.size() == 3 && parameters[0] == 'j' && (parameters[2] == '5' || parameters[2] == 'T');
  const bool is_small = is_known && (is_digit(parameters[1]) || (parameters[1] >= 'A' && parameters[1] <= kMostMemory));
  if (!is_small) return "yescrypt with parameters beyond cost 8: make it with `mkpasswd -m yescrypt`";
  if (is_salt_and_digest(rest, kYescryptDigest)) return std::nullopt;
  return "a yescrypt hash that is cut short or has been changed";
}

}  // namespace

std::optional<std::string> find_hash_fault(std::string_view hash) {
  if (hash.starts_with("$2b$") || hash.starts_with("$2y$")) return fault_in_bcrypt(hash.substr(4));
  if (hash.starts_with("$6$")) return fault_in_sha_crypt(hash.substr(3), kSha512Digest);
  if (hash.starts_with("$5$")) return fault_in_sha_crypt(hash.substr(3), kSha256Digest);
  if (hash.starts_with("$y$")) return fault_in_yescrypt(hash.substr(3));
  std::string_view kind = "not a hash, or one of an unknown kind";
  if (hash.starts_with("$apr1$") || hash.starts_with("$1$")) kind = "an MD5 hash, which is too weak";
  if (hash.starts_with("{SHA}") || hash.starts_with("{SSHA}")) kind = "a SHA-1 hash, which is too weak";
  return fmt::format("{}: make the line with `htpasswd -B`", kind);
}

PasswordHasher::Result PasswordHasher::compare(const std::string& password, const std::string& hash) {
  if (data_ == nullptr) data_ = std::make_unique<crypt_data>();
  const char* const made = ::crypt_rn(password.c_str(), hash.c_str(), data_.get(), sizeof *data_);
  const bool has_failed = made == nullptr && errno == ENOMEM;
  const bool is_same = made != nullptr && std::string_view(made).size() == hash.size() &&
                       CRYPTO_memcmp(made, hash.data(), hash.size()) == 0;
  OPENSSL_cleanse(data_.get(), sizeof *data_);
  if (has_failed) return Result::failed;
  return is_same ? Result::same : Result::different;
}

}  // namespace bloomwall::proxy
