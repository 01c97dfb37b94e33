// Owners of what SQLite hands out. No sqlite3_close() or sqlite3_finalize() anywhere else.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sqlite3.h>

#include <memory>

#include "base/handles.h"

namespace bloomwall::proxy {

using SqlitePtr = std::unique_ptr<sqlite3, FreeWith<sqlite3_close_v2>>;
using SqliteStatementPtr = std::unique_ptr<sqlite3_stmt, FreeWith<sqlite3_finalize>>;

}  // namespace bloomwall::proxy
