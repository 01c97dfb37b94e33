// SPDX-License-Identifier: Apache-2.0
#include "filter/file/header.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <initializer_list>
#include <string_view>

#include "base/handles.h"
#include "filter/file/header_bytes.h"
#include "filter/file/leaves.h"
#include "filter/result.h"

namespace bloomwall::filter {
namespace {

// What makes a header one that may be used. Order: is it ours, is it whole, do we know it, do its fields fit together.
using Checked = Result<void>;

tl::unexpected<Error> refuse(Errc code, std::string_view where, std::string what) {
  return unexpected(Error{code, std::string(where), std::move(what)});
}

// Of what is no filter: what somebody who named it has to do instead.
std::string what_it_is(std::span<const std::byte> head) {
  const std::string_view text(reinterpret_cast<const char*>(head.data()), head.size());
  if (text.starts_with("bloomwall-delta")) {
    return "is no filter but a delta, which stands beside its filter (`delta` of the configuration, --delta)";
  }
  if (text.substr(std::min<std::size_t>(text.size(), 1)).starts_with("BWX\r\n")) {
    return "is no filter but an exact side, which stands beside its filter (`exact` of the configuration, --exact)";
  }
  constexpr std::array<std::string_view, 5> kPacked{"\x1f\x8b",
                                                    "\xfd"
                                                    "7zXZ",
                                                    "\x28\xb5\x2f\xfd", "BZh", "PK\x03\x04"};
  const bool is_packed = std::ranges::any_of(kPacked, [&](std::string_view magic) { return text.starts_with(magic); });
  const bool is_text = std::ranges::none_of(
      text, [](char c) { return static_cast<unsigned char>(c) < ' ' && c != '\n' && c != '\r' && c != '\t'; });
  if (!is_packed && !is_text) return "is no filter of bloomwall";
  return "is no filter but looks like a list: make a filter of it with `bloomwall-filter build -o NAME.bwf LIST`, and "
         "name that";
}

Checked check_magic(std::span<const std::byte> head) {
  const std::size_t shared = std::min(head.size(), kMagic.size());
  if (shared == 0 || std::memcmp(head.data(), kMagic.data(), shared) == 0) return {};
  const bool name_fits = head.size() >= kMagic.size() && std::memcmp(head.data() + 1, kMagic.data() + 1, 3) == 0;
  if (name_fits) return refuse(Errc::bad_magic, "magic", "damaged: was it transferred as text instead of binary?");
  return refuse(Errc::bad_magic, "magic", what_it_is(head));
}

// Only the bytes that every version keeps in place are looked at.
Checked check_version(const HeaderBytes& bytes, std::uint16_t major) {
  if (major != 1) {
    return refuse(
        Errc::unsupported, "major",
        fmt::format("format version {} is not known to this build: a newer bloomwall has made the file", major));
  }
  std::uint32_t length = 0;
  std::memcpy(&length, bytes.data() + kHeaderLengthOffset, sizeof length);
  if (length != kHeaderBytes) return refuse(Errc::bad_header, "header length", fmt::format("{} bytes", length));
  return {};
}

Checked check_digest(const HeaderBytes& bytes) {
  const Digest128 digest = header_digest(bytes);
  if (std::memcmp(digest.data(), bytes.data() + kDigestOffset, digest.size()) == 0) return {};
  return refuse(Errc::bad_digest, "header", "the header is damaged; fetch or build the file again");
}

Checked check_form(const Header& h, Form wanted) {
  if (h.form() == wanted) return {};
  return refuse(Errc::unsupported, "form",
                wanted == Form::bits
                    ? "a counting filter (.bwc), which is not asked itself; `bloomwall-filter emit` makes a .bwf of it"
                    : "not a counting filter (.bwc); `bloomwall-filter build --counting` makes one from lists");
}

Checked check_known(const Header& h, const HeaderBytes& bytes) {
  const auto unknown = [](std::string_view where, std::uint64_t value) {
    return refuse(Errc::unsupported, where, fmt::format("{:#x} is not known to this build", value));
  };
  if ((h.incompatible & ~kCountersFeature) != 0) return unknown("incompatible features", h.incompatible);
  if (h.hash_id != 1) return unknown("hash", h.hash_id);
  if (h.key_derivation != 1) return unknown("key derivation", h.key_derivation);
  if (h.canonicalisation != 1) return unknown("canonicalisation", h.canonicalisation);
  if ((h.canonical_options & ~kQueriesByParameters) != 0) return unknown("canonical options", h.canonical_options);
  const Digest128 test = hash_self_test(h.series_key);
  if (std::memcmp(test.data(), bytes.data() + kSelfTestOffset, test.size()) != 0) {
    return refuse(Errc::unsupported, "hash self-test", "the hash of this build differs from that of the file");
  }
  return {};
}

bool is_rate(double x) { return std::isfinite(x) && x >= 0 && x <= 1 && !std::signbit(x); }
bool is_count(double x) { return std::isfinite(x) && x >= 0 && !std::signbit(x); }

Checked check_errors(const Header& h) {
  const auto& p = h.predicted;
  for (const double x : {p.host_key, p.path_key, p.raw_key, p.host_fill, p.path_fill, p.raw_fill, p.unlisted_host.mean,
                         p.unlisted_host.p99, p.listed_host.mean, p.listed_host.p99}) {
    if (!is_rate(x)) return refuse(Errc::bad_header, "predicted errors", "a rate outside 0 to 1");
  }
  for (const double x : {p.unlisted_host.mean_questions, p.unlisted_host.p99_questions, p.listed_host.mean_questions,
                         p.listed_host.p99_questions}) {
    if (!is_count(x)) return refuse(Errc::bad_header, "predicted errors", "a negative or infinite number of questions");
  }
  if (h.measured.hits > h.measured.samples) return refuse(Errc::bad_header, "measured error", "more hits than samples");
  return {};
}

// How many ranges there are is compared with the section when that is read: FilterFile::open.
Checked check_networks(const Header& h) {
  const bool counted = h.kinds[index_of(Kind::network)].keys != 0;
  const bool there = h.find(SectionType::networks) != nullptr;
  if (there && h.form() == Form::counters) {
    return refuse(Errc::bad_header, "networks", "a counting filter holds no ranges of addresses; build a .bwf of them");
  }
  if (counted && !there) return refuse(Errc::bad_header, "kinds", "ranges of addresses without a section of networks");
  if (there && !counted) return refuse(Errc::bad_header, "kinds", "a section of networks without ranges of addresses");
  return {};
}

Checked check_contents(const Header& h) {
  constexpr std::uint32_t kMarks =
      ((std::uint32_t{1} << kHostVariantCount) - 1) & ~((std::uint32_t{1} << kVariantMarkUrl) - 1);
  const auto present = [&h](Kind kind) { return h.kinds[index_of(kind)].keys != 0; };
  if ((h.mark_mask & ~kMarks) != 0) return refuse(Errc::bad_header, "mark mask", "a bit that is not a mark");
  if (h.min_labels > h.max_labels) return refuse(Errc::bad_header, "labels", "least over most");
  const bool any_host = present(Kind::suffix) || present(Kind::exact_host) || present(Kind::subdomains);
  const bool any_path = present(Kind::url) || present(Kind::url_query) || present(Kind::directory) || h.mark_mask != 0;
  const auto* hosts = h.find(SectionType::hosts);
  if ((any_host || any_path) && hosts == nullptr)
    return refuse(Errc::bad_header, "kinds", "host keys without a host section");
  if (any_path && h.find(SectionType::paths) == nullptr) {
    return refuse(Errc::bad_header, "kinds", "path keys or marks without a path section");
  }
  if (present(Kind::raw) && h.find(SectionType::raw) == nullptr) {
    return refuse(Errc::bad_header, "kinds", "raw keys without a raw section");
  }
  return check_networks(h);
}

Checked check_pages(const SectionEntry& s, Form form) {
  const Geometry& g = s.geometry;
  if (g.layout != Layout::sectors_2x8 && g.layout != Layout::lines_4x4) {
    return refuse(Errc::unsupported, "section",
                  fmt::format("layout {} is not known to this build", static_cast<unsigned>(g.layout)));
  }
  const bool fits = s.length % bytes_per_bit_page(form) == 0 && s.length / bytes_per_bit_page(form) == g.pages;
  if (!fits) return refuse(Errc::bad_section, "section", "the geometry does not give the length");
  return {};
}

bool is_known(SectionType type) { return type >= SectionType::hosts && type <= SectionType::networks; }

Checked check_section(const SectionEntry& s, std::uint64_t file_bytes, Form form) {
  if (!is_known(s.type) && s.critical) {
    return refuse(Errc::unsupported, "section",
                  fmt::format("type {} is not known to this build", static_cast<std::uint32_t>(s.type)));
  }
  if (s.type == SectionType{}) return refuse(Errc::bad_section, "section", "type 0");
  if (s.length == 0) return refuse(Errc::bad_section, "section", "empty");
  if (s.offset < kHeaderBytes || s.offset > file_bytes || s.length > file_bytes - s.offset) {
    return refuse(Errc::bad_section, "section", "lies outside the file");
  }
  if (s.offset % alignment_of(s.length) != 0) return refuse(Errc::bad_section, "section", "not aligned");
  if (has_pages(s.type)) return check_pages(s, form);
  if (s.geometry != kNoGeometry) return refuse(Errc::bad_section, "section", "a geometry where there are no pages");
  return {};
}

// Sections in the order of their offsets: none overlaps, gaps are those that alignment needs, nothing follows.
Checked check_arrangement(const Header& h) {
  std::vector<SectionEntry> order = h.sections;
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.offset < b.offset; });
  std::uint64_t end = kHeaderBytes;
  for (const SectionEntry& s : order) {
    if (s.offset < end) return refuse(Errc::bad_section, "section", "sections overlap");
    if (s.offset != place_after(end, s.length)) return refuse(Errc::bad_section, "section", "a gap between sections");
    end = s.offset + s.length;
  }
  if (const auto* signatures = h.find(SectionType::signatures);
      signatures != nullptr && order.back().type != signatures->type) {
    return refuse(Errc::bad_section, "section", "signatures are not the last section of the file");
  }
  if (end != h.file_bytes) return refuse(Errc::bad_section, "section", "the file goes on after its last section");
  return {};
}

Checked check_sections(const Header& h) {
  std::uint64_t leaves = 0;
  for (const SectionEntry& s : h.sections) {
    if (Checked ok = check_section(s, h.file_bytes, h.form()); !ok) return ok;
    if (has_leaf_records(s.type)) leaves += leaf_count(s.length);
    const auto same = [&s](const SectionEntry& other) { return other.type == s.type; };
    if (std::count_if(h.sections.begin(), h.sections.end(), same) != 1) {
      return refuse(Errc::bad_section, "section", "two of one type");
    }
  }
  const auto* digests = h.find(SectionType::leaves);
  if (digests == nullptr) return refuse(Errc::bad_section, "section", "no digests");
  if (digests->length % kLeafRecordBytes != 0 || digests->length / kLeafRecordBytes != leaves) {
    return refuse(Errc::bad_section, "section", "the number of digests is not the number of leaves");
  }
  if (std::none_of(h.sections.begin(), h.sections.end(), [](const SectionEntry& s) { return has_pages(s.type); })) {
    return refuse(Errc::bad_section, "section", "nothing that could be asked");
  }
  const auto* signatures = h.find(SectionType::signatures);
  if (signatures != nullptr && signatures != &h.sections.back()) {
    return refuse(Errc::bad_section, "section", "signatures are not the last section of the table");
  }
  return check_arrangement(h);
}

Checked check_size(const Header& h, std::uint64_t file_bytes) {
  if (h.file_bytes > file_bytes) {
    return refuse(Errc::too_short, "length",
                  fmt::format("{} of {} bytes: the file is not complete", file_bytes, h.file_bytes));
  }
  if (h.file_bytes < file_bytes) {
    return refuse(Errc::bad_header, "length",
                  fmt::format("{} bytes follow the end of the filter", file_bytes - h.file_bytes));
  }
  return {};
}

Checked check_rules(const HeaderBytes& bytes) {
  if (has_only_known_rules(bytes)) return {};
  return refuse(Errc::unsupported, "header", "kinds, sets of bits, segments or flags that are not known to this build");
}

// Writing the fields again gives zeros wherever nothing is defined.
Checked check_reserved(const Header& h, const HeaderBytes& bytes) {
  if (h.minor > 0) return {};
  const std::vector<std::byte> again = serialise_header(h);
  if (std::equal(again.begin(), again.end(), bytes.begin())) return {};
  return refuse(Errc::bad_header, "header", "reserved bytes are not zero");
}

constexpr std::uint64_t kKnownCompatible = kEstimatedCounts;

}  // namespace

void forget_unknown(Header& header) {
  header.minor = 0;
  header.compatible &= kKnownCompatible;
}

KeyMaker key_maker_of(const Header& header) {
  const bool by_parameters = (header.canonical_options & kQueriesByParameters) != 0;
  return KeyMaker(header.series_key, by_parameters ? QueryReading::by_parameters : QueryReading::as_spelt);
}

Result<Header> parse_header(std::span<const std::byte> head, std::uint64_t file_bytes, Form form) {
  if (Checked ok = check_magic(head); !ok) return unexpected(ok.error());
  if (head.size() < kHeaderBytes) {
    return refuse(Errc::too_short, "header", fmt::format("{} of {} bytes", head.size(), kHeaderBytes));
  }
  HeaderBytes bytes{};
  std::copy_n(head.begin(), kHeaderBytes, bytes.begin());
  Header h = read_fields(bytes);
  Checked ok = check_version(bytes, h.major);
  if (ok) ok = check_digest(bytes);
  if (ok) ok = check_known(h, bytes);
  if (ok) ok = check_form(h, form);
  if (ok) ok = check_size(h, file_bytes);
  if (ok && (h.sections.empty() || read_section_count(bytes) > kMaxSections)) {
    ok = refuse(Errc::bad_header, "section count", fmt::format("{}", read_section_count(bytes)));
  }
  if (ok) ok = check_rules(bytes);
  if (ok) ok = check_sections(h);
  if (ok) ok = check_contents(h);
  if (ok) ok = check_errors(h);
  if (ok) ok = check_reserved(h, bytes);
  if (!ok) return unexpected(ok.error());
  const double asked = h.predicted.listed_host.p99_questions - h.predicted.unlisted_host.p99_questions;
  h.path_questions = static_cast<unsigned>(std::lround(std::clamp(asked, 0.0, double{kMostPathQuestions})));
  return h;
}

FileId content_id(const Header& header) {
  static constexpr std::string_view kDomain = "bloomwall content 1\n";
  Sha256Stream stream;
  stream.add(std::as_bytes(std::span(kDomain)));
  for (const SectionType type :
       {SectionType::hosts, SectionType::paths, SectionType::raw, SectionType::exceptions, SectionType::networks}) {
    const SectionEntry* const section = header.find(type);
    if (section == nullptr) continue;
    stream.add(std::as_bytes(std::span(&section->type, 1)));
    stream.add(std::as_bytes(std::span(&section->length, 1)));
    stream.add(std::as_bytes(std::span(section->sha_root)));
  }
  const Sha256 digest = stream.finish();
  FileId id{};
  std::copy_n(digest.begin(), id.size(), id.begin());
  return id;
}

Result<FileKind> file_kind(const std::filesystem::path& file) {
  constexpr std::string_view kDelta = "bloomwall-delta";
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  const UniqueFd opened(open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!opened) return system_error(file, "open");
  std::array<char, 32> bytes{};
  const ssize_t got = pread(opened.get(), bytes.data(), bytes.size(), 0);
  if (got < 0) return system_error(file, "read");
  std::string_view text(bytes.data(), static_cast<std::size_t>(got));
  const std::string_view magic(reinterpret_cast<const char*>(kMagic.data()), kMagic.size());
  if (text.size() == bytes.size() && text.starts_with(magic)) {
    const bool counters = (static_cast<unsigned char>(text[kIncompatibleOffset]) & kCountersFeature) != 0;
    return counters ? FileKind::counting : FileKind::filter;
  }
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  return text.starts_with(kDelta) ? FileKind::delta : FileKind::filter;
}

}  // namespace bloomwall::filter
