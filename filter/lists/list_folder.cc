// SPDX-License-Identifier: Apache-2.0
#include "filter/lists/list_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <string_view>
#include <system_error>

#include "base/text.h"
#include "filter/lists/list_input.h"

namespace bloomwall::filter {
namespace fs = std::filesystem;
namespace {

constexpr std::array<std::string_view, 4> kEndings{"", ".gz", ".xz", ".zst"};
constexpr std::uint64_t kMaxUsageBytes = std::uint64_t{64} << 10;

struct Member {
  const char* name;
  Format format;
};
constexpr std::array<Member, 3> kMembers{{{"domains", Format::squidguard_domains},
                                          {"urls", Format::squidguard_urls},
                                          {"expressions", Format::squidguard_expressions}}};

// The member file, under its own name or a compressed one.
std::optional<fs::path> find_member(const fs::path& folder, std::string_view name) {
  for (const std::string_view ending : kEndings) {
    fs::path path = folder / fmt::format("{}{}", name, ending);
    std::error_code ignored;
    if (fs::is_regular_file(path, ignored)) return path;
  }
  return std::nullopt;
}

bool is_category(const fs::path& folder) {
  return std::any_of(kMembers.begin(), kMembers.end(),
                     [&](const Member& m) { return find_member(folder, m.name).has_value(); });
}

// One word a line: "black", "white" and what else its author keeps there.
Result<Usage> read_usage(const fs::path& folder) {
  const auto path = find_member(folder, "usage");
  if (!path) return Usage::unknown;
  auto input = ListInput::open(path->string());
  if (!input) return unexpected(input.error());
  LineBlocks blocks(*input);
  LineBlock block;
  bool black = false;
  bool white = false;
  while (input->text_bytes() < kMaxUsageBytes) {
    const auto more = blocks.next(block);
    if (!more) return unexpected(more.error());
    if (!*more) break;
    for (LineWalk lines(block.text); lines.next();) {
      black = black || equals_ignoring_case(trim(lines.line()), "black");
      white = white || equals_ignoring_case(trim(lines.line()), "white");
    }
  }
  return black && white ? Usage::both : black ? Usage::black : white ? Usage::white : Usage::unknown;
}

Error folder_error(const fs::path& path, std::string what) { return Error{Errc::io, path.string(), std::move(what)}; }

Error too_many(const fs::path& folder) {
  return Error{Errc::limit, folder.string(), fmt::format("more than {} files or folders", kMaxFolderFiles)};
}

struct Contents {
  std::vector<fs::path> files;
  std::vector<fs::path> folders;
};

// Links last: a category's own name comes before its aliases. Names in order, so that equal folders read equally.
bool comes_before(const fs::path& a, const fs::path& b) {
  const bool a_link = fs::is_symlink(a);
  const bool b_link = fs::is_symlink(b);
  return a_link != b_link ? b_link : a.filename() < b.filename();
}

Result<Contents> contents_of(const fs::path& folder) {
  Contents contents;
  std::error_code failed;
  for (auto at = fs::directory_iterator(folder, failed); !failed && at != fs::directory_iterator();
       at.increment(failed)) {
    std::error_code ignored;
    const fs::file_status status = fs::status(at->path(), ignored);
    if (status.type() == fs::file_type::not_found) return unexpected(folder_error(at->path(), "is a link to nowhere"));
    if (fs::is_other(status))
      return unexpected(folder_error(at->path(), "is a pipe, a socket or a device, not a list"));
    (fs::is_directory(status) ? contents.folders : contents.files).push_back(at->path());
    if (contents.files.size() + contents.folders.size() > kMaxFolderFiles) return unexpected(too_many(folder));
  }
  if (failed) return unexpected(folder_error(folder, fmt::format("cannot list: {}", failed.message())));
  std::sort(contents.files.begin(), contents.files.end(), comes_before);
  std::sort(contents.folders.begin(), contents.folders.end(), comes_before);
  return contents;
}

// Collects the categories under one argument.
class Walk {
 public:
  explicit Walk(fs::path root) : root_(std::move(root)) {}

  Result<void> visit(const fs::path& folder, const std::string& category, int depth) {
    std::error_code failed;
    const std::string real = fs::canonical(folder, failed).string();
    if (failed) return unexpected(folder_error(folder, failed.message()));
    const auto [known, is_new] = seen_.try_emplace(real, files.size());
    if (!is_new) {
      name_alias(known->second, real, category);
      return {};
    }
    const auto contents = contents_of(folder);
    if (!contents) return unexpected(contents.error());
    if (is_category(folder)) {
      if (auto ok = add(folder, category); !ok) return ok;
    }
    for (const fs::path& file : contents->files) leave_out_unread(folder, file);
    if (files.size() + left_out.size() > kMaxFolderFiles) return unexpected(too_many(root_));
    for (const fs::path& child : contents->folders) {
      if (auto ok = descend(child, category, depth + 1); !ok) return ok;
    }
    return {};
  }
  std::vector<ListFile> files;
  std::vector<std::string> left_out;

 private:
  Result<void> descend(const fs::path& child, const std::string& category, int depth) {
    const std::string name = child.filename().string();
    if (name.starts_with('.')) {
      left_out.push_back(fmt::format("{} (a hidden folder)", child.string()));
      return {};
    }
    if (depth > kMaxFolderDepth) {
      left_out.push_back(fmt::format("{} (deeper than {} folders)", child.string(), kMaxFolderDepth));
      return {};
    }
    return visit(child, category.empty() ? name : fmt::format("{}/{}", category, name), depth);
  }

  // A second name of a category; of other folders it does not matter.
  void name_alias(std::size_t first, const std::string& real, const std::string& category) {
    if (first >= files.size() || fs::canonical(fs::path(files[first].path).parent_path()).string() != real) return;
    for (std::size_t i = first; i < files.size() && files[i].category == files[first].category; ++i) {
      files[i].aliases.push_back(category);
    }
  }

  void leave_out_unread(const fs::path& folder, const fs::path& file) {
    for (const std::string_view name : {"domains", "urls", "expressions", "usage"}) {
      const auto read = find_member(folder, name);
      if (!read) continue;
      if (*read == file) return;
      const bool other_form = std::any_of(kEndings.begin(), kEndings.end(), [&](std::string_view ending) {
        return file.filename() == fmt::format("{}{}", name, ending);
      });
      if (other_form) {
        left_out.push_back(fmt::format("{} (beside {})", file.string(), read->filename().string()));
        return;
      }
    }
    left_out.push_back(fmt::format("{} (no file of a category)", file.string()));
  }

  Result<void> add(const fs::path& folder, const std::string& category) {
    const auto usage = read_usage(folder);
    if (!usage) return unexpected(usage.error());
    for (const Member& member : kMembers) {
      const auto path = find_member(folder, member.name);
      if (!path) continue;
      if (files.size() >= kMaxFolderFiles) return unexpected(too_many(root_));
      files.push_back({path->string(), root_.string(), category, {}, member.format, *usage, {}});
    }
    return {};
  }

  fs::path root_;
  std::map<std::string, std::size_t> seen_;  // real path of a folder -> its first file, if it is a category
};

}  // namespace

const char* to_string(Usage usage) {
  switch (usage) {
    case Usage::unknown:
      return "unknown";
    case Usage::black:
      return "black";
    case Usage::white:
      return "white";
    case Usage::both:
      return "black and white";
  }
  return "unknown";
}

Result<std::vector<ListFile>> expand_list(const std::string& argument) {
  std::error_code failed;
  if (argument == "-" || !fs::is_directory(argument, failed)) {
    ListFile file;
    file.path = file.list = argument;
    return std::vector<ListFile>{std::move(file)};
  }
  Walk walk{fs::path(argument)};
  // A folder that is itself a category is named after itself.
  const fs::path real = fs::canonical(argument, failed);
  if (failed) return unexpected(folder_error(argument, failed.message()));
  const bool single = is_category(argument);
  if (auto ok = walk.visit(argument, single ? real.filename().string() : std::string(), 0); !ok)
    return unexpected(ok.error());
  if (walk.files.empty()) {
    return unexpected(
        Error{Errc::usage, argument, "a folder without the files domains, urls or expressions of a category"});
  }
  walk.files.front().left_out = std::move(walk.left_out);
  return std::move(walk.files);
}

}  // namespace bloomwall::filter
