// A growing array of plain values whose first N are stored inside the object, so that the usual URL allocates nothing.
// Nothing is initialised before it is pushed: making one costs two stores.
// Neither copied nor moved: it lives on the stack. Not thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>

namespace bloomwall {

template <typename T, std::size_t N>
class SmallBuffer {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);
  static_assert(alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);

 public:
  SmallBuffer() : data_(reinterpret_cast<T*>(inline_)) {}
  SmallBuffer(const SmallBuffer&) = delete;
  SmallBuffer& operator=(const SmallBuffer&) = delete;

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  std::span<const T> view() const { return {data_, size_}; }

  void clear() { size_ = 0; }
  void push_back(const T& value) {
    if (size_ == capacity_) {
      const T copy = value;  // may stand in the array that moves
      grow(size_ + 1);
      ::new (static_cast<void*>(data_ + size_++)) T(copy);
      return;
    }
    ::new (static_cast<void*>(data_ + size_++)) T(value);
  }
  // Resizes to `count`; new values are uninitialised.
  void resize_unset(std::size_t count) {
    if (count > capacity_) grow(count);
    size_ = count;
  }

 private:
  void grow(std::size_t wanted) {
    const std::size_t capacity = wanted > 2 * capacity_ ? wanted : 2 * capacity_;
    std::unique_ptr<std::byte[]> bytes(new std::byte[capacity * sizeof(T)]);
    T* moved = reinterpret_cast<T*>(bytes.get());
    std::uninitialized_copy_n(data_, size_, moved);
    heap_ = std::move(bytes);
    data_ = moved;
    capacity_ = capacity;
  }

  std::size_t size_ = 0;
  std::size_t capacity_ = N;
  T* data_;
  std::unique_ptr<std::byte[]> heap_;
  alignas(T) std::byte inline_[N * sizeof(T)];
};

}  // namespace bloomwall
