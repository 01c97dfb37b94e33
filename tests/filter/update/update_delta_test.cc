// What `update --delta` writes, and that a delta read again says it.
// SPDX-License-Identifier: Apache-2.0
#include "filter/update/update_delta.h"
#include "base/encoding.h"
#include "filter/update/delta_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <random>

#include "filter/policy/entry_text.h"
#include "filter/policy/list_exceptions.h"
#include "filter/policy/policy.h"
#include "filter/policy/query.h"
#include "tests/filter/policy/filter_maker.h"
#include "tests/support/seed.h"

namespace bloomwall::filter {
namespace {

using testing::HasSubstr;

class UpdateDelta : public testing::Test {
 protected:
  UpdateDelta() {
    make_filter(filter_, {.entries = {"S old.example", "X exact.example", "U pages.example/a", "R raw key"}});
  }
  std::string list(const std::string& name, std::string_view text) { return folder_.write(name, text).string(); }
  // Errors as text; the report stays.
  std::string update(std::vector<std::string> add, std::vector<std::string> remove, bool raw = false) {
    report_ = {};
    DeltaUpdate update{.filter = filter_, .delta = delta_, .lists = {}};
    update.lists.add = std::move(add);
    update.lists.remove = std::move(remove);
    update.lists.raw = raw;
    return texts_of(update_delta(update, report_));
  }
  std::string text() const {
    std::ifstream in(delta_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  // Its lines after the first.
  std::string changes() const { return text().substr(text().find('\n') + 1); }
  Delta load() const {
    auto delta = Delta::load(delta_, KeyMaker(open_filter(filter_)->header().series_key), content_of(filter_));
    if (!delta) throw std::runtime_error(texts_of(delta.error()));
    return *std::move(delta);
  }
  TempFolder folder_;
  const std::filesystem::path filter_ = folder_ / "f.bwf", delta_ = folder_ / "f.delta";
  DeltaUpdateReport report_;
};

TEST_F(UpdateDelta, AddsAndRemovesWhatListsName) {
  ASSERT_EQ(update({list("a", "new.example\nhttp://pages.example/b?x=1\nhttp://pages.example/dir/\n")},
                   {list("r", "old.example\nhttp://pages.example/a\n")}),
            "");
  EXPECT_EQ(text(), Delta::first_line(content_of(filter_), 1, 5) +
                        "\n-S old.example\n-U pages.example/a\n+S new.example\n+Q pages.example/b?x=1\n"
                        "+D pages.example/dir/\n");
  EXPECT_EQ(report_.changed, 5U);
  EXPECT_EQ(report_.added, 3U);
  EXPECT_EQ(report_.removed, 2U);
  const auto file = open_filter(filter_);
  const Delta delta = load();
  Canonicaliser urls;
  EXPECT_FALSE(query(*file, &delta, urls.url("http://old.example/")));
  EXPECT_TRUE(query(*file, &delta, urls.url("http://sub.new.example/")));
  EXPECT_FALSE(query(*file, &delta, urls.url("http://pages.example/a")));
}

TEST_F(UpdateDelta, KeepsWhatItSaidAndTheLastWordCounts) {
  ASSERT_EQ(update({list("a", "one.example\ntwo.example\n")}, {}), "");
  ASSERT_EQ(update({list("b", "three.example\n")}, {list("r", "one.example\n")}), "");
  EXPECT_EQ(changes(), "+S two.example\n+S three.example\n") << "what was added here and removed again is gone";
  EXPECT_EQ(load().sequence(), 2U);
  ASSERT_EQ(update({}, {list("r", "exact.example\n")}), "");
  ASSERT_EQ(update({list("c", "exact.example\n")}, {}), "");
  EXPECT_EQ(load().answer(OwnEntry("S exact.example").view()), DeltaAnswer::added);
  EXPECT_EQ(load().answer(OwnEntry("X exact.example").view()), DeltaAnswer::removed) << "the list meant S";
}

TEST_F(UpdateDelta, WhatBothListsNameIsAdded) {
  ASSERT_EQ(update({list("a", "both.example\n")}, {list("r", "both.example\n")}), "");
  EXPECT_EQ(changes(), "+S both.example\n");
}

TEST_F(UpdateDelta, RemovingAHostTakesItAloneAndWithItsSubdomains) {
  ASSERT_EQ(update({}, {list("r", "exact.example\nnever.example\n")}), "");
  EXPECT_EQ(changes(), "-X exact.example\n") << "the filter holds no S of it";
  EXPECT_EQ(report_.not_there, 1U) << "only never.example: of the other one kind was there";
  ASSERT_EQ(update({}, {list("h", "0.0.0.0 old.example\n")}), "");
  EXPECT_THAT(changes(), HasSubstr("-S old.example\n"));
}

// A copy that ran out of disk ends anywhere; nothing that is cut is read as a shorter delta.
TEST_F(UpdateDelta, WhatItWritesIsRefusedWhereverItIsCut) {
  ASSERT_EQ(update({list("a", "one.example\nhttp://pages.example/b\n10.0.0.0/8\n")}, {list("r", "old.example\n")}), "");
  const std::string whole = text();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto cut = Delta::parse(whole.substr(0, size), "d", KeyMaker(SeriesKey{}), std::nullopt);
    EXPECT_FALSE(cut) << whole.substr(0, size);
  }
  folder_.write("f.delta", whole.substr(0, whole.rfind("+N")));
  const std::string refused = update({list("b", "b.example\n")}, {});
  EXPECT_THAT(refused, HasSubstr("f.delta:1: is cut or was edited: the first line says changes=4, and there are 3"));
  EXPECT_THAT(refused, HasSubstr("take changes=4 out of the first line"));
}

TEST_F(UpdateDelta, SignsOnlyWhatItsKeySignedBefore) {
  const SigningKey key = SigningKey::generate(), other = SigningKey::generate();
  const auto signing = [&](const SigningKey& with, bool take_unsigned = false, bool rebase = false) {
    report_ = {};
    DeltaUpdate update{.filter = filter_, .delta = delta_, .lists = {}, .rebase = rebase, .key = &with};
    update.take_unsigned = take_unsigned;
    update.lists.add = {list("a", "one.example\n")};
    return texts_of(update_delta(update, report_));
  };
  ASSERT_EQ(signing(key), "") << "there is none yet";
  ASSERT_EQ(signing(key), "");
  EXPECT_THAT(signing(other), HasSubstr("bears no fitting signature of the key " + to_hex(other.id())));
  const std::string whole = text();
  folder_.write("f.delta", whole.substr(0, whole.find("signature")));
  EXPECT_THAT(signing(key), testing::AllOf(HasSubstr("untrusted"), HasSubstr("--take-unsigned")));
  std::string changed = whole;
  changed.replace(changed.find("one.example"), 3, "evi");
  folder_.write("f.delta", changed);
  EXPECT_THAT(signing(key), HasSubstr("bears no fitting signature"));
  EXPECT_THAT(signing(key, false, true), HasSubstr("bears no fitting signature")) << "a rebase signs as well";
  EXPECT_EQ(text(), changed);
  EXPECT_EQ(signing(key, true), "");
  EXPECT_EQ(signing(key), "");
}

TEST_F(UpdateDelta, RemovingAHostWithItsSubdomainsTakesTheseAloneToo) {
  make_filter(filter_, {.entries = {"S both.example", "W both.example", "W below.example", "X alone.example"}});
  ASSERT_EQ(update({}, {list("r", "*.both.example\nbelow.example\n")}), "");
  EXPECT_EQ(changes(), "-S both.example\n-W both.example\n-W below.example\n");
  EXPECT_EQ(report_.not_there, 0U);
  ASSERT_EQ(update({}, {list("h", "0.0.0.0 both.example\n")}), "");
  EXPECT_EQ(report_.changed, 0U) << "a line of a hosts file says nothing of subdomains";
}

TEST_F(UpdateDelta, CommentsStayAndHandWrittenKindsAreWrittenOut) {
  folder_.write("f.delta", Delta::first_line(content_of(filter_)) +
                               "\n# ticket 7\n+a.example\n-old.example # gone\n+R  two blanks\n");
  ASSERT_EQ(update({list("b", "b.example\n")}, {}), "");
  EXPECT_EQ(changes(), "# ticket 7\n+S a.example\n-S old.example\n-X old.example\n+R  two blanks\n+S b.example\n");
}

TEST_F(UpdateDelta, RawKeysAreWhatTheyAre) {
  ASSERT_EQ(update({list("a", " lead\ntail \r\r\nS x\n+y\n#z\nsignature\n")}, {list("r", "raw key\n")}, true), "");
  const Delta delta = load();
  for (const char* key : {"R  lead", "R tail \r", "R S x", "R +y", "R #z", "R signature"}) {
    EXPECT_EQ(delta.answer(OwnEntry(key).view()), DeltaAnswer::added) << key << text();
  }
  EXPECT_EQ(delta.answer(OwnEntry("R raw key").view()), DeltaAnswer::removed);
}

// Whatever a list says, the delta that is written says on reading what was meant, ambiguous paths and roots included.
TEST_F(UpdateDelta, OddUrlsSurvive) {
  const std::string urls =
      "http://u.example/a//b\nhttp://u.example/a/%2e%2e/c\nhttp://u.example//\nhttp://u.example/%2f\n"
      "http://u.example/a;b?q=//x\nhttp://[2001:db8::1]/p\nhttp://192.0.2.7/p/\nhttp://u.example/?q\n";
  std::vector<std::string> meant;
  std::vector<IngestedFile> files;
  ChangeLists lists;
  lists.add = {list("u", urls)};
  const auto note = [&](const Entry& e) {
    meant.push_back(std::string(1, static_cast<char>(e.kind)) + " " + std::string(e.host) + std::string(e.path) +
                    (e.kind == Kind::url_query ? "?" + std::string(e.query) : ""));
  };
  ASSERT_TRUE(read_changes(lists.add, lists, files, note, {}));
  ASSERT_GE(meant.size(), 8U);
  ASSERT_EQ(update(lists.add, {}), "");
  const Delta delta = load();
  for (const std::string& entry : meant) {
    EXPECT_EQ(delta.answer(OwnEntry(entry).view()), DeltaAnswer::added) << entry << "\n" << text();
  }
  const std::string first = changes();
  ASSERT_EQ(update(lists.add, {}), "");
  EXPECT_EQ(report_.changed, 0U);
}

TEST_F(UpdateDelta, ALongLineOfEscapesDoesNotStopTheOthers) {
  ASSERT_EQ(update({list("a", "http://l.example/" + std::string(60000, '\xE4') + "\nnew.example\n")}, {}), "");
  EXPECT_EQ(load().answer(OwnEntry("S new.example").view()), DeltaAnswer::added);
  EXPECT_EQ(report_.added, 2U);
}

// Pieces of which ambiguous paths are made, put together at random. A word alone behind "/;" would be a column of a
// table to who reads lists.
class AmbiguousUrls {
 public:
  explicit AmbiguousUrls(std::uint64_t seed) : random_(seed) {}
  std::string next() {
    static constexpr auto kPieces = std::to_array<std::string_view>(
        {"/",      "//",   "..",    ".",   "%2e",   "%2e%2e", "%252e%252e", "%2f", "%5c",   "\\",       "%3f", "%253f",
         "%25",    "a",    "b",     "%2F", "%255c", "x;y=1",  "%23",        "%zz", "%",     "%41",      ".b",  "..c",
         "%C3%A4", "/../", "/..;/", ";p=", "/%2e/", "/a/..",  "%252f",      "d/",  "e%20f", "%25%32%66"});
    std::string out = "http://h" + std::to_string(random_() % 5) + ".example/";
    for (std::uint64_t i = 1 + random_() % 7; i > 0; --i) out += kPieces[random_() % kPieces.size()];
    if (random_() % 3 == 0) out += random_() % 2 == 0 ? "?q=%2e%3f" : "?a/../b";
    return out;
  }

 private:
  std::mt19937_64 random_;
};

TEST_F(UpdateDelta, RandomAmbiguousUrlsAreAddedAndTakenAwayAsTyped) {
  const std::uint32_t seed = bloomwall::test::test_seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  AmbiguousUrls urls(seed);
  std::string text;
  std::vector<std::string> typed;
  for (int i = 0; i < 600; ++i) typed.push_back(urls.next());
  for (const std::string& url : typed) text += url + '\n';
  const std::string all = list("all", text);
  ASSERT_EQ(update({all}, {}), "");
  const auto file = open_filter(filter_);
  Canonicaliser asked;
  const Delta added = load();
  for (const std::string& url : typed) EXPECT_TRUE(query(*file, &added, asked.url(url))) << url;
  const auto back = DeltaText::read(this->text(), "d", file->keys(), content_id(file->header()));
  ASSERT_TRUE(back) << texts_of(back.error());
  EXPECT_EQ(back->text(), this->text());
  ASSERT_EQ(update({}, {all}), "");
  EXPECT_EQ(report_.added, 0U) << changes();
  const Delta removed = load();
  for (const std::string& url : typed) EXPECT_FALSE(query(*file, &removed, asked.url(url))) << url;
}

TEST_F(UpdateDelta, RandomAmbiguousUrlsOfTheFilterAreTakenAwayInEveryReading) {
  const std::uint32_t seed = bloomwall::test::test_seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  AmbiguousUrls urls(seed);
  std::string text;
  std::vector<std::string> typed, entries;
  for (int i = 0; i < 300; ++i) typed.push_back(urls.next());
  EntryParser parser;
  for (const std::string& url : typed) {
    text += url + '\n';
    for (const Entry& entry : parser.url(url).entries) {
      entries.push_back(std::string{static_cast<char>(entry.kind), ' '} + text_of(entry));
    }
  }
  make_filter(filter_, {.entries = {entries.begin(), entries.end()}});
  const auto file = open_filter(filter_);
  Canonicaliser asked;
  for (const std::string& url : typed) EXPECT_TRUE(query(*file, nullptr, asked.url(url))) << url;
  ASSERT_EQ(update({}, {list("all", text)}), "");
  EXPECT_EQ(report_.not_there, 0U);
  const Delta removed = load();
  for (const std::string& url : typed) EXPECT_FALSE(query(*file, &removed, asked.url(url))) << url;
}

TEST_F(UpdateDelta, ARefusalChangesNothing) {
  ASSERT_EQ(update({list("a", "a.example\n")}, {}), "");
  const std::string before = text();
  EXPECT_THAT(update({}, {}), HasSubstr("nothing to do"));
  EXPECT_THAT(update({"-"}, {"-"}), HasSubstr("read once only"));
  std::string junk;
  for (int i = 0; i < 20; ++i) junk += "good" + std::to_string(i) + ".example\n";
  EXPECT_THAT(update({list("junk", junk + "two words\nand three more\n")}, {}), HasSubstr("can't be used"));
  EXPECT_THAT(update({(folder_ / "none").string()}, {}), HasSubstr("io "));
  EXPECT_EQ(text(), before);
  make_filter(filter_, {.entries = {"S older.example"}});
  const std::string command =
      "`bloomwall-filter update " + filter_.string() + " --delta " + delta_.string() + " --rebase`";
  EXPECT_THAT(update({list("b", "b.example\n")}, {}), testing::AllOf(HasSubstr("wrong_base"), HasSubstr(command)));
  EXPECT_EQ(text(), before);
  std::filesystem::remove(filter_);
  EXPECT_THAT(update({list("b", "b.example\n")}, {}), HasSubstr("io "));
}

// None at all would be older than what a proxy has taken before.
TEST_F(UpdateDelta, ASequenceThatCanNotGrowIsNotBegunAnew) {
  const std::string last = Delta::first_line(content_of(filter_), ~std::uint64_t{0}, 0) + "\n";
  folder_.write("f.delta", last);
  EXPECT_THAT(update({list("a", "a.example\n")}, {}), HasSubstr("its sequence can't grow"));
  EXPECT_EQ(text(), last);
}

// A rebuild that changes nothing keeps its delta, whatever its file id is; one that does needs a word.
TEST_F(UpdateDelta, ARebuildThatChangesItsBitsNeedsARebase) {
  const FilterRecipe before{.entries = {"S old.example", "S other.example"}};
  make_filter(filter_, before);
  ASSERT_EQ(update({list("a", "new.example\n# why\n")}, {list("r", "old.example\n")}), "");
  make_filter(filter_, {.entries = before.entries, .file_id = 77});
  EXPECT_EQ(load().size(), 2U);
  make_filter(filter_, {.entries = {"S old.example"}});
  EXPECT_THAT(update({list("b", "b.example\n")}, {}), HasSubstr("wrong_base"));
  report_ = {};
  DeltaUpdate rebase{.filter = filter_, .delta = delta_, .lists = {}, .rebase = true};
  ASSERT_EQ(texts_of(update_delta(rebase, report_)), "");
  EXPECT_EQ(report_.dropped, 1U);
  EXPECT_EQ(text(), Delta::first_line(content_of(filter_), 2, 1) + "\n+S new.example\n");
  const Delta delta = load();
  const auto file = open_filter(filter_);
  Canonicaliser urls;
  EXPECT_TRUE(query(*file, &delta, urls.url("http://old.example/"))) << "listed anew";
  EXPECT_TRUE(query(*file, &delta, urls.url("http://new.example/")));
  std::filesystem::remove(delta_);
  ASSERT_EQ(texts_of(update_delta(rebase, report_)), "");
  EXPECT_EQ(load().size(), 0U) << "an empty one where there is none";
}

TEST_F(UpdateDelta, ASignedDeltaIsSignedAgainOrSaysThatItIsNot) {
  const SigningKey key = SigningKey::generate();
  ASSERT_TRUE(key.write(folder_ / "k", folder_ / "k.pub"));
  const auto trusted = TrustedKeys::read(folder_ / "k.pub");
  DeltaUpdate update{.filter = filter_, .delta = delta_, .lists = {}, .key = &key};
  update.lists.add = {list("a", "a.example\n")};
  ASSERT_TRUE(update_delta(update, report_).empty());
  EXPECT_TRUE(Delta::load(delta_, KeyMaker(SeriesKey{}), content_of(filter_), {.trusted = &*trusted}));
  update.key = nullptr;
  report_ = {};
  ASSERT_TRUE(update_delta(update, report_).empty());
  EXPECT_TRUE(report_.was_signed);
  EXPECT_FALSE(Delta::load(delta_, KeyMaker(SeriesKey{}), content_of(filter_), {.trusted = &*trusted}));
}

TEST_F(UpdateDelta, TheShareIsOfTheDistinctEntries) {
  ASSERT_EQ(update({list("a", "a.example\n")}, {}), "");
  EXPECT_DOUBLE_EQ(report_.share(), 1.0 / 4);
}

TEST_F(UpdateDelta, AProbeAsksForExactlyOneEntry) {
  const auto file = open_filter(filter_);
  for (const char* there : {"S old.example", "X exact.example", "U pages.example/a", "R raw key"}) {
    EXPECT_TRUE(may_hold(*file, OwnEntry(there).view())) << there;
  }
  for (const char* absent :
       {"X old.example", "W old.example", "S exact.example", "S pages.example", "U pages.example/b",
        "D pages.example/a/", "Q pages.example/a?q", "R raw", "S sub.old.example"}) {
    EXPECT_FALSE(may_hold(*file, OwnEntry(absent).view())) << absent;
  }
}

TEST_F(UpdateDelta, OfNetworksTheLastWordAboutEachAddressCounts) {
  make_filter(filter_, {.entries = {"S old.example", "X 192.0.2.7", "N 192.0.2.0/24", "N 10.0.0.0/8"}});
  ASSERT_EQ(update({list("a", "5.5.0.0/16\n2001:db8::/32\n10.9.0.0/16\n")},
                   {list("r", "10.1.0.0/16\n8.8.8.0/24\n10.9.1.0/24\n"), list("h", "192.0.2.7\nold.example\n")}),
            "");
  EXPECT_EQ(changes(),
            "-X 192.0.2.7\n-S old.example\n+N 5.5.0.0/16\n+N 10.9.0.0/16\n+N [2001:db8::]/32\n-N 10.1.0.0/16\n"
            "-N 192.0.2.7/32\n");
  EXPECT_EQ(report_.not_there, 1U) << "8.8.8.0/24";
  EXPECT_EQ(report_.added, 3U);
  EXPECT_EQ(report_.removed, 4U) << "X, S and two ranges";
  ASSERT_EQ(update({list("b", "10.1.2.0/24\n")}, {list("s", "5.5.128.0/17\n")}), "");
  EXPECT_EQ(changes(),
            "-X 192.0.2.7\n-S old.example\n+N 5.5.0.0/17\n+N 10.1.2.0/24\n+N 10.9.0.0/16\n+N [2001:db8::]/32\n"
            "-N 10.1.0.0/23\n-N 10.1.3.0-10.1.255.255\n-N 192.0.2.7/32\n")
      << "what was added here and removed again is gone";
  const auto file = open_filter(filter_);
  const Delta delta = load();
  Canonicaliser urls;
  const auto stops = [&](std::string_view host) {
    return query(*file, &delta, urls.url("http://" + std::string(host) + "/")).has_value();
  };
  EXPECT_TRUE(stops("5.5.127.255"));
  EXPECT_FALSE(stops("5.5.128.0"));
  EXPECT_TRUE(stops("10.1.2.3"));
  EXPECT_FALSE(stops("10.1.3.0"));
  EXPECT_TRUE(stops("10.2.0.0"));
  EXPECT_FALSE(stops("192.0.2.7"));
  EXPECT_TRUE(stops("192.0.2.8"));
  EXPECT_TRUE(stops("[2001:db8::1]"));
}

TEST_F(UpdateDelta, AnAddressThatIsAddedAgainIsInItsNetworkAgain) {
  make_filter(filter_, {.entries = {"S old.example", "X 192.0.2.7", "N 192.0.2.0/24", "N 2001:db8::/32"}});
  ASSERT_EQ(update({}, {list("r", "192.0.2.5\n192.0.2.7\n2001:db8::1\n")}), "");
  EXPECT_EQ(changes(), "-X 192.0.2.7\n-N 192.0.2.5/32\n-N 192.0.2.7/32\n-N [2001:db8::1]/128\n");
  ASSERT_EQ(update({list("a", "192.0.2.5\n2001:db8::1\n")}, {}), "");
  EXPECT_EQ(changes(), "-X 192.0.2.7\n+X 192.0.2.5\n+X [2001:db8::1]\n-N 192.0.2.7/32\n");
  EXPECT_EQ(report_.changed, 2U);
}

TEST_F(UpdateDelta, ARangeThatIsRemovedTakesItsAddressesAlong) {
  make_filter(filter_, {.entries = {"S old.example", "X 192.0.2.7", "X 198.51.100.1", "N 192.0.2.0/24"}});
  ASSERT_EQ(update({list("a", "10.0.0.1\n192.0.2.9\n")}, {}), "");
  ASSERT_EQ(update({}, {list("r", "192.0.2.0/28\n10.0.0.0/8\n198.51.0.0/16\n")}), "");
  EXPECT_EQ(changes(), "-X 192.0.2.7\n-N 192.0.2.0/28\n") << "too large a range is not looked through in the filter";
  EXPECT_EQ(report_.not_there, 1U);
}

// A model of addresses: of each the last word.
TEST_F(UpdateDelta, OfAnAddressTheLastWordCountsAsAHostAndInNetworks) {
  make_filter(filter_, {.entries = {"S old.example", "X 192.0.2.3", "X 192.0.2.12", "N 192.0.2.0/29"}});
  constexpr unsigned kSeed = 17;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  std::mt19937 random(kSeed);
  struct Said {
    bool host = false, network = false;
    bool was_network = false;  // until it was removed by itself
  };
  std::array<Said, 16> said{};
  for (unsigned i = 0; i < 16; ++i) said[i] = {.host = i == 3 || i == 12, .network = i < 8, .was_network = false};
  const auto pick = [&](unsigned many) { return static_cast<unsigned>(random() % many); };
  Canonicaliser urls;
  const auto file = open_filter(filter_);
  for (int step = 0; step < 150; ++step) {
    const bool adds = pick(2) == 0;
    const unsigned size = 1U << pick(4);  // 1: an address, else a range
    const unsigned first = pick(16) / size * size;
    for (unsigned i = first; i < first + size; ++i) {
      const bool was_network = said[i].network || said[i].was_network;
      if (!adds) said[i] = {.was_network = size == 1 && was_network};
      if (adds && size > 1) said[i] = {.host = said[i].host, .network = true};
      if (adds && size == 1) said[i] = {.host = true, .network = i < 8 || was_network};
    }
    const unsigned bits = 32 - static_cast<unsigned>(std::countr_zero(size));
    const std::string line =
        size == 1 ? fmt::format("192.0.2.{}\n", first) : fmt::format("192.0.2.{}/{}\n", first, bits);
    const auto changed = list("l", line);
    ASSERT_EQ(adds ? update({changed}, {}) : update({}, {changed}), "");
    const Delta delta = load();
    const FilterPlan plan(*file);
    const LookupTarget target{.file = file.get(), .delta = &delta, .plan = &plan};
    for (unsigned i = 0; i < 16; ++i) {
      const std::string address = fmt::format("192.0.2.{}", i);
      const LookupAnswer dialled = ask_networks(target, *read_address(address));
      const bool is_stopped = dialled == LookupAnswer::yes || dialled == LookupAnswer::added_by_delta;
      ASSERT_EQ(is_stopped, said[i].network) << address << " in step " << step << ":\n" << text();
      const bool is_listed = query(*file, &delta, urls.url("http://" + address + "/")).has_value();
      ASSERT_EQ(is_listed, said[i].host || said[i].network) << address << " in step " << step << ":\n" << text();
    }
  }
}

TEST_F(UpdateDelta, ARebaseKeepsAddedNetworksAndDropsRemovedOnes) {
  make_filter(filter_, {.entries = {"S old.example", "N 10.0.0.0/8"}});
  ASSERT_EQ(update({list("a", "5.5.0.0/16\n")}, {list("r", "10.1.0.0/16\n")}), "");
  make_filter(filter_, {.entries = {"S other.example", "N 10.0.0.0/8"}});
  report_ = {};
  const DeltaUpdate rebase{.filter = filter_, .delta = delta_, .lists = {}, .rebase = true};
  ASSERT_EQ(texts_of(update_delta(rebase, report_)), "");
  EXPECT_EQ(changes(), "+N 5.5.0.0/16\n");
  EXPECT_EQ(report_.dropped, 1U);
}

TEST(DeltaTextNetworks, AreWrittenOnceAndReadBack) {
  DeltaText text(id_of(1), KeyMaker(SeriesKey{}));
  const auto set = [&](std::string_view range, DeltaAnswer answer) {
    return text.set(read_address_range(range).range, answer);
  };
  EXPECT_TRUE(set("10.0.0.0/8", DeltaAnswer::added));
  EXPECT_FALSE(set("10.1.0.0/16", DeltaAnswer::added)) << "said already";
  EXPECT_TRUE(set("10.0.0.0/9", DeltaAnswer::removed));
  EXPECT_TRUE(set("10.0.0.0/10", DeltaAnswer::nothing));
  EXPECT_FALSE(set("10.0.0.0/10", DeltaAnswer::nothing));
  EXPECT_EQ(text.added(), 1U);
  EXPECT_EQ(text.removed(), 1U);
  EXPECT_EQ(text.size(), 2U);
  const std::string out = text.text();
  EXPECT_EQ(out, Delta::first_line(id_of(1), 0, 2) + "\n+N 10.128.0.0/9\n-N 10.64.0.0/10\n");
  const auto back = DeltaText::read(out, "d", KeyMaker(SeriesKey{}), id_of(1));
  ASSERT_TRUE(back) << texts_of(back.error());
  EXPECT_EQ(back->text(), out);
  EXPECT_EQ(text.drop_removals(), 1U);
  EXPECT_EQ(text.text(), Delta::first_line(id_of(1), 0, 1) + "\n+N 10.128.0.0/9\n");
}

TEST(DeltaTextOrder, CompactionKeepsTheOrderOfLastChanges) {
  DeltaText text(id_of(1), KeyMaker(SeriesKey{}));
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < 400; ++i) {
      const OwnEntry entry("S h" + std::to_string((i * 7 + round) % 400) + ".example");
      text.set(entry.view(), round % 2 == 0 ? DeltaAnswer::added : DeltaAnswer::removed);
    }
  }
  EXPECT_EQ(text.size(), 400U);
  EXPECT_EQ(text.added(), 400U);
  const std::string out = text.text();
  EXPECT_EQ(std::count(out.begin(), out.end(), '\n'), 401);
  EXPECT_LT(out.find("+S h4.example\n"), out.find("+S h11.example\n")) << "the order of the last round";
  const auto back = DeltaText::read(out, "d", KeyMaker(SeriesKey{}), id_of(1));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->text(), out);
}

// What added lists except stands beside the delta; what removed lists except leaves it.
TEST_F(UpdateDelta, CarriesTheExceptionsOfItsLists) {
  ImportantHosts important;
  important.add("hard.example");
  ASSERT_TRUE(
      write_exceptions(exceptions_file(filter_, content_of(filter_)), filter_, fit_exceptions({}, important), {}));
  const std::string one = list("one", "||one.example^\n@@||pay.one.example^\n@@||x.hard.example^\n");
  ASSERT_EQ(update({one, list("two", "||two.example^\n@@||pay.two.example^\n||shut.example^$important\n")}, {}), "");
  const auto beside = exceptions_file_of_delta(delta_);
  EXPECT_THAT(read_exceptions(beside)->rules, testing::ElementsAre("pay.one.example", "pay.two.example"));
  EXPECT_EQ(report_.exceptions.important, 1U) << "the filter stops hard.example by an important rule";
  PolicySpec spec{.filters = {{.name = "ads", .file = filter_, .delta = delta_}}, .allow_lists = {}};
  const auto policy = Policy::load(spec, {});
  ASSERT_TRUE(policy);
  Canonicaliser urls;
  EXPECT_EQ((*policy)->judge(urls.url("http://pay.one.example/")).decision, Decision::allowed);
  EXPECT_EQ((*policy)->judge(urls.url("http://one.example/")).decision, Decision::blocked);
  ASSERT_EQ(update({list("three", "||three.example^\n@@||a.shut.example^\n")}, {one}), "");
  EXPECT_THAT(read_exceptions(beside)->rules, testing::ElementsAre("pay.two.example"));
  EXPECT_EQ(report_.exceptions.important, 1U) << "two's rule is remembered";
}

// As if all lists had been built at once: no exception of the filter frees what an important rule of the delta stops.
TEST_F(UpdateDelta, ItsImportantRulesWithdrawTheFiltersExceptions) {
  const auto beside = exceptions_file(filter_, content_of(filter_));
  ASSERT_TRUE(
      write_exceptions(beside, filter_, fit_exceptions({"one.example", "a.two.example", "free.example"}, {}), {}));
  const auto says = [&](const std::optional<std::string>& exceptions) {
    PolicySpec spec{.filters = {{.name = "ads", .file = filter_, .delta = delta_}}, .allow_lists = {}};
    spec.filters.front().exceptions = exceptions;
    const auto policy = Policy::load(spec, {});
    EXPECT_TRUE(policy);
    Canonicaliser urls;
    std::string text;
    for (const char* host : {"x.one.example", "a.two.example", "free.example"}) {
      const Verdict verdict = (*policy)->judge(urls.url("http://" + std::string(host) + "/"));
      text += std::string(verdict.decision == Decision::blocked ? "blocked " : "allowed ");
    }
    return text;
  };
  const std::string plain = "||one.example^\n||two.example^\n||free.example^\n";
  ASSERT_EQ(update({list("plain", plain)}, {}), "");
  EXPECT_EQ(says({}), "allowed allowed allowed ");
  ASSERT_EQ(update({list("hard", "||x.one.example^$important\n||two.example^$important\n")}, {}), "");
  EXPECT_EQ(says({}), "blocked blocked allowed ");
  EXPECT_EQ(says("free.example\na.two.example\n"), "blocked blocked allowed ") << "nor those that are to stand there";
  EXPECT_THAT(read_exceptions(beside)->rules, testing::SizeIs(3)) << "the delta may go again";
}

TEST_F(UpdateDelta, ASignedOneHasNoExceptions) {
  const SigningKey key = SigningKey::generate();
  DeltaUpdate update{.filter = filter_, .delta = delta_, .lists = {}, .key = &key};
  update.lists.add = {list("one", "||one.example^\n||two.example^\n@@||pay.one.example^\n")};
  report_ = {};
  ASSERT_EQ(texts_of(update_delta(update, report_)), "");
  EXPECT_EQ(report_.exceptions_unsigned, 1U);
  EXPECT_FALSE(std::filesystem::exists(exceptions_file_of_delta(delta_)));
}

}  // namespace
}  // namespace bloomwall::filter
