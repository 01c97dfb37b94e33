// SPDX-License-Identifier: Apache-2.0

#include "filter/file/signature.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <new>
#include <optional>
#include <utility>

#include "base/encoding.h"
#include "base/handles.h"
#include "filter/file/header_bytes.h"
#include "filter/file/leaves.h"
#include "filter/result.h"

namespace bloomwall::filter {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFilterDomain = "bloomwall filter signature 1\n";
constexpr std::size_t kMaxKeyFile = std::size_t{64} << 10;
constexpr std::size_t kPublicBytes = 32;

tl::unexpected<Error> refuse_file(Errc code, const fs::path& where, std::string what) {
  return unexpected(Error{code, where.string(), std::move(what)});
}

const unsigned char* octets(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }

Result<std::string> read_key_file(const fs::path& path) {
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!file) return system_error(path, "read");
  std::string text(kMaxKeyFile + 1, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = ::read(file.get(), text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error(path, "read");
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  if (size > kMaxKeyFile) return refuse_file(Errc::limit, path, "over 64 KiB: not a file of keys");
  text.resize(size);
  return text;
}

BioPtr reader_of(const std::string& text) {
  BioPtr bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  if (!bio) throw std::bad_alloc();
  return bio;
}

struct PemBlock {
  std::string name;
  OctetsPtr<unsigned char> bytes;
  long size;
};

std::optional<PemBlock> next_block(BIO* from) {
  char* name = nullptr;
  char* header = nullptr;
  unsigned char* bytes = nullptr;
  long size = 0;
  if (PEM_read_bio(from, &name, &header, &bytes, &size) != 1) return std::nullopt;
  const OctetsPtr<char> owned_name(name);
  const OctetsPtr<char> owned_header(header);
  return PemBlock{.name = name, .bytes = OctetsPtr<unsigned char>(bytes), .size = size};
}

// Instead of asking at the terminal.
int no_passphrase(char* /*buffer*/, int /*size*/, int /*writing*/, void* asked) {
  *static_cast<bool*>(asked) = true;
  return -1;
}

KeyId id_of(EVP_PKEY* key) {
  std::array<unsigned char, kPublicBytes> raw{};
  std::size_t size = raw.size();
  if (EVP_PKEY_get_raw_public_key(key, raw.data(), &size) != 1 || size != raw.size()) throw std::bad_alloc();
  const Sha256 digest = sha256(std::as_bytes(std::span(raw)));
  KeyId id{};
  std::copy_n(digest.begin(), id.size(), id.begin());
  return id;
}

DigestContextPtr new_context() {
  DigestContextPtr context(EVP_MD_CTX_new());
  if (!context) throw std::bad_alloc();
  return context;
}

bool holds(EVP_PKEY* key, const Signature& signature, std::string_view message) {
  const DigestContextPtr context = new_context();
  const bool good = EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key) == 1 &&
                    EVP_DigestVerify(context.get(), signature.bytes.data(), signature.bytes.size(), octets(message),
                                     message.size()) == 1;
  ERR_clear_error();
  return good;
}

std::string names_of(std::span<const Signature> signatures) {
  std::string out;
  for (const Signature& s : signatures) {
    if (s.algorithm != kEd25519 || s.parameter != 0) continue;
    if (!out.empty()) out += ", ";
    out += to_hex(s.key_id);
  }
  return out;
}

Result<void> write_new(const fs::path& path, mode_t mode, std::string_view text) {
  const UniqueFd file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode));
  if (!file && errno == EEXIST) return refuse_file(Errc::usage, path, "exists already; a key is never overwritten");
  if (!file) return system_error(path, "create");
  const auto failed = [&](const char* action) {
    auto error = system_error(path, action);
    unlink(path.c_str());
    return error;
  };
  if (fchmod(file.get(), mode) != 0) return failed("set the mode");
  while (!text.empty()) {
    const ssize_t done = ::write(file.get(), text.data(), text.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return failed("write");
    text.remove_prefix(static_cast<std::size_t>(done));
  }
  if (fsync(file.get()) != 0) return failed("sync");
  return {};
}

// What one of the PEM writers makes of a key.
template <typename Write>
std::string pem_of(const Write& write) {
  const BioPtr bio(BIO_new(BIO_s_secmem()));
  if (!bio || write(bio.get()) != 1) throw std::bad_alloc();
  char* text = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &text);
  return {text, static_cast<std::size_t>(size)};
}

}  // namespace

std::string signed_message(std::string_view domain, std::span<const std::byte> bytes) {
  std::string out(domain);
  out.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return out;
}

std::string signed_message(const FilterFile& file) {
  HeaderBytes bytes{};
  std::copy(file.header_bytes().begin(), file.header_bytes().end(), bytes.begin());
  return signed_message(kFilterDomain, without_signatures(bytes));
}

SigningKey::SigningKey(KeyPtr key) : key_(std::move(key)), id_(id_of(key_.get())) {}

SigningKey SigningKey::generate() {
  KeyPtr key(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"));
  if (!key) throw std::bad_alloc();
  return SigningKey(std::move(key));
}

Result<SigningKey> SigningKey::read(const fs::path& file) {
  const auto text = read_key_file(file);
  if (!text) return unexpected(text.error());
  bool is_protected = false;
  KeyPtr key(PEM_read_bio_PrivateKey(reader_of(*text).get(), nullptr, no_passphrase, &is_protected));
  ERR_clear_error();
  if (is_protected) {
    return refuse_file(Errc::bad_syntax, file, "is protected by a passphrase; `openssl pkey` writes it without one");
  }
  if (!key || EVP_PKEY_get_id(key.get()) != EVP_PKEY_ED25519) {
    return refuse_file(Errc::bad_syntax, file,
                       "holds no private Ed25519 key in PEM form; `bloomwall-filter keygen` makes one");
  }
  return SigningKey(std::move(key));
}

Result<void> SigningKey::write(const fs::path& private_file, const fs::path& public_file) const {
  const std::string secret = pem_of(
      [this](BIO* to) { return PEM_write_bio_PKCS8PrivateKey(to, key_.get(), nullptr, nullptr, 0, nullptr, nullptr); });
  const std::string open_half = pem_of([this](BIO* to) { return PEM_write_bio_PUBKEY(to, key_.get()); });
  if (auto ok = write_new(private_file, 0600, secret); !ok) return ok;
  auto ok = write_new(public_file, 0644, open_half);
  if (!ok) unlink(private_file.c_str());  // one without the other is of no use
  return ok;
}

Signature SigningKey::sign(std::string_view message) const {
  Signature out{.algorithm = kEd25519, .parameter = 0, .key_id = id_, .bytes = {}};
  const DigestContextPtr context = new_context();
  std::size_t size = out.bytes.size();
  if (EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key_.get()) != 1 ||
      EVP_DigestSign(context.get(), out.bytes.data(), &size, octets(message), message.size()) != 1) {
    throw std::bad_alloc();  // the only way these calls fail with a whole key
  }
  return out;
}

Result<TrustedKeys> TrustedKeys::read(const fs::path& file) {
  const auto text = read_key_file(file);
  if (!text) return unexpected(text.error());
  const BioPtr bio = reader_of(*text);
  TrustedKeys out;
  for (auto block = next_block(bio.get()); block; block = next_block(bio.get())) {
    if (block->name != "PUBLIC KEY") continue;
    const unsigned char* bytes = block->bytes.get();
    KeyPtr key(d2i_PUBKEY(nullptr, &bytes, block->size));
    if (!key) ERR_clear_error();
    if (!key || EVP_PKEY_get_id(key.get()) != EVP_PKEY_ED25519) {
      return refuse_file(Errc::bad_syntax, file, "holds a public key that is not one of Ed25519");
    }
    if (out.keys_.size() == kMaxTrustedKeys) {
      return refuse_file(Errc::limit, file, fmt::format("more than {} public keys", kMaxTrustedKeys));
    }
    const KeyId id = id_of(key.get());
    out.keys_.push_back({.id = id, .key = std::move(key)});
  }
  // The end of the file is "no start line"; anything else is a block that can't be read.
  const bool at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  ERR_clear_error();
  if (!at_end) return refuse_file(Errc::bad_syntax, file, "is damaged: one of its blocks is not PEM");
  if (out.keys_.empty()) return refuse_file(Errc::bad_syntax, file, "holds no public key in PEM form");
  return out;
}

std::vector<KeyId> TrustedKeys::ids() const {
  std::vector<KeyId> out;
  for (const Key& key : keys_) out.push_back(key.id);
  return out;
}

Result<KeyId> TrustedKeys::check(std::span<const Signature> signatures, std::string_view message) const {
  std::optional<KeyId> wrong;
  for (const Signature& signature : signatures) {
    if (signature.algorithm != kEd25519 || signature.parameter != 0) continue;
    for (const Key& key : keys_) {
      if (key.id != signature.key_id) continue;
      if (holds(key.key.get(), signature, message)) return key.id;
      wrong = key.id;
    }
  }
  if (wrong) {
    return refuse_file(
        Errc::untrusted, {},
        fmt::format("the signature of key {} does not fit: changed after it was signed", to_hex(*wrong)));
  }
  const std::string others = names_of(signatures);
  if (others.empty()) return refuse_file(Errc::untrusted, {}, "is not signed");
  return refuse_file(Errc::untrusted, {}, fmt::format("signed by {} alone, which is not trusted here", others));
}

Result<KeyId> check_signature(const FilterFile& file, const TrustedKeys& trusted) {
  std::vector<Signature> signatures(file.header().signatures.begin(), file.header().signatures.end());
  if (const auto section = file.section_bytes(SectionType::signatures); !section.empty()) {
    const auto more = parse_signatures(section);
    if (!more) return refuse_file(more.error().code, file.path(), more.error().text());
    for (const LongSignature& s : *more) {
      if (s.algorithm != kEd25519 || s.bytes.size() != Signature{}.bytes.size()) continue;
      signatures.push_back({.algorithm = s.algorithm, .parameter = s.parameter, .key_id = s.key_id, .bytes = {}});
      std::copy(s.bytes.begin(), s.bytes.end(), signatures.back().bytes.begin());
    }
  }
  auto checked = trusted.check(signatures, signed_message(file));
  if (!checked) checked.error().where = file.path().string();
  return checked;
}

bool place_signature(std::array<Signature, kMaxSignatures>& signatures, const Signature& made) {
  const auto same = [&made](const Signature& s) { return s.algorithm == made.algorithm && s.key_id == made.key_id; };
  auto at = std::find_if(signatures.begin(), signatures.end(), same);
  if (at == signatures.end()) at = std::find(signatures.begin(), signatures.end(), Signature{});
  if (at == signatures.end()) return false;
  *at = made;
  return true;
}

namespace {

constexpr std::array<char, 4> kSignaturesMagic{'B', 'W', 'S', '1'};
constexpr std::size_t kHeadBytes = 8;
constexpr std::size_t kSignatureHeadBytes = 32;

constexpr std::size_t padded(std::size_t bytes) { return (bytes + 7) / 8 * 8; }

tl::unexpected<Error> bad_signatures(const char* what) {
  return unexpected(Error{Errc::bad_section, "signatures", what});
}

Result<LongSignature> take_record(std::span<const std::byte>& rest) {
  if (rest.size() < kSignatureHeadBytes) return bad_signatures("the section ends within a record");
  LongSignature out;
  out.algorithm = take<std::uint32_t>(rest);
  out.parameter = take<std::uint32_t>(rest);
  out.key_id = take<KeyId>(rest);
  const auto length = take<std::uint32_t>(rest);
  const auto zero = take<std::uint32_t>(rest);
  if (out.algorithm == 0 || zero != 0) return bad_signatures("a record without an algorithm, or with reserved bytes");
  if (length == 0 || length > kMaxSignatureBytes) return bad_signatures("a signature of impossible length");
  if (padded(length) > rest.size()) return bad_signatures("the section ends within a signature");
  const auto octets = rest.first(length);
  const auto padding = rest.first(padded(length)).subspan(length);
  if (std::any_of(padding.begin(), padding.end(), [](std::byte b) { return b != std::byte{0}; })) {
    return bad_signatures("reserved bytes are not zero");
  }
  out.bytes.resize(length);
  std::memcpy(out.bytes.data(), octets.data(), length);
  rest = rest.subspan(padded(length));
  return out;
}

}  // namespace

Result<std::vector<LongSignature>> parse_signatures(std::span<const std::byte> section) {
  if (section.size() < kHeadBytes ||
      std::memcmp(section.data(), kSignaturesMagic.data(), kSignaturesMagic.size()) != 0) {
    return bad_signatures("not a section of signatures");
  }
  auto rest = section.subspan(kSignaturesMagic.size());
  const auto count = take<std::uint32_t>(rest);
  if (count == 0 || count > kMaxLongSignatures) return bad_signatures("an impossible number of signatures");
  std::vector<LongSignature> out;
  for (std::uint32_t i = 0; i < count; ++i) {
    auto record = take_record(rest);
    if (!record) return unexpected(std::move(record).error());
    out.push_back(*std::move(record));
  }
  if (!rest.empty()) return bad_signatures("bytes follow the last signature");
  return out;
}

std::vector<std::byte> serialise_signatures(std::span<const LongSignature> signatures) {
  std::vector<std::byte> out;
  put(out, kSignaturesMagic);
  put(out, static_cast<std::uint32_t>(signatures.size()));
  for (const LongSignature& s : signatures) {
    put(out, s.algorithm);
    put(out, s.parameter);
    put(out, s.key_id);
    put(out, static_cast<std::uint32_t>(s.bytes.size()));
    put(out, std::uint32_t{0});
    const auto octets = std::as_bytes(std::span(s.bytes));
    out.insert(out.end(), octets.begin(), octets.end());
    out.resize(out.size() + padded(s.bytes.size()) - s.bytes.size());
  }
  return out;
}

}  // namespace bloomwall::filter
