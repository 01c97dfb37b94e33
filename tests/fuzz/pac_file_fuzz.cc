// What stands in the file for automatic configuration and on /setup, of any text in the place of hosts: the first line
// is the self host, the second the proxies, the others what is reached directly. Each variable of the file is one line
// that reads as JSON and says what was put in: no text ends its string.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "base/utf8.h"
#include "proxy/reply/pac_file.h"
#include "proxy/reply/setup_lines.h"
#include "tests/fuzz/require.h"

namespace {

using namespace bloomwall::proxy;
using bloomwall::first_character;
using bloomwall::next_part;
using bloomwall::Utf8Character;

using bloomwall::fuzz::require;

// Characters as they are, and an octet that is of none as the character of that number, as the file has it.
std::string in_utf8(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const Utf8Character character = first_character(text);
    const auto octet = static_cast<unsigned char>(text.front());
    if (octet < 0x80 || character.code != Utf8Character::kNone) {
      out.append(text.substr(0, character.size));
    } else {
      out.push_back(static_cast<char>(0xc0U | octet >> 6U));
      out.push_back(static_cast<char>(0x80U | (octet & 0x3fU)));
    }
    text.remove_prefix(character.size);
  }
  return out;
}

// The value of the next line of the file.
nlohmann::json variable(std::string_view& text, const std::string& name) {
  std::string_view line = next_part(text, '\n');
  const std::string begin = "var " + name + " = ";
  require(line.starts_with(begin) && line.ends_with(";"));
  line = line.substr(begin.size(), line.size() - begin.size() - 1);
  nlohmann::json value = nlohmann::json::parse(line, nullptr, false);
  require(!value.is_discarded());
  return value;
}

void check_proxy(std::string_view text) {
  const auto proxy = configured_proxy(text);
  if (!proxy) return;
  require(configured_proxy(proxy->is_secure ? proxy->url() : proxy->authority()) == proxy ||
          proxy->host.starts_with("https://"));
  for (const auto& [name, value] : proxy_environment(*proxy, {})) require(!name.empty() && !value.empty());
  for (const SetupLine& line : setup_systems(*proxy))
    require(!text_of(line.program, Language::en).empty() && !line.ways.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::vector<char> exact(data, data + size);
  std::string_view rest(exact.data(), exact.size());
  const std::string_view self_host = next_part(rest, '\n');
  std::vector<std::string> proxies, direct;
  for (std::string_view line = next_part(rest, '\n'); !line.empty();) {
    const std::string_view proxy = next_part(line, ' ');
    check_proxy(proxy);
    proxies.push_back(pac_proxy(proxy));
  }
  while (!rest.empty()) direct.emplace_back(next_part(rest, '\n'));
  const std::string file = pac_text({.proxies = proxies, .direct = direct, .self_host = self_host});
  require(std::ranges::all_of(file, [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); }));
  std::string_view text = file;
  require(next_part(text, '\n').starts_with("//"));
  require(variable(text, "proxies").is_string());
  require(variable(text, "selfHost") == in_utf8(self_host));
  require(variable(text, "ownPages").size() == proxies.size());
  const auto domains = variable(text, "domains"), networks = variable(text, "networks"),
             networks6 = variable(text, "networks6");
  require(domains.size() + networks.size() + networks6.size() == direct.size() + 2);
  require(text.starts_with("\nfunction isBelow("));
  return 0;
}
