// SPDX-License-Identifier: Apache-2.0
#include "filter/lists/decoder.h"

#include <bzlib.h>
#include <lz4frame.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <climits>
#include <cstdint>
#include <memory>

#include "base/handles.h"

namespace bloomwall::filter {
namespace {

using Step = tl::expected<DecodeStep, std::string>;
using ZstdStream = std::unique_ptr<ZSTD_DStream, FreeWith<ZSTD_freeDStream>>;

class GzipDecoder final : public Decoder {
 public:
  GzipDecoder() : ready_(inflateInit2(&stream_, kGzipOnly) == Z_OK) {}
  GzipDecoder(const GzipDecoder&) = delete;
  GzipDecoder& operator=(const GzipDecoder&) = delete;
  ~GzipDecoder() override { inflateEnd(&stream_); }

  Step step(std::string_view in, std::span<char> out, bool /*last*/) override {
    if (!ready_) return tl::unexpected(std::string("no memory for gzip"));
    DecodeStep done;
    // With the input used up there may still be output inside zlib, so ask at least once.
    while (done.produced < out.size()) {
      if (ended_ && done.consumed == in.size()) break;
      if (ended_ && !begin_member(in, done)) continue;
      set_window(in.substr(done.consumed), out.subspan(done.produced));
      const uInt in_before = stream_.avail_in;
      const uInt out_before = stream_.avail_out;
      const int code = inflate(&stream_, Z_NO_FLUSH);
      done.consumed += in_before - stream_.avail_in;
      done.produced += out_before - stream_.avail_out;
      if (code == Z_STREAM_END) {
        ended_ = true;
      } else if (code != Z_OK && code != Z_BUF_ERROR) {
        return tl::unexpected(std::string(stream_.msg != nullptr ? stream_.msg : "not gzip data"));
      } else if (in_before == stream_.avail_in && out_before == stream_.avail_out) {
        break;
      }
    }
    return done;
  }
  bool at_end() const override { return ended_; }

 private:
  static constexpr int kGzipOnly = 15 + 16;  // zlib: the largest window, gzip framing
  void set_window(std::string_view in, std::span<char> out) {
    // zlib's input is not const by historical accident; it is not written to.
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in.data()));
    stream_.avail_in = static_cast<uInt>(std::min<std::size_t>(in.size(), UINT_MAX));
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = static_cast<uInt>(std::min<std::size_t>(out.size(), UINT_MAX));
  }
  // Between members: skips zero padding, as tapes leave it. False: the octet was padding.
  bool begin_member(std::string_view in, DecodeStep& done) {
    if (in[done.consumed] == '\0') {
      ++done.consumed;
      return false;
    }
    ended_ = false;
    inflateReset(&stream_);
    return true;
  }
  z_stream stream_{};
  bool ready_;
  bool ended_ = false;
};

class Bzip2Decoder final : public Decoder {
 public:
  Bzip2Decoder() : ready_(BZ2_bzDecompressInit(&stream_, 0, 0) == BZ_OK) {}
  Bzip2Decoder(const Bzip2Decoder&) = delete;
  Bzip2Decoder& operator=(const Bzip2Decoder&) = delete;
  ~Bzip2Decoder() override { BZ2_bzDecompressEnd(&stream_); }

  Step step(std::string_view in, std::span<char> out, bool /*last*/) override {
    DecodeStep done;
    // With the input used up there may still be output inside the decoder, so ask at least once.
    while (done.produced < out.size()) {
      if (ended_ && done.consumed == in.size()) break;
      if (ended_) begin_stream();
      if (!ready_) return tl::unexpected(std::string("no memory for bzip2"));
      set_window(in.substr(done.consumed), out.subspan(done.produced));
      const unsigned in_before = stream_.avail_in;
      const unsigned out_before = stream_.avail_out;
      const int code = BZ2_bzDecompress(&stream_);
      done.consumed += in_before - stream_.avail_in;
      done.produced += out_before - stream_.avail_out;
      if (code == BZ_STREAM_END) {
        ended_ = true;
      } else if (code != BZ_OK) {
        return tl::unexpected(std::string(code == BZ_MEM_ERROR ? "no memory for bzip2" : "corrupt bzip2 data"));
      } else if (in_before == stream_.avail_in && out_before == stream_.avail_out) {
        break;
      }
    }
    return done;
  }
  bool at_end() const override { return ended_; }

 private:
  void set_window(std::string_view in, std::span<char> out) {
    stream_.next_in = const_cast<char*>(in.data());  // not written to
    stream_.avail_in = static_cast<unsigned>(std::min<std::size_t>(in.size(), UINT_MAX));
    stream_.next_out = out.data();
    stream_.avail_out = static_cast<unsigned>(std::min<std::size_t>(out.size(), UINT_MAX));
  }
  void begin_stream() {
    BZ2_bzDecompressEnd(&stream_);
    stream_ = {};
    ready_ = BZ2_bzDecompressInit(&stream_, 0, 0) == BZ_OK;
    ended_ = false;
  }
  bz_stream stream_{};
  bool ready_;
  bool ended_ = false;
};

class XzDecoder final : public Decoder {
 public:
  XzDecoder() : ready_(lzma_stream_decoder(&stream_, kMaxXzMemory, LZMA_CONCATENATED) == LZMA_OK) {}
  XzDecoder(const XzDecoder&) = delete;
  XzDecoder& operator=(const XzDecoder&) = delete;
  ~XzDecoder() override { lzma_end(&stream_); }

  Step step(std::string_view in, std::span<char> out, bool last) override {
    if (!ready_) return tl::unexpected(std::string("no memory for xz"));
    if (ended_) return DecodeStep{};
    stream_.next_in = reinterpret_cast<const std::uint8_t*>(in.data());
    stream_.avail_in = in.size();
    stream_.next_out = reinterpret_cast<std::uint8_t*>(out.data());
    stream_.avail_out = out.size();
    const lzma_ret code = lzma_code(&stream_, last ? LZMA_FINISH : LZMA_RUN);
    if (code == LZMA_STREAM_END) ended_ = true;
    if (code != LZMA_OK && code != LZMA_STREAM_END && code != LZMA_BUF_ERROR) return tl::unexpected(reason(code));
    return DecodeStep{in.size() - stream_.avail_in, out.size() - stream_.avail_out};
  }
  bool at_end() const override { return ended_; }

 private:
  static std::string reason(lzma_ret code) {
    if (code == LZMA_MEMLIMIT_ERROR) return "wants more than 256 MiB of memory";
    if (code == LZMA_FORMAT_ERROR) return "not xz data";
    if (code == LZMA_OPTIONS_ERROR) return "xz options this build does not know";
    return "corrupt xz data";
  }
  lzma_stream stream_ = LZMA_STREAM_INIT;
  bool ready_;
  bool ended_ = false;
};

class ZstdDecoder final : public Decoder {
 public:
  ZstdDecoder() : stream_(ZSTD_createDStream()) {
    if (stream_) ZSTD_DCtx_setParameter(stream_.get(), ZSTD_d_windowLogMax, kMaxZstdWindowLog);
  }
  Step step(std::string_view in, std::span<char> out, bool /*last*/) override {
    if (!stream_) return tl::unexpected(std::string("no memory for zstd"));
    ZSTD_inBuffer source{in.data(), in.size(), 0};
    ZSTD_outBuffer target{out.data(), out.size(), 0};
    // With the input used up there may still be output inside the decoder, so ask at least once.
    do {
      const std::size_t before = source.pos + target.pos;
      const std::size_t code = ZSTD_decompressStream(stream_.get(), &target, &source);
      if (ZSTD_isError(code) != 0) return tl::unexpected(std::string(ZSTD_getErrorName(code)));
      if (source.pos + target.pos == before) break;
      frame_open_ = code != 0;
    } while (source.pos < source.size && target.pos < target.size);
    return DecodeStep{source.pos, target.pos};
  }
  bool at_end() const override { return !frame_open_; }

 private:
  ZstdStream stream_;
  bool frame_open_ = true;
};

class Lz4Decoder final : public Decoder {
 public:
  Lz4Decoder() {
    LZ4F_dctx* made = nullptr;
    if (LZ4F_isError(LZ4F_createDecompressionContext(&made, LZ4F_VERSION)) == 0) context_.reset(made);
  }
  Step step(std::string_view in, std::span<char> out, bool /*last*/) override {
    if (!context_) return tl::unexpected(std::string("no memory for lz4"));
    DecodeStep done;
    // With the input used up there may still be output inside the decoder, so ask at least once.
    do {
      std::size_t taken = in.size() - done.consumed;
      std::size_t given = out.size() - done.produced;
      const std::size_t code = LZ4F_decompress(context_.get(), out.data() + done.produced, &given,
                                               in.data() + done.consumed, &taken, nullptr);
      if (LZ4F_isError(code) != 0) return tl::unexpected(std::string(LZ4F_getErrorName(code)));
      if (taken + given == 0) break;
      done.consumed += taken;
      done.produced += given;
      frame_open_ = code != 0;
    } while (done.consumed < in.size() && done.produced < out.size());
    return done;
  }
  bool at_end() const override { return !frame_open_; }

 private:
  std::unique_ptr<LZ4F_dctx, FreeWith<LZ4F_freeDecompressionContext>> context_;
  bool frame_open_ = true;
};

bool is_bzip2(std::string_view first) {
  if (!first.starts_with("BZh") || first.size() < kMagicBytes || first[3] < '1' || first[3] > '9') return false;
  return first.substr(4, 2) == "\x31\x41" || first.substr(4, 2) == "\x17\x72";  // a block, or the end
}

bool is_zstd(std::string_view first) {
  if (first.substr(0, 4) == "\x28\xb5\x2f\xfd") return true;
  const bool skippable = first.size() >= 4 && (static_cast<unsigned char>(first[0]) & 0xF0U) == 0x50;
  return skippable && first.substr(1, 3) == "\x2a\x4d\x18";
}

}  // namespace

Compression compression_of(std::string_view first_bytes) {
  if (first_bytes.substr(0, 2) == "\x1f\x8b") return Compression::gzip;
  if (first_bytes.substr(0, 6) == std::string_view("\xfd\x37\x7a\x58\x5a\0", 6)) return Compression::xz;
  if (is_bzip2(first_bytes)) return Compression::bzip2;
  if (first_bytes.starts_with("\x04\x22\x4d\x18")) return Compression::lz4;
  if (is_zstd(first_bytes)) return Compression::zstd;
  return Compression::none;
}

std::unique_ptr<Decoder> make_decoder(Compression compression) {
  switch (compression) {
    case Compression::none:
      return nullptr;
    case Compression::gzip:
      return std::make_unique<GzipDecoder>();
    case Compression::bzip2:
      return std::make_unique<Bzip2Decoder>();
    case Compression::xz:
      return std::make_unique<XzDecoder>();
    case Compression::zstd:
      return std::make_unique<ZstdDecoder>();
    case Compression::lz4:
      return std::make_unique<Lz4Decoder>();
  }
  return nullptr;
}

}  // namespace bloomwall::filter
