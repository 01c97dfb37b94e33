// A file without a name, in the folder for temporary files, into which an archive is unpacked up to a bound.
// Errors: `limit` where the bound is passed, `io` where the disk refuses it or it is told to end (UnpackLimit::stop).
// Not thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/handles.h"
#include "filter/lists/list_archive.h"
#include "filter/result.h"

namespace bloomwall::filter {

Result<UniqueFd> file_without_name();

bool is_stopped(const UnpackLimit& limit);
Error interrupted(const std::string& name);

class Spool {
 public:
  // `name` stands in errors; `too_large` says that the bound is passed.
  Spool(UniqueFd file, std::string name, UnpackLimit limit, std::string too_large)
      : file_(std::move(file)), name_(std::move(name)), limit_(limit), too_large_(std::move(too_large)) {}
  Result<void> write(std::string_view piece);
  std::uint64_t written() const { return written_; }
  UniqueFd& file() { return file_; }

 private:
  UniqueFd file_;
  std::string name_;
  UnpackLimit limit_;
  std::string too_large_;
  std::uint64_t written_ = 0;
};

}  // namespace bloomwall::filter
