// The copies of a filter's lists: a folder with the last good copy of each, compressed, and what was fetched just now.
// A copy's name tells its list and its content apart from others, so that a new one never overwrites the one that is in
// use. What is no longer in use is removed once the filter was replaced.
// Not thread-safe; under the lock of the update. Errors: what the system says, with the path.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "base/handles.h"

namespace bloomwall::proxy {

// A file without a place among the copies yet; removed unless it was kept.
class FetchedFile {
 public:
  static tl::expected<FetchedFile, std::string> create(const std::filesystem::path& folder);
  FetchedFile(FetchedFile&& other) noexcept;
  FetchedFile& operator=(FetchedFile&&) = delete;
  ~FetchedFile();
  int descriptor() const { return file_.get(); }
  const std::filesystem::path& path() const { return path_; }

 private:
  FetchedFile(std::filesystem::path path, UniqueFd file) : path_(std::move(path)), file_(std::move(file)) {}
  std::filesystem::path path_;
  UniqueFd file_;
};

class ListCopies {
 public:
  // Makes the folder where it is missing.
  static tl::expected<ListCopies, std::string> open(const std::filesystem::path& folder);

  tl::expected<FetchedFile, std::string> fetched_file() const { return FetchedFile::create(folder_); }
  // Puts a compressed copy of it there, on the disk, and returns its name.
  tl::expected<std::string, std::string> keep(const FetchedFile& fetched, std::string_view url,
                                              std::string_view sha256) const;
  std::filesystem::path path_of(std::string_view copy) const { return folder_ / copy; }
  bool has(std::string_view copy) const;
  // Whether it is what was kept: `sha256` of the list as it was fetched. Time: that of reading it.
  bool is_whole(std::string_view copy, std::string_view sha256) const;
  void remove(std::string_view copy) const;
  // All copies but these, and what an update that was killed has left; files of others stay.
  void remove_others(const std::vector<std::string>& copies) const;

 private:
  explicit ListCopies(std::filesystem::path folder) : folder_(std::move(folder)) {}
  std::filesystem::path folder_;
};

// "ads.txt-1f3a9c02-8d01b2ef01234567.zst", or ".list" where it is kept as it came: the last part of the path, of
// letters that suit every system, then what tells the URL and the content apart.
std::string copy_name(std::string_view url, std::string_view sha256, bool is_packed);

}  // namespace bloomwall::proxy
