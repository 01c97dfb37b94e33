// SPDX-License-Identifier: Apache-2.0
#include "filter/file/signature_section.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "filter/file/byte_fields.h"

namespace bloomwall::filter {
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
