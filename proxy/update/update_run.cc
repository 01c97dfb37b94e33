// SPDX-License-Identifier: Apache-2.0
#include "proxy/update/update_run.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "filter/file/temp_file.h"
#include "proxy/update/file_check.h"
#include "proxy/update/filter_update.h"
#include "proxy/update/intermediates_update.h"
#include "proxy/update/lists_state.h"
#include "proxy/update/shared_fetches.h"
#include "proxy/update/unpacked_archives.h"

namespace bloomwall::proxy {
namespace {

using nlohmann::ordered_json;

constexpr std::chrono::milliseconds kLockPoll{100};
constexpr std::size_t kMostWishBytes = std::size_t{64} << 10;

tl::expected<UniqueFd, std::string> lock(const std::filesystem::path& folder, std::chrono::milliseconds patience) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return tl::unexpected(fmt::format("{}: {}", folder.string(), error.message()));
  const std::filesystem::path path = folder / ".lock";
  UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0640));
  if (!file) return tl::unexpected(fmt::format("{}: {}", path.string(), std::generic_category().message(errno)));
  for (const auto end = std::chrono::steady_clock::now() + patience; ::flock(file.get(), LOCK_EX | LOCK_NB) != 0;) {
    if (errno != EWOULDBLOCK && errno != EINTR) {
      return tl::unexpected(fmt::format("{}: {}", path.string(), std::generic_category().message(errno)));
    }
    if (std::chrono::steady_clock::now() >= end) {
      return tl::unexpected(fmt::format("{}: another update is running", path.string()));
    }
    std::this_thread::sleep_for(kLockPoll);
  }
  return file;
}

// Whoever reads and writes wishes is alone with them. Nothing where the folder takes no file: writing says so.
UniqueFd turn_at_wishes(const std::filesystem::path& folder) {
  UniqueFd turn(::open((folder / ".wish-lock").c_str(), O_RDONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0640));
  while (turn && ::flock(turn.get(), LOCK_EX) != 0 && errno == EINTR) {
  }
  return turn;
}

std::optional<UpdateWish> wish_of(const ordered_json& json) {
  if (!json.is_object()) return std::nullopt;
  UpdateWish wish;
  for (const auto& name : json.value("filters", ordered_json::array())) {
    if (!name.is_string()) return std::nullopt;
    wish.names.push_back(name.get<std::string>());
  }
  wish.force = json.contains("force") && json["force"].is_boolean() && json["force"].get<bool>();
  if (json.contains("who") && json["who"].is_string()) wish.who = json["who"].get<std::string>();
  return wish;
}

// The one that is taken first, and what stands as its `next`.
std::vector<UpdateWish> read_wishes(const std::filesystem::path& folder) {
  std::ifstream in(folder / kWishFile, std::ios::binary);
  std::string text(kMostWishBytes, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  const auto json = ordered_json::parse(text, nullptr, false);
  std::vector<UpdateWish> wishes;
  if (auto first = wish_of(json)) wishes.push_back(*std::move(first));
  if (wishes.empty() || !json.contains("next")) return wishes;
  if (auto next = wish_of(json["next"])) wishes.push_back(*std::move(next));
  return wishes;
}

tl::expected<void, std::string> write_wishes(const std::filesystem::path& folder,
                                             const std::vector<UpdateWish>& wishes) {
  ordered_json json;
  for (auto wish = wishes.rbegin(); wish != wishes.rend(); ++wish) {
    ordered_json each{{"filters", wish->names}, {"force", wish->force}, {"who", wish->who}};
    if (!json.is_null()) each["next"] = std::move(json);
    json = std::move(each);
  }
  const auto text = json.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + '\n';
  const std::filesystem::path file = folder / kWishFile;
  if (text.size() > kMostWishBytes) return tl::unexpected(file.string() + ": too many filters are waiting");
  if (const auto ok = filter::replace_file(file, text); !ok) return tl::unexpected(ok.error().text());
  return {};
}

// No names are all filters.
void join(UpdateWish& wish, const UpdateWish& later) {
  wish.who = later.who;
  if (later.names.empty()) wish.names.clear();
  if (wish.names.empty()) return;
  for (const std::string& name : later.names) {
    if (std::ranges::find(wish.names, name) == wish.names.end()) wish.names.push_back(name);
  }
}

class UpdateRun {
 public:
  UpdateRun(const conf::Config& settings, const UpdateRunOptions& options) : settings_(settings), options_(options) {}

  tl::expected<UpdateReport, std::string> run() {
    const std::filesystem::path& folder = settings_.update.folder;
    if (options_.of_wish) {
      if (!has_wish(folder)) return report_;
    } else {
      if (auto ok = choose(); !ok) return tl::unexpected(ok.error());
      if (chosen_.empty() && !takes_intermediates_) return report_;
    }
    const auto locked = lock(folder, options_.lock_wait);
    if (!locked) return tl::unexpected(locked.error());
    if (options_.of_wish) {
      if (auto ok = choose_wished(); !ok) return tl::unexpected(ok.error());
    }
    const auto way = fetch_way(settings_);
    if (!way) return tl::unexpected(way.error());
    read_state();
    shared_.emplace(chosen_);
    if (auto ok = update_chosen(*way); !ok) return tl::unexpected(ok.error());
    if (takes_intermediates_) fetch_intermediates(*way);
    reload();
    set_next();
    return report_;
  }

 private:
  tl::expected<void, std::string> update_chosen(const FetchWay& way) {
    for (const conf::Filter* const filter : chosen_) {
      if (options_.stop != nullptr && options_.stop->load()) break;
      update(*filter, way);
      const auto written = write_lists_state(settings_.update.folder, state_);
      if (written) continue;
      if (report_.built.empty()) return written;
      options_.say(written.error());  // what was built is there all the same
      report_.is_bad = true;
      break;
    }
    return {};
  }

  void fetch_intermediates(const FetchWay& way) {
    if (options_.stop != nullptr && options_.stop->load()) return;
    const bool is_bad = update_intermediates({.settings = settings_,
                                              .way = way,
                                              .at_once = options_.at_once || options_.missing_only,
                                              .now = options_.now,
                                              .say = options_.say,
                                              .stop = options_.stop},
                                             state_.intermediates);
    report_.is_bad = report_.is_bad || is_bad;
    const auto written = write_lists_state(settings_.update.folder, state_);
    if (written) return;
    options_.say(written.error());
    report_.is_bad = true;
  }

  void reload() {
    if (!state_.intermediates.is_untold && std::ranges::none_of(state_.filters, &ListFilterState::is_untold)) return;
    if (!options_.reload()) {
      report_.is_bad = true;
      return;
    }
    for (ListFilterState& filter : state_.filters) filter.is_untold = false;
    state_.intermediates.is_untold = false;
    // Where this fails the proxy is told once more by the next run.
    [[maybe_unused]] const auto written = write_lists_state(settings_.update.folder, state_);
  }

  void note_build(const ListFilterState& begun) const {
    ListsState noted = state_;
    noted.at(begun.filter) = begun;
    // Where nothing can be written the end of the update says so.
    [[maybe_unused]] const auto written = write_lists_state(settings_.update.folder, noted);
  }

  tl::expected<void, std::string> choose() {
    for (const std::string& name : options_.names) {
      const auto at = std::ranges::find(settings_.filters, name, &conf::Filter::name);
      if (at == settings_.filters.end()) return tl::unexpected(fmt::format("there is no filter {}", name));
      if (at->sources.empty()) return tl::unexpected(fmt::format("filter {} has no sources", name));
    }
    for (const conf::Filter& filter : settings_.filters) {
      const bool is_named =
          options_.names.empty() || std::ranges::find(options_.names, filter.name) != options_.names.end();
      std::error_code ignored;
      const bool is_there = options_.missing_only && std::filesystem::exists(filter.file, ignored);
      if (!filter.sources.empty() && is_named && !is_there) chosen_.push_back(&filter);
    }
    std::error_code ignored;
    takes_intermediates_ =
        options_.names.empty() && wants_intermediates(settings_) &&
        !(options_.missing_only && std::filesystem::exists(conf::kept_intermediates(settings_), ignored));
    return {};
  }

  tl::expected<void, std::string> choose_wished() {
    auto wish = take_wish(settings_.update.folder);
    if (!wish) return {};
    const auto is_there = [this](const std::string& name) {
      return std::ranges::find(settings_.filters, name, &conf::Filter::name) != settings_.filters.end();
    };
    if (std::ranges::any_of(wish->names, is_there)) std::erase_if(wish->names, std::not_fn(is_there));
    options_.names = std::move(wish->names);
    options_.force = wish->force;
    options_.forced_by = std::move(wish->who);
    options_.at_once = true;
    return choose();
  }

  // Without the state nothing is known of what was fetched, and everything is fetched again.
  void read_state() {
    auto state = read_lists_state(settings_.update.folder);
    if (!state) options_.say("warning: " + state.error());
    if (state) state_ = *std::move(state);
    std::erase_if(state_.filters, [&](const ListFilterState& known) {
      const auto at = std::ranges::find(settings_.filters, known.filter, &conf::Filter::name);
      return at == settings_.filters.end() || at->sources.empty();
    });
    if (!wants_intermediates(settings_)) state_.intermediates = {};
  }

  void update(const conf::Filter& filter, const FetchWay& way) {
    double others = 0;
    for (const conf::Filter& other : settings_.filters) {
      if (other.name != filter.name) others += error_of(other);
    }
    const FilterOutcome outcome =
        update_filter({.filter = filter,
                       .update = settings_.update,
                       .way = way,
                       .shared = *shared_,
                       .archives = archives_,
                       .at_once = options_.at_once || !options_.names.empty() || options_.missing_only,
                       .force = options_.force,
                       .forced_by = options_.forced_by,
                       .other_error = others,
                       .known_good = known_good_file(),
                       .now = options_.now,
                       .say = options_.say,
                       .stop = options_.stop,
                       .note_build = [this](const ListFilterState& begun) { note_build(begun); }},
                      state_.at(filter.name));
    if (outcome.is_built) report_.built.push_back(filter.name);
    report_.is_bad = report_.is_bad || outcome.is_bad;
  }

  std::filesystem::path known_good_file() const {
    return settings_.state_dir.empty() ? std::filesystem::path() : settings_.state_dir / "known-good.txt";
  }

  void set_next() {
    const auto take = [this](const ListFilterState& filter) {
      for (const SourceState& source : filter.sources) {
        report_.next = report_.next == 0 ? source.due : std::min(report_.next, source.due);
      }
    };
    std::ranges::for_each(state_.filters, take);
    take(state_.intermediates);
  }

  const conf::Config& settings_;
  UpdateRunOptions options_;
  std::vector<const conf::Filter*> chosen_;
  bool takes_intermediates_ = false;
  ListsState state_;
  std::optional<SharedFetches> shared_;  // of the filters that were chosen
  UnpackedArchives archives_;
  UpdateReport report_;
};

}  // namespace

tl::expected<UpdateReport, std::string> run_update(const conf::Config& settings, const UpdateRunOptions& options) {
  return UpdateRun(settings, options).run();
}

tl::expected<void, std::string> leave_wish(const std::filesystem::path& folder, const UpdateWish& wish) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  const UniqueFd turn = turn_at_wishes(folder);
  std::vector<UpdateWish> wishes = read_wishes(folder);
  const auto same = std::ranges::find(wishes, wish.force, &UpdateWish::force);
  if (same == wishes.end()) {
    wishes.push_back(wish);
  } else {
    join(*same, wish);
  }
  return write_wishes(folder, wishes);
}

bool has_wish(const std::filesystem::path& folder) {
  std::error_code ignored;
  return std::filesystem::exists(folder / kWishFile, ignored);
}

std::optional<UpdateWish> take_wish(const std::filesystem::path& folder) {
  const UniqueFd turn = turn_at_wishes(folder);
  std::vector<UpdateWish> wishes = read_wishes(folder);
  std::optional<UpdateWish> first;
  if (!wishes.empty()) {
    first = std::move(wishes.front());
    wishes.erase(wishes.begin());
  }
  std::error_code ignored;
  if (wishes.empty() || !write_wishes(folder, wishes)) std::filesystem::remove(folder / kWishFile, ignored);
  return first;
}

}  // namespace bloomwall::proxy
