// Any octets as questions of ICAP: cut in two they read as they do whole, and what a question says of its sections is
// what they are.
// SPDX-License-Identifier: Apache-2.0
#include "proxy/answers/icap_reader.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fuzz/plain_text.h"
#include "tests/fuzz/require.h"

namespace {

using namespace bloomwall::proxy;
using bloomwall::fuzz::require;

struct Questions {
  IcapReader reader;
  std::string out;
  std::size_t body = 0;
  bool feed(std::string_view bytes) {
    for (;;) {
      const auto step = reader.feed(bytes);
      require(step.consumed <= bytes.size());
      bytes.remove_prefix(step.consumed);
      switch (step.event) {
        case IcapReader::Event::need_more:
          return bytes.empty();
        case IcapReader::Event::question:
          note();
          continue;
        case IcapReader::Event::body:
          body += step.body.size();
          require(!reader.head().preview || body <= *reader.head().preview);
          out.append(step.body.begin(), step.body.end());
          continue;
        case IcapReader::Event::end:
          out += "\nend\n";
          reader.next();
          require(reader.at_start());
          continue;
        case IcapReader::Event::error:
          require(reader.error().status >= 400 && !reader.error().detail.empty());
          return false;
      }
    }
  }
  void note() {
    const IcapHead& head = reader.head();
    require(head.http_octets == reader.http_head().size() && head.http_octets <= kMostEncapsulatedHead);
    require((head.method == IcapHead::Method::reqmod) == (head.http_octets > 0));
    require(head.user.size() <= kMostIcapUser && bloomwall::fuzz::is_plain(head.user));
    body = 0;
    out.append(head.service).append(reader.http_head()).append(head.user);
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::vector<char> exact(data, data + size);
  const std::string_view text(exact.data(), exact.size());
  const std::size_t cut = size == 0 ? 0 : data[size - 1] % size;
  Questions whole, pieces;
  const bool is_good = whole.feed(text);
  require((pieces.feed(text.substr(0, cut)) && pieces.feed(text.substr(cut))) == is_good);
  require(pieces.out == whole.out);
  return 0;
}
