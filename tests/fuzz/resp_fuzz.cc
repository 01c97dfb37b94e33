// Any octets as commands of Redis: cut in two they read as they do whole, lie within their limits, and are the ones
// that their arguments make again.
// SPDX-License-Identifier: Apache-2.0
#include "proxy/answers/resp.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fuzz/require.h"

namespace {

using namespace bloomwall::proxy;
using bloomwall::fuzz::require;

struct Commands {
  RespReader reader;
  std::string out;  // the commands as they came
  bool feed(std::string_view bytes) {
    for (;;) {
      const auto step = reader.feed(bytes);
      require(step.consumed <= bytes.size());
      bytes.remove_prefix(step.consumed);
      if (step.event == RespReader::Event::need_more) return bytes.empty();
      if (step.event == RespReader::Event::error) {
        require(!reader.error().empty());
        return false;
      }
      require(reader.arguments() > 0 && reader.arguments() <= kMostArguments);
      append_resp_array(out, reader.arguments());
      for (std::size_t place = 0; place < reader.arguments(); ++place) {
        require(reader.argument(place).size() <= kMostArgument);
        append_resp_bulk(out, reader.argument(place));
      }
      reader.next();
    }
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::vector<char> exact(data, data + size);
  const std::string_view text(exact.data(), exact.size());
  const std::size_t cut = size == 0 ? 0 : data[size - 1] % size;
  Commands whole, pieces;
  const bool is_good = whole.feed(text);
  require((pieces.feed(text.substr(0, cut)) && pieces.feed(text.substr(cut))) == is_good);
  require(pieces.out == whole.out);
  require(text.starts_with(whole.out));
  std::string error;
  append_resp_error(error, text);
  require(error.find('\n') == error.size() - 1);
  return 0;
}
