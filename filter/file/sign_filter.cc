// sign_filter: a copy of the file with another header.
// SPDX-License-Identifier: Apache-2.0
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <vector>

#include "filter/file/header_bytes.h"
#include "filter/file/leaves.h"
#include "filter/file/signature.h"
#include "filter/file/temp_file.h"
#include "filter/result.h"

namespace bloomwall::filter {
namespace {

constexpr std::size_t kCopyStep = std::size_t{64} << 20;

Result<void> write_all(const TempFile& to, std::span<const std::byte> bytes, std::uint64_t offset) {
  while (!bytes.empty()) {
    const ssize_t done = pwrite(to.descriptor(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return system_error(to.path(), "write");
    bytes = bytes.subspan(static_cast<std::size_t>(done));
    offset += static_cast<std::uint64_t>(done);
  }
  return {};
}

tl::unexpected<Error> shrank(const FilterFile& from) {
  return unexpected(Error{Errc::too_short, from.path().string(), "the file shrank while it was copied"});
}

// Where the kernel can't copy between these two file systems.
Result<void> copy_by_hand(const FilterFile& from, const TempFile& to, std::uint64_t done) {
  std::vector<std::byte> buffer(std::size_t{1} << 20);
  while (done < from.header().file_bytes) {
    const ssize_t got = pread(from.descriptor(), buffer.data(), buffer.size(), static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error(from.path(), "read");
    if (got == 0) return shrank(from);
    if (auto ok = write_all(to, std::span(buffer).first(static_cast<std::size_t>(got)), done); !ok) return ok;
    done += static_cast<std::uint64_t>(got);
  }
  return {};
}

Result<void> copy_content(const FilterFile& from, const TempFile& to) {
  if (ioctl(to.descriptor(), FICLONE, from.descriptor()) == 0) return {};
  std::uint64_t done = 0;
  while (done < from.header().file_bytes) {
    auto in = static_cast<off64_t>(done);
    auto out = static_cast<off64_t>(done);
    const std::size_t step = std::min<std::uint64_t>(kCopyStep, from.header().file_bytes - done);
    const ssize_t copied = copy_file_range(from.descriptor(), &in, to.descriptor(), &out, step, 0);
    if (copied < 0 && errno == EINTR) continue;
    if (copied < 0) return copy_by_hand(from, to, done);  // that reports a full disk
    if (copied == 0) return shrank(from);
    done += static_cast<std::uint64_t>(copied);
  }
  return {};
}

// The header and, where there is one, the section of signatures, with one signature more.
struct Signed {
  HeaderBytes header{};
  std::vector<std::byte> section;
  std::uint64_t content_end = 0, section_offset = 0;
};

// In place of an earlier one by the same key, or behind the others.
bool place_long(std::vector<LongSignature>& all, const Signature& made) {
  LongSignature entry{.algorithm = made.algorithm,
                      .parameter = made.parameter,
                      .key_id = made.key_id,
                      .bytes = {made.bytes.begin(), made.bytes.end()}};
  const auto same = [&made](const LongSignature& s) {
    return s.algorithm == made.algorithm && s.key_id == made.key_id;
  };
  const auto at = std::find_if(all.begin(), all.end(), same);
  if (at != all.end()) {
    *at = std::move(entry);
    return true;
  }
  if (all.size() == kMaxLongSignatures) return false;
  all.push_back(std::move(entry));
  return true;
}

Result<Signed> sign(const FilterFile& from, const SigningKey& key) {
  const Signature made = key.sign(signed_message(from));
  std::vector<LongSignature> more;
  if (const auto section = from.section_bytes(SectionType::signatures); !section.empty()) {
    auto parsed = parse_signatures(section);
    if (!parsed) return unexpected(Error{parsed.error().code, from.path().string(), parsed.error().text()});
    more = *std::move(parsed);
  }
  auto slots = from.header().signatures;
  if (!place_signature(slots, made) && !place_long(more, made)) {
    return unexpected(Error{Errc::limit, from.path().string(), "holds as many signatures as a file can"});
  }
  Signed out;
  std::copy(from.header_bytes().begin(), from.header_bytes().end(), out.header.begin());
  out.header = with_signatures(without_signature_section(out.header), slots);
  const Header bare = read_fields(out.header);
  out.content_end = bare.file_bytes;
  if (more.empty()) return out;
  if (bare.sections.size() == kMaxSections) {
    return unexpected(Error{Errc::limit, from.path().string(), "has no room for a section of signatures"});
  }
  out.section = serialise_signatures(more);
  out.section_offset = place_after(out.content_end, out.section.size());
  const Roots roots = roots_of(digest_leaves(out.section));
  out.header = with_signature_section(out.header, {.type = SectionType::signatures,
                                                   .offset = out.section_offset,
                                                   .length = out.section.size(),
                                                   .xxh_root = roots.xxh,
                                                   .sha_root = roots.sha});
  return out;
}

}  // namespace

Result<void> sign_filter(const std::filesystem::path& file, const std::filesystem::path& target, const SigningKey& key,
                         const Progress& progress, const FileAccess& access) {
  const auto opened = FilterFile::open(file);
  if (!opened) return unexpected(opened.error());
  const FilterFile& from = **opened;
  if (auto whole = from.verify(FilterFile::Depth::tampering, progress); !whole) return whole;
  auto made = sign(from, key);
  if (!made) return unexpected(std::move(made).error());
  auto to = TempFile::create(target, access);
  if (!to) return unexpected(std::move(to).error());
  if (auto ok = copy_content(from, *to); !ok) return ok;
  if (auto ok = write_all(*to, made->header, 0); !ok) return ok;
  if (!made->section.empty()) {
    if (ftruncate(to->descriptor(), static_cast<off_t>(made->content_end)) != 0) {
      return system_error(to->path(), "truncate");
    }
    if (auto ok = write_all(*to, made->section, made->section_offset); !ok) return ok;
  }
  if (from.notice_change()) {
    return unexpected(Error{Errc::io, file.string(), "was written to while it was read; run this again"});
  }
  std::error_code ignored;
  if (std::filesystem::equivalent(file, target, ignored)) to->expect({from.stamp()});
  return to->commit();
}

}  // namespace bloomwall::filter
