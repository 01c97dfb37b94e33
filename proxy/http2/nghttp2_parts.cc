// SPDX-License-Identifier: Apache-2.0
#include "proxy/http2/nghttp2_parts.h"

#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

namespace bloomwall::proxy {
namespace {

using Memory = Http2Connection::Memory;

constexpr std::size_t kFrame = 16'384;              // octets of a payload: the most that we let a peer send
constexpr std::uint32_t kFirstStreams = 100;        // that an origin is assumed to take before its SETTINGS have come
constexpr std::size_t kMostAcks = 128;              // answers to PING and SETTINGS that wait
constexpr std::uint64_t kNeverReached = 1U << 30U;  // FrameBudget counts resets

Memory& memory_of(void* user) { return *static_cast<Memory*>(user); }

void* count_taken(void* block, void* user) {
  if (block != nullptr) memory_of(user).take(malloc_usable_size(block));
  return block;
}

void* allocate(std::size_t size, void* user) { return count_taken(std::malloc(size), user); }

void* allocate_zeros(std::size_t count, std::size_t size, void* user) {
  return count_taken(std::calloc(count, size), user);
}

void give_back(void* block, void* user) {
  if (block != nullptr) memory_of(user).give(malloc_usable_size(block));
  std::free(block);
}

void* reallocate(void* block, std::size_t size, void* user) {
  void* const grown = allocate(size, user);
  if (block == nullptr || grown == nullptr) return grown;
  std::memcpy(grown, block, std::min(size, malloc_usable_size(block)));
  give_back(block, user);
  return grown;
}

}  // namespace

Nghttp2OptionsPtr make_nghttp2_options(Http2Connection::Role role, const Http2Connection::Limits& limits) {
  nghttp2_option* made = nullptr;
  if (nghttp2_option_new(&made) != 0) throw std::bad_alloc();
  Nghttp2OptionsPtr options(made);
  nghttp2_option_set_no_auto_window_update(made, 1);
  nghttp2_option_set_no_closed_streams(made, 1);
  nghttp2_option_set_max_outbound_ack(made, kMostAcks);
  nghttp2_option_set_max_send_header_block_length(made, std::size_t{32} << 20U);  // heads were limited when they came
  nghttp2_option_set_max_continuations(made, most_compressed(limits.head) / kFrame + 8);
  nghttp2_option_set_stream_reset_rate_limit(made, kNeverReached, kNeverReached);
  if (role == Http2Connection::Role::client) {
    nghttp2_option_set_peer_max_concurrent_streams(made, std::min(limits.streams, kFirstStreams));
    nghttp2_option_set_no_rfc9113_leading_and_trailing_ws_validation(made, 1);  // as browsers and curl
  }
  return options;
}

nghttp2_mem nghttp2_memory(Http2Connection::Memory& memory) {
  return {
      .mem_user_data = &memory, .malloc = allocate, .free = give_back, .calloc = allocate_zeros, .realloc = reallocate};
}

std::vector<nghttp2_nv> nghttp2_list(std::span<const Http2Field> list) {
  std::vector<nghttp2_nv> nvs;
  nvs.reserve(list.size());
  for (const Http2Field& field : list) {
    auto* const name = reinterpret_cast<std::uint8_t*>(const_cast<char*>(field.name.data()));
    auto* const value = reinterpret_cast<std::uint8_t*>(const_cast<char*>(field.value.data()));
    const auto flags = field.never_indexed ? NGHTTP2_NV_FLAG_NO_INDEX : NGHTTP2_NV_FLAG_NONE;
    nvs.push_back({name, value, field.name.size(), field.value.size(), static_cast<std::uint8_t>(flags)});
  }
  return nvs;
}

}  // namespace bloomwall::proxy
