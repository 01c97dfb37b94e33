// What each fact means: one row for each finding.
// SPDX-License-Identifier: Apache-2.0
#include "proxy/doctor/checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <cerrno>

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace bloomwall::proxy {
namespace {

using testing::HasSubstr;
using Answer = Running::Answer;

struct Case {
  std::string name;
  std::function<Diagnosis()> look;
  Grade grade;
  std::string what;  // a part of the first finding
  std::string cure = {};
};

conf::Config listens_on(const std::string& address, std::vector<std::string> clients) {
  conf::Config settings;
  settings.listeners.front().address = address;
  settings.access.clients = std::move(clients);
  return settings;
}

conf::Config with_list() {
  conf::Config settings;
  settings.filters.emplace_back().name = "ads";
  settings.filters.front().sources.push_back({.url = "https://lists.example.test/ads.txt"});
  return settings;
}

ListsState listed(SourceState source, BuildResult result = BuildResult::built, const std::string& message = {}) {
  ListsState state;
  ListFilterState& filter = state.at("ads");
  source.checked = 1;
  filter.attempted = source.copy.empty() ? 0 : 1;
  filter.sources.push_back(std::move(source));
  filter.result = result;
  filter.message = message;
  return state;
}

conf::Config with_intermediates() {
  conf::Config settings;
  settings.tls_inspection.mode = conf::TlsInspection::Mode::urls;
  settings.tls_inspection.verify.intermediates = {"https://ca.example.test/all.csv"};
  return settings;
}

ListsState fetched(SourceState source, BuildResult result = BuildResult::built, const std::string& message = {}) {
  ListsState state;
  source.url = "https://ca.example.test/all.csv";
  source.checked = 1;
  state.intermediates = {.sources = {std::move(source)}, .result = result, .message = message, .entries = 2};
  return state;
}

Running serving() {
  return {.answer = Answer::yes, .is_ready = true, .pid = 7, .configuration = "/etc/b.yaml", .loaded = 1000};
}

Running with_filter(FilterIdentity filter) {
  Running out = serving();
  out.filters.push_back(std::move(filter));
  return out;
}

std::vector<Interface> lan() {
  return {{.name = "lo", .address = "127.0.0.1", .network = "127.0.0.0/8", .is_loopback = true},
          {.name = "eth0", .address = "192.168.1.5", .network = "192.168.1.0/24"},
          {.name = "docker0", .address = "172.17.0.1", .network = "172.17.0.0/16"}};
}

Diagnosis dashboard(std::optional<std::string> address, const conf::AdminTls& tls,
                    const std::optional<InternalCertificate>& internal = {}) {
  conf::Config settings;
  settings.admin.address = std::move(address);
  settings.admin.tls = tls;
  settings.admin.hosts = {"box"};
  return {check_dashboard(settings, internal, lan())};
}

constexpr std::int64_t kNow = 1'800'000'000;
constexpr std::uint64_t kGigabyte = 1'000'000'000;
const std::vector<std::string> kSelf{"127.0.0.0/8", "::1/128"}, kHome{"127.0.0.0/8", "192.168.1.0/24"};

Diagnosis service(Running running, std::optional<std::string> unit) { return {check_service(running, unit)}; }
Diagnosis folder(const FolderState& it, std::uint64_t needed = 0) { return {check_folder(it, needed)}; }
Diagnosis timer(const conf::Config& settings, const std::optional<std::string>& state) {
  auto found = check_timer(settings, state);
  return found ? Diagnosis{*found} : Diagnosis{};
}
std::vector<ConfiguredAddress> held(std::optional<PortHolder> holder) {
  return {{.key = "listeners[0].address", .address = "127.0.0.1:3128", .holder = std::move(holder)}};
}
FilterIdentity ads(std::uint64_t sequence, bool lost = false) {
  return {.name = "ads", .created = "2027-01-01T00:00:00Z", .sequence = sequence, .bytes = 4096, .lost = lost};
}

const std::vector<Case>& cases() {
  static const std::vector<Case> all{
      {"Serves", [] { return service(serving(), "active"); }, Grade::good, "process 7 serves"},
      {"IsNotReady", [] { return service({.answer = Answer::yes, .readiness = "starting", .pid = 7}, {}); },
       Grade::wrong, "starting", "journalctl"},
      {"DoesNotRun", [] { return service({.answer = Answer::nobody, .why = "no"}, "inactive"); }, Grade::wrong,
       "systemd says: inactive", "systemctl start bloomwall"},
      {"HasFailed", [] { return service({.answer = Answer::nobody}, "failed"); }, Grade::wrong, "failed",
       "systemctl restart"},
      {"MayNotBeAsked", [] { return service({.answer = Answer::not_allowed, .why = "x"}, {}); }, Grade::unseen, "x",
       "root"},
      {"HasNoControlSocket", [] { return service({.why = "null"}, {}); }, Grade::unseen, "null", "control_socket"},
      {"ReloadUnknown", [] { return check_reload({}, "/etc/b.yaml", {}); }, Grade::unseen, "not known"},
      {"ServesAnother", [] { return check_reload(serving(), "/etc/other.yaml", {}); }, Grade::wrong, "/etc/other.yaml",
       "--config"},
      {"ReloadFailed",
       [] {
         Running it = serving();
         it.has_failed_reload = true;
         it.failure = "line 3: unknown key";
         return check_reload(it, "/etc/b.yaml", {});
       },
       Grade::wrong, "line 3: unknown key", "bloomwall reload"},
      {"FileChanged", [] { return check_reload(serving(), "/etc/b.yaml", {{"/etc/b.yaml", 1001}}); }, Grade::wrong,
       "was changed", "bloomwall reload"},
      {"FileOfTheSameSecond", [] { return check_reload(serving(), "/etc/b.yaml", {{"/etc/b.yaml", 1000}}); },
       Grade::good, "no file has changed"},
      {"ServesWhatIsThere", [] { return check_served({ads(1)}, with_filter(ads(1))); }, Grade::good, "1 filter"},
      {"ServesAnOlderFile", [] { return check_served({ads(2)}, with_filter(ads(1))); }, Grade::wrong, "sequence 2",
       "bloomwall reload"},
      {"FilterIsLost", [] { return check_served({ads(1)}, with_filter(ads(1, true))); }, Grade::wrong, "lost",
       "verify"},
      {"FilterIsNotServedYet", [] { return check_served({ads(1)}, serving()); }, Grade::wrong, "not served", "reload"},
      {"FilterIsNotConfiguredAnyMore", [] { return check_served({}, with_filter(ads(1))); }, Grade::wrong,
       "not configured", "reload"},
      {"PortListens", [] { return check_holders(held(PortHolder{"bloomwall", 7}), serving()); }, Grade::good,
       "listens"},
      {"PortOfAnother", [] { return check_holders(held(PortHolder{"squid", 9}), {}); }, Grade::wrong,
       "held by squid (process 9)", "another port"},
      {"PortOfSomebodyUnseen", [] { return check_holders(held(PortHolder{}), {}); }, Grade::good, "not seen from here"},
      {"PortThatWantsARestart", [] { return check_holders(held({}), serving()); }, Grade::wrong, "nobody listens",
       "restart"},
      {"PortIsFree", [] { return check_holders(held({}), {}); }, Grade::good, "free"},
      {"ForThisMachine", [] { return check_reach(listens_on("127.0.0.1:3128", kSelf), lan()); }, Grade::good, "alone"},
      {"ForOthersOnLoopback", [] { return check_reach(listens_on("127.0.0.1:3128", kHome), lan()); }, Grade::wrong,
       "none can connect", ":3128"},
      {"OpenAndNobodyLetIn", [] { return check_reach(listens_on(":3128", kSelf), lan()); }, Grade::wrong,
       "192.168.1.0/24 (eth0)", "access.clients"},
      {"OpenToTheNeighbours",
       [] { return check_reach(listens_on(":3128", {"192.168.0.0/16", "172.16.0.0/12"}), lan()); }, Grade::good,
       "192.168.1.0/24 (eth0)"},
      {"OpenToSomeOfThem", [] { return check_reach(listens_on(":3128", kHome), lan()); }, Grade::note,
       "refused are 172.17.0.0/16 (docker0)", "access.clients"},
      {"OnOneOfItsAddresses", [] { return check_reach(listens_on("192.168.1.5:3128", kHome), lan()); }, Grade::good,
       "eth0"},
      {"OnAnAddressOfAnother", [] { return check_reach(listens_on("192.168.1.6:3128", kHome), lan()); }, Grade::wrong,
       "no address of this machine", "ip address"},
      {"NoNetwork", [] { return check_reach(listens_on(":3128", kHome), {}); }, Grade::note, "no address"},
      {"DashboardAtHome", [] { return dashboard("127.0.0.1:9128", {}); }, Grade::good,
       "http://127.0.0.1:9128/, for this machine alone"},
      {"DashboardIsOff", [] { return dashboard(std::nullopt, {}); }, Grade::note, "off"},
      {"DashboardInClear", [] { return dashboard(":9128", {}); }, Grade::note, "health and metrics alone",
       "tls: internal"},
      {"DashboardForOthers", [] { return dashboard(":9128", {.certificate = "c", .key = "k", .internal = false}); },
       Grade::good, "https://box:9128/ https://192.168.1.5:9128/"},
      {"DashboardWithItsOwnCertificate",
       [] {
         return dashboard(":9128", {.certificate = {}, .key = {}, .internal = true},
                          InternalCertificate{{"box", "192.168.1.5"}, {}, "CN=bloomwall"});
       },
       Grade::good, "the certificate is for box, 192.168.1.5; browsers warn until they trust the CA CN=bloomwall"},
      {"DashboardUnderAForbiddenName",
       [] {
         return dashboard(":9128", {.certificate = {}, .key = {}, .internal = true},
                          InternalCertificate{{"box"}, {"192.168.1.5"}, "CN=bloomwall"});
       },
       Grade::wrong, "forbid 192.168.1.5", "a name that the certificate has"},
      {"Room", [] { return folder({.key = "state_dir", .path = "/s", .bytes = kGigabyte, .free = kGigabyte / 2}); },
       Grade::good, "free"},
      {"NoRoom", [] { return folder({.key = "state_dir", .path = "/s", .bytes = kGigabyte, .free = 1000}); },
       Grade::wrong, "1.0 kB are free", "make room"},
      {"NoRoomForTheNextFilter",
       [] { return folder({.key = "state_dir", .path = "/s", .bytes = kGigabyte, .free = kGigabyte / 2}, kGigabyte); },
       Grade::wrong, "are wanted", "make room"},
      {"SmallDiskWithRoom", [] { return folder({.key = "k", .path = "/s", .bytes = 1'000'000, .free = 900'000}); },
       Grade::good, "free"},
      {"NoInodes", [] { return folder({.key = "k", .path = "/s", .bytes = 1000, .free = 999, .inodes = 1000}); },
       Grade::wrong, "inodes", "remove"},
      {"NotWritable", [] { return folder({.key = "k", .path = "/s", .is_writable = false, .writer = "bloomwall"}); },
       Grade::wrong, "bloomwall may not write", "chown bloomwall /s"},
      {"FolderIsGone", [] { return folder({.key = "k", .path = "/s", .error = ENOENT, .writer = "b"}); }, Grade::wrong,
       "No such file", "install -d"},
      {"FolderIsHidden", [] { return folder({.key = "k", .path = "/s", .error = EACCES}); }, Grade::unseen,
       "may not look", "root"},
      {"ClockIsRight", [] { return check_clock({.now = kNow}, {{"a", kNow + 5}}); }, Grade::good, "2027-01-15"},
      {"ClockOfTheBeginning", [] { return check_clock({.now = 100}, {}); }, Grade::wrong, "1970", "timedatectl"},
      {"MadeInTheFuture", [] { return check_clock({.now = kNow}, {{"filter ads", kNow + 7200}}); }, Grade::wrong,
       "filter ads", "clock"},
      {"ClockIsAlone", [] { return check_clock({.now = kNow, .is_synchronised = false}, {}); }, Grade::note,
       "nothing keeps it right", "timedatectl"},
      {"ListsAreWell", [] { return check_lists(with_list(), listed({.url = "u", .result = FetchResult::updated})); },
       Grade::good, "1 filter"},
      {"ListsNeverFetched", [] { return check_lists(with_list(), {}); }, Grade::wrong, "never fetched",
       "bloomwall update ads"},
      {"ListFailed",
       [] {
         return check_lists(with_list(),
                            listed({.url = "u", .result = FetchResult::failed, .message = "HTTP 404", .failures = 3}));
       },
       Grade::wrong, "failed 3 times: HTTP 404", "bloomwall update ads"},
      {"ListRefused",
       [] {
         return check_lists(with_list(), listed({.url = "u", .result = FetchResult::refused, .message = "shrunk"}));
       },
       Grade::wrong, "shrunk", "--force"},
      {"NoListCannotBeForced",
       [] {
         return check_lists(
             with_list(), listed({.url = "u", .result = FetchResult::refused, .guard = "no_list", .message = "HTML"}));
       },
       Grade::wrong, "HTML", "mend filters[].sources"},
      {"ListFailedOfWhichThereIsACopy",
       [] {
         return check_lists(
             with_list(), listed({.url = "u", .copy = "u.zst", .result = FetchResult::failed, .message = "HTTP 404"}));
       },
       Grade::wrong, "HTTP 404", "the last good copy is in use"},
      {"NotBuilt",
       [] {
         return check_lists(with_list(),
                            listed({.url = "u", .result = FetchResult::updated}, BuildResult::failed, "no space"));
       },
       Grade::wrong, "not built: no space", "bloomwall update ads"},
      {"IntermediatesAreWell",
       [] { return check_intermediates(with_intermediates(), fetched({.result = FetchResult::updated})); }, Grade::good,
       "2 certificates"},
      {"IntermediatesNeverFetched", [] { return check_intermediates(with_intermediates(), {}); }, Grade::wrong,
       "all.csv: was never fetched", "bloomwall update"},
      {"IntermediatesFailed",
       [] {
         return check_intermediates(
             with_intermediates(),
             fetched({.copy = "all.zst", .result = FetchResult::failed, .message = "HTTP 500", .failures = 2}));
       },
       Grade::wrong, "all.csv: failed 2 times: HTTP 500", "the last good copy is in use"},
      {"IntermediatesRefused",
       [] {
         return check_intermediates(with_intermediates(),
                                    fetched({.result = FetchResult::refused, .message = "holds no certificate"}));
       },
       Grade::wrong, "refused: holds no certificate", "mend tls_inspection.verify.intermediates"},
      {"IntermediatesNotChosen",
       [] {
         return check_intermediates(with_intermediates(),
                                    fetched({.result = FetchResult::updated}, BuildResult::refused, "none of 3"));
       },
       Grade::wrong, "not chosen: none of 3", "bloomwall update"},
      {"TimerOfIntermediatesStands", [] { return timer(with_intermediates(), "inactive"); }, Grade::wrong, "inactive",
       "enable --now"},
      {"TimerRuns", [] { return timer(with_list(), "active"); }, Grade::good, "active"},
      {"TimerStands", [] { return timer(with_list(), "inactive"); }, Grade::wrong, "inactive", "enable --now"},
      {"NoSystemd", [] { return timer(with_list(), {}); }, Grade::unseen, "no systemd", "--loop"},
      {"EnoughDescriptors", [] { return Diagnosis{check_descriptors(100, 1024, serving())}; }, Grade::good, "1024"},
      {"FewDescriptors", [] { return Diagnosis{check_descriptors(5000, 1024, serving())}; }, Grade::wrong, "1024",
       "LimitNOFILE"},
      {"DescriptorsUnseen", [] { return Diagnosis{check_descriptors(5000, {}, serving())}; }, Grade::unseen,
       "process 7", "root"},
      {"DescriptorsOfNobody", [] { return Diagnosis{check_descriptors(5000, 1024, {})}; }, Grade::unseen, "not heard"},
  };
  return all;
}

class DoctorCheck : public testing::TestWithParam<Case> {};

TEST_P(DoctorCheck, SaysWhatIsWrongAndWhatToDo) {
  const Diagnosis found = GetParam().look();
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found.front().grade, GetParam().grade) << found.front().what;
  EXPECT_THAT(found.front().what, HasSubstr(GetParam().what));
  EXPECT_THAT(found.front().cure, HasSubstr(GetParam().cure));
  for (const Finding& each : found) {
    EXPECT_FALSE(each.subject.empty());
    if (each.grade == Grade::wrong) {
      EXPECT_FALSE(each.cure.empty()) << each.what;
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Diagnosis, DoctorCheck, testing::ValuesIn(cases()),
                         [](const auto& row) { return row.param.name; });

TEST(DoctorChecks, NothingToSayWithoutLists) {
  EXPECT_FALSE(check_timer({}, "inactive"));
  EXPECT_TRUE(check_lists({}, {}).empty());
  EXPECT_TRUE(check_intermediates({}, {}).empty());
  EXPECT_TRUE(check_served({ads(1)}, {}).empty());
}

TEST(DoctorChecks, AllThatIsWrongIsNamed) {
  const auto found = check_reload(serving(), "/etc/b.yaml", {{"/one", 2000}, {"/two", 1}, {"/three", 3000}});
  ASSERT_EQ(found.size(), 2U);
  EXPECT_THAT(found[0].what, HasSubstr("/one"));
  EXPECT_THAT(found[1].what, HasSubstr("/three"));
}

}  // namespace
}  // namespace bloomwall::proxy
