// Reads the tables of URLs that the tests run: rows of TAB-separated fields, '#' lines skipped, escapes \\ \t \n \r
// \xNN.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/encoding.h"
#include "filter/url/percent.h"

namespace bloomwall::filter {

inline std::string unescaped(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '\\') {
      out += text[at];
      continue;
    }
    switch (text.at(++at)) {
      case '\\':
        out += '\\';
        break;
      case 't':
        out += '\t';
        break;
      case 'n':
        out += '\n';
        break;
      case 'r':
        out += '\r';
        break;
      case 'x':
        out += static_cast<char>(hex_value(text.at(at + 1)) * 16 + hex_value(text.at(at + 2)));
        at += 2;
        break;
      default:
        throw std::runtime_error("unknown escape in " + std::string(text));
    }
  }
  return out;
}

// Rows below the heading, each filled up to `columns` fields.
inline std::vector<std::vector<std::string>> read_tsv(const std::string& file, std::size_t columns) {
  std::ifstream in(file, std::ios::binary);
  std::vector<std::vector<std::string>> rows;
  bool heading = true;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("# ")) continue;
    if (std::exchange(heading, false)) continue;
    std::vector<std::string> row(1);
    for (const char c : line) {
      if (c == '\t') {
        row.emplace_back();
      } else {
        row.back() += c;
      }
    }
    row.resize(columns);
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace bloomwall::filter
