// The folder of one filter that is copied to an origin, or is served from where it is:
//   DIR/FILTER/rings/RING           signed, replaced (release_text.h)
//              releases/NUMBER      signed, never changed, as all that follows
//              files/HEADER.bwf     a filter, by the first 16 octets of the SHA-256 of its header, which digests all
//                   /HEADER.bwx     other octets; an exact side likewise
//              deltas/CONTENT/NUMBER   for that content, as of that release
// A file takes its name when it is whole and synced (TempFile); files come before the release that names them, that
// before the ring: a process that is killed between any two steps leaves nothing that is not whole, and nothing that
// is served by half. What it leaves over `prune` removes.
// One writer at a time: a lock on the folder. Errors: io, those of the texts; untrusted where a text is not signed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/handles.h"
#include "filter/file/filter_file.h"
#include "filter/release/release_text.h"
#include "filter/release/signed_text.h"

namespace bloomwall::filter {

// What gives out a signed text, or refuses it.
using TextOpener =
    std::function<Result<OpenedText>(std::string_view bytes, const std::string& name, std::string_view domain)>;
TextOpener opener_of(const std::vector<SigningKey>& keys);  // the keys outlive it
TextOpener opener_of(TrustedKeys trusted);
TextOpener opener_of_anybody();  // whoever signed, or nobody: to show it, never to serve it

inline constexpr const char* kWorkFile = ".next";  // a delta that is being made, in its folder

class OriginFolder {
 public:
  enum class Use : std::uint8_t { read, change, create };
  // `create`: makes it where it is not there. Two that change it at once: io. Errors: usage for a name that is none.
  static Result<OriginFolder> open(const std::filesystem::path& folder, const std::string& filter, Use use);

  const std::string& filter() const { return filter_; }
  std::filesystem::path path_of(std::string_view part) const { return folder_ / part; }
  Result<std::vector<std::string>> rings() const;       // sorted
  Result<std::vector<std::uint64_t>> releases() const;  // ascending
  Result<std::vector<std::string>> files() const;       // "files/...", "deltas/CONTENT/...": sorted
  // That ring, of this filter. That release likewise.
  Result<RingText> ring(const std::string& name, const TextOpener& open) const;
  Result<ReleaseText> release(std::uint64_t number, const TextOpener& open) const;

  // Verifies every octet, and copies what is not there yet; blocks are shared with the original where the file system
  // can.
  Result<FilePart> add_base(const std::filesystem::path& file, const Progress& progress = {}) const;
  Result<FilePart> add_exact(const std::filesystem::path& file, const FilePart& base, const Progress& progress) const;
  // Where no such file is; another text under that name: io.
  Result<DeltaPart> add_delta(const FileId& content, std::uint64_t release, std::string_view text,
                              std::uint64_t changes) const;
  // `text` with signatures. A release that is there is not replaced: io.
  Result<void> write_release(std::uint64_t number, std::string_view text) const;
  // Waits for the next second where this one has seen a text of this ring: servers make the ETag of the second of the
  // last change and the length, and a gateway would not see the second of two texts.
  Result<void> write_ring(const std::string& name, std::string_view text) const;
  Result<void> remove(std::string_view part) const;
  // Of processes that were killed: whoever holds the lock is the only one who writes.
  void remove_leftovers() const;

  // Whether each part is there, with the size and the digest that the release has for it. `whole`: and every octet of
  // its files is what its header says.
  Result<void> check_parts(const ReleaseText& release, bool whole, const Progress& progress = {}) const;

 private:
  OriginFolder(std::filesystem::path folder, std::string filter, UniqueFd lock)
      : folder_(std::move(folder)), filter_(std::move(filter)), lock_(std::move(lock)) {}
  Result<std::string> read_text(const std::string& part) const;

  std::filesystem::path folder_;  // that of the filter
  std::string filter_;
  UniqueFd lock_;  // none where it is only read
};

}  // namespace bloomwall::filter
