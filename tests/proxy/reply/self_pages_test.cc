// The pages of the self host: what was blocked, how programs are set up, the file for automatic configuration.
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>

#include "proxy/reply/home_page.h"
#include "proxy/reply/pac_file.h"
#include "proxy/reply/self_path.h"
#include "proxy/reply/setup_page.h"

namespace bloomwall::proxy {
namespace {

using testing::HasSubstr;
using testing::Not;

ReplyContext wanting(std::string_view accept, std::string_view language = "") {
  ReplyContext context;
  context.now = TimePoint(std::chrono::seconds(784111777));
  context.accept = accept;
  context.accept_language = language;
  return context;
}

HomePage page_with(std::string url, std::string ticket) {
  HomePage page;
  page.client = "192.0.2.7";
  page.recent.push_back({.facts = {.url = std::move(url),
                                   .expression = "S shop.test",
                                   .decision_id = "0123456789ABCDEF",
                                   .host = "shop.test",
                                   .filter = "ads",
                                   .reason = "listed",
                                   .group = "pupils",
                                   .client = "192.0.2.7"},
                         .at = TimePoint(std::chrono::seconds(784111777)),
                         .count = 3,
                         .is_connection = true});
  page.tickets.push_back(std::move(ticket));
  page.report = {.action = "http://bloomwall.internal/report", .form_action = "http://bloomwall.internal"};
  return page;
}

std::string written(const HomePage& page, const ReplyContext& context) {
  std::string out;
  write_home_page(out, page, context);
  return out;
}

TEST(HomePage, ShowsEachDenialWithItsForm) {
  const std::string out = written(page_with("https://shop.test/", "TICKET-1"), wanting("text/html", "de"));
  EXPECT_THAT(out, HasSubstr("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(out, HasSubstr("Content-Language: de\r\nVary: Accept, Accept-Language\r\n"));
  EXPECT_THAT(out, HasSubstr("form-action http://bloomwall.internal;"));
  for (const char* const shown :
       {"https://shop.test/", "0123456789ABCDEF", "1994-11-06 08:49:37 (UTC)", ">shop.test<", "pupils", "3-mal",
        "name=\"ticket\" value=\"TICKET-1\"", "action=\"http://bloomwall.internal/report\"", "192.0.2.7", "/setup"}) {
    EXPECT_THAT(out, HasSubstr(shown));
  }
  EXPECT_THAT(out, Not(HasSubstr("href=\"/ca\"")));
}

TEST(HomePage, EscapesWhatStrangersHaveSent) {
  HomePage page = page_with("http://shop.test/<script>\"'\r\n", "");
  page.recent[0].facts.expression = "<i>";
  page.user = "<b>anna";
  for (const std::string_view accept : {"text/html", "application/json", "text/plain"}) {
    const std::string out = written(page, wanting(accept));
    const std::string body = out.substr(out.find("\r\n\r\n") + 4);
    if (accept == "text/html") {
      EXPECT_THAT(body, Not(HasSubstr("<script>")));
      EXPECT_THAT(body, Not(HasSubstr("<b>anna")));
    }
    if (accept == "application/json") {
      const auto json = nlohmann::json::parse(body);
      EXPECT_EQ(json["user"], "<b>anna");
      EXPECT_EQ(json["recent"][0]["url"], "http://shop.test/<script>\"'\r\n");
      EXPECT_EQ(json["recent"][0]["count"], 3);
    }
    EXPECT_TRUE(accept != "text/plain" || body.find('\r') == std::string::npos) << body;
    EXPECT_THAT(body, Not(HasSubstr("name=\"ticket\""))) << "there is no ticket";
  }
}

TEST(HomePage, SaysThatNothingWasBlockedOrIsShown) {
  HomePage page;
  page.client = "192.0.2.7";
  EXPECT_THAT(written(page, wanting("text/html")), HasSubstr("Nothing was blocked."));
  EXPECT_THAT(written(page, wanting("application/json")), HasSubstr("\"recent\":[]"));
  page.may_log_in = true;
  EXPECT_THAT(written(page, wanting("text/html")), HasSubstr("href=\"/?login\""));
  page.is_shown = false;
  EXPECT_THAT(written(page, wanting("text/html")), Not(HasSubstr("Nothing was blocked.")));
  EXPECT_THAT(written(page, wanting("text/html")), Not(HasSubstr("/?login")));
  EXPECT_THAT(written(page, wanting("application/json")), HasSubstr("\"recent\":null"));
}

TEST(SetupPage, FillsInWhereTheProxyIs) {
  const std::vector<std::string> direct{"intranet.test"};
  SetupPage page{.proxy = {"proxy.test", 3128, false}, .direct = direct};
  std::string out;
  write_setup_page(out, page, wanting("text/html", "fr"));
  for (const char* const shown :
       {"http://proxy.test:3128/proxy.pac", "netsh winhttp", "networksetup -setautoproxyurl", "gsettings", "Android",
        "iOS", "policies.json", "ProxySettings", "Acquire::http::Proxy",
        "git config --global http.proxy http://proxy.test:3128", "npm config set https-proxy", "pip ", "daemon.json",
        "-Dhttps.proxyHost=proxy.test", "NODE_USE_ENV_PROXY", "export http_proxy=http://proxy.test:3128",
        "export HTTPS_PROXY=", "intranet.test"}) {
    EXPECT_THAT(out, HasSubstr(shown));
  }
  EXPECT_THAT(out, HasSubstr("lang=\"fr\""));
  EXPECT_THAT(out, Not(HasSubstr("NOM:MOTDEPASSE")));
  EXPECT_THAT(out, Not(HasSubstr("/ca\"")));
  page.asks_login = page.has_authority = page.proxy.is_secure = true;
  out.clear();
  write_setup_page(out, page, wanting("text/html", "fr"));
  EXPECT_THAT(out, HasSubstr("NOM:MOTDEPASSE"));
  EXPECT_THAT(out, HasSubstr("href=\"/ca\""));
  EXPECT_THAT(out, HasSubstr("https://proxy.test:3128/proxy.pac"));
  out.clear();
  write_setup_page(out, page, wanting("application/json"));
  const auto json = nlohmann::json::parse(out.substr(out.find("\r\n\r\n")));
  EXPECT_EQ(json["environment"]["https_proxy"], "https://proxy.test:3128");
  EXPECT_EQ(json["environment"]["no_proxy"], "localhost,127.0.0.1,::1,intranet.test");
  out.clear();
  write_setup_page(out, page, wanting("*/*"));
  EXPECT_THAT(out, HasSubstr("Proxy: https://proxy.test:3128\n"));
}

TEST(SetupPage, SaysInTheReadersLanguageWhatIsNoCommand) {
  const SetupPage page{.proxy = {"proxy.test", 3128, false}};
  const auto in = [&](const char* language) {
    std::string out;
    write_setup_page(out, page, wanting("text/html", language));
    return out;
  };
  for (const char* const shown :
       {"<th scope=\"row\">Umgebungsvariablen</th>", "<p>In einem Terminal</p>", "Viele Apps beachten das nicht",
        "Menüs stehen hier mit ihren englischen Namen.", "<p lang=\"en\" dir=\"ltr\">Settings &gt; Wi-Fi"}) {
    EXPECT_THAT(in("de"), HasSubstr(shown));
  }
  for (const char* const english : {"In a terminal", "For one run", "the environment above", "Many apps"}) {
    EXPECT_THAT(in("de"), Not(HasSubstr(english)));
    EXPECT_THAT(in("en"), HasSubstr(english));
  }
  EXPECT_THAT(in("en"), Not(HasSubstr("Menus are given")));
}

TEST(SetupPage, ReadsProxiesAsTheConfigurationSaysThem) {
  EXPECT_EQ(configured_proxy("https://a.test:3129"), (ProxyAddress{"a.test", 3129, true}));
  EXPECT_EQ(configured_proxy("[::1]:3128"), (ProxyAddress{"[::1]", 3128, false}));
  EXPECT_EQ(configured_proxy(""), std::nullopt);
  EXPECT_EQ(pac_proxy("https://a.test:3129"), "HTTPS a.test:3129");
  EXPECT_EQ(pac_proxy("[::1]:3128"), "PROXY [::1]:3128");
}

TEST(PacFile, HoldsWhatIsConfigured) {
  const std::vector<std::string> direct{"intranet.test", "10.0.0.0/12", "192.0.2.1", "fd00::/8", "2001:db8::1"};
  const std::string text = pac_text(
      {.proxies = {"HTTPS a.test:3129", "PROXY a.test:3128"}, .direct = direct, .self_host = "bloomwall.internal"});
  EXPECT_THAT(text, HasSubstr("var proxies = \"HTTPS a.test:3129; PROXY a.test:3128\";"));
  EXPECT_THAT(text, HasSubstr("var selfHost = \"bloomwall.internal\";"));
  EXPECT_THAT(text, HasSubstr("var ownPages = [\"https://a.test:3129/\", \"http://a.test:3128/\"];"));
  EXPECT_THAT(text, HasSubstr("var domains = [\"localhost\", \"intranet.test\"];"));
  EXPECT_THAT(text, HasSubstr("[\"10.0.0.0\", \"255.240.0.0\"], [\"192.0.2.1\", \"255.255.255.255\"]];"));
  EXPECT_THAT(text, HasSubstr("var networks6 = [\"fd00::/8\", \"2001:db8::1/128\"];"));
}

TEST(PacFile, CannotBeLeftByANameInIt) {
  const std::vector<std::string> direct{"a\"];evil();//\n</script>"};
  const std::string text = pac_text({.proxies = {"PROXY \"x\""}, .direct = direct, .self_host = "\\\""});
  EXPECT_THAT(text, Not(HasSubstr("a\"]")));
  EXPECT_THAT(text, HasSubstr("var proxies = \"PROXY \\\"x\\\"\";"));
}

TEST(SelfPath, IsFoundWithoutTheQuery) {
  EXPECT_EQ(self_path("/"), SelfPath::home);
  EXPECT_EQ(self_path(""), SelfPath::home);
  EXPECT_EQ(self_path("?login"), SelfPath::home);
  EXPECT_EQ(self_path(kHomeWithLogin), SelfPath::home);
  EXPECT_EQ(self_path("/proxy.pac?x"), SelfPath::pac);
  EXPECT_EQ(self_path("/wpad.dat"), SelfPath::pac);
  EXPECT_EQ(self_path("/setup"), SelfPath::setup);
  EXPECT_EQ(self_path("/report/1-a"), SelfPath::report);
  for (const char* const other : {"/setup/", "/wpad.da", "/Setup", "//", "/reports", "/proxy.pac/x"}) {
    EXPECT_EQ(self_path(other), SelfPath::unknown) << other;
  }
}

}  // namespace
}  // namespace bloomwall::proxy
