// SPDX-License-Identifier: Apache-2.0
#include "proxy/access/tls_decision.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/temp_dir.h"

namespace bloomwall::proxy {
namespace {

using Tls = conf::TlsInspection;

// Rules with a never file that covers exempt.test and 192.0.2.99.
class TlsRulesMaker {
 public:
  TlsRulesMaker() {
    ::mkdtemp(folder_.data());
    std::ofstream(never()) << "# ours\nexempt.test\n192.0.2.99\n";
    std::ofstream(never_of_group()) << "own.test\n";
  }
  ~TlsRulesMaker() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  std::filesystem::path never() const { return folder_ + "/never.txt"; }
  std::filesystem::path never_of_group() const { return folder_ + "/group.txt"; }
  InspectionRules make(const std::function<void(conf::Config&)>& change) const {
    conf::Config config;
    config.tls_inspection.never = {never()};
    change(config);
    auto rules = InspectionRules::compile(config);
    if (!rules) throw std::runtime_error(rules.error().front());
    return *std::move(rules);
  }
  InspectionRules make(Tls::Mode mode) const {
    return make([mode](conf::Config& config) { config.tls_inspection.mode = mode; });
  }

 private:
  std::string folder_ = (std::filesystem::temp_directory_path() / "bloomwall-tls-rules-XXXXXX").string();
};

// "plain.test", "marked.test", "watched.test" (marks of monitor filters alone), "blocked.test", "bank.test"
// (no_decrypt), "exempt.test" (never); what stands before counts, "blocked-exempt.test" is both.
TlsName named(std::string_view host) {
  const auto has = [&](std::string_view word) { return host.find(word) != std::string_view::npos; };
  return {.host = host,
          .is_blocked = has("blocked"),
          .has_marks = has("marked") || has("watched"),
          .has_blocking_marks = has("marked"),
          .no_decrypt = has("bank")};
}

constexpr TlsHello kBrowserHello{.has_alpn = true, .offers_http1 = true, .offers_http2 = true, .has_ech = true};
constexpr TlsHello kHttp2Hello{.has_alpn = true, .offers_http1 = false, .offers_http2 = true, .has_ech = false};

TlsRequest request_to(std::string_view authority, std::string_view sni) {
  return {.authority = named(authority),
          .sni = named(sni),
          .hello = kBrowserHello,
          .client = IpAddress::v4(0x0a000001),
          .user_agent = "Mozilla/5.0 (X11)"};
}
TlsRequest request_to(std::string_view authority) { return request_to(authority, authority); }

std::string said(const TlsDecision& decision) {
  return std::string(to_string(decision.action)) + " " + to_string(decision.reason);
}

TEST(TlsDecision, FollowsTheLadderOfModes) {
  const TlsRulesMaker maker;
  const struct {
    std::string_view authority, sni, off, blocked, urls, all;
  } rows[] = {
      {"plain.test", "plain.test", "tunnelled mode", "tunnelled mode", "tunnelled mode", "intercepted all"},
      {"marked.test", "marked.test", "tunnelled mode", "tunnelled mode", "intercepted mark", "intercepted mark"},
      {"watched.test", "watched.test", "tunnelled mode", "tunnelled mode", "intercepted mark", "intercepted mark"},
      {"blocked.test", "blocked.test", "refused mode", "page blocked", "page blocked", "page blocked"},
      {"exempt.test", "exempt.test", "tunnelled mode", "tunnelled never", "tunnelled never", "tunnelled never"},
      {"a.exempt.test", "a.exempt.test", "tunnelled mode", "tunnelled never", "tunnelled never", "tunnelled never"},
      {"marked.exempt.test", "marked.exempt.test", "tunnelled mode", "tunnelled never", "tunnelled never",
       "tunnelled never"},
      {"blocked.exempt.test", "blocked.exempt.test", "refused mode", "refused never", "refused never", "refused never"},
      {"bank.test", "bank.test", "tunnelled mode", "tunnelled no_decrypt", "tunnelled no_decrypt",
       "tunnelled no_decrypt"},
      {"marked-bank.test", "marked-bank.test", "tunnelled mode", "tunnelled no_decrypt", "tunnelled no_decrypt",
       "tunnelled no_decrypt"},
      {"blocked-bank.test", "blocked-bank.test", "refused mode", "refused no_decrypt", "refused no_decrypt",
       "refused no_decrypt"},
      // Two names: the worse of them counts, and both must be exempt.
      {"plain.test", "blocked.test", "refused mode", "page blocked", "page blocked", "page blocked"},
      {"exempt.test", "blocked.test", "refused mode", "page blocked", "page blocked", "page blocked"},
      {"blocked.test", "exempt.test", "refused mode", "page blocked", "page blocked", "page blocked"},
      {"exempt.test", "a.exempt.test", "tunnelled mode", "tunnelled never", "tunnelled never", "tunnelled never"},
      {"exempt.test", "bank.test", "tunnelled mode", "tunnelled never", "tunnelled never", "tunnelled never"},
      {"bank.test", "exempt.test", "tunnelled mode", "tunnelled never", "tunnelled never", "tunnelled never"},
      {"192.0.2.99", "exempt.test", "tunnelled mode", "tunnelled never", "tunnelled never", "tunnelled never"},
  };
  for (const auto& row : rows) {
    const TlsRequest request = request_to(row.authority, row.sni);
    const std::pair<Tls::Mode, std::string_view> wanted[] = {{Tls::Mode::off, row.off},
                                                             {Tls::Mode::blocked, row.blocked},
                                                             {Tls::Mode::urls, row.urls},
                                                             {Tls::Mode::all, row.all}};
    for (const auto& [mode, says] : wanted) {
      EXPECT_EQ(said(maker.make(mode).decide(request)), says)
          << row.authority << " " << row.sni << " " << static_cast<int>(mode);
    }
  }
}

// groups[].tls_inspection: the mode of a group in place of the common one, its exemptions beside the common ones.
TEST(TlsDecision, FollowsTheModeAndTheExemptionsOfTheGroup) {
  const TlsRulesMaker maker;
  using Mode = conf::GroupTls::Mode;
  const auto rules_for = [&maker](Tls::Mode common) {
    return maker.make([&](conf::Config& config) {
      config.tls_inspection.mode = common;
      for (const Mode mode : {Mode::common, Mode::off, Mode::blocked, Mode::urls, Mode::all}) {
        conf::Group group;
        group.name = std::to_string(config.groups.size());
        group.tls_inspection.mode = mode;
        config.groups.push_back(group);
      }
      config.groups.front().tls_inspection.never = {maker.never_of_group()};
    });
  };
  const struct {
    Tls::Mode common;
    std::string_view host;
    // With the mode of the common section and a `never` of its own; off; blocked; urls; all; in no group.
    std::vector<std::string_view> says;
  } rows[] = {
      {Tls::Mode::off,
       "marked.test",
       {"tunnelled mode", "tunnelled mode", "tunnelled mode", "intercepted mark", "intercepted mark",
        "tunnelled mode"}},
      {Tls::Mode::urls,
       "marked.test",
       {"intercepted mark", "tunnelled mode", "tunnelled mode", "intercepted mark", "intercepted mark",
        "intercepted mark"}},
      {Tls::Mode::all,
       "plain.test",
       {"intercepted all", "tunnelled mode", "tunnelled mode", "tunnelled mode", "intercepted all", "intercepted all"}},
      {Tls::Mode::all,
       "blocked.test",
       {"page blocked", "refused mode", "page blocked", "page blocked", "page blocked", "page blocked"}},
      {Tls::Mode::all,
       "exempt.test",
       {"tunnelled never", "tunnelled mode", "tunnelled never", "tunnelled never", "tunnelled never",
        "tunnelled never"}},
      {Tls::Mode::all,
       "own.test",
       {"tunnelled never", "tunnelled mode", "tunnelled mode", "tunnelled mode", "intercepted all", "intercepted all"}},
      {Tls::Mode::all,
       "blocked.own.test",
       {"refused never", "refused mode", "page blocked", "page blocked", "page blocked", "page blocked"}},
  };
  for (const auto& row : rows) {
    const InspectionRules rules = rules_for(row.common);
    EXPECT_TRUE(rules.has_groups());
    EXPECT_EQ(rules.greatest_mode(), Tls::Mode::all);
    for (std::size_t group = 0; group < row.says.size(); ++group) {
      TlsRequest request = request_to(row.host);
      request.group = group;
      EXPECT_EQ(said(rules.decide(request)), row.says[group]) << row.host << " " << group;
    }
  }
  TlsRequest request = request_to("plain.test");
  request.group = 4;
  EXPECT_EQ(rules_for(Tls::Mode::off).decide(request).source(), "mode all of the group");
  EXPECT_EQ(rules_for(Tls::Mode::off).group_named("4"), 4U);
  EXPECT_EQ(rules_for(Tls::Mode::off).group_named("nobody"), 5U);
}

TEST(TlsDecision, LooksAtBothNamesWhereTheyDiffer) {
  const TlsRulesMaker maker;
  const auto change = [](Tls::Mode mode) {
    return [mode](conf::Config& config) {
      config.tls_inspection.mode = mode;
      config.tls_inspection.ech = Tls::Ech::pass;
    };
  };
  const InspectionRules urls = maker.make(change(Tls::Mode::urls)), all = maker.make(change(Tls::Mode::all));
  const struct {
    std::string_view authority, sni, in_urls, in_all;
  } rows[] = {
      {"plain.test", "marked.test", "intercepted mark", "intercepted mark"},
      {"marked.test", "plain.test", "intercepted mark", "intercepted mark"},
      {"marked.test", "exempt.test", "intercepted mark", "intercepted mark"},
      {"exempt.test", "marked.test", "intercepted mark", "intercepted mark"},
      {"bank.test", "marked.test", "intercepted mark", "intercepted mark"},
      {"marked.test", "bank.test", "intercepted mark", "intercepted mark"},
      {"plain.test", "exempt.test", "tunnelled mode", "intercepted all"},
      {"exempt.test", "plain.test", "tunnelled mode", "intercepted all"},
      {"192.0.2.1", "exempt.test", "tunnelled mode", "intercepted all"},
  };
  for (const auto& row : rows) {
    const TlsRequest request = request_to(row.authority, row.sni);
    EXPECT_EQ(said(urls.decide(request)), row.in_urls) << row.authority << " " << row.sni;
    EXPECT_EQ(said(all.decide(request)), row.in_all) << row.authority << " " << row.sni;
  }
  TlsRequest no_sni = request_to("marked.test");
  no_sni.sni.reset();
  EXPECT_EQ(said(urls.decide(no_sni)), "intercepted mark");
  no_sni.authority = named("exempt.test");
  EXPECT_EQ(said(all.decide(no_sni)), "tunnelled never");
}

TEST(TlsDecision, ShowsThePageToThoseWhoCanSeeIt) {
  const TlsRulesMaker maker;
  const InspectionRules browsers = maker.make(Tls::Mode::blocked);
  const InspectionRules everyone = maker.make([](conf::Config& config) {
    config.tls_inspection.mode = Tls::Mode::blocked;
    config.tls_inspection.page_for = Tls::PageFor::everyone;
  });
  TlsRequest request = request_to("blocked.test");
  for (const std::string_view agent : {"curl/8.5", "", "python-requests Mozilla/5.0", "mozilla/5.0"}) {
    request.user_agent = agent;
    EXPECT_EQ(said(browsers.decide(request)), "refused blocked") << agent;
    EXPECT_EQ(said(everyone.decide(request)), "page blocked") << agent;
  }
  request.is_transparent = true;
  EXPECT_EQ(said(browsers.decide(request)), "page blocked") << "nobody says who he is there";
  request.hello = kHttp2Hello;
  EXPECT_EQ(said(browsers.decide(request)), "page blocked");
  request.hello = TlsHello{.has_alpn = true};
  EXPECT_EQ(said(browsers.decide(request)), "refused alpn");
  request.hello.reset();
  EXPECT_EQ(said(browsers.decide(request)), "page blocked") << "at CONNECT";
  request.page_refused = true;
  EXPECT_EQ(said(browsers.decide(request)), "refused blocked");
  EXPECT_EQ(said(everyone.decide(request)), "refused blocked");
}

TEST(TlsDecision, KeepsToItsScope) {
  const TlsRulesMaker maker;
  const InspectionRules rules = maker.make([](conf::Config& config) {
    config.tls_inspection.mode = Tls::Mode::all;
    config.tls_inspection.clients = {"10.0.0.0/8", "fd00::/8"};
    config.tls_inspection.never_clients = {"10.1.0.0/16"};
    config.tls_inspection.ports = {8443, 443};
  });
  TlsRequest request = request_to("marked.test");
  const struct {
    std::string_view client, says;
  } clients[] = {{"10.0.0.1", "intercepted mark"},
                 {"10.1.0.1", "tunnelled client"},
                 {"192.0.2.1", "tunnelled client"},
                 {"fd00::1", "intercepted mark"},
                 {"2001:db8::1", "tunnelled client"}};
  for (const auto& row : clients) {
    request.client = *IpAddress::parse_host(row.client);
    EXPECT_EQ(said(rules.decide(request)), row.says) << row.client;
  }
  request.client.reset();
  EXPECT_EQ(said(rules.decide(request)), "intercepted mark") << "not asked";
  request.port = 8443;
  EXPECT_EQ(said(rules.decide(request)), "intercepted mark");
  request.port = 993;
  EXPECT_EQ(said(rules.decide(request)), "tunnelled port");
  request = request_to("blocked.test");
  request.port = 993;
  EXPECT_EQ(said(rules.decide(request)), "refused port");
  request.port = 443;
  request.client = IpAddress::v4(0x0a010001);
  EXPECT_EQ(said(rules.decide(request)), "refused client");
}

TEST(TlsDecision, CountsMarksOfMonitoringFiltersAsConfigured) {
  const TlsRulesMaker maker;
  const InspectionRules rules = maker.make([](conf::Config& config) {
    config.tls_inspection.mode = Tls::Mode::urls;
    config.tls_inspection.urls_of_monitor = false;
  });
  EXPECT_EQ(said(rules.decide(request_to("watched.test"))), "tunnelled mode");
  EXPECT_EQ(said(rules.decide(request_to("marked.test"))), "intercepted mark");
}

TEST(TlsDecision, StepsBackFromUnmarkedHostsAlone) {
  const TlsRulesMaker maker;
  const auto change = [](Tls::Mode mode, conf::AutoPass::Hosts hosts) {
    return [mode, hosts](conf::Config& config) {
      config.tls_inspection.mode = mode;
      config.tls_inspection.auto_pass.hosts = hosts;
    };
  };
  const InspectionRules urls = maker.make(change(Tls::Mode::urls, conf::AutoPass::Hosts::unmarked));
  const InspectionRules all = maker.make(change(Tls::Mode::all, conf::AutoPass::Hosts::unmarked));
  const InspectionRules strict = maker.make(change(Tls::Mode::all, conf::AutoPass::Hosts::off));
  struct Row {
    const char* what;
    void (*change)(TlsRequest&);
    std::string_view unmarked, marked;
  };
  const Row rows[] = {
      {"nothing", [](TlsRequest&) {}, "intercepted all", "intercepted mark"},
      {"h2 only", [](TlsRequest& r) { r.hello = kHttp2Hello; }, "intercepted all", "intercepted mark"},
      {"imap", [](TlsRequest& r) { r.hello = TlsHello{.has_alpn = true}; }, "tunnelled alpn", "refused alpn"},
      {"no ALPN", [](TlsRequest& r) { r.hello = TlsHello{}; }, "intercepted all", "intercepted mark"},
      {"client certificate", [](TlsRequest& r) { r.origin_wants_certificate = true; }, "tunnelled client_cert",
       "intercepted mark"},
      {"h2 origin", [](TlsRequest& r) { r.origin_lacks_http = true; }, "tunnelled alpn", "intercepted mark"},
      {"refuses", [](TlsRequest& r) { r.may_auto_pass = true; }, "tunnelled auto_pass", "intercepted mark"},
      {"refused a page", [](TlsRequest& r) { r.page_refused = true; }, "intercepted all", "intercepted mark"},
  };
  for (const Row& row : rows) {
    TlsRequest unmarked = request_to("plain.test"), marked = request_to("marked.test");
    row.change(unmarked);
    row.change(marked);
    EXPECT_EQ(said(all.decide(unmarked)), row.unmarked) << row.what;
    EXPECT_EQ(said(all.decide(marked)), row.marked) << row.what;
    EXPECT_EQ(said(urls.decide(unmarked)), "tunnelled mode") << row.what;
    EXPECT_EQ(said(urls.decide(marked)), row.marked) << row.what;
    EXPECT_EQ(all.decide(unmarked).may_step_back, row.unmarked == "intercepted all") << row.what;
    EXPECT_FALSE(all.decide(marked).may_step_back) << row.what;
  }
  TlsRequest refuses = request_to("plain.test");
  refuses.may_auto_pass = true;
  EXPECT_EQ(said(strict.decide(refuses)), "intercepted all");
}

TEST(TlsDecision, ServesHttp2WhereItIsOn) {
  const TlsRulesMaker maker;
  for (const bool is_on : {true, false}) {
    const InspectionRules rules = maker.make([=](conf::Config& config) {
      config.tls_inspection.mode = Tls::Mode::all;
      config.tls_inspection.http2 = is_on;
    });
    TlsRequest request = request_to("marked.test");
    request.hello = kHttp2Hello;
    EXPECT_EQ(said(rules.decide(request)), is_on ? "intercepted mark" : "refused alpn");
    request = request_to("plain.test");
    request.hello = kHttp2Hello;
    EXPECT_EQ(said(rules.decide(request)), is_on ? "intercepted all" : "tunnelled alpn");
    request.hello = TlsHello{.has_alpn = true};
    EXPECT_EQ(said(rules.decide(request)), "tunnelled alpn");
  }
}

TEST(TlsDecision, OffersOriginsWhatTheClientOffers) {
  const TlsRulesMaker maker;
  const InspectionRules on = maker.make(Tls::Mode::all);
  const InspectionRules off = maker.make([](conf::Config& config) { config.tls_inspection.http2 = false; });
  EXPECT_EQ(on.origin_alpn(true, true), "\x02h2\x08http/1.1");
  EXPECT_EQ(on.origin_alpn(false, true), "\x02h2");
  EXPECT_EQ(on.origin_alpn(true, false), "\x08http/1.1");
  EXPECT_EQ(on.origin_alpn(false, false), "\x08http/1.1");
  EXPECT_EQ(off.origin_alpn(true, true), "\x08http/1.1");
  EXPECT_EQ(off.origin_alpn(false, true), "\x08http/1.1");
}

TEST(TlsDecision, DealsWithEncryptedHellos) {
  const TlsRulesMaker maker;
  const auto rules = [&](Tls::Mode mode, Tls::Ech ech) {
    return maker.make([=](conf::Config& config) {
      config.tls_inspection.mode = mode;
      config.tls_inspection.ech = ech;
    });
  };
  using enum Tls::Ech;
  struct Row {
    std::string_view authority, sni;
    bool is_transparent;
    Tls::Mode mode;
    Tls::Ech ech;
    std::string_view says;
  };
  constexpr std::string_view kPublic = "cloudflare-ech.com";
  const Row rows[] = {
      {"plain.test", "plain.test", false, Tls::Mode::urls, intercept, "tunnelled mode"},  // GREASE
      {"plain.test", kPublic, false, Tls::Mode::urls, intercept, "intercepted ech"},
      {"plain.test", "other.test", false, Tls::Mode::urls, intercept, "intercepted ech"},
      {"marked.test", kPublic, false, Tls::Mode::urls, intercept, "intercepted mark"},
      {"plain.test", kPublic, false, Tls::Mode::blocked, intercept, "tunnelled mode"},
      {"plain.test", kPublic, false, Tls::Mode::all, intercept, "intercepted ech"},
      {"plain.test", kPublic, false, Tls::Mode::urls, pass, "tunnelled mode"},
      {"marked.test", kPublic, false, Tls::Mode::urls, pass, "intercepted mark"},
      {"plain.test", kPublic, false, Tls::Mode::all, pass, "intercepted all"},
      {"plain.test", kPublic, false, Tls::Mode::urls, deny, "refused ech"},
      {"marked.test", kPublic, false, Tls::Mode::urls, deny, "refused ech"},
      {"blocked.test", kPublic, false, Tls::Mode::urls, deny, "page blocked"},
      {"exempt.test", kPublic, false, Tls::Mode::urls, intercept, "intercepted ech"},
      {kPublic, kPublic, true, Tls::Mode::urls, intercept, "intercepted ech"},
      {"plain.test", "plain.test", true, Tls::Mode::urls, intercept, "tunnelled mode"},
      {"192.0.2.1", "plain.test", true, Tls::Mode::urls, intercept, "tunnelled mode"},
  };
  for (const Row& row : rows) {
    TlsRequest request = request_to(row.authority, row.sni);
    request.is_transparent = row.is_transparent;
    EXPECT_EQ(said(rules(row.mode, row.ech).decide(request)), row.says)
        << row.authority << " " << row.sni << " " << static_cast<int>(row.mode) << static_cast<int>(row.ech);
    const bool hides = row.sni == kPublic || (!row.is_transparent && row.sni != row.authority);
    const TlsDecision decision = rules(row.mode, row.ech).decide(request);
    const bool is_ended = decision.action == TlsAction::intercept || decision.action == TlsAction::page;
    EXPECT_EQ(decision.hides_name, hides && is_ended) << row.authority << " " << row.sni;
    request.hello->has_ech = false;
    EXPECT_FALSE(rules(row.mode, row.ech).decide(request).hides_name);
    const std::string without = said(rules(row.mode, row.ech).decide(request));
    EXPECT_EQ(without.find(" ech"), std::string::npos) << without;
  }
  TlsRequest unserved = request_to("plain.test", kPublic);
  unserved.hello->offers_http1 = unserved.hello->offers_http2 = false;
  EXPECT_EQ(said(rules(Tls::Mode::urls, intercept).decide(unserved)), "refused ech");
}

TEST(TlsDecision, KnowsFurtherPublicNamesFromFiles) {
  const test::TempDir dir;
  const auto file = dir.write("outer.txt", "outer.test\n=only.test\n");
  const TlsRulesMaker maker;
  const auto with = [&](const std::vector<std::filesystem::path>& files) {
    return maker.make([=](conf::Config& config) {
      config.tls_inspection.mode = Tls::Mode::urls;
      config.tls_inspection.ech_public_names = files;
    });
  };
  const auto says = [](const InspectionRules& rules, std::string_view name) {
    TlsRequest request = request_to(name, name);
    request.is_transparent = true;
    return said(rules.decide(request));
  };
  const InspectionRules known = with({file}), unknown = with({});
  for (const char* name : {"outer.test", "a.outer.test", "only.test"}) {
    EXPECT_EQ(says(known, name), "intercepted ech") << name;
    EXPECT_EQ(says(unknown, name), "tunnelled mode") << name;
  }
  EXPECT_EQ(says(known, "a.only.test"), "tunnelled mode");
  EXPECT_EQ(says(known, "cloudflare-ech.com"), "intercepted ech") << "beside those that are built in";
  conf::Config missing;
  missing.tls_inspection.mode = Tls::Mode::urls;
  missing.tls_inspection.never = {};
  missing.tls_inspection.ech_public_names = {dir.path() / "nowhere.txt"};
  const auto compiled = InspectionRules::compile(missing);
  ASSERT_FALSE(compiled.has_value());
  EXPECT_TRUE(compiled.error().front().starts_with("tls_inspection.ech_public_names: ")) << compiled.error().front();
}

TEST(TlsDecision, JudgesWhatARedirectedClientWasAboutToReach) {
  const InspectionRules rules = TlsRulesMaker().make(Tls::Mode::urls);
  TlsRequest request = request_to("exempt.test");
  request.is_transparent = true;
  request.destination = {.host = "192.0.2.7"};
  EXPECT_EQ(said(rules.decide(request)), "tunnelled never") << "an address need not be exempt";
  request.destination.has_marks = request.destination.has_blocking_marks = true;
  EXPECT_EQ(said(rules.decide(request)), "intercepted mark");
  request.destination = {.host = "192.0.2.7", .is_blocked = true};
  EXPECT_EQ(said(rules.decide(request)), "refused never");
}

TEST(TlsDecision, LeavesOpaqueOctetsToTheirOwnKey) {
  const TlsRulesMaker maker;
  const InspectionRules http = maker.make(Tls::Mode::all);
  const InspectionRules deny = maker.make([](conf::Config& config) {
    config.tls_inspection.mode = Tls::Mode::all;
    config.access.opaque_tunnels = conf::Access::OpaqueTunnels::deny;
  });
  for (const std::string_view host : {"plain.test", "marked.test", "blocked.test"}) {
    TlsRequest request = request_to(host);
    request.is_opaque = true;
    EXPECT_EQ(said(deny.decide(request)), "refused opaque");
    EXPECT_EQ(said(http.decide(request)), host == "blocked.test" ? "refused opaque" : "tunnelled opaque");
  }
}

TEST(TlsDecision, NamesItsSource) {
  const TlsRulesMaker maker;
  const InspectionRules rules = maker.make(Tls::Mode::urls);
  const auto source = [&](std::string_view host) { return rules.decide(request_to(host)).source(); };
  EXPECT_EQ(source("a.exempt.test"), maker.never().string() + ":2 exempt.test");
  EXPECT_EQ(source("marked.test"), "mode urls");
  EXPECT_EQ(source("bank.test"), "a filter with action: no_decrypt");
}

TEST(TlsDecision, CompilesItsRulesOrSaysWhy) {
  conf::Config config;
  config.tls_inspection.never = {"/nonexistent/never.txt"};
  EXPECT_TRUE(InspectionRules::compile(config).has_value()) << "nothing is read where nothing is decrypted";
  config.tls_inspection.mode = Tls::Mode::urls;
  config.tls_inspection.clients = {"10.0.0.0/99"};
  const auto rules = InspectionRules::compile(config);
  ASSERT_FALSE(rules.has_value());
  EXPECT_EQ(rules.error(),
            (std::vector<std::string>{"tls_inspection.clients: not a network: 10.0.0.0/99",
                                      "tls_inspection.never: /nonexistent/never.txt: No such file or directory"}));
}

// Whatever a client or an origin says: a marked host is not tunnelled, a blocked one neither, and what is shown of
// names that the operator exempted is nothing.
TEST(TlsDecision, NothingThatAPeerSaysOpensAMarkedHost) {
  const TlsRulesMaker maker;
  std::mt19937 random(20261123);
  const auto any = [&](std::size_t count) { return std::uniform_int_distribution<std::size_t>(0, count - 1)(random); };
  const auto flip = [&] { return any(2) == 1; };
  constexpr std::string_view kHosts[] = {"plain.test",         "marked.test", "exempt.test",
                                         "bank.test",          "192.0.2.99",  "watched.test",
                                         "cloudflare-ech.com", "other.test",  "blocked.test"};
  std::vector<InspectionRules> all_rules;
  for (const Tls::Mode mode : {Tls::Mode::urls, Tls::Mode::all}) {
    for (const Tls::Ech ech : {Tls::Ech::intercept, Tls::Ech::pass, Tls::Ech::deny}) {
      all_rules.push_back(maker.make([=](conf::Config& config) {
        config.tls_inspection.mode = mode;
        config.tls_inspection.ech = ech;
        config.tls_inspection.auto_pass = {
            .hosts = conf::AutoPass::Hosts::unmarked, .after = 1, .pass_for = Milliseconds(60'000), .devices = true};
        config.tls_inspection.http2 = ech == Tls::Ech::pass;
      }));
    }
  }
  std::size_t marked = 0, blocked = 0, tunnelled = 0;
  for (int round = 0; round < 200'000; ++round) {
    TlsRequest request = request_to(kHosts[any(std::size(kHosts))], kHosts[any(std::size(kHosts))]);
    if (any(4) == 0) request.sni.reset();
    if (any(4) == 0) request.hello.reset();
    if (request.hello) request.hello = TlsHello{flip(), flip(), flip(), flip()};
    request.user_agent = flip() ? "Mozilla/5.0" : "x";
    request.is_transparent = flip();
    request.page_refused = flip();
    request.may_auto_pass = flip();
    request.origin_wants_certificate = flip();
    request.origin_lacks_http = flip();
    if (request.is_transparent && any(3) == 0) request.destination = named(flip() ? "marked.test" : "blocked.test");
    const TlsDecision decision = all_rules[any(all_rules.size())].decide(request);
    const auto check = [&](const TlsName& name) {
      if (name.is_blocked) {
        ++blocked;
        EXPECT_TRUE(decision.action == TlsAction::page || decision.action == TlsAction::refuse) << name.host;
      } else if (name.has_marks) {
        ++marked;
        EXPECT_NE(decision.action, TlsAction::tunnel) << name.host << " " << said(decision);
        EXPECT_FALSE(decision.may_step_back);
      }
    };
    check(request.authority);
    if (request.sni) check(*request.sni);
    check(request.destination);
    tunnelled += decision.action == TlsAction::tunnel ? 1U : 0U;
  }
  EXPECT_GT(marked, 50'000U);
  EXPECT_GT(blocked, 20'000U);
  EXPECT_GT(tunnelled, 5'000U);
}

}  // namespace
}  // namespace bloomwall::proxy
