// SPDX-License-Identifier: Apache-2.0
#include "proxy/state/export_lines.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "proxy/state/json_members.h"

namespace bloomwall::proxy {

void ExportLines::set(const std::vector<ExceptionItem>& exceptions) {
  std::vector<Line> next;
  next.reserve(exceptions.size());
  auto old = lines_.begin();
  for (const ExceptionItem& item : exceptions) {
    const std::uint64_t id = item.exception.id;
    while (old != lines_.end() && old->id < id) ++old;
    if (old != lines_.end() && old->id == id) {
      next.push_back(std::move(*old++));
      continue;
    }
    next.push_back({.id = id,
                    .until = item.exception.until,
                    .json = json_line(to_json(item)),
                    .allowed = allow_line(item, std::numeric_limits<std::int64_t>::min())});
    ++made_;
  }
  lines_ = std::move(next);
}

void ExportLines::forget(std::uint64_t id) {
  std::erase_if(lines_, [id](const Line& line) { return line.id == id; });
}

std::string ExportLines::json() const {
  std::string out;
  for (const Line& line : lines_) out.append(out.empty() ? "\n" : ",\n").append(line.json);
  return out;
}

std::string ExportLines::allowed(std::int64_t now) const {
  std::string out;
  for (const Line& line : lines_) {
    if (line.until > now && !line.allowed.empty()) out.append(line.allowed).push_back('\n');
  }
  return out;
}

}  // namespace bloomwall::proxy
