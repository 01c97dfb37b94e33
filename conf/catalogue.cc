// SPDX-License-Identifier: Apache-2.0
#include "conf/catalogue.h"

#include <fmt/format.h>

#include <chrono>

#include "conf/yaml_lines.h"
#include "conf/yaml_reader.h"
#include "conf/yaml_text.h"

namespace bloomwall::conf {
namespace {

constexpr std::uint64_t kMostEntries = 10'000'000'000;

}  // namespace

void read(MapReader& map, ListedSource& out) {
  using namespace std::chrono_literals;
  map.text("name", out.name, kLabel);
  map.text("url", out.url, kListUrl);
  map.text("format", out.format, kListFormat);
  map.text("category", out.category, kLabel);
  map.text("licence", out.licence, kArgument);
  map.text("homepage", out.homepage, kHttpUrl);
  map.integer("entries", out.entries, std::uint64_t{0}, kMostEntries);
  map.duration("every", out.every, Milliseconds(15min), Milliseconds(30 * 24h));
  map.percent("unusable", out.unusable, 0, 100);
  for (const char* const key : {"name", "url", "category", "licence", "homepage"}) map.require(key);
  if (out.name.starts_with('.')) map.fail("name", "must not begin with a dot: it becomes the name of a file");
  if (!out.url.empty() && !out.url.starts_with("https://")) map.fail("url", "must be an https URL");
}

tl::expected<Catalogue, std::vector<ConfigError>> parse_catalogue(std::string_view yaml, const std::string& name) {
  const auto tree = parse_yaml(yaml, name);
  if (!tree) return tl::unexpected(tree.error());
  Reading reading{.files = {SourceFile{.name = name, .folder = {}}}, .errors = {}};
  MapReader root(reading, &*tree, "");
  Catalogue lists;
  root.sections("lists", lists, "name", 0);
  root.finish();
  if (lists.size() > kMostListed) root.fail("lists", fmt::format("more than {}", kMostListed));
  if (!reading.errors.empty()) return tl::unexpected(std::move(reading.errors));
  return lists;
}

tl::expected<Catalogue, std::vector<ConfigError>> load_catalogue(const std::filesystem::path& file) {
  const auto text = read_yaml_file(file);
  if (!text) return tl::unexpected(text.error());
  return parse_catalogue(*text, file.string());
}

std::string filter_file_text(const ListedSource& list, const std::filesystem::path& filter_file,
                             bool refuses_exceptions) {
  std::string out = fmt::format(
      "# Written by `bloomwall update --add {0}`. Every key is described in bloomwall.yaml; remove this file, and "
      "reload, to have it\n"
      "# no longer. {1}, {2}\n"
      "filters:\n- name: {0}\n  file: {3}\n  sources:\n  - url: {4}\n    format: {5}\n    every: {6}\n",
      list.name, list.licence, list.homepage, yaml_quoted(filter_file.string()), yaml_quoted(list.url), list.format,
      format_duration(list.every));
  if (refuses_exceptions) out += "  exceptions: refused\n";
  if (list.unusable != ListedSource{}.unusable) out += fmt::format("  guards: {{unusable: {}%}}\n", list.unusable);
  return out;
}

}  // namespace bloomwall::conf
