// Octets in order between OpenSSL and a transport: what OpenSSL writes into or reads from a BIO, and its other end.
//
// BIO_s_mem() does the same, but clears its memory at each change of size and each reset, which cost more than AES for
// bulk. What lies here is ciphertext.
// Memory: a block of kKeptBytes stays for as long as the queue lives. A larger one goes when the queue is empty; one of
// kSpareBytes to the next queue of the thread that needs it (at most two of them wait for that).
// Cost: one copy in, one copy out. Errors: std::bad_alloc. Thread: one, and blocks stay with it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <openssl/bio.h>

#include <cstddef>
#include <memory>
#include <span>

namespace bloomwall::proxy {

class OctetQueue {
 public:
  static constexpr std::size_t kKeptBytes = 2048;                      // most requests
  static constexpr std::size_t kRecordBytes = std::size_t{20} * 1024;  // the largest record of TLS, and a small one
  static constexpr std::size_t kSpareBytes = std::size_t{320} * 1024;  // what a read of a worker gives, and its rest

  OctetQueue() = default;
  ~OctetQueue() { release(); }
  OctetQueue(const OctetQueue&) = delete;
  OctetQueue& operator=(const OctetQueue&) = delete;

  // A BIO over this queue, which must outlive it. Reading from an empty one says "later", never "end".
  BIO* new_bio();

  void append(std::span<const char> octets);
  std::size_t take(std::span<char> room);  // how many octets were moved
  void clear();
  std::span<const char> view() const { return {block_.get() + begin_, end_ - begin_}; }
  std::size_t size() const { return end_ - begin_; }
  std::size_t capacity() const { return capacity_; }

 private:
  void make_room(std::size_t count);
  void release();

  std::unique_ptr<char[]> block_;
  std::size_t capacity_ = 0, begin_ = 0, end_ = 0;
};

}  // namespace bloomwall::proxy
