// SPDX-License-Identifier: Apache-2.0
#include "proxy/query_log/written_form.h"

#include <chrono>

namespace bloomwall::proxy {
namespace {

using Clients = conf::QueryLog::Clients;

// A network says that it is one: nobody is to take it for the address of a client.
std::string client_in(const AccessRecord& record, Clients how, const ClientMask& mask, std::int64_t day) {
  std::string client = mask.client(record.client, how, day);
  if (how == Clients::network && !client.empty()) client += client.find(':') == std::string::npos ? "/24" : "/48";
  return client;
}

std::int64_t day_of(TimePoint time) {
  using Days = std::chrono::duration<std::int64_t, std::ratio<86400>>;
  return std::chrono::floor<Days>(time.time_since_epoch()).count();
}

}  // namespace

WrittenForm written_form(const AccessRecord& record, const LogRules& rules, const ClientMask& mask) {
  WrittenForm form;
  if (rules.may_name_client(record)) {
    form.client = client_in(record, rules.clients(), mask, day_of(record.start));
    form.user = mask.user(record.user, rules.clients(), day_of(record.start));
  }
  const bool is_whole = rules.may_write_query();
  form.url = is_whole ? record.url : without_query(record.url);
  form.expression = is_whole ? record.expression : without_query(record.expression);
  return form;
}

std::string client_in_line(const AccessRecord& record, const LogRules& rules, const ClientMask& mask) {
  std::string client = written_form(record, rules, mask).client;
  return client.empty() ? "a client" : client;
}

std::string host_in_line(std::string_view host, const LogRules& rules) {
  AccessRecord record;
  record.url = host;
  return rules.may_name_host(record) ? std::string(host) : "a host";
}

}  // namespace bloomwall::proxy
