// Any octets as questions of Postfix's tables: cut in two they read as they do whole, texts lie within their limits,
// and an answer is one frame whatever its text is.
// SPDX-License-Identifier: Apache-2.0
#include "proxy/answers/mail_tables.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "proxy/answers/netstring.h"
#include "tests/fuzz/require.h"

namespace {

using namespace bloomwall::proxy;
using bloomwall::fuzz::require;

constexpr std::size_t kMostNetstring = 64, kMostLine = 64;

struct Netstrings {
  NetstringReader reader{kMostNetstring};
  std::string out;
  bool feed(std::string_view bytes) {
    for (;;) {
      const auto step = reader.feed(bytes);
      require(step.consumed <= bytes.size());
      bytes.remove_prefix(step.consumed);
      if (step.event == NetstringReader::Event::need_more) return bytes.empty();
      if (step.event != NetstringReader::Event::text) return false;
      require(reader.text().size() <= kMostNetstring);
      append_netstring(out, reader.text());
      reader.next();
    }
  }
};

struct Lines {
  TableLineReader reader{kMostLine};
  std::string out;
  bool feed(std::string_view bytes) {
    for (;;) {
      const auto step = reader.feed(bytes);
      require(step.consumed <= bytes.size());
      bytes.remove_prefix(step.consumed);
      if (step.event == TableLineReader::Event::need_more) return bytes.empty();
      if (step.event != TableLineReader::Event::line) return false;
      require(reader.text().size() < kMostLine);
      out.append(reader.text()).append("\n");
      reader.next();
    }
  }
};

template <typename Frames>
void require_same_in_pieces(std::string_view text, std::size_t cut) {
  Frames whole, pieces;
  const bool is_good = whole.feed(text);
  require((pieces.feed(text.substr(0, cut)) && pieces.feed(text.substr(cut))) == is_good);
  require(pieces.out == whole.out);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::vector<char> exact(data, data + size);
  const std::string_view text(exact.data(), exact.size());
  const std::size_t cut = size == 0 ? 0 : data[size - 1] % size;
  require_same_in_pieces<Netstrings>(text, cut);
  require_same_in_pieces<Lines>(text, cut);
  if (const auto question = parse_socketmap(text)) {
    require(std::string(question->name) + " " + question->key == text);
    require(!question->name.empty() && !question->key.empty());
  }
  if (const auto question = parse_tcp_table(text))
    require(!question->key.empty() && question->key.size() < text.size());
  for (const TableResult result : {TableResult::found, TableResult::not_found, TableResult::later}) {
    std::string netstring, line;
    append_socketmap_answer(netstring, result, text);
    NetstringReader reader(kMostTableText + 10);
    require(reader.feed(netstring).event == NetstringReader::Event::text);
    append_tcp_table_answer(line, result, text);
    require(line.find('\n') == line.size() - 1 && line.find('\r') == std::string::npos);
  }
  return 0;
}
