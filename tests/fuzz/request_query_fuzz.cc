// The query of GET /api/v1/requests, cursor included, as it comes from whoever has the role: what is taken is within
// its bounds, a cursor reads back as it was written, and every text meets SQLite.
// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "proxy/api/requests_api.h"
#include "proxy/http/request.h"
#include "proxy/query_log/day_file.h"

namespace {

using namespace bloomwall::proxy;

// A folder with a day of two rows, for the whole run.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "bloomwall-fuzz-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) std::abort();
    path = name;
    auto file = DayFile::open(path / "2026-11-02.db");
    RequestRow row;
    row.host = "h.test";
    row.url = "http://h.test/a";
    row.id = "0123456789ABCDEF";
    if (!file || !(*file)->append(std::vector<RequestRow>{row, row})) std::abort();
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  std::filesystem::path path;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Folder folder;
  const std::string text = "/api/v1/requests?" + std::string(reinterpret_cast<const char*>(data), size);
  RequestHead head;
  head.target.form = TargetForm::origin;
  head.target.raw = text;
  const auto query = query_of(head);
  if (!query) return 0;
  if (query->cursor && parse_cursor(cursor_text(*query->cursor)) != query->cursor) std::abort();
  const RequestPage page = search_requests(folder.path, *query, {.rows = 1});
  if (page.rows.size() > 1 || !page.unreadable.empty()) std::abort();
  if (page.next && parse_cursor(cursor_text(*page.next)) != page.next) std::abort();
  return 0;
}
