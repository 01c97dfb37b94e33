// SPDX-License-Identifier: Apache-2.0

#include "filter/file/page_sums.h"

#include <fmt/format.h>

#ifdef __aarch64__
#include <sys/auxv.h>
#endif

#include <array>
#include <cstring>

namespace bloomwall::filter {

std::vector<std::uint32_t> page_sums_of(std::span<const std::byte> pages) {
  std::vector<std::uint32_t> out;
  out.reserve(pages.size() / kPageBytes);
  for (std::size_t at = 0; at + kPageBytes <= pages.size(); at += kPageBytes) {
    out.push_back(crc32c(pages.subspan(at, kPageBytes)));
  }
  return out;
}

Result<PageSums> PageSums::parse(std::span<const std::byte> section, const Header& header) {
  PageSums out;
  std::uint64_t pages = 0;
  for (const SectionType type : {SectionType::hosts, SectionType::paths, SectionType::raw}) {
    const SectionEntry* const entry = header.find(type);
    if (entry == nullptr) continue;
    out.ranges_.push_back({.begin = entry->offset, .end = entry->offset + entry->length, .first = pages});
    pages += entry->length / kPageBytes;
  }
  if (section.size() % sizeof(std::uint32_t) != 0 || section.size() / sizeof(std::uint32_t) != pages) {
    return unexpected(
        Error{Errc::bad_section, "page sums", fmt::format("{} bytes for {} pages", section.size(), pages)});
  }
  out.sums_.resize(pages);
  if (pages != 0) std::memcpy(out.sums_.data(), section.data(), section.size());
  return out;
}

bool PageSums::matches(std::uint64_t offset, std::span<const std::byte> page) const {
  for (const Range& range : ranges_) {
    if (offset < range.begin || offset >= range.end) continue;
    return crc32c(page) == sums_[range.first + (offset - range.begin) / kPageBytes];
  }
  return true;
}

namespace {

constexpr std::uint32_t kReflected = 0x82F63B78;
constexpr std::size_t kWord = sizeof(std::uint64_t);

// tables[0][b]: what octet b does to the sum; tables[i][b]: the same with i zero octets behind it.
using Tables = std::array<std::array<std::uint32_t, 256>, kWord>;
constexpr Tables make_tables() {
  Tables out{};
  for (std::uint32_t octet = 0; octet < 256; ++octet) {
    std::uint32_t sum = octet;
    for (int bit = 0; bit < 8; ++bit) sum = (sum >> 1) ^ ((sum & 1) != 0 ? kReflected : 0);
    out[0][octet] = sum;
  }
  for (std::size_t i = 1; i < kWord; ++i) {
    for (std::size_t octet = 0; octet < 256; ++octet) {
      const std::uint32_t before = out[i - 1][octet];
      out[i][octet] = (before >> 8) ^ out[0][before & 0xFF];
    }
  }
  return out;
}
constexpr Tables kTables = make_tables();

std::uint64_t word_at(const std::byte* at) {
  std::uint64_t word = 0;
  std::memcpy(&word, at, kWord);
  return word;
}

// The processor's own instruction: one for eight octets, one for one, and whether it has them.
#if defined(__x86_64__)
#define BLOOMWALL_CRC_TARGET __attribute__((target("sse4.2")))
using Sum = std::uint64_t;  // as the instruction has it: no conversion in the loop
BLOOMWALL_CRC_TARGET inline Sum crc_with_word(Sum sum, std::uint64_t word) { return __builtin_ia32_crc32di(sum, word); }
BLOOMWALL_CRC_TARGET inline Sum crc_with_octet(Sum sum, std::uint8_t octet) {
  return __builtin_ia32_crc32qi(static_cast<std::uint32_t>(sum), octet);
}
bool has_crc_instruction() { return __builtin_cpu_supports("sse4.2") != 0; }
#elif defined(__aarch64__)
#define BLOOMWALL_CRC_TARGET __attribute__((target("+crc")))
using Sum = std::uint32_t;
BLOOMWALL_CRC_TARGET inline Sum crc_with_word(Sum sum, std::uint64_t word) {
  asm("crc32cx %w0, %w0, %1" : "+r"(sum) : "r"(word));
  return sum;
}
BLOOMWALL_CRC_TARGET inline Sum crc_with_octet(Sum sum, std::uint8_t octet) {
  asm("crc32cb %w0, %w0, %w1" : "+r"(sum) : "r"(octet));
  return sum;
}
bool has_crc_instruction() { return (getauxval(AT_HWCAP) & HWCAP_CRC32) != 0; }
#endif

#ifdef BLOOMWALL_CRC_TARGET
BLOOMWALL_CRC_TARGET std::uint32_t by_instruction(std::span<const std::byte> bytes) {
  Sum sum = ~std::uint32_t{0};
  std::size_t at = 0;
  for (; at + kWord <= bytes.size(); at += kWord) sum = crc_with_word(sum, word_at(bytes.data() + at));
  for (; at < bytes.size(); ++at) sum = crc_with_octet(sum, static_cast<std::uint8_t>(bytes[at]));
  return ~static_cast<std::uint32_t>(sum);
}
#endif

}  // namespace

std::uint32_t crc32c_portable(std::span<const std::byte> bytes) {
  std::uint32_t sum = ~std::uint32_t{0};
  std::size_t at = 0;
  for (; at + kWord <= bytes.size(); at += kWord) {
    const std::uint64_t word = word_at(bytes.data() + at) ^ sum;
    sum = 0;
    for (std::size_t i = 0; i < kWord; ++i) sum ^= kTables[kWord - 1 - i][(word >> (8 * i)) & 0xFF];
  }
  for (; at < bytes.size(); ++at) {
    sum = (sum >> 8) ^ kTables[0][(sum ^ static_cast<std::uint32_t>(bytes[at])) & 0xFF];
  }
  return ~sum;
}

std::uint32_t crc32c(std::span<const std::byte> bytes) {
#ifdef BLOOMWALL_CRC_TARGET
  static const bool has_instruction = has_crc_instruction();
  if (has_instruction) return by_instruction(bytes);
#endif
  return crc32c_portable(bytes);
}

}  // namespace bloomwall::filter
