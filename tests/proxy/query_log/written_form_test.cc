// Who is named, and what of a URL is left, in what is written of a request beside its own logs.
// SPDX-License-Identifier: Apache-2.0
#include "proxy/query_log/written_form.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "rows.h"

namespace bloomwall::proxy {
namespace {

using Clients = conf::QueryLog::Clients;

struct WrittenCase {
  std::string name;
  std::function<void(conf::Config&)> set;
  std::string client, user, url, expression, line, host;
};

const ClientMask& mask_of_test() {
  static const ClientMask mask(ClientMask::Secret{7});
  return mask;
}

TEST(WrittenForm, SaysWhatTheSettingsLeave) {
  const std::string whole = "http://h.test/a?q=1", entry = "h.test/a?q=1", cut = "http://h.test/a",
                    cut_entry = "h.test/a";
  const std::int64_t day = test::kNoon / test::kDayLong;
  const std::string pseudonym = mask_of_test().client("127.0.0.2", Clients::keyed, day);
  const std::vector<WrittenCase> cases{
      {"nothing", [](conf::Config&) {}, "127.0.0.2", "anna", whole, entry, "127.0.0.2", "h.test:443"},
      {"network", [](conf::Config& c) { c.query_log.clients = Clients::network; }, "127.0.0.0/24", "", whole, entry,
       "127.0.0.0/24", "h.test:443"},
      {"keyed", [](conf::Config& c) { c.query_log.clients = Clients::keyed; }, pseudonym,
       mask_of_test().user("anna", Clients::keyed, day), whole, entry, pseudonym, "h.test:443"},
      {"none", [](conf::Config& c) { c.query_log.clients = Clients::none; }, "", "", whole, entry, "a client",
       "h.test:443"},
      {"queries", [](conf::Config& c) { c.query_log.strip_query = true; }, "127.0.0.2", "anna", cut, cut_entry,
       "127.0.0.2", "h.test:443"},
      {"strip_query", [](conf::Config& c) { c.log.access.strip_query = true; }, "127.0.0.2", "anna", cut, cut_entry,
       "127.0.0.2", "h.test:443"},
      {"counted", [](conf::Config& c) { c.groups[0].log = conf::Group::Log::counted; }, "", "", whole, entry,
       "a client", "h.test:443"},
      {"blocked", [](conf::Config& c) { c.groups[0].log = conf::Group::Log::blocked; }, "127.0.0.2", "anna", whole,
       entry, "127.0.0.2", "h.test:443"},
      {"another group", [](conf::Config& c) { c.groups[1].log = conf::Group::Log::counted; }, "127.0.0.2", "anna",
       whole, entry, "127.0.0.2", "h.test:443"},
      {"exclude", [](conf::Config& c) { c.query_log.exclude = {"test"}; }, "", "", whole, entry, "a client", "a host"},
  };
  for (const WrittenCase& each : cases) {
    conf::Config settings;
    settings.groups.resize(2);
    settings.groups[0].name = "staff";
    settings.groups[1].name = "pupils";
    each.set(settings);
    const LogRules rules = *LogRules::compile(settings);
    AccessRecord record = test::blocked_record("h.test", whole);
    record.user = "anna";
    record.group = "staff";
    record.expression = entry;
    const WrittenForm form = written_form(record, rules, mask_of_test());
    EXPECT_EQ(form.client, each.client) << each.name;
    EXPECT_EQ(form.user, each.user) << each.name;
    EXPECT_EQ(form.url, each.url) << each.name;
    EXPECT_EQ(form.expression, each.expression) << each.name;
    EXPECT_EQ(client_in_line(record, rules, mask_of_test()), each.line) << each.name;
    EXPECT_EQ(host_in_line("h.test:443", rules), each.host) << each.name;
  }
}

TEST(WrittenForm, WhoWasRefusedBeforeTheGroupWasKnownIsOfTheStrictestOne) {
  conf::Config settings;
  settings.groups.resize(1);
  settings.groups[0].name = "staff";
  settings.groups[0].log = conf::Group::Log::counted;
  AccessRecord record;
  record.client = "192.0.2.7";
  record.refused = true;
  EXPECT_EQ(client_in_line(record, *LogRules::compile(settings), mask_of_test()), "a client");
  settings.groups[0].log = conf::Group::Log::all;
  EXPECT_EQ(client_in_line(record, *LogRules::compile(settings), mask_of_test()), "192.0.2.7");
}

}  // namespace
}  // namespace bloomwall::proxy
