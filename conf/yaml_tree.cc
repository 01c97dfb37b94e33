// SPDX-License-Identifier: Apache-2.0
#include "conf/yaml_tree.h"

#include <fmt/format.h>
#include <unicode/utf8.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <map>
#include <sstream>
#include <utility>

namespace bloomwall::conf {
namespace {

// Escapes in quoted YAML can spell any octet; none of them reaches a terminal or a log as it is.
std::string printable(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const bool control = (c >= 0 && c < 0x20) || c == 0x7f;
    out += control ? fmt::format("\\x{:02x}", static_cast<unsigned>(c)) : std::string(1, c);
  }
  return out;
}

Place place_of(const YAML::Mark& mark) { return {mark.line + 1, mark.column + 1}; }

YamlNode make_node(YamlNode::Kind kind, const YAML::Mark& mark) {
  YamlNode node;
  node.kind = kind;
  node.place = place_of(mark);
  return node;
}

// Builds the tree from yaml-cpp's events. What makes the rest of the file meaningless is thrown as yaml-cpp's own
// exception and caught with the others; the rest is collected, so that one look shows every mistake.
class TreeBuilder final : public YAML::EventHandler {
 public:
  TreeBuilder(std::vector<ConfigError>& errors, const std::string& name) : errors_(errors), name_(name) {}
  YamlNode take_root() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    add(make_node(YamlNode::Kind::null, mark), "", anchor);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    fail(place_of(mark), "aliases (*name) are not used in this file; write the value out");
    add(make_node(YamlNode::Kind::null, mark), "", 0);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    YamlNode node = make_node(YamlNode::Kind::scalar, mark);
    node.quoted = tag == "!";
    node.text = value;
    add(std::move(node), tag, anchor);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(make_node(YamlNode::Kind::sequence, mark), tag, anchor, mark);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(make_node(YamlNode::Kind::map, mark), tag, anchor, mark);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Open {
    YamlNode node;
    bool has_key = false;  // a map whose next node is a value
    YamlEntry pending;
    std::map<std::string, int, std::less<>> lines;  // of the keys so far
  };

  void fail(Place place, std::string what) {
    errors_.push_back({name_, place.line, place.column, path(), std::move(what)});
  }
  std::string path() const {
    std::string text;
    for (const Open& open : open_) {
      if (open.node.kind == YamlNode::Kind::sequence) {
        text += fmt::format("[{}]", open.node.items.size());
      } else if (open.has_key) {
        text += (text.empty() ? "" : ".") + open.pending.key;
      }
    }
    return text;
  }
  void open(YamlNode node, const std::string& tag, YAML::anchor_t anchor, const YAML::Mark& mark) {
    if (open_.size() >= kMaxYamlDepth) {
      throw YAML::ParserException(mark, fmt::format("nested deeper than {} levels", kMaxYamlDepth));
    }
    check(node, tag, anchor);
    open_.emplace_back().node = std::move(node);
  }
  void close() {
    YamlNode done = std::move(open_.back().node);
    open_.pop_back();
    place_node(std::move(done));
  }
  void add(YamlNode node, const std::string& tag, YAML::anchor_t anchor) {
    check(node, tag, anchor);
    place_node(std::move(node));
  }
  void check(const YamlNode& node, const std::string& tag, YAML::anchor_t anchor) {
    if (++nodes_ > kMaxYamlNodes) {
      throw YAML::ParserException(YAML::Mark::null_mark(), fmt::format("more than {} values", kMaxYamlNodes));
    }
    if (anchor != 0) fail(node.place, "anchors (&name) are not used in this file");
    if (!tag.empty() && tag != "?" && tag != "!") fail(node.place, "tags (!name) are not used in this file");
  }
  void place_node(YamlNode node) {
    if (open_.empty()) {
      root_ = std::move(node);
    } else if (Open& top = open_.back(); top.node.kind == YamlNode::Kind::sequence) {
      top.node.items.push_back(std::move(node));
    } else if (!top.has_key) {
      begin_entry(top, std::move(node));
    } else {
      if (node.kind == YamlNode::Kind::null) node.place = top.pending.place;  // yaml-cpp places it on the next line
      top.pending.value = std::move(node);
      top.node.entries.push_back(std::move(top.pending));
      top.pending = {};
      top.has_key = false;
    }
  }
  void begin_entry(Open& top, YamlNode key) {
    if (key.kind != YamlNode::Kind::scalar) fail(key.place, "a key must be a word");
    const auto [first, fresh] = top.lines.try_emplace(key.text, key.place.line);
    top.pending.key = std::move(key.text);
    top.pending.place = key.place;
    top.has_key = true;
    if (!fresh) fail(key.place, fmt::format("given twice; first on line {}", first->second));
  }

  std::vector<ConfigError>& errors_;
  const std::string& name_;
  std::vector<Open> open_;
  YamlNode root_;
  std::size_t nodes_ = 0;
};

// The one place where exceptions of yaml-cpp end.
void parse_events(std::istream& in, TreeBuilder& builder, std::vector<ConfigError>& errors, const std::string& name) {
  try {
    YAML::Parser parser(in);
    if (!parser.HandleNextDocument(builder)) return;
    std::vector<ConfigError> ignored;
    TreeBuilder second(ignored, name);
    if (parser.HandleNextDocument(second)) {
      const Place place = second.take_root().place;
      errors.push_back({name, place.line, place.column, "", "a second document (---); one file holds one"});
    }
  } catch (const YAML::Exception& e) {
    const Place place = e.mark.is_null() ? Place{} : place_of(e.mark);
    // The only scalars that end with the file and must not are those in quotes.
    const bool is_open_quote = e.msg == "illegal EOF in scalar";
    errors.push_back({name, place.line, place.column, "",
                      is_open_quote ? "not YAML: a quote is not closed; it was opened on this line or on one before"
                                    : "not YAML: " + e.msg});
  } catch (const std::exception& e) {
    errors.push_back({name, 0, 0, "", fmt::format("not YAML: {}", e.what())});
  }
}

}  // namespace

std::string ConfigError::text() const {
  std::string where = file;
  if (line > 0) where += fmt::format(":{}:{}", line, column);
  if (!key.empty()) where += (where.empty() ? "" : ": ") + key;
  return printable(where.empty() ? what : where + ": " + what);
}

const YamlEntry* YamlNode::find(std::string_view key) const {
  const auto at =
      std::find_if(entries.begin(), entries.end(), [&](const YamlEntry& entry) { return entry.key == key; });
  return at == entries.end() ? nullptr : &*at;
}

std::optional<std::size_t> find_non_text(std::string_view text) {
  const auto* octets = reinterpret_cast<const std::uint8_t*>(text.data());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t start = at;
    std::int32_t point = 0;
    // NOLINTNEXTLINE(bugprone-inc-dec-in-conditions): ICU's macro
    U8_NEXT(octets, at, text.size(), point);  // negative: ill-formed
    const bool control = (point < 0x20 && point != '\t' && point != '\n' && point != '\r') || point == 0x7f;
    if (control) return start;
  }
  return std::nullopt;
}

tl::expected<YamlNode, std::vector<ConfigError>> parse_yaml(std::string_view text, const std::string& name) {
  std::vector<ConfigError> errors;
  if (text.size() > kMaxYamlBytes) {
    errors.push_back({name, 0, 0, "", fmt::format("larger than {} KiB", kMaxYamlBytes / 1024)});
  } else if (const auto bad = find_non_text(text)) {
    const auto before = text.substr(0, *bad);
    const auto line_begin = before.rfind('\n') + 1;  // npos + 1 is 0
    errors.push_back({name, static_cast<int>(std::count(before.begin(), before.end(), '\n')) + 1,
                      static_cast<int>(before.size() - line_begin) + 1, "", "not UTF-8 text, or a control octet"});
  }
  if (!errors.empty()) return tl::unexpected(std::move(errors));

  TreeBuilder builder(errors, name);
  // yaml-cpp sees a quote that is never closed only where the text does not end in a line break.
  const std::size_t end = text.find_last_not_of(" \t\r\n") + 1;  // npos + 1 is 0
  std::istringstream in{std::string(text.substr(0, end))};
  parse_events(in, builder, errors, name);
  if (!errors.empty()) return tl::unexpected(std::move(errors));
  return builder.take_root();
}

}  // namespace bloomwall::conf
