// SPDX-License-Identifier: Apache-2.0
#include "proxy/tls/authority_export.h"

#include <fmt/format.h>

#include <array>
#include <fstream>
#include <iterator>
#include <span>

#include "base/text.h"

namespace bloomwall::proxy {
namespace {

std::string base64(std::string_view octets) {
  std::string out((octets.size() + 2) / 3 * 4 + 1, '\0');
  const int size =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                      reinterpret_cast<const unsigned char*>(octets.data()), static_cast<int>(octets.size()));
  out.resize(static_cast<std::size_t>(size));
  return out;
}

// A UUID of version 8 (RFC 9562): the first octets of a digest.
std::string uuid_of(const Sha256Octets& digest) {
  auto octets = digest;
  octets[6] = static_cast<std::uint8_t>(0x80 | (octets[6] & 0x0f));
  octets[8] = static_cast<std::uint8_t>(0x80 | (octets[8] & 0x3f));
  const std::string hex = to_hex(std::span(octets).first(16));
  return fmt::format("{}-{}-{}-{}-{}", hex.substr(0, 8), hex.substr(8, 4), hex.substr(12, 4), hex.substr(16, 4),
                     hex.substr(20));
}

std::string xml(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      default:
        out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return out;
}

constexpr const char* kProfileHead = R"(<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>PayloadContent</key>
  <array>
)";

}  // namespace

std::string published_pem(const std::vector<PublishedAuthority>& published) {
  std::string out;
  for (const PublishedAuthority& one : published) {
    const X509* const certificate = one.certificate.get();
    out += fmt::format("# {}: {}\n# SHA-256 {}\n{}", to_string(one.role), subject_text(certificate),
                       fingerprint_text(fingerprint_of(certificate)), pem_of(certificate));
  }
  return out;
}

std::string mobile_profile(const std::vector<PublishedAuthority>& published) {
  std::string out = kProfileHead, all;
  for (const PublishedAuthority& one : published) {
    const std::string der = der_of(one.certificate.get());
    const std::string uuid = uuid_of(sha256_of(der));
    out += fmt::format(
        "    <dict>\n"
        "      <key>PayloadType</key><string>com.apple.security.root</string>\n"
        "      <key>PayloadVersion</key><integer>1</integer>\n"
        "      <key>PayloadIdentifier</key><string>bloomwall.ca.{0}</string>\n"
        "      <key>PayloadUUID</key><string>{0}</string>\n"
        "      <key>PayloadDisplayName</key><string>{1}</string>\n"
        "      <key>PayloadContent</key><data>{2}</data>\n"
        "    </dict>\n",
        uuid, xml(subject_text(one.certificate.get())), base64(der));
    all += uuid;
  }
  out += fmt::format(
      "  </array>\n"
      "  <key>PayloadType</key><string>Configuration</string>\n"
      "  <key>PayloadVersion</key><integer>1</integer>\n"
      "  <key>PayloadIdentifier</key><string>bloomwall.ca</string>\n"
      "  <key>PayloadUUID</key><string>{}</string>\n"
      "  <key>PayloadDisplayName</key><string>Web filter certificate</string>\n"
      "  <key>PayloadDescription</key><string>Lets the web filter of this network show its pages and check encrypted "
      "ones.</string>\n"
      "</dict>\n</plist>\n",
      uuid_of(sha256_of(all)));
  return out;
}

tl::expected<std::string, std::string> bundle_with_system_roots(const std::vector<PublishedAuthority>& published,
                                                                const SystemRoots& roots) {
  // Debian, Fedora, openSUSE, Alpine and others.
  std::vector<std::filesystem::path> places{"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
                                            "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"};
  if (!roots.bundle.empty()) places = {roots.bundle};
  for (const auto& place : places) {
    std::ifstream file(place, std::ios::binary);
    std::string text{std::istreambuf_iterator<char>(file), {}};
    if (!file.is_open() || text.find("-----BEGIN CERTIFICATE-----") == std::string::npos) continue;
    if (!text.ends_with('\n')) text.push_back('\n');
    return text + published_pem(published);
  }
  return tl::unexpected(fmt::format("{}: no roots of the system to put the CA behind", places.front().string()));
}

}  // namespace bloomwall::proxy
