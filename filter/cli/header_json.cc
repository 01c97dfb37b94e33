// SPDX-License-Identifier: Apache-2.0
#include "filter/cli/header_json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/encoding.h"
#include "filter/cli/header_text.h"
#include "filter/file/prediction.h"

namespace bloomwall::filter {
namespace {

using Json = nlohmann::ordered_json;

Json class_json(const ClassError& c) {
  return {{"mean", c.mean}, {"p99", c.p99}, {"mean_questions", c.mean_questions}, {"p99_questions", c.p99_questions}};
}

std::string kind_name(std::size_t i) { return {static_cast<char>(kKinds[i])}; }

Json kinds_json(const Header& h) {
  Json kinds = Json::object();
  for (std::size_t i = 0; i < kKindCount; ++i) {
    const KindCounts& k = h.kinds[i];
    if (k.entries == 0 && k.keys == 0) continue;
    kinds[kind_name(i)] = {{"entries", k.entries}, {"keys", k.keys}};
  }
  return kinds;
}

Json section_json(const SectionEntry& s) {
  Json out{{"type", to_string(s.type)}, {"critical", s.critical}, {"offset", s.offset}, {"length", s.length}};
  if (has_pages(s.type)) {
    out["layout"] = layout_name(s.geometry.layout);
    out["pages"] = s.geometry.pages;
  }
  out["xxh3_128"] = to_hex(s.xxh_root);
  out["sha256"] = to_hex(s.sha_root);
  return out;
}

Json reasons_json(const std::vector<ReasonCount>& reasons) {
  Json out = Json::array();
  for (const ReasonCount& reason : reasons) {
    Json examples = Json::array();
    for (const Example& example : reason.examples) examples.push_back({{"line", example.line}, {"text", example.text}});
    out.push_back({{"reason", reason.reason}, {"count", reason.count}, {"examples", std::move(examples)}});
  }
  return out;
}

Json reasons_json(const ReasonTally& tally) { return reasons_json(tally.by_count()); }

Json stated_json(const FileReport& report) {
  if (report.stated.count == 0) return nullptr;
  return {{"entries", report.stated.count},
          {"missing", report.missing_of_stated()},
          {"line", report.stated.line},
          {"text", report.stated.text}};
}

Json signatures_json(const Header& h) {
  Json out = Json::array();
  for (const Signature& s : h.signatures) {
    if (s != Signature{}) out.push_back({{"algorithm", s.algorithm}, {"key_id", to_hex(s.key_id)}});
  }
  return out;
}

}  // namespace

Json to_json(const Error& error) {
  return {{"code", to_string(error.code)}, {"where", error.where}, {"what", error.what}};
}

Json to_json(const PredictedErrors& p) {
  return {{"host_key", p.host_key},
          {"path_key", p.path_key},
          {"raw_key", p.raw_key},
          {"host_fill", p.host_fill},
          {"path_fill", p.path_fill},
          {"raw_fill", p.raw_fill},
          {"unlisted_host", class_json(p.unlisted_host)},
          {"listed_host", class_json(p.listed_host)}};
}

Json to_json(const WorstHost& worst) {
  return {{"error", worst.error}, {"host_questions", worst.host_questions}, {"path_questions", worst.path_questions}};
}

Json to_json(const Header& h, bool show_secret) {
  Json out{{"version", fmt::format("{}.{}", h.major, h.minor)},
           {"file_bytes", h.file_bytes},
           {"incompatible", h.incompatible},
           {"compatible", h.compatible},
           {"file_id", to_hex(h.file_id)},
           {"content_id", to_hex(content_id(h))},
           {"series_id", to_hex(h.series_id)}};
  if (show_secret) out["series_key"] = to_hex(h.series_key);
  out["sequence"] = h.sequence;
  out["created"] = h.created;
  out["valid_until"] = h.valid_until;
  out["hash"] = h.hash_id;
  out["key_derivation"] = h.key_derivation;
  out["canonicalisation"] = h.canonicalisation;
  out["canonical_options"] = h.canonical_options;
  out["converter_options"] = option_names(h.converter_options);
  out["unicode_version"] = h.unicode_version;
  out["public_suffixes"] = h.psl_time;
  out["kinds"] = kinds_json(h);
  out["hosts"] = h.hosts;
  out["marks"] = h.marks;
  out["mark_kinds"] = mark_names(h.mark_mask);
  out["min_labels"] = h.min_labels;
  out["max_labels"] = h.max_labels;
  out["max_depth"] = h.max_depth;
  out["predicted"] = to_json(h.predicted);
  out["predicted"]["false_marks"] = false_mark_rate(h);
  out["predicted"]["worst_host"] = to_json(worst_host_of(h));
  out["measured"] = {{"samples", h.measured.samples}, {"hits", h.measured.hits}};
  out["sections"] = Json::array();
  for (const SectionEntry& section : h.sections) out["sections"].push_back(section_json(section));
  out["signatures"] = signatures_json(h);
  return out;
}

Json to_json(const FileInfo& info) {
  Json sources = Json::array();
  for (const SourceInfo& s : info.sources) {
    sources.push_back({{"name", s.name},
                       {"format", s.format},
                       {"bytes", s.bytes},
                       {"entries", s.entries},
                       {"sha256", to_hex(s.sha256)}});
  }
  Json out = {{"category", info.category},
              {"builder", info.builder},
              {"sources", std::move(sources)},
              {"provenance", info.provenance}};
  if (info.made_for.keys != 0) out["made_for"] = {{"keys", info.made_for.keys}, {"error", info.made_for.error}};
  return out;
}

Json to_json(const IngestedFile& file) {
  const FileReport& r = file.report;
  Json entries = Json::object();
  for (std::size_t i = 0; i < kKindCount; ++i) {
    if (r.entries[i] > 0) entries[kind_name(i)] = r.entries[i];
  }
  return {{"path", r.path},
          {"list", r.list},
          {"category", r.category},
          {"format", file.format()},
          {"detected", r.detected},
          {"compression", to_string(r.compression)},
          {"bytes", r.text_bytes},
          {"sha256", to_hex(r.digest)},
          {"lines", r.lines},
          {"blank", r.blank},
          {"comments", r.comments},
          {"boilerplate", r.boilerplate},
          {"taken", r.taken},
          {"allowed", r.allowed},
          {"cancelled", r.cancelled},
          {"unusable", r.unusable},
          {"unusable_share", r.unusable_share()},
          {"unsupported", reasons_json(r.unsupported)},
          {"malformed", reasons_json(r.malformed)},
          {"not_taken", reasons_json(not_taken(r))},
          {"entries", std::move(entries)},
          {"duplicates", file.duplicates()},
          {"allow_rules", r.allow_rules},
          {"addresses", r.addresses},
          {"single_label", r.single_label},
          {"tlds_taken", r.tlds_taken},
          {"skipped_names", r.skipped_names.total()},
          {"skipped", reasons_json(r.skipped_names)},
          {"ranges", r.entries[index_of(Kind::network)]},
          {"left_out", r.left_out},
          {"begins_as", r.other_formats.empty() ? nullptr : Json(to_string(r.begins_as))},
          {"other_formats", reasons_json(r.other_formats)},
          {"stated", stated_json(r)},
          {"open_line", r.open_line > 0 ? Json(r.open_line) : Json(nullptr)},
          {"warnings", reasons_json(r.warnings)}};
}

}  // namespace bloomwall::filter
