// SPDX-License-Identifier: Apache-2.0
#include "filter/file/signature.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <sys/stat.h>

#include <cstring>

#include "base/encoding.h"
#include "filter/file/leaves.h"
#include "tests/filter/file/sample_filter.h"

namespace bloomwall::filter {
namespace {

using testing::HasSubstr;
using testing_support::read_bytes;
using testing_support::TempDir;
using testing_support::write_bytes;
using testing_support::write_sample;

void write_text(const std::filesystem::path& path, std::string_view text) {
  write_bytes(path, std::as_bytes(std::span(text)));
}
std::string read_text(const std::filesystem::path& path) {
  const auto bytes = read_bytes(path);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
unsigned mode_of(const std::filesystem::path& path) {
  struct stat status{};
  return stat(path.c_str(), &status) == 0 ? status.st_mode & 07777U : 0;
}

// RFC 8032, section 7.1, test 1, in PKCS#8: seed 9d61b19d...7f60, public key d75a9801...511a.
constexpr const char* kRfcPrivate =
    "-----BEGIN PRIVATE KEY-----\n"
    "MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n"
    "-----END PRIVATE KEY-----\n";

class Signing : public testing::Test {
 protected:
  Signing() {
    EXPECT_TRUE(key_.write(dir_ / "a.key", dir_ / "a.pub"));
    EXPECT_TRUE(other_.write(dir_ / "b.key", dir_ / "b.pub"));
    write_sample(file_);
  }
  TrustedKeys trusted(const std::string& name) const { return *TrustedKeys::read(dir_ / name); }
  static Result<KeyId> check(const std::filesystem::path& file, const TrustedKeys& keys) {
    const auto opened = FilterFile::open(file);
    if (!opened) return tl::unexpected(opened.error());
    return check_signature(**opened, keys);
  }
  TempDir dir_;
  const std::filesystem::path file_ = dir_ / "f.bwf";
  const SigningKey key_ = SigningKey::generate(), other_ = SigningKey::generate();
};

TEST_F(Signing, IsEd25519AsPublished) {
  write_text(dir_ / "rfc.key", kRfcPrivate);
  const auto key = SigningKey::read(dir_ / "rfc.key");
  ASSERT_TRUE(key) << key.error().text();
  const Signature made = key->sign("");
  EXPECT_EQ(
      to_hex(made.bytes),
      "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe"
      "24655141438e7a100b");
  EXPECT_EQ(made.algorithm, kEd25519);
  // The first 16 bytes of the SHA-256 of d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a.
  EXPECT_EQ(to_hex(key->id()), "21fe31dfa154a261626bf854046fd227");
}

TEST_F(Signing, KeysSurviveTheirFilesAndTheirModesAreRight) {
  EXPECT_EQ(mode_of(dir_ / "a.key"), 0600U);
  EXPECT_EQ(mode_of(dir_ / "a.pub"), 0644U);
  const auto again = SigningKey::read(dir_ / "a.key");
  ASSERT_TRUE(again);
  EXPECT_EQ(again->id(), key_.id());
  EXPECT_EQ(trusted("a.pub").ids(), std::vector<KeyId>{key_.id()});
  EXPECT_NE(key_.id(), other_.id());
}

TEST_F(Signing, KeysAreNeverWrittenOver) {
  const std::string before = read_text(dir_ / "a.key");
  EXPECT_EQ(other_.write(dir_ / "a.key", dir_ / "new.pub").error().code, Errc::usage);
  EXPECT_EQ(other_.write(dir_ / "new.key", dir_ / "a.pub").error().code, Errc::usage);
  EXPECT_EQ(read_text(dir_ / "a.key"), before);
  EXPECT_FALSE(std::filesystem::exists(dir_ / "new.pub"));
  EXPECT_FALSE(std::filesystem::exists(dir_ / "new.key")) << "half a pair";
}

std::string pem_of_rsa() {
  const KeyPtr key(EVP_PKEY_Q_keygen(nullptr, nullptr, "RSA", std::size_t{2048}));
  const BioPtr bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_PUBKEY(bio.get(), key.get());
  char* text = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &text);
  return {text, static_cast<std::size_t>(size)};
}

TEST_F(Signing, FilesWithoutAKeySayWhatIsWrong) {
  const auto refused = [&](std::string_view content) {
    write_text(dir_ / "x", content);
    const auto keys = TrustedKeys::read(dir_ / "x");
    return keys ? "taken" : keys.error().text();
  };
  const std::string mine = read_text(dir_ / "a.pub");
  EXPECT_THAT(refused(""), HasSubstr("no public key"));
  EXPECT_THAT(refused(read_text(dir_ / "a.key")), HasSubstr("no public key"));
  EXPECT_THAT(refused(pem_of_rsa()), HasSubstr("not one of Ed25519"));
  EXPECT_THAT(refused("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"), HasSubstr("not one of Ed25519"));
  EXPECT_THAT(refused("-----BEGIN PUBLIC KEY-----\nAA!A\n-----END PUBLIC KEY-----\n"), HasSubstr("not PEM"));
  EXPECT_THAT(refused(mine + "-----BEGIN PUBLIC KEY-----\nAAAA\n"), HasSubstr("not PEM"));
  EXPECT_THAT(refused(mine + "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"),
              HasSubstr("not one of Ed25519"));
  EXPECT_THAT(refused(std::string(70'000, 'x')), HasSubstr("over 64 KiB"));
  std::string many;
  for (std::size_t i = 0; i <= kMaxTrustedKeys; ++i) many += mine;
  EXPECT_THAT(refused(many), HasSubstr("more than 16"));
  EXPECT_EQ(TrustedKeys::read(dir_ / "none").error().code, Errc::io);
  EXPECT_EQ(TrustedKeys::read(dir_.path()).error().code, Errc::io);
  EXPECT_EQ(SigningKey::read(dir_ / "a.pub").error().code, Errc::bad_syntax);
  EXPECT_EQ(SigningKey::read(dir_ / "none").error().code, Errc::io);
}

TEST_F(Signing, AProtectedKeyIsRefusedWithoutAsking) {
  const BioPtr bio(BIO_new_file((dir_ / "p.key").c_str(), "w"));
  const KeyPtr key(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"));
  ASSERT_EQ(PEM_write_bio_PKCS8PrivateKey(bio.get(), key.get(), EVP_aes_128_cbc(), "pass", 4, nullptr, nullptr), 1);
  ASSERT_EQ(BIO_flush(bio.get()), 1);
  const auto read = SigningKey::read(dir_ / "p.key");
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().text(), HasSubstr("passphrase"));
}

HeaderBytes header_of(const std::vector<std::byte>& file) {
  HeaderBytes out{};
  std::copy_n(file.begin(), kHeaderBytes, out.begin());
  return out;
}

TEST_F(Signing, ASignedFilterIsTrustedAndOtherwiseTheSame) {
  ASSERT_EQ(chmod(file_.c_str(), 0604), 0);
  const auto mode = mode_of(file_);
  const auto before = read_bytes(file_);
  ASSERT_TRUE(sign_filter(file_, file_, key_));
  const auto after = read_bytes(file_);
  ASSERT_EQ(after.size(), before.size());
  for (std::size_t i = 0; i < before.size(); ++i) {
    const bool may_differ = (i >= 3328 && i < 3328 + 88) || (i >= 4080 && i < 4096);
    ASSERT_TRUE(may_differ || before[i] == after[i]) << i;
  }
  const auto checked = check(file_, trusted("a.pub"));
  ASSERT_TRUE(checked) << checked.error().text();
  EXPECT_EQ(*checked, key_.id());
  const auto opened = FilterFile::open(file_);
  EXPECT_TRUE((*opened)->verify(FilterFile::Depth::tampering));
  EXPECT_EQ(mode_of(file_), mode) << "that of the file it replaces";
  EXPECT_EQ(dir_.entries(), 5U) << "no temporary file stays";
}

TEST_F(Signing, TheOriginalStaysWhereAnotherTargetIsGiven) {
  const auto before = read_bytes(file_);
  const auto mapped = FilterFile::open(file_);
  ASSERT_TRUE(sign_filter(file_, dir_ / "signed.bwf", key_));
  EXPECT_EQ(read_bytes(file_), before);
  EXPECT_TRUE(check(dir_ / "signed.bwf", trusted("a.pub")));
  EXPECT_EQ(check(file_, trusted("a.pub")).error().what, "is not signed");
}

TEST_F(Signing, SeveralMaySignAndSigningAgainTakesThePlace) {
  ASSERT_TRUE(sign_filter(file_, file_, key_));
  ASSERT_TRUE(sign_filter(file_, file_, other_));
  const auto two = read_bytes(file_);
  EXPECT_TRUE(check(file_, trusted("a.pub")));
  EXPECT_TRUE(check(file_, trusted("b.pub")));
  ASSERT_TRUE(sign_filter(file_, file_, key_));
  EXPECT_EQ(read_bytes(file_), two) << "the same key signs the same bytes the same way";
  for (int i = 2; i < 8; ++i) ASSERT_TRUE(sign_filter(file_, file_, SigningKey::generate())) << i;
  ASSERT_TRUE(sign_filter(file_, file_, other_)) << "it has its place";
  EXPECT_EQ(read_bytes(file_).size(), two.size());
}

// The ninth goes into a section of its own, and those that stood before still hold.
TEST_F(Signing, MoreSignersThanSlotsTakeASection) {
  ASSERT_TRUE(sign_filter(file_, file_, key_));
  for (int i = 1; i < 8; ++i) ASSERT_TRUE(sign_filter(file_, file_, SigningKey::generate())) << i;
  const auto eight = read_bytes(file_);
  ASSERT_TRUE(sign_filter(file_, file_, other_));
  const auto nine = read_bytes(file_);
  EXPECT_GT(nine.size(), eight.size());
  for (const char* key : {"a.pub", "b.pub"}) EXPECT_TRUE(check(file_, trusted(key))) << key;
  const auto opened = FilterFile::open(file_);
  ASSERT_TRUE(opened) << opened.error().text();
  EXPECT_TRUE((*opened)->verify(FilterFile::Depth::tampering));
  ASSERT_TRUE(sign_filter(file_, file_, other_));
  EXPECT_EQ(read_bytes(file_), nine) << "the same key has its place";
  const HeaderBytes bare = without_signature_section(header_of(nine));
  EXPECT_TRUE(std::equal(bare.begin(), bare.end(), eight.begin())) << "without it the header is as it was";
  for (std::size_t i = 8; i < 8 + kMaxLongSignatures - 1; ++i) {
    ASSERT_TRUE(sign_filter(file_, file_, SigningKey::generate())) << i;
  }
  EXPECT_EQ(sign_filter(file_, file_, SigningKey::generate()).error().code, Errc::limit);
}

// A signature of another algorithm and any length, put there by somebody else: passed over, kept, and no part of what
// is signed.
TEST_F(Signing, LongSignaturesOfOtherAlgorithmsArePassedOver) {
  ASSERT_TRUE(sign_filter(file_, file_, key_));
  const auto plain = read_bytes(file_);
  std::vector<LongSignature> long_ones{
      {.algorithm = 77, .parameter = 3, .key_id = {1}, .bytes = std::vector<std::uint8_t>(4627, 9)},
      {.algorithm = kEd25519, .parameter = 0, .key_id = key_.id(), .bytes = {1, 2, 3}}};
  const auto section = serialise_signatures(long_ones);
  const Roots roots = roots_of(digest_leaves(section));
  const std::uint64_t offset = place_after(plain.size(), section.size());
  const HeaderBytes head = with_signature_section(header_of(plain), {.type = SectionType::signatures,
                                                                     .offset = offset,
                                                                     .length = section.size(),
                                                                     .xxh_root = roots.xxh,
                                                                     .sha_root = roots.sha});
  auto bytes = plain;
  bytes.resize(offset);
  bytes.insert(bytes.end(), section.begin(), section.end());
  std::copy(head.begin(), head.end(), bytes.begin());
  write_bytes(file_, bytes);
  const auto checked = check(file_, trusted("a.pub"));
  EXPECT_TRUE(checked) << checked.error().text();
  ASSERT_TRUE(sign_filter(file_, file_, other_));
  const auto opened = FilterFile::open(file_);
  ASSERT_TRUE(opened) << opened.error().text();
  EXPECT_TRUE((*opened)->verify(FilterFile::Depth::tampering));
  EXPECT_EQ(parse_signatures((*opened)->section_bytes(SectionType::signatures)), long_ones);
  EXPECT_TRUE(check(file_, trusted("b.pub")));
  EXPECT_EQ(check(file_, trusted("b.pub")).value_or(KeyId{}), other_.id());
}

TEST(SignatureSection, HostileBytesAreRefused) {
  const std::vector<LongSignature> two{{.algorithm = 7, .parameter = 1, .key_id = {1, 2}, .bytes = {1, 2, 3}},
                                       {.algorithm = 9, .parameter = 0, .key_id = {}, .bytes = {4}}};
  const auto good = serialise_signatures(two);
  ASSERT_EQ(parse_signatures(good), two);
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(parse_signatures(std::span(good).first(size))) << size;
  }
  struct Case {
    const char* name;
    std::size_t at;
    std::uint8_t value;
  };
  for (const Case& c : {Case{"magic", 3, '2'}, Case{"no signatures", 4, 0}, Case{"fewer than there are", 4, 1},
                        Case{"more than there are", 4, 3}, Case{"algorithm 0", 8, 0}, Case{"length 0", 32, 0},
                        Case{"longer than the section", 32, 200}, Case{"longer than is allowed", 34, 2},
                        Case{"reserved", 36, 1}, Case{"padding", 43, 1}}) {
    auto bytes = good;
    bytes[c.at] = std::byte{c.value};
    EXPECT_FALSE(parse_signatures(bytes)) << c.name;
  }
  auto longer = good;
  longer.resize(longer.size() + 8);
  EXPECT_FALSE(parse_signatures(longer));
}

TEST_F(Signing, AnyKeyOfTheFileWillDo) {
  ASSERT_TRUE(sign_filter(file_, file_, other_));
  write_text(dir_ / "both.pub", "a comment\n" + read_text(dir_ / "a.pub") + "and\n" + read_text(dir_ / "b.pub"));
  const auto checked = check(file_, trusted("both.pub"));
  ASSERT_TRUE(checked) << checked.error().text();
  EXPECT_EQ(*checked, other_.id());
}

TEST_F(Signing, RefusalsSayWhy) {
  EXPECT_EQ(check(file_, trusted("a.pub")).error().text(), file_.string() + ": is not signed");
  ASSERT_TRUE(sign_filter(file_, file_, other_));
  const auto foreign = check(file_, trusted("a.pub"));
  ASSERT_FALSE(foreign);
  EXPECT_EQ(foreign.error().code, Errc::untrusted);
  EXPECT_THAT(foreign.error().text(), testing::AllOf(HasSubstr(to_hex(other_.id())), HasSubstr("not trusted here")));
}

// Whoever alters a signed header makes its digest fit, too; the signature finds it out, wherever it was.
TEST_F(Signing, EveryAlteredByteOfTheHeaderIsFoundOut) {
  ASSERT_TRUE(sign_filter(file_, file_, key_));
  const auto keys = trusted("a.pub");
  const auto bytes = read_bytes(file_);
  HeaderBytes header{};
  std::size_t found = 0;
  for (const std::size_t at : {40U, 56U, 104U, 112U, 120U, 176U, 184U, 560U, 568U, 584U, 760U, 1024U + 40, 1024U + 56,
                               776U, 1024U + 128 + 56, 3328U + 8, 3328U + 24, 3328U + 87}) {
    std::copy_n(bytes.begin(), kHeaderBytes, header.begin());
    header[at] ^= std::byte{1};
    const Digest128 digest = header_digest(header);
    std::memcpy(header.data() + kDigestOffset, digest.data(), digest.size());
    auto altered = bytes;
    std::copy(header.begin(), header.end(), altered.begin());
    write_bytes(dir_ / "altered.bwf", altered);
    const auto checked = check(dir_ / "altered.bwf", keys);
    ASSERT_FALSE(checked) << at;
    EXPECT_EQ(checked.error().code, Errc::untrusted) << at << " " << checked.error().text();
    ++found;
  }
  EXPECT_EQ(found, 18U);
}

TEST_F(Signing, WhatIsDamagedIsNotSigned) {
  auto bytes = read_bytes(file_);
  bytes[bytes.size() - 1] ^= std::byte{1};
  write_bytes(file_, bytes);
  EXPECT_EQ(sign_filter(file_, file_, key_).error().code, Errc::bad_digest);
  EXPECT_EQ(read_bytes(file_), bytes);
}

TEST_F(Signing, SignaturesOfOtherAlgorithmsArePassedOver) {
  std::array<Signature, kMaxSignatures> signatures{};
  signatures[0] = {.algorithm = 99, .parameter = 0, .key_id = key_.id(), .bytes = {1}};
  ASSERT_TRUE(place_signature(signatures, key_.sign("text")));
  EXPECT_EQ(signatures[0].algorithm, 99U);
  EXPECT_TRUE(trusted("a.pub").check(signatures, "text"));
  EXPECT_EQ(trusted("a.pub").check(signatures, "texT").error().code, Errc::untrusted);
  EXPECT_EQ(trusted("a.pub").check(std::span(signatures).first(1), "text").error().what, "is not signed");
}

}  // namespace
}  // namespace bloomwall::filter
