// Compresses a text as the command line tools do, for tests of reading it back.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bzlib.h>
#include <gtest/gtest.h>
#include <lz4frame.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include <memory>
#include <string>
#include <string_view>

#include "base/handles.h"
#include "filter/lists/list_input.h"

namespace bloomwall::filter::test {

inline std::string gzip(std::string_view text) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string in(text);
  std::string out(deflateBound(&stream, in.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(in.data());
  stream.avail_in = static_cast<uInt>(in.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

inline std::string xz(std::string_view text) {
  std::string out(lzma_stream_buffer_bound(text.size()), '\0');
  std::size_t size = 0;
  EXPECT_EQ(lzma_easy_buffer_encode(1, LZMA_CHECK_CRC64, nullptr, reinterpret_cast<const std::uint8_t*>(text.data()),
                                    text.size(), reinterpret_cast<std::uint8_t*>(out.data()), &size, out.size()),
            LZMA_OK);
  out.resize(size);
  return out;
}

// With a checksum, as the zstd tool writes it.
inline std::string zstd(std::string_view text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  const std::unique_ptr<ZSTD_CCtx, FreeWith<ZSTD_freeCCtx>> context(ZSTD_createCCtx());
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1);
  const std::size_t size = ZSTD_compress2(context.get(), out.data(), out.size(), text.data(), text.size());
  EXPECT_EQ(ZSTD_isError(size), 0U);
  out.resize(size);
  return out;
}

inline std::string bzip2(std::string_view text) {
  std::string in(text);
  std::string out(in.size() + in.size() / 100 + 600, '\0');
  auto size = static_cast<unsigned>(out.size());
  EXPECT_EQ(BZ2_bzBuffToBuffCompress(out.data(), &size, in.data(), static_cast<unsigned>(in.size()), 9, 0, 0), BZ_OK);
  out.resize(size);
  return out;
}

// With a checksum, as the lz4 tool writes it.
inline std::string lz4(std::string_view text) {
  LZ4F_preferences_t how{};
  how.frameInfo.contentChecksumFlag = LZ4F_contentChecksumEnabled;
  std::string out(LZ4F_compressFrameBound(text.size(), &how), '\0');
  const std::size_t size = LZ4F_compressFrame(out.data(), out.size(), text.data(), text.size(), &how);
  EXPECT_EQ(LZ4F_isError(size), 0U);
  out.resize(size);
  return out;
}

inline std::string compress(Compression how, std::string_view text) {
  switch (how) {
    case Compression::none:
      return std::string(text);
    case Compression::gzip:
      return gzip(text);
    case Compression::xz:
      return xz(text);
    case Compression::zstd:
      return zstd(text);
    case Compression::bzip2:
      return bzip2(text);
    case Compression::lz4:
      return lz4(text);
  }
  return {};
}

}  // namespace bloomwall::filter::test
