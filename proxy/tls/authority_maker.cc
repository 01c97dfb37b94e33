// SPDX-License-Identifier: Apache-2.0

#include "proxy/tls/authority_maker.h"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/pem.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <new>
#include <optional>
#include <span>

#include "base/encoding.h"
#include "base/text.h"
#include "base/units.h"
#include "proxy/tls/certificates.h"

namespace bloomwall::proxy {
namespace {

constexpr std::int64_t kSecondsADay = 86'400;
constexpr std::uint8_t kPermittedTag = 0xa0, kExcludedTag = 0xa1;

void have(bool done) {
  if (!done) throw std::bad_alloc();
}

bool is_network(std::string_view text) { return text.find('/') != std::string_view::npos; }

// The address and the mask of a network, as name constraints hold them; empty: the text is none.
std::string network_octets(std::string_view text) {
  const std::string address = address_octets(next_part(text, '/'));
  const auto bits = parse_integer(text);
  if (address.empty() || !bits || *bits > address.size() * 8) return {};
  std::string mask(address.size(), '\0');
  for (std::size_t i = 0; i < *bits; ++i) {
    mask[i / 8] = static_cast<char>(static_cast<unsigned char>(mask[i / 8]) | (0x80U >> (i % 8)));
  }
  for (std::size_t i = 0; i < mask.size(); ++i) {
    if ((address[i] & ~mask[i]) != 0) return {};  // bits beyond the mask: another network was meant
  }
  return address + mask;
}

std::string subtree(const std::string& limit) {
  return der(kDerSequence, is_network(limit) ? der(kDerAddress, network_octets(limit)) : der(kDerDnsName, limit));
}

std::string subtrees(const std::vector<std::string>& limits, std::uint8_t tag) {
  std::string all;
  for (const std::string& limit : limits) all += subtree(limit);
  return all.empty() ? all : der(tag, all);
}

// A constraint of names does not touch addresses: permitting some domains must permit nothing else.
std::string constraints_value(const NameLimits& names) {
  NameLimits limits = names;
  if (!limits.permitted.empty() && std::ranges::none_of(limits.permitted, is_network)) {
    limits.excluded.insert(limits.excluded.end(), {"0.0.0.0/0", "::/0"});
  }
  return der(kDerSequence, subtrees(limits.permitted, kPermittedTag) + subtrees(limits.excluded, kExcludedTag));
}

std::optional<std::string> fault_of(const AuthorityRequest& request) {
  constexpr std::size_t kMostName = 64;
  constexpr int kFewestDays = 8, kMostDays = 36'500;
  const std::string& name = request.organisation;
  if (name.empty() || name.size() > kMostName ||
      std::ranges::any_of(name, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; })) {
    return "the name must have 1 to 64 octets, and no control characters";
  }
  if (request.days < kFewestDays || request.days > kMostDays) return "a CA lives 8 to 36,500 days";
  return std::nullopt;
}

EvpKeyPtr new_key() {
  EvpKeyPtr key(EVP_EC_gen("P-256"));
  have(key != nullptr);
  return key;
}

struct Issued {
  X509Ptr certificate;
  EvpKeyPtr key;
};

// What a certificate is to be, beside what the request says.
struct Place {
  std::string_view word = {};      // "root" in the name of a root that signs no leaves
  bool signs_leaves = true;        // pathlen 0
  const Issued* issuer = nullptr;  // null: itself
};

void add_subject(X509* certificate, const AuthorityRequest& request, const Place& place, const std::string& key_id) {
  constexpr std::size_t kMostCommonName = 64, kKeyOctets = 4;
  const std::span<const std::uint8_t> id(reinterpret_cast<const std::uint8_t*>(key_id.data()), kKeyOctets);
  const std::string front = fmt::format("bloomwall {}", place.word), back = " " + to_hex(id);
  std::string host;
  for (const char c : request.host) host.push_back(c > ' ' && c < '\x7f' ? c : '-');
  host.resize(std::min(host.size(), kMostCommonName - front.size() - back.size()));
  X509_NAME* const subject = X509_get_subject_name(certificate);
  add_name_part(subject, NID_organizationName, request.organisation);
  add_name_part(subject, NID_commonName, front + host + back);
}

Issued issue(const AuthorityRequest& request, const Place& place) {
  Issued made{X509Ptr(X509_new()), new_key()};
  X509* const certificate = made.certificate.get();
  have(certificate != nullptr && X509_set_version(certificate, X509_VERSION_3) == 1 &&
       X509_set_pubkey(certificate, made.key.get()) == 1);
  set_random_serial(certificate);
  constexpr std::int64_t kBackdated = 7 * kSecondsADay;
  set_validity(certificate, request.now - kBackdated, request.now + request.days * kSecondsADay);
  const std::string key_id = key_identifier(made.key.get());
  add_subject(certificate, request, place, key_id);
  constexpr std::string_view kTrue("\x01\x01\xff", 3), kTruePathlen0("\x01\x01\xff\x02\x01\x00", 6);
  constexpr std::string_view kCertSignCrlSign("\x03\x02\x01\x06", 4);
  add_extension(certificate, make_extension(NID_basic_constraints, true,
                                            der(kDerSequence, place.signs_leaves ? kTruePathlen0 : kTrue)));
  add_extension(certificate, make_extension(NID_key_usage, true, kCertSignCrlSign));
  add_extension(certificate, make_extension(NID_subject_key_identifier, false, der(kDerOctetString, key_id)));
  const Issued& issuer = place.issuer != nullptr ? *place.issuer : made;
  if (place.issuer != nullptr) {
    const std::string above = issuer_key_octets(issuer.certificate.get());
    add_extension(certificate,
                  make_extension(NID_authority_key_identifier, false, der(kDerSequence, der(0x80, above))));
  }
  if (!request.names.permitted.empty() || !request.names.excluded.empty()) {
    add_extension(certificate, make_extension(NID_name_constraints, true, constraints_value(request.names)));
  }
  have(X509_set_issuer_name(certificate, X509_get_subject_name(issuer.certificate.get())) == 1 &&
       X509_sign(certificate, issuer.key.get(), EVP_sha256()) > 0);
  return made;
}

Secret pem_of_key(const EVP_PKEY* key, std::string_view passphrase) {
  const BioPtr memory(BIO_new(BIO_s_secmem()));
  have(memory != nullptr);
  const EVP_CIPHER* const cipher = passphrase.empty() ? nullptr : EVP_aes_256_cbc();
  have(PEM_write_bio_PKCS8PrivateKey(memory.get(), key, cipher, passphrase.empty() ? nullptr : passphrase.data(),
                                     static_cast<int>(passphrase.size()), nullptr, nullptr) == 1);
  char* data = nullptr;
  const long size = BIO_get_mem_data(memory.get(), &data);
  return Secret(std::string(data, static_cast<std::size_t>(size)));
}

}  // namespace

tl::expected<NameLimits, std::string> parse_name_limits(std::string_view text) {
  NameLimits limits;
  for (LineWalk lines(text); lines.next();) {
    std::string_view rest = without_comment(lines.line());
    if (rest.empty()) continue;
    const std::string_view word = next_word(rest);
    std::string value(next_word(rest));
    make_lower(value);
    const auto refuse = [&](const char* what) {
      return tl::unexpected(fmt::format("line {}: {}", lines.number(), what));
    };
    if ((word != "permitted" && word != "excluded") || value.empty() || !rest.empty()) {
      return refuse("\"permitted DOMAIN\", \"excluded DOMAIN\", or a network instead of the domain, is needed");
    }
    if (is_network(value) ? network_octets(value).empty() : !is_certificate_name(value)) {
      return refuse("neither a domain (as DNS has it: xn--...) nor a network such as 10.0.0.0/8");
    }
    (word == "permitted" ? limits.permitted : limits.excluded).push_back(std::move(value));
  }
  if (!limits.permitted.empty() && std::ranges::all_of(limits.permitted, is_network)) {
    return tl::unexpected(std::string("only networks are permitted: permit a domain as well, or all domains would be"));
  }
  return limits;
}

tl::expected<MadeAuthority, std::string> make_authority(const AuthorityRequest& request) {
  if (const auto fault = fault_of(request)) return tl::unexpected(*fault);
  ERR_clear_error();
  MadeAuthority out;
  if (!request.with_intermediate) {
    const Issued made = issue(request, {});
    out.certificate = pem_of(made.certificate.get());
    out.key = pem_of_key(made.key.get(), request.passphrase);
    return out;
  }
  const Issued root = issue(request, {.word = "root ", .signs_leaves = false});
  const Issued made = issue(request, {.issuer = &root});
  out.root_certificate = pem_of(root.certificate.get());
  out.root_key = pem_of_key(root.key.get(), request.passphrase);
  out.certificate = pem_of(made.certificate.get()) + out.root_certificate;
  out.key = pem_of_key(made.key.get(), request.passphrase);
  return out;
}

namespace {

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
        uuid, xml(subject_text(one.certificate.get())), to_base64(der));
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
