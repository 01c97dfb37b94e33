// SPDX-License-Identifier: Apache-2.0
#include "proxy/tls/octet_queue.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <utility>

#include "proxy/tls/handles.h"

namespace bloomwall::proxy {
namespace {

// Freed and allocated at each turn of a bulk transfer, such blocks would be unmapped and faulted in each time.
thread_local std::array<std::unique_ptr<char[]>, 2> spare_blocks;  // of kSpareBytes; nullptr: none

std::unique_ptr<char[]> new_block(std::size_t size) {
  if (size == OctetQueue::kSpareBytes) {
    for (auto& spare : spare_blocks) {
      if (spare != nullptr) return std::exchange(spare, nullptr);
    }
  }
  return std::unique_ptr<char[]>(new char[size]);
}

void give_back(std::unique_ptr<char[]> block, std::size_t size) {
  if (size != OctetQueue::kSpareBytes) return;
  for (auto& spare : spare_blocks) {
    if (spare == nullptr) {
      spare = std::move(block);
      return;
    }
  }
}

OctetQueue& queue_of(BIO* bio) { return *static_cast<OctetQueue*>(BIO_get_data(bio)); }

int write_queue(BIO* bio, const char* data, std::size_t size, std::size_t* written) try {
  BIO_clear_retry_flags(bio);
  queue_of(bio).append({data, size});
  *written = size;
  return 1;
} catch (const std::bad_alloc&) {
  return 0;
}

int read_queue(BIO* bio, char* room, std::size_t size, std::size_t* got) {
  BIO_clear_retry_flags(bio);
  *got = queue_of(bio).take({room, size});
  if (*got > 0) return 1;
  BIO_set_retry_read(bio);
  return 0;
}

long control_queue(BIO* bio, int command, long, void*) {
  switch (command) {
    case BIO_CTRL_FLUSH:
      return 1;
    case BIO_CTRL_PENDING:
    case BIO_CTRL_WPENDING:
      return static_cast<long>(queue_of(bio).size());
    default:
      return 0;
  }
}

using MethodPtr = std::unique_ptr<BIO_METHOD, FreeWith<&BIO_meth_free>>;
MethodPtr new_method() {
  MethodPtr method(BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "octet queue"));
  if (method == nullptr || BIO_meth_set_write_ex(method.get(), write_queue) != 1 ||
      BIO_meth_set_read_ex(method.get(), read_queue) != 1 || BIO_meth_set_ctrl(method.get(), control_queue) != 1) {
    throw std::bad_alloc();
  }
  return method;
}

}  // namespace

BIO* OctetQueue::new_bio() {
  static const MethodPtr method = new_method();
  BIO* const bio = BIO_new(method.get());
  if (bio == nullptr) throw std::bad_alloc();
  BIO_set_data(bio, this);
  BIO_set_init(bio, 1);
  return bio;
}

void OctetQueue::append(std::span<const char> octets) {
  if (octets.empty()) return;
  if (capacity_ - end_ < octets.size()) make_room(octets.size());
  std::memcpy(block_.get() + end_, octets.data(), octets.size());
  end_ += octets.size();
}

std::size_t OctetQueue::take(std::span<char> room) {
  const std::size_t count = std::min(room.size(), size());
  if (count == 0) return 0;
  std::memcpy(room.data(), block_.get() + begin_, count);
  begin_ += count;
  if (begin_ == end_) clear();
  return count;
}

void OctetQueue::clear() {
  begin_ = end_ = 0;
  if (capacity_ > kKeptBytes) release();
}

void OctetQueue::make_room(std::size_t count) {
  const std::size_t used = size(), wanted = used + count;
  if (wanted <= capacity_ && used <= begin_) {  // what is moved is no more than what was taken since
    std::memmove(block_.get(), block_.get() + begin_, used);
  } else {
    std::size_t capacity = std::max(wanted, 2 * capacity_);
    for (const std::size_t size : {kSpareBytes, kRecordBytes, kKeptBytes}) {
      if (wanted <= size) capacity = size;
    }
    auto block = new_block(capacity);
    if (used > 0) std::memcpy(block.get(), block_.get() + begin_, used);
    give_back(std::move(block_), capacity_);
    block_ = std::move(block);
    capacity_ = capacity;
  }
  begin_ = 0;
  end_ = used;
}

void OctetQueue::release() {
  give_back(std::move(block_), std::exchange(capacity_, 0));
  block_.reset();
}

}  // namespace bloomwall::proxy
