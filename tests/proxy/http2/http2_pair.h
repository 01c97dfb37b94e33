// Two ends of an HTTP/2 connection in memory, for tests: a client and a server that record what they are told.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "proxy/http2/http2_connection.h"

namespace bloomwall::proxy::http2_test {

using std::chrono::milliseconds;

class CountedMemory final : public Http2Connection::Memory {
 public:
  void take(std::size_t bytes) override { used += bytes; }
  void give(std::size_t bytes) override { used -= bytes; }
  bool is_spent() const override { return used > most; }
  bool has_room(std::size_t bytes) const override { return used + bytes <= most && is_plenty; }
  bool may_open() const override { return is_plenty; }
  std::size_t used = 0, most = std::size_t{1} << 40;
  bool is_plenty = true;
};

inline std::string text_of(const Http2FieldList& list) {
  std::string text;
  for (std::size_t i = 0; i < list.size(); ++i) {
    text.append(list[i].name).append("=").append(list[i].value).append(list[i].never_indexed ? "!;" : ";");
  }
  return text;
}

// One stream's events, and what it sends.
struct RecordedStream final : Http2Connection::Stream {
  void on_head(const Http2FieldList& list, bool is_end) override {
    heads.push_back(text_of(list));
    ended = ended || is_end;
  }
  void on_data(std::span<const char> octets) override {
    body.append(octets.data(), octets.size());
    unconsumed += octets.size();
    if (consumes) give_back();
  }
  void on_trailers(const Http2FieldList& list) override { trailers = text_of(list); }
  void on_end() override { ended = true; }
  void on_closed(Http2Code why, bool is_at_fault) override {
    closed = true;
    code = why;
    was_at_fault = is_at_fault;
  }
  Supply supply(std::span<char> room) override {
    const std::size_t size = std::min(room.size(), to_send.size());
    std::memcpy(room.data(), to_send.data(), size);
    to_send.erase(0, size);
    return {size, is_last && to_send.empty()};
  }
  void list_trailers(std::vector<Http2Field>& out) override { out = trailers_to_send; }
  void give_back() { connection->consume(id, std::exchange(unconsumed, 0)); }

  Http2Connection* connection = nullptr;
  Http2StreamId id = 0;
  std::vector<std::string> heads;
  std::string body, trailers, to_send;
  std::vector<Http2Field> trailers_to_send;
  std::size_t unconsumed = 0;
  bool consumes = true, is_last = false, ended = false, closed = false, was_at_fault = false;
  Http2Code code = Http2Code::no_error;
};

struct End final : Http2Connection::Handler {
  End(Http2Connection::Role role, const Http2Connection::Limits& limits) : connection(role, limits, *this, memory) {}
  void on_request(Http2StreamId id, const Http2FieldList& list, bool is_end) override {
    ++requests;
    last_list_too_large = list.is_too_large();
    if (refuses) return;
    RecordedStream& stream = add(id);
    connection.attach(id, stream);
    stream.heads.push_back(text_of(list));
    stream.ended = is_end;
    if (answers) answer(stream);
  }
  void on_goaway(Http2Code why) override {
    ++goaways;
    goaway_code = why;
  }
  void on_output() override { has_output = true; }
  RecordedStream& add(Http2StreamId id) {
    auto& stream = streams[id] = std::make_unique<RecordedStream>();
    stream->connection = &connection;
    stream->id = id;
    return *stream;
  }
  void answer(RecordedStream& stream) {
    const std::vector<Http2Field> list{{":status", "200"}};
    connection.submit_answer(stream.id, list, stream.is_last || !stream.to_send.empty());
  }
  RecordedStream& ask(const std::string& path = "/", bool has_body = false, const std::vector<Http2Field>& more = {}) {
    std::vector<Http2Field> list{
        {":method", has_body ? "POST" : "GET"}, {":scheme", "https"}, {":authority", "a.test"}, {":path", path}};
    list.insert(list.end(), more.begin(), more.end());
    auto stream = std::make_unique<RecordedStream>();
    const Http2StreamId id = connection.submit_request(list, has_body, *stream);
    stream->connection = &connection;
    stream->id = id;
    return *(streams[id] = std::move(stream));
  }
  std::string written() {
    std::string out;
    connection.write(out, SIZE_MAX);
    return out;
  }

  CountedMemory memory;
  std::map<Http2StreamId, std::unique_ptr<RecordedStream>> streams;
  std::size_t requests = 0, goaways = 0;
  Http2Code goaway_code = Http2Code::no_error;
  bool refuses = false, answers = false, has_output = false, last_list_too_large = false;
  Http2Connection connection;  // last: it goes first
};

struct Pair {
  explicit Pair(const Http2Connection::Limits& limits = {})
      : server(Http2Connection::Role::server, limits), client(Http2Connection::Role::client, limits) {}
  // Octets both ways until neither has anything to say.
  void settle() {
    for (;;) {
      const std::string up = client.written(), down = server.written();
      if (up.empty() && down.empty()) return;
      server.connection.feed(up, now);
      client.connection.feed(down, now);
    }
  }
  milliseconds now{1000};
  End server, client;
};

// What a client that keeps no rules writes.
inline const std::string kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
inline std::string raw_frame(std::uint8_t type, std::uint8_t flags, std::uint32_t id, const std::string& payload) {
  std::string made;
  for (const int shift : {16, 8, 0}) made.push_back(static_cast<char>(payload.size() >> shift));
  made.push_back(static_cast<char>(type));
  made.push_back(static_cast<char>(flags));
  for (const int shift : {24, 16, 8, 0}) made.push_back(static_cast<char>(id >> shift));
  return made + payload;
}
inline const std::string kSettings = raw_frame(4, 0, 0, "");
// Literals without Huffman coding and without indexing: short ones only.
inline std::string raw_field(const std::string& name, const std::string& value, char kind = 0) {
  std::string made(1, kind);
  made.push_back(static_cast<char>(name.size()));
  made += name;
  made.push_back(static_cast<char>(value.size()));
  return made + value;
}
inline std::string raw_get(std::uint32_t id, std::uint8_t flags = 5, const std::string& more = {}) {
  return raw_frame(1, flags, id,
                   raw_field(":method", "GET") + raw_field(":scheme", "https") + raw_field(":authority", "a.test") +
                       raw_field(":path", "/") + more);
}
// The error codes of the RST_STREAM and GOAWAY frames in what was written: "rst 3 1", "goaway 11".
inline std::vector<std::string> resets_in(const std::string& bytes) {
  std::vector<std::string> found;
  const auto number = [&](std::size_t at, int octets) {
    std::uint32_t value = 0;
    for (int i = 0; i < octets; ++i)
      value = value << 8U | static_cast<std::uint8_t>(bytes[at + static_cast<std::size_t>(i)]);
    return value;
  };
  for (std::size_t at = 0; at + 9 <= bytes.size();) {
    const std::size_t size = number(at, 3);
    const auto type = static_cast<std::uint8_t>(bytes[at + 3]);
    if (type == 3)
      found.push_back("rst " + std::to_string(number(at + 5, 4)) + " " + std::to_string(number(at + 9, 4)));
    if (type == 7) found.push_back("goaway " + std::to_string(number(at + 13, 4)));
    at += 9 + size;
  }
  return found;
}

}  // namespace bloomwall::proxy::http2_test
