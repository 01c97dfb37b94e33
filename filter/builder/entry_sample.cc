// SPDX-License-Identifier: Apache-2.0
#include "filter/builder/entry_sample.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "filter/file/filter_file.h"
#include "filter/policy/entry_text.h"
#include "filter/policy/query.h"

namespace bloomwall::filter {
namespace {

constexpr std::size_t kMostSampleBytes = std::size_t{16} << 20;  // of all parts
constexpr std::size_t kLeastKept = 64;                           // of a part

bool holds(const RangeSet& networks, const AddressRange& range) {
  return networks.find(range.begin()).has_value() && networks.find(Address{range.kind, range.last}).has_value();
}

}  // namespace

// Looks entries up in one file.
class SampleQuestions {
 public:
  explicit SampleQuestions(const FilterFile& file) : query_(file) {}

  bool finds(const EntrySample::Kept& entry) {
    if (entry.kind == Kind::raw) return query_.raw(entry.path).has_value();
    // W blocks subdomains only, D the URLs below it.
    const std::string host = entry.kind == Kind::subdomains ? "a." + entry.host : entry.host;
    const std::string path = is_host_kind(entry.kind)        ? "/"
                             : entry.kind == Kind::directory ? entry.path + "x"
                                                             : entry.path;
    const std::string spelt = fmt::format("http://{}{}{}{}", host, path, entry.query.empty() ? "" : "?", entry.query);
    const CanonicalUrl& url = canonicaliser_.url(spelt);
    if (url.action == UrlAction::reject) return true;  // no request can have it; lists count it as odd
    const bool is_form = std::any_of(url.forms.begin(), url.forms.end(), [&](const UrlForm& form) {
      return form.path == path && form.query == entry.query;
    });
    return is_form ? query_.url(url).has_value() : finds_form(entry.host_kind, host, path, entry.query);
  }

 private:
  // An alternative form of an ambiguous path: its text would be read as another form.
  bool finds_form(HostKind kind, std::string_view host, std::string_view path, std::string_view text) const {
    const std::array<UrlForm, 1> forms{UrlForm{.path = path, .query = text, .has_query_mark = !text.empty()}};
    CanonicalUrl url;
    url.action = UrlAction::lookup;
    url.reason = UrlReason::none;
    url.has_canonical = true;
    url.host_kind = kind;
    url.scheme = "http";
    url.host = host;
    url.forms = forms;
    return query_.url(url).has_value();
  }

  FilterQuery query_;
  Canonicaliser canonicaliser_;
};

void EntrySample::expect_workers(unsigned workers) {
  if (parts_.size() < workers) parts_.resize(workers);
}

std::size_t EntrySample::size() const {
  std::size_t sum = 0;
  for (const Part& part : parts_) sum += part.kept.size() + part.ranges.size();
  return sum;
}

void EntrySample::keep(Part& part, const Entry& entry) const {
  part.kept.push_back({.kind = entry.kind,
                       .host_kind = entry.host_kind,
                       .host = std::string(entry.host),
                       .path = std::string(entry.path),
                       .query = std::string(entry.query)});
  part.bytes += entry.host.size() + entry.path.size() + entry.query.size();
  const std::size_t most = std::max(kLeastKept, most_ / parts_.size());
  if (part.kept.size() > most || part.bytes > kMostSampleBytes / parts_.size()) thin(part);
}

void EntrySample::keep(Part& part, const AddressRange& range) const {
  part.ranges.push_back(range);
  if (part.ranges.size() <= std::max(kLeastKept, most_ / parts_.size())) return;
  part.range_mask = part.range_mask * 2 + 1;
  std::size_t to = 0;
  for (std::size_t from = 0; from < part.ranges.size(); from += 2) part.ranges[to++] = part.ranges[from];
  part.ranges.resize(to);
}

// Keeps every second one, of these and of those to come.
void EntrySample::thin(Part& part) {
  part.mask = part.mask * 2 + 1;
  part.bytes = 0;
  std::size_t to = 0;
  for (std::size_t from = 0; from < part.kept.size(); from += 2, ++to) {
    if (to != from) part.kept[to] = std::move(part.kept[from]);
    part.bytes += part.kept[to].host.size() + part.kept[to].path.size() + part.kept[to].query.size();
  }
  part.kept.resize(to);
}

std::string EntrySample::name_of(const Kept& entry) {
  return fmt::format("{} {}", static_cast<char>(entry.kind),
                     text_of(Entry{.kind = entry.kind,
                                   .host_kind = entry.host_kind,
                                   .host = entry.host,
                                   .path = entry.path,
                                   .query = entry.query}));
}

Result<void> EntrySample::check(const std::filesystem::path& file) const {
  if (size() == 0) return {};
  const auto opened = FilterFile::open(file);
  if (!opened) return unexpected(opened.error());
  SampleQuestions questions(**opened);
  std::size_t missed = 0;
  std::string first;
  const auto miss = [&](const auto& name) {
    if (missed++ == 0) first = name();
  };
  for (const Part& part : parts_) {
    for (const Kept& entry : part.kept) {
      if (!questions.finds(entry)) miss([&] { return name_of(entry); });
    }
    for (const AddressRange& range : part.ranges) {
      if (!holds((*opened)->networks(), range)) miss([&] { return fmt::format("N {}", text_of(range)); });
    }
  }
  if ((*opened)->lost()) return unexpected(Error{Errc::io, file.string(), "shrank or failed while it was asked"});
  if (missed == 0) return {};
  return unexpected(Error{
      Errc::bad_section,
      {},
      fmt::format("the file that was built does not hold what it was built of: {}, and {} more of {} that were asked; "
                  "nothing was replaced. This is an error of the program or of the machine",
                  in_quotes(first), missed - 1, size())});
}

}  // namespace bloomwall::filter
