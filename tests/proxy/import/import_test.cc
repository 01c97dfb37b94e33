// SPDX-License-Identifier: Apache-2.0
#include "proxy/import/import.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "conf/config.h"
#include "tests/support/temp_dir.h"

namespace bloomwall::proxy::foreign {
namespace {

using conf::Config;

// What a line becomes: the outcome of its report, and a part of the reason.
struct Case {
  std::string name;
  std::string text;  // of the whole file
  std::string line;  // its text in the report
  Outcome outcome;
  std::string reason = {};  // a part of it
};

const ReportLine* find(const ImportResult& result, const std::string& text) {
  const auto found = std::find_if(result.report.begin(), result.report.end(),
                                  [&text](const ReportLine& line) { return line.text == text; });
  return found == result.report.end() ? nullptr : &*found;
}

Config loaded(const ImportResult& result) {
  const auto config = conf::load_text(result.files.at("bloomwall.yaml"), "imported");
  EXPECT_TRUE(config) << result.files.at("bloomwall.yaml") << (config ? "" : config.error().front().text());
  return config ? *config : Config{};
}

class ImportLine : public testing::TestWithParam<Case> {};
TEST_P(ImportLine, IsReported) {
  const Case& c = GetParam();
  const ImportResult result = import_texts({{"original", c.text}});
  const ReportLine* const line = find(result, c.line);
  ASSERT_NE(line, nullptr);
  EXPECT_EQ(kOutcomeNames.at(static_cast<std::size_t>(line->outcome)),
            std::string(kOutcomeNames.at(static_cast<std::size_t>(c.outcome))))
      << line->reason;
  EXPECT_NE(line->reason.find(c.reason), std::string::npos) << line->reason;
  EXPECT_EQ(result.deny_lost(), std::any_of(result.report.begin(), result.report.end(),
                                            [](const ReportLine& l) { return l.outcome == Outcome::lost_deny; }));
  loaded(result);
}

constexpr const char* kNet = "acl net src 10.0.0.0/8\n";
const std::string kRest = "http_access allow net\nhttp_access deny all\n";

INSTANTIATE_TEST_SUITE_P(
    Squid, ImportLine,
    testing::Values(
        Case{"DenyByRegexIsLost", kNet + std::string("acl r url_regex -i games\nhttp_access deny r\n") + kRest,
             "http_access deny r", Outcome::lost_deny, "regular"},
        Case{"AllowByRegexIsLost", kNet + std::string("acl r url_regex -i games\nhttp_access allow r\n") + kRest,
             "http_access allow r", Outcome::lost, "regular"},
        Case{"DenyOfAnUnknownAclIsLost", kNet + std::string("http_access deny nobody\n") + kRest,
             "http_access deny nobody", Outcome::lost_deny, "no acl nobody"},
        Case{"DenyOfAMissingFileIsLost",
             kNet + std::string("acl f dstdomain \"/nowhere/x\"\nhttp_access deny f\n") + kRest, "http_access deny f",
             Outcome::lost_deny, "not whole"},
        Case{"DenyOfTwoListsIsLost",
             kNet + std::string("acl a dstdomain .a.test\nacl b dstdomain .b.test\nhttp_access deny a b\n") + kRest,
             "http_access deny a b", Outcome::lost_deny, "one list"},
        Case{"DenyOfPortsAndListsIsLost",
             kNet + std::string("acl a dstdomain .a.test\nacl p port 80\nhttp_access deny a p\n") + kRest,
             "http_access deny a p", Outcome::lost_deny, "ports"},
        Case{"ReplyRulesAreLost",
             kNet + std::string("acl m rep_mime_type video/mp4\nhttp_reply_access deny m\n") + kRest,
             "http_reply_access deny m", Outcome::lost_deny},
        Case{"AnUnreadIncludeIsLost", kNet + std::string("include /nowhere/x.conf\n") + kRest,
             "include /nowhere/x.conf: there is no such file", Outcome::lost_deny},
        Case{"SafePortsAreTaken",
             kNet + std::string("acl Safe_ports port 80 443\nhttp_access deny !Safe_ports\n") + kRest,
             "http_access deny !Safe_ports", Outcome::taken, "deny_ports"},
        Case{"AllowOfAMethodAllowsMore", kNet + std::string("http_access allow CONNECT net\nhttp_access deny all\n"),
             "http_access allow CONNECT net", Outcome::lost_deny, "every method"},
        Case{"DenyOfAMethodRefusesMore", kNet + std::string("http_access deny CONNECT net\n") + kRest,
             "http_access deny CONNECT net", Outcome::nearly, "every method"},
        Case{"AllowOfPortsAllowsMore",
             kNet + std::string("acl p port 80\nhttp_access allow net p\nhttp_access deny all\n"),
             "http_access allow net p", Outcome::lost_deny, "every port"},
        Case{"AllowOfAllButAMissingFileAllowsMore",
             kNet + std::string("acl f dstdomain \"/nowhere/x\"\nhttp_access allow net !f\nhttp_access deny all\n"),
             "http_access allow net !f", Outcome::lost_deny, "not whole"},
        Case{"DenyOfAllButAMissingFileRefusesMore",
             kNet + std::string("acl f dstdomain \"/nowhere/x\"\nhttp_access deny net !f\n") + kRest,
             "http_access deny net !f", Outcome::lost, "not whole"},
        Case{"WhatMatchesNothingInSquidIsLeftOut",
             kNet + std::string("acl d dstdomain *.a.test .b.test\nhttp_access deny d\n") + kRest,
             "acl d dstdomain *.a.test .b.test", Outcome::nearly, "matches nothing"},
        Case{"ManySslPortsAreTaken",
             kNet + std::string("acl SSL_ports port 443 1025-65535\nhttp_access deny CONNECT !SSL_ports\n") + kRest,
             "http_access deny CONNECT !SSL_ports", Outcome::taken, "connect_ports"},
        Case{"NoPortIsLost", kNet + std::string("acl p port http\nhttp_access deny !p\n") + kRest,
             "http_access deny !p", Outcome::lost_deny, "ports"},
        Case{"ADayThatSquidDoesNotKnowIsLost",
             kNet + std::string("acl t time MX 08:00-10:00\nhttp_access deny t\n") + kRest, "http_access deny t",
             Outcome::lost_deny, "cannot be read"},
        Case{"HoursThatEndBeforeTheyBeginAreLost",
             kNet + std::string("acl t time 22:00-06:00\nhttp_access deny t\n") + kRest, "http_access deny t",
             Outcome::lost_deny, "cannot be read"},
        Case{"PortsBehindAnAllowRuleHoldForItToo",
             "acl net src 10.0.0.0/8\nacl SSL_ports port 443\nhttp_access allow net\n"
             "http_access deny CONNECT !SSL_ports\nhttp_access deny all\n",
             "http_access deny CONNECT !SSL_ports", Outcome::nearly, "an earlier line allows"},
        Case{"ProtocolsThatAreNotProxiedAreNotNeeded",
             kNet + std::string("acl f proto FTP gopher\nhttp_access deny f\n") + kRest, "http_access deny f",
             Outcome::needless, "never"},
        Case{"ARuleForAllButSuchProtocolsIsTaken",
             kNet + std::string("acl f proto FTP\nhttp_access deny net !f\n") + kRest, "http_access deny net !f",
             Outcome::taken},
        Case{"OtherProtocolsAreLost", kNet + std::string("acl f proto HTTP\nhttp_access deny f\n") + kRest,
             "http_access deny f", Outcome::lost_deny},
        Case{"TheManagerByRegexIsNotNeeded",
             kNet +
                 std::string("acl manager url_regex -i ^cache_object:// +i ^https?://[^/]+/squid-internal-mgr/\n"
                             "http_access deny manager\n") +
                 kRest,
             "http_access deny manager", Outcome::needless},
        Case{"AHelperThatAsksForAnAddressKnowsNoGroups",
             kNet +
                 std::string("external_acl_type h %SRC /etc/squid/ip_group.pl\nacl x external h vip\n"
                             "http_access deny x\n") +
                 kRest,
             "http_access deny x", Outcome::lost_deny, "groups of users"},
        Case{"ASecondGroupHelperIsLost",
             kNet +
                 std::string("external_acl_type a %LOGIN /usr/lib/squid/ext_unix_group_acl\n"
                             "external_acl_type b %LOGIN /usr/lib/squid/ext_wbinfo_group_acl\n"
                             "acl x external b vip\nauth_param basic program /x\nhttp_access deny x\n") +
                 kRest,
             "http_access deny x", Outcome::lost_deny, "groups of users"},
        Case{"WhomARedirectorSparesIsSaid", kNet + std::string("url_rewrite_access deny net\n") + kRest,
             "url_rewrite_access deny net", Outcome::lost, "spares"},
        Case{"WhatIsNotLoggedIsNoRefusal", kNet + std::string("log_access deny net\n") + kRest, "log_access deny net",
             Outcome::lost, "every request"},
        Case{"NoLogForSomeIsNotNoLog", kNet + std::string("access_log none net\n") + kRest, "access_log none net",
             Outcome::lost, "every request"},
        Case{"ALogOfTheNetworkIsLost", kNet + std::string("access_log udp://10.0.0.1:514 squid\n") + kRest,
             "access_log udp://10.0.0.1:514 squid", Outcome::lost},
        Case{"NoLimitOfAnswersIsNotNeeded", kNet + std::string("reply_body_max_size none\n") + kRest,
             "reply_body_max_size none", Outcome::needless},
        Case{"AnOldIcapRuleIsLost", kNet + std::string("icap_access virus allow all\n") + kRest,
             "icap_access virus allow all", Outcome::lost_deny, "ICAP"},
        Case{"AnOriginServerIsNoParent",
             kNet + std::string("cache_peer 10.0.0.5 parent 80 0 no-query originserver\n") + kRest,
             "cache_peer 10.0.0.5 parent 80 0 no-query originserver", Outcome::lost, "reverse"},
        Case{"AValueThatWeRefuseIsSaid", kNet + std::string("cache_mgr webmaster\n") + kRest, "cache_mgr webmaster",
             Outcome::lost, "mail address"},
        Case{"ATimeThatWeRefuseIsSaid", kNet + std::string("read_timeout 365 days\n") + kRest, "read_timeout 365 days",
             Outcome::lost, "expected a duration"},
        Case{"EverythingButAListIsBumped",
             kNet + std::string("acl bank ssl::server_name .bank.test\nssl_bump bump !bank\n") + kRest,
             "ssl_bump bump !bank", Outcome::nearly, "never"},
        Case{"WhomToBumpIsLost", kNet + std::string("ssl_bump bump net\n") + kRest, "ssl_bump bump net", Outcome::lost,
             "groups[].tls_inspection"},
        Case{"AnOldManagerIsNotNeeded",
             kNet + std::string("acl manager proto cache_object\nhttp_access deny manager\n") + kRest,
             "http_access deny manager", Outcome::needless},
        Case{"PurgeIsNotNeeded", kNet + std::string("acl p method PURGE\nhttp_access deny p\n") + kRest,
             "http_access deny p", Outcome::needless},
        Case{"AnAllOfOnesOwnIsNotNeeded", kNet + std::string("acl all src 0.0.0.0/0.0.0.0\n") + kRest,
             "http_access deny all", Outcome::taken},
        Case{"WhatDoesNotHoldIsLeftOut", kNet + std::string("if 0\nhttp_access allow all\nendif\n") + kRest,
             "http_access allow all", Outcome::needless, "does not hold"},
        Case{"WhatHoldsIsTaken",
             kNet + std::string("if 1 = 2\nhttp_access allow all\nelse\nhttp_access deny net\nendif\n") + kRest,
             "http_access deny net", Outcome::taken},
        Case{"WhatMayHoldIsLost",
             kNet + std::string("if ${process_number} = 1\nhttp_access allow all\nendif\n") + kRest,
             "http_access allow all", Outcome::lost_deny, "not known"},
        Case{"SslPortsAreTaken",
             kNet + std::string("acl SSL_ports port 443\nhttp_access deny CONNECT !SSL_ports\n") + kRest,
             "http_access deny CONNECT !SSL_ports", Outcome::taken, "connect_ports"},
        Case{"TheManagerIsNotNeeded", kNet + std::string("http_access deny manager\n") + kRest,
             "http_access deny manager", Outcome::needless},
        Case{"TheCacheIsNotNeeded", kNet + std::string("cache_dir ufs /x 1 1 1\n") + kRest, "cache_dir ufs /x 1 1 1",
             Outcome::needless, "cached"},
        Case{"IcapIsLost", kNet + std::string("icap_enable on\n") + kRest, "icap_enable on", Outcome::lost, "ICAP"},
        Case{"AnIcapServiceThatIsAskedIsLost", kNet + std::string("adaptation_access virus allow all\n") + kRest,
             "adaptation_access virus allow all", Outcome::lost_deny, "ICAP"},
        Case{"ARedirectorWithoutItsConfigurationIsLost",
             kNet + std::string("url_rewrite_program /usr/bin/squidGuard -c /x\n") + kRest,
             "url_rewrite_program /usr/bin/squidGuard -c /x", Outcome::lost_deny, "as well"},
        Case{"AnswersThatAreAllowedAreNotNeeded", kNet + std::string("http_reply_access allow all\n") + kRest,
             "http_reply_access allow all", Outcome::needless},
        Case{"NtlmIsLost", kNet + std::string("auth_param ntlm program /x\n") + kRest, "auth_param ntlm program /x",
             Outcome::lost, "NTLM"},
        Case{"WhatIsUnknownIsLost", kNet + std::string("frobnicate on\n") + kRest, "frobnicate on", Outcome::lost},
        Case{"RulesForAnswersOfUnknownNamesAreLost", kNet + std::string("frob_access deny net\n") + kRest,
             "frob_access deny net", Outcome::lost_deny},
        Case{"AContinuedLineIsOneLine",
             kNet + std::string("acl d dstdomain .a.test \\\n  .b.test\nhttp_access deny d\n") + kRest,
             "acl d dstdomain .a.test .b.test", Outcome::taken},
        Case{"ACommentBetweenContinuedLinesIsPassedOver",
             kNet + std::string("acl d dstdomain .a.test \\\r\n  # why\r\n .b.test\r\nhttp_access deny d\r\n") + kRest,
             "acl d dstdomain .a.test .b.test", Outcome::taken},
        Case{"AWordIsContinuedWithoutABlank",
             kNet + std::string("acl d dstdomain .a\\\n  b.test\nhttp_access deny d\n") + kRest,
             "acl d dstdomain .ab.test", Outcome::taken},
        Case{"AFileWithoutAFolderIsNoDomain",
             kNet + std::string("acl d dstdomain \"nowhere.txt\"\nhttp_access deny d\n") + kRest, "http_access deny d",
             Outcome::lost_deny, "not whole"},
        Case{"AFileOfParametersIsNoDomain",
             kNet +
                 std::string("configuration_includes_quoted_values on\nacl d dstdomain "
                             "parameters(\"/nowhere/x\")\nhttp_access deny d\n") +
                 kRest,
             "http_access deny d", Outcome::lost_deny, "not whole"},
        Case{"AFileOfPortsThatIsMissingIsLost",
             kNet + std::string("acl p port 80 \"/nowhere/x\"\nhttp_access deny !p\n") + kRest,
             "acl p port 80 \"/nowhere/x\"", Outcome::lost, "No such file"},
        Case{"AListenerByNameIsLost", kNet + std::string("http_port proxy.test:3128\n") + kRest,
             "http_port proxy.test:3128", Outcome::lost, "address"},
        Case{"TerminateIsLost", kNet + std::string("acl d dstdomain .a.test\nssl_bump terminate d\n") + kRest,
             "ssl_bump terminate d", Outcome::lost_deny}),
    [](const auto& row) { return row.param.name; });

INSTANTIATE_TEST_SUITE_P(
    SquidGuard, ImportLine,
    testing::Values(Case{"ExpressionsOfADenyAreLost",
                         "dest d {\n expressionlist d/expressions\n}\nacl { default { pass !d all } }\n", "dest d",
                         Outcome::lost_deny, "regular"},
                    Case{"PassOfAnUnknownCategoryIsLost", "acl { default { pass !d all } }\n", "pass !d all",
                         Outcome::lost_deny, "no list of it"},
                    Case{"AnUnknownListOfACategoryIsLost",
                         "dest d {\n cidrlist d/nets\n}\nacl { default { pass !d all } }\n", "dest d",
                         Outcome::lost_deny, "cidrlist"},
                    Case{"ExpressionsOfAnAllowAreNoLostDeny",
                         "dest d {\n expressionlist d/expressions\n}\nacl { default { pass d none } }\n", "dest d",
                         Outcome::lost, "regular"},
                    Case{"ACategoryOfOptionsAloneIsLost",
                         "category s {\n option enforce-https-with-hostname on\n}\nacl { default { pass !s any } }\n",
                         "pass !s any", Outcome::lost_deny, "no list of it"},
                    Case{"OtherSourcesOfAClientAreLost",
                         "src s {\n ip 10.0.0.1\n continue\n}\nacl {\n s { pass any }\n default { pass none }\n}\n",
                         "src s", Outcome::lost_deny, "first"},
                    Case{"ASpanOverMidnightIsSaid",
                         "time t {\n weekly MTWHF 22:00 - 06:00\n}\nacl { default within t { pass none } }\n",
                         "weekly MTWHF 22:00 - 06:00", Outcome::nearly, "next day"},
                    Case{"ASourceOfNobodyIsLost", "src s {\n}\nacl {\n s { pass any }\n default { pass none }\n}\n",
                         "src s", Outcome::lost_deny, "nobody"},
                    Case{"AnIncludeIsLost", "include x\nsrc s {\n ip 10.0.0.1\n}\nacl { default { pass all } }\n",
                         "include x", Outcome::lost_deny, "unknown"},
                    Case{"AddressesOfUrlsAreLost", "acl {\n default {\n pass !in-addr all\n }\n}\n",
                         "pass !in-addr all", Outcome::lost_deny, "in-addr"},
                    Case{"AnAllowOfAnUnknownCategoryIsLost", "acl {\n default {\n pass d none\n }\n}\n", "pass d none",
                         Outcome::lost},
                    Case{"DatesAreLost",
                         "time t {\n weekly mtwhf 08:00 - 12:30\n date *-12-24\n}\nacl { default { pass all } }\n",
                         "date *-12-24", Outcome::lost_deny, "calendars"},
                    Case{"RewritesAreLost", "rew r {\n s@a@b@\n}\nacl { default { pass all } }\n", "rew r",
                         Outcome::lost, "rewritten"},
                    Case{"MacAddressesAreLost", "src s {\n mac 00:11:22:33:44:55\n}\nacl { default { pass all } }\n",
                         "src s", Outcome::lost_deny, "address"},
                    Case{"RedirectsAreNearlyTaken", "acl {\n default {\n pass none\n redirect http://x/\n }\n}\n",
                         "redirect http://x/", Outcome::nearly, "page"}),
    [](const auto& row) { return row.param.name; });

TEST(Import, SettingsHaveTheirKeys) {
  const Config config = loaded(import_texts(
      {{"squid.conf",
        "acl net src 192.168.1.0/24\nhttp_port 8080\nhttp_port 10.0.0.1:3129 intercept\nforwarded_for delete\nvia off\n"
        "connect_timeout 30 seconds\nshutdown_lifetime 1 minute\nrequest_body_max_size 10 MB\ndns_nameservers "
        "10.0.0.53\n"
        "cache_peer parent.example parent 8080 0 no-query\nauth_param basic program /usr/lib/x -b \"dc=a b\"\nworkers "
        "3\n"
        "auth_param basic realm The \"best\" proxy\nhttp_access allow net\nhttp_access deny all\n"}}));
  ASSERT_EQ(config.listeners.size(), 2U);
  EXPECT_EQ(config.listeners[0].address, ":8080");
  EXPECT_EQ(config.listeners[1].mode, conf::Listener::Mode::transparent);
  EXPECT_EQ(config.access.clients, std::vector<std::string>{"192.168.1.0/24"});
  EXPECT_EQ(config.timeouts.connect.count(), 30'000);
  EXPECT_EQ(config.timeouts.drain.count(), 60'000);
  EXPECT_EQ(config.limits.request_body, 10U << 20);
  EXPECT_EQ(config.workers, 3U);
  EXPECT_FALSE(config.headers.via);
  EXPECT_EQ(config.authentication.basic_helper.command, (std::vector<std::string>{"/usr/lib/x", "-b", "dc=a b"}));
  EXPECT_TRUE(config.groups.empty());
}

TEST(Import, EntriesKeepWhatSquidMeansByThem) {
  const test::TempDir dir;
  dir.write("domains", "# mine\n.wide.test\nexact.test\n");
  const ImportResult result = import_texts(
      {{"squid.conf", std::string(kNet) + "acl bad dstdomain \"" + (dir.path() / "domains").string() +
                          "\"\nacl drop dst 192.0.2.0/24 198.51.100.7\nhttp_access deny bad\nhttp_access deny drop\n" +
                          kRest}});
  EXPECT_EQ(result.files.at("lists/bad.txt"), "||wide.test^\n0.0.0.0 exact.test\n");
  EXPECT_EQ(result.files.at("lists/drop.txt"), "192.0.2.0/24\n198.51.100.7/32\n");
  const Config config = loaded(result);
  ASSERT_EQ(config.filters.size(), 2U);
  EXPECT_FALSE(config.filters[0].sources[0].allow_wide_ranges);
  EXPECT_TRUE(config.filters[1].sources[0].allow_wide_ranges) << "\"acl to_ipv6 dst ipv6\" is a range, too";
  EXPECT_FALSE(result.deny_lost());
}

// Values in quotation marks name files, unless the configuration says that they are values.
TEST(Import, ValuesOfFilesAreRead) {
  const test::TempDir dir;
  dir.write("domains", "\xef\xbb\xbf.wide.test\r\nexact.test  # why\r\n");
  dir.write("ports", "80\n443\n");
  dir.write("groups", "Domain Users\n");
  dir.write(
      "squid.conf",
      kNet +
          std::string("acl d dstdomain \"domains\"\nacl p port \"ports\"\n"
                      "auth_param basic program /x\nexternal_acl_type h %LOGIN /usr/lib/squid/ext_unix_group_acl\n"
                      "acl staff external h \"groups\"\nconfiguration_includes_quoted_values on\n"
                      "acl e dstdomain parameters(\"domains\") \".own.test\"\n"
                      "acl late time MTWHF 8:00-9:30\nhttp_access deny !p\nhttp_access deny d\n"
                      "http_access deny e late\nhttp_access allow staff\n") +
          kRest);
  const auto result = import_files({dir.path() / "squid.conf"});
  ASSERT_TRUE(result);
  EXPECT_FALSE(result->deny_lost());
  EXPECT_EQ(result->files.at("lists/d.txt"), "||wide.test^\n0.0.0.0 exact.test\n");
  EXPECT_EQ(result->files.at("lists/e.txt"), "||wide.test^\n0.0.0.0 exact.test\n||own.test^\n");
  const Config config = loaded(*result);
  ASSERT_GT(config.groups.size(), 1U);
  EXPECT_EQ(config.groups[1].user_groups, std::vector<std::string>{"Domain Users"});
  ASSERT_EQ(config.schedules.size(), 1U);
  const auto& denied = config.access.deny_ports;
  EXPECT_EQ(std::find(denied.begin(), denied.end(), 443), denied.end());
  EXPECT_NE(std::find(denied.begin(), denied.end(), 444), denied.end());
}

TEST(Import, OfBothFilesOneRefusalIsEnough) {
  const test::TempDir dir;
  std::filesystem::create_directories(dir.path() / "db/porn");
  dir.write("db/porn/domains", "porn.test\n");
  const ImportResult result =
      import_texts({{"squid.conf", std::string(kNet) + "acl bad dstdomain .bad.test\nhttp_access deny bad\n" + kRest +
                                       "url_rewrite_program /usr/bin/squidGuard\n"},
                    {"squidGuard.conf",
                     "dbhome " + (dir.path() / "db").string() +
                         "\ndest porn {\n domainlist porn/domains\n}\nacl {\n default {\n pass !porn all\n }\n}\n"}});
  EXPECT_FALSE(result.deny_lost());
  const Config config = loaded(result);
  ASSERT_EQ(config.filters.size(), 2U);
  EXPECT_EQ(config.filters[0].name, "bad");
  EXPECT_EQ(config.filters[1].name, "porn");
  EXPECT_EQ(config.otherwise, conf::Otherwise::allow);
}

// Squid masks what stands beyond a prefix.
TEST(Import, NetworksAreReadAsSquidReadsThem) {
  const Config config = loaded(import_texts(
      {{"squid.conf",
        "acl all src 0.0.0.0/0.0.0.0\nacl net src 192.168.1.1/24 10.0.0.0/255.0.0.0\nacl Safe_ports port "
        "80 443 1025-65535\nhttp_access deny !Safe_ports\nhttp_access allow net\nhttp_access deny all\n"}}));
  EXPECT_EQ(config.access.clients, (std::vector<std::string>{"10.0.0.0/8", "192.168.1.0/24"}));
  const auto& denied = config.access.deny_ports;
  for (const int port : {1, 79, 81, 442, 444, 1024, 6000}) {
    EXPECT_NE(std::find(denied.begin(), denied.end(), port), denied.end()) << port;
  }
  for (const int port : {80, 443, 1025, 8080, 65535}) {
    EXPECT_EQ(std::find(denied.begin(), denied.end(), port), denied.end()) << port;
  }
}

TEST(Import, RulesAboutPortsAddUp) {
  const Config config = loaded(import_texts(
      {{"squid.conf", std::string(kNet) +
                          "acl bad port 8081\nacl safe port 80 8080-8090\nacl ssl port 443 8443\nacl tls port 443 563\n"
                          "http_access deny bad\nhttp_access deny !safe\n"
                          "http_access deny CONNECT !ssl\nhttp_access deny CONNECT !tls\n" +
                          kRest}}));
  EXPECT_EQ(config.access.connect_ports, std::vector<std::uint16_t>{443});
  const auto& denied = config.access.deny_ports;
  EXPECT_NE(std::find(denied.begin(), denied.end(), 8081), denied.end());
  EXPECT_EQ(std::find(denied.begin(), denied.end(), 8082), denied.end());
}

// An ACL of which nothing was taken is for nobody.
TEST(Import, WhoIsNotKnownIsNotEverybody) {
  for (const char* const acl : {"acl a proxy_auth \"/nowhere/x\"", "acl a src \"/nowhere/x\"",
                                "external_acl_type h %LOGIN /usr/lib/squid/ext_unix_group_acl\nacl a external h"}) {
    const ImportResult result = import_texts({{"squid.conf", std::string(kNet) + "auth_param basic program /x\n" + acl +
                                                                 "\nhttp_access allow a\nhttp_access deny all\n"}});
    const Config config = loaded(result);
    const bool is_for_nobody =
        config.access.clients.empty() || (config.groups.empty() && config.otherwise == conf::Otherwise::deny);
    EXPECT_TRUE(is_for_nobody) << result.files.at("bloomwall.yaml");
  }
}

// Who is in two user groups has one group of the configuration alone.
TEST(Import, WhoIsInTwoUserGroupsIsSaid) {
  const std::string helper =
      "auth_param basic program /x\nexternal_acl_type h %LOGIN /usr/lib/squid/ext_unix_group_acl\n";
  const std::string acls = helper +
                           "acl staff external h staff\nacl interns external h interns\nacl me proxy_auth anna\n" +
                           "acl s dstdomain .s.test\nacl g dstdomain .g.test\n";
  const ImportResult lost = import_texts(
      {{"squid.conf", acls + "http_access deny s staff\nhttp_access deny g interns\nhttp_access allow all\n"}});
  EXPECT_TRUE(lost.deny_lost());
  EXPECT_NE(find(lost, "people who are in both staff and interns"), nullptr);
  const ImportResult alike = import_texts(
      {{"squid.conf", acls + "http_access allow staff\nhttp_access allow interns\nhttp_access deny all\n"}});
  EXPECT_FALSE(alike.deny_lost());
  const ImportResult users =
      import_texts({{"squid.conf", acls + "http_access deny s staff\nhttp_access allow me\nhttp_access deny all\n"}});
  EXPECT_FALSE(users.deny_lost());
  const Config config = loaded(users);
  ASSERT_FALSE(config.groups.empty());
  EXPECT_EQ(config.groups[0].users, std::vector<std::string>{"anna"});
  EXPECT_EQ(config.groups[0].user_groups, std::vector<std::string>{"staff"});
}

TEST(Import, RangesOfNetworksAreWhole) {
  const Config config = loaded(import_texts({{"squid.conf",
                                              "acl a src 10.0.0.1-10.0.0.2/32 10.0.4.0-10.0.7.0/24\n"
                                              "http_access allow a\nhttp_access deny all\n"}}));
  EXPECT_EQ(config.access.clients, (std::vector<std::string>{"10.0.0.1/32", "10.0.0.2/32", "10.0.4.0/22"}));
}

TEST(Import, CommasOfSquidGuardSeparate) {
  const Config config = loaded(import_texts(
      {{"c", "src s {\n ip 10.0.0.1,10.0.0.8, 10.0.0.16\n}\nacl {\n s { pass any }\n default { pass none }\n}\n"}}));
  EXPECT_EQ(config.access.clients, (std::vector<std::string>{"10.0.0.1/32", "10.0.0.8/32", "10.0.0.16/32"}));
}

TEST(Import, ACategoryOfATimeHoldsThenAlone) {
  const test::TempDir dir;
  dir.write("domains", "games.test\n");
  const Config config = loaded(import_texts(
      {{"c", "dbhome " + dir.path().string() +
                 "\ntime t { weekly * 08:00-12:00 }\ndest games outside t {\n domainlist domains\n}\n"
                 "src s {\n ip 10.0.0.0/8\n}\nacl {\n s { pass !games any }\n default { pass none }\n}\n"}}));
  ASSERT_EQ(config.groups.size(), 1U);
  ASSERT_EQ(config.schedules.size(), 1U);
  EXPECT_FALSE(config.groups[0].filters.empty());
}

// The first source decides, and default where nothing of it holds.
TEST(Import, AClientOfTwoSourcesIsInTheFirst) {
  const std::string sources =
      "time t { weekly * 08:00-12:00 }\nsrc all { ip 10.0.0.0/8 }\nsrc some { ip 10.1.0.0/16 }\n";
  const auto group_of_some = [](const Config& config) {
    const auto found = std::find_if(config.groups.begin(), config.groups.end(), [](const conf::Group& group) {
      return group.clients == std::vector<std::string>{"10.1.0.0/16"};
    });
    return found == config.groups.end() ? conf::Group{} : *found;
  };
  const Config timed = loaded(import_texts(
      {{"c", sources + "acl {\n all within t { pass any }\n some { pass any }\n default { pass none }\n}\n"}}));
  EXPECT_EQ(group_of_some(timed).otherwise.otherwise, conf::Otherwise::deny);
  const ImportResult without =
      import_texts({{"c", sources + "acl {\n some { pass any }\n default { pass none }\n}\n"}});
  EXPECT_EQ(loaded(without).access.clients, std::vector<std::string>{}) << without.files.at("bloomwall.yaml");
  const Config open =
      loaded(import_texts({{"c", sources + "acl {\n all within t { pass none }\n some { pass none }\n}\n"}}));
  EXPECT_EQ(group_of_some(open).otherwise.otherwise, conf::Otherwise::allow);
}

// Several `pass` of one acl are one, and "!" before any or none changes nothing.
TEST(Import, EachPassOfAnAclCounts) {
  const test::TempDir dir;
  dir.write("a", "a.test\n");
  dir.write("b", "b.test\n");
  const Config config = loaded(import_texts(
      {{"c",
        "dbhome " + dir.path().string() +
            "\ndest a { domainlist a }\ndest b { domainlist b }\nsrc s { ip 10.0.0.0/8 }\nacl {\n s { pass !none }\n"
            " default {\n  pass !a\n  pass !b\n  pass all\n }\n}\n"}}));
  ASSERT_EQ(config.filters.size(), 2U);
  EXPECT_EQ(config.filters[0].name, "a");
  EXPECT_EQ(config.filters[1].name, "b");
  ASSERT_FALSE(config.groups.empty());
  EXPECT_EQ(config.groups[0].otherwise.otherwise, conf::Otherwise::deny);
}

TEST(Import, MembersOfSourcesAreReadAsSquidGuardReadsThem) {
  const test::TempDir dir;
  dir.write("users", "anna bob # both\r\ncarl:x:1000:100::/home/carl:/bin/sh\n");
  dir.write("ips", "10.0.5.1 10.0.5.2\n10.0.6.0-10.0.6.1\n");
  const ImportResult result = import_texts(
      {{"squid.conf", "auth_param basic program /x\nhttp_access allow all\n"},
       {"c",
        "dbhome " + dir.path().string() +
            "\nsrc u {\n userlist users\n}\nsrc s {\n iplist ips\n ip 10.0.0.2 - 10.0.0.3\n}\nacl {\n u { pass any }\n"
            " s { pass any }\n default { pass none }\n}\n"}});
  EXPECT_FALSE(result.deny_lost());
  const Config config = loaded(result);
  std::vector<std::string> users, clients;
  for (const conf::Group& group : config.groups) {
    users.insert(users.end(), group.users.begin(), group.users.end());
    if (group.users.empty() && group.otherwise.otherwise == conf::Otherwise::allow) clients = group.clients;
  }
  std::ranges::sort(users);
  EXPECT_EQ(users, (std::vector<std::string>{"anna", "bob", "carl"})) << result.files.at("bloomwall.yaml");
  EXPECT_EQ(clients, (std::vector<std::string>{"10.0.0.2/31", "10.0.5.1/32", "10.0.5.2/32", "10.0.6.0/31"}));
}

// No filter can be built of an empty list, and what needs one could not start.
TEST(Import, EmptyListsAreNotAsked) {
  const test::TempDir dir;
  dir.write("empty", "# nothing yet\n\n");
  dir.write("full", "full.test\n");
  const std::string folder = dir.path().string();
  const ImportResult squid = import_texts(
      {{"squid.conf",
        std::string(kNet) + "acl white dstdomain \"" + folder + "/empty\"\nacl black dstdomain \"" + folder +
            "/empty\"\nhttp_access allow white\nhttp_access deny black\nhttp_access deny net !black\n" + kRest}});
  EXPECT_TRUE(loaded(squid).filters.empty());
  EXPECT_FALSE(squid.deny_lost());
  EXPECT_EQ(find(squid, "http_access deny black")->outcome, Outcome::nearly);
  EXPECT_TRUE(loaded(squid).access.clients.empty()) << "all but nothing is everything";
  const ImportResult guard =
      import_texts({{"c", "dbhome " + folder +
                              "\ndest e {\n domainlist empty\n urllist empty\n expressionlist empty\n}\n"
                              "dest f {\n domainlist full\n urllist empty\n}\nacl { default { pass !e !f all } }\n"}});
  EXPECT_FALSE(guard.deny_lost());
  const Config config = loaded(guard);
  ASSERT_EQ(config.filters.size(), 1U);
  EXPECT_EQ(config.filters[0].sources.size(), 1U);
}

TEST(Import, TimesAreThoseOfSquid) {
  const auto spans = [](const std::string& values) {
    const Config config =
        loaded(import_texts({{"squid.conf", kNet + ("acl t time " + values) + "\nhttp_access deny t\n" + kRest}}));
    return config.schedules.empty() ? std::vector<std::string>{} : config.schedules[0].times;
  };
  using Spans = std::vector<std::string>;
  EXPECT_EQ(spans("20:00-23:59"), Spans{"20:00-24:00"}) << "the last minute counts";
  EXPECT_EQ(spans("MTWHF 8:00-12:29"), Spans{"mon,tue,wed,thu,fri 08:00-12:30"});
  EXPECT_EQ(spans("0:00-24:00"), Spans{"00:00-24:00"});
  EXPECT_EQ(spans("M-F 08:00-17:00"), Spans{"mon,fri 08:00-17:01"}) << "no span of days";
  EXPECT_EQ(spans("M 08:00-09:59 AS 13:00-13:59"), (Spans{"mon 08:00-10:00", "sat,sun 13:00-14:00"}));
  EXPECT_EQ(spans("M 08:00-09:59 13:00-13:59"), (Spans{"mon 08:00-10:00", "13:00-14:00"})) << "of every day";
  EXPECT_EQ(spans("SA"), Spans{"sun,sat"});
}

// Whatever an ACL is called, what is written can be read.
TEST(Import, NamesAreThoseOfFilters) {
  for (const char* const name : {"~", "-x",
                                 "\xc3\x9c"
                                 "bel",
                                 "on", "null", "123", "off", "a:b", ".d", "1e3", "0x1f"}) {
    const Config config =
        loaded(import_texts({{"squid.conf", kNet + ("acl " + std::string(name)) +
                                                " dstdomain .a.test\nhttp_access deny " + name + "\n" + kRest}}));
    EXPECT_EQ(config.filters.size(), 1U) << name;
  }
}

TEST(Import, TopLevelDomainsOfAnAclAreTaken) {
  const Config config = loaded(
      import_texts({{"squid.conf", kNet + std::string("acl far dstdomain .ru .cn\nhttp_access deny far\n") + kRest}}));
  ASSERT_EQ(config.filters.size(), 1U);
  EXPECT_TRUE(config.filters[0].sources.at(0).allow_tld);
}

// A hosts file has such names for the machine itself, and a filter would not take them from one.
TEST(Import, NamesWithoutADotAreEntries) {
  const ImportResult result = import_texts(
      {{"squid.conf", kNet + std::string("acl own dstdomain localhost intranet\nhttp_access deny own\n") + kRest}});
  EXPECT_EQ(result.files.at("lists/own.txt"), "||localhost^\n||intranet^\n");
  EXPECT_EQ(find(result, "acl own dstdomain localhost intranet")->outcome, Outcome::nearly);
}

TEST(Import, TooManySetsOfPeopleAreSaid) {
  std::string text;
  for (int i = 0; i < 300; ++i)
    text += "acl a" + std::to_string(i) + " src 10." + std::to_string(i / 250) + "." + std::to_string(i % 250) +
            ".1\nhttp_access allow a" + std::to_string(i) + "\n";
  const ImportResult result = import_texts({{"squid.conf", text}});
  EXPECT_TRUE(result.deny_lost());
}

}  // namespace
}  // namespace bloomwall::proxy::foreign
