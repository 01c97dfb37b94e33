// SPDX-License-Identifier: Apache-2.0
#include "filter/file/exact_side.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <system_error>

#include "filter/bits/line_ops.h"
#include "filter/file/kept_file.h"
#include "filter/file/leaves.h"
#include "filter/file/mapped_file.h"

namespace bloomwall::filter {
namespace {

constexpr std::array<std::uint8_t, 8> kExactMagic{0x89, 'B', 'W', 'X', '\r', '\n', 0x1A, '\n'};
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kIncompatible = 104, kCompatible = 112, kReserved = 120;
constexpr std::size_t kExactDigestOffset = kHeaderBytes - 16;
constexpr std::uint64_t kPageAndEntry = kExactPageBytes + sizeof(std::uint64_t);

template <typename T>
void read_at(std::span<const std::byte> bytes, std::size_t at, T& out) {
  std::memcpy(&out, bytes.data() + at, sizeof out);
}
template <typename T>
void write_at(std::span<std::byte> bytes, std::size_t at, const T& value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

tl::unexpected<Error> refuse(Errc code, std::string what) {
  return unexpected(Error{code, "exact side", std::move(what)});
}

// Of a page at least one fingerprint, at most as many as take a bit each.
bool is_possible(const ExactHeader& h) {
  if (h.file_bytes < kHeaderBytes) return false;
  const std::uint64_t body = h.file_bytes - kHeaderBytes;
  return body % kPageAndEntry == 0 && body / kPageAndEntry == h.pages && h.fingerprints >= h.pages &&
         h.fingerprints / kExactPayloadBits <= h.pages && (h.pages != 0 || h.fingerprints == 0);
}

using Root = std::optional<Sha256>;  // nothing: the file is of another kind

Root root_named_in(std::span<const std::byte> head, std::uint64_t file_bytes) {
  const auto filter = parse_header(head, file_bytes);
  return filter ? Root(filter->exact_root) : std::nullopt;
}

Root root_of(std::span<const std::byte> head, std::uint64_t file_bytes) {
  const auto exact = parse_exact_header(head, file_bytes);
  return exact ? Root(exact->sha_root) : std::nullopt;
}

Root root_in(const std::filesystem::path& file, Root (*read)(std::span<const std::byte>, std::uint64_t)) {
  const auto map = MappedFile::open(file);
  if (!map) return std::nullopt;
  const auto bytes = (*map)->bytes();
  return read(bytes.first(std::min(bytes.size(), kHeaderBytes)), bytes.size());
}

constexpr std::uint64_t low_bits(unsigned bits) { return (std::uint64_t{1} << bits) - 1; }

std::uint64_t tag_of(Kind kind) { return is_host_kind(kind) ? host_variant(kind) : kind == Kind::raw ? 9 : 8; }

// At most 48 bits from any bit on; the eight bytes read lie in the page because its last eight are no payload.
std::uint64_t packed_at(const std::byte* payload, std::uint64_t bit, unsigned width) {
  std::uint64_t word = 0;
  std::memcpy(&word, payload + bit / 8, sizeof word);
  return (word >> (bit % 8)) & low_bits(width);
}

void pack_at(std::byte* payload, std::uint64_t bit, std::uint64_t value) {
  std::uint64_t word = 0;
  std::memcpy(&word, payload + bit / 8, sizeof word);
  word |= value << (bit % 8);
  std::memcpy(payload + bit / 8, &word, sizeof word);
}

}  // namespace

Result<ExactHeader> parse_exact_header(std::span<const std::byte> head, std::uint64_t file_bytes) {
  if (head.size() < kExactMagic.size() || std::memcmp(head.data(), kExactMagic.data(), kExactMagic.size()) != 0) {
    return refuse(Errc::bad_magic, "not the exact side of a filter");
  }
  if (head.size() < kHeaderBytes) return refuse(Errc::too_short, "not even a header");
  std::uint32_t version = 0;
  std::uint32_t bits = 0;
  read_at(head, 8, version);
  read_at(head, 12, bits);
  if (version != kVersion || bits != kExactBits) {
    return refuse(Errc::unsupported, fmt::format("version {} with {} bits is not known to this build", version, bits));
  }
  Xxh128 digest{};
  read_at(head, kExactDigestOffset, digest);
  if (xxh128(head.first(kExactDigestOffset)) != digest) return refuse(Errc::bad_digest, "the header is damaged");
  std::uint64_t incompatible = 0;
  read_at(head, kIncompatible, incompatible);
  if (incompatible != 0) {
    return refuse(Errc::unsupported,
                  fmt::format("incompatible features {:#x} are not known to this build", incompatible));
  }
  ExactHeader h;
  read_at(head, kCompatible, h.compatible);
  const auto reserved = head.subspan(kReserved, kExactDigestOffset - kReserved);
  if (h.compatible == 0 &&
      std::any_of(reserved.begin(), reserved.end(), [](std::byte b) { return b != std::byte{0}; })) {
    return refuse(Errc::bad_header, "reserved bytes are not zero");
  }
  read_at(head, 16, h.filter);
  read_at(head, 32, h.fingerprints);
  read_at(head, 40, h.pages);
  read_at(head, 48, h.file_bytes);
  read_at(head, 56, h.xxh_root);
  read_at(head, 72, h.sha_root);
  if (h.file_bytes > file_bytes) return refuse(Errc::too_short, "the file is not complete");
  if (h.file_bytes < file_bytes) return refuse(Errc::bad_header, "bytes follow its end");
  if (!is_possible(h)) return refuse(Errc::bad_header, "its fields contradict each other");
  return h;
}

std::vector<std::byte> serialise_exact_header(const ExactHeader& header) {
  std::vector<std::byte> out(kHeaderBytes);
  write_at(out, 0, kExactMagic);
  write_at(out, 8, kVersion);
  write_at(out, 12, std::uint32_t{kExactBits});
  write_at(out, 16, header.filter);
  write_at(out, 32, header.fingerprints);
  write_at(out, 40, header.pages);
  write_at(out, 48, header.file_bytes);
  write_at(out, 56, header.xxh_root);
  write_at(out, 72, header.sha_root);
  write_at(out, kCompatible, header.compatible);
  write_at(out, kExactDigestOffset, xxh128(std::span(out).first(kExactDigestOffset)));
  return out;
}

ExactSide::ExactSide(std::filesystem::path path, std::unique_ptr<MappedFile> map, const ExactHeader& header)
    : path_(std::move(path)), map_(std::move(map)), header_(header) {}
ExactSide::~ExactSide() = default;

Result<std::unique_ptr<ExactSide>> ExactSide::open(const std::filesystem::path& path, const Sha256& root,
                                                   const OwnCopy& copy) {
  auto there = open_there(path, root, copy);
  if (there || there.error().code != Errc::wrong_base) return there;
  auto former = open_there(former_exact_side(path), root, copy);
  return former ? std::move(former) : std::move(there);
}

Result<std::unique_ptr<ExactSide>> ExactSide::open_there(const std::filesystem::path& path, const Sha256& root,
                                                         const OwnCopy& copy) {
  auto map = MappedFile::open(path);
  if (!map) return unexpected(std::move(map).error());
  if (auto ok = (*map)->own_copy(copy); !ok) return unexpected(std::move(ok).error());
  const std::span<const std::byte> bytes = (*map)->bytes();
  const auto header = parse_exact_header(bytes.first(std::min(bytes.size(), kHeaderBytes)), bytes.size());
  const auto with_path = [&path](Error error) {
    error.where = path.string();
    return unexpected(std::move(error));
  };
  if (!header) return with_path(header.error());
  if (header->sha_root != root) {
    return with_path({Errc::wrong_base,
                      {},
                      root == Sha256{} ? "its filter was made without one; build both together with --exact-side"
                                       : "was made with another build of the filter; build both together with "
                                         "--exact-side, or put the one of this build back"});
  }
  std::unique_ptr<ExactSide> out(new ExactSide(path, *std::move(map), *header));
  out->directory_.resize(header->pages);
  const std::size_t directory = kHeaderBytes + header->pages * kExactPageBytes;
  if (header->pages > 0) std::memcpy(out->directory_.data(), bytes.data() + directory, header->pages * 8);
  const auto& first = out->directory_;
  if (std::adjacent_find(first.begin(), first.end(), std::greater_equal<>()) != first.end()) {
    return with_path({Errc::bad_section, {}, "its directory is not in order"});
  }
  return out;
}

const std::byte* ExactSide::page_of(std::uint64_t fingerprint) const {
  const auto behind = std::upper_bound(directory_.begin(), directory_.end(), fingerprint);
  if (behind == directory_.begin()) return nullptr;
  const auto page = static_cast<std::size_t>(behind - directory_.begin() - 1);
  return map_->bytes().data() + kHeaderBytes + page * kExactPageBytes;
}

ExactAnswer ExactSide::ask(std::uint64_t fingerprint) const {
  const std::byte* const page = page_of(fingerprint);
  if (page == nullptr) return ExactAnswer::refuted;
  const ExactAnswer answer =
      ask_exact_page(std::span<const std::byte, kExactPageBytes>(page, kExactPageBytes), fingerprint);
  return lost() ? ExactAnswer::unknown : answer;  // what was read from a file that failed means nothing
}

ExactAnswer ExactSide::ask_checked(std::uint64_t fingerprint) const {
  if (checks_reads_ && !is_verified_.load(std::memory_order_acquire)) {
    const std::lock_guard lock(mutex_);
    if (!is_verified_.load(std::memory_order_relaxed)) {
      if (const Result<void> whole = verify(FilterFile::Depth::accident); !whole) {
        damage_ = whole.error();
        is_damaged_.store(true, std::memory_order_release);
        mark_lost();
      }
      is_verified_.store(true, std::memory_order_release);
    }
  }
  return ask(fingerprint);
}

std::optional<Error> ExactSide::damage() const {
  if (!is_damaged_.load(std::memory_order_acquire)) return std::nullopt;
  const std::lock_guard lock(mutex_);
  return damage_;
}

double residual_error(const ExactHeader& header) { return std::ldexp(static_cast<double>(header.fingerprints), -48); }

bool ExactSide::holds(const std::byte* page) const {
  const auto bytes = map_->bytes();
  return !std::less<>()(page, bytes.data()) && std::less<>()(page, bytes.data() + bytes.size());
}

bool ExactSide::may_wait(const std::byte* page) const { return !lost() && !map_->is_cached(page); }

void ExactSide::note_awaited(const std::byte* page) const { map_->note_awaited(page); }

bool ExactSide::lost() const { return map_->lost(); }
void ExactSide::mark_lost() const { map_->mark_lost(); }
ServedFrom ExactSide::served_from() const { return map_->served_from(); }

Result<bool> ExactSide::keep_served(const std::filesystem::path& target, bool is_same) const {
  return filter::keep_served(*map_, target, is_same);
}
const FileVersion& ExactSide::version() const { return map_->version(); }

bool ExactSide::notice_change() const {
  if (!map_->changed()) return false;
  map_->mark_lost();
  return true;
}

// What is in memory since open() has to be what is verified.
bool ExactSide::is_same_directory(std::uint64_t at, std::span<const std::byte> part) const {
  const std::uint64_t begin = kHeaderBytes + header_.pages * kExactPageBytes;
  const auto held = std::as_bytes(std::span(directory_));
  if (at + part.size() <= begin) return true;
  const std::uint64_t skip = begin > at ? begin - at : 0;
  const auto seen = part.subspan(skip);
  return std::memcmp(held.data() + (at + skip - begin), seen.data(), seen.size()) == 0;
}

Result<void> ExactSide::written_to() const {
  return unexpected(Error{Errc::io, path_.string(), "was written to while it was verified"});
}

Result<void> ExactSide::verify(FilterFile::Depth depth, const Progress& progress) const {
  const bool is_deep = depth == FilterFile::Depth::tampering;
  const auto on_piece = [this](std::uint64_t at, std::span<const std::byte> piece) {
    return is_same_directory(at, piece);
  };
  const auto on_leaf = [&](const ReadLeaf& leaf) -> Result<void> {
    if (!leaf.pieces_hold) return written_to();
    if (!progress || progress(leaf.offset + leaf.bytes, header_.file_bytes)) return {};
    return unexpected(Error{Errc::io, path_.string(), "stopped"});
  };
  const auto found = read_leaves(
      {.map = *map_, .offset = kHeaderBytes, .length = header_.file_bytes - kHeaderBytes, .with_sha = is_deep},
      on_piece, on_leaf);
  if (!found) return unexpected(found.error());
  if (found->xxh != header_.xxh_root || (is_deep && found->sha != header_.sha_root)) {
    return unexpected(Error{Errc::bad_digest, path_.string(), "damaged; build it again"});
  }
  return map_->changed() ? written_to() : Result<void>{};
}
std::filesystem::path former_exact_side(const std::filesystem::path& exact) {
  std::error_code error;
  std::filesystem::path out = std::filesystem::canonical(exact, error);  // beside the file, not a link to it
  if (error) out = exact;
  return out += ".former";
}

void keep_former_exact_side(const std::filesystem::path& filter, const std::filesystem::path& exact) {
  const Root root = root_in(exact, root_of);
  if (!root || root != root_in(filter, root_named_in)) return;
  drop_former_exact_side(exact);
  std::error_code ignored;
  std::filesystem::create_hard_link(exact, former_exact_side(exact), ignored);
}

void drop_former_exact_side(const std::filesystem::path& exact) {
  std::error_code ignored;
  std::filesystem::remove(former_exact_side(exact), ignored);
}

std::uint64_t exact_fingerprint(Kind kind, const Hash128& key) {
  return bits::mix64((tag_of(kind) << 48) | ((key.lo & low_bits(29)) << 19) | (key.hi & low_bits(19))) >> 16;
}

ExactAnswer ask_exact_page(std::span<const std::byte, kExactPageBytes> page, std::uint64_t fingerprint) {
  std::uint64_t first = 0;
  std::uint16_t count = 0;
  std::uint8_t width = 0;
  std::memcpy(&first, page.data(), sizeof first);
  std::memcpy(&count, page.data() + 8, sizeof count);
  std::memcpy(&width, page.data() + 10, sizeof width);
  const bool is_sound = count != 0 && width <= kExactBits && std::uint64_t{count} * width <= kExactPayloadBits &&
                        (width != 0 || count == 1) && first <= low_bits(kExactBits);
  if (!is_sound) return ExactAnswer::unknown;
  if (fingerprint < first) return ExactAnswer::refuted;
  const std::uint64_t wanted = fingerprint - first;
  const std::byte* const payload = page.data() + kExactPageHead;
  std::uint64_t low = 0;
  std::uint64_t high = count;
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    const std::uint64_t value = packed_at(payload, middle * width, width);
    if (value == wanted) return ExactAnswer::confirmed;
    if (value < wanted) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return ExactAnswer::refuted;
}

bool ExactPageWriter::add(std::uint64_t fingerprint) {
  if (!fingerprints_.empty()) {
    const auto width = static_cast<std::uint64_t>(std::bit_width(fingerprint - first()));
    if ((fingerprints_.size() + 1) * width > kExactPayloadBits) return false;
  }
  fingerprints_.push_back(fingerprint);
  return true;
}

std::vector<std::byte> ExactPageWriter::take() {
  std::vector<std::byte> page(kExactPageBytes);
  const auto width = static_cast<std::uint8_t>(std::bit_width(fingerprints_.back() - first()));
  const auto count = static_cast<std::uint16_t>(fingerprints_.size());
  std::memcpy(page.data(), fingerprints_.data(), 8);
  std::memcpy(page.data() + 8, &count, sizeof count);
  std::memcpy(page.data() + 10, &width, sizeof width);
  for (std::size_t i = 0; i < fingerprints_.size(); ++i) {
    pack_at(page.data() + kExactPageHead, i * width, fingerprints_[i] - first());
  }
  fingerprints_.clear();
  return page;
}

}  // namespace bloomwall::filter
