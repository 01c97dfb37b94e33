// SPDX-License-Identifier: Apache-2.0
#include "filter/policy/entry_text.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>
#include <utility>

#include "filter/file/mapped_file.h"

namespace bloomwall::filter {
namespace {

Error io_error(const std::filesystem::path& path, int code) {
  return {Errc::io, path.string(), fmt::format("can't read it: {}", std::generic_category().message(code))};
}

}  // namespace

Result<void> check_entry_text_size(std::uintmax_t bytes, const std::filesystem::path& path) {
  if (bytes <= kMaxEntryText) return {};
  return unexpected(Error{Errc::limit, path.string(),
                          fmt::format("larger than {} MiB; build a filter from it instead", kMaxEntryText >> 20)});
}

Result<std::string> read_entry_text(const std::filesystem::path& path) {
  errno = 0;
  const auto before = stamp_of(path);
  std::ifstream in(path, std::ios::binary);
  if (!in) return unexpected(io_error(path, errno == 0 ? EIO : errno));
  // A regular file that is too large is refused before a byte of it is read; a pipe tells only while it is read.
  std::error_code no_size;
  const std::uintmax_t size = std::filesystem::file_size(path, no_size);
  if (auto ok = check_entry_text_size(no_size ? 0 : size, path); !ok) return unexpected(std::move(ok).error());
  std::string text;
  text.reserve(no_size ? 0 : size);
  std::string block(std::size_t{256} << 10, '\0');
  while (in.read(block.data(), static_cast<std::streamsize>(block.size())) || in.gcount() > 0) {
    const auto got = static_cast<std::size_t>(in.gcount());
    if (auto ok = check_entry_text_size(text.size() + got, path); !ok) return unexpected(std::move(ok).error());
    text.append(block, 0, got);
  }
  if (in.bad()) return unexpected(io_error(path, errno == 0 ? EIO : errno));
  // A part of it could end in the middle of an entry. Another file under the name is none of this one's affairs.
  const auto after = stamp_of(path);
  if (before && after && before->same_file(*after) && *before != *after) {
    return unexpected(Error{Errc::io, path.string(), "was written to while it was read; replace it by rename"});
  }
  return text;
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kShown = 80;
  std::string out = "'";
  for (const char c : text.substr(0, kShown)) {
    const auto octet = static_cast<unsigned char>(c);
    if (octet < 0x20 || octet >= 0x7F || c == '\\' || c == '\'') {
      out += fmt::format("\\x{:02X}", octet);
    } else {
      out += c;
    }
  }
  out += text.size() > kShown ? "...'" : "'";
  return out;
}

std::string problem_text(const ParsedEntry& parsed, std::string_view text) {
  switch (parsed.problem) {
    case EntryProblem::empty:
      return "an entry is missing; write a host or a URL, or start the line with '#'";
    case EntryProblem::no_host:
      return fmt::format("{} is neither a host nor a URL ({})", in_quotes(text), to_string(parsed.url_reason));
    case EntryProblem::pattern:
      return fmt::format("{} is a pattern; only *.host, .host and ||host^ are known, write the hosts or URLs out",
                         in_quotes(text));
    case EntryProblem::single_label:
      return fmt::format("{} is a single word; write a full host name", in_quotes(text));
    case EntryProblem::odd:
      return fmt::format("{} is spelt as no request may be ({}); write it plainly", in_quotes(text),
                         to_string(parsed.url_reason));
    case EntryProblem::none:
      break;
  }
  return fmt::format("{} can't be used", in_quotes(text));
}

void LineErrors::add(std::size_t line, Errc code, std::string what) {
  if (errors_.size() >= kMaxReportedErrors) {
    ++left_out_;
    return;
  }
  errors_.push_back({code, fmt::format("{}:{}", file_, line), std::move(what)});
}

std::vector<Error> LineErrors::take() {
  if (left_out_ != 0) {
    errors_.push_back({Errc::limit, file_, fmt::format("{} further lines with errors are not shown", left_out_)});
    left_out_ = 0;
  }
  return std::exchange(errors_, {});
}

}  // namespace bloomwall::filter
