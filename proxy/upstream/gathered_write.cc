// SPDX-License-Identifier: Apache-2.0
#include "proxy/upstream/gathered_write.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "proxy/http/rewrite.h"
#include "proxy/io/transport.h"

namespace bloomwall::proxy {
namespace {

constexpr std::size_t kMaxPieces = 32;
// A string that one huge head has made larger than this is freed.
constexpr std::size_t kKeptCapacity = std::size_t{64} * 1024;

void clear_text(std::string& text) {
  text.clear();
  if (text.capacity() > kKeptCapacity) text.shrink_to_fit();
}

iovec as_iovec(std::string_view text) { return {const_cast<char*>(text.data()), text.size()}; }

}  // namespace

struct GatherBuffers::Buffer {
  explicit Buffer(std::size_t read_bytes) : copies(read_bytes) {}
  std::string head, tail;
  std::array<iovec, kMaxPieces> pieces{};
  std::size_t count = 0;         // of pieces
  std::uint64_t body_bytes = 0;  // in all of them
  std::vector<char> copies;      // of small pieces
  std::size_t copied = 0;
  std::array<iovec, kMaxPieces + 4> out{};  // assembled
  ChunkHead frame{};
};

GatherBuffers::GatherBuffers(std::size_t read_bytes) : read_bytes_(read_bytes) {}
GatherBuffers::~GatherBuffers() = default;

std::unique_ptr<GatherBuffers::Buffer> GatherBuffers::take() {
  if (spare_.empty()) return std::make_unique<Buffer>(read_bytes_);
  std::unique_ptr<Buffer> buffer = std::move(spare_.back());
  spare_.pop_back();
  return buffer;
}

void GatherBuffers::give(std::unique_ptr<Buffer> buffer) { spare_.push_back(std::move(buffer)); }

GatheredWrite::GatheredWrite(GatherBuffers& from) : from_(from), buffer_(from.take()) {}

GatheredWrite::~GatheredWrite() {
  clear();
  from_.give(std::move(buffer_));
}

std::string& GatheredWrite::head() { return buffer_->head; }
std::string& GatheredWrite::tail() { return buffer_->tail; }
bool GatheredWrite::empty() const { return buffer_->head.empty() && buffer_->tail.empty() && buffer_->body_bytes == 0; }

bool GatheredWrite::add_body(std::span<const char> piece) {
  if (piece.empty()) return true;
  GatherBuffers::Buffer& own = *buffer_;
  const bool small = piece.size() <= kSmallPiece && piece.size() <= own.copies.size();
  if (own.count == kMaxPieces || (small && own.copied + piece.size() > own.copies.size())) return false;
  own.body_bytes += piece.size();
  if (!small) {
    own.pieces[own.count++] = {const_cast<char*>(piece.data()), piece.size()};
    return true;
  }
  char* const copy = own.copies.data() + own.copied;
  std::memcpy(copy, piece.data(), piece.size());
  own.copied += piece.size();
  iovec* const last = own.count > 0 ? &own.pieces[own.count - 1] : nullptr;
  if (last != nullptr && static_cast<char*>(last->iov_base) + last->iov_len == copy) {
    last->iov_len += piece.size();
  } else {
    own.pieces[own.count++] = {copy, piece.size()};
  }
  return true;
}

std::span<const iovec> GatheredWrite::assemble(bool chunked) {
  GatherBuffers::Buffer& own = *buffer_;
  std::size_t n = 0;
  if (!own.head.empty()) own.out[n++] = as_iovec(own.head);
  const bool framed = chunked && own.body_bytes > 0;
  if (framed) own.out[n++] = as_iovec(chunk_head(own.body_bytes, own.frame));
  n = static_cast<std::size_t>(
      std::copy_n(own.pieces.begin(), own.count, own.out.begin() + static_cast<std::ptrdiff_t>(n)) - own.out.begin());
  if (framed) own.out[n++] = as_iovec(kChunkTail);
  if (!own.tail.empty()) own.out[n++] = as_iovec(own.tail);
  return std::span<const iovec>(own.out.data(), n);
}

void GatheredWrite::flush(Transport& to, bool chunked) {
  const std::span<const iovec> pieces = assemble(chunked);
  if (!pieces.empty()) to.send(pieces);
  clear();
}

void GatheredWrite::clear() {
  clear_text(buffer_->head);
  clear_text(buffer_->tail);
  buffer_->count = 0;
  buffer_->body_bytes = 0;
  buffer_->copied = 0;
}

}  // namespace bloomwall::proxy
