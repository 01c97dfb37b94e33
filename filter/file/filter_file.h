// An open filter file: mapped read-only, its header checked, its sections ready for look-ups.
// Threads: const and shared by all. If a mapped file is truncated or its disk fails (SIGBUS), lost() becomes true
// instead of the process ending; answers given since then are invalid, and the caller applies `on_error`.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

#include "filter/file/exceptions.h"
#include "filter/file/file_info.h"
#include "filter/file/header.h"
#include "filter/file/mapped_file.h"
#include "filter/file/page_sums.h"
#include "filter/file/residence.h"
#include "filter/url/address_range.h"

namespace bloomwall::filter {

class ReadCheck;

// Bytes verified so far and in all; called from the verifying thread every few MiB. Return false to stop.
using Progress = std::function<bool(std::uint64_t done, std::uint64_t total)>;

class FilterFile {
 public:
  // Maps and checks the header; cost independent of the size, but for exceptions and networks, which are read into
  // memory and compared with their digests in the header. The bytes of other sections are not looked at: see verify().
  // Of a file of counters: sections have bytes and digests, but no view that could be asked.
  static Result<std::unique_ptr<FilterFile>> open(const std::filesystem::path& path, Form form = Form::bits);
  ~FilterFile();
  FilterFile(const FilterFile&) = delete;
  FilterFile& operator=(const FilterFile&) = delete;

  const std::filesystem::path& path() const { return path_; }
  const Header& header() const { return header_; }
  // The header as it stands in the file, and the open file itself: for signatures and copies.
  std::span<const std::byte, kHeaderBytes> header_bytes() const { return header_bytes_; }
  int descriptor() const;  // of the copy that is served, where there is one; -1 where that is in memory
  const KeyMaker& keys() const { return keys_; }
  // Empty (false) where the file has no such section.
  const SectionView& hosts() const { return hosts_; }
  const SectionView& paths() const { return paths_; }
  const SectionView& raw() const { return raw_; }
  const Exceptions& exceptions() const { return exceptions_; }
  const RangeSet& networks() const { return networks_; }
  std::span<const std::byte> section_bytes(SectionType type) const;
  // Fills `out`, which is as long, with a section that is there, and compares it with its digests in the header.
  // Errors: io, too_short, bad_digest.
  Result<void> read_section(SectionType type, std::span<std::byte> out) const;
  bool lost() const;

  // For a file that is going to be served: takes a copy of its own as far as `copy` wants one (mapped_file.h), decides
  // where its bytes are to be and brings them there; see residence.h. Once, before anybody asks and before verify().
  // Reads the whole file unless that is paged. Errors: limit, io, too_short, untrusted.
  Result<void> make_resident(MemoryUse use, const Progress& progress = {}, OwnCopy copy = {});
  ServedFrom served_from() const;
  Result<bool> keep_served(const std::filesystem::path& target, bool is_same) const;  // kept_file.h
  // Where the original is served: whether it has been written to since it was opened. Then it is lost. One system call.
  bool notice_change() const;
  void mark_lost() const;              // its bytes were found to be wrong
  const FileVersion& version() const;  // of the file that was opened
  const FileStamp& stamp() const { return version().stamp; }
  Residence residence() const { return residence_; }
  bool hosts_locked() const { return hosts_locked_; }  // of a paged file: its host section cannot leave memory
  // Whether reading this page of a section may block on the disk. Cost: a comparison, and for paged files one system
  // call.
  bool may_wait(const std::byte* page) const { return residence_ == Residence::paged && !lost() && !is_cached(page); }

  // For a page of a paged file that was read from the disk: compares it with its page sum, if the file has these, and
  // marks the file as lost if they differ. Also records that the page was read, for file systems that can't report
  // residency. Ignores pages of other files and sections. 0.5 us.
  void check_page(const std::byte* page) const;
  // Errors: bad_digest, bad_section; a file without the section gives empty ones.
  Result<PageSums> read_page_sums() const;

  // For who asks without verify(): from now on a look-up compares each page before it takes an answer from it
  // (read_check.h), and a page that is not what was written makes the file lost. Once, before anybody asks. Errors:
  // bad_digest, bad_section, too_short, io.
  Result<void> check_reads();
  bool checks_reads() const { return read_check_ != nullptr; }
  void check_read(const std::byte* page) const;  // only where checks_reads()
  std::optional<Error> damage() const;           // that was found so

  // Of the `info` section, compared with its root: sources, builder, category. Errors: bad_digest, bad_section,
  // too_short, io; a file without the section gives an empty one.
  Result<FileInfo> info() const;

  // Reads every byte after the header and compares XXH3-128 (tampering: SHA-256 too) of leaves and roots; bytes between
  // sections must be zero. With open() it finds any bit that changed. Memory: 64 KiB.
  // A file that is written to meanwhile is refused. Errors: bad_digest, too_short, io. Throughput: memory or disk.
  enum class Depth : std::uint8_t { accident, tampering };
  Result<void> verify(Depth depth, const Progress& progress = {}) const;

 private:
  friend class ReadCheck;
  using HeaderBytes = std::array<std::byte, kHeaderBytes>;
  FilterFile(std::filesystem::path path, std::unique_ptr<MappedFile> map, const HeaderBytes& bytes, Header header);
  SectionView view(SectionType type) const;
  Result<void> take_exceptions();
  Result<void> take_networks();
  Result<std::vector<std::byte>> checked_section(const SectionEntry& section) const;
  Result<void> make_paged();
  bool is_cached(const std::byte* page) const;
  std::filesystem::path path_;
  std::unique_ptr<MappedFile> map_;
  HeaderBytes header_bytes_;
  Header header_;
  KeyMaker keys_;
  SectionView hosts_, paths_, raw_;
  Exceptions exceptions_;
  RangeSet networks_;
  PageSums page_sums_;  // of a paged file
  std::unique_ptr<ReadCheck> read_check_;
  Residence residence_ = Residence::unmanaged;
  bool hosts_locked_ = false;
};

}  // namespace bloomwall::filter
