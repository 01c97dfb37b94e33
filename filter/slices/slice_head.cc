// SPDX-License-Identifier: Apache-2.0
#include "filter/slices/slice_head.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "filter/file/header_bytes.h"
#include "filter/file/networks.h"
#include "filter/policy/entry_text.h"

namespace bloomwall::filter {
namespace {

constexpr std::size_t kEntrySlots = 16;

std::vector<std::byte> serialise_entries(const DistinctByKind& entries) {
  std::vector<std::byte> out;
  for (std::size_t i = 0; i < kEntrySlots; ++i) put(out, i < entries.size() ? entries[i] : std::uint64_t{0});
  return out;
}

bool read_entries(std::span<const std::byte> bytes, DistinctByKind& entries) {
  if (bytes.size() != kEntrySlots * sizeof(std::uint64_t)) return false;
  for (std::size_t i = 0; i < kEntrySlots; ++i) {
    const auto value = take<std::uint64_t>(bytes);
    if (i < entries.size()) {
      entries[i] = value;
    } else if (value != 0) {
      return false;
    }
  }
  return true;
}

tl::unexpected<Error> bad_head(const WorkFile& file, Error error) {
  error.what = error.where.empty() ? error.what : error.where + ": " + error.what;
  error.where = file.path().string();
  return unexpected(std::move(error));
}

// What is parsed of a section, where it is there.
template <typename T, typename Parse>
Result<void> read_into(const WorkFile& file, WorkSection type, T& out, const Parse& parse) {
  const auto bytes = file.section(type);
  if (!bytes) return unexpected(bytes.error());
  if (bytes->empty()) return {};
  auto parsed = parse(std::span<const std::byte>(*bytes));
  if (!parsed) return bad_head(file, std::move(parsed).error());
  out = *std::move(parsed);
  return {};
}

}  // namespace

Result<void> write_head(WorkWriter& writer, WorkKind kind, const SliceHead& head) {
  const std::string exceptions = head.exceptions.empty() ? std::string() : exceptions_text("slice", head.exceptions);
  const bool is_count = kind == WorkKind::count;
  const std::pair<WorkSection, std::vector<std::byte>> sections[] = {
      {WorkSection::sketches, head.sketches.serialise()},
      {WorkSection::info, serialise_info(head.info)},
      {WorkSection::networks, serialise_networks(head.networks)},
      {WorkSection::entries, serialise_entries(head.entries)},
      {WorkSection::known_good, is_count ? std::vector<std::byte>{} : serialise_exceptions(head.known_good)}};
  for (const auto& [type, bytes] : sections) {
    if (auto ok = writer.add(type, bytes); !ok) return ok;
  }
  return is_count ? Result<void>{} : writer.add(WorkSection::exceptions, std::as_bytes(std::span(exceptions)));
}

Result<SliceHead> read_head(const WorkFile& file) {
  SliceHead out;
  auto ok = read_into(file, WorkSection::sketches, out.sketches, &EntrySketches::parse);
  if (ok) ok = read_into(file, WorkSection::info, out.info, &parse_info);
  if (ok) ok = read_into(file, WorkSection::networks, out.networks, &parse_networks);
  if (ok) {
    ok = read_into(file, WorkSection::entries, out.entries, [](auto bytes) -> Result<DistinctByKind> {
      DistinctByKind entries{};
      if (read_entries(bytes, entries)) return entries;
      return unexpected(Error{Errc::bad_section, "entries", "not as a builder writes them"});
    });
  }
  if (ok) {
    ok = read_into(file, WorkSection::known_good, out.known_good, [](auto bytes) -> Result<std::vector<Exception>> {
      const auto parsed = Exceptions::parse(bytes);
      if (!parsed) return unexpected(parsed.error());
      return std::vector<Exception>(parsed->all().begin(), parsed->all().end());
    });
  }
  if (ok) {
    ok = read_into(file, WorkSection::exceptions, out.exceptions, [](auto bytes) -> Result<ListExceptions> {
      if (bytes.size() > kMaxEntryText) return unexpected(Error{Errc::limit, "exceptions", "over 1 GiB"});
      return parse_exceptions({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    });
  }
  if (!ok) return unexpected(std::move(ok).error());
  return out;
}

Result<void> SliceUnion::add(const std::filesystem::path& file, SliceHead head) {
  sketches.merge(head.sketches);
  if (!head.networks.empty()) networks = united(networks, head.networks);
  if (networks.size() > kMaxNetworks) {
    return unexpected(Error{Errc::limit, file.string(),
                            fmt::format("with the slices before it more than {} ranges of addresses", kMaxNetworks)});
  }
  for (std::size_t i = 0; i < entries.size(); ++i) entries[i] = sum_of_counts(entries[i], head.entries[i]);
  if (!head.info.sources.empty()) {
    if (!std::exchange(has_sources_, true)) info.category = head.info.category;
    if (info.category != head.info.category) info.category.clear();
  }
  const std::size_t slice = slices_++;
  for (const SourceInfo& source : head.info.sources) {
    if (source.bytes == 0) continue;
    if (sources_.try_emplace({source.name, source.sha256}, slice).first->second == slice) continue;
    return unexpected(
        Error{Errc::usage, file.string(),
              fmt::format("{} is in another slice, too: each list belongs to one", in_quotes(source.name))});
  }
  info.sources.insert(info.sources.end(), head.info.sources.begin(), head.info.sources.end());
  if (!head.exceptions.empty()) exceptions.push_back(std::move(head.exceptions));
  return {};
}

void SliceUnion::set_counts_of(Header& header) const {
  KeySummary summary = sketches.summary();
  summary.distinct[index_of(Kind::network)] = networks.size();
  set_counts(header, summary);
  for (std::size_t i = 0; i < kKindCount; ++i) header.kinds[i].entries = entries[i];
}

}  // namespace bloomwall::filter
