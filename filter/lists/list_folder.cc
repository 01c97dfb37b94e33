// SPDX-License-Identifier: Apache-2.0
#include "filter/lists/list_folder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/names.h"
#include "base/text.h"
#include "filter/lists/list_archive.h"
#include "filter/lists/list_input.h"

namespace bloomwall::filter {
namespace fs = std::filesystem;
namespace {

constexpr std::array<std::string_view, 6> kEndings{"", ".gz", ".xz", ".zst", ".bz2", ".lz4"};
constexpr std::uint64_t kMaxUsageBytes = std::uint64_t{64} << 10;

struct Member {
  const char* name;
  Format format;
};
constexpr std::array<Member, 3> kMembers{{{"domains", Format::squidguard_domains},
                                          {"urls", Format::squidguard_urls},
                                          {"expressions", Format::squidguard_expressions}}};

// What stands beside a list in an archive.
bool is_company(std::string_view name) {
  constexpr std::array<std::string_view, 8> kNames{"readme", "license",   "licence",   "copying",
                                                   "notice", "changelog", "copyright", "authors"};
  constexpr std::array<std::string_view, 6> kCompanyEndings{".md", ".asc", ".sig", ".md5", ".sha1", ".sha256"};
  return name.starts_with('.') ||
         std::any_of(kNames.begin(), kNames.end(), [&](auto known) { return starts_ignoring_case(name, known); }) ||
         std::any_of(kCompanyEndings.begin(), kCompanyEndings.end(), [&](auto end) { return name.ends_with(end); });
}

Error too_many(const std::string& folder) {
  return Error{Errc::limit, folder, fmt::format("more than {} files or folders", kMaxFolderFiles)};
}

// Folders on the disk.
class DiskTree final : public ListTree {
 public:
  explicit DiskTree(std::string root) : root_(std::move(root)) {}

  std::string own_name() const override {
    std::error_code failed;
    return fs::canonical(root_, failed).filename().string();
  }
  std::string shown(const std::string& path) const override { return at(path).string(); }
  bool is_file(const std::string& path) const override {
    std::error_code ignored;
    return fs::is_regular_file(at(path), ignored);
  }
  Result<std::string> real(const std::string& folder) const override {
    std::error_code failed;
    std::string path = fs::canonical(at(folder), failed).string();
    if (failed) return unexpected(error(at(folder), failed.message()));
    return path;
  }
  Result<Contents> contents_of(const std::string& folder) const override {
    std::vector<fs::path> files;
    std::vector<fs::path> folders;
    std::error_code failed;
    for (auto item = fs::directory_iterator(at(folder), failed); !failed && item != fs::directory_iterator();
         item.increment(failed)) {
      std::error_code ignored;
      const fs::file_status status = fs::status(item->path(), ignored);
      if (status.type() == fs::file_type::not_found) return unexpected(error(item->path(), "is a link to nowhere"));
      if (fs::is_other(status)) return unexpected(error(item->path(), "is a pipe, a socket or a device, not a list"));
      (fs::is_directory(status) ? folders : files).push_back(item->path());
      if (files.size() + folders.size() > kMaxFolderFiles) return unexpected(too_many(shown(folder)));
    }
    if (failed) return unexpected(error(at(folder), fmt::format("cannot list: {}", failed.message())));
    return Contents{names_of(std::move(files)), names_of(std::move(folders))};
  }
  Result<ListInput> open(const std::string& path) const override { return ListInput::open(shown(path)); }

 private:
  static Error error(const fs::path& path, std::string what) { return Error{Errc::io, path.string(), std::move(what)}; }
  static bool comes_before(const fs::path& a, const fs::path& b) {
    const bool a_link = fs::is_symlink(a);
    const bool b_link = fs::is_symlink(b);
    return a_link != b_link ? b_link : a.filename() < b.filename();
  }
  static std::vector<std::string> names_of(std::vector<fs::path> paths) {
    std::sort(paths.begin(), paths.end(), comes_before);
    std::vector<std::string> names;
    for (const fs::path& path : paths) names.push_back(path.filename().string());
    return names;
  }
  fs::path at(const std::string& path) const { return path.empty() ? root_ : root_ / path; }

  fs::path root_;
};

// Collects the categories of a tree, which `list` names.
class Walk {
 public:
  Walk(std::shared_ptr<const ListTree> tree, std::string list) : tree_(std::move(tree)), list_(std::move(list)) {}

  Result<std::vector<ListFile>> run() {
    // A folder that is itself a category is named after itself.
    const bool single = is_category({});
    if (auto ok = visit({}, single ? tree_->own_name() : std::string(), 0); !ok) return unexpected(ok.error());
    if (files_.empty() && tree_->is_archive()) {
      if (auto ok = add_single_list(); !ok) return unexpected(ok.error());
    }
    if (files_.empty()) {
      return unexpected(
          Error{Errc::usage, list_, "a folder without the files domains, urls or expressions of a category"});
    }
    files_.front().left_out = std::move(left_out_);
    return std::move(files_);
  }

 private:
  // Where the files of a category are among the others; none for other folders.
  struct Span {
    std::size_t first = 0, last = 0;
  };

  // The member file, under its own name or a compressed one.
  std::optional<std::string> find_member(const std::string& folder, std::string_view name) const {
    for (const std::string_view ending : kEndings) {
      std::string file = fmt::format("{}{}", name, ending);
      if (tree_->is_file(below(folder, file))) return file;
    }
    return std::nullopt;
  }

  bool is_category(const std::string& folder) const {
    return std::any_of(kMembers.begin(), kMembers.end(),
                       [&](const Member& m) { return find_member(folder, m.name).has_value(); });
  }

  Result<void> visit(const std::string& folder, const std::string& category, int depth) {
    const auto real = tree_->real(folder);
    if (!real) return unexpected(real.error());
    const auto [known, is_new] = seen_.try_emplace(*real, Span{});
    if (!is_new) {
      for (std::size_t i = known->second.first; i < known->second.last; ++i) files_[i].aliases.push_back(category);
      return {};
    }
    const auto contents = tree_->contents_of(folder);
    if (!contents) return unexpected(contents.error());
    const std::size_t first = files_.size();
    if (is_category(folder)) {
      if (auto ok = add(folder, category); !ok) return ok;
    }
    known->second = {first, files_.size()};
    for (const std::string& file : contents->files) leave_out_unread(folder, file);
    if (files_.size() + left_out_.size() > kMaxFolderFiles) return unexpected(too_many(list_));
    for (const std::string& child : contents->folders) {
      if (auto ok = descend(folder, child, category, depth + 1); !ok) return ok;
    }
    return {};
  }

  Result<void> descend(const std::string& folder, const std::string& name, const std::string& category, int depth) {
    const std::string child = below(folder, name);
    if (name.starts_with('.') || (tree_->is_archive() && name == "__MACOSX")) {
      left_out_.push_back(fmt::format("{} (a hidden folder)", tree_->shown(child)));
      return {};
    }
    if (depth > kMaxFolderDepth) {
      left_out_.push_back(fmt::format("{} (deeper than {} folders)", tree_->shown(child), kMaxFolderDepth));
      return {};
    }
    return visit(child, below(category, name), depth);
  }

  void leave_out_unread(const std::string& folder, const std::string& file) {
    const std::string path = tree_->shown(below(folder, file));
    for (const std::string_view name : {"domains", "urls", "expressions", "usage"}) {
      const auto read = find_member(folder, name);
      if (!read) continue;
      if (*read == file) return;
      const bool other_form = std::any_of(kEndings.begin(), kEndings.end(), [&](std::string_view ending) {
        return file == fmt::format("{}{}", name, ending);
      });
      if (other_form) {
        left_out_.push_back(fmt::format("{} (beside {})", path, *read));
        return;
      }
    }
    left_out_.push_back(fmt::format("{} (no file of a category)", path));
    if (tree_->is_archive() && !is_company(file)) lists_.push_back(below(folder, file));
  }

  // The list of an archive that holds nothing else.
  Result<void> add_single_list() {
    if (lists_.empty()) return {};
    if (lists_.size() > 1) {
      return unexpected(Error{Errc::usage, list_,
                              fmt::format("holds {} files ({}, {}{}) and no category: unpack it and name the lists",
                                          lists_.size(), lists_[0], lists_[1], lists_.size() > 2 ? ", ..." : "")});
    }
    const std::string path = lists_.front();
    ListFile file;
    file.path = tree_->shown(path);
    file.list = list_;
    file.opener = [tree = tree_, path] { return tree->open(path); };
    std::erase_if(left_out_, [&](const std::string& text) { return text.starts_with(file.path + " ("); });
    files_.push_back(std::move(file));
    return {};
  }

  Result<void> add(const std::string& folder, const std::string& category) {
    const auto usage = read_usage(folder);
    if (!usage) return unexpected(usage.error());
    for (const Member& member : kMembers) {
      const auto name = find_member(folder, member.name);
      if (!name) continue;
      if (files_.size() >= kMaxFolderFiles) return unexpected(too_many(list_));
      const std::string path = below(folder, *name);
      files_.push_back({tree_->shown(path), list_, category, {}, member.format, *usage, {}, [tree = tree_, path] {
                          return tree->open(path);
                        }});
    }
    return {};
  }

  // One word a line: "black", "white" and what else its author keeps there.
  Result<Usage> read_usage(const std::string& folder) const {
    const auto name = find_member(folder, "usage");
    if (!name) return Usage::unknown;
    auto input = tree_->open(below(folder, *name));
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

  std::shared_ptr<const ListTree> tree_;
  std::string list_;
  std::map<std::string, Span> seen_;  // by the real path of a folder
  std::vector<ListFile> files_;
  std::vector<std::string> left_out_;
  std::vector<std::string> lists_;  // of an archive: files that may be lists of their own
};

}  // namespace

const char* to_string(Usage usage) {
  static constexpr auto kWords = name_table<Usage>({{Usage::unknown, "unknown"},
                                                    {Usage::black, "black"},
                                                    {Usage::white, "white"},
                                                    {Usage::both, "black and white"}});
  return kWords.text(usage);
}

namespace {

bool is_within(std::string_view category, std::string_view wanted) {
  return category == wanted ||
         (category.starts_with(wanted) && category.size() > wanted.size() && category[wanted.size()] == '/');
}

bool is_named(const ListFile& file, std::string_view wanted) {
  return is_within(file.category, wanted) ||
         std::ranges::any_of(file.aliases, [&](const std::string& alias) { return is_within(alias, wanted); });
}

Error no_such_category(const std::string& argument, const std::string& wanted, const std::vector<ListFile>& files) {
  constexpr std::size_t kMostNamed = 12;
  std::vector<std::string> names;
  for (const ListFile& file : files) {
    if (!file.category.empty() && (names.empty() || names.back() != file.category)) names.push_back(file.category);
  }
  if (names.empty()) return {Errc::usage, argument, fmt::format("has no categories, so none is {}", wanted)};
  const std::size_t count = names.size();
  names.resize(std::min(count, kMostNamed));
  return {Errc::usage, argument,
          fmt::format("has no category {}; it has {}{}", wanted, fmt::join(names, ", "),
                      count > kMostNamed ? fmt::format(" and {} more", count - kMostNamed) : "")};
}

Result<std::vector<ListFile>> all_files(const std::string& argument, const std::shared_ptr<const ListTree>& unpacked) {
  if (unpacked != nullptr) {
    const auto own = unpacked->named(argument);
    return Walk(own != nullptr ? own : unpacked, argument).run();
  }
  std::error_code failed;
  const fs::file_status status = fs::status(argument, failed);
  if (argument != "-" && fs::is_directory(status))
    return Walk(std::make_shared<const DiskTree>(argument), argument).run();
  if (argument != "-" && fs::is_regular_file(status)) {
    auto archive = open_archive(argument);
    if (!archive) return unexpected(archive.error());
    if (*archive != nullptr) return Walk(*std::move(archive), argument).run();
  }
  ListFile file;
  file.path = file.list = argument;
  return std::vector<ListFile>{std::move(file)};
}

}  // namespace

Result<std::vector<ListFile>> expand_list(const std::string& argument, const std::vector<std::string>& categories,
                                          const std::shared_ptr<const ListTree>& unpacked) {
  auto files = all_files(argument, unpacked);
  if (!files || categories.empty()) return files;
  for (const std::string& wanted : categories) {
    if (std::ranges::none_of(*files, [&](const ListFile& file) { return is_named(file, wanted); }))
      return unexpected(no_such_category(argument, wanted, *files));
  }
  std::vector<std::string> left_out = std::move(files->front().left_out);
  std::erase_if(*files, [&](const ListFile& file) {
    return std::ranges::none_of(categories, [&](const std::string& wanted) { return is_named(file, wanted); });
  });
  files->front().left_out = std::move(left_out);
  return files;
}

}  // namespace bloomwall::filter
