// Any bytes from an origin: cut anywhere they mean the same, and what a client is sent is one response that our own
// reader and llhttp read alike, whole only where the origin's was whole.
// Input: one octet that seeds the cuts, one that says what was asked, then the bytes; the origin closes after them.
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
                         .trailer_fields = 4,
                         .interim_responses = 3};
const HeadLimits kWide;

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

struct Sent {
  std::string bytes;
  ResponsePlan plan;
};
Sent sent_to_client(const ResponseReader& reader, const std::string& body, bool whole, const ResponseRewrite& how) {
  Sent sent;
  sent.plan = write_response_head(sent.bytes, reader.head(), how);
  if (sent.plan.framing != BodyFraming::chunked) {
    sent.bytes += body;
    return sent;
  }
  ChunkHead buffer;
  if (!body.empty()) sent.bytes.append(chunk_head(body.size(), buffer)).append(body).append(kChunkTail);
  if (whole) write_last_chunk(sent.bytes, reader.trailers(), reader.head().fields);
  return sent;
}

void check_client(const ResponseReader& origin, const ResponseTo& to, const std::string& body, bool whole,
                  Version client) {
  const Sent sent =
      sent_to_client(origin, body, whole, {.method = to.method, .client = client, .via_name = "wall", .date = "now"});
  ResponseReader reader(kWide);
  reader.start(to);
  const Transcript t = run(reader, {sent.bytes}, true);
  require(reader.head().status == origin.head().status && reader.head().reason == origin.head().reason);
  require(t.body == body && t.rest.empty());
  // Only close-delimited bodies, which HTTP/1.0 clients alone get, cannot show that they were cut.
  if (sent.plan.framing != BodyFraming::until_close) require(reader.at_end() == whole);
  require(sent.plan.framing != BodyFraming::until_close || (client == Version::http10 && sent.plan.close));
  const bool bodiless = to.method == Method::head || reader.head().status == 204 || reader.head().status == 304;
  const SecondOpinion opinion = LlhttpOracle::read(HTTP_RESPONSE, sent.bytes, bodiless);
  require(opinion.accepted && opinion.body == body);
  if (sent.plan.framing != BodyFraming::until_close) require(opinion.complete == whole);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const unsigned seed = data[0];
  static constexpr Method kMethods[] = {Method::get, Method::head, Method::connect, Method::post};
  const ResponseTo to{kMethods[data[1] & 3U], (data[1] & 4U) != 0};
  const Version client = (data[1] & 8U) != 0 ? Version::http10 : Version::http11;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
  ResponseReader whole(kLimits), pieces(kLimits);
  whole.start(to);
  pieces.start(to);
  const Transcript one = run(whole, {bytes}, true);
  const Transcript many = run(pieces, cut(bytes, seed), true);
  require(one.events == many.events && one.body == many.body);
  require(whole.at_end() == pieces.at_end() && whole.reusable() == pieces.reusable());
  if (whole.at_end()) require(one.rest == many.rest);
  const std::string lines = "\n" + one.events;
  const std::size_t last_head = lines.rfind("\nhead ");
  if (last_head == std::string::npos || lines[last_head + 6] == '1' || whole.switched()) return 0;
  check_client(whole, to, one.body, whole.at_end(), client);
  return 0;
}
