// What a connection asks of nghttp2 once: owners of its objects, its options, its memory, and lists of fields as it
// takes them. Included by this folder alone, so that nothing else knows nghttp2.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nghttp2/nghttp2.h>

#include <memory>
#include <span>
#include <vector>

#include "base/handles.h"
#include "proxy/http2/http2_connection.h"

namespace bloomwall::proxy {

using Nghttp2OptionsPtr = std::unique_ptr<nghttp2_option, FreeWith<nghttp2_option_del>>;
using Nghttp2CallbacksPtr = std::unique_ptr<nghttp2_session_callbacks, FreeWith<nghttp2_session_callbacks_del>>;

// Octets of one header section as HPACK writes it, at most.
inline std::size_t most_compressed(const Http2FieldList::Limits& head) { return Http2FieldList::kFarOver * head.bytes; }

Nghttp2OptionsPtr make_nghttp2_options(Http2Connection::Role role, const Http2Connection::Limits& limits);
// Every block is counted by `memory`, with the size that malloc gave it.
nghttp2_mem nghttp2_memory(Http2Connection::Memory& memory);
// nghttp2 copies names and values, and writes names in lower case.
std::vector<nghttp2_nv> nghttp2_list(std::span<const Http2Field> list);

}  // namespace bloomwall::proxy
