// Records, one after the other: type u16, zero u16, length u32, then so many bytes; all little-endian. A reader passes
// over a type it does not know.
//   1 category     text
//   2 builder      text
//   3 source       bytes u64, entries u64, SHA-256 32, name length u32, name, format (the rest)
//   4 provenance   text, one record a line
//   5 made for     keys u64, error f64: of a set that grows
// SPDX-License-Identifier: Apache-2.0
#include "filter/file/file_info.h"

#include <algorithm>
#include <bit>
#include <string_view>

#include "filter/file/header_bytes.h"

namespace bloomwall::filter {
namespace {

constexpr std::uint16_t kCategory = 1;
constexpr std::uint16_t kBuilder = 2;
constexpr std::uint16_t kSource = 3;
constexpr std::uint16_t kProvenance = 4;
constexpr std::uint16_t kMadeFor = 5;
constexpr std::size_t kSourceFixedBytes = 8 + 8 + 32 + 4;
constexpr std::size_t kInfoHeadBytes = 8;

void put_text(std::vector<std::byte>& out, std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  out.insert(out.end(), bytes.begin(), bytes.end());
}

void put_record(std::vector<std::byte>& out, std::uint16_t type, std::size_t length) {
  put(out, type);
  put(out, std::uint16_t{0});
  put(out, static_cast<std::uint32_t>(length));
}

void put_text_record(std::vector<std::byte>& out, std::uint16_t type, std::string_view text) {
  put_record(out, type, text.size());
  put_text(out, text);
}

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

tl::unexpected<Error> bad_info(const char* what) { return unexpected(Error{Errc::bad_section, "info", what}); }

Result<SourceInfo> parse_source(std::span<const std::byte> body) {
  if (body.size() < kSourceFixedBytes) return bad_info("a source record is too short");
  SourceInfo source;
  source.bytes = take<std::uint64_t>(body);
  source.entries = take<std::uint64_t>(body);
  source.sha256 = take<Sha256>(body);
  const auto name_bytes = take<std::uint32_t>(body);
  if (name_bytes > body.size()) return bad_info("the name of a source does not fit its record");
  source.name = text_of(body.first(name_bytes));
  source.format = text_of(body.subspan(name_bytes));
  return source;
}

Result<MadeFor> parse_made_for(std::span<const std::byte> body) {
  if (body.size() != sizeof(std::uint64_t) + sizeof(double)) return bad_info("a record of another length than it has");
  MadeFor made_for;
  made_for.keys = take<std::uint64_t>(body);
  made_for.error = std::bit_cast<double>(take<std::uint64_t>(body));
  const bool is_fine = made_for.keys != 0 && made_for.error > 0 && made_for.error < 1;
  if (!is_fine) return bad_info("a set is made for no keys, or for an error that is none");
  return made_for;
}

Result<void> take_record(FileInfo& info, std::uint16_t type, std::span<const std::byte> body) {
  if (type == kCategory) info.category = text_of(body);
  if (type == kBuilder) info.builder = text_of(body);
  if (type == kProvenance) info.provenance.push_back(text_of(body));
  if (type == kMadeFor) {
    auto made_for = parse_made_for(body);
    if (!made_for) return unexpected(std::move(made_for).error());
    info.made_for = *made_for;
  }
  if (type == kSource) {
    auto source = parse_source(body);
    if (!source) return unexpected(std::move(source).error());
    info.sources.push_back(*std::move(source));
  }
  return {};
}

}  // namespace

std::vector<std::byte> serialise_info(const FileInfo& info) {
  std::vector<std::byte> out;
  put_text_record(out, kCategory, info.category);
  put_text_record(out, kBuilder, info.builder);
  for (const SourceInfo& source : info.sources) {
    put_record(out, kSource, kSourceFixedBytes + source.name.size() + source.format.size());
    put(out, source.bytes);
    put(out, source.entries);
    put(out, source.sha256);
    put(out, static_cast<std::uint32_t>(source.name.size()));
    put_text(out, source.name);
    put_text(out, source.format);
  }
  for (const std::string& line : info.provenance) put_text_record(out, kProvenance, line);
  if (info.made_for.keys != 0) {
    put_record(out, kMadeFor, sizeof(std::uint64_t) + sizeof(double));
    put(out, info.made_for.keys);
    put(out, std::bit_cast<std::uint64_t>(info.made_for.error));
  }
  return out;
}

Result<FileInfo> parse_info(std::span<const std::byte> bytes) {
  if (bytes.size() > kMaxInfoBytes) return bad_info("larger than 16 MiB");
  FileInfo info;
  for (std::size_t records = 1; !bytes.empty(); ++records) {
    if (records > kMaxInfoRecords) return bad_info("more than 100000 records");
    if (bytes.size() < kInfoHeadBytes) return bad_info("ends within a record");
    const auto type = take<std::uint16_t>(bytes);
    const auto zero = take<std::uint16_t>(bytes);
    const auto length = take<std::uint32_t>(bytes);
    if (zero != 0) return bad_info("reserved bytes are not zero");
    if (length > bytes.size()) return bad_info("ends within a record");
    if (Result<void> ok = take_record(info, type, bytes.first(length)); !ok) return unexpected(ok.error());
    bytes = bytes.subspan(length);
  }
  return info;
}

}  // namespace bloomwall::filter
