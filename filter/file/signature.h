// Ed25519 keys and signatures, of filter files and of deltas. Keys are PEM files, as `openssl genpkey -algorithm
// ed25519` makes them too: PKCS#8 without a passphrase ("PRIVATE KEY") and SubjectPublicKeyInfo ("PUBLIC KEY").
// What is signed:
//   a filter   "bloomwall filter signature 1\n" and the header as it would be without any signature (header_bytes.h,
//              without_signatures); it holds the SHA-256 root of every section, so that with
//              FilterFile::verify(tampering) every byte is covered, and that of the exact side
//   a delta    "bloomwall delta signature 1\n" and the SHA-256 of all text before its signatures
//              (policy/delta_signature.h)
// A key id is the first 16 bytes of the SHA-256 of the public key's 32 bytes: it finds a key and proves nothing.
// Errors: io, bad_syntax (no such key in the file), limit, untrusted. Const calls are thread-safe. Cost: about 0.1 ms
// each.
// Source: RFC 8032, RFC 8410.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "filter/file/filter_file.h"
#include "filter/file/handles.h"
#include "filter/file/header.h"
#include "filter/file/temp_file.h"

namespace bloomwall::filter {

inline constexpr std::uint32_t kEd25519 = 1;
inline constexpr std::size_t kMaxTrustedKeys = 16;

inline constexpr std::string_view kDeltaDomain = "bloomwall delta signature 1\n";
// The octets that a signature of this filter is over.
std::string signed_message(const FilterFile& file);
std::string signed_message(std::string_view domain, std::span<const std::byte> bytes);

// The private half. Never printed; freed memory of it is cleared by OpenSSL.
class SigningKey {
 public:
  static SigningKey generate();
  static Result<SigningKey> read(const std::filesystem::path& file);
  // Neither file may be there already; the private one has mode 0600, the public one 0644.
  Result<void> write(const std::filesystem::path& private_file, const std::filesystem::path& public_file) const;
  KeyId id() const { return id_; }
  Signature sign(std::string_view message) const;

 private:
  explicit SigningKey(KeyPtr key);
  KeyPtr key_;
  KeyId id_;
};

// Public keys, any of which may have signed: so that a new key can be trusted before the old one is given up.
class TrustedKeys {
 public:
  // Every "PUBLIC KEY" of the file, at least one, at most kMaxTrustedKeys, each of Ed25519.
  static Result<TrustedKeys> read(const std::filesystem::path& file);
  std::vector<KeyId> ids() const;
  // The first key that made one of the signatures; untrusted where none did (without a place: the caller knows the
  // file). Signatures of other algorithms and by other keys are passed over.
  Result<KeyId> check(std::span<const Signature> signatures, std::string_view message) const;

 private:
  struct Key {
    KeyId id;
    KeyPtr key;
  };
  std::vector<Key> keys_;
};

// Slots and section. Of the header alone: with it verify(tampering) must hold. Errors name the
// file; bad_section where the section can't be read.
Result<KeyId> check_signature(const FilterFile& file, const TrustedKeys& trusted);

// Puts a signature into its place: over an earlier one by the same key, else where none stands. False: all are taken.
bool place_signature(std::array<Signature, kMaxSignatures>& signatures, const Signature& made);

// Signatures take the slots of the header, and, where those are taken, the section of signatures.
// Verifies every byte, then writes `target` (which may be the file itself) as a copy with one signature more: to a
// temporary file beside it, synced, renamed; blocks are shared with the original where the file system can. Processes
// that have mapped the filter keep their version. Time: that of reading the file, and of copying where blocks can't be
// shared.
Result<void> sign_filter(const std::filesystem::path& file, const std::filesystem::path& target, const SigningKey& key,
                         const Progress& progress = {}, const FileAccess& access = {});

// Section `signatures` of a .bwf file: signatures of any algorithm and length beside the eight slots of the header, for
// algorithms to come (one of ML-DSA takes 2.4 to 4.6 KB) and for more signers than there are slots.
//   offset  size  field (little-endian)
//   0       4     magic "BWS1"
//   4       4     signatures, u32: 1 to kMaxLongSignatures
//   8             records, one after the other:
//     0     4     algorithm, u32, not 0; one that a reader does not know is passed over
//     4     4     parameter, u32
//     8     16    key id
//     24    4     octets of the signature, u32: 1 to kMaxSignatureBytes
//     28    4     zero
//     32          the signature, and zeros up to a multiple of 8
// It is the last section of the table and of the file and has no records in the section of leaves: added to a signed
// file, it leaves what is signed as it was (header_bytes.h, without_signatures). Not critical.

inline constexpr std::size_t kMaxLongSignatures = 64;
inline constexpr std::size_t kMaxSignatureBytes = 65536;

struct LongSignature {
  std::uint32_t algorithm = 0;
  std::uint32_t parameter = 0;
  KeyId key_id{};
  std::vector<std::uint8_t> bytes;
  friend bool operator==(const LongSignature&, const LongSignature&) = default;
};

// Hostile bytes. Errors: bad_section.
Result<std::vector<LongSignature>> parse_signatures(std::span<const std::byte> section);
// 1 to kMaxLongSignatures of them, each within its bounds.
std::vector<std::byte> serialise_signatures(std::span<const LongSignature> signatures);

}  // namespace bloomwall::filter
