// SPDX-License-Identifier: Apache-2.0
#include "proxy/ops/exceptions_api.h"

#include <fmt/format.h>

#include <ctime>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/units.h"
#include "filter/cli/terminal.h"
#include "proxy/log/log.h"

namespace bloomwall::proxy {
namespace {

using filter::Override;
using nlohmann::ordered_json;

constexpr std::string_view kListPath = "/api/v1/exceptions", kItemPath = "/api/v1/exceptions/{id}";
constexpr std::string_view kJson = "application/json";
constexpr std::size_t kMostBody = std::size_t{64} << 10;
constexpr std::int64_t kUsualSeconds = std::int64_t{24} * 3600;

std::string text_of(const ordered_json& json) {
  return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + '\n';
}

HttpReply problem(int status, std::string_view title, std::string_view detail) {
  return {.status = status,
          .type = "application/problem+json",
          .body = text_of({{"title", title}, {"status", status}, {"detail", detail}})};
}

HttpReply not_taken(std::string_view detail) { return problem(400, "The exception cannot be taken", detail); }

// What a client says of a new one; errors as for people.
tl::expected<ExceptionList::Item, std::string> read_item(std::string_view body, std::int64_t now) {
  const auto refuse = [](std::string what) { return tl::unexpected(std::move(what)); };
  ordered_json json = ordered_json::parse(body, nullptr, false);
  if (!json.is_object()) return refuse("the body is no JSON object");
  for (const auto& [name, value] : json.items()) {
    if (name != "action" && name != "entry" && name != "filters" && name != "until" && name != "why") {
      return refuse(fmt::format("{}: no such member; there are action, entry, filters, until and why", name));
    }
  }
  const auto text_at = [&](const char* name) {
    const auto at = json.find(name);
    return at != json.end() && at->is_string() ? at->get<std::string>() : std::string();
  };
  const std::string entry = text_at("entry"), why = text_at("why"), action = text_at("action");
  if (entry.empty() || entry.size() > ExceptionList::kMaxEntry) {
    return refuse(fmt::format("entry: a text of 1 to {} octets is needed", ExceptionList::kMaxEntry));
  }
  if (why.empty() || why.size() > ExceptionList::kMaxWhy) {
    return refuse(fmt::format("why: a text of 1 to {} octets is needed", ExceptionList::kMaxWhy));
  }
  Override made;
  made.action = action == "deny" ? Override::Action::deny : Override::Action::allow;
  if (const auto read = filter::read_override(entry, made); !read) return refuse("entry: " + read.error().what);
  json["id"] = 0U;
  json["kind"] = std::string(1, static_cast<char>(made.kind));
  json["entry"] = made.entry;
  json["created"] = format_time(static_cast<std::uint64_t>(now));
  if (!json.contains("until")) json["until"] = format_time(static_cast<std::uint64_t>(now + kUsualSeconds));
  auto item = item_from(json);
  if (!item) return refuse(item.error());
  if (item->exception.until <= now) return refuse("until: has passed already");
  return item;
}

HttpReply ending() { return problem(503, "Nothing was changed", "bloomwall is stopping"); }

std::optional<std::uint64_t> id_of(std::string_view text) { return parse_integer(text); }

}  // namespace

ExceptionsApi::ExceptionsApi(const std::filesystem::path& state_folder, Daemon daemon) : daemon_(std::move(daemon)) {
  auto loaded = ExceptionList::load(state_folder);
  if (loaded) {
    list_ = *std::move(loaded);
  } else {
    error_ = loaded.error();
  }
}

std::vector<HttpRoute> ExceptionsApi::routes() {
  return {{.method = "GET", .path = kListPath, .handler = [this](const HttpRequest&) { return list(); }},
          {.method = "POST",
           .path = kListPath,
           .handler = [this](const HttpRequest& request) { return make(request); },
           .most_body = kMostBody},
          {.method = "DELETE", .path = kItemPath, .handler = [this](const HttpRequest& request) {
             return remove(request);
           }}};
}

// Those that are in the file still have ended there, too.
void ExceptionsApi::sweep() {
  const auto swept = list_.sweep(std::time(nullptr));
  if (!swept) log::warning("{}: exceptions that have ended are still in the file", swept.error());
  if (!swept || *swept) daemon_.publish([] {});
}

HttpReply ExceptionsApi::list() const {
  ordered_json json{{"items", ordered_json::array()}, {"next", nullptr}};
  for (const ExceptionList::Item& item : list_.items()) json["items"].push_back(to_json(item));
  return {.type = kJson, .body = text_of(json)};
}

HttpReply ExceptionsApi::make(const HttpRequest& request) {
  if (daemon_.is_ending()) return ending();
  auto item = read_item(request.body, std::time(nullptr));
  if (!item) return not_taken(item.error());
  if (list_.items().size() >= filter::Overrides::kMost) sweep();
  const bool is_full = list_.items().size() >= filter::Overrides::kMost;
  const auto id = list_.add(*std::move(item));
  if (!id) return problem(is_full ? 409 : 500, "The exception was not made", id.error());
  return publish(201, *list_.find(*id), request.stream, true);
}

HttpReply ExceptionsApi::remove(const HttpRequest& request) {
  if (daemon_.is_ending()) return ending();
  const auto id = id_of(request.arguments.front());
  const ExceptionList::Item* const found = id ? list_.find(*id) : nullptr;
  if (found == nullptr) return problem(404, "No such exception", "GET " + std::string(kListPath) + " shows all");
  const ExceptionList::Item item = *found;
  if (const auto removed = list_.remove(*id); !removed) {
    return problem(500, "The exception was not removed", removed.error());
  }
  return publish(200, item, request.stream, false);
}

std::vector<std::string> ExceptionsApi::warnings_of(const Override& made) const {
  std::vector<std::string> warnings = daemon_.warnings(made);
  if (!list_.is_kept()) warnings.emplace_back("it is gone after a restart: there is no state_dir to keep it in");
  return warnings;
}

// The reply ends once every worker asks the new ones.
HttpReply ExceptionsApi::publish(int status, const ExceptionList::Item& item, const HttpStream& asker, bool is_new) {
  log::info("exception {}: {}", is_new ? "made" : "removed", filter::printable(to_json(item).dump()));
  daemon_.publish([this, item, asker, is_new] {
    ordered_json json{{"item", to_json(item)}};
    if (is_new) json["warnings"] = warnings_of(item.exception);
    asker.write(text_of(json));
    asker.end();
  });
  return {.status = status, .type = kJson, .goes_on = true};
}

}  // namespace bloomwall::proxy
