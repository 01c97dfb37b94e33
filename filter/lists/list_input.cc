// SPDX-License-Identifier: Apache-2.0
#include "filter/lists/list_input.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/evp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "base/handles.h"
#include "base/names.h"
#include "filter/lists/decoder.h"

namespace bloomwall::filter {
namespace {

constexpr int kNoDescriptor = -1;

using DigestContext = std::unique_ptr<EVP_MD_CTX, FreeWith<EVP_MD_CTX_free>>;

}  // namespace

const char* to_string(Compression compression) {
  static constexpr auto kWords = name_table<Compression>({{Compression::none, "none"},
                                                          {Compression::gzip, "gzip"},
                                                          {Compression::xz, "xz"},
                                                          {Compression::zstd, "zstd"},
                                                          {Compression::bzip2, "bzip2"},
                                                          {Compression::lz4, "lz4"}});
  return kWords.text(compression);
}

struct ListInput::State {
  std::string name;
  int file = kNoDescriptor;  // or
  UniqueFd owned;            // the same one, where it is not that of stdin
  std::string_view memory;   // where there is no descriptor
  std::size_t memory_at = 0;
  std::shared_ptr<const UniqueFd> shared;  // or `total` bytes of this one from `begin` on
  std::uint64_t begin = 0;
  std::size_t step = kInputChunkBytes;
  bool seekable = false;
  std::uint64_t total = 0;
  timespec written{};  // when the file was, as open() found it; with its size

  bool started = false;
  bool stored_end = false;  // no more stored bytes
  Compression compression = Compression::none;
  std::unique_ptr<Decoder> decoder;
  std::vector<char> stored;  // read and not yet decoded: [at, at + left)
  std::size_t at = 0;
  std::size_t left = 0;
  std::vector<char> text;  // decoded
  std::uint64_t stored_bytes = 0;
  std::uint64_t text_bytes = 0;
  DigestContext digest{EVP_MD_CTX_new()};
  DigestContext stored_digest{EVP_MD_CTX_new()};  // of compressed bytes; others are the text
  bool wants_digest = true;

  Result<void> refill();
  Result<void> start();
  Result<std::string_view> plain();
  Result<std::string_view> decoded();
  Error corrupt(std::string_view why) const;
  Result<void> check_unchanged() const;
  void restart();
  TextDigest finished(const DigestContext& context) const;
};

// Appends to `stored` until it holds something or the end is reached; what is left moves to the front first.
Result<void> ListInput::State::refill() {
  stored.resize(kInputChunkBytes);
  if (left > 0) std::memmove(stored.data(), stored.data() + at, left);
  at = 0;
  const std::size_t room = std::min(stored.size() - left, step);
  std::size_t got = 0;
  if (file == kNoDescriptor) {
    got = std::min(room, memory.size() - memory_at);
    if (got > 0) std::memcpy(stored.data() + left, memory.data() + memory_at, got);
    memory_at += got;
  } else {
    ssize_t n = 0;
    do {
      n = shared ? ::pread(file, stored.data() + left, std::min<std::uint64_t>(room, total - stored_bytes),
                           static_cast<off_t>(begin + stored_bytes))
                 : ::read(file, stored.data() + left, room);
    } while (n < 0 && errno == EINTR);
    if (n < 0) return system_error(name, "read");
    got = static_cast<std::size_t>(n);
  }
  if (started && decoder && wants_digest) EVP_DigestUpdate(stored_digest.get(), stored.data() + left, got);
  left += got;
  stored_bytes += got;
  if (got == 0) stored_end = true;
  return {};
}

// The compression shows in the first octets, which a pipe may hand over one by one.
Result<void> ListInput::State::start() {
  EVP_DigestInit_ex(digest.get(), EVP_sha256(), nullptr);
  while (left < kMagicBytes && !stored_end) {
    if (auto ok = refill(); !ok) return ok;
  }
  compression = compression_of({stored.data() + at, left});
  decoder = make_decoder(compression);
  EVP_DigestInit_ex(stored_digest.get(), EVP_sha256(), nullptr);
  if (decoder && wants_digest) EVP_DigestUpdate(stored_digest.get(), stored.data() + at, left);
  started = true;
  return {};
}

Result<std::string_view> ListInput::State::plain() {
  if (left == 0 && !stored_end) {
    if (auto ok = refill(); !ok) return unexpected(ok.error());
  }
  const std::string_view chunk{stored.data() + at, std::min(left, step)};
  at += chunk.size();
  left -= chunk.size();
  return chunk;
}

Result<std::string_view> ListInput::State::decoded() {
  text.resize(std::min(kInputChunkBytes, step));
  while (true) {
    if (left == 0 && !stored_end) {
      if (auto ok = refill(); !ok) return unexpected(ok.error());
    }
    const auto done = decoder->step({stored.data() + at, left}, text, stored_end);
    if (!done) return unexpected(corrupt(done.error()));
    at += done->consumed;
    left -= done->consumed;
    if (done->produced > 0) return std::string_view{text.data(), done->produced};
    if (done->consumed > 0 || !stored_end) continue;
    if (!decoder->at_end() || left > 0) return unexpected(corrupt("the data end in the middle"));
    return std::string_view{};
  }
}

Error ListInput::State::corrupt(std::string_view why) const {
  return Error{Errc::bad_syntax, name,
               fmt::format("damaged {} data at byte {}: {}; nothing can be built from it, fetch it again",
                           to_string(compression), stored_bytes - left, why)};
}

// At the end: half of an old list and half of a new one are neither. A pipe has no state to compare.
Result<void> ListInput::State::check_unchanged() const {
  struct stat about{};
  if (!seekable || shared || file == kNoDescriptor) return {};
  if (::fstat(file, &about) != 0) return system_error(name, "stat");
  const bool same = static_cast<std::uint64_t>(about.st_size) == total && about.st_mtim.tv_sec == written.tv_sec &&
                    about.st_mtim.tv_nsec == written.tv_nsec;
  if (same) return {};
  return unexpected(
      Error{Errc::io, name, "was written to while it was read; replace lists by rename, and run this again"});
}

void ListInput::State::restart() {
  started = stored_end = false;
  memory_at = at = left = 0;
  stored_bytes = text_bytes = 0;
  decoder.reset();
}

ListInput::ListInput(std::unique_ptr<State> state) : state_(std::move(state)) {}
ListInput::ListInput(ListInput&&) noexcept = default;
ListInput& ListInput::operator=(ListInput&&) noexcept = default;
ListInput::~ListInput() = default;

Result<ListInput> ListInput::open(const std::string& path) {
  auto state = std::make_unique<State>();
  state->name = path;
  if (path == "-") {
    state->file = STDIN_FILENO;
    return ListInput(std::move(state));
  }
  state->owned.reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  state->file = state->owned.get();
  if (!state->owned) return system_error(path, "open");
  struct stat about{};
  if (::fstat(state->file, &about) != 0) return system_error(path, "stat");
  if (S_ISDIR(about.st_mode)) return unexpected(Error{Errc::usage, path, "is a folder, not a list"});
  state->seekable = S_ISREG(about.st_mode);
  if (state->seekable) {
    state->total = static_cast<std::uint64_t>(about.st_size);
    state->written = about.st_mtim;
  }
  return ListInput(std::move(state));
}

ListInput ListInput::of_memory(std::string_view bytes, std::string name) {
  return of_memory(bytes, std::move(name), kInputChunkBytes);
}

ListInput ListInput::of_memory(std::string_view bytes, std::string name, std::size_t step) {
  auto state = std::make_unique<State>();
  state->name = std::move(name);
  state->memory = bytes;
  state->step = std::max<std::size_t>(step, 1);
  state->seekable = true;
  state->total = bytes.size();
  return ListInput(std::move(state));
}

ListInput ListInput::of_range(std::shared_ptr<const UniqueFd> file, std::uint64_t offset, std::uint64_t size,
                              std::string name) {
  auto state = std::make_unique<State>();
  state->name = std::move(name);
  state->file = file->get();
  state->shared = std::move(file);
  state->begin = offset;
  state->total = size;
  state->seekable = true;
  return ListInput(std::move(state));
}

Result<std::string_view> ListInput::next() {
  if (!state_->started) {
    if (auto ok = state_->start(); !ok) return unexpected(ok.error());
  }
  auto chunk = state_->decoder ? state_->decoded() : state_->plain();
  if (chunk && chunk->empty()) {
    if (auto ok = state_->check_unchanged(); !ok) return unexpected(ok.error());
  }
  if (chunk) {
    if (state_->wants_digest) EVP_DigestUpdate(state_->digest.get(), chunk->data(), chunk->size());
    state_->text_bytes += chunk->size();
  }
  return chunk;
}

bool ListInput::can_rewind() const { return state_->seekable; }

Result<void> ListInput::rewind() {
  if (!can_rewind()) return unexpected(Error{Errc::usage, name(), "cannot be read twice"});
  if (state_->file != kNoDescriptor && !state_->shared && ::lseek(state_->file, 0, SEEK_SET) != 0) {
    return system_error(name(), "rewind");
  }
  state_->restart();
  return {};
}

const std::string& ListInput::name() const { return state_->name; }
Compression ListInput::compression() const { return state_->compression; }
std::uint64_t ListInput::text_bytes() const { return state_->text_bytes; }
std::uint64_t ListInput::stored_bytes() const { return state_->stored_bytes; }
std::uint64_t ListInput::stored_total() const { return state_->total; }

void ListInput::without_digest() { state_->wants_digest = false; }

TextDigest ListInput::digest() const { return state_->finished(state_->digest); }

TextDigest ListInput::stored_digest() const {
  return state_->finished(state_->decoder ? state_->stored_digest : state_->digest);
}

TextDigest ListInput::State::finished(const DigestContext& context) const {
  TextDigest result{};
  const DigestContext copy{EVP_MD_CTX_new()};
  // A fresh context digests nothing: asked before the first next(), the answer is the digest of the empty text.
  if (started) {
    EVP_MD_CTX_copy_ex(copy.get(), context.get());
  } else {
    EVP_DigestInit_ex(copy.get(), EVP_sha256(), nullptr);
  }
  EVP_DigestFinal_ex(copy.get(), result.data(), nullptr);
  return result;
}

namespace {

// One octet over the limit is enough to know a line for what it is, once both byte order marks (the file's and the
// line's) and the CR at its end are gone.
constexpr std::size_t kMostKept = kMaxLineBytes + 1 + 2 * kByteOrderMark.size() + 1;

}  // namespace

// A line that never ends must not be collected.
void LineBlocks::keep(std::string_view unfinished) {
  const std::size_t room = kMostKept - std::min(tail_.size(), kMostKept);
  tail_.append(unfinished.substr(0, room));
}

void LineBlocks::hand_over(LineBlock& block, std::string_view whole_lines) {
  block.text.assign(tail_);
  block.text.append(whole_lines);
  tail_.clear();
  block.first_line = next_line_;
  next_line_ += static_cast<std::uint64_t>(std::count(block.text.begin(), block.text.end(), '\n'));
  if (drops_mark_ && block.text.starts_with(kByteOrderMark)) block.text.erase(0, kByteOrderMark.size());
  drops_mark_ = false;
}

// The encoding shows in the first octets, which a pipe may hand over one by one.
Result<std::string_view> LineBlocks::first_text() {
  is_begun_ = true;
  while (text_.size() < kEncodingBytes && !is_over_) {
    const auto chunk = input_.next();
    if (!chunk) return chunk;
    is_over_ = chunk->empty();
    text_.append(*chunk);
  }
  const TextEncoding encoding = encoding_of(text_);
  if (encoding == TextEncoding::utf8) return text_;
  utf16_.emplace(encoding);
  const std::string bytes = std::exchange(text_, {});
  utf16_->decode(std::string_view(bytes).substr(kUtf16MarkBytes), text_);
  return text_;
}

// The next piece of text in UTF-8; empty at the end.
Result<std::string_view> LineBlocks::next_text() {
  if (!is_begun_ && drops_mark_) {
    const auto text = first_text();
    if (!text || !text->empty()) return text;
  }
  if (!utf16_) return is_over_ ? Result<std::string_view>(std::string_view{}) : input_.next();
  text_.clear();
  while (text_.empty() && !is_over_) {
    const auto chunk = input_.next();
    if (!chunk) return chunk;
    is_over_ = chunk->empty();
    is_over_ ? utf16_->finish(text_) : utf16_->decode(*chunk, text_);
  }
  return text_;
}

Result<bool> LineBlocks::next(LineBlock& block) {
  while (true) {
    const auto chunk = next_text();
    if (!chunk) return unexpected(chunk.error());
    if (chunk->empty()) {
      if (tail_.empty()) return false;
      hand_over(block, {});
      return true;
    }
    const std::size_t end = chunk->rfind('\n');
    if (end == std::string_view::npos) {
      keep(*chunk);
      continue;
    }
    hand_over(block, chunk->substr(0, end + 1));
    keep(chunk->substr(end + 1));
    return true;
  }
}

}  // namespace bloomwall::filter
