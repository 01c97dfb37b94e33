// SPDX-License-Identifier: Apache-2.0
#include "proxy/access/tls_refusals.h"

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bloomwall::proxy {
namespace {

using namespace std::chrono_literals;
using Kind = TlsRefusals::Kind;

constexpr auto kAlert = RefusalSignal::alert;
constexpr auto kEof = RefusalSignal::eof;
constexpr auto kSilent = RefusalSignal::silent;

const IpAddress kPhone = IpAddress::v4(0x0a000001), kLaptop = IpAddress::v4(0x0a000002);
const TlsRefusals::Time kStart{std::chrono::hours(1000)};

conf::AutoPass pass_rules(std::uint32_t after = 2, bool devices = false) {
  return {.hosts = conf::AutoPass::Hosts::unmarked, .after = after, .pass_for = 1h, .devices = devices};
}

TEST(RefusalSignals, AreReadFromTheEndOfAHandshake) {
  const struct {
    const char* what;
    HandshakeEnd end;
    std::optional<RefusalSignal> signal;
  } rows[] = {
      {"curl, OpenSSL: unknown_ca", {.alert = 48}, kAlert},
      {"Chromium, Java: certificate_unknown", {.alert = 46}, kAlert},
      {"bad_certificate", {.alert = 42}, kAlert},
      {"unsupported_certificate", {.alert = 43}, kAlert},
      {"certificate_revoked", {.alert = 44}, kAlert},
      {"certificate_expired", {.alert = 45}, kAlert},
      {"access_denied", {.alert = 49}, kAlert},
      {"TLS 1.3, after our Finished", {.alert = 48, .is_finished = true, .after_finished = 5s}, kAlert},
      {"handshake_failure", {.alert = 40}, std::nullopt},
      {"illegal_parameter", {.alert = 47}, std::nullopt},
      {"protocol_version", {.alert = 70}, std::nullopt},
      {"internal_error", {.alert = 80}, std::nullopt},
      {"user_canceled", {.alert = 90}, std::nullopt},
      {"unrecognized_name", {.alert = 112}, std::nullopt},
      {"no_application_protocol", {.alert = 120}, std::nullopt},
      {"ech_required", {.alert = 121}, std::nullopt},
      {"ech_required after the outer name", {.alert = 121, .hid_its_name = true}, std::nullopt},
      {"Java HttpClient: end during the handshake", {}, kEof},
      {"the same after the outer name of ECH", {.hid_its_name = true}, std::nullopt},
      {"wget, git, Node: end right after it", {.is_finished = true, .after_finished = 4ms}, kSilent},
      {"a preconnection that idled", {.is_finished = true, .after_finished = 1s}, std::nullopt},
      {"data came", {.is_finished = true, .after_finished = 1ms, .sent_data = true}, std::nullopt},
      {"an alert after data", {.alert = 48, .is_finished = true, .sent_data = true}, std::nullopt},
      {"we ended it", {.by_us = true}, std::nullopt},
  };
  for (const auto& row : rows) EXPECT_EQ(refusal_in(row.end), row.signal) << row.what;
}

TEST(TlsRefusals, TakeAsManySignalsAsConfiguredWithinAMinute) {
  struct Step {
    RefusalSignal signal;
    std::chrono::seconds at;
  };
  const struct {
    const char* what;
    std::uint32_t after;
    std::vector<Step> steps;
    bool page_refused, refused;
  } rows[] = {
      {"nothing", 2, {}, false, false},
      {"one alert", 2, {{kAlert, 0s}}, true, false},
      {"two alerts", 2, {{kAlert, 0s}, {kAlert, 60s}}, true, true},
      {"two alerts too far apart", 2, {{kAlert, 0s}, {kAlert, 61s}}, true, false},
      {"a sliding minute", 2, {{kAlert, 0s}, {kAlert, 61s}, {kAlert, 100s}}, true, true},
      {"one suffices", 1, {{kAlert, 0s}}, true, true},
      {"two weak ones", 1, {{kEof, 0s}, {kSilent, 1s}}, false, false},
      {"three weak ones", 1, {{kEof, 0s}, {kSilent, 1s}, {kEof, 2s}}, true, true},
      {"three weak ones and two wanted", 2, {{kEof, 0s}, {kEof, 1s}, {kEof, 2s}}, true, false},
      {"six weak ones", 2, {{kEof, 0s}, {kEof, 1s}, {kEof, 2s}, {kEof, 3s}, {kEof, 4s}, {kEof, 5s}}, true, true},
      {"mixed", 2, {{kAlert, 0s}, {kEof, 1s}, {kSilent, 2s}, {kEof, 3s}}, true, true},
      {"weak ones that trickle", 1, {{kEof, 0s}, {kEof, 40s}, {kEof, 80s}, {kEof, 120s}}, false, false},
  };
  for (const auto& row : rows) {
    TlsRefusals memory(pass_rules(row.after, true));
    TlsRefusals::Time now = kStart;
    std::size_t told = 0;
    for (const Step& step : row.steps) {
      now = kStart + step.at;
      told += memory.note(kPhone, "a.test", step.signal, now).is_refused ? 1U : 0U;
    }
    EXPECT_EQ(memory.page_refused(kPhone, "a.test", now), row.page_refused) << row.what;
    EXPECT_EQ(memory.may_auto_pass(kPhone, "a.test", now), row.refused) << row.what;
    EXPECT_EQ(told, row.refused ? 1U : 0U) << row.what;
    EXPECT_FALSE(memory.may_auto_pass(kPhone, "b.test", now)) << row.what;
    EXPECT_FALSE(memory.may_auto_pass(kLaptop, "a.test", now)) << "one client opens nothing for another";
    EXPECT_FALSE(memory.page_refused(kLaptop, "a.test", now));
  }
}

// Two workers, each of which is told what the other has noted.
TEST(TlsRefusals, AreTheSameForAllWorkers) {
  TlsRefusals one(pass_rules(2)), other(pass_rules(2));
  one.note(kPhone, "a.test", kAlert, kStart);
  other.learn({kPhone, "a.test", kAlert, kStart});
  EXPECT_TRUE(other.page_refused(kPhone, "a.test", kStart + 1s));
  EXPECT_FALSE(other.page_refused(kPhone, "a.test", kStart + 1h)) << "it ends as where it was noted";
  EXPECT_FALSE(other.page_refused(kLaptop, "a.test", kStart + 1s));
  EXPECT_TRUE(other.refused(kStart + 1s).empty()) << "one refusal of the page is none of the host";
  EXPECT_TRUE(other.note(kPhone, "a.test", kAlert, kStart + 1s).is_refused) << "the second, wherever the first was";

  EXPECT_TRUE(one.accept(kPhone, "b.test", kStart)) << "which the others must know";
  other.learn({kPhone, "b.test", {}, kStart});
  other.note(kPhone, "b.test", kAlert, kStart);
  EXPECT_FALSE(other.page_refused(kPhone, "b.test", kStart)) << "data came from it";
  other.note(kPhone, "c.test", kAlert, kStart);
  const auto noted = other.note(kPhone, "c.test", kAlert, kStart + 1s);
  EXPECT_TRUE(noted.is_refused && !noted.warn_of_device);
  EXPECT_EQ(noted.kind, Kind::pins) << "it has accepted a certificate elsewhere";

  EXPECT_FALSE(one.accept(kPhone, "d.test", kStart + 1h - 1s)) << "they know the client";
  other.note(kPhone, "d.test", kAlert, kStart + 1h);
  const auto answer = one.learn({kPhone, "d.test", kAlert, kStart + 1h});
  ASSERT_TRUE(answer) << "but not this host of its";
  EXPECT_FALSE(one.page_refused(kPhone, "d.test", kStart + 1h));
  EXPECT_TRUE(other.page_refused(kPhone, "d.test", kStart + 1h));
  EXPECT_FALSE(other.learn(*answer));
  EXPECT_FALSE(other.page_refused(kPhone, "d.test", kStart + 1h));

  other.learn({kPhone, "f.test", kAlert, kStart + 1h});
  EXPECT_TRUE(other.accept(kPhone, "f.test", kStart + 1h + 1s)) << "the application was repaired";
  EXPECT_TRUE(one.accept(kPhone, "b.test", kStart + 2h)) << "that it still does";
  EXPECT_FALSE(one.accept(kPhone, "e.test", kStart + 2h + 10min));
}

TEST(TlsRefusals, EndAfterTheirTime) {
  TlsRefusals memory(pass_rules(1, true));
  EXPECT_TRUE(memory.note(kPhone, "a.test", kAlert, kStart).is_refused);
  EXPECT_FALSE(memory.note(kPhone, "a.test", kAlert, kStart + 1s).is_refused) << "told once";
  EXPECT_TRUE(memory.may_auto_pass(kPhone, "a.test", kStart + 1h - 1ms));
  EXPECT_EQ(memory.auto_pass_entries(kStart), 1U);
  EXPECT_FALSE(memory.may_auto_pass(kPhone, "a.test", kStart + 1h));
  EXPECT_FALSE(memory.page_refused(kPhone, "a.test", kStart + 1h));
  EXPECT_EQ(memory.auto_pass_entries(kStart + 1h), 0U);
  EXPECT_TRUE(memory.refused(kStart + 1h).empty());
  EXPECT_TRUE(memory.note(kPhone, "a.test", kAlert, kStart + 1h).is_refused) << "and begin anew";
}

TEST(TlsRefusals, NeverHoldForWhomDataCameFrom) {
  TlsRefusals memory(pass_rules(1, true));
  memory.accept(kPhone, "a.test", kStart);
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(memory.note(kPhone, "a.test", kAlert, kStart + 1s).is_refused);
  EXPECT_FALSE(memory.may_auto_pass(kPhone, "a.test", kStart + 1s));
  EXPECT_FALSE(memory.page_refused(kPhone, "a.test", kStart + 1s));
  EXPECT_TRUE(memory.note(kPhone, "b.test", kAlert, kStart + 1s).is_refused) << "of that host alone";
  memory.accept(kPhone, "b.test", kStart + 2s);
  EXPECT_FALSE(memory.may_auto_pass(kPhone, "b.test", kStart + 2s)) << "the authority was installed";
}

TEST(TlsRefusals, TellPinningApplicationsFromDevicesWithoutTheAuthority) {
  TlsRefusals memory(pass_rules(1));
  const auto first = memory.note(kPhone, "a.test", kAlert, kStart);
  EXPECT_TRUE(first.is_refused && first.warn_of_device);
  EXPECT_EQ(first.kind, Kind::no_ca);
  EXPECT_FALSE(memory.may_auto_pass(kPhone, "a.test", kStart)) << "devices: false";
  const auto second = memory.note(kPhone, "b.test", kAlert, kStart + 59min);
  EXPECT_TRUE(second.is_refused && !second.warn_of_device) << "once an hour";
  EXPECT_TRUE(memory.note(kPhone, "c.test", kAlert, kStart + 1h).warn_of_device);
  EXPECT_TRUE(memory.note(kLaptop, "a.test", kAlert, kStart).warn_of_device) << "by client";

  memory.accept(kPhone, "d.test", kStart + 2h);
  const auto pins = memory.note(kPhone, "e.test", kAlert, kStart + 25h);
  EXPECT_EQ(pins.kind, Kind::pins);
  EXPECT_FALSE(pins.warn_of_device);
  EXPECT_TRUE(memory.may_auto_pass(kPhone, "e.test", kStart + 25h));
  EXPECT_EQ(memory.note(kPhone, "f.test", kAlert, kStart + 26h).kind, Kind::no_ca) << "nothing accepted for a day";
}

TEST(TlsRefusals, LetNobodyPassWhereThatIsOff) {
  TlsRefusals memory({.hosts = conf::AutoPass::Hosts::off, .after = 1, .pass_for = 1h, .devices = true});
  EXPECT_TRUE(memory.note(kPhone, "a.test", kAlert, kStart).is_refused) << "for the log";
  EXPECT_FALSE(memory.may_auto_pass(kPhone, "a.test", kStart));
  EXPECT_TRUE(memory.page_refused(kPhone, "a.test", kStart)) << "403 in place of a page";
  EXPECT_EQ(memory.auto_pass_entries(kStart), 0U);
  EXPECT_EQ(memory.refused(kStart).size(), 1U);
}

TEST(TlsRefusals, AreListed) {
  TlsRefusals memory(pass_rules(1));
  memory.note(kPhone, "a.test", kAlert, kStart);
  memory.accept(kLaptop, "z.test", kStart);
  for (int i = 0; i < 3; ++i) memory.note(kLaptop, "b.test", kSilent, kStart + std::chrono::seconds(i));
  memory.note(kLaptop, "c.test", kEof, kStart);
  const auto rows = memory.refused(kStart + 2s);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].host, "b.test");
  EXPECT_EQ(rows[0].client, kLaptop);
  EXPECT_EQ(rows[0].kind, Kind::pins);
  EXPECT_EQ(rows[0].signal, kSilent);
  EXPECT_EQ(rows[0].since, kStart + 2s);
  EXPECT_EQ(rows[1].host, "a.test");
  EXPECT_EQ(rows[1].kind, Kind::no_ca);
}

TEST(TlsRefusals, AreForgottenByAReload) {
  TlsRefusals memory(pass_rules(1, true));
  memory.note(kPhone, "a.test", kAlert, kStart);
  memory.accept(kPhone, "b.test", kStart);
  memory.adopt(pass_rules(2, true));
  EXPECT_FALSE(memory.may_auto_pass(kPhone, "a.test", kStart));
  EXPECT_FALSE(memory.note(kPhone, "b.test", kAlert, kStart).is_refused) << "two are wanted now";
  const auto noted = memory.note(kPhone, "b.test", kAlert, kStart);
  EXPECT_TRUE(noted.is_refused);
  EXPECT_EQ(noted.kind, Kind::no_ca);
}

TEST(TlsRefusals, AreBoundedAndForgetTheOldest) {
  TlsRefusals memory(pass_rules(1, true));
  for (std::size_t i = 0; i < TlsRefusals::kMostPairs + 10; ++i) {
    memory.note(kPhone, "h" + std::to_string(i) + ".test", kAlert, kStart);
    memory.may_auto_pass(kPhone, "h0.test", kStart);  // in use
  }
  EXPECT_EQ(memory.auto_pass_entries(kStart), TlsRefusals::kMostPairs);
  EXPECT_TRUE(memory.may_auto_pass(kPhone, "h0.test", kStart));
  EXPECT_FALSE(memory.may_auto_pass(kPhone, "h1.test", kStart));
  EXPECT_TRUE(memory.may_auto_pass(kPhone, "h4000.test", kStart));
  for (std::uint32_t i = 0; i < TlsRefusals::kMostAccepted + 1; ++i) memory.accept(IpAddress::v4(i), "x.test", kStart);
  EXPECT_FALSE(memory.note(IpAddress::v4(7), "x.test", kAlert, kStart).is_refused);
  EXPECT_TRUE(memory.note(IpAddress::v4(0), "x.test", kAlert, kStart).is_refused) << "forgotten";
}

}  // namespace
}  // namespace bloomwall::proxy
