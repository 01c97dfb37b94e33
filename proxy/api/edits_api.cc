// SPDX-License-Identifier: Apache-2.0
#include "proxy/api/edits_api.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <ctime>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/terminal.h"
#include "base/text.h"
#include "proxy/api/api_reply.h"
#include "proxy/api/editable.h"
#include "proxy/api/json_body.h"
#include "proxy/decision/snapshot.h"
#include "proxy/http/escape.h"
#include "proxy/log/log.h"
#include "proxy/reload/reload_job.h"
#include "proxy/state/json_members.h"
#include "proxy/update/wanted_lists.h"

namespace bloomwall::proxy {
namespace {

using nlohmann::ordered_json;

constexpr std::string_view kEditsPath = "/api/v1/edits";
constexpr std::string_view kDevicePath = "/api/v1/edits/devices/{name}", kGroupPath = "/api/v1/edits/groups/{name}",
                           kSchedulePath = "/api/v1/edits/schedules/{name}",
                           kEditedListPath = "/api/v1/edits/lists/{name}";
constexpr const char* kOff =
    "admin.edits is false: set `admin: {edits: true}` in the configuration, and reload, to edit it here";

// A segment of a path as people mean it: a + is no blank there. Nothing: it cannot be decoded.
std::optional<std::string> decoded_segment(std::string_view segment) {
  std::string text;
  for (const char c : segment) text += c == '+' ? std::string("%2B") : std::string(1, c);
  return decode_form_text(text);
}

std::string path_of_item(EditKind kind, const std::string& name) {
  std::string path = fmt::format("/edits/{}s/", to_string(kind));
  append_percent_encoded(path, name);
  return path;
}

ordered_json shown_edits(const Editable& editable, const std::string& switched_off) {
  const std::string fault = switched_off.empty() ? editable.fault() : switched_off;
  ordered_json json{{"enabled", fault.empty()}, {"reason", fault.empty() ? ordered_json() : ordered_json(fault)}};
  json.update(editable.shown());
  return json;
}

StateError conflict(std::string what) { return {StateError::Kind::conflict, std::move(what)}; }

StateError error_of(const LoadFailure& failure) {
  std::vector<std::string> lines;
  for (const std::string& line : failure.lines) lines.push_back(printable(line));
  return conflict(fmt::format("{}", fmt::join(lines, "; ")));
}

// Whether the group asks for anything; else it is for everybody, which no edit makes it.
bool is_for_some(const ordered_json& group) {
  constexpr std::array<const char*, 5> kCriteria{"clients", "listeners", "users", "user_groups", "certificates"};
  return std::ranges::any_of(kCriteria, [&](const char* key) {
    const auto at = group.find(key);
    return at != group.end() && !at->empty();
  });
}

// Whether a request can say all that the item was.
bool can_be_made_again(const EditWish& wish, const EditPlan& done) {
  const auto members = edited_members(wish.kind);
  const bool is_whole = std::ranges::all_of(done.before.items(), [&](const auto& member) {
    return member.key() == "name" ||
           std::ranges::any_of(members, [&](const char* each) { return member.key() == each; });
  });
  if (done.after.is_null() && !is_whole) return false;
  if (wish.kind == EditKind::device) return done.before.contains("addresses");
  const bool was_for_all = wish.kind == EditKind::group && !is_for_some(done.before);
  return !was_for_all || (!done.after.is_null() && !is_for_some(done.after));
}

// What takes the edit back. null: nothing does, since the item had more than the API shows, or cannot be asked for.
ordered_json undo_of(const EditWish& wish, const EditPlan& done) {
  if (done.tag.empty()) return {};
  const std::string path = path_of_item(wish.kind, done.name);
  if (done.before.is_null()) return {{"method", "DELETE"}, {"path", path}, {"if_match", done.tag}};
  if (!can_be_made_again(wish, done)) return {};
  ordered_json body = ordered_json::object();
  for (const char* const member : edited_members(wish.kind)) {
    const auto at = done.before.find(member);
    body[member] = at == done.before.end() ? ordered_json() : *at;
  }
  const std::string before = done.before["name"].get<std::string>();
  if (done.name != before) body["name"] = before;
  const bool has_order = wish.kind == EditKind::group || wish.kind == EditKind::schedule;
  if (done.after.is_null() && has_order && !done.next.empty()) body["before"] = done.next;
  return {{"method", "PUT"}, {"path", path}, {"if_match", done.tag}, {"body", std::move(body)}};
}

std::string audited_as(const EditPlan& done, EditKind kind) {
  const std::size_t change = done.after.is_null() ? 2 : done.before.is_null() ? 0 : 1;
  constexpr std::array<const char*, 3> kDevice{"device.made", "device.changed", "device.removed"};
  constexpr std::array<const char*, 3> kGroup{"group.made", "group.changed", "group.removed"};
  constexpr std::array<const char*, 3> kSchedule{"schedule.made", "schedule.changed", "schedule.removed"};
  switch (kind) {
    case EditKind::device:
      return kDevice.at(change);
    case EditKind::group:
      return kGroup.at(change);
    case EditKind::schedule:
      return kSchedule.at(change);
    case EditKind::list:
      return "list.removed";
  }
  return {};
}

AuditRow row_of(const EditWish& wish, const EditPlan& done, const Author& author) {
  const auto text = [](const ordered_json& json) { return json.is_null() ? std::string() : json_line(json); };
  return {.at = std::time(nullptr),
          .author = author,
          .what = audited_as(done, wish.kind),
          .subject = done.name,
          .before = text(done.before),
          .after = text(done.after),
          .why = {}};
}

// The tag covers what is shown, how far lists have come, and what the API does not show of its files.
std::string page_tag(const Editable& editable, const std::string& shown) { return etag_of(shown + editable.texts()); }

StateResult<void> check_page(const std::string& if_match, const Editable& editable) {
  if (if_match.empty()) return {};
  return check_match(if_match, page_tag(editable, json_reply(shown_edits(editable, {})).body));
}

// Whether the file is as that edit left it.
bool is_as_left(const EditPlan& done) {
  const auto file = DropInFile::read(done.file.path());
  return file && file->text() == done.text;
}

tl::unexpected<StateError> changed_since() {
  return tl::unexpected(StateError{StateError::Kind::changed, "the file was changed since this edit: edit it anew"});
}

// On the state's thread: what is asked for, checked and written. `taken_back`: the edit that it takes back, or nullptr.
StateResult<EditPlan> write_edit(const EditWish& wish, const std::string& if_match, const EditPlan* taken_back,
                                 const std::filesystem::path& main, const StateStore& store) {
  const auto editable = Editable::read(main);
  if (!editable) return tl::unexpected(error_of(editable.error()));
  if (taken_back != nullptr) {
    if (!is_as_left(*taken_back)) return changed_since();
  } else if (const auto same = check_page(if_match, *editable); !same) {
    return tl::unexpected(same.error());
  }
  if (wish.kind == EditKind::group && !wish.item) {
    if (const std::string namers = namers_of_group(*store.state(), wish.name); !namers.empty()) {
      return tl::unexpected(
          conflict(fmt::format("the group {} is named by {}: remove these first, or let them end", wish.name, namers)));
    }
  }
  if (wish.kind == EditKind::list) {
    if (const std::string namers = namers_of_filter(*store.state(), wish.name); !namers.empty()) {
      return tl::unexpected(conflict(
          fmt::format("the filter {} is named by {}: remove these first, or let them end", wish.name, namers)));
    }
  }
  auto plan = editable->plan(wish);
  if (!plan) return plan;
  if (taken_back != nullptr) {
    if (plan->file.text() != taken_back->text) return changed_since();
    plan->text = taken_back->file.text();  // with the comments, the form and the order that it had
  }
  const auto check = [&](const conf::Config& settings) -> LoadFailure {
    if (wish.kind != EditKind::device) return {kExitDone, {}};
    std::string misplaced = misplaced_device(settings, plan->name);
    if (misplaced.empty()) return {kExitDone, {}};
    return {kExitRefused, {std::move(misplaced)}};
  };
  if (const auto done = plan->file.replace(plan->text, main, check); !done)
    return tl::unexpected(error_of(done.error()));
  plan->tag = etag_of(fmt::format("{}\n{}\n{}", plan->file.path().string(), plan->file.text(), plan->text));
  return plan;
}

}  // namespace

struct EditsApi::Edit {
  EditWish wish;
  Author author;
  std::string if_match;
  UndoPtr undo;  // that it is; nullptr: it is none
  HttpStream asker;
};

struct EditsApi::Undo {
  ordered_json request;  // undo_of()
  EditPlan done;         // what it takes back
};

// The kept one that is the same request, whatever the order of members; nullptr: there is none.
EditsApi::UndoPtr EditsApi::undo_that_is(const EditWish& wish, const std::string& if_match) const {
  nlohmann::json asked{
      {"method", wish.item ? "PUT" : "DELETE"}, {"path", path_of_item(wish.kind, wish.name)}, {"if_match", if_match}};
  if (wish.item) asked["body"] = *wish.item;
  const auto is_it = [&](const UndoPtr& each) { return nlohmann::json(each->request) == asked; };
  const auto at = std::ranges::find_if(undos_, is_it);
  return at == undos_.end() ? nullptr : *at;
}

void EditsApi::keep_undo(ordered_json request, EditPlan done) {
  if (request.is_null()) return;
  undos_.push_front(std::make_shared<const Undo>(Undo{std::move(request), std::move(done)}));
  if (undos_.size() > kMostUndos) undos_.pop_back();
}

std::string EditsApi::switched_off() const {
  const SnapshotPtr snapshot = process_.served.snapshot();
  return snapshot != nullptr && snapshot->settings.admin.edits ? std::string() : std::string(kOff);
}

ApiRoute EditsApi::route(EditKind kind, std::string_view method, std::string_view path) {
  return {.method = method,
          .path = path,
          .handler = [this, kind, is_removal = method == "DELETE"](
                         const ApiRequest& request) { return take(kind, is_removal, request); },
          .most_body = kMostApiBody};
}

std::vector<ApiRoute> EditsApi::routes() {
  return {{.method = "GET", .path = kEditsPath, .handler = [this](const ApiRequest& request) { return show(request); }},
          route(EditKind::device, "PUT", kDevicePath),
          route(EditKind::device, "DELETE", kDevicePath),
          route(EditKind::group, "PUT", kGroupPath),
          route(EditKind::group, "DELETE", kGroupPath),
          route(EditKind::schedule, "PUT", kSchedulePath),
          route(EditKind::schedule, "DELETE", kSchedulePath),
          {.method = "PUT",
           .path = kEditedListPath,
           .handler = [this](const ApiRequest& request) { return want_list(request); },
           .most_body = kMostApiBody},
          route(EditKind::list, "DELETE", kEditedListPath)};
}

HttpReply EditsApi::show(const ApiRequest& request) {
  const bool is_asked = process_.state.ask(
      [file = process_.file, off = switched_off()](StateStore&) -> StateResult<HttpReply> {
        const auto editable = Editable::read(file);
        if (!editable) return tl::unexpected(error_of(editable.error()));
        HttpReply reply = json_reply(shown_edits(*editable, off));
        const std::string tag = page_tag(*editable, reply.body);
        return with_etag(std::move(reply), tag);
      },
      [asker = request.http.stream](const StateResult<HttpReply>& shown) {
        asker.reply(shown ? *shown : problem_of(shown.error()));
      });
  return is_asked ? HttpReply{.is_later = true} : crowded_problem();
}

HttpReply EditsApi::take(EditKind kind, bool is_removal, const ApiRequest& request) {
  if (!process_.served.takes_changes()) return ending_problem();
  if (const std::string off = switched_off(); !off.empty()) return problem(409, "Nothing can be edited", off);
  const auto name = decoded_segment(request.http.arguments.front());
  if (!name) return problem(400, "Not understood", "the name in the path cannot be decoded");
  EditWish wish{.kind = kind, .name = *name, .item = {}};
  if (!is_removal) {
    auto item = read_json_body(request.http.body);
    if (!item) return problem(400, "Not understood", item.error());
    wish.item = *std::move(item);
  }
  if (waiting_.size() >= kMostWaiting) return crowded_problem();
  std::string if_match = if_match_of(request.http.head);
  UndoPtr undo = undo_that_is(wish, if_match);
  waiting_.push_back(std::make_shared<const Edit>(Edit{.wish = std::move(wish),
                                                       .author = request.caller.author,
                                                       .if_match = std::move(if_match),
                                                       .undo = std::move(undo),
                                                       .asker = request.http.stream}));
  // Replies come later, so none is made here.
  if (waiting_.size() == 1) process_.loop.post([this] { begin_next(); });
  return HttpReply{.is_later = true};
}

// Nothing of the configuration is changed here: the service that fetches and builds does that, and takes it back where
// the list cannot be had.
HttpReply EditsApi::want_list(const ApiRequest& request) {
  if (!process_.served.takes_changes()) return ending_problem();
  if (const std::string off = switched_off(); !off.empty()) return problem(409, "Nothing can be edited", off);
  const auto name = decoded_segment(request.http.arguments.front());
  const auto body =
      request.http.body.empty() ? ordered_json::object() : read_json_body(request.http.body).value_or(ordered_json());
  const auto exceptions = body.is_object() ? body.find("exceptions") : body.end();
  const bool has_word = body.is_object() && exceptions != body.end();
  const bool refuses = has_word && *exceptions == "refused";
  if (!name || !body.is_object() || body.size() > (has_word ? 1U : 0U) ||
      (has_word && !refuses && *exceptions != "allowed")) {
    return problem(400, "Not understood",
                   "the body is {}, or {\"exceptions\":\"refused\"}: `allow` and `pause` then cannot open it");
  }
  const std::string if_match = if_match_of(request.http.head);
  const UndoPtr undo = undo_that_is({.kind = EditKind::list, .name = *name, .item = body}, if_match);
  const bool is_asked = process_.state.ask(
      [name = *name, refuses, file = process_.file, author = request.caller.author, if_match,
       undo](StateStore& store) -> StateResult<void> {
        const auto editable = Editable::read(file);
        if (!editable) return tl::unexpected(error_of(editable.error()));
        if (undo != nullptr) {
          if (!is_as_left(undo->done) || is_wanted(editable->update_folder(), name)) return changed_since();
        } else if (auto same = check_page(if_match, *editable); !same) {
          return same;
        }
        if (const auto list = editable->addable(name); !list) return tl::unexpected(list.error());
        const auto left = leave_wanted(editable->update_folder(), {.name = name, .refuse_exceptions = refuses});
        if (!left) return tl::unexpected(StateError{StateError::Kind::failed, left.error()});
        return store.note({.at = std::time(nullptr),
                           .author = author,
                           .what = "list.wanted",
                           .subject = name,
                           .before = {},
                           .after = json_line({{"name", name}, {"exceptions", refuses ? "refused" : "allowed"}}),
                           .why = {}});
      },
      [asker = request.http.stream, name = *name, refuses](const StateResult<void>& done) {
        if (!done) return asker.reply(problem_of(done.error()));
        asker.reply(json_reply({{"item", {{"name", name}, {"exceptions", refuses ? "refused" : "allowed"}}}}, 202));
      });
  return is_asked ? HttpReply{.is_later = true} : crowded_problem();
}

void EditsApi::begin_next() {
  if (waiting_.empty()) return;
  const EditPtr edit = waiting_.front();
  if (!process_.served.takes_changes()) return finish(edit, ending_problem());
  const bool is_asked = process_.state.ask(
      [edit, file = process_.file](StateStore& store) {
        const EditPlan* const taken_back = edit->undo == nullptr ? nullptr : &edit->undo->done;
        return write_edit(edit->wish, edit->if_match, taken_back, file, store);
      },
      [this, edit](const StateResult<EditPlan>& written) { after_write(edit, written); });
  if (!is_asked) finish(edit, crowded_problem());
}

void EditsApi::after_write(const EditPtr& edit, const StateResult<EditPlan>& written) {
  if (!written) return finish(edit, problem_of(written.error()));
  log::info("{} {}: {} edits {}", to_string(edit->wish.kind), printable(written->name), edit->author.who,
            written->file.path().string());
  // What is left over of reloads at the end of the process comes when this object is gone, and is then never run.
  process_.reload([this, &loop = process_.loop, edit, plan = *written](const ReloadOutcome& outcome) {
    loop.post([this, edit, plan, outcome] { after_reload(edit, plan, outcome); });
  });
}

void EditsApi::after_reload(const EditPtr& edit, const EditPlan& written, const ReloadOutcome& outcome) {
  if (!outcome.ok()) return put_back(edit, written, outcome);
  const auto reply = [this, edit, written, warnings = outcome.warnings](const StateResult<void>& noted) {
    ordered_json said = ordered_json::array();
    for (const std::string& warning : warnings) said.push_back(printable(warning));
    if (!noted) said.push_back("the audit does not have this edit: " + noted.error().what);
    const ordered_json undo = undo_of(edit->wish, written);
    keep_undo(undo, written);
    finish(edit, json_reply({{"item", written.after.is_null() ? written.before : written.after},
                             {"file", printable(written.file.path().string())},
                             {"warnings", std::move(said)},
                             {"undo", undo}}));
  };
  const bool is_asked = process_.state.ask(
      [row = row_of(edit->wish, written, edit->author)](StateStore& store) { return store.note(row); }, reply);
  if (!is_asked) reply(tl::unexpected(StateError{StateError::Kind::failed, "too many changes wait"}));
}

void EditsApi::put_back(const EditPtr& edit, const EditPlan& written, const ReloadOutcome& outcome) {
  const auto reply = [this, edit, written, outcome](const StateResult<std::string>& done) {
    const LoadFailure failure{outcome.status, outcome.lines};
    finish(edit,
           problem(409, "The reload was refused",
                   fmt::format("{}: {}; {}", written.file.path().string(), done.value_or(""), error_of(failure).what)));
  };
  const bool is_asked = process_.state.ask(
      [file = written.file](StateStore&) -> StateResult<std::string> { return file.put_back(); }, reply);
  // Where that thread takes no more, the loop waits for the few lines: left as it is, the file would stop every reload.
  if (!is_asked) reply(written.file.put_back());
}

void EditsApi::finish(const EditPtr& edit, const HttpReply& reply) {
  edit->asker.reply(reply);
  waiting_.pop_front();
  if (!waiting_.empty()) process_.loop.post([this] { begin_next(); });
}

}  // namespace bloomwall::proxy
