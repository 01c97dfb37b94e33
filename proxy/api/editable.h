// What of the configuration may be edited over the API (edits_api.h), as it is on the disk: devices in
// conf::kDeviceFile, groups and schedules in conf::kEditedFile of Config::drop_in_folder, lists of the catalogue in a
// file each there. What stands in other files is shown, and left to people. Values are passed on as they are written:
// what they mean is asked of the configuration's parser alone.
// Blocking where it reads. Threads: any.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "conf/catalogue.h"
#include "conf/config.h"
#include "conf/config_files.h"
#include "conf/yaml_tree.h"
#include "proxy/reload/drop_in_file.h"
#include "proxy/state/state_store.h"

namespace bloomwall::proxy {

enum class EditKind : std::uint8_t { device, group, schedule, list };
std::string_view to_string(EditKind kind);  // "device"
// Of an item, beside `name`, in the order in which a new one has them.
std::initializer_list<const char*> edited_members(EditKind kind);

// What is asked for.
inline constexpr const char* kBeforeOfNew = "before";  // a member of `item`: edits_api.h
struct EditWish {
  EditKind kind = EditKind::device;
  std::string name;
  std::optional<nlohmann::ordered_json> item;  // an object without `name`, or with another one; nothing: take it away
};

// What comes of it, before it is written.
struct EditPlan {
  DropInFile file;
  std::string text;                      // that the file is to have
  std::string name;                      // of the item afterwards
  nlohmann::ordered_json before, after;  // the item; null: there is none
  std::string next = {};  // of one that is taken away: the name of the one behind it in its file; empty: it is the last
  std::string tag = {};   // of the file's text before and after (edits_api.h)
};

class Editable {
 public:
  // Error: the configuration on the disk cannot be read, with every reason.
  static Loaded<Editable> read(const std::filesystem::path& main);

  // Why nothing can be edited: the folder is missing or may not be written to. Empty: it can.
  std::string fault() const;
  // {"folder":"/etc/bloomwall/conf.d","filters":["ads"],"devices":[{"name":"tv","addresses":[...],"group":null,
  //  "file":"/etc/bloomwall/conf.d/devices.yaml","editable":true}],"groups":[...],"schedules":[...],"lists":[{"name":
  //  "hagezi-pro","category":"ads","entries":300000,"licence":"GPL-3.0","homepage":"https://...","state":"none",
  //  "why":null,"editable":false}]}; "state": none, wanted (the next update adds it), building, added; "why": it was
  // not added
  nlohmann::ordered_json shown() const;
  // Of the files of devices and of groups and schedules: what shown() leaves out of them, too.
  const std::string& texts() const { return texts_; }

  // The list of the catalogue that is to be added; lists are added by the update service. Errors: as of plan().
  StateResult<conf::ListedSource> addable(const std::string& name) const;
  const std::filesystem::path& update_folder() const { return settings_.update.folder; }

  // Of a list that it is taken away. Errors: missing, conflict (with what to do), failed.
  StateResult<EditPlan> plan(const EditWish& wish) const;

 private:
  struct Found {
    const conf::YamlNode* node = nullptr;  // nullptr: there is none
    std::filesystem::path file = {};       // that it stands in
  };
  Found find(EditKind kind, std::string_view name) const;
  const conf::YamlNode* items(EditKind kind) const;
  std::string next_name(EditKind kind, const conf::YamlNode& item) const;
  StateResult<std::string> place_of_new(const EditWish& wish) const;
  std::filesystem::path file_for(EditKind kind) const;
  bool is_editable(EditKind kind, const conf::YamlNode& node) const;
  nlohmann::ordered_json items_json(EditKind kind) const;
  std::filesystem::path file_of_list(const std::string& name) const;
  std::optional<std::string> exceptions_of_list(
      const conf::ListedSource& list) const;  // nothing: not as it was written
  nlohmann::ordered_json lists_json() const;
  StateResult<EditPlan> plan_of_list(const EditWish& wish) const;
  StateResult<std::string> text_of_device(const EditWish& wish, const std::string& text, EditPlan& plan) const;
  StateResult<std::string> text_of_item(const EditWish& wish, const std::string& text, EditPlan& plan) const;

  conf::Config settings_;
  std::string texts_;
  conf::ConfigFiles files_;
  conf::Catalogue catalogue_;  // empty where it cannot be read
};

// Of the state what names the group, as a phrase for people: "2 exceptions, a switch". Empty: nothing does.
std::string namers_of_group(const State& state, std::string_view group);
std::string namers_of_filter(const State& state, std::string_view filter);  // likewise

}  // namespace bloomwall::proxy
