// SPDX-License-Identifier: Apache-2.0
#include "proxy/update/lists_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/names.h"
#include "filter/file/temp_file.h"

namespace bloomwall::proxy {
namespace {

using nlohmann::ordered_json;

constexpr int kVersion = 1;
constexpr std::size_t kMostFilters = 4096, kMostLists = 64, kMostCopies = 64;

// Reads members; the first that is not what it has to be spoils all.
class Members {
 public:
  Members(const ordered_json& json, bool& is_good) : json_(json), is_good_(is_good) {
    if (!json.is_object()) is_good_ = false;
  }

  void text(const char* name, std::string& out) {
    const ordered_json* const value = find(name);
    if (value == nullptr) return;
    if (!value->is_string() || value->get_ref<const std::string&>().size() > kMostStateText) return spoil();
    out = value->get<std::string>();
  }
  template <typename T>
  void number(const char* name, T& out) {
    const ordered_json* const value = find(name);
    if (value == nullptr) return;
    if (!value->is_number_unsigned()) return spoil();
    const auto got = value->get<std::uint64_t>();
    if (got > static_cast<std::uint64_t>(std::numeric_limits<T>::max())) return spoil();
    out = static_cast<T>(got);
  }
  void seconds(const char* name, double& out) {
    const ordered_json* const value = find(name);
    if (value == nullptr) return;
    if (!value->is_number() || value->get<double>() < 0) return spoil();
    out = value->get<double>();
  }
  void flag(const char* name, bool& out) {
    const ordered_json* const value = find(name);
    if (value == nullptr) return;
    if (!value->is_boolean()) return spoil();
    out = value->get<bool>();
  }
  template <typename T, std::size_t kCount>
  void word(const char* name, T& out, const NameTable<T, kCount>& words) {
    std::string said;
    text(name, said);
    if (said.empty()) return;
    const auto value = words.parse(said);
    if (!value) return spoil();
    out = *value;
  }
  const ordered_json& list(const char* name, std::size_t most) {
    static const ordered_json kEmpty = ordered_json::array();
    const ordered_json* const value = find(name);
    if (value == nullptr) return kEmpty;
    if (value->is_array() && value->size() <= most) return *value;
    spoil();
    return kEmpty;
  }
  // The name of a file in a folder that is known.
  void file_name(const char* name, std::string& out) {
    text(name, out);
    check_file_name(out);
  }
  void check_file_name(const std::string& name) {
    if (name.find('/') != std::string::npos || name.find('\0') != std::string::npos || name.starts_with('.')) spoil();
  }
  void spoil() { is_good_ = false; }

 private:
  const ordered_json* find(const char* name) const {
    if (!json_.is_object()) return nullptr;
    const auto at = json_.find(name);
    return at == json_.end() ? nullptr : &*at;
  }
  const ordered_json& json_;
  bool& is_good_;
};

constexpr auto kFetchNames = name_table<FetchResult>({{FetchResult::none, "none"},
                                                      {FetchResult::updated, "updated"},
                                                      {FetchResult::unchanged, "unchanged"},
                                                      {FetchResult::failed, "failed"},
                                                      {FetchResult::refused, "refused"}});
constexpr auto kBuildNames = name_table<BuildResult>({{BuildResult::none, "none"},
                                                      {BuildResult::built, "built"},
                                                      {BuildResult::unchanged, "unchanged"},
                                                      {BuildResult::failed, "failed"},
                                                      {BuildResult::refused, "refused"}});

SourceState source_of(const ordered_json& json, bool& is_good) {
  Members members(json, is_good);
  SourceState out;
  members.text("url", out.url);
  members.file_name("copy", out.copy);
  members.text("etag", out.etag);
  members.text("last_modified", out.last_modified);
  members.text("sha256", out.sha256);
  members.text("read_as", out.read_as);
  members.number("entries", out.entries);
  members.number("rules", out.rules);
  members.number("unusable", out.unusable);
  members.text("loss", out.loss);
  members.number("bytes", out.bytes);
  members.number("expires", out.expires);
  members.word("result", out.result, kFetchNames);
  members.text("guard", out.guard);
  members.text("message", out.message);
  members.number("checked", out.checked);
  members.number("succeeded", out.succeeded);
  members.number("changed", out.changed);
  members.number("due", out.due);
  members.flag("is_told", out.is_told);
  members.number("failures", out.failures);
  for (std::size_t i = 0; i < kFetchResults.size(); ++i) members.number(to_string(kFetchResults[i]), out.counts[i]);
  return out;
}

ListFilterState filter_of(const ordered_json& json, bool& is_good) {
  Members members(json, is_good);
  ListFilterState out;
  members.text("filter", out.filter);
  members.word("result", out.result, kBuildNames);
  members.text("guard", out.guard);
  members.text("message", out.message);
  members.number("attempted", out.attempted);
  members.number("built", out.built);
  members.number("entries", out.entries);
  members.number("exceptions", out.exceptions);
  members.number("bytes", out.bytes);
  members.number("sequence", out.sequence);
  members.seconds("seconds", out.seconds);
  members.number("forced", out.forced);
  members.text("forced_by", out.forced_by);
  members.text("made_with", out.made_with);
  members.flag("is_untold", out.is_untold);
  for (const ordered_json& copy : members.list("made_of", kMostCopies)) {
    if (!copy.is_string()) {
      members.spoil();
      continue;
    }
    members.check_file_name(out.made_of.emplace_back(copy.get<std::string>()));
  }
  for (const ordered_json& source : members.list("sources", kMostLists)) {
    out.sources.push_back(source_of(source, is_good));
  }
  return out;
}

// As it is read back. What servers and lists say may be no UTF-8, and takes more room as replacement characters.
std::string cut(const std::string& text) {
  const std::string quoted = ordered_json(text).dump(-1, ' ', false, ordered_json::error_handler_t::replace);
  std::string valid = ordered_json::parse(quoted).get<std::string>();
  std::size_t end = std::min(valid.size(), kMostStateText);
  while (end < valid.size() && (static_cast<unsigned char>(valid[end]) & 0xc0U) == 0x80U) --end;
  valid.resize(end);
  return valid;
}

ordered_json json_of(const SourceState& source) {
  ordered_json out{{"url", cut(source.url)},
                   {"copy", source.copy},
                   {"etag", cut(source.etag)},
                   {"last_modified", cut(source.last_modified)},
                   {"sha256", source.sha256},
                   {"read_as", cut(source.read_as)},
                   {"entries", source.entries},
                   {"rules", source.rules},
                   {"unusable", source.unusable},
                   {"loss", cut(source.loss)},
                   {"bytes", source.bytes},
                   {"expires", source.expires},
                   {"result", to_string(source.result)},
                   {"guard", source.guard},
                   {"message", cut(source.message)},
                   {"checked", source.checked},
                   {"succeeded", source.succeeded},
                   {"changed", source.changed},
                   {"due", source.due},
                   {"is_told", source.is_told},
                   {"failures", source.failures}};
  for (std::size_t i = 0; i < kFetchResults.size(); ++i) out[to_string(kFetchResults[i])] = source.counts[i];
  return out;
}

ordered_json json_of(const ListFilterState& filter) {
  ordered_json sources = ordered_json::array();
  for (const SourceState& source : filter.sources) sources.push_back(json_of(source));
  return {{"filter", filter.filter},
          {"result", to_string(filter.result)},
          {"guard", filter.guard},
          {"message", cut(filter.message)},
          {"attempted", filter.attempted},
          {"built", filter.built},
          {"entries", filter.entries},
          {"exceptions", filter.exceptions},
          {"bytes", filter.bytes},
          {"sequence", filter.sequence},
          {"seconds", filter.seconds},
          {"forced", filter.forced},
          {"forced_by", cut(filter.forced_by)},
          {"made_of", filter.made_of},
          {"made_with", filter.made_with},
          {"is_untold", filter.is_untold},
          {"sources", std::move(sources)}};
}

}  // namespace

const char* to_string(FetchResult result) { return kFetchNames.text(result); }

const char* to_string(BuildResult result) { return kBuildNames.text(result); }

SourceState* ListFilterState::find(std::string_view url) {
  const auto at = std::ranges::find(sources, url, &SourceState::url);
  return at == sources.end() ? nullptr : &*at;
}

const ListFilterState* ListsState::find(std::string_view filter) const {
  const auto at = std::ranges::find(filters, filter, &ListFilterState::filter);
  return at == filters.end() ? nullptr : &*at;
}

ListFilterState& ListsState::at(std::string_view filter) {
  const auto there = std::ranges::find(filters, filter, &ListFilterState::filter);
  if (there != filters.end()) return *there;
  return filters.emplace_back(ListFilterState{.filter = std::string(filter)});
}

tl::expected<ListsState, std::string> parse_lists_state(std::string_view json) {
  const auto refuse = [](const char* why) { return tl::unexpected(std::string(why)); };
  if (json.size() > kMostStateBytes) return refuse("larger than 16 MiB");
  const auto tree = ordered_json::parse(json, nullptr, false);
  if (!tree.is_object()) return refuse("no JSON object");
  bool is_good = true;
  Members members(tree, is_good);
  int version = 0;
  members.number("version", version);
  if (is_good && version != kVersion) return refuse("of a version that this program does not know");
  ListsState out;
  for (const ordered_json& filter : members.list("filters", kMostFilters)) {
    out.filters.push_back(filter_of(filter, is_good));
  }
  if (const auto at = tree.find("intermediates"); at != tree.end()) out.intermediates = filter_of(*at, is_good);
  if (!is_good) return refuse("not what `bloomwall update` writes");
  return out;
}

std::string lists_state_text(const ListsState& state) {
  ordered_json filters = ordered_json::array();
  for (const ListFilterState& filter : state.filters) filters.push_back(json_of(filter));
  ordered_json tree{{"version", kVersion}, {"filters", std::move(filters)}};
  if (!state.intermediates.sources.empty()) tree["intermediates"] = json_of(state.intermediates);
  return tree.dump(1, ' ', false, ordered_json::error_handler_t::replace) + '\n';
}

tl::expected<ListsState, std::string> read_lists_state(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / kListsFile;
  const auto refuse = [&](const std::string& why) { return tl::unexpected(fmt::format("{}: {}", file.string(), why)); };
  std::error_code error;
  const auto size = std::filesystem::file_size(file, error);
  if (error == std::errc::no_such_file_or_directory || error == std::errc::not_a_directory) return ListsState{};
  if (error) return refuse(error.message());
  if (size > kMostStateBytes) return refuse("larger than 16 MiB");
  std::ifstream in(file, std::ios::binary);
  std::string text(size, '\0');
  in.read(text.data(), static_cast<std::streamsize>(size));
  if (!in) return refuse("cannot be read");
  auto state = parse_lists_state(text);
  if (!state) return refuse(state.error());
  return state;
}

tl::expected<void, std::string> write_lists_state(const std::filesystem::path& folder, const ListsState& state) {
  const auto written = filter::replace_file(folder / kListsFile, lists_state_text(state));
  if (!written) return tl::unexpected(written.error().text());
  return {};
}

std::filesystem::path copies_of(const std::filesystem::path& folder, std::string_view filter) {
  return folder / (std::string(filter) + ".lists");
}

std::filesystem::path copies_of_intermediates(const std::filesystem::path& folder) { return folder / "intermediates"; }

std::int64_t fresh_at(const ListFilterState& filter) {
  std::int64_t oldest = filter.sources.empty() ? 0 : std::numeric_limits<std::int64_t>::max();
  for (const SourceState& source : filter.sources) oldest = std::min(oldest, source.succeeded);
  return oldest;
}

}  // namespace bloomwall::proxy
