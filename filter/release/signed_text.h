// A small text with signatures behind it, as a delta has them (policy/delta_signature.h): signed are a domain, which
// says what the text is, and the SHA-256 of the text. Several keys may sign, so that one can be replaced by another.
// Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "filter/file/signature.h"

namespace bloomwall::filter {

inline constexpr std::string_view kRingDomain = "bloomwall ring signature 1\n";
inline constexpr std::string_view kReleaseDomain = "bloomwall release signature 1\n";

// The text and a line for each key. At most kMaxSignatures keys, at least one; the text ends with a line feed.
std::string sign_text(std::string_view text, std::string_view domain, std::span<const SigningKey> keys);

struct OpenedText {
  std::string_view text;  // a part of what was given, without the signatures
  KeyId signer{};
};
// Only what is signed by one of the keys is given out. Errors: bad_syntax, limit, untrusted; each with `name`.
Result<OpenedText> open_text(std::string_view bytes, const std::string& name, std::string_view domain,
                             const TrustedKeys& trusted);
// The same for who has the private halves.
Result<OpenedText> open_text(std::string_view bytes, const std::string& name, std::string_view domain,
                             std::span<const SigningKey> keys);

}  // namespace bloomwall::filter
