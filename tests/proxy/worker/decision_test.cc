// What a request, and an open tunnel, may do: tables of the rules, without a socket.
// SPDX-License-Identifier: Apache-2.0
#include "proxy/decision/decision.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <ostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "proxy/http/http1_reader.h"
#include "tests/filter/policy/policy_maker.h"

namespace bloomwall::proxy {
namespace {

// One policy for all rows: making filter files is the slow part.
PolicyPtr policy() {
  static const filter::PolicyMaker made(
      {{.name = "bad", .entries = {"S blocked.test", "D mixed.test/bad/", "D 192.0.2.5/bad/", "X 192.0.2.66"}},
       {.name = "watch", .entries = {"S watched.test", "X 192.0.2.7"}, .action = filter::FilterAction::monitor}},
      "good.blocked.test\nfree.test\n");
  return made.policy;
}

Endpoint address(const std::string& text, std::uint16_t port = 0) {
  const auto endpoint = Endpoint::parse_ip(text, port);
  if (!endpoint) throw std::invalid_argument(text);
  return *endpoint;
}

struct Door {
  std::string meant = {};   // on a transparent listener: the address the client went to
  std::string inside = {};  // of a tunnel to this host
  std::uint16_t port = 80;  // of either
  bool is_implicit_tunnel = false;
  bool is_decrypted = false;   // `inside` is in TLS
  std::string connected = {};  // likewise: what CONNECT named, where the SNI is another
};

ClientInfo client(const Door& door, const std::string& from = "127.0.0.1") {
  ClientInfo info;
  info.endpoint = address(from);
  info.address = from;
  if (!door.meant.empty()) {
    info.destination = std::make_unique<const ClientInfo::Destination>(
        ClientInfo::Destination{address(door.meant, door.port), door.meant});
  }
  if (!door.inside.empty()) {
    ClientInfo::Inside inside{door.inside, door.port};
    if (door.is_decrypted) {
      inside.scheme = Scheme::https;
      inside.authority = door.connected;
      inside.name = door.inside == door.meant ? NameOf::address : NameOf::server_name;
    }
    info.inside = std::make_unique<const ClientInfo::Inside>(std::move(inside));
  }
  return info;
}

Decider decider(const std::function<void(conf::Config&)>& change = {}) {
  conf::Config settings;
  settings.access.connect_ports = {};
  settings.access.deny_destinations = {};
  if (change) change(settings);
  auto snapshot = make_snapshot(settings, 1);
  if (!snapshot) throw std::invalid_argument(snapshot.error().front());
  Decider made;
  made.adopt(*std::move(snapshot), policy());
  return made;
}

std::string text_of(const HttpError& error) { return "refuse " + std::string(to_string(error.kind)); }

std::string text_of(const Decision& decision) {
  const std::string verdict = filter::PolicyMaker::say(decision.verdict);
  const std::string target = std::string(decision.host) + ":" + std::to_string(decision.port);
  switch (decision.act) {
    case Decision::Act::wait_for_pages:
      return "wait";
    case Decision::Act::refuse:
      return text_of(decision.error);
    case Decision::Act::block:
      return "block " + verdict;
    case Decision::Act::answer_trace:
      return "trace";
    case Decision::Act::answer_options:
      return "options";
    case Decision::Act::answer_authority:
      return "authority";
    case Decision::Act::answer_self:
      return "self";
    case Decision::Act::show_self:
      return "self in TLS";
    case Decision::Act::forward:
      return "forward " + target + " " + verdict;
    case Decision::Act::tunnel:
      return "tunnel " + target + " " + verdict;
  }
  return "?";
}

struct Case {
  std::string_view name;
  std::string head;  // without the empty line
  std::string_view want;
  Door door = {};
  std::function<void(conf::Config&)> change = {};
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class Decided : public testing::TestWithParam<Case> {};

TEST_P(Decided, AsTheRulesSay) {
  const Case& c = GetParam();
  const HeadLimits limits;
  RequestReader reader(limits);
  const auto step = reader.feed(c.head + "\r\n");
  ASSERT_TRUE(step && step->event == ReadEvent::head);
  const ClientInfo info = client(c.door);
  Decider asked = decider(c.change);
  const RequestContext context{reader.head(), info, c.door.is_implicit_tunnel};
  EXPECT_EQ(text_of(asked.decide(context)), c.want);
  EXPECT_EQ(text_of(asked.decide(context)), c.want) << "nothing is remembered";
}

const Door kRedirected{.meant = "192.0.2.1"};
const Door kRedirectedToBlocked{.meant = "192.0.2.66"};
const Door kRedirectedToWatched{.meant = "192.0.2.7"};
const Door kImplicit{.meant = "192.0.2.1", .port = 443, .is_implicit_tunnel = true};
const Door kImplicitToBlocked{.meant = "192.0.2.66", .port = 443, .is_implicit_tunnel = true};
const Door kInside{.inside = "a.test"};
const Door kInsideBlocked{.inside = "blocked.test"};
const Door kInsideSmtp{.inside = "a.test", .port = 25};

INSTANTIATE_TEST_SUITE_P(
    Forward, Decided,
    testing::Values(
        Case{"Plain", "GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\n", "forward a.test:80 allowed unlisted"},
        Case{"Blocked", "GET http://blocked.test/ HTTP/1.1\r\nHost: a.test\r\n",
             "block blocked listed bad S blocked.test"},
        Case{"Monitored", "GET http://watched.test/ HTTP/1.1\r\nHost: a.test\r\n",
             "forward watched.test:80 monitored listed watch S watched.test"},
        Case{"Connect", "CONNECT a.test:443 HTTP/1.1\r\nHost: a.test\r\n", "tunnel a.test:443 allowed unlisted"},
        Case{"ConnectBlocked", "CONNECT blocked.test:443 HTTP/1.1\r\nHost: a.test\r\n",
             "block blocked listed bad S blocked.test"},
        Case{"ConnectPort",
             "CONNECT a.test:25 HTTP/1.1\r\nHost: a.test\r\n",
             "refuse port_denied",
             {},
             [](conf::Config& c) { c.access.connect_ports = {443}; }},
        Case{"TraceHere", "TRACE http://a.test/ HTTP/1.1\r\nHost: a.test\r\nMax-Forwards: 0\r\n", "trace"},
        Case{"TraceOfWhatIsBlocked", "TRACE http://blocked.test/ HTTP/1.1\r\nHost: a.test\r\nMax-Forwards: 0\r\n",
             "block blocked listed bad S blocked.test"},
        Case{"OptionsOfTheProxy", "OPTIONS * HTTP/1.1\r\nHost: a.test\r\n", "options"},
        Case{"OriginForm", "GET / HTTP/1.1\r\nHost: a.test\r\n", "refuse misdirected"},
        Case{"Client",
             "GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\n",
             "refuse client_denied",
             {},
             [](conf::Config& c) { c.access.clients = {"10.0.0.0/8"}; }},
        Case{"ClientBeforeVerdict",
             "GET http://blocked.test/ HTTP/1.1\r\nHost: a.test\r\n",
             "refuse client_denied",
             {},
             [](conf::Config& c) { c.access.clients = {"10.0.0.0/8"}; }},
        Case{"Body",
             "POST http://a.test/ HTTP/1.1\r\nHost: a.test\r\nContent-Length: 11\r\n",
             "refuse body_too_large",
             {},
             [](conf::Config& c) { c.limits.request_body = 10; }}),
    [](const auto& param) { return std::string(param.param.name); });

// Requests for the proxy itself: nobody else gets them, whatever filters say.
INSTANTIATE_TEST_SUITE_P(
    ForTheProxy, Decided,
    testing::Values(
        Case{"ByItsName", "GET http://bloomwall.internal/ HTTP/1.1\r\nHost: bloomwall.internal\r\n", "self"},
        Case{"InAnySpelling", "POST http://BLOOMWALL.Internal.:80/report HTTP/1.1\r\nHost: x\r\n", "self"},
        Case{"AsAServer", "GET /report/12-aa?b HTTP/1.1\r\nHost: 127.0.0.1:3128\r\n", "self"},
        Case{"TheFileForAutomaticConfiguration", "GET /wpad.dat HTTP/1.1\r\nHost: wpad\r\n", "self"},
        Case{"SetUpHelpUnderAnyName", "GET /setup HTTP/1.1\r\nHost: gate.test:3128\r\n", "self"},
        Case{"HomeAtAnAddress", "GET / HTTP/1.1\r\nHost: 192.0.2.1:3128\r\n", "self"},
        Case{"HomeAtAnAddressOfIpv6", "GET /?login HTTP/1.1\r\nHost: [2001:db8::1]:3128\r\n", "self"},
        Case{"HomeUnderNobodysName", "GET / HTTP/1.1\r\nHost: rebound.test:3128\r\n", "refuse misdirected"},
        Case{"NothingElseAtAnAddress", "GET /x HTTP/1.1\r\nHost: 192.0.2.1:3128\r\n", "refuse misdirected"},
        Case{"NoPageOfOthers", "GET http://a.test/setup HTTP/1.1\r\nHost: a.test\r\n",
             "forward a.test:80 allowed unlisted"},
        Case{"AsAServerByItsName", "GET / HTTP/1.1\r\nHost: bloomwall.internal\r\n", "self"},
        Case{"NotOfAnotherName", "GET http://a.test/report HTTP/1.1\r\nHost: bloomwall.internal\r\n",
             "forward a.test:80 allowed unlisted"},
        Case{"NotOfANameBelow", "GET http://a.bloomwall.internal/ HTTP/1.1\r\nHost: x\r\n",
             "forward a.bloomwall.internal:80 allowed unlisted"},
        Case{"NotByAnotherScheme", "GET ftp://bloomwall.internal/ HTTP/1.1\r\nHost: x\r\n", "refuse not_implemented"},
        Case{"NotInATunnel", "CONNECT bloomwall.internal:443 HTTP/1.1\r\nHost: x\r\n", "refuse misdirected"},
        Case{"ByAnotherName",
             "GET http://own.test/ HTTP/1.1\r\nHost: x\r\n",
             "self",
             {},
             [](conf::Config& c) { c.self_page.host = "own.test"; }},
        Case{"NotWhereTheOriginIsAsked", "GET /.well-known/bloomwall/report HTTP/1.1\r\nHost: a.test\r\n",
             "refuse misdirected"},
        Case{"InsideATunnelByTheOriginsAddress",
             "POST /.well-known/bloomwall/report HTTP/1.1\r\nHost: a.test\r\nContent-Length: 5\r\n", "self", kInside},
        Case{"OfABlockedHost", "POST /.well-known/bloomwall/report HTTP/1.1\r\nHost: blocked.test\r\n", "self",
             kInsideBlocked},
        Case{"Redirected", "GET /.well-known/bloomwall/report/1-aa HTTP/1.1\r\nHost: blocked.test\r\n", "self",
             kRedirected},
        Case{"InsideATunnelTheOtherPathIsTheOrigins", "POST /report HTTP/1.1\r\nHost: a.test\r\n",
             "forward a.test:80 allowed unlisted", kInside},
        Case{"InsideATunnelTheNameIsTheOrigins", "GET / HTTP/1.1\r\nHost: bloomwall.internal\r\n",
             "forward bloomwall.internal:80 allowed unlisted", kRedirected},
        Case{"WithoutReportsTheAddressIsTheOrigins", "POST /.well-known/bloomwall/report HTTP/1.1\r\nHost: a.test\r\n",
             "forward a.test:80 allowed unlisted", kInside, [](conf::Config& c) { c.block_page.reports = false; }},
        Case{"OnlyOfClientsThatMayUseIt",
             "GET http://bloomwall.internal/ HTTP/1.1\r\nHost: x\r\n",
             "refuse client_denied",
             {},
             [](conf::Config& c) { c.access.clients = {"10.0.0.0/8"}; }}),
    [](const auto& param) { return std::string(param.param.name); });

INSTANTIATE_TEST_SUITE_P(
    Redirected, Decided,
    testing::Values(
        Case{"ByHost", "GET /x HTTP/1.1\r\nHost: a.test\r\n", "forward a.test:80 allowed unlisted", kRedirected},
        Case{"HostBlocked", "GET /x HTTP/1.1\r\nHost: blocked.test\r\n", "block blocked listed bad S blocked.test",
             kRedirected},
        Case{"AddressBlockedWhateverHostSays", "GET /x HTTP/1.1\r\nHost: a.test\r\n",
             "block blocked listed bad X 192.0.2.66", kRedirectedToBlocked},
        Case{"AddressBlockedAlthoughHostIsAllowed", "GET /x HTTP/1.1\r\nHost: good.blocked.test\r\n",
             "block blocked listed bad X 192.0.2.66", kRedirectedToBlocked},
        Case{"AddressMonitored", "GET /x HTTP/1.1\r\nHost: a.test\r\n",
             "forward a.test:80 monitored listed watch X 192.0.2.7", kRedirectedToWatched},
        Case{"ReasonOfTheHostCounts", "GET /x HTTP/1.1\r\nHost: good.blocked.test\r\n",
             "forward good.blocked.test:80 allowed allow_list S good.blocked.test", kRedirected},
        Case{"PortThatIsDialled", "GET /x HTTP/1.1\r\nHost: a.test:80\r\n", "refuse port_denied",
             Door{.meant = "192.0.2.1", .port = 25}},
        Case{"NoHost", "GET /x HTTP/1.0\r\n", "refuse misdirected", kRedirected},
        Case{"Connect", "CONNECT a.test:443 HTTP/1.1\r\nHost: a.test\r\n", "refuse method_not_allowed", kRedirected},
        Case{"ImplicitTunnel", "CONNECT a.test:443 HTTP/1.1\r\nHost: a.test\r\n", "tunnel a.test:443 allowed unlisted",
             kImplicit},
        Case{"ImplicitTunnelToABlockedAddress", "CONNECT a.test:443 HTTP/1.1\r\nHost: a.test\r\n",
             "block blocked listed bad X 192.0.2.66", kImplicitToBlocked}),
    [](const auto& param) { return std::string(param.param.name); });

INSTANTIATE_TEST_SUITE_P(
    Inside, Decided,
    testing::Values(
        Case{"ItsOwnHost", "GET /x HTTP/1.1\r\nHost: a.test\r\n", "forward a.test:80 allowed unlisted", kInside},
        Case{"NoHost", "GET /x HTTP/1.0\r\n", "forward a.test:80 allowed unlisted", kInside},
        Case{"AnotherHostBlocked", "GET /x HTTP/1.1\r\nHost: blocked.test\r\n",
             "block blocked listed bad S blocked.test", kInside},
        Case{"TheTunnelsHostBlockedByNow", "GET /x HTTP/1.1\r\nHost: a.test\r\n",
             "block blocked listed bad S blocked.test", kInsideBlocked},
        Case{"AbsoluteForm", "GET http://mixed.test/bad/x HTTP/1.1\r\nHost: a.test\r\n",
             "block blocked listed bad D mixed.test/bad/", kInside},
        Case{"Connect", "CONNECT a.test:443 HTTP/1.1\r\nHost: a.test\r\n", "refuse method_not_allowed", kInside},
        Case{"PortOfTheTunnel", "GET /x HTTP/1.1\r\nHost: a.test\r\n", "refuse port_denied", kInsideSmtp}),
    [](const auto& param) { return std::string(param.param.name); });

// Each name of a request at each door: the entry for a path on it counts whatever the other names are, and an entry
// that frees one of these frees no other.
struct NamedDoor {
  std::string_view name;
  std::vector<NameOf> names;  // that differ at this door
  bool is_decrypted = false;
};
void PrintTo(const NamedDoor& door, std::ostream* out) { *out << door.name; }

class Named : public testing::TestWithParam<NamedDoor> {
 protected:
  static bool has(NameOf name) { return std::ranges::find(GetParam().names, name) != GetParam().names.end(); }
  // What the request is called by: `marked` has an entry for /bad/, the others are `other`.
  static std::string called(NameOf name, NameOf marked, const std::string& other) {
    if (name == NameOf::address) return name == marked ? "192.0.2.5" : "192.0.2.1";
    return name == marked ? "mixed.test" : other;
  }
  static std::string decide(NameOf marked, const std::string& other, const std::string& path) {
    Door door{.port = 80, .is_decrypted = GetParam().is_decrypted};
    std::string host = called(NameOf::target, marked, other);
    if (has(NameOf::address)) door.meant = called(NameOf::address, marked, other);
    if (GetParam().is_decrypted) {
      door.inside = host = has(NameOf::server_name) ? called(NameOf::server_name, marked, other)
                           : door.meant.empty()     ? host
                                                    : door.meant;
      if (has(NameOf::connect)) door.connected = called(NameOf::connect, marked, other);
    } else if (has(NameOf::connect)) {
      door.inside = called(NameOf::connect, marked, other);
    }
    const bool is_proxied = door.inside.empty() && door.meant.empty();
    const HeadLimits limits;
    RequestReader reader(limits);
    const std::string text = "GET " + (is_proxied ? "http://" + host : std::string()) + path +
                             " HTTP/1.1\r\nHost: " + (is_proxied ? "mixed.test" : host) + "\r\n\r\n";
    const auto step = reader.feed(text);
    if (!step || step->event != ReadEvent::head) throw std::invalid_argument(text);
    const ClientInfo info = client(door);
    Decider judge = decider();  // the decision points into it
    const Decision decision = judge.decide({reader.head(), info});
    return text_of(decision) + " by " + to_string(decision.verdict.name);
  }
};

TEST_P(Named, EachNameIsAskedWithThePath) {
  for (const NameOf marked : GetParam().names) {
    // Inside TLS the target is the name that TLS was made with.
    const bool is_target = GetParam().is_decrypted && (marked == NameOf::server_name || !has(NameOf::server_name));
    const std::string decisive = to_string(is_target ? NameOf::target : marked);
    const std::string entry = marked == NameOf::address ? "192.0.2.5" : "mixed.test";
    for (const std::string other : {"a.test", "free.test"}) {
      SCOPED_TRACE(to_string(marked) + std::string(" beside ") + other);
      EXPECT_EQ(decide(marked, other, "/bad/x"), "block blocked listed bad D " + entry + "/bad/ by " + decisive);
      EXPECT_EQ(decide(marked, other, "/x/..%2fbad/evil.html").substr(0, 5), "block");
      EXPECT_EQ(decide(marked, other, "/fine").substr(0, 7), "forward");
      EXPECT_EQ(decide(marked, other, "/badly").substr(0, 7), "forward");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Doors, Named,
    testing::Values(NamedDoor{"Plain", {NameOf::target}}, NamedDoor{"Connect", {NameOf::target, NameOf::connect}},
                    NamedDoor{"TransparentPlain", {NameOf::target, NameOf::address}},
                    NamedDoor{"Decrypted", {NameOf::connect, NameOf::server_name}, true},
                    NamedDoor{"TransparentDecrypted", {NameOf::server_name, NameOf::address}, true},
                    NamedDoor{"TransparentWithoutName", {NameOf::address}, true}),
    [](const auto& param) { return std::string(param.param.name); });

// A name that nobody lists is not denied for another's sake, nor an address because a white list does not hold it.
TEST(Decider, WhatIsMeantForOneNameDoesNotCountForAnother) {
  const ClientInfo info = client({.meant = "192.0.2.9"});
  const HeadLimits limits;
  RequestReader reader(limits);
  ASSERT_TRUE(reader.feed("GET /bad/x HTTP/1.1\r\nHost: a.test\r\n\r\n"));
  EXPECT_EQ(text_of(decider().decide({reader.head(), info})), "forward a.test:80 allowed unlisted");
}

struct TunnelCase {
  std::string_view name;
  std::string_view host, server_name, url, want;
  Door door = {};
  std::function<void(conf::Config&)> change = {};
  bool to_parent = false;
};
void PrintTo(const TunnelCase& c, std::ostream* out) { *out << c.name; }

class Reviewed : public testing::TestWithParam<TunnelCase> {};

TEST_P(Reviewed, AsTheRulesSay) {
  const TunnelCase& c = GetParam();
  const ClientInfo info = client(c.door);
  const Review review = decider(c.change).review({.client = info,
                                                  .host = c.host,
                                                  .server_name = c.server_name,
                                                  .url = c.url,
                                                  .port = 443,
                                                  .to_parent = c.to_parent,
                                                  .peer = address("198.51.100.9", 443)});
  switch (review.act) {
    case Review::Act::keep:
      EXPECT_EQ(c.want, "keep");
      return;
    case Review::Act::block:
      EXPECT_EQ(c.want, std::string("block: ") + review.why);
      EXPECT_NE(review.verdict.filter, nullptr);
      return;
    case Review::Act::refuse:
      EXPECT_EQ(c.want, text_of(review.error));
      return;
    case Review::Act::wait_for_pages:
      FAIL() << "everything is in memory";
  }
}

const auto kNoPeer = [](conf::Config& c) { c.access.deny_destinations = {"198.51.100.0/24"}; };

INSTANTIATE_TEST_SUITE_P(
    Tunnels, Reviewed,
    testing::Values(
        TunnelCase{"Unlisted", "a.test", "b.test", "", "keep"}, TunnelCase{"Monitored", "watched.test", "", "", "keep"},
        TunnelCase{"Host", "blocked.test", "", "", "block: a reload has blocked the host"},
        TunnelCase{"ServerName", "a.test", "blocked.test", "", "block: a reload has blocked the server name"},
        TunnelCase{"TunnelsHost", "a.test", "", "http://a.test/", "block: a reload has blocked the tunnel's host",
                   kInsideBlocked},
        TunnelCase{"Destination", "a.test", "", "", "block: a reload has blocked the address", kImplicitToBlocked},
        TunnelCase{"Url", "mixed.test", "", "http://mixed.test/bad/x", "block: a reload has blocked the URL"},
        TunnelCase{"UrlUnderTheTunnelsHost", "a.test", "", "http://a.test/bad/x", "block: a reload has blocked the URL",
                   Door{.inside = "mixed.test"}},
        TunnelCase{"UrlUnderWhatConnectNamed", "a.test", "", "https://a.test/bad/x",
                   "block: a reload has blocked the URL",
                   Door{.inside = "a.test", .is_decrypted = true, .connected = "mixed.test"}},
        TunnelCase{"UrlUnderTheAddress", "a.test", "", "http://a.test:81/bad/x", "block: a reload has blocked the URL",
                   Door{.meant = "192.0.2.5"}},
        TunnelCase{"AnotherUrlUnderTheAddress", "a.test", "", "http://a.test:81/badly", "keep",
                   Door{.meant = "192.0.2.5"}},
        TunnelCase{"UrlEntriesDoNotBlockConnect", "mixed.test", "", "", "keep"},
        TunnelCase{"Client",
                   "a.test",
                   "",
                   "",
                   "refuse client_denied",
                   {},
                   [](conf::Config& c) { c.access.clients = {"10.0.0.0/8"}; }},
        TunnelCase{"BlockedBeforeRefused",
                   "blocked.test",
                   "",
                   "",
                   "block: a reload has blocked the host",
                   {},
                   [](conf::Config& c) { c.access.clients = {"10.0.0.0/8"}; }},
        TunnelCase{"ConnectPort",
                   "a.test",
                   "",
                   "",
                   "refuse port_denied",
                   {},
                   [](conf::Config& c) { c.access.connect_ports = {8443}; }},
        TunnelCase{"Peer", "a.test", "", "", "refuse destination_denied", {}, kNoPeer},
        TunnelCase{"PeerThatIsTheParent", "a.test", "", "", "keep", {}, kNoPeer, true}),
    [](const auto& param) { return std::string(param.param.name); });

TEST(Decider, ARequestThatComesBackIsALoop) {
  const HeadLimits limits;
  RequestReader reader(limits);
  const std::string head = "GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\nVia: 1.1 wall (x1)\r\n\r\n";
  const auto step = reader.feed(head);
  ASSERT_TRUE(step && step->event == ReadEvent::head);
  const ClientInfo info = client({});
  const Decider asked = decider();
  const RequestContext context{reader.head(), info};
  EXPECT_FALSE(asked.refuse_client(context, "wall (x2)").has_value());
  const auto error = asked.refuse_client(context, "wall (x1)");
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->kind, ErrorKind::loop);
}

}  // namespace
}  // namespace bloomwall::proxy
