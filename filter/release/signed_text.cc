// SPDX-License-Identifier: Apache-2.0
#include "filter/release/signed_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/encoding.h"
#include "filter/file/leaves.h"
#include "filter/policy/delta_signature.h"

namespace bloomwall::filter {
namespace {

// Signatures have one spelling as well, so that nothing of what is taken could have been changed.
Result<SignedDelta> split(std::string_view bytes, const std::string& name) {
  auto parts = split_signatures(bytes, name);
  if (!parts) return parts;
  std::string written;
  for (const Signature& signature : parts->signatures) written += signature_line(signature);
  if (bytes.substr(parts->text.size()) == written) return parts;
  return unexpected(Error{Errc::bad_syntax, name, "its signatures are not spelt as they are written"});
}

std::string message_of(std::string_view text, std::string_view domain) {
  const Sha256 digest = sha256(std::as_bytes(std::span(text)));
  return signed_message(domain, std::as_bytes(std::span(digest)));
}

}  // namespace

std::string sign_text(std::string_view text, std::string_view domain, std::span<const SigningKey> keys) {
  const std::string message = message_of(text, domain);
  std::string out(text);
  for (const SigningKey& key : keys.first(std::min(keys.size(), kMaxSignatures))) {
    out += signature_line(key.sign(message));
  }
  return out;
}

Result<OpenedText> open_text(std::string_view bytes, const std::string& name, std::string_view domain,
                             const TrustedKeys& trusted) {
  const auto parts = split(bytes, name);
  if (!parts) return unexpected(parts.error());
  const auto signer = trusted.check(parts->signatures, message_of(parts->text, domain));
  if (!signer) return unexpected(Error{signer.error().code, name, signer.error().what});
  return OpenedText{.text = parts->text, .signer = *signer};
}

Result<OpenedText> open_text(std::string_view bytes, const std::string& name, std::string_view domain,
                             std::span<const SigningKey> keys) {
  const auto parts = split(bytes, name);
  if (!parts) return unexpected(parts.error());
  const std::string message = message_of(parts->text, domain);
  std::string wanted;
  for (const SigningKey& key : keys) {  // Ed25519 signs the same text in one way only
    if (std::ranges::find(parts->signatures, key.sign(message)) != parts->signatures.end()) {
      return OpenedText{.text = parts->text, .signer = key.id()};
    }
    wanted += (wanted.empty() ? "" : ", ") + to_hex(key.id());
  }
  return unexpected(
      Error{Errc::untrusted, name,
            fmt::format("bears no signature of the key {}: it was changed, or signed by another; to change "
                        "keys, sign with both for a while (--key OLD --key NEW)",
                        wanted)});
}

}  // namespace bloomwall::filter
