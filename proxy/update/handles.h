// Owners of what libcurl and libzstd hand out.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <curl/curl.h>
#include <zstd.h>

#include <memory>

#include "base/handles.h"

namespace bloomwall::proxy {

using CurlPtr = std::unique_ptr<CURL, FreeWith<curl_easy_cleanup>>;
using CurlHeadersPtr = std::unique_ptr<curl_slist, FreeWith<curl_slist_free_all>>;
using CompressorPtr = std::unique_ptr<ZSTD_CCtx, FreeWith<ZSTD_freeCCtx>>;

}  // namespace bloomwall::proxy
