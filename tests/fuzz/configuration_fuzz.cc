// Any bytes as a configuration: they load or are refused with errors that have a place inside the text; nothing else.
// Where a line "===" is in them, what is before and behind it is joined as two files are.
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "conf/config.h"
#include "conf/config_files.h"

namespace {

using bloomwall::conf::ConfigError;

void check(const std::vector<ConfigError>& errors) {
  for (const ConfigError& error : errors) {
    if (error.what.empty() || error.line < 0 || error.text().find('\n') != std::string::npos) std::abort();
  }
}

// A key of either is one of both.
void join_halves(std::string_view text) {
  constexpr std::string_view kBetween = "\n===\n";
  const std::size_t cut = text.find(kBetween);
  if (cut == std::string_view::npos) return;
  auto first = bloomwall::conf::parse_yaml(text.substr(0, cut), "first");
  const auto second = bloomwall::conf::parse_yaml(text.substr(cut + kBetween.size()), "second");
  if (!first || !second || first->kind != bloomwall::conf::YamlNode::Kind::map) return;
  std::vector<std::string> keys;
  for (const auto& entry : first->entries) keys.push_back(entry.key);
  for (const auto& entry : second->entries) keys.push_back(entry.key);
  std::vector<ConfigError> errors;
  bloomwall::conf::join_trees(*first, *second, {{"both", ""}}, errors);
  check(errors);
  for (const std::string& key : keys) {
    if (first->find(key) == nullptr) std::abort();
  }
  if (first->entries.size() > keys.size()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  join_halves(text);
  const auto loaded = bloomwall::conf::load_text(text, "fuzz", "/etc/bloomwall");
  if (loaded) {
    if (loaded->listeners.empty() || loaded->workers > 1024) std::abort();
    return 0;
  }
  if (loaded.error().empty()) std::abort();
  check(loaded.error());
  return 0;
}
