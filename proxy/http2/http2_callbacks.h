// nghttp2's callbacks: doors to the members of a connection. Included by this folder alone.
// Thread: the connection's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "proxy/http2/nghttp2_parts.h"

namespace bloomwall::proxy {

struct Http2Connection::Callbacks {
  static Nghttp2CallbacksPtr make(Role role);
  // Of the body of a stream that is sent.
  static ssize_t supply(nghttp2_session* session, std::int32_t id, std::uint8_t* room, std::size_t size,
                        std::uint32_t* flags, nghttp2_data_source*, void* user);

 private:
  static Http2Connection& of(void* user) { return *static_cast<Http2Connection*>(user); }
  static int on_begin_headers(nghttp2_session*, const nghttp2_frame*, void* user);
  static int on_header(nghttp2_session*, const nghttp2_frame*, const std::uint8_t* name, std::size_t name_size,
                       const std::uint8_t* value, std::size_t value_size, std::uint8_t flags, void* user);
  static int on_invalid_header(nghttp2_session* session, const nghttp2_frame* frame, const std::uint8_t* name,
                               std::size_t name_size, const std::uint8_t* value, std::size_t value_size,
                               std::uint8_t flags, void* user);
  static int on_frame_recv(nghttp2_session*, const nghttp2_frame* frame, void* user);
  static int on_data_chunk(nghttp2_session* session, std::uint8_t, std::int32_t id, const std::uint8_t* data,
                           std::size_t size, void* user);
  static int on_stream_close(nghttp2_session* session, std::int32_t id, std::uint32_t code, void* user);
  static int on_frame_send(nghttp2_session*, const nghttp2_frame* frame, void* user);
  static int on_frame_not_send(nghttp2_session*, const nghttp2_frame* frame, int, void* user);
};

}  // namespace bloomwall::proxy
