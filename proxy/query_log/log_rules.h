// Which requests the query log keeps and live streams show, compiled from `query_log` and `groups[].log`. A part of the
// snapshot: immutable, thread-safe. Cost of a question: one look-up where groups differ, one a label where hosts are
// left out. What else is written about people goes by the same rules: written_form.h.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string>
#include <tl/expected.hpp>

#include "conf/config.h"
#include "proxy/access/host_lists.h"
#include "proxy/query_log/request_row.h"

namespace bloomwall::proxy {

// Which requests are stored: none where there is no folder for them.
conf::QueryLog::Record stored_requests(const conf::Config& settings);

class LogRules {
 public:
  LogRules() = default;  // nothing is kept
  // Error: the entry of `exclude` that is neither a domain nor a network.
  static tl::expected<LogRules, std::string> compile(const conf::Config& settings);

  // Whether a request may be kept or shown whose record is not made yet, as far as the decision says.
  bool may_keep(filter::Decision decision) const;
  // is_shown: it may be; whether anybody watches is not asked here. A request that was refused before its group was
  // known (a login is asked for, its head cannot be read) is treated like one of the group of which least is kept. The
  // host of one that was not judged is taken from its URL; of a tunnel its server name counts, too.
  RowUse use_of(const AccessRecord& record) const;
  // Whether figures may name its host, and its client.
  bool may_name_host(const AccessRecord& record) const { return !is_excluded(record); }
  bool may_name_client(const AccessRecord& record) const { return !is_private(record) && !is_excluded(record); }
  conf::QueryLog::Clients clients() const { return clients_; }
  // Whether anything that is written about a request has its query: neither this log nor log.access leaves it out.
  bool may_write_query() const { return !strips_query_ && !log_strips_query_; }

 private:
  bool is_private(const AccessRecord& record) const;  // by its group
  bool is_excluded(const AccessRecord& record) const;

  conf::QueryLog::Record record_ = conf::QueryLog::Record::off;
  conf::QueryLog::Clients clients_ = conf::QueryLog::Clients::full;
  bool strips_query_ = false;
  bool log_strips_query_ = false;                                // log.access.strip_query
  std::map<std::string, conf::Group::Log, std::less<>> groups_;  // of which not all is kept
  bool has_excluded_ = false;
  BypassList excluded_;
};

}  // namespace bloomwall::proxy
