// SPDX-License-Identifier: Apache-2.0
#include "filter/release/origin_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <fstream>
#include <span>
#include <system_error>
#include <thread>

#include "base/encoding.h"
#include "base/units.h"
#include "filter/file/exact_side.h"
#include "filter/file/kept_file.h"
#include "filter/file/leaves.h"
#include "filter/file/temp_file.h"
#include "filter/policy/delta_signature.h"
#include "filter/policy/entry_text.h"

namespace bloomwall::filter {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kTick{20};  // file times may lag that much behind the clock
constexpr std::size_t kNameBytes = 16;          // of a header's digest, in the name of a file

tl::unexpected<Error> refuse(Errc code, const fs::path& where, std::string what) {
  return unexpected(Error{code, where.string(), std::move(what)});
}

// Of plain names alone: temporary files and whatever else begins with a dot are passed over. A folder that is not there
// is empty.
Result<std::vector<std::string>> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  fs::directory_iterator at(folder, error);
  if (error == std::errc::no_such_file_or_directory) return names;
  for (; !error && at != fs::directory_iterator(); at.increment(error)) {
    std::string name = at->path().filename().string();
    if (is_release_name(name)) names.push_back(std::move(name));
  }
  if (error) return refuse(Errc::io, folder, "cannot be read: " + error.message());
  std::ranges::sort(names);
  return names;
}

Result<void> make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return refuse(Errc::io, folder, "cannot be made: " + error.message());
  return {};
}

std::string name_by(const Sha256& header, const char* ending) {
  return "files/" + to_hex(std::span(header).first(kNameBytes)) + ending;
}

Result<std::array<std::byte, kHeaderBytes>> read_header(const fs::path& file) {
  std::array<std::byte, kHeaderBytes> head{};
  std::ifstream in(file, std::ios::binary);
  if (!in) return system_error(file, "open");
  if (!in.read(reinterpret_cast<char*>(head.data()), std::ssize(head))) {
    return refuse(Errc::too_short, file, "has no whole header");
  }
  return head;
}

Result<void> copy_unless_there(const fs::path& from, const std::optional<FileVersion>& version, const fs::path& to) {
  std::error_code ignored;
  if (fs::exists(to, ignored)) return {};
  if (auto ok = make_folder(to.parent_path()); !ok) return ok;
  return keep_copy(from, version, to, {});
}

Result<void> check_size(const fs::path& file, std::uint64_t size) {
  struct stat status{};
  if (::stat(file.c_str(), &status) != 0) return system_error(file, "find");
  if (S_ISREG(status.st_mode) && static_cast<std::uint64_t>(status.st_size) == size) return {};
  return refuse(Errc::bad_digest, file, "has another size than the release says");
}

Result<void> check_file(const fs::path& file, const FilePart& part) {
  if (auto ok = check_size(file, part.size); !ok) return ok;
  const auto head = read_header(file);
  if (!head) return unexpected(head.error());
  if (sha256(*head) != part.header) return refuse(Errc::bad_digest, file, "has another header than the release says");
  return {};
}

Result<void> check_delta(const fs::path& file, const DeltaPart& part) {
  if (auto ok = check_size(file, part.size); !ok) return ok;
  const auto text = read_entry_text(file);
  if (!text) return unexpected(text.error());
  if (sha256(std::as_bytes(std::span(*text))) == part.sha256) return {};
  return refuse(Errc::bad_digest, file, "has another digest than the release says");
}

}  // namespace

TextOpener opener_of(const std::vector<SigningKey>& keys) {
  return [&keys](std::string_view bytes, const std::string& name, std::string_view domain) {
    return open_text(bytes, name, domain, std::span(keys));
  };
}

TextOpener opener_of(TrustedKeys trusted) {
  return [trusted = std::make_shared<TrustedKeys>(std::move(trusted))](std::string_view bytes, const std::string& name,
                                                                       std::string_view domain) {
    return open_text(bytes, name, domain, *trusted);
  };
}

TextOpener opener_of_anybody() {
  return [](std::string_view bytes, const std::string& name, std::string_view) -> Result<OpenedText> {
    const auto parts = split_signatures(bytes, name);
    if (!parts) return unexpected(parts.error());
    return OpenedText{.text = parts->text};
  };
}

Result<OriginFolder> OriginFolder::open(const fs::path& folder, const std::string& filter, Use use) {
  if (!is_release_name(filter)) return refuse(Errc::usage, {}, "the filter's name: letters, digits, '.', '-', '_'");
  fs::path own = folder / filter;
  if (use == Use::create) {
    if (auto ok = make_folder(own); !ok) return unexpected(ok.error());
  }
  UniqueFd lock(::open(own.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!lock) return system_error(own, "open");
  if (use != Use::read && ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return refuse(Errc::io, own, "is being changed by another process; try again");
    return system_error(own, "lock");
  }
  return OriginFolder(std::move(own), filter, std::move(lock));
}

Result<std::vector<std::string>> OriginFolder::rings() const { return names_in(folder_ / "rings"); }

Result<std::vector<std::uint64_t>> OriginFolder::releases() const {
  const auto names = names_in(folder_ / "releases");
  if (!names) return unexpected(names.error());
  std::vector<std::uint64_t> out;
  for (const std::string& name : *names) {
    const auto number = parse_integer(name);
    if (number && release_file(*number) == "releases/" + name) out.push_back(*number);
  }
  std::ranges::sort(out);
  return out;
}

Result<std::vector<std::string>> OriginFolder::files() const {
  std::vector<std::string> out;
  const auto add = [&](const std::string& below) -> Result<void> {
    auto names = names_in(folder_ / below);
    if (!names) return unexpected(names.error());
    for (const std::string& name : *names) out.push_back(fmt::format("{}/{}", below, name));
    return {};
  };
  if (auto ok = add("files"); !ok) return unexpected(ok.error());
  const auto contents = names_in(folder_ / "deltas");
  if (!contents) return unexpected(contents.error());
  for (const std::string& content : *contents) {
    if (auto ok = add("deltas/" + content); !ok) return unexpected(ok.error());
  }
  std::ranges::sort(out);
  return out;
}

Result<std::string> OriginFolder::read_text(const std::string& part) const {
  const fs::path file = folder_ / part;
  std::ifstream in(file, std::ios::binary);
  if (!in) return system_error(file, "open");
  std::string text(kMostReleaseText + 1, '\0');
  in.read(text.data(), std::ssize(text));
  if (in.bad()) return system_error(file, "read");
  text.resize(static_cast<std::size_t>(in.gcount()));
  if (text.size() > kMostReleaseText) return refuse(Errc::limit, file, fmt::format("over {} bytes", kMostReleaseText));
  return text;
}

Result<RingText> OriginFolder::ring(const std::string& name, const TextOpener& open) const {
  const std::string part = ring_file(name), where = path_of(part).string();
  const auto bytes = read_text(part);
  if (!bytes) return unexpected(bytes.error());
  const auto opened = open(*bytes, where, kRingDomain);
  if (!opened) return unexpected(opened.error());
  auto ring = parse_ring(opened->text, where);
  if (ring && (ring->filter != filter_ || ring->ring != name)) {
    return refuse(Errc::untrusted, where, fmt::format("is the ring {} of the filter {}", ring->ring, ring->filter));
  }
  return ring;
}

Result<ReleaseText> OriginFolder::release(std::uint64_t number, const TextOpener& open) const {
  const std::string part = release_file(number), where = path_of(part).string();
  const auto bytes = read_text(part);
  if (!bytes) return unexpected(bytes.error());
  const auto opened = open(*bytes, where, kReleaseDomain);
  if (!opened) return unexpected(opened.error());
  auto release = parse_release(opened->text, where);
  if (release && (release->filter != filter_ || release->release != number)) {
    return refuse(Errc::untrusted, where,
                  fmt::format("is release {} of the filter {}", release->release, release->filter));
  }
  return release;
}

Result<FilePart> OriginFolder::add_base(const fs::path& file, const Progress& progress) const {
  const auto version = version_of(file);
  const auto opened = FilterFile::open(file);
  if (!opened) return unexpected(opened.error());
  if (auto whole = (*opened)->verify(FilterFile::Depth::tampering, progress); !whole) return unexpected(whole.error());
  FilePart part{.file = {},
                .content = content_id((*opened)->header()),
                .size = (*opened)->header().file_bytes,
                .header = sha256((*opened)->header_bytes())};
  part.file = name_by(part.header, ".bwf");
  if (auto ok = copy_unless_there(file, version, path_of(part.file)); !ok) return unexpected(ok.error());
  if (auto ok = check_file(path_of(part.file), part); !ok) return unexpected(ok.error());
  return part;
}

Result<FilePart> OriginFolder::add_exact(const fs::path& file, const FilePart& base, const Progress& progress) const {
  const auto filter = FilterFile::open(path_of(base.file));
  if (!filter) return unexpected(filter.error());
  const auto version = version_of(file);
  const auto opened = ExactSide::open(file, (*filter)->header().exact_root);
  if (!opened) return unexpected(opened.error());
  if (auto whole = (*opened)->verify(FilterFile::Depth::tampering, progress); !whole) return unexpected(whole.error());
  const auto head = read_header((*opened)->path());
  if (!head) return unexpected(head.error());
  FilePart part{.file = {}, .content = base.content, .size = (*opened)->header().file_bytes, .header = sha256(*head)};
  part.file = name_by(part.header, ".bwx");
  if (auto ok = copy_unless_there((*opened)->path(), version, path_of(part.file)); !ok) return unexpected(ok.error());
  if (auto ok = check_file(path_of(part.file), part); !ok) return unexpected(ok.error());
  return part;
}

Result<DeltaPart> OriginFolder::add_delta(const FileId& content, std::uint64_t release, std::string_view text,
                                          std::uint64_t changes) const {
  DeltaPart part{.file = fmt::format("deltas/{}/{:010}", to_hex(content), release),
                 .from = 0,
                 .to = release,
                 .size = text.size(),
                 .sha256 = sha256(std::as_bytes(std::span(text))),
                 .changes = changes};
  const fs::path file = path_of(part.file);
  if (auto ok = check_entry_text_size(text.size(), file); !ok) return unexpected(ok.error());
  if (auto ok = make_folder(file.parent_path()); !ok) return unexpected(ok.error());
  // What a publication that was killed has left is named by no release.
  if (auto ok = replace_file(file, text); !ok) return unexpected(ok.error());
  return part;
}

Result<void> OriginFolder::write_release(std::uint64_t number, std::string_view text) const {
  const fs::path file = path_of(release_file(number));
  if (auto ok = make_folder(file.parent_path()); !ok) return ok;
  std::error_code ignored;
  if (fs::exists(file, ignored)) return refuse(Errc::io, file, "is there already, and a release never changes");
  return replace_file(file, text);
}

Result<void> OriginFolder::write_ring(const std::string& name, std::string_view text) const {
  const fs::path file = path_of(ring_file(name));
  if (auto ok = make_folder(file.parent_path()); !ok) return ok;
  struct stat status{};
  if (::stat(file.c_str(), &status) == 0 && status.st_mtim.tv_sec == std::time(nullptr)) {
    const auto next = std::chrono::system_clock::from_time_t(status.st_mtim.tv_sec + 1);
    std::this_thread::sleep_until(next + kTick);
  }
  return replace_file(file, text);
}

Result<void> OriginFolder::remove(std::string_view part) const {
  const fs::path file = path_of(part);
  if (::unlink(file.c_str()) != 0 && errno != ENOENT) return system_error(file, "remove");
  return {};
}

void OriginFolder::remove_leftovers() const {
  std::vector<fs::path> gone;
  std::error_code error;
  fs::recursive_directory_iterator at(folder_, error);
  for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (name.starts_with('.') && (name.ends_with(".bwf-tmp") || name.starts_with(kWorkFile)))
      gone.push_back(at->path());
  }
  for (const fs::path& file : gone) ::unlink(file.c_str());
}

Result<void> OriginFolder::check_parts(const ReleaseText& release, bool whole, const Progress& progress) const {
  const fs::path base = path_of(release.base.file);
  if (auto ok = check_file(base, release.base); !ok) return ok;
  const auto opened = FilterFile::open(base);
  if (!opened) return unexpected(opened.error());
  const Header& header = (*opened)->header();
  if (content_id(header) != release.base.content || header.series_id != release.series) {
    return refuse(Errc::wrong_base, base, "has another content or series than the release says");
  }
  if (whole) {
    if (auto ok = (*opened)->verify(FilterFile::Depth::tampering, progress); !ok) return ok;
  }
  if (release.exact) {
    const fs::path exact = path_of(release.exact->file);
    if (auto ok = check_file(exact, *release.exact); !ok) return ok;
    const auto side = ExactSide::open(exact, header.exact_root);
    if (!side) return unexpected(side.error());
    if (whole) {
      if (auto ok = (*side)->verify(FilterFile::Depth::tampering, progress); !ok) return ok;
    }
  }
  return release.delta ? check_delta(path_of(release.delta->file), *release.delta) : Result<void>{};
}

}  // namespace bloomwall::filter
