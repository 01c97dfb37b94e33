// SPDX-License-Identifier: Apache-2.0
#include "proxy/state/exception_item.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.h"
#include "filter/policy/entry_text.h"
#include "filter/url/host.h"
#include "proxy/state/json_members.h"
#include "proxy/state/time_text.h"

namespace bloomwall::proxy {
namespace {

using filter::Override;
using nlohmann::ordered_json;

ordered_json text_or_null(const std::string& text) { return text.empty() ? ordered_json() : ordered_json(text); }

// Of a comment in an allow list, which ends with its line.
std::string on_one_line(std::string text) {
  std::ranges::replace_if(text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, ' ');
  return text;
}

// Whom it is for. Empty: fine; else what is wrong.
std::string read_people(const ordered_json& json, Override& exception) {
  if (const char* const name = member_that_is_no_text(json, {"client", "user", "group"}); name != nullptr) {
    return fmt::format("{}: a text, or null, is needed", name);
  }
  const std::string client = text_member(json, "client").value_or("");
  exception.user = text_member(json, "user").value_or("");
  exception.group = text_member(json, "group").value_or("");
  if (!client.empty() + !exception.user.empty() + !exception.group.empty() > 1) {
    return "client, user and group: only one of them can be given";
  }
  if (!set_client(exception, client)) return "client: an address or a network is needed";
  if (exception.user.size() > ExceptionItem::kMaxUser) return "user: at most 255 octets";
  if (exception.group.size() > ExceptionItem::kMaxName) return "group: at most 64 octets";
  return {};
}

// What it does. Empty: fine; else what is wrong.
std::string read_rule(const ordered_json& json, Override& exception) {
  const auto action = text_member(json, "action");
  if (action != "allow" && action != "deny") return "action: allow or deny is needed";
  exception.action = action == "allow" ? Override::Action::allow : Override::Action::deny;
  const auto kind = text_member(json, "kind"), entry = text_member(json, "entry");
  if (!kind || kind->size() != 1 || !entry) return "kind and entry are needed";
  exception.kind = static_cast<filter::Kind>(kind->front());
  exception.entry = *entry;
  if (!filter::EntryParser().canonical(exception.kind, exception.entry)) return "entry: not a canonical entry";
  auto names = texts_member(json, "filters", ExceptionItem::kMaxFilters, ExceptionItem::kMaxName);
  if (!names) return "filters: a list of names is needed";
  exception.filters = *std::move(names);
  if (exception.action == Override::Action::deny && !exception.filters.empty()) {
    return "filters: only an allow can be for some of them";
  }
  return read_people(json, exception);
}

}  // namespace

bool is_filter_name(std::string_view name) {
  return !name.empty() && name.size() <= ExceptionItem::kMaxName && std::ranges::all_of(name, [](char c) {
    return is_alpha(c) || is_digit(c) || c == '.' || c == '_' || c == '-';
  });
}

bool says_the_same(const Override& a, const Override& b) {
  return a.action == b.action && a.kind == b.kind && a.entry == b.entry && a.filters == b.filters &&
         a.client == b.client && a.user == b.user && a.group == b.group;
}

bool set_client(Override& exception, std::string_view text) {
  exception.client.reset();
  if (text.empty()) return true;
  if (const auto address = IpAddress::parse_host(text)) {
    exception.client = filter::range_of(*address);
    return true;
  }
  const filter::RangeReading reading = filter::read_address_range(text, filter::RangeOf::clients);
  if (reading.outcome != filter::RangeReading::Outcome::range) return false;
  exception.client = reading.range;
  return true;
}

std::string client_text(const Override& exception) {
  if (!exception.client) return {};
  return exception.client->is_one_address() ? filter::text_of(exception.client->first) : text_of(*exception.client);
}

std::string entry_to_type(const Override& exception) {
  // A top-level domain is taken as written out only.
  const bool is_top = filter::is_host_kind(exception.kind) && filter::is_top_level_domain(exception.entry);
  return (is_top ? "*." : "") + filter::text_to_type(exception.entry);
}

ordered_json to_json(const ExceptionItem& item) {
  const Override& exception = item.exception;
  ordered_json json{{"id", exception.id},
                    {"action", exception.action == Override::Action::allow ? "allow" : "deny"},
                    {"kind", std::string(1, static_cast<char>(exception.kind))},
                    {"entry", exception.entry},
                    {"filters", exception.filters},
                    {"why", item.why},
                    {"created", time_text(item.created)},
                    {"until", end_json(exception.until)},
                    {"client", text_or_null(client_text(exception))},
                    {"user", text_or_null(exception.user)},
                    {"group", text_or_null(exception.group)},
                    {"who", text_or_null(item.who)},
                    {"until_build", item.until_build}};
  if (item.until_build) {
    json["builds"] = item.builds;
    json["seen"] = ordered_json::object();
    for (const auto& [filter, build] : item.seen) json["seen"][filter] = build;
  }
  if (item.report != 0) json["report"] = item.report;
  return json;
}

tl::expected<ExceptionItem, std::string> exception_from(const ordered_json& json) {
  const auto refuse = [](const char* what) { return tl::unexpected(std::string(what)); };
  if (!json.is_object()) return refuse("no object");
  ExceptionItem item;
  const auto id = number_member(json, "id");
  if (!id) return refuse("id: a number is needed");
  item.exception.id = *id;
  if (const std::string wrong = read_rule(json, item.exception); !wrong.empty()) return tl::unexpected(wrong);
  const auto until = end_member(json);
  if (!until) return refuse("until: a time such as 2026-01-31T12:00:00Z, or null, is needed");
  item.exception.until = *until;
  const auto created = time_member(json, "created");
  const auto why = text_member(json, "why");
  if (!created || !why) return refuse("created and why are needed");
  item.created = *created;
  item.why = *why;
  item.who = text_member(json, "who").value_or("");
  const auto until_build = json.find("until_build");
  if (until_build != json.end() && !until_build->is_boolean()) return refuse("until_build: true or false is needed");
  item.until_build = until_build != json.end() && until_build->get<bool>();
  item.builds =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(number_member(json, "builds").value_or(0), 1'000'000));
  item.report = number_member(json, "report").value_or(0);
  if (const auto seen = json.find("seen"); seen != json.end() && seen->is_object()) {
    for (const auto& [filter, build] : seen->items()) {
      if (build.is_string() && item.seen.size() < ExceptionItem::kMaxFilters)
        item.seen[filter] = build.get<std::string>();
    }
  }
  return item;
}

std::string allow_line(const ExceptionItem& item, std::int64_t now) {
  const Override& exception = item.exception;
  const bool is_scoped =
      exception.client.has_value() || !exception.user.empty() || !exception.group.empty() || !exception.filters.empty();
  if (exception.action == Override::Action::deny || is_scoped || exception.until <= now) return {};
  const std::string line = entry_to_type(exception);
  const std::string end = exception.until != Override::kForever ? "until " + time_text(exception.until)
                          : item.until_build                    ? "until a build"
                                                                : "ever";
  return line + fmt::format("  # exception {}, {}: {}", exception.id, end, on_one_line(item.why));
}

}  // namespace bloomwall::proxy
