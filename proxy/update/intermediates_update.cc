// SPDX-License-Identifier: Apache-2.0
#include "proxy/update/intermediates_update.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>
#include <utility>
#include <vector>

#include "base/encoding.h"
#include "base/units.h"
#include "filter/file/temp_file.h"
#include "filter/lists/list_input.h"
#include "proxy/tls/intermediate_list.h"
#include "proxy/tls/pem_files.h"
#include "proxy/update/list_copies.h"
#include "proxy/update/write_all.h"

namespace bloomwall::proxy {
namespace {

struct PemText {
  std::string text;
  std::string sha256;  // of the text
};

// Unpacked where it is compressed.
tl::expected<PemText, std::string> read_pem(const std::filesystem::path& file) {
  auto input = filter::ListInput::open(file.string());
  if (!input) return tl::unexpected(input.error().text());
  PemText out;
  for (;;) {
    const auto piece = input->next();
    if (!piece) return tl::unexpected(piece.error().text());
    if (piece->empty()) break;
    if (out.text.size() + piece->size() > kMostIntermediatesFile) {
      return tl::unexpected(fmt::format("over {}: not what is expected here", format_bytes(kMostIntermediatesFile)));
    }
    out.text.append(*piece);
  }
  out.sha256 = to_hex(input->digest());
  return out;
}

class IntermediatesRun {
 public:
  IntermediatesRun(const IntermediatesOptions& options, const ListCopies& copies, ListFilterState& state)
      : options_(options), copies_(copies), state_(state), file_(conf::kept_intermediates(options.settings)) {}

  bool run() {
    take_sources();
    for (SourceState& source : state_.sources) {
      if (wants(source)) ask(source);
    }
    if (must_make()) make();
    copies_.remove_others(used_copies());
    return is_bad_;
  }

 private:
  void take_sources() {
    std::vector<SourceState> sources;
    for (const std::string& url : options_.settings.tls_inspection.verify.intermediates) {
      SourceState* const known = state_.find(url);
      sources.push_back(known == nullptr ? SourceState{.url = url} : *known);
    }
    state_.sources = std::move(sources);
  }

  bool wants(const SourceState& source) const {
    const Seconds now = options_.now();
    if (!may_ask(source, now)) return false;
    const bool is_path = source.url.starts_with('/');
    const bool is_lost = !source.copy.empty() && !copies_.has(source.copy);
    return options_.at_once || is_path || is_lost || is_due(source, kIntermediatesEvery, now);
  }

  void ask(SourceState& source) {
    source.checked = options_.now();
    source.guard.clear();
    source.message.clear();
    const auto file = copies_.fetched_file();
    if (!file) return fail(source, {.what = file.error()});
    const auto fetched = fetch_into(source, *file);
    if (!fetched) return fail(source, fetched.error());
    if (fetched->is_unchanged) return finish(source, FetchResult::unchanged);
    const auto pem = read_pem(file->path());
    if (!pem) return refuse(source, pem.error());
    if (count_certificates(pem->text) == 0) return refuse(source, "holds no certificate in PEM form");
    source.etag = fetched->etag;
    source.last_modified = fetched->last_modified;
    if (pem->sha256 == source.sha256 && copies_.has(source.copy)) return finish(source, FetchResult::unchanged);
    auto copy = copies_.keep(*file, source.url, pem->sha256);
    if (!copy) return fail(source, {.what = copy.error()});
    source.copy = *std::move(copy);
    source.sha256 = pem->sha256;
    source.bytes = pem->text.size();
    source.entries = count_certificates(pem->text);
    source.changed = source.checked;
    finish(source, FetchResult::updated);
  }

  tl::expected<Fetched, FetchFailure> fetch_into(const SourceState& source, const FetchedFile& file) const {
    if (source.url.starts_with('/')) {
      const auto text = read_text(source.url, kMostIntermediatesFile);
      if (!text) return tl::unexpected(FetchFailure{.what = text.error()});
      if (!write_all(file.descriptor(), *text)) {
        return tl::unexpected(FetchFailure{.what = std::generic_category().message(errno)});
      }
      return Fetched{};
    }
    const bool has_copy = copies_.has(source.copy);
    // What they are is proved by signatures, not by the way on which they come.
    const FetchRequest request{.url = source.url,
                               .etag = has_copy ? source.etag : "",
                               .last_modified = has_copy ? source.last_modified : "",
                               .allows_http = true,
                               .most_bytes = kMostIntermediatesFile,
                               .timeout = options_.settings.update.timeout,
                               .stop = options_.stop};
    return fetch(request, options_.way, file.descriptor());
  }

  void fail(SourceState& source, const FetchFailure& failure) {
    source.message = failure.what;
    ++source.failures;
    say_bad(source, "failed");
    finish(source, FetchResult::failed, failure.retry_after);
  }
  void refuse(SourceState& source, const std::string& why) {
    source.message = why;
    say_bad(source, "refused");
    finish(source, FetchResult::refused);
  }
  void finish(SourceState& source, FetchResult result, Seconds retry_after = 0) {
    source.result = result;
    if (result != FetchResult::failed) source.failures = 0;
    if (result == FetchResult::updated || result == FetchResult::unchanged) source.succeeded = source.checked;
    const auto at = std::ranges::find(kFetchResults, result);
    if (at != kFetchResults.end()) ++source.counts[static_cast<std::size_t>(at - kFetchResults.begin())];
    set_due(source, {.every = kIntermediatesEvery, .retry_after = retry_after});
  }

  bool must_make() const {
    std::error_code ignored;
    const Seconds age = options_.now() - state_.built;
    const bool is_old = age < 0 || age >= kIntermediatesEvery;
    return is_old || used_copies() != state_.made_of || !std::filesystem::exists(file_, ignored);
  }

  // Where none leads to a root, roots or lists are wrong, and what is there stays.
  void make() {
    state_.attempted = options_.now();
    const conf::OriginTrust& verify = options_.settings.tls_inspection.verify;
    const auto roots = OriginVerifier::load({.ca_file = verify.ca_file, .extra_ca_file = verify.extra_ca_file});
    if (!roots) return end(BuildResult::failed, "tls_inspection.verify: " + roots.error());
    IntermediateChoice choice(**roots);
    bool has_any = false;
    for (const SourceState& source : state_.sources) {
      if (!copies_.has(source.copy)) continue;
      const auto pem = read_pem(copies_.path_of(source.copy));  // one at a time: each may take kMostIntermediatesFile
      if (!pem) return end(BuildResult::failed, pem.error());
      if (const auto added = choice.add(pem->text); !added) return end(BuildResult::refused, added.error());
      has_any = true;
    }
    if (!has_any) return;  // each was said to have failed
    const ChosenIntermediates chosen = choice.choose();
    if (chosen.taken == 0) {
      return end(BuildResult::refused,
                 fmt::format("none of {} certificates is a CA's that leads to a trusted root", chosen.left_out));
    }
    write(chosen);
  }

  void write(const ChosenIntermediates& chosen) {
    const auto before = read_text(file_, kMostIntermediatesFile);
    const bool is_new = !before || *before != chosen.pem;
    if (is_new) {
      const auto written = filter::replace_file(file_, chosen.pem, {.mode = 0644});
      if (!written) return end(BuildResult::failed, written.error().text());
      state_.is_untold = true;
      say(fmt::format("{} certificates, {} others left out", format_count(chosen.taken), chosen.left_out));
    }
    state_.built = state_.attempted;
    state_.made_of = used_copies();
    state_.entries = chosen.taken;
    state_.bytes = chosen.pem.size();
    end(is_new ? BuildResult::built : BuildResult::unchanged, "");
  }

  void end(BuildResult result, const std::string& message) {
    state_.result = result;
    state_.message = message;
    if (message.empty()) return;
    say(fmt::format("{}: {}", to_string(result), message));
    is_bad_ = true;
  }

  std::vector<std::string> used_copies() const {
    std::vector<std::string> out;
    for (const SourceState& source : state_.sources) {
      if (!source.copy.empty()) out.push_back(source.copy);
    }
    return out;
  }

  void say(const std::string& line) const { options_.say("tls_inspection.verify.intermediates: " + line); }
  void say_bad(const SourceState& source, std::string_view what) {
    say(fmt::format("{}: {}: {}", source.url, what, source.message));
    is_bad_ = true;
  }

  const IntermediatesOptions& options_;
  const ListCopies& copies_;
  ListFilterState& state_;
  std::filesystem::path file_;
  bool is_bad_ = false;
};

}  // namespace

bool wants_intermediates(const conf::Config& settings) {
  return !settings.tls_inspection.verify.intermediates.empty() &&
         conf::greatest_inspection_mode(settings) != conf::TlsInspection::Mode::off;
}

bool update_intermediates(const IntermediatesOptions& options, ListFilterState& state) {
  const auto copies = ListCopies::open(copies_of_intermediates(options.settings.update.folder));
  if (copies) return IntermediatesRun(options, *copies, state).run();
  options.say("tls_inspection.verify.intermediates: " + copies.error());
  return true;
}

}  // namespace bloomwall::proxy
