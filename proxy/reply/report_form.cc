// SPDX-License-Identifier: Apache-2.0
#include "proxy/reply/report_form.h"

#include <array>
#include <utility>

#include "base/text.h"
#include "proxy/http/escape.h"

namespace bloomwall::proxy {

std::optional<std::string_view> report_path(std::string_view path, bool is_at_origin) {
  path = path.substr(0, path.find('?'));
  const std::string_view wanted = is_at_origin ? kReportPathAtOrigin : kReportPath;
  if (!path.starts_with(wanted)) return std::nullopt;
  path.remove_prefix(wanted.size());
  if (path.empty()) return path;
  if (path.front() != '/') return std::nullopt;
  return path.substr(1);
}

bool is_form(std::span<const Field> fields) {
  std::size_t types = 0;
  for (const Field& field : fields) {
    if (same_name(field.name, "content-encoding")) return false;
    if (!same_name(field.name, "content-type")) continue;
    std::string_view type = field.value;
    if (!equals_ignoring_case(trim(next_part(type, ';')), "application/x-www-form-urlencoded")) return false;
    ++types;
  }
  return types == 1;
}

std::optional<ReportForm> read_report_form(std::string_view body) {
  if (body.size() > ReportForm::kMaxBody) return std::nullopt;
  ReportForm form;
  const std::array<std::pair<std::string_view, std::string ReportForm::*>, 3> members{
      {{"ticket", &ReportForm::ticket}, {"comment", &ReportForm::comment}, {"name", &ReportForm::name}}};
  std::array<bool, members.size()> is_given{};
  while (!body.empty()) {
    std::string_view value = next_part(body, '&');
    const std::string_view name = next_part(value, '=');
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (members[i].first != name) continue;
      auto text = decode_form_text(value);
      if (!text || std::exchange(is_given[i], true)) return std::nullopt;
      form.*members[i].second = *std::move(text);
    }
  }
  if (form.ticket.empty()) return std::nullopt;
  return form;
}

}  // namespace bloomwall::proxy
