// Edits of the configuration over the API (api_access.h): devices, groups, schedules and lists of the catalogue in
// files of the folder that the configuration includes (editable.h). For admins, where `admin.edits` is true; else 409
// with the reason.
//   GET    /api/v1/edits    {"enabled":true,"reason":null,"folder":...,"filters":["ads"],"devices":[...],
//                           "groups":[...],"schedules":[...],"lists":[...]} (editable.h) as it is on the disk, with an
//                           ETag; "reason": why nothing can be edited
//   PUT    /api/v1/edits/devices/{name}    {"addresses":["192.168.1.33"],"group":"children"}; "name" renames it
//   PUT    /api/v1/edits/groups/{name}     {"clients":["192.168.1.0/28"],"filters":{"games":{"homework":"block"}},
//                                          "otherwise":{"bedtime":"deny"},"safe_search":["google"]}, as in
//                                          bloomwall.yaml; "clients":"devices", which a new group has unless it says
//                                          another thing: devices alone
//   PUT    /api/v1/edits/schedules/{name}  {"times":["sun-thu 20:00-06:30"],"except":["holidays"],"time_zone":null}
//   PUT    /api/v1/edits/lists/{name}      {"exceptions":"refused"} or {}: the next run of the update service, which is
//                                          started, adds this list of the catalogue, as `bloomwall update --add` does:
//                                          202, {"item":{...}}; what comes of it stands in "lists" above
//   DELETE /api/v1/edits/{devices,groups,schedules,lists}/{name}
// A new group or schedule may have "before": the name of the one of its file before which it stands. The order of
// groups decides who is in which.
// Members that are left out stay as they are, null takes them away. What the configuration's parser does not take is
// not written; what the reload refuses is put back. A change is in force, on the disk and in the audit before the
// reply:
//   {"item":{...},"file":"...","warnings":[...],"undo":{"method":"PUT","path":"/edits/groups/a",
//                                                            "if_match":"\"...\"","body":{...}}}
// "undo" is the request that takes it back, or null. Sent with "if_match" as If-Match it gives the file the text that
// it had before, comments and order too, as long as nothing of this file has changed since. A process knows its last
// kMostUndos edits; 412 is the answer for others. Edits are made one after the other.
// Errors: 400 no JSON; 404 none of that name; 409 what cannot be taken, with what to do; 412 If-Match names another
// ETag than GET would give, which covers the whole text of the files of devices, groups and schedules, or is of an edit
// that cannot be taken back any more; 500, 503. Thread: the loop's; files are read and written on the state's thread.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "proxy/api/api_access.h"
#include "proxy/api/served.h"
#include "proxy/api/state_service.h"
#include "proxy/io/event_loop.h"

namespace bloomwall::proxy {

struct EditPlan;  // these three: proxy/api/editable.h
struct EditWish;
enum class EditKind : std::uint8_t;
struct ReloadOutcome;  // proxy/reload/reload_job.h

class EditsApi {
 public:
  static constexpr std::size_t kMostWaiting = 16, kMostUndos = 16;
  // All of it outlives the API. `reload`: as ReloadApi::Reload.
  struct Process {
    EventLoop& loop;
    StateService& state;
    const Served& served;
    const std::filesystem::path& file;  // the configuration
    std::function<void(std::function<void(const ReloadOutcome&)>)> reload;
  };
  explicit EditsApi(Process process) : process_(std::move(process)) {}

  std::vector<ApiRoute> routes();  // of this object, which must outlive them

 private:
  struct Edit;
  using EditPtr = std::shared_ptr<const Edit>;
  struct Undo;
  using UndoPtr = std::shared_ptr<const Undo>;

  std::string switched_off() const;  // the reason; empty: admin.edits is true
  ApiRoute route(EditKind kind, std::string_view method, std::string_view path);
  HttpReply show(const ApiRequest& request);
  HttpReply take(EditKind kind, bool is_removal, const ApiRequest& request);
  HttpReply want_list(const ApiRequest& request);
  void begin_next();
  void after_write(const EditPtr& edit, const StateResult<EditPlan>& written);
  void after_reload(const EditPtr& edit, const EditPlan& written, const ReloadOutcome& outcome);
  void put_back(const EditPtr& edit, const EditPlan& written, const ReloadOutcome& outcome);
  void finish(const EditPtr& edit, const HttpReply& reply);
  UndoPtr undo_that_is(const EditWish& wish, const std::string& if_match) const;
  void keep_undo(nlohmann::ordered_json request, EditPlan done);

  const Process process_;
  std::deque<EditPtr> waiting_;  // the first one is under way
  std::deque<UndoPtr> undos_;    // the newest first
};

}  // namespace bloomwall::proxy
