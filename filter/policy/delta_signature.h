// The signatures at the end of a delta: lines of their own, after everything else, at most kMaxSignatures of them.
//   signature ed25519 00112233445566778899aabbccddeeff <128 hex digits>     key id, signature
// Signed is kDeltaDomain and the SHA-256 of every byte before the first of them; the content id in the first line binds
// the text to one filter. The lines before stay what they are, so that several may sign one after the other.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "filter/file/signature.h"

namespace bloomwall::filter {

struct SignedDelta {
  std::string_view text;  // what is signed
  std::vector<Signature> signatures;
};
// Errors: bad_syntax, limit; each with "name:line".
Result<SignedDelta> split_signatures(std::string_view delta, const std::string& name);

// The octets that a signature of this text is over.
std::string signed_message(std::string_view delta_text);
std::string signature_line(const Signature& signature);  // ends with LF

// The whole text with one signature more (in place of an earlier one by the same key). Errors: those of
// split_signatures, and limit. `delta` must end with a line feed or a signature, and be one that Delta::parse accepts.
Result<std::string> sign_delta(std::string_view delta, const std::string& name, const SigningKey& key);

// Signs the file in its place, whole or not at all; only a delta that could be used. Errors: all of its errors.
std::vector<Error> sign_delta_file(const std::filesystem::path& file, const std::filesystem::path& target,
                                   const SigningKey& key, const FileAccess& access = {});

}  // namespace bloomwall::filter
