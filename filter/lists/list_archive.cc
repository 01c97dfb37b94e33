// SPDX-License-Identifier: Apache-2.0
#include "filter/lists/list_archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/handles.h"
#include "base/units.h"
#include "filter/lists/archive_tree.h"
#include "filter/lists/list_format.h"
#include "filter/lists/spool.h"
#include "filter/lists/utf8_locale.h"

namespace bloomwall::filter {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kBlockBytes = 512;              // a header of tar, and what the data of a file are padded to
constexpr std::uint64_t kEndBytes = 2 * kBlockBytes;  // of zeros, at the end
constexpr std::size_t kMaxName = 4096;                // octets, as the kernel has it for a path
constexpr std::string_view kZipMember = "PK\x03\x04";
constexpr std::string_view kZipEnd = "PK\x05\x06";
constexpr std::size_t kZipEndBytes = 22;  // of the record at the end, which a comment of up to 64 KiB follows

using Node = ArchiveNode;
using Reader = std::unique_ptr<archive, FreeWith<archive_read_free>>;

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

// One reading of an archive, from its first entry to its last.
class Unpacking {
 public:
  Unpacking(archive* reader, std::string name, const char* kind, Spool spool)
      : reader_(reader), name_(std::move(name)), kind_(kind), spool_(std::move(spool)), buffer_(kInputChunkBytes) {}
  Result<void> run();
  std::shared_ptr<const ListTree> tree() && {
    return make_archive_tree(std::move(name_), std::move(nodes_), std::move(spool_.file()));
  }
  Error damaged() const;

 private:
  Result<void> take(archive_entry* entry);
  Result<Node> node_of(archive_entry* entry, const std::string& path);
  Result<Node> link(const char* target, const std::string& path) const;
  Result<void> unpack(Node& node);
  Result<void> add(const std::string& path, Node node);
  Error refused(Errc code, std::string what) const { return Error{code, name_, std::move(what)}; }
  Error too_long() const { return refused(Errc::limit, fmt::format("holds a name of over {} octets", kMaxName)); }

  Utf8Locale utf8_;
  archive* reader_;
  std::string name_;
  const char* kind_;
  Spool spool_;
  std::vector<char> buffer_;
  ArchiveNodes nodes_;
};

Result<void> Unpacking::run() {
  while (true) {
    archive_entry* entry = nullptr;
    const int code = archive_read_next_header(reader_, &entry);
    if (code == ARCHIVE_EOF) return {};
    // A warning may be about a name in another encoding, which is taken as it stands. Others are about metadata that
    // were not understood, names and sizes among them.
    const bool is_encoding = code == ARCHIVE_WARN && archive_errno(reader_) == EILSEQ;
    if (code != ARCHIVE_OK && !is_encoding) return unexpected(damaged());
    if (auto ok = take(entry); !ok) return unexpected(ok.error());
  }
}

Result<void> Unpacking::take(archive_entry* entry) {
  const char* name = either(archive_entry_pathname_utf8(entry), archive_entry_pathname(entry));
  if (name == nullptr) return unexpected(refused(Errc::bad_syntax, "holds a name that cannot be read"));
  if (std::strlen(name) > kMaxName) return unexpected(too_long());
  const auto path = normal_path(name);
  if (!path) return unexpected(refused(Errc::bad_syntax, "holds a name that leads out of the archive"));
  if (path->empty()) {
    if (archive_entry_filetype(entry) == AE_IFDIR) return {};
    return unexpected(refused(Errc::bad_syntax, "holds a file without a name"));
  }
  if (archive_entry_is_encrypted(entry) != 0) {
    return unexpected(refused(Errc::bad_syntax, fmt::format("{} in it is encrypted: decrypt it first", *path)));
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
      if (archive_entry_sparse_count(entry) > 0) {  // zeros by the gigabyte in a few octets
        return unexpected(refused(Errc::bad_syntax, fmt::format("{} in it has holes, which no list has", path)));
      }
      if (auto ok = unpack(node); !ok) return unexpected(ok.error());
      break;
    case AE_IFDIR:
      break;
    case AE_IFLNK:
      return link(either(archive_entry_symlink_utf8(entry), archive_entry_symlink(entry)), path);
    default:
      node.kind = Node::Kind::other;
  }
  return node;
}

Result<Node> Unpacking::link(const char* target, const std::string& path) const {
  Node node;
  node.kind = Node::Kind::link;
  if (target == nullptr) return node;
  if (std::strlen(target) > kMaxName) return unexpected(too_long());
  if (goes_up_again(target)) {
    return unexpected(refused(Errc::bad_syntax, fmt::format("{}: a link whose target goes up behind a name", path)));
  }
  if (*target != '/') node.target = normal_path(fs::path(path).parent_path() / target);
  return node;
}

Result<void> Unpacking::unpack(Node& node) {
  node.offset = spool_.written();
  while (true) {
    const la_ssize_t got = archive_read_data(reader_, buffer_.data(), buffer_.size());
    if (got < 0) return unexpected(damaged());
    if (got == 0) break;
    if (auto ok = spool_.write({buffer_.data(), static_cast<std::size_t>(got)}); !ok) return ok;
  }
  node.size = spool_.written() - node.offset;
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
  const char* why = archive_error_string(reader_);
  return refused(Errc::bad_syntax, fmt::format("damaged {} archive: {}; nothing can be built from it, fetch it again",
                                               kind_, why != nullptr ? why : "no reason is known"));
}

std::string too_large(const UnpackLimit& limit) {
  return fmt::format("unpacks to more than {}", format_size(limit.most_bytes));
}

// What libarchive reads a tar archive from.
struct TarFeed {
  ListInput input;
  UnpackLimit limit;
  std::optional<Error> error = {};
  std::uint64_t zeros = 0;  // at the end of what was read

  // Empty at the end.
  Result<std::string_view> read() {
    if (is_stopped(limit)) return unexpected(interrupted(input.name()));
    auto chunk = input.next();
    if (chunk && input.text_bytes() > limit.most_bytes) {
      if (limit.is_passed != nullptr) *limit.is_passed = true;
      return unexpected(Error{Errc::limit, input.name(), too_large(limit)});
    }
    return chunk;
  }
  // What is left behind the last file, for its checksum and for the limit.
  Result<void> read_rest() {
    while (true) {
      const auto chunk = read();
      if (!chunk) return unexpected(chunk.error());
      if (chunk->empty()) return {};
    }
  }

  static la_ssize_t next(archive* reader, void* self, const void** piece) {
    auto& mine = *static_cast<TarFeed*>(self);
    const auto chunk = mine.read();
    if (!chunk) {
      mine.error = chunk.error();
      archive_set_error(reader, EIO, "%s", chunk.error().what.c_str());
      return ARCHIVE_FATAL;
    }
    const std::size_t text = chunk->find_last_not_of('\0') + 1;  // npos + 1 is 0
    mine.zeros = (text == 0 ? mine.zeros : 0) + chunk->size() - text;
    *piece = chunk->data();
    return static_cast<la_ssize_t>(chunk->size());
  }
};

// The number of entries that the end of a zip archive states; none where there is no such end. `tail`: its last octets.
std::optional<std::size_t> stated_members(std::string_view tail) {
  const std::size_t at = tail.rfind(kZipEnd);
  if (at == std::string_view::npos || tail.size() - at < kZipEndBytes) return std::nullopt;
  return static_cast<unsigned char>(tail[at + 10]) + 256U * static_cast<unsigned char>(tail[at + 11]);
}

Result<std::shared_ptr<const ListTree>> unpack_zip(archive* reader, const std::string& name, std::uint64_t size,
                                                   std::string_view tail, const UnpackLimit& limit) {
  const auto members = stated_members(tail);
  if (!members) {
    return unexpected(Error{Errc::bad_syntax, name, "damaged zip archive: its end is missing; fetch it again"});
  }
  if (*members > kMaxFolderFiles) {
    return unexpected(Error{Errc::limit, name, fmt::format("more than {} files or folders", kMaxFolderFiles)});
  }
  auto file = file_without_name();
  if (!file) return unexpected(file.error());
  const std::uint64_t by_ratio =
      std::max(kMostZipBytes, size > kMaxArchiveBytes / kMaxZipRatio ? kMaxArchiveBytes : size * kMaxZipRatio);
  const bool is_by_ratio = by_ratio < limit.most_bytes;
  std::string why =
      is_by_ratio ? fmt::format("unpacks to more than {} times its size", kMaxZipRatio) : too_large(limit);
  Unpacking unpacking(
      reader, name, "zip",
      Spool(*std::move(file), name, is_by_ratio ? UnpackLimit{.most_bytes = by_ratio, .stop = limit.stop} : limit,
            std::move(why)));
  if (auto ok = unpacking.run(); !ok) return unexpected(ok.error());
  auto tree = std::move(unpacking).tree();
  if (limit.counted != nullptr) *limit.counted = tree->unpacked_bytes();
  return tree;
}

Reader zip_reader() {
  Reader reader(archive_read_new());
  archive_read_support_format_zip_seekable(reader.get());
  return reader;
}

Error no_zip(archive* reader, const std::string& name) {
  const char* why = archive_error_string(reader);
  return Error{Errc::bad_syntax, name,
               fmt::format("damaged zip archive: {}; fetch it again", why != nullptr ? why : "no reason is known")};
}

// A zip archive is read from its end.
Result<std::shared_ptr<const ListTree>> read_zip_file(const UniqueFd& file, const std::string& name,
                                                      const UnpackLimit& limit) {
  const off_t size = ::lseek(file.get(), 0, SEEK_END);
  if (size < 0) return system_error(name, "seek");
  std::string tail(std::min<std::size_t>(static_cast<std::size_t>(size), kZipEndBytes + 0xFFFF), '\0');
  const ssize_t got = ::pread(file.get(), tail.data(), tail.size(), size - static_cast<off_t>(tail.size()));
  if (got < 0 || ::lseek(file.get(), 0, SEEK_SET) != 0) return system_error(name, "read");
  tail.resize(static_cast<std::size_t>(got));
  const Reader reader = zip_reader();
  if (archive_read_open_fd(reader.get(), file.get(), kInputChunkBytes) != ARCHIVE_OK) {
    return unexpected(no_zip(reader.get(), name));
  }
  return unpack_zip(reader.get(), name, static_cast<std::uint64_t>(size), tail, limit);
}

// Of a compressed one, as the copies of update are, all of it is unpacked first.
Result<std::shared_ptr<const ListTree>> open_zip(ListInput input, const UnpackLimit& limit) {
  if (input.compression() == Compression::none) {
    const UniqueFd file(::open(input.name().c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) return system_error(input.name(), "open");
    return read_zip_file(file, input.name(), limit);
  }
  if (auto ok = input.rewind(); !ok) return unexpected(ok.error());
  auto file = file_without_name();
  if (!file) return unexpected(file.error());
  Spool spool(*std::move(file), input.name(), limit, too_large(limit));
  while (true) {
    const auto chunk = input.next();
    if (!chunk) return unexpected(chunk.error());
    if (chunk->empty()) return read_zip_file(spool.file(), input.name(), limit);
    if (auto ok = spool.write(*chunk); !ok) return unexpected(ok.error());
  }
}

enum class ArchiveKind : std::uint8_t { none, tar, zip };

ArchiveKind kind_of(ListInput& input) {
  std::string start;
  while (start.size() < kBlockBytes) {
    const auto chunk = input.next();
    if (!chunk || chunk->empty()) break;
    start += chunk->substr(0, kBlockBytes);
  }
  if (start.starts_with(kZipMember) || start.starts_with(kZipEnd)) return ArchiveKind::zip;
  return start.size() >= kBlockBytes && is_tar(start) ? ArchiveKind::tar : ArchiveKind::none;
}

}  // namespace

Result<std::shared_ptr<const ListTree>> read_archive(ListInput input, const UnpackLimit& limit) {
  input.without_digest();
  const std::string name = input.name();
  TarFeed feed{std::move(input), limit};
  auto file = file_without_name();
  if (!file) return unexpected(file.error());
  const Reader reader(archive_read_new());
  archive_read_support_format_tar(reader.get());
  Unpacking unpacking(reader.get(), name, "tar", Spool(*std::move(file), name, limit, too_large(limit)));
  // Behind the first end there must be nothing or another archive: what is there is read, not dropped.
  const bool ready = archive_read_set_options(reader.get(), "tar:read_concatenated_archives") == ARCHIVE_OK &&
                     archive_read_open(reader.get(), &feed, nullptr, TarFeed::next, nullptr) == ARCHIVE_OK;
  const Result<void> done = ready ? unpacking.run() : unexpected(unpacking.damaged());
  if (!done) return unexpected(feed.error ? *std::move(feed.error) : done.error());
  if (feed.zeros < kEndBytes) {
    return unexpected(Error{Errc::bad_syntax, name, "the archive is cut: its end is missing"});
  }
  if (auto ok = feed.read_rest(); !ok) return unexpected(ok.error());
  if (limit.counted != nullptr) *limit.counted = feed.input.text_bytes();
  return std::move(unpacking).tree();
}

Result<std::shared_ptr<const ListTree>> read_zip(std::string_view bytes, const std::string& name) {
  const Reader reader = zip_reader();
  if (archive_read_open_memory(reader.get(), bytes.data(), bytes.size()) != ARCHIVE_OK) {
    return unexpected(no_zip(reader.get(), name));
  }
  return unpack_zip(reader.get(), name, bytes.size(),
                    bytes.substr(bytes.size() - std::min<std::size_t>(bytes.size(), kZipEndBytes + 0xFFFF)), {});
}

Result<std::shared_ptr<const ListTree>> open_archive(const std::string& path, const UnpackLimit& limit) {
  auto input = ListInput::open(path);
  if (!input || !input->can_rewind()) return nullptr;
  input->without_digest();
  const ArchiveKind kind = kind_of(*input);
  if (kind == ArchiveKind::none) return nullptr;
  if (kind == ArchiveKind::zip) return open_zip(*std::move(input), limit);
  if (auto ok = input->rewind(); !ok) return unexpected(ok.error());
  return read_archive(*std::move(input), limit);
}

}  // namespace bloomwall::filter
