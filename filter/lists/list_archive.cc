// SPDX-License-Identifier: Apache-2.0
#include "filter/lists/list_archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/handles.h"
#include "filter/lists/list_format.h"

namespace bloomwall::filter {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kBlockBytes = 512;              // a header, and what the data of a file are padded to
constexpr std::uint64_t kEndBytes = 2 * kBlockBytes;  // of zeros, at the end
constexpr std::size_t kMaxName = 4096;                // octets, as the kernel has it for a path
constexpr int kMaxLinks = 40;                         // from one to the next, as the kernel has it

struct Node {
  enum class Kind : std::uint8_t { file, folder, link, other };
  Kind kind = Kind::folder;
  std::uint64_t offset = 0;           // of a file, among the unpacked ones
  std::uint64_t size = 0;             // of a file
  std::optional<std::string> target;  // of a link, from the archive's root; none: outside of the archive
};
using Nodes = std::map<std::string, Node>;

// "./a//b/" as "a/b", the root as ""; none where it leads above the root.
std::optional<std::string> normal_path(const fs::path& path) {
  std::string text = path.relative_path().lexically_normal().generic_string();
  while (text.ends_with('/')) text.pop_back();
  if (text == "." || text.empty()) return std::string();
  if (text == ".." || text.starts_with("../")) return std::nullopt;
  return text;
}

// "a/../b": where a is a link itself, that is not "b".
bool goes_up_again(const fs::path& target) {
  bool has_name = false;
  for (const fs::path& part : target) {
    if (part == ".." && has_name) return true;
    has_name |= part != ".." && part != "." && !part.empty();
  }
  return false;
}

// libarchive gives a name as UTF-8 where it is, or else as it stands.
const char* either(const char* utf8, const char* octets) { return utf8 != nullptr ? utf8 : octets; }

class ArchiveTree final : public ListTree {
 public:
  ArchiveTree(std::string name, Nodes nodes, UniqueFd file)
      : archive_(std::move(name)), nodes_(std::move(nodes)), file_(std::make_shared<const UniqueFd>(std::move(file))) {
    nodes_.try_emplace({});
    const std::vector<std::string> names = names_in({});
    if (names.size() == 1 && nodes_.at(names.front()).kind == Node::Kind::folder) top_ = names.front();
  }

  std::string own_name() const override {
    if (!top_.empty()) return top_;
    const std::string name = fs::path(archive_).filename().string();
    return name.substr(0, name.find('.', 1));
  }
  std::string shown(const std::string& path) const override { return fmt::format("{}:{}", archive_, path_of(path)); }
  bool is_file(const std::string& path) const override {
    const auto* node = find(path_of(path));
    return node != nullptr && node->second.kind == Node::Kind::file;
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
      return nodes_.at(below(*real_folder, name)).kind != Node::Kind::link;
    });
    Contents contents;
    for (const std::string& name : names) {
      const auto* node = find(below(*real_folder, name));
      if (node == nullptr) return unexpected(Error{Errc::io, shown(below(folder, name)), "is a link to nowhere"});
      if (node->second.kind == Node::Kind::other)
        return unexpected(Error{Errc::io, shown(below(folder, name)), "is a pipe, a socket or a device, not a list"});
      (node->second.kind == Node::Kind::folder ? contents.folders : contents.files).push_back(name);
    }
    return contents;
  }
  Result<ListInput> open(const std::string& path) const override {
    const auto* node = find(path_of(path));
    if (node == nullptr || node->second.kind != Node::Kind::file)
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
      if (at->second.kind != Node::Kind::link) continue;
      if (!at->second.target || ++links > kMaxLinks) return std::nullopt;
      auto target = follow(*at->second.target, links);
      if (!target) return std::nullopt;
      done = *std::move(target);
    }
    return done;
  }
  const Nodes::value_type* find(const std::string& path) const {
    int links = 0;
    const auto real_path = follow(path, links);
    if (!real_path) return nullptr;
    const auto at = nodes_.find(*real_path);
    return at == nodes_.end() ? nullptr : &*at;
  }

  std::string archive_;
  Nodes nodes_;  // by path, with the folders that are above others only
  std::shared_ptr<const UniqueFd> file_;
  std::string top_;  // the one folder that holds everything
};

// One reading of an archive, from its first octet to its last.
class Unpacking {
 public:
  explicit Unpacking(ListInput input) : input_(std::move(input)), buffer_(kInputChunkBytes) {}
  Result<std::shared_ptr<const ListTree>> run();

 private:
  using Reader = std::unique_ptr<archive, FreeWith<archive_read_free>>;

  static la_ssize_t feed(archive* reader, void* self, const void** piece);
  Result<void> make_file();
  Result<void> take(archive_entry* entry);
  Result<Node> node_of(archive_entry* entry, const std::string& path);
  Result<void> unpack(Node& node);
  Result<void> write(std::string_view piece);
  Result<void> add(const std::string& path, Node node);
  Error damaged() const;
  Error refused(Errc code, std::string what) const { return Error{code, input_.name(), std::move(what)}; }
  Error too_long() const { return refused(Errc::limit, fmt::format("holds a name of over {} octets", kMaxName)); }

  ListInput input_;
  std::optional<Error> input_error_;
  std::uint64_t zeros_ = 0;  // at the end of what was read
  Reader reader_{archive_read_new()};
  std::vector<char> buffer_;
  UniqueFd file_;
  std::uint64_t written_ = 0;
  Nodes nodes_;
};

la_ssize_t Unpacking::feed(archive* reader, void* self, const void** piece) {
  auto& mine = *static_cast<Unpacking*>(self);
  const auto chunk = mine.input_.next();
  if (!chunk) {
    mine.input_error_ = chunk.error();
    archive_set_error(reader, EIO, "%s", chunk.error().what.c_str());
    return ARCHIVE_FATAL;
  }
  const std::size_t text = chunk->find_last_not_of('\0') + 1;  // npos + 1 is 0
  mine.zeros_ = (text == 0 ? mine.zeros_ : 0) + chunk->size() - text;
  *piece = chunk->data();
  return static_cast<la_ssize_t>(chunk->size());
}

Result<std::shared_ptr<const ListTree>> Unpacking::run() {
  if (auto ok = make_file(); !ok) return unexpected(ok.error());
  archive_read_support_format_tar(reader_.get());
  // Behind the first end there must be nothing or another archive: what is there is read, not dropped.
  const bool ready = archive_read_set_options(reader_.get(), "tar:read_concatenated_archives") == ARCHIVE_OK &&
                     archive_read_open(reader_.get(), this, nullptr, feed, nullptr) == ARCHIVE_OK;
  if (!ready) return unexpected(damaged());
  while (true) {
    archive_entry* entry = nullptr;
    const int code = archive_read_next_header(reader_.get(), &entry);
    if (code == ARCHIVE_EOF) break;
    // A warning may be about a name in another encoding, which is taken as it stands. Others are about metadata that
    // were not understood, names and sizes among them.
    const bool is_encoding = code == ARCHIVE_WARN && archive_errno(reader_.get()) == EILSEQ;
    if (code != ARCHIVE_OK && !is_encoding) return unexpected(damaged());
    if (auto ok = take(entry); !ok) return unexpected(ok.error());
  }
  if (zeros_ < kEndBytes) return unexpected(refused(Errc::bad_syntax, "the archive is cut: its end is missing"));
  return std::make_shared<const ArchiveTree>(input_.name(), std::move(nodes_), std::move(file_));
}

Result<void> Unpacking::make_file() {
  std::error_code failed;
  const fs::path folder = fs::temp_directory_path(failed);
  if (failed) return unexpected(Error{Errc::io, folder.string(), failed.message()});
  std::string name = (folder / "bloomwall-lists-XXXXXX").string();
  file_.reset(::mkostemp(name.data(), O_CLOEXEC));
  if (!file_)
    return unexpected(Error{Errc::io, folder.string(), fmt::format("cannot unpack here: {}", std::strerror(errno))});
  ::unlink(name.c_str());
  return {};
}

Result<void> Unpacking::take(archive_entry* entry) {
  const char* name = either(archive_entry_pathname_utf8(entry), archive_entry_pathname(entry));
  if (name != nullptr && std::strlen(name) > kMaxName) return unexpected(too_long());
  const auto path = name != nullptr ? normal_path(name) : std::nullopt;
  if (!path) return unexpected(refused(Errc::bad_syntax, "holds a name that leads out of the archive"));
  if (path->empty()) {
    if (archive_entry_filetype(entry) == AE_IFDIR) return {};
    return unexpected(refused(Errc::bad_syntax, "holds a file without a name"));
  }
  auto node = node_of(entry, *path);
  if (!node) return unexpected(node.error());
  return add(*path, *std::move(node));
}

Result<Node> Unpacking::node_of(archive_entry* entry, const std::string& path) {
  Node node;
  if (const char* same = either(archive_entry_hardlink_utf8(entry), archive_entry_hardlink(entry)); same != nullptr) {
    if (std::strlen(same) > kMaxName) return unexpected(too_long());
    node.kind = Node::Kind::link;
    node.target = normal_path(same);
    // The content that it has now, also where another file takes that name later in the archive.
    const auto at = node.target ? nodes_.find(*node.target) : nodes_.end();
    return at != nodes_.end() && at->second.kind == Node::Kind::file ? at->second : node;
  }
  switch (archive_entry_filetype(entry)) {
    case AE_IFREG:
      node.kind = Node::Kind::file;
      if (auto ok = unpack(node); !ok) return unexpected(ok.error());
      break;
    case AE_IFDIR:
      break;
    case AE_IFLNK:
      node.kind = Node::Kind::link;
      if (const char* to = either(archive_entry_symlink_utf8(entry), archive_entry_symlink(entry)); to != nullptr) {
        if (std::strlen(to) > kMaxName) return unexpected(too_long());
        if (goes_up_again(to)) {
          return unexpected(
              refused(Errc::bad_syntax, fmt::format("{}: a link whose target goes up behind a name", path)));
        }
        if (*to != '/') node.target = normal_path(fs::path(path).parent_path() / to);
      }
      break;
    default:
      node.kind = Node::Kind::other;
  }
  return node;
}

Result<void> Unpacking::unpack(Node& node) {
  node.offset = written_;
  while (true) {
    const la_ssize_t got = archive_read_data(reader_.get(), buffer_.data(), buffer_.size());
    if (got < 0) return unexpected(damaged());
    if (got == 0) break;
    if (auto ok = write({buffer_.data(), static_cast<std::size_t>(got)}); !ok) return ok;
  }
  node.size = written_ - node.offset;
  return {};
}

Result<void> Unpacking::write(std::string_view piece) {
  if (piece.size() > kMaxArchiveBytes - written_) {
    return unexpected(refused(Errc::limit, fmt::format("unpacks to more than {} GiB", kMaxArchiveBytes >> 30U)));
  }
  while (!piece.empty()) {
    const ssize_t done = ::write(file_.get(), piece.data(), piece.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return unexpected(refused(Errc::io, fmt::format("cannot unpack: {}", std::strerror(errno))));
    piece.remove_prefix(static_cast<std::size_t>(done));
    written_ += static_cast<std::uint64_t>(done);
  }
  return {};
}

Result<void> Unpacking::add(const std::string& path, Node node) {
  const auto too_many = [&] {
    return unexpected(refused(Errc::limit, fmt::format("more than {} files or folders", kMaxFolderFiles)));
  };
  for (std::size_t end = path.find('/'); end != std::string::npos; end = path.find('/', end + 1)) {
    if (nodes_.size() > kMaxFolderFiles) return too_many();
    const Node& above = nodes_.try_emplace(path.substr(0, end)).first->second;
    if (above.kind != Node::Kind::folder)
      return unexpected(refused(Errc::bad_syntax, fmt::format("the parent of {} is not a folder", path)));
  }
  const auto [at, is_new] = nodes_.try_emplace(path, node);
  if (!is_new && at->second.kind != node.kind)
    return unexpected(refused(Errc::bad_syntax, fmt::format("{} is in it twice, as different things", path)));
  at->second = std::move(node);  // the later one counts, as tar has it
  if (nodes_.size() > kMaxFolderFiles) return too_many();
  return {};
}

Error Unpacking::damaged() const {
  if (input_error_) return *input_error_;
  const char* why = archive_error_string(reader_.get());
  return refused(Errc::bad_syntax, fmt::format("damaged tar archive: {}; nothing can be built from it, fetch it again",
                                               why != nullptr ? why : "no reason is known"));
}

bool begins_as_archive(ListInput& input) {
  std::string start;
  while (start.size() < kBlockBytes) {
    const auto chunk = input.next();
    if (!chunk || chunk->empty()) return false;
    start += chunk->substr(0, kBlockBytes);
  }
  return is_tar(start);
}

}  // namespace

Result<std::shared_ptr<const ListTree>> read_archive(ListInput input) {
  input.without_digest();
  return Unpacking(std::move(input)).run();
}

Result<std::shared_ptr<const ListTree>> open_archive(const std::string& path) {
  auto input = ListInput::open(path);
  if (!input || !input->can_rewind()) return nullptr;
  input->without_digest();
  if (!begins_as_archive(*input)) return nullptr;
  if (auto ok = input->rewind(); !ok) return unexpected(ok.error());
  return read_archive(*std::move(input));
}

}  // namespace bloomwall::filter
