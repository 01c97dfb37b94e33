// SPDX-License-Identifier: Apache-2.0
#include "filter/policy/delta_signature.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <optional>
#include <system_error>

#include "base/encoding.h"
#include "base/text.h"
#include "filter/file/leaves.h"
#include "filter/file/temp_file.h"
#include "filter/policy/delta.h"
#include "filter/policy/entry_text.h"

namespace bloomwall::filter {
namespace {

constexpr std::string_view kWord = "signature";
constexpr std::string_view kLineAndWord = "\nsignature";
constexpr std::string_view kAlgorithm = "ed25519";

// Where the first line that starts with the word begins; the end where there is none. Texts have millions of lines.
std::size_t first_signature(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view rest = text.substr(at);
    const bool is_word = rest.starts_with(kWord) &&
                         (rest.size() == kWord.size() || rest[kWord.size()] == ' ' || rest[kWord.size()] == '\n');
    if (is_word) return at;
    const void* const next = ::memmem(rest.data(), rest.size(), kLineAndWord.data(), kLineAndWord.size());
    if (next == nullptr) break;
    at = static_cast<std::size_t>(static_cast<const char*>(next) - text.data()) + 1;
  }
  return text.size();
}

bool parse_line(std::string_view line, Signature& out) {
  out.algorithm = kEd25519;
  if (line.find_first_of("\f\v\r") != std::string_view::npos)
    return false;  // blanks elsewhere, but not under a signature
  if (next_word(line) != kWord || next_word(line) != kAlgorithm) return false;
  const auto key_id = parse_hex<sizeof out.key_id>(next_word(line));
  const auto bytes = parse_hex<sizeof out.bytes>(next_word(line));
  if (!key_id || !bytes || !line.empty()) return false;
  out.key_id = *key_id;
  out.bytes = *bytes;
  return true;
}

}  // namespace

Result<SignedDelta> split_signatures(std::string_view delta, const std::string& name) {
  SignedDelta out;
  out.text = delta.substr(0, first_signature(delta));
  const std::size_t before = static_cast<std::size_t>(std::count(out.text.begin(), out.text.end(), '\n'));
  for (LineWalk lines(delta.substr(out.text.size())); lines.next();) {
    const auto refuse = [&](Errc code, std::string what) {
      return unexpected(Error{code, fmt::format("{}:{}", name, before + lines.number()), std::move(what)});
    };
    Signature signature;
    if (!parse_line(lines.line(), signature)) {
      return refuse(
          Errc::bad_syntax,
          "after a signature nothing but 'signature ed25519', a key id of 32 hex digits and a signature of 128");
    }
    if (out.signatures.size() == kMaxSignatures) {
      return refuse(Errc::limit, fmt::format("more than {} signatures", kMaxSignatures));
    }
    out.signatures.push_back(signature);
  }
  return out;
}

std::string signed_message(std::string_view delta_text) {
  const Sha256 digest = sha256(std::as_bytes(std::span(delta_text)));
  return signed_message(kDeltaDomain, std::as_bytes(std::span(digest)));
}

std::string signature_line(const Signature& signature) {
  return fmt::format("{} {} {} {}\n", kWord, kAlgorithm, to_hex(signature.key_id), to_hex(signature.bytes));
}

Result<std::string> sign_delta(std::string_view delta, const std::string& name, const SigningKey& key) {
  const auto parts = split_signatures(delta, name);
  if (!parts) return unexpected(parts.error());
  std::string out(parts->text);
  if (!out.ends_with('\n')) out += '\n';
  std::array<Signature, kMaxSignatures> signatures{};
  std::copy(parts->signatures.begin(), parts->signatures.end(), signatures.begin());
  if (!place_signature(signatures, key.sign(signed_message(out)))) {
    return unexpected(Error{Errc::limit, name, fmt::format("holds {} signatures already", kMaxSignatures)});
  }
  for (const Signature& signature : signatures) {
    if (signature != Signature{}) out += signature_line(signature);
  }
  return out;
}

std::vector<Error> sign_delta_file(const std::filesystem::path& file, const std::filesystem::path& target,
                                   const SigningKey& key, const FileAccess& access) {
  std::optional<FormerFile> former;
  std::error_code ignored;
  if (std::filesystem::equivalent(file, target, ignored)) former = FormerFile::of(file);
  const auto text = read_entry_text(file);
  if (!text) return {text.error()};
  auto parsed = Delta::parse(*text, file.string(), KeyMaker(SeriesKey{}), std::nullopt);
  if (!parsed) return std::move(parsed.error());
  const auto made = sign_delta(*text, file.string(), key);
  if (!made) return {made.error()};
  if (auto ok = check_entry_text_size(made->size(), target); !ok) return {ok.error()};
  if (auto ok = replace_file(target, *made, access, former); !ok) return {ok.error()};
  return {};
}

}  // namespace bloomwall::filter
