// Any bytes from a client: cut anywhere they mean the same, and whatever is taken and forwarded is one message that our
// own reader and llhttp both read with the same framing and body.
// Input: one octet that seeds the cuts, then the bytes.
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "proxy/http/rewrite.h"
#include "tests/fuzz/require.h"
#include "tests/proxy/http/llhttp_oracle.h"
#include "tests/proxy/http/transcript.h"

namespace {

using namespace bloomwall::proxy;
using namespace bloomwall::proxy::http_test;

using bloomwall::fuzz::require;

const HeadLimits kLimits{.head_bytes = 2048,
                         .fields = 16,
                         .chunk_line_bytes = 64,
                         .extension_bytes = 128,
                         .trailer_bytes = 256,
                         .trailer_fields = 4};

std::vector<std::string_view> cut(std::string_view text, unsigned seed) {
  std::vector<std::string_view> pieces;
  while (!text.empty()) {
    seed = seed * 1103515245 + 12345;
    const std::size_t size = std::min<std::size_t>(1 + (seed >> 16) % (seed % 3 == 0 ? 3 : 40), text.size());
    pieces.push_back(text.substr(0, size));
    text.remove_prefix(size);
  }
  return pieces;
}

std::string forwarded(const RequestReader& reader, const std::string& body) {
  std::string out;
  write_request_head(out, reader.head(), {.host = "a.test", .port = 81, .via_name = "wall"});
  if (reader.head().framing != BodyFraming::chunked) return out + body;
  ChunkHead buffer;
  if (!body.empty()) out.append(chunk_head(body.size(), buffer)).append(body).append(kChunkTail);
  write_last_chunk(out, reader.trailers(), reader.head().fields);
  return out;
}

// TRACE and OPTIONS with Max-Forwards: 0 are answered, CONNECT is tunnelled: neither is ever forwarded.
bool is_forwarded(const RequestHead& head) { return head.method != Method::connect && head.max_forwards != 0U; }

void check_forwarding(const RequestReader& reader, const std::string& body) {
  const std::string sent = forwarded(reader, body);
  static const HeadLimits wide;
  RequestReader second(wide);
  const Transcript t = run(second, {sent});
  require(second.at_end() && t.rest.empty() && t.body == body);
  require(second.head().framing == reader.head().framing);
  require(second.head().content_length == reader.head().content_length);
  require(second.head().method_name == reader.head().method_name);
  require(second.head().host && second.head().host->host == "a.test" && second.head().host->port == 81);
  // llhttp knows a fixed set of methods; ours go to whoever does.
  if (reader.head().method == Method::other) return;
  const SecondOpinion opinion = LlhttpOracle::read(HTTP_REQUEST, sent);
  require(opinion.complete && opinion.body == body);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const unsigned seed = data[0];
  std::string rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  RequestReader whole(kLimits), pieces(kLimits);
  for (int message = 0; message < 8; ++message) {
    const Transcript one = run(whole, {rest});
    const Transcript many = run(pieces, cut(rest, seed));
    require(one.events == many.events && one.body == many.body);
    require(whole.at_end() == pieces.at_end());
    if (!whole.at_end()) break;
    require(one.rest == many.rest);
    if (is_forwarded(whole.head())) check_forwarding(whole, one.body);
    rest = one.rest;
    whole.next();
    pieces.next();
  }
  return 0;
}
