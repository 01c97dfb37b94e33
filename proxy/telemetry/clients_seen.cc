// SPDX-License-Identifier: Apache-2.0
#include "proxy/telemetry/clients_seen.h"

#include <algorithm>
#include <utility>

namespace bloomwall::proxy {

void ClientsSeen::note(const ClientSight& sight) {
  if (sight.client.empty()) return;
  Row* row = rows_.find(sight.client);
  if (row == nullptr) {
    row = &rows_.put(std::string(sight.client), {});
    row->client = sight.client;
    row->first = sight.at;
  }
  ++row->requests;
  if (sight.is_blocked) ++row->blocked;
  row->last = std::max(row->last, sight.at);
  if (row->user != sight.user) row->user = sight.user;
  if (row->group != sight.group) row->group = sight.group;
}

void ClientsSeen::add(Row row) {
  if (row.client.empty()) return;
  Row* const known = rows_.find(row.client);
  if (known == nullptr) {
    std::string client = row.client;
    rows_.put(std::move(client), std::move(row));
    return;
  }
  row.requests += known->requests;
  row.blocked += known->blocked;
  row.first = std::min(row.first, known->first);
  if (row.last < known->last) {
    row.user = std::move(known->user);
    row.group = std::move(known->group);
    row.last = known->last;
  }
  *known = std::move(row);
}

// The one seen longest ago first, so that those seen last are the last to go.
void ClientsSeen::add(const ClientsSeen& other) {
  const auto rows = other.rows();
  std::for_each(rows.rbegin(), rows.rend(), [this](const Row& row) { add(row); });
}

std::vector<ClientsSeen::Row> ClientsSeen::rows() const {
  std::vector<Row> rows;
  rows.reserve(rows_.size());
  for (const auto& [client, row] : rows_.all()) rows.push_back(row);
  std::ranges::stable_sort(rows, std::ranges::greater{}, &Row::last);
  return rows;
}

}  // namespace bloomwall::proxy
