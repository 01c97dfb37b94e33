// Opens what policies name, each file once: filters, exact sides, deltas and allow lists that have not changed since a
// policy that is still held loaded them are shared with the next one, mapped, verified and parsed as they are. So a
// reload costs what changed, and many policies over the same filters (PolicySpec: name, action, status, allow lists)
// cost little more than one. Which file it is, its header says, which has the digests of all its bytes:
//   served from a private copy    a file with this header and size under the name is the one that is served, whatever
//                                 its inode and times: a link, a copy, another file renamed over it. It is not read:
//                                 what is served was verified. One that was written to in place is read again, so that
//                                 damage is told.
//   served from the file itself   it must be of the same version, too (mapped_file.h: device, inode, size, mtime and
//                                 ctime), which was settled when it was opened: what is written to it afterwards makes
//                                 another version.
// It must not be lost, and have been brought in on the same terms: verified as deeply, to the same place in memory, as
// a copy or not. Signatures are checked each time, for keys may have changed.
// Holds nothing by itself: what no policy holds any more is freed. Not thread-safe; policies are.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "filter/file/exact_side.h"
#include "filter/file/filter_file.h"
#include "filter/policy/allow_list.h"
#include "filter/policy/delta.h"
#include "filter/policy/policy.h"

namespace bloomwall::filter {

class FilterStore {
 public:
  // As Policy::load.
  tl::expected<std::shared_ptr<const Policy>, std::vector<Error>> load(const PolicySpec& spec,
                                                                       const Policy::LoadOptions& options);

 private:
  friend class PolicyLoader;

  // On which a file was brought in.
  struct Terms {
    bool is_verified = false;
    FilterFile::Depth depth = FilterFile::Depth::accident;
    bool is_resident = false;
    MemoryUse memory = MemoryUse::automatic;
    OwnCopy copy = {};
    Sha256 root = {};  // of an exact side
    friend bool operator==(const Terms&, const Terms&) = default;
  };
  template <typename File>
  struct Opened {
    Terms terms;
    FileVersion version;
    std::weak_ptr<const File> file;
  };
  template <typename File>
  using OpenedFiles = std::multimap<std::filesystem::path, Opened<File>>;

  struct ReadDelta {
    std::optional<FileVersion> version;  // nothing: it was not settled
    std::weak_ptr<const Delta> delta;
  };
  struct ReadAllowLists {
    std::vector<std::filesystem::path> files;
    std::vector<std::string> filters;
    std::vector<AllowLists::OfFilter> exceptions;
    std::vector<std::optional<FileVersion>> versions;  // of files and exceptions
    std::weak_ptr<const AllowLists> lists;
  };

  template <typename File>
  static std::shared_ptr<const File> find(OpenedFiles<File>& files, const std::filesystem::path& path,
                                          const Terms& terms);
  void forget_expired();

  OpenedFiles<FilterFile> filters_;
  OpenedFiles<ExactSide> exact_sides_;
  std::multimap<std::filesystem::path, ReadDelta> deltas_;
  std::vector<ReadAllowLists> allow_lists_;
};

}  // namespace bloomwall::filter
