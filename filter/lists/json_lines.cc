// Each line of a list of JSON lines (json_lines.h):
//   an object with the field, a text      an entry, as in a column of a table; of "cidr", as in a list of networks
//   an object whose "type" is "metadata"  boilerplate; its "records" is the number of entries that the list states
//   # and blank lines                    comment, blank
// Malformed: everything else, objects without the field among it. Of a field that an object has twice the last counts.
// SPDX-License-Identifier: Apache-2.0
#include "filter/lists/json_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/text.h"
#include "filter/lists/csv_parser.h"
#include "filter/lists/line_parser.h"

namespace bloomwall::filter {
namespace {

constexpr std::size_t kLinesLookedAt = 200;
constexpr std::size_t kMostFieldsShown = 16;
constexpr std::size_t kMostFieldsCounted = 256;
constexpr std::string_view kNetworkField = "cidr";
constexpr std::string_view kUrlField = "url";

using Object = nlohmann::json;

std::optional<Object> object_of(std::string_view line) {
  line = trim(line);
  if (!line.starts_with('{')) return std::nullopt;
  bool is_deep = false;
  const auto watch = [&is_deep](int depth, nlohmann::json::parse_event_t /*event*/, const Object& /*value*/) {
    is_deep = is_deep || depth > kMaxJsonDepth;
    return !is_deep;  // what is deeper is not kept
  };
  Object object = Object::parse(line.begin(), line.end(), watch, false);
  if (is_deep || object.is_discarded() || !object.is_object()) return std::nullopt;
  return object;
}

bool is_metadata(const Object& object) {
  const auto type = object.find("type");
  return type != object.end() && type->is_string() && type->get_ref<const std::string&>() == "metadata";
}

struct Fields {
  std::map<std::string, std::size_t, std::less<>> count;
  std::size_t records = 0;
  std::size_t of(std::string_view name) const {
    const auto at = count.find(name);
    return at == count.end() ? 0 : at->second;
  }
};

Fields fields_of(std::string_view sample) {
  Fields fields;
  for (LineWalk lines(sample); fields.records < kLinesLookedAt && lines.next();) {
    const auto object = object_of(lines.line());
    if (!object || is_metadata(*object)) continue;
    ++fields.records;
    for (const auto& [name, value] : object->items()) {
      if (value.is_string() && fields.count.size() < kMostFieldsCounted) ++fields.count[name];
    }
  }
  return fields;
}

std::string names_of(const Fields& fields) {
  std::string text;
  std::size_t shown = 0;
  for (const auto& [name, count] : fields.count) {
    if (++shown > kMostFieldsShown) return text + ", ...";
    text += fmt::format("{}\"{}\"", text.empty() ? "" : ", ", shown_line(name.substr(0, 32)));
  }
  return text.empty() ? "none with text" : text;
}

class JsonLinesParser final : public LineParser {
 public:
  explicit JsonLinesParser(const ParsePlan& plan) : field_(plan.json_field), names_(make_domain_parser(plan)) {}

  LineOutcome line(std::string_view text, EntryGate& gate) override {
    text = trim(text);
    if (text.empty()) return {LineClass::blank};
    if (text.front() == '#') return {LineClass::comment};
    const auto object = object_of(text);
    if (!object) return malformed("not a JSON object");
    const auto value = object->find(field_);
    if (value == object->end()) return without_field(*object, gate);
    if (!value->is_string()) return malformed("field that is no text");
    const std::string_view entry = trim(value->get_ref<const std::string&>());
    if (entry.empty()) return malformed("no host");
    return field_ == kNetworkField ? gate.network(entry) : take_field(entry, *names_, gate);
  }

 private:
  static LineOutcome without_field(const Object& object, EntryGate& gate) {
    if (!is_metadata(object)) return malformed("record without the field");
    const auto records = object.find("records");
    if (records != object.end() && records->is_number_unsigned()) gate.states(records->get<std::uint64_t>());
    return {LineClass::boilerplate};
  }

  std::string field_;
  std::unique_ptr<LineParser> names_;
};

}  // namespace

std::unique_ptr<LineParser> make_json_lines_parser(const ParsePlan& plan) {
  return std::make_unique<JsonLinesParser>(plan);
}

bool is_json_lines(std::string_view sample) {
  std::size_t objects = 0;
  std::size_t others = 0;
  for (LineWalk lines(sample); objects + others < kLinesLookedAt && lines.next();) {
    const std::string_view text = trim(lines.line());
    if (text.empty() || text.front() == '#') continue;
    const auto object = object_of(text);
    const bool is_record = object && !object->empty();
    if (!is_record && objects == 0) return false;  // a document of several lines begins with "{" or "["
    ++(is_record ? objects : others);
  }
  return objects > others * 9;
}

Result<std::string> json_field(std::string_view sample, std::string_view path, std::string_view wanted) {
  const Fields fields = fields_of(sample);
  if (!wanted.empty() && fields.of(wanted) > 0) return std::string(wanted);
  if (wanted.empty()) {
    const bool networks = fields.of(kNetworkField) * 10 >= fields.records * 9 && fields.records > 0;
    // A single object with a URL in it is rather an error message.
    const bool urls = fields.of(kUrlField) * 10 >= fields.records * 9 && fields.records > 1;
    if (networks != urls) return std::string(networks ? kNetworkField : kUrlField);
  }
  const std::string asked = wanted.empty() ? "none of which is known to hold the entries"
                                           : fmt::format("none of which is --csv-column {}", shown_line(wanted));
  return unexpected(Error{Errc::usage, std::string(path),
                          fmt::format("is JSON, which is not read as a list unless its lines are records with a known "
                                      "field; the records have the fields {}, {}; say --csv-column NAME if one of them "
                                      "does; perhaps this is an error message that was saved instead of the list",
                                      names_of(fields), asked)});
}

}  // namespace bloomwall::filter
