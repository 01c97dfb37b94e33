// Any bytes from a peer, a client's or an origin's: cut anywhere they mean the same, what a stream is given is a
// well-formed message in order, every octet of memory is given back, and nothing is kept beyond the limits.
// Input: one octet that says which end we are and whether memory is scarce, and seeds the cuts, then the bytes (behind
// a client's preface).
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "proxy/http/http1_reader.h"
#include "tests/fuzz/require.h"
#include "tests/proxy/http2/http2_pair.h"

namespace {

using namespace bloomwall::proxy;
using namespace bloomwall::proxy::http2_test;

using bloomwall::fuzz::require;

const Http2Connection::Limits kLimits{.streams = 4, .head = {2048, 16}, .stream_window = 4096};

// A request as it would be judged, and an answer as an exchange would read it.
struct Checked final : Http2Connection::Handler, Http2Connection::Stream {
  explicit Checked(Http2Connection::Role role)
      : connection(role, kLimits, *this, memory), is_server(role == Http2Connection::Role::server) {
    if (is_server) return;
    const std::vector<Http2Field> list{{":method", "GET"}, {":scheme", "https"}, {":authority", "a"}, {":path", "/"}};
    for (int i = 0; i < 3; ++i) connection.submit_request(list, false, *this);
  }
  void on_request(Http2StreamId id, const Http2FieldList& list, bool is_end) override {
    connection.attach(id, *this);
    std::string text;
    RequestHead head;
    const auto error = read_request(list, is_end, kLimits.head.fields, text, head);
    heads.append(std::to_string(id)).append(error ? error->detail : std::string_view(text)).push_back('\n');
    if (!error) require(head.version == Version::http2 && (is_end ? head.framing == BodyFraming::none : true));
    const std::vector<Http2Field> answer{{":status", error ? "400" : "200"}};
    connection.submit_answer(id, answer, id % 3 == 0);
    if (!is_end) connection.reset_after_answer(id);
  }
  void on_head(const Http2FieldList& list, bool is_end) override {
    std::string text;
    Http2Answer answer;
    const auto error = write_answer_text(list, {Method::get, is_end}, text, answer);
    heads.append(error ? error->detail : std::string_view(text)).push_back('\n');
    if (error) return;
    static const HeadLimits limits;
    ResponseReader reader(limits);
    reader.start({});
    const auto step = reader.feed(text);
    if (!step) return;  // a Content-Length that is none
    require(reader.head().status == answer.status && step->consumed == text.size());
    require(answer.status < 200 || answer.is_chunked == (reader.head().framing == BodyFraming::chunked));
  }
  void on_data(std::span<const char> octets) override { body.append(octets.data(), octets.size()); }
  void on_trailers(const Http2FieldList& list) override {
    std::string text;
    const auto error = write_trailer_lines(list, is_server ? Http2Sender::client : Http2Sender::origin, text);
    heads.append(error ? error->detail : std::string_view(text)).push_back('\n');
  }
  void on_end() override { require(!is_over); }
  void on_closed(Http2Code, bool) override {}
  Supply supply(std::span<char> room) override {
    const std::size_t size = std::min(room.size(), left);
    std::memset(room.data(), 'x', size);
    left -= size;
    return {size, left == 0};
  }
  void list_trailers(std::vector<Http2Field>& out) override { out.clear(); }
  void on_goaway(Http2Code) override {}
  void on_output() override {}

  CountedMemory memory;
  std::string heads, body;
  bool is_over = false;
  std::size_t left = 9000;
  Http2Connection connection;
  bool is_server;
};

void run(Checked& end, std::string_view bytes, unsigned seed) {
  std::string out;
  const auto take = [&](std::string_view piece) {
    end.connection.feed(piece, milliseconds(1000));
    require(end.memory.used < (1U << 20U));
  };
  if (end.is_server) take(kPreface);
  while (!bytes.empty()) {
    const bool is_cut = seed != 0;
    if (is_cut) seed = seed * 1103515245 + 12345;
    const std::size_t size = std::min<std::size_t>(is_cut ? 1 + (seed >> 16U) % 64 : bytes.size(), bytes.size());
    take(bytes.substr(0, size));
    bytes.remove_prefix(size);
  }
  end.connection.write(out, SIZE_MAX);
  require(out.size() < (1U << 20U));
  end.connection.close_streams();
  end.is_over = true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto role = (data[0] & 1U) != 0 ? Http2Connection::Role::client : Http2Connection::Role::server;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  Checked whole(role), pieces(role);
  whole.memory.is_plenty = pieces.memory.is_plenty = (data[0] & 2U) == 0;
  run(whole, bytes, 0);
  run(pieces, bytes, data[0] | 0x100U);
  // A flood is seen before what came with it is looked at; else cuts make no difference.
  const auto is_flooded = [](const Checked& end) { return end.connection.flood() != FrameBudget::Verdict::fine; };
  require(is_flooded(whole) || is_flooded(pieces) || whole.heads == pieces.heads);
  return 0;
}
