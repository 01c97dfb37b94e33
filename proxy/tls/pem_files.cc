// SPDX-License-Identifier: Apache-2.0
#include "proxy/tls/pem_files.h"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/pem.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <new>
#include <string_view>
#include <system_error>

#include "base/text.h"
#include "base/units.h"

namespace bloomwall::proxy {
namespace {

// The line where block number `index` (from 0) of this kind begins.
std::uint64_t line_of_block(std::string_view text, std::string_view kind, std::size_t index) {
  for (LineWalk lines(text); lines.next();) {
    if (!lines.line().starts_with("-----BEGIN ") || lines.line().find(kind) == std::string_view::npos) continue;
    if (index-- == 0) return lines.number();
  }
  return 1;
}

// OpenSSL ends a file without another block, or without any, by this error.
bool is_end_of_blocks() {
  const unsigned long code = ERR_peek_last_error();
  return ERR_GET_LIB(code) == ERR_LIB_PEM && ERR_GET_REASON(code) == PEM_R_NO_START_LINE;
}

// All blocks of a kind. The error: how many stand before the one that does not parse.
template <typename Owner, typename Read>
tl::expected<std::vector<Owner>, std::size_t> parse_blocks(std::string_view text, Read read) {
  if (text.size() > INT_MAX) return tl::unexpected(std::size_t{0});
  const BioPtr source(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  if (source == nullptr) throw std::bad_alloc();
  std::vector<Owner> out;
  ERR_clear_error();
  while (Owner one{read(source.get())}) out.push_back(std::move(one));
  const bool is_whole = is_end_of_blocks();
  ERR_clear_error();
  if (!is_whole) return tl::unexpected(out.size());
  return out;
}

template <typename Owner, typename Read>
tl::expected<std::vector<Owner>, std::string> read_blocks(const std::filesystem::path& file, std::size_t most,
                                                          std::string_view kind, Read read) {
  const auto text = read_text(file, most);
  if (!text) return tl::unexpected(text.error());
  auto blocks = parse_blocks<Owner>(*text, read);
  if (!blocks) {
    return tl::unexpected(fmt::format("{}:{}: this {} does not parse; remove it or write it again", file.string(),
                                      line_of_block(*text, kind, blocks.error()), kind));
  }
  if (blocks->empty()) return tl::unexpected(fmt::format("{}: holds no {} in PEM form", file.string(), kind));
  return *std::move(blocks);
}

X509* read_certificate(BIO* in) { return PEM_read_bio_X509_AUX(in, nullptr, nullptr, nullptr); }

}  // namespace

tl::expected<std::string, std::string> read_text(const std::filesystem::path& file, std::size_t most) {
  const auto failed = [&file](int error) {
    return tl::unexpected(fmt::format("{}: {}", file.string(), std::generic_category().message(error)));
  };
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored)) return failed(EISDIR);
  errno = 0;
  std::ifstream in(file, std::ios::binary);
  if (!in.is_open()) return failed(errno != 0 ? errno : EIO);
  std::string text;
  std::array<char, 16'384> piece;  // NOLINT: filled as far as it is used
  while (in.read(piece.data(), piece.size()) || in.gcount() > 0) {
    text.append(piece.data(), static_cast<std::size_t>(in.gcount()));
    if (text.size() <= most) continue;
    return tl::unexpected(fmt::format("{}: over {}: not what is expected here", file.string(), format_bytes(most)));
  }
  if (in.bad()) return failed(errno != 0 ? errno : EIO);
  return text;
}

tl::expected<std::vector<X509Ptr>, std::string> read_certificates(const std::filesystem::path& file, std::size_t most) {
  return read_blocks<X509Ptr>(file, most, "CERTIFICATE", read_certificate);
}

std::optional<std::vector<X509Ptr>> certificates_of(std::string_view pem) {
  auto blocks = parse_blocks<X509Ptr>(pem, read_certificate);
  return blocks ? std::optional(*std::move(blocks)) : std::nullopt;
}

tl::expected<std::vector<X509CrlPtr>, std::string> read_crls(const std::filesystem::path& file) {
  return read_blocks<X509CrlPtr>(file, kMostPemFile, "X509 CRL",
                                 [](BIO* in) { return PEM_read_bio_X509_CRL(in, nullptr, nullptr, nullptr); });
}

tl::expected<std::vector<X509Ptr>, std::string> read_system_roots() {
  const char* const named = std::getenv(X509_get_default_cert_file_env());
  const std::array<const char*, 4> places{named, X509_get_default_cert_file(), "/etc/ssl/certs/ca-certificates.crt",
                                          "/etc/pki/tls/certs/ca-bundle.crt"};
  for (const char* const place : places) {
    std::error_code ignored;
    if (place != nullptr && std::filesystem::exists(place, ignored)) return read_certificates(place);
  }
  return tl::unexpected(
      std::string("the system has no certificates of authorities: install ca-certificates, or name a "
                  "file by tls_inspection.verify.ca_file"));
}

}  // namespace bloomwall::proxy
