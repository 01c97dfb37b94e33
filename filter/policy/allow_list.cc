// SPDX-License-Identifier: Apache-2.0
#include "filter/policy/allow_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "filter/policy/entry_text.h"
#include "filter/policy/lookup.h"
#include "filter/url/address.h"
#include "filter/url/host.h"
#include "filter/url/host_text.h"

namespace bloomwall::filter {

AllowLists::AllowLists(const KeyMaker& keys, std::vector<std::string> filters)
    : entries_(keys), url_hosts_(keys), names_(std::move(filters)) {}

std::uint64_t AllowLists::size() const {
  std::uint64_t sum = entries_.size();
  for (const auto& [value, ranges] : networks_) sum += ranges.size();
  return sum;
}

void AllowLists::find_networks(const IpAddress& address, ExactMatches& matches) const {
  for (const auto& [value, ranges] : networks_) {
    if (ranges.find(address)) matches.push_back({Kind::network, 0, 0, value});
  }
}

std::uint32_t AllowLists::find_address(const IpAddress& address) const {
  const std::string host = filter::text_of(address);
  return entries_.find({.kind = Kind::exact_host, .host_kind = kind_of(address), .host = host});
}

std::string AllowLists::expression_of(const ExactMatch& match, UrlParts& parts, const IpAddress& address) const {
  const auto networks = match.kind == Kind::network ? networks_.find(match.value) : networks_.end();
  if (networks == networks_.end()) return filter::expression_of(match.kind, match.suffix, match.depth, parts);
  const auto range = networks->second.find(address);
  return range ? filter::text_of(*range) : filter::text_of(address);
}

std::string AllowLists::expression_of(const ExactMatch& match, UrlParts& parts) const {
  return expression_of(match, parts, parts.address() != nullptr ? *parts.address() : IpAddress{});
}

bool AllowLists::overrules(std::uint32_t value, std::size_t filter) const {
  if (value == kEveryFilter) return true;
  const Filters& scope = scopes_[value - kEveryFilter - 1];
  return ((scope[filter / 64] >> (filter % 64)) & 1) != 0;
}

std::string AllowLists::scope_text(std::uint32_t value) const {
  std::string text;
  if (overrules_all(value)) return text;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    if (overrules(value, i)) text.append(" @").append(names_[i]);
  }
  return text;
}

std::uint32_t AllowLists::number_of(const Filters& filters) {
  const auto next = static_cast<std::uint32_t>(scopes_.size()) + kEveryFilter + 1;
  const auto [at, is_new] = known_scopes_.try_emplace(filters, next);
  if (is_new) scopes_.push_back(filters);
  return at->second;
}

void AllowLists::allow(const Entry& entry, const Filters& filters) {
  widen(entries_.at(entry), filters);
  if (is_path_kind(entry.kind)) widen(url_hosts_.at(whole_host_of(entry)), filters);
}

void AllowLists::widen(std::uint32_t& value, const Filters& filters) {
  if (value == kEveryFilter) return;
  if (filters.empty()) {
    value = kEveryFilter;
    return;
  }
  Filters both = filters;
  if (value != 0) {
    const Filters& before = scopes_[value - kEveryFilter - 1];
    for (std::size_t i = 0; i < both.size(); ++i) both[i] |= before[i];
  }
  value = number_of(both);
}

namespace {

tl::unexpected<Error> bad_entry(std::string what) {
  return tl::unexpected(Error{.code = Errc::bad_syntax, .where = {}, .what = std::move(what)});
}

Result<Entry> single_entry(const ParsedEntry& parsed, std::string_view text, std::string_view effect) {
  if (text.find(kByteOrderMark) != std::string_view::npos) {
    return bad_entry(fmt::format("{} has a byte order mark inside; one entry a line", in_quotes(text)));
  }
  if (parsed.entries.empty() || parsed.problem == EntryProblem::odd) return bad_entry(problem_text(parsed, text));
  if (parsed.entries.size() > 1) {
    return bad_entry(fmt::format("{} may be read in {} ways; write the path plainly, without escapes or '..'",
                                 in_quotes(text), parsed.entries.size()));
  }
  const Entry& entry = parsed.entries.front();
  if (is_path_kind(entry.kind) && text.substr(0, text.find('?')).find('*') != std::string_view::npos) {
    return bad_entry(
        fmt::format("{} is no pattern: '*' in a path stands for itself; a path that ends in '/' is all below it, and "
                    "'%2A' is the character",
                    in_quotes(text)));
  }
  if (!is_host_kind(entry.kind)) return entry;
  if (text.find('#') != std::string_view::npos) {
    return bad_entry(
        fmt::format("{} would {} all of {}: what follows '#' is never sent to a proxy; write the host "
                    "alone if that is meant",
                    in_quotes(text), effect, entry.host));
  }
  const bool is_spelt_out = text.starts_with('.') || text.starts_with("*.");
  if (!is_spelt_out && is_top_level_domain(entry.host)) {
    return bad_entry(
        fmt::format("{} is a top-level domain and would {} everything below it; write '*.{}' if that is "
                    "meant",
                    in_quotes(text), effect, entry.host));
  }
  return entry;
}

}  // namespace

Result<Entry> read_single_entry(EntryParser& parser, std::string_view text, std::string_view effect) {
  return single_entry(parser.any(text), text, effect);
}

class AllowListParser {
 public:
  AllowListParser(AllowLists& lists, const std::string& name, std::size_t of_filter)
      : lists_(lists), of_filter_(of_filter), errors_(name) {}

  std::vector<Error> parse(std::string_view text, std::uint64_t first_line) {
    LineWalk lines(text, first_line);
    while (lines.next()) {
      number_ = lines.number();
      if (!read(lines.line())) break;
    }
    for (const auto& [value, ranges] : ranges_) {
      RangeSet& networks = lists_.networks_[value];
      networks = united(networks, RangeSet(ranges));
    }
    return errors_.take();
  }

 private:
  void fail(Errc code, std::string what) { errors_.add(number_, code, std::move(what)); }

  // False: no use in reading on.
  bool read(std::string_view line) {
    if (line.size() > kMaxEntryLine) {
      fail(Errc::limit, fmt::format("a line of {} bytes; at most {} are read", line.size(), kMaxEntryLine));
      return true;
    }
    std::string_view rest = trim_all_blanks(line);
    if (rest.starts_with("!#")) {
      fail(Errc::bad_syntax,
           fmt::format("{} is for the preprocessor of an ad blocker, which nothing follows here", in_quotes(rest)));
      return true;
    }
    if (rest.starts_with('!') || is_title(rest)) return true;
    rest = trim_all_blanks(without_glued_comment(without_comment(rest)));
    if (rest.empty()) return true;
    take_line(rest);
    if (lists_.size() + range_count_ <= kMaxExactEntries) return true;
    fail(Errc::limit, fmt::format("more than {} entries in all allow lists", kMaxExactEntries));
    return false;
  }

  void take_line(std::string_view rest) {
    AllowLists::Filters filters;
    // A range may have blanks around its '-'.
    const std::string_view range = trim(rest.substr(0, filters_begin(rest)));
    if (const RangeReading reading = read_address_range(range); reading.outcome != RangeReading::Outcome::no_range) {
      if (read_filters(trim(rest.substr(filters_begin(rest))), filters)) take_range(range, reading, filters);
      return;
    }
    std::string_view text = next_word(rest);
    if (text.starts_with("@@|")) text = without_frame(text.substr(2));  // an exception of an adblock list
    // A line of a hosts file: its names, each for itself.
    std::vector<std::string_view> names;
    if (is_address(text)) {
      while (!rest.empty() && rest.front() != '@') names.push_back(next_word(rest));
    }
    if (!read_filters(rest, filters)) return;
    if (names.empty()) {
      take(text, parser_.any(text), filters);
    } else {
      for (const std::string_view name : names) take(name, parser_.domain(name, Kind::exact_host), filters);
    }
  }

  // "[Adblock Plus 2.0]", as published lists begin.
  static bool is_title(std::string_view line) {
    constexpr std::array<std::string_view, 4> kTitles{"[adblock", "[adguard", "[ublock", "[ubo"};
    return line.ends_with(']') &&
           std::ranges::any_of(kTitles, [&](auto title) { return starts_ignoring_case(line, title); });
  }

  // An exception without the modifiers that leave it one for every request, and without the '|' behind a whole host.
  static std::string_view without_frame(std::string_view rule) {
    const std::size_t at = rule.rfind('$');
    if (at != std::string_view::npos) {
      std::string_view modifiers = rule.substr(at + 1);
      bool frees_all = !modifiers.empty();
      while (!modifiers.empty()) {
        const std::string_view name = next_part(modifiers, ',');
        frees_all &= name == "important" || name == "document" || name == "doc" || name == "all";
      }
      if (frees_all) rule = rule.substr(0, at);
    }
    if (!rule.starts_with("||") && rule.ends_with("^|")) rule.remove_suffix(1);
    return rule;
  }

  // Where the names of filters begin, behind the first word.
  static std::size_t filters_begin(std::string_view line) {
    return std::min({line.find(" @"), line.find("\t@"), line.size()});
  }

  void take_range(std::string_view text, const RangeReading& reading, const AllowLists::Filters& filters) {
    if (reading.outcome != RangeReading::Outcome::range) {
      return fail(Errc::bad_syntax, fmt::format("{}: {}", in_quotes(text), reading.reason));
    }
    ranges_[lists_.value_of(filters)].push_back(reading.range);
    ++range_count_;
  }

  static bool is_address(std::string_view text) { return IpAddress::parse(text).has_value(); }

  void take(std::string_view text, const ParsedEntry& parsed, const AllowLists::Filters& filters) {
    const Result<Entry> entry = single_entry(parsed, text, "allow");
    if (!entry) return fail(entry.error().code, entry.error().what);
    lists_.allow(*entry, filters);
  }

  // "@ads @malware"; nothing leaves `filters` empty, which is all of them.
  bool read_filters(std::string_view rest, AllowLists::Filters& filters) {
    bool fine = true;
    while (!rest.empty()) {
      const std::string_view word = next_word(rest);
      if (word.front() != '@') {
        fail(Errc::bad_syntax, fmt::format("{} after the entry: only names of filters may stand there, as in "
                                           "'example.com @ads'; one entry a line",
                                           in_quotes(word)));
        return false;
      }
      const auto known = std::find(lists_.names_.begin(), lists_.names_.end(), word.substr(1));
      if (known == lists_.names_.end()) {
        fail(Errc::bad_syntax, fmt::format("no filter has the name {}; {}", in_quotes(word.substr(1)), known_names()));
        fine = false;
        continue;
      }
      add_filter(static_cast<std::size_t>(known - lists_.names_.begin()), filters);
    }
    if (filters.empty() && of_filter_ != AllowLists::kNoFilter) add_filter(of_filter_, filters);
    return fine;
  }

  void add_filter(std::size_t index, AllowLists::Filters& filters) const {
    filters.resize((lists_.names_.size() + 63) / 64);
    filters[index / 64] |= std::uint64_t{1} << (index % 64);
  }

  std::string known_names() const {
    constexpr std::size_t kShown = 10;
    if (lists_.names_.empty()) return "no filter is configured";
    std::string names;
    for (std::size_t i = 0; i < std::min(kShown, lists_.names_.size()); ++i) {
      names += (i == 0 ? "@" : ", @") + lists_.names_[i];
    }
    return (lists_.names_.size() > kShown ? "there are " + names + ", ..." : "there are " + names);
  }

  AllowLists& lists_;
  std::size_t of_filter_;
  std::size_t number_ = 0;
  std::uint64_t range_count_ = 0;
  std::map<std::uint32_t, std::vector<AddressRange>> ranges_;  // of this list, by the value of their filters
  LineErrors errors_;
  EntryParser parser_;
};

std::vector<Error> AllowLists::parse(std::string_view text, const std::string& name, std::uint64_t first_line,
                                     std::size_t of_filter) {
  return AllowListParser(*this, name, of_filter).parse(text, first_line);
}

std::vector<Error> AllowLists::load(const std::filesystem::path& file) {
  const Result<std::string> text = read_entry_text(file);
  if (!text) return {text.error()};
  return parse(*text, file.string());
}

AllowLists::AllowLists(const std::shared_ptr<const AllowLists>& base)
    : base_(base),
      entries_(std::shared_ptr<const ExactSet>(base, &base->entries_)),
      url_hosts_(std::shared_ptr<const ExactSet>(base, &base->url_hosts_)),
      exceptions_(base->exceptions_),
      names_(base->names_),
      scopes_(base->scopes_),
      known_scopes_(base->known_scopes_),
      networks_(base->networks_) {}

const AllowLists::Source* AllowLists::source(const std::string& name) const {
  const auto at = std::ranges::find(sources_, name, &Source::name);
  return at == sources_.end() ? nullptr : &*at;
}

void AllowLists::note(const Text& text) {
  const auto lines = static_cast<std::uint64_t>(std::count(text.bytes.begin(), text.bytes.end(), '\n'));
  sources_.push_back({.name = text.name,
                      .bytes = text.bytes.size(),
                      .lines = lines,
                      .ends_line = text.bytes.empty() || text.bytes.back() == '\n',
                      .digest = entries_.keys().hash(text.bytes)});
}

// Whether these texts begin with all that was read into these lists, and little more is in them: what stands on top is
// read again each time.
bool AllowLists::begins(const std::vector<Text>& texts) const {
  constexpr std::uint64_t kSmallPart = 8;
  std::uint64_t known = 0, all = 0;
  for (const Text& text : texts) all += text.bytes.size();
  for (const Source& source : sources_) {
    const auto text = std::ranges::find(texts, source.name, &Text::name);
    if (text == texts.end() || text->bytes.size() < source.bytes) return false;
    if (text->bytes.size() > source.bytes && !source.ends_line) return false;
    if (entries_.keys().hash(std::string_view(text->bytes).substr(0, source.bytes)) != source.digest) return false;
    known += source.bytes;
  }
  return all - std::min(known, all) <= known / kSmallPart;
}

std::shared_ptr<const AllowLists> AllowLists::load(const KeyMaker& keys, const std::vector<std::string>& filters,
                                                   std::span<const std::filesystem::path> files,
                                                   const std::shared_ptr<const AllowLists>& former,
                                                   std::vector<Error>& errors, std::span<const OfFilter> exceptions) {
  std::vector<Text> texts;
  const auto add = [&](const std::filesystem::path& file, std::size_t of_filter,
                       const std::optional<std::string>& known = std::nullopt) {
    Result<std::string> text = known ? Result<std::string>(*known) : read_entry_text(file);
    if (text) {
      texts.push_back({file.string(), *std::move(text), of_filter});
    } else {
      errors.push_back(std::move(text).error());
    }
  };
  for (const std::filesystem::path& file : files) add(file, kNoFilter);
  for (const OfFilter& each : exceptions) add(each.file, each.filter, each.text);
  const std::shared_ptr<const AllowLists> base = former == nullptr || former->base_ == nullptr ? former : former->base_;
  const bool stands_on_base =
      base != nullptr && base->entries_.keys() == keys && base->names_ == filters && base->begins(texts);
  const std::shared_ptr<AllowLists> lists(stands_on_base ? new AllowLists(base) : new AllowLists(keys, filters));
  for (const Text& text : texts) {
    const std::uint64_t before = lists->size();
    const Source* const known = stands_on_base ? base->source(text.name) : nullptr;
    const auto found = lists->parse(std::string_view(text.bytes).substr(known == nullptr ? 0 : known->bytes), text.name,
                                    known == nullptr ? 1 : known->lines + 1, text.of_filter);
    errors.insert(errors.end(), found.begin(), found.end());
    if (text.of_filter != kNoFilter) lists->exceptions_ += std::max(lists->size(), before) - before;
    if (!stands_on_base) lists->note(text);
  }
  return lists;
}

}  // namespace bloomwall::filter
