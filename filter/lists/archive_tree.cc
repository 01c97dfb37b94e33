// SPDX-License-Identifier: Apache-2.0
#include "filter/lists/archive_tree.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

namespace bloomwall::filter {
namespace fs = std::filesystem;
namespace {

constexpr int kMaxLinks = 40;  // from one to the next, as the kernel has it

class ArchiveTree final : public ListTree {
 public:
  // `nodes` have one for the root.
  ArchiveTree(std::string name, std::shared_ptr<const ArchiveNodes> nodes, std::shared_ptr<const UniqueFd> file)
      : archive_(std::move(name)), all_(std::move(nodes)), nodes_(*all_), file_(std::move(file)) {
    const std::vector<std::string> names = names_in({});
    if (names.size() == 1 && nodes_.at(names.front()).kind == ArchiveNode::Kind::folder) top_ = names.front();
  }

  bool is_archive() const override { return true; }
  std::uint64_t unpacked_bytes() const override {
    struct stat status{};
    return ::fstat(file_->get(), &status) == 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
  }
  std::shared_ptr<const ListTree> named(const std::string& name) const override {
    return std::make_shared<const ArchiveTree>(name, all_, file_);
  }
  std::string own_name() const override {
    if (!top_.empty()) return top_;
    const std::string name = fs::path(archive_).filename().string();
    return name.substr(0, name.find('.', 1));
  }
  std::string shown(const std::string& path) const override { return fmt::format("{}:{}", archive_, path_of(path)); }
  bool is_file(const std::string& path) const override {
    const auto* node = find(path_of(path));
    return node != nullptr && node->second.kind == ArchiveNode::Kind::file;
  }
  Result<std::string> real(const std::string& folder) const override {
    const auto* node = find(path_of(folder));
    if (node == nullptr) return unexpected(Error{Errc::io, shown(folder), "is a link to nowhere"});
    return node->first;
  }
  Result<Contents> contents_of(const std::string& folder) const override {
    const auto real_folder = real(folder);
    if (!real_folder) return unexpected(real_folder.error());
    std::vector<std::string> names = names_in(*real_folder);
    std::stable_partition(names.begin(), names.end(), [&](const std::string& name) {
      return nodes_.at(below(*real_folder, name)).kind != ArchiveNode::Kind::link;
    });
    Contents contents;
    for (const std::string& name : names) {
      const auto* node = find(below(*real_folder, name));
      if (node == nullptr) return unexpected(Error{Errc::io, shown(below(folder, name)), "is a link to nowhere"});
      if (node->second.kind == ArchiveNode::Kind::other)
        return unexpected(Error{Errc::io, shown(below(folder, name)), "is a pipe, a socket or a device, not a list"});
      (node->second.kind == ArchiveNode::Kind::folder ? contents.folders : contents.files).push_back(name);
    }
    return contents;
  }
  Result<ListInput> open(const std::string& path) const override {
    const auto* node = find(path_of(path));
    if (node == nullptr || node->second.kind != ArchiveNode::Kind::file)
      return unexpected(Error{Errc::io, shown(path), "is not a file of the archive"});
    return ListInput::of_range(file_, node->second.offset, node->second.size, shown(path));
  }

 private:
  std::string path_of(const std::string& path) const { return path.empty() ? top_ : below(top_, path); }

  // Of what is in `folder`, in order.
  std::vector<std::string> names_in(const std::string& folder) const {
    const std::string start = folder.empty() ? folder : folder + '/';
    std::vector<std::string> names;
    for (auto at = nodes_.lower_bound(start); at != nodes_.end() && at->first.starts_with(start); ++at) {
      const std::string_view rest = std::string_view(at->first).substr(start.size());
      if (!rest.empty() && rest.find('/') == std::string_view::npos) names.emplace_back(rest);
    }
    return names;
  }

  // Nothing where a link on the way leads nowhere.
  std::optional<std::string> follow(const std::string& path, int& links) const {
    std::string done;
    for (const fs::path& part : fs::path(path)) {
      done = below(done, part.string());
      const auto at = nodes_.find(done);
      if (at == nodes_.end()) return std::nullopt;
      if (at->second.kind != ArchiveNode::Kind::link) continue;
      if (!at->second.target || ++links > kMaxLinks) return std::nullopt;
      auto target = follow(*at->second.target, links);
      if (!target) return std::nullopt;
      done = *std::move(target);
    }
    return done;
  }
  const ArchiveNodes::value_type* find(const std::string& path) const {
    int links = 0;
    const auto real_path = follow(path, links);
    if (!real_path) return nullptr;
    const auto at = nodes_.find(*real_path);
    return at == nodes_.end() ? nullptr : &*at;
  }

  std::string archive_;
  std::shared_ptr<const ArchiveNodes> all_;
  const ArchiveNodes& nodes_;  // by path, with the folders that are above others only
  std::shared_ptr<const UniqueFd> file_;
  std::string top_;  // the one folder that holds everything
};

}  // namespace

std::shared_ptr<const ListTree> make_archive_tree(std::string name, ArchiveNodes nodes, UniqueFd file) {
  nodes.try_emplace({});
  return std::make_shared<const ArchiveTree>(std::move(name), std::make_shared<const ArchiveNodes>(std::move(nodes)),
                                             std::make_shared<const UniqueFd>(std::move(file)));
}

}  // namespace bloomwall::filter
