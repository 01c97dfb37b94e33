// SPDX-License-Identifier: Apache-2.0
#include "proxy/api/metrics.h"

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "proxy/reload/loading.h"
#include "proxy/tls/certificates.h"
#include "tests/support/site.h"
#include "tests/support/test_certificate.h"

namespace bloomwall::proxy {
namespace {

constexpr TimePoint kNow{std::chrono::seconds(1'700'000'600)};

// Of these, and of nothing else that could be measured. `edition`: nullptr: nothing is served.
std::string text_of(const Counters& counters, const Edition* edition = nullptr) {
  return metrics_text({.counters = counters,
                       .gauges = {},
                       .snapshot = edition == nullptr ? nullptr : edition->snapshot.get(),
                       .policy = edition == nullptr ? nullptr : edition->policy.get(),
                       .logins = {},
                       .reloads = {},
                       .logs = {},
                       .now = kNow});
}

// Samples by name with labels.
std::map<std::string, std::string> samples_of(const std::string& text) {
  std::map<std::string, std::string> samples;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('#')) continue;
    const auto space = line.rfind(' ');
    EXPECT_TRUE(samples.emplace(line.substr(0, space), line.substr(space + 1)).second) << "twice: " << line;
  }
  return samples;
}

TEST(Metrics, TextIsWellFormedAndEveryNameIsOurs) {
  const Counters counters;
  const std::string text = text_of(counters);
  const std::regex sample(
      R"(^(bloomwall|process)_[a-z0-9_]+(\{[a-z_]+="[^"\\]*"(,[a-z_]+="[^"\\]*")*\})? [-+0-9.eEinfNa]+$)");
  const std::regex comment(R"(^# (HELP|TYPE) (bloomwall|process)_[a-z0-9_]+ .+$)");
  std::istringstream lines(text);
  std::set<std::string> families;
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    EXPECT_TRUE(std::regex_match(line, line.starts_with('#') ? comment : sample)) << line;
    const bool fresh = !line.starts_with("# TYPE ") || families.insert(line).second;
    EXPECT_TRUE(fresh) << "twice: " << line;
  }
  EXPECT_GT(count, 100);
  EXPECT_EQ(samples_of(text)["bloomwall_build_info{version=\"" BLOOMWALL_VERSION "\"}"], "1");
}

TEST(Metrics, EveryRowOfTheTablesIsExported) {
  Counters counters;
  std::uint64_t value = 1000;
  for (const CounterRow& row : kCounterRows) (counters.*row.member).add(++value);
  const auto samples = samples_of(text_of(counters));
  value = 1000;
  for (const CounterRow& row : kCounterRows) {
    ++value;
    if (row.member == &Counters::log_lines_dropped_total) continue;  // by log instead
    const auto at = samples.find("bloomwall_" + std::string(row.name));
    ASSERT_NE(at, samples.end()) << row.name;
    EXPECT_EQ(at->second, std::to_string(value)) << row.name;
  }
}

TEST(Metrics, RequestsErrorsAndDurations) {
  Counters counters;
  counters.count_request(MethodClass::get, filter::Decision::blocked, filter::VerdictReason::listed);
  counters.count_request(MethodClass::get, filter::Decision::blocked, filter::VerdictReason::listed);
  counters.count_request(MethodClass::connect, filter::Decision::allowed, filter::VerdictReason::allow_list);
  counters.count_error(ErrorKind::dns_error);
  counters.count_response(200, 2'000);
  counters.count_response(403, 100'000'000);
  auto samples = samples_of(text_of(counters));
  EXPECT_EQ(samples[R"(bloomwall_requests_total{method_class="GET",verdict="blocked",reason="listed"})"], "2");
  EXPECT_EQ(samples[R"(bloomwall_requests_total{method_class="CONNECT",verdict="allowed",reason="allow_list"})"], "1");
  EXPECT_EQ(samples[R"(bloomwall_errors_total{kind="dns_error"})"], "1");
  EXPECT_EQ(samples[R"(bloomwall_errors_total{kind="loop"})"], "0");
  EXPECT_EQ(samples[R"(bloomwall_responses_total{class="2xx"})"], "1");
  EXPECT_EQ(samples[R"(bloomwall_responses_total{class="4xx"})"], "1");
  EXPECT_EQ(samples[R"(bloomwall_request_duration_seconds_bucket{le="0.001"})"], "0");
  EXPECT_EQ(samples[R"(bloomwall_request_duration_seconds_bucket{le="0.0025"})"], "1");
  EXPECT_EQ(samples[R"(bloomwall_request_duration_seconds_bucket{le="60"})"], "1");
  EXPECT_EQ(samples[R"(bloomwall_request_duration_seconds_bucket{le="+Inf"})"], "2");
  EXPECT_EQ(samples["bloomwall_request_duration_seconds_count"], "2");
  EXPECT_DOUBLE_EQ(std::stod(samples["bloomwall_request_duration_seconds_sum"]), 100.002);
}

TEST(Metrics, FiltersReloadsAndLogs) {
  const test::Site site;
  const auto settings = load_settings(site.configure());
  ASSERT_TRUE(settings.has_value());
  const auto edition = load_edition(*settings, {}, 3);
  ASSERT_TRUE(edition.has_value());
  Counters counters;
  filter::Verdict verdict;
  verdict.decision = filter::Decision::blocked;
  verdict.filter = &edition->policy->filters()[0].spec;
  counters.count_verdict(MethodClass::get, verdict);
  counters.count_verdict(MethodClass::connect, verdict);
  verdict.decision = filter::Decision::allowed;  // an exception of the filter: it matched and lets pass
  counters.count_verdict(MethodClass::get, verdict);
  counters.filters.count("gone", filter::FilterAction::block);
  const MetricsInput input{
      .counters = counters,
      .gauges = {.requests_in_flight = 4, .dns_cache_entries = 5, .buffer_bytes = 6, .buffer_kinds = {1, 2, 3, 0}},
      .snapshot = edition->snapshot.get(),
      .policy = edition->policy.get(),
      .policies_alive = 1,
      .reloads = {.succeeded = 3, .failed = 2, .last_success = TimePoint(std::chrono::seconds(99))},
      .logs = {.access_written = 10, .access_dropped = 11, .daemon_dropped = 12},
      .phase = Phase::serving,
      .loop_silence = std::chrono::milliseconds(250),
      .now = kNow};
  auto samples = samples_of(metrics_text(input));
  EXPECT_EQ(samples[R"(bloomwall_filter_entries{filter="ads"})"], "2");
  EXPECT_EQ(samples[R"(bloomwall_filter_verdicts_total{filter="ads",action="block"})"], "2");
  EXPECT_EQ(samples[R"(bloomwall_filter_verdicts_total{filter="ads",action="monitor"})"], "0");
  EXPECT_FALSE(samples.contains(R"(bloomwall_filter_verdicts_total{filter="gone",action="block"})"));
  EXPECT_EQ(samples[R"(bloomwall_filter_build_timestamp_seconds{filter="ads"})"], "1700000000");
  EXPECT_EQ(samples[R"(bloomwall_filter_age_seconds{filter="ads"})"], "600");
  EXPECT_EQ(samples[R"(bloomwall_filter_delta_entries{filter="ads"})"], "0");
  EXPECT_EQ(samples[R"(bloomwall_filter_lost{filter="ads"})"], "0");
  EXPECT_EQ(samples[R"(bloomwall_filter_bytes{filter="ads"})"],
            std::to_string(std::filesystem::file_size(site.dir.path() / "ads.bwf")));
  EXPECT_TRUE(samples.contains(R"(bloomwall_filter_expected_fp_ratio{filter="ads",class="unlisted_host"})"));
  EXPECT_TRUE(samples.contains(R"(bloomwall_expected_fp_ratio{class="listed_host"})"));
  EXPECT_EQ(samples[R"(bloomwall_filter_reload_total{result="success"})"], "3");
  EXPECT_EQ(samples[R"(bloomwall_filter_reload_total{result="failure"})"], "2");
  EXPECT_EQ(samples["bloomwall_last_reload_success_timestamp_seconds"], "99");
  EXPECT_EQ(samples["bloomwall_generation"], "3");
  EXPECT_EQ(samples["bloomwall_ready"], "1");
  EXPECT_EQ(samples["bloomwall_requests_in_flight"], "4");
  EXPECT_EQ(samples["bloomwall_dns_cache_entries"], "5");
  EXPECT_EQ(samples["bloomwall_buffer_bytes"], "6");
  EXPECT_EQ(samples[R"(bloomwall_buffer_kind_bytes{kind="waiting"})"], "1");
  EXPECT_EQ(samples[R"(bloomwall_buffer_kind_bytes{kind="tls"})"], "3");
  EXPECT_EQ(samples[R"(bloomwall_buffer_kind_bytes{kind="http2"})"], "0");
  EXPECT_EQ(samples["bloomwall_loop_silence_seconds"], "0.25");
  EXPECT_EQ(samples["bloomwall_access_log_lines_total"], "10");
  EXPECT_EQ(samples[R"(bloomwall_log_lines_dropped_total{log="access"})"], "11");
  EXPECT_EQ(samples[R"(bloomwall_log_lines_dropped_total{log="daemon"})"], "12");
}

TEST(Metrics, CertificatesOfListenersSayWhenTheyExpire) {
  const test::Site site;
  test::make_certificate(site.dir.path(), "proxy", "proxy.test");  // for an hour
  const auto config = site.dir.write("tls.yaml",
                                     "listeners: [{address: \"127.0.0.1:0\", tls: {certificate: proxy.crt, key: "
                                     "proxy.key}}]\n");
  const auto settings = load_settings(config);
  ASSERT_TRUE(settings.has_value());
  const auto edition = load_edition(*settings, {}, 1);
  ASSERT_TRUE(edition.has_value());
  const Counters counters;
  auto samples = samples_of(text_of(counters, &*edition));
  const auto now = static_cast<double>(
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count());
  const std::string expires =
      samples[R"(bloomwall_certificate_not_after_timestamp_seconds{use="listener",listener="127.0.0.1:0"})"];
  ASSERT_NE(expires, "");
  EXPECT_GT(std::stod(expires), now);
  EXPECT_LE(std::stod(expires), now + 3600);
}

TEST(Metrics, SafeSearchIsCountedByEngine) {
  const test::TempDir dir;
  const auto settings = load_settings(dir.write(
      "bloomwall.yaml", "groups: [{name: pupils, clients: [10.2.0.0/16], safe_search: [google]}]\nstate_dir: null\n"));
  ASSERT_TRUE(settings.has_value());
  const auto edition = load_edition(*settings, {}, 1);
  ASSERT_TRUE(edition.has_value());
  Counters one, other, sum;
  one.safe_search.count("google");
  other.safe_search.count("google");
  other.safe_search.count("bing");
  other.safe_search.count("of a map of before");
  add_counters(sum, one);
  add_counters(sum, other);
  auto samples = samples_of(text_of(sum, &*edition));
  EXPECT_EQ(samples[R"(bloomwall_safe_search_total{engine="google"})"], "2");
  EXPECT_EQ(samples[R"(bloomwall_safe_search_total{engine="bing"})"], "1");
  EXPECT_EQ(samples[R"(bloomwall_safe_search_total{engine="ecosia"})"], "0");
  EXPECT_FALSE(samples.contains(R"(bloomwall_safe_search_total{engine="of a map of before"})"));
}

TEST(Metrics, QuestionsOfOtherProgramsAreCountedByProtocol) {
  const test::TempDir dir;
  const auto settings = load_settings(dir.write("bloomwall.yaml",
                                                "answers: [{address: '127.0.0.1:1', protocol: icap}, {address: "
                                                "'127.0.0.1:2', protocol: resp}]\nstate_dir: null\n"));
  ASSERT_TRUE(settings.has_value());
  const auto edition = load_edition(*settings, {}, 1);
  ASSERT_TRUE(edition.has_value());
  Counters one, other, sum;
  one.answers.count("icap", 1);
  other.answers.count("icap", 1);
  one.answers.open("icap");
  one.answers.open("icap");
  one.answers.close("icap");
  add_counters(sum, one);
  add_counters(sum, other);
  auto samples = samples_of(text_of(sum, &*edition));
  EXPECT_EQ(samples[R"(bloomwall_answers_total{protocol="icap",answer="block"})"], "2");
  EXPECT_EQ(samples[R"(bloomwall_answers_connections_active{protocol="icap"})"], "1");
  for (const char* answer : {"pass", "block", "refuse", "unknown"}) {
    const std::string series = std::string(R"(bloomwall_answers_total{protocol="resp",answer=")") + answer + "\"}";
    EXPECT_EQ(samples[series], "0") << "a series exists before its first question";
  }
  EXPECT_FALSE(samples.contains(R"(bloomwall_answers_total{protocol="http",answer="pass"})")) << "no door speaks it";
}

TEST(Metrics, GroupsAndSchedulesAreThoseOfTheConfiguration) {
  const test::TempDir dir;
  const auto settings =
      load_settings(dir.write("bloomwall.yaml",
                              "schedules: [{name: always, times: [mon-sun]}, {name: never, times: [mon 00:00-00:01]}]\n"
                              "groups: [{name: pupils, clients: [10.2.0.0/16]}]\n"
                              "time_zone: UTC\nstate_dir: null\n"));
  ASSERT_TRUE(settings.has_value());
  const auto edition = load_edition(*settings, {}, 1);
  ASSERT_TRUE(edition.has_value());
  Counters one, other, sum;
  filter::Verdict verdict;
  one.count_verdict(MethodClass::get, verdict, "pupils");
  other.count_verdict(MethodClass::get, verdict, "pupils");
  verdict.decision = filter::Decision::blocked;
  other.count_verdict(MethodClass::get, verdict, "default");
  other.count_verdict(MethodClass::get, verdict, "of before");
  other.count_verdict(MethodClass::get, verdict);
  add_counters(sum, one);
  add_counters(sum, other);
  auto samples = samples_of(text_of(sum, &*edition));  // a Tuesday
  EXPECT_EQ(samples[R"(bloomwall_group_requests_total{group="pupils",verdict="allowed"})"], "2");
  EXPECT_EQ(samples[R"(bloomwall_group_requests_total{group="pupils",verdict="blocked"})"], "0");
  EXPECT_EQ(samples[R"(bloomwall_group_requests_total{group="default",verdict="blocked"})"], "1");
  EXPECT_FALSE(samples.contains(R"(bloomwall_group_requests_total{group="of before",verdict="blocked"})"));
  EXPECT_EQ(samples[R"(bloomwall_schedule_active{schedule="always"})"], "1");
  EXPECT_EQ(samples[R"(bloomwall_schedule_active{schedule="never"})"], "0");
}

TEST(Metrics, TunnelsExceptionsAndState) {
  Counters counters, sum;
  counters.count_end(TunnelEndCause::idle);
  counters.count_end(TunnelEndCause::rules);
  filter::Verdict verdict;
  verdict.exception = 7;
  verdict.reason = filter::VerdictReason::excepted;
  counters.count_verdict(MethodClass::get, verdict);
  verdict.reason = filter::VerdictReason::denied;
  verdict.decision = filter::Decision::blocked;
  counters.count_verdict(MethodClass::get, verdict);
  add_counters(sum, counters);
  add_counters(sum, counters);
  const MetricsInput input{.counters = sum,
                           .gauges = {},
                           .reloads = {.failed = 3, .refused = {0, 0, 1}},
                           .logs = {},
                           .state = {.is_lost = true, .allowed = 5, .denied = 6, .tokens = 7},
                           .admin = {.answered = {0, 0, 8, 0, 9, 0}, .login_failures = 4},
                           .now = kNow};
  auto samples = samples_of(metrics_text(input));
  EXPECT_EQ(samples[R"(bloomwall_tunnels_ended_total{cause="idle"})"], "2");
  EXPECT_EQ(samples[R"(bloomwall_tunnels_ended_total{cause="rules"})"], "2");
  EXPECT_EQ(samples[R"(bloomwall_tunnels_ended_total{cause="closed"})"], "0");
  EXPECT_EQ(samples[R"(bloomwall_exception_hits_total{action="allow"})"], "2");
  EXPECT_EQ(samples[R"(bloomwall_exception_hits_total{action="deny"})"], "2");
  EXPECT_EQ(samples[R"(bloomwall_exceptions{action="allow"})"], "5");
  EXPECT_EQ(samples[R"(bloomwall_exceptions{action="deny"})"], "6");
  EXPECT_EQ(samples["bloomwall_state_lost"], "1");
  EXPECT_EQ(samples["bloomwall_tokens"], "7");
  EXPECT_EQ(samples[R"(bloomwall_admin_requests_total{class="2xx"})"], "8");
  EXPECT_EQ(samples[R"(bloomwall_admin_requests_total{class="4xx"})"], "9");
  EXPECT_EQ(samples["bloomwall_login_failures_total"], "4");
  EXPECT_EQ(samples["bloomwall_rollbacks_refused_total"], "1");
  EXPECT_EQ(samples[R"(bloomwall_reloads_refused_total{reason="older"})"], "1");
  EXPECT_EQ(samples[R"(bloomwall_reloads_refused_total{reason="damaged"})"], "0");
}

TEST(Metrics, LoginsAndHelpers) {
  Counters counters, sum;
  counters.logins.count(LoginScheme::basic, LoginResult::refused);
  counters.logins.count(LoginScheme::none, LoginResult::missing);
  counters.logins.count_check(std::chrono::milliseconds(3));
  add_counters(sum, counters);
  add_counters(sum, counters);
  Authenticator::Figures logins{.remembered = 3, .locked_clients = 4, .locked_users = 5};
  logins.helpers[0] = {"basic", {.deaths = 2, .restarts = 1, .processes = 4, .busy = 3, .waiting = 6}};
  auto samples = samples_of(
      metrics_text({.counters = sum, .gauges = {}, .logins = logins, .reloads = {}, .logs = {}, .now = kNow}));
  EXPECT_EQ(samples[R"(bloomwall_auth_total{scheme="basic",result="refused"})"], "2");
  EXPECT_EQ(samples[R"(bloomwall_auth_total{scheme="basic",result="accepted"})"], "0") << "there from the start";
  EXPECT_EQ(samples[R"(bloomwall_auth_total{scheme="none",result="missing"})"], "2");
  EXPECT_FALSE(samples.contains(R"(bloomwall_auth_total{scheme="none",result="accepted"})"));
  EXPECT_EQ(samples["bloomwall_auth_seconds_count"], "2");
  EXPECT_EQ(samples[R"(bloomwall_auth_seconds_bucket{le="0.0025"})"], "0");
  EXPECT_EQ(samples[R"(bloomwall_auth_seconds_bucket{le="0.005"})"], "2");
  EXPECT_EQ(samples["bloomwall_auth_seconds_sum"], "0.006");
  EXPECT_EQ(samples["bloomwall_auth_cache_entries"], "3");
  EXPECT_EQ(samples[R"(bloomwall_auth_locked{kind="client"})"], "4");
  EXPECT_EQ(samples[R"(bloomwall_auth_locked{kind="user"})"], "5");
  EXPECT_EQ(samples[R"(bloomwall_helper_processes{helper="basic",state="busy"})"], "3");
  EXPECT_EQ(samples[R"(bloomwall_helper_processes{helper="basic",state="idle"})"], "1");
  EXPECT_EQ(samples[R"(bloomwall_helper_queue{helper="basic"})"], "6");
  EXPECT_EQ(samples[R"(bloomwall_helper_restarts_total{helper="basic"})"], "1");
}

TEST(Metrics, TheProcessIsKnownToTheKernel) {
  const Counters counters;
  auto samples = samples_of(text_of(counters));
  EXPECT_GE(std::stod(samples["process_open_fds"]), 3);
  EXPECT_GT(std::stod(samples["process_max_fds"]), 3);
  EXPECT_GT(std::stod(samples["process_resident_memory_bytes"]), 1e6);
  EXPECT_GT(std::stod(samples["process_resident_anonymous_bytes"]), 1e4);
  EXPECT_GT(std::stod(samples["process_start_time_seconds"]), 1.7e9);
  EXPECT_EQ(samples["bloomwall_ready"], "0");
}

TEST(Metrics, HandshakesAndFailedInterceptions) {
  Counters counters;
  counters.tls.of(TlsSide::client).count_done(false, std::chrono::milliseconds(3));
  counters.tls.of(TlsSide::client).count_done(true, std::chrono::milliseconds(3));
  counters.tls.of(TlsSide::origin).count_failed();
  counters.tls.count(InterceptionFailure::client_rate);
  counters.tls.count_certificate_error(static_cast<std::size_t>(CertificateError::own_ca));
  Counters sum;
  add_counters(sum, counters);
  add_counters(sum, counters);
  auto samples = samples_of(text_of(sum));
  EXPECT_EQ(samples["bloomwall_tls_handshakes_total{side=\"client\",result=\"ok\",resumed=\"no\"}"], "2");
  EXPECT_EQ(samples["bloomwall_tls_handshakes_total{side=\"client\",result=\"ok\",resumed=\"yes\"}"], "2");
  EXPECT_EQ(samples["bloomwall_tls_handshakes_total{side=\"origin\",result=\"failed\",resumed=\"no\"}"], "2");
  EXPECT_EQ(samples["bloomwall_tls_handshake_seconds_count{side=\"client\"}"], "4");
  EXPECT_EQ(samples["bloomwall_tls_handshake_seconds_bucket{side=\"client\",le=\"0.0025\"}"], "0");
  EXPECT_EQ(samples["bloomwall_tls_handshake_seconds_bucket{side=\"client\",le=\"0.005\"}"], "4");
  EXPECT_EQ(samples["bloomwall_tls_handshake_seconds_sum{side=\"client\"}"], "0.012");
  EXPECT_EQ(samples["bloomwall_tls_interceptions_failed_total{reason=\"client_rate\"}"], "2");
  EXPECT_EQ(samples["bloomwall_tls_interceptions_failed_total{reason=\"mint\"}"], "0");
  EXPECT_EQ(samples["bloomwall_origin_certificate_errors_total{cause=\"own_ca\"}"], "2");
  std::size_t causes = 0;
  for (const auto& [name, value] : samples) causes += name.starts_with("bloomwall_origin_certificate_errors_total");
  EXPECT_EQ(causes, kCertificateErrors.size());
}

}  // namespace
}  // namespace bloomwall::proxy
