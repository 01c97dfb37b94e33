// The counting form: what is built, changed and emitted, held against sets of entries.
// SPDX-License-Identifier: Apache-2.0
#include "filter/update/counting.h"
#include "base/encoding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "filter/policy/query.h"
#include "filter/update/update_delta.h"
#include "tests/filter/file/later_minor.h"
#include "tests/filter/policy/filter_maker.h"

namespace bloomwall::filter {
namespace {

using testing::HasSubstr;

class Counting : public testing::Test {
 protected:
  std::string list(const std::string& name, std::string_view text) { return folder_.write(name, text).string(); }
  Result<void> build(std::vector<std::string> lists, bool raw = false) {
    BuildOptions options;
    options.output = counting_;
    options.lists = std::move(lists);
    options.raw = raw;
    options.target.fpr = 1e-3;
    options.threads = 2;
    options.identity.series_key_file = folder_.write("series", std::string(64, 'e')).string();
    built_ = {};
    return build_counting(options, built_);
  }
  std::string update(std::vector<std::string> add, std::vector<std::string> remove, bool force = true) {
    updated_ = {};
    CountingUpdate update;
    update.file = counting_;
    update.lists.add = std::move(add);
    update.lists.remove = std::move(remove);
    update.lists.raw = raw_;
    update.force = force;
    update.threads = 2;
    const auto done = update_counting(update, updated_);
    return done ? "" : std::string(to_string(done.error().code)) + " " + done.error().text();
  }
  std::unique_ptr<FilterFile> emit() {
    const auto header = emit_filter({.file = counting_, .output = filter_});
    if (!header) throw std::runtime_error(header.error().text());
    return open_filter(filter_);
  }
  // Counters without an entry, whatever the header says.
  void write_empty(const std::function<void(Header&)>& change) {
    FilterWriter::Plan plan;
    plan.header.incompatible = kCountersFeature;
    plan.hosts = Geometry{.pages = 4};
    change(plan.header);
    auto writer = FilterWriter::create(counting_, std::move(plan));
    ASSERT_TRUE(writer) << writer.error().text();
    const auto done = (*writer)->commit();
    ASSERT_TRUE(done) << done.error().text();
  }
  bool raw_ = false;
  TempFolder folder_;
  const std::filesystem::path counting_ = folder_ / "f.bwc", filter_ = folder_ / "f.bwf";
  CountingReport built_;
  CountingUpdateReport updated_;
};

std::string raw_lines(int from, int to) {
  std::string out;
  for (int i = from; i < to; ++i) out += "user" + std::to_string(i) + "@mail.example\n";
  return out;
}
OwnEntry raw_entry(int i) { return OwnEntry("R user" + std::to_string(i) + "@mail.example"); }

constexpr const char* kMixed =
    "a.example\nb.example\nhttp://c.example/x\nhttp://c.example/y?q=1\nhttp://d.example/dir/sub/\nhttp://a.example/z\n";

TEST_F(Counting, EmitsTheBitsThatABuildSets) {
  ASSERT_TRUE(build({list("l", kMixed)}));
  const auto emitted = emit();
  BuildOptions options;
  options.output = folder_ / "plain.bwf";
  options.lists = {(folder_ / "l").string()};
  options.target.fpr = 1e-3;
  options.identity.series_key_file = folder_.write("key", to_hex(emitted->header().series_key)).string();
  std::filesystem::permissions(folder_ / "key", std::filesystem::perms::owner_read);
  BuildReport report;
  const auto plain_built = filter::build(options, report);
  ASSERT_TRUE(plain_built) << plain_built.error().text();
  const auto plain = open_filter(options.output);
  for (const SectionType type : {SectionType::hosts, SectionType::paths}) {
    ASSERT_EQ(emitted->header().find(type)->geometry, plain->header().find(type)->geometry);
    const auto mine = emitted->section_bytes(type), theirs = plain->section_bytes(type);
    EXPECT_TRUE(std::equal(mine.begin(), mine.end(), theirs.begin(), theirs.end())) << to_string(type);
  }
  EXPECT_EQ(emitted->header().kinds[index_of(Kind::url)].keys, 2U);
  EXPECT_EQ(emitted->header().mark_mask, plain->header().mark_mask);
  EXPECT_EQ(emitted->header().hosts, plain->header().hosts);
  EXPECT_EQ(emitted->header().max_depth, plain->header().max_depth);
  EXPECT_TRUE(emitted->verify(FilterFile::Depth::tampering));
}

TEST_F(Counting, AReaderOfFiltersRefusesTheOtherFormAndSaysWhatToDo) {
  ASSERT_TRUE(build({list("l", kMixed)}));
  const auto opened = FilterFile::open(counting_);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Errc::unsupported);
  EXPECT_THAT(opened.error().text(), HasSubstr("bloomwall-filter emit"));
  emit();
  EXPECT_THAT(FilterFile::open(filter_, Form::counters).error().text(), HasSubstr("build --counting"));
  const auto counters = FilterFile::open(counting_, Form::counters);
  ASSERT_TRUE(counters) << counters.error().text();
  EXPECT_FALSE((*counters)->hosts()) << "nothing that could be asked";
  EXPECT_TRUE((*counters)->verify(FilterFile::Depth::tampering));
  EXPECT_EQ((*counters)->section_bytes(SectionType::hosts).size(),
            4 * (*counters)->header().find(SectionType::hosts)->geometry.bytes());
}

// The whole set is exchanged, in steps; at every step all that should be there is, and in the end the bits are those of
// a filter that never held anything else.
TEST_F(Counting, ChurnOfTheWholeSetLosesNothing) {
  raw_ = true;
  constexpr int kKeys = 4000, kStep = 500;
  ASSERT_TRUE(build({list("l", raw_lines(0, kKeys))}, true));
  for (int gone = 0; gone < kKeys; gone += kStep) {
    ASSERT_EQ(
        update({list("a", raw_lines(kKeys + gone, kKeys + gone + kStep))}, {list("r", raw_lines(gone, gone + kStep))}),
        "");
    EXPECT_EQ(updated_.removed.not_there, 0U);
    const auto file = emit();
    for (int i = gone + kStep; i < kKeys + gone + kStep; ++i) {
      ASSERT_TRUE(may_hold(*file, raw_entry(i).view())) << "lost " << i << " after " << gone;
    }
  }
  const auto file = emit();
  EXPECT_EQ(file->header().kinds[index_of(Kind::raw)].entries, std::uint64_t{kKeys});
  EXPECT_NEAR(static_cast<double>(file->header().kinds[index_of(Kind::raw)].keys), kKeys, kKeys * 0.01);
  const Geometry geometry = file->header().find(SectionType::raw)->geometry;
  std::vector<std::byte> pages(geometry.bytes());
  SectionWriter fresh(geometry, pages.data(), SectionKind::raw);
  for (int i = kKeys; i < 2 * kKeys; ++i) fresh.insert(file->keys().raw(raw_entry(i).path));
  const auto bits = file->section_bytes(SectionType::raw);
  EXPECT_EQ(updated_.cells.stuck, 0U);
  EXPECT_TRUE(std::equal(bits.begin(), bits.end(), pages.begin(), pages.end()));
  int passed = 0;
  for (int i = 0; i < kKeys; ++i) passed += may_hold(*file, raw_entry(i).view()) ? 1 : 0;
  EXPECT_LE(passed, 20) << "4000 questions at 1e-3";
}

TEST_F(Counting, WhatWasAddedTwiceIsRemovedTwice) {
  ASSERT_TRUE(build({list("l", "twice.example\ntwice.example\nonce.example\n")}));
  EXPECT_EQ(built_.added.entry_count(), 3U);
  ASSERT_EQ(update({}, {list("r", "twice.example\nonce.example\n")}), "");
  auto file = emit();
  EXPECT_TRUE(may_hold(*file, OwnEntry("S twice.example").view()));
  EXPECT_FALSE(may_hold(*file, OwnEntry("S once.example").view()));
  ASSERT_EQ(update({}, {list("r2", "twice.example\ntwice.example\n")}), "");
  EXPECT_EQ(updated_.removed.entry_count(), 1U);
  EXPECT_EQ(updated_.removed.not_there, 1U);
  file = emit();
  EXPECT_FALSE(may_hold(*file, OwnEntry("S twice.example").view()));
  EXPECT_EQ(file->header().kinds[0].keys, 0U);
  EXPECT_EQ(file->header().hosts, 0U);
}

TEST_F(Counting, MarksStayAndUrlsGo) {
  ASSERT_TRUE(build({list("l", kMixed)}));
  ASSERT_EQ(update({}, {list("r", "http://c.example/x\nhttp://d.example/dir/sub/\n")}), "");
  const auto file = emit();
  EXPECT_FALSE(may_hold(*file, OwnEntry("U c.example/x").view()));
  EXPECT_TRUE(may_hold(*file, OwnEntry("Q c.example/y?q=1").view()));
  const auto& hosts = file->hosts();
  EXPECT_TRUE(hosts.test(hosts.place(file->keys().host("d.example")), directory_mark(2)));
  EXPECT_TRUE(hosts.test(hosts.place(file->keys().host("c.example")), kVariantMarkUrl));
}

// Why a mark is not counted by one where it tests negative: these test positive by the cells of other hosts, which go.
TEST_F(Counting, AMarkThatOnlySeemedToBeThereStaysWhenTheOthersGo) {
  constexpr int kHosts = 3000, kCandidates = 400'000, kEnough = 3;
  std::string others = "http://anchor.example/x\n";
  for (int i = 0; i < kHosts; ++i) others += "other" + std::to_string(i) + ".example\n";
  ASSERT_TRUE(build({list("others", others)}));
  const auto before = emit();
  std::vector<std::string> victims;
  for (int i = 0; i < kCandidates && victims.size() < kEnough; ++i) {
    const std::string host = "victim" + std::to_string(i) + ".example";
    if (before->hosts().test(before->hosts().place(before->keys().host(host)), kVariantMarkUrl))
      victims.push_back(host);
  }
  ASSERT_EQ(victims.size(), std::size_t{kEnough}) << "the test needs a host section that errs";
  std::string urls;
  for (const std::string& host : victims) urls += "http://" + host + "/listed\n";
  ASSERT_EQ(update({list("urls", urls)}, {}), "");
  ASSERT_EQ(update({}, {list("others", others.substr(others.find('\n') + 1))}), "");
  const auto after = emit();
  EXPECT_EQ(after->header().kinds[index_of(Kind::suffix)].entries, 0U);
  Canonicaliser canonicaliser;
  for (const std::string& host : victims) {
    EXPECT_TRUE(query(*after, nullptr, canonicaliser.url("http://" + host + "/listed"))) << host;
    EXPECT_FALSE(query(*after, nullptr, canonicaliser.url("http://" + host + "/"))) << host;
  }
}

TEST_F(Counting, BitsAreThoseOfMarksCountedOnceAndNeverTakenAway) {
  const std::string anchor = "http://anchor.example/x\n";
  std::string urls, hosts;
  for (int i = 0; i < 400; ++i) {  // one host over and over, and its own name too
    urls += "http://host" + std::to_string(i % 40) + ".example/" + std::to_string(i) + "\n";
    hosts += "host" + std::to_string(i) + ".example\n";
  }
  ASSERT_TRUE(build({list("anchor", anchor), list("hosts", hosts)}));
  ASSERT_EQ(update({list("urls", urls)}, {}), "");
  ASSERT_EQ(update({list("urls", urls)}, {list("urls", urls)}), "") << "gone and there again";
  ASSERT_EQ(update({}, {list("urls", urls), list("hosts", hosts)}), "");
  const auto file = emit();
  const Geometry geometry = file->header().find(SectionType::hosts)->geometry;
  std::vector<std::byte> pages(geometry.bytes());
  SectionWriter marks_alone(geometry, pages.data(), SectionKind::hosts);
  marks_alone.insert(file->keys().host("anchor.example"), kVariantMarkUrl);
  for (int i = 0; i < 40; ++i) {
    marks_alone.insert(file->keys().host("host" + std::to_string(i) + ".example"), kVariantMarkUrl);
  }
  const auto bits = file->section_bytes(SectionType::hosts);
  EXPECT_TRUE(std::equal(bits.begin(), bits.end(), pages.begin(), pages.end()));
  EXPECT_EQ(file->header().marks, 41U);
  EXPECT_LE(updated_.cells.stuck, 41U * 16) << "nothing else reached 15";
}

// Made of one that a later builder wrote, neither the counters nor a filter of them promise what only that one kept.
TEST_F(Counting, PromisesNothingThatThisBuildDoesNotKnow) {
  ASSERT_TRUE(build({list("l", kMixed)}));
  testing_support::promise_more(counting_);
  const auto emitted = emit();
  EXPECT_EQ(emitted->header().minor, 0);
  EXPECT_EQ(emitted->header().compatible & testing_support::kLaterFeature, 0U);
  ASSERT_EQ(update({list("a", "new.example\n")}, {}), "");
  const auto counters = FilterFile::open(counting_, Form::counters);
  ASSERT_TRUE(counters) << counters.error().text();
  EXPECT_EQ((*counters)->header().minor, 0);
  EXPECT_EQ((*counters)->header().compatible & testing_support::kLaterFeature, 0U);
}

TEST_F(Counting, MoreThanTheInformationHoldsIsSaidBeforeAnythingIsCounted) {
  BuildOptions options;
  options.output = counting_;
  options.lists = {list("l", kMixed)};
  options.category = std::string(kMaxInfoBytes, 'x');
  const auto built = build_counting(options, built_);
  ASSERT_FALSE(built);
  EXPECT_EQ(built.error().code, Errc::limit);
  EXPECT_THAT(built.error().what, HasSubstr("more than the information section holds"));
  EXPECT_FALSE(std::filesystem::exists(counting_));
}

TEST_F(Counting, SaysWhatItsListsWereReadWith) {
  BuildOptions options;
  options.output = counting_;
  options.lists = {list("l", "a.example\n")};
  options.read.exact = true;
  ASSERT_TRUE(build_counting(options, built_));
  const auto filter = emit();
  EXPECT_EQ(filter->header().converter_options, kOptionExact);
  EXPECT_GT(filter->header().unicode_version, 0U);
  EXPECT_GT(filter->header().psl_time, 0U);
}

TEST_F(Counting, AnAddedUrlBringsItsMarkDepthAndLabels) {
  ASSERT_TRUE(build({list("l", kMixed)}));
  ASSERT_EQ(update({list("a", "http://one.two.three.four.example/1/2/3/4/5/\nvery.long.name.of.a.host.example\n")}, {}),
            "");
  EXPECT_EQ(updated_.header.max_depth, 5U);
  EXPECT_EQ(updated_.header.max_labels, 7U);
  EXPECT_EQ(updated_.header.sequence, built_.header.sequence + 1);
  const auto file = emit();
  Canonicaliser urls;
  EXPECT_TRUE(query(*file, nullptr, urls.url("http://one.two.three.four.example/1/2/3/4/5/6")));
  EXPECT_TRUE(query(*file, nullptr, urls.url("http://x.very.long.name.of.a.host.example/")));
  EXPECT_FALSE(query(*file, nullptr, urls.url("http://one.two.three.four.example/1/2/3/4/")));
}

// A kind is not asked whose counts are zero, nor a host with labels outside the range.
TEST_F(Counting, WhatIsAddedIsAskedWhateverTheHeaderSaidBefore) {
  write_empty([](Header& h) {
    h.kinds[index_of(Kind::suffix)] = {.entries = ~std::uint64_t{0}, .keys = ~std::uint64_t{0}};
    h.min_labels = h.max_labels = 2;
  });
  ASSERT_EQ(update({list("a", "a.example\n")}, {}), "");
  Canonicaliser urls;
  EXPECT_TRUE(query(*emit(), nullptr, urls.url("http://a.example/")));
  write_empty([](Header& h) { h.kinds[index_of(Kind::suffix)] = {.entries = 1, .keys = 1}; });
  ASSERT_EQ(update({list("a", "a.example\n")}, {}), "");
  EXPECT_EQ(updated_.header.max_labels, 0U) << "nobody knows how many labels the others have";
}

TEST_F(Counting, ASequenceThatCanNotGrowIsNotBegunAnew) {
  write_empty([](Header& h) { h.sequence = ~std::uint64_t{0}; });
  EXPECT_THAT(update({list("a", "a.example\n")}, {}), HasSubstr("its sequence can't grow"));
}

TEST_F(Counting, RemovingIsRefusedWithTheExpectedLossUnlessForced) {
  ASSERT_TRUE(build({list("l", kMixed)}));
  const auto before = std::filesystem::last_write_time(counting_);
  const std::string refusal = update({}, {list("r", "a.example\nnever.example\n")}, false);
  EXPECT_THAT(refusal, testing::AllOf(HasSubstr("limit "), HasSubstr("1 of 2 removals"), HasSubstr("--force")));
  EXPECT_EQ(updated_.risk.listed, 1U);
  EXPECT_EQ(updated_.risk.not_there, 1U);
  EXPECT_GT(updated_.risk.loss, 10) << "cells of a sparse filter have one owner";
  EXPECT_EQ(std::filesystem::last_write_time(counting_), before);
  EXPECT_EQ(update({list("a", "new.example\n")}, {}, false), "") << "adding needs no force";
}

TEST_F(Counting, RefusalsSayWhy) {
  const std::string good = list("l", kMixed);
  EXPECT_THAT(build({"-"}).error().text(), HasSubstr("twice"));
  EXPECT_FALSE(build({}));
  ASSERT_TRUE(build({good}));
  EXPECT_THAT(update({}, {}), HasSubstr("nothing to do"));
  raw_ = true;
  EXPECT_THAT(update({good}, {}), HasSubstr("no section"));
  raw_ = false;
  list("f.bwf", "not a filter");
  EXPECT_THAT(emit_filter({.file = counting_, .output = filter_}).error().text(), HasSubstr("is not a filter"));
  std::filesystem::remove(filter_);
  emit();
  EXPECT_TRUE(emit_filter({.file = counting_, .output = filter_})) << "the same sequence again";
  EXPECT_EQ(emit_filter({.file = filter_, .output = counting_}).error().code, Errc::unsupported);
  std::filesystem::copy_file(counting_, folder_ / "old.bwc");
  ASSERT_EQ(update({good}, {}), "");
  emit();
  EXPECT_EQ(emit_filter({.file = folder_ / "old.bwc", .output = filter_}).error().code, Errc::outdated);
  std::fstream damaged(counting_, std::ios::in | std::ios::out | std::ios::binary);
  damaged.seekp(static_cast<std::streamoff>(built_.header.find(SectionType::hosts)->offset));
  damaged.put('\x77');
  damaged.close();
  EXPECT_THAT(update({good}, {}), HasSubstr("bad_digest"));
}

TEST_F(Counting, CarriesTheExceptionsOfItsLists) {
  const std::string one = list("one", "||one.example^\n@@||pay.one.example^\n@@||both.example^\n");
  ASSERT_TRUE(build({one}));
  const auto beside = [&](const std::filesystem::path& file, const Header& header) {
    return read_exceptions(exceptions_file(file, content_id(header)))->rules;
  };
  EXPECT_THAT(beside(counting_, built_.header), testing::ElementsAre("both.example", "pay.one.example"));
  const Header first = emit()->header();
  EXPECT_THAT(beside(filter_, first), testing::ElementsAre("both.example", "pay.one.example"));
  ASSERT_EQ(update({list("two", "||two.example^\n@@||pay.two.example^\n")}, {one}), "");
  EXPECT_THAT(beside(counting_, updated_.header), testing::ElementsAre("pay.two.example"));
  EXPECT_THAT(beside(counting_, built_.header), testing::IsEmpty());
  EXPECT_THAT(beside(filter_, emit()->header()), testing::ElementsAre("pay.two.example"));
  EXPECT_THAT(beside(filter_, first), testing::SizeIs(2)) << "a proxy may be about to load it";
}

}  // namespace
}  // namespace bloomwall::filter
