// SPDX-License-Identifier: Apache-2.0
#include "proxy/net/batch.h"

#include <algorithm>
#include <cstring>

#include "proxy/http/rewrite.h"

namespace bloomwall::proxy {
namespace {

// A head that once was huge must not be remembered for ever.
constexpr std::size_t kKeptCapacity = std::size_t{64} * 1024;

void clear_text(std::string& text) {
  text.clear();
  if (text.capacity() > kKeptCapacity) text.shrink_to_fit();
}

iovec as_iovec(std::string_view text) { return {const_cast<char*>(text.data()), text.size()}; }

}  // namespace

void Batch::add_body(std::span<const char> piece, Stream& to, bool chunked) {
  if (piece.empty()) return;
  const bool small = piece.size() <= kSmallPiece && piece.size() <= copies_.size();
  if (count_ == kMaxPieces || (small && copied_ + piece.size() > copies_.size())) flush(to, chunked);
  body_bytes_ += piece.size();
  if (!small) {
    pieces_[count_++] = {const_cast<char*>(piece.data()), piece.size()};
    return;
  }
  char* const copy = copies_.data() + copied_;
  std::memcpy(copy, piece.data(), piece.size());
  copied_ += piece.size();
  iovec* const last = count_ > 0 ? &pieces_[count_ - 1] : nullptr;
  if (last != nullptr && static_cast<char*>(last->iov_base) + last->iov_len == copy) {
    last->iov_len += piece.size();
  } else {
    pieces_[count_++] = {copy, piece.size()};
  }
}

void Batch::flush(Stream& to, bool chunked) {
  std::array<iovec, kMaxPieces + 4> out;  // NOLINT: filled as far as it is used
  std::size_t n = 0;
  ChunkHead frame;
  if (!head_.empty()) out[n++] = as_iovec(head_);
  const bool framed = chunked && body_bytes_ > 0;
  if (framed) out[n++] = as_iovec(chunk_head(body_bytes_, frame));
  n = static_cast<std::size_t>(std::copy_n(pieces_.begin(), count_, out.begin() + static_cast<std::ptrdiff_t>(n)) -
                               out.begin());
  if (framed) out[n++] = as_iovec(kChunkTail);
  if (!tail_.empty()) out[n++] = as_iovec(tail_);
  if (n > 0) to.send(std::span<const iovec>(out.data(), n));
  clear();
}

void Batch::clear() {
  clear_text(head_);
  clear_text(tail_);
  count_ = 0;
  body_bytes_ = 0;
  copied_ = 0;
}

}  // namespace bloomwall::proxy
