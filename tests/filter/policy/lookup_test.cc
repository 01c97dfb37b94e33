// Kinds and shapes of requests against a filter's bits; pages and traces of a look-up.
// SPDX-License-Identifier: Apache-2.0
#include "filter/policy/lookup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "tests/filter/policy/filter_maker.h"

namespace bloomwall::filter {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

class Recorder final : public LookupTrace {
 public:
  explicit Recorder(UrlParts& parts) : parts_(parts) {}
  void asked(const Question& question, LookupAnswer answer) override {
    static constexpr std::array kAnswers{"no", "yes", "removed", "added"};
    told.push_back(text_of(question, parts_) + ": " + kAnswers[static_cast<std::size_t>(answer)]);
  }
  std::vector<std::string> told;

 private:
  UrlParts& parts_;
};

struct Outcome {
  std::string match;  // "D example.com/a/", empty where there is none
  bool by_delta = false;
  bool host_has_marks = false;
  std::uint32_t questions = 0;
  std::vector<std::string> told;
  std::vector<std::size_t> pages;  // pending after each round that had any
};

// One filter file and what look-ups in it say.
class Subject {
 public:
  explicit Subject(const FilterRecipe& recipe, std::string_view changes = {}) {
    file_ = open_filter(make_filter(folder_ / "f.bwf", recipe));
    const std::string text = Delta::first_line(content_id(file_->header())) + "\n" + std::string(changes);
    auto delta = Delta::parse(text, "delta", file_->keys(), content_id(file_->header()));
    if (!delta) throw std::runtime_error(texts_of(delta.error()));
    delta_ = *std::move(delta);
    plan_.emplace(*file_);
  }

  Outcome ask(std::string_view text, Scope scope = Scope::url) {
    const CanonicalUrl& url = canonicaliser_.url(text);
    EXPECT_EQ(url.action, UrlAction::lookup) << text;
    UrlParts parts(url);
    parts.use_form(url.forms[0]);
    UrlHashes hashes(file_->keys(), parts);
    Recorder recorder(parts);
    Lookup lookup({.file = file_.get(), .delta = &*delta_, .plan = &*plan_}, hashes, scope, &recorder);
    Outcome out;
    bool is_done = lookup.start();
    while (!is_done) {
      if (!lookup.pending_pages().empty()) out.pages.push_back(lookup.pending_pages().size());
      for (const std::byte* page : lookup.pending_pages()) {
        const auto bytes = file_->section_bytes(SectionType::paths);
        EXPECT_TRUE(page >= bytes.data() && page < bytes.data() + bytes.size());
        EXPECT_EQ((page - bytes.data()) % static_cast<std::ptrdiff_t>(kPageBytes), 0);
      }
      is_done = lookup.advance();
    }
    if (const auto& match = lookup.match()) {
      out.match = text_of(Question{match->kind, false, match->suffix, match->depth}, parts);
      out.by_delta = match->by_delta;
    }
    out.host_has_marks = lookup.host_has_marks();
    out.questions = lookup.questions();
    out.told = std::move(recorder.told);
    return out;
  }

 private:
  TempFolder folder_;
  std::unique_ptr<FilterFile> file_;
  std::optional<Delta> delta_;
  std::optional<FilterPlan> plan_;
  Canonicaliser canonicaliser_;
};

struct BitShapeRow {
  std::string_view name, entry;
  std::vector<std::string_view> yes, no;
};

class BitShapes : public testing::TestWithParam<std::tuple<BitShapeRow, Layout>> {};

TEST_P(BitShapes, MatchExactlyWhatTheKindSays) {
  const auto& [row, layout] = GetParam();
  Subject subject({.entries = {std::string(row.entry)}, .layout = layout});
  for (const std::string_view url : row.yes) EXPECT_EQ(subject.ask(url).match, row.entry) << url;
  for (const std::string_view url : row.no) EXPECT_EQ(subject.ask(url).match, "") << url;
}

const std::vector<BitShapeRow>& shapes() {
  static const std::vector<BitShapeRow> rows{
      {"Suffix",
       "S example.com",
       {"example.com", "example.com/a?b", "a.b.example.com/x/", "EXAMPLE.com.:80"},
       {"example.org", "com", "badexample.com", "example.com.evil.org"}},
      {"ExactHost", "X example.com", {"example.com", "example.com/a"}, {"a.example.com", "com"}},
      {"Subdomains", "W example.com", {"a.example.com", "a.b.example.com/x"}, {"example.com", "org"}},
      {"Url",
       "U example.com/a/b",
       {"example.com/a/b", "example.com/a/b?q", "example.com/a/b/", "x.example.com/a/b"},
       {"example.com/a", "example.com/a/bc", "example.com/a/b/c", "example.org/a/b", "example.com/", "example.com/x"}},
      {"UrlQuery",
       "Q example.com/a?x=1",
       {"example.com/a?x=1", "example.com/a/?x=1", "s.example.com/a?x=1"},
       {"example.com/a", "example.com/a?x=2", "example.com/a?x=1&y", "example.com/b?x=1", "example.com/a?"}},
      {"QueryOfTheRoot", "Q example.com/?x", {"example.com/?x", "example.com?x"}, {"example.com/", "example.com/a?x"}},
      {"Directory",
       "D example.com/a/b/",
       {"example.com/a/b/", "example.com/a/b", "example.com/a/b/c?q", "example.com/a/b/c/d/", "x.y.example.com/a/b/c"},
       {"example.com/a", "example.com/a/", "example.com/a/bc", "example.com/b/a/b/"}},
      {"Directory15",
       "D example.com/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/",
       {"example.com/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15", "example.com/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17"},
       {"example.com/1/2/3/4/5/6/7/8/9/10/11/12/13/14", "example.com/1/2/3/4/5/6/7/8/9/10/11/12/13/14/16/15"}},
      {"Directory16",
       "D example.com/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/",
       {"example.com/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16",
        "example.com/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17/18/"},
       {"example.com/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15", "example.com/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/17/16"}},
      {"Directory40",
       "D example.com/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/b/",
       {"example.com/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/b/c"},
       {"example.com/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/b"}},
      {"Ipv4",
       "X 192.0.2.1",
       {"192.0.2.1", "192.0.2.1/a", "0xC0.0.2.1", "3221225985"},
       {"192.0.2.2", "1.192.0.2.1.example"}},
      {"Ipv6", "X [2001:db8::1]", {"[2001:DB8:0::1]/x"}, {"[2001:db8::2]/x"}},
      {"UrlOnAnAddress", "U 192.0.2.1/i", {"192.0.2.1:52451/i"}, {"192.0.2.1/", "192.0.2.2/i"}},
      {"LastLabelAlone", "S zip", {"zip", "a.zip/x", "a.b.zip"}, {"zip.com", "azip"}},
      {"SubdomainsOfTheLastLabel", "W zip", {"a.zip/x", "a.b.zip"}, {"zip", "zip.com"}},
      {"ManyLabels",
       "S a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q.example.com",
       {"a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q.example.com", "0.1.2.3.a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q.example.com"},
       {"b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q.example.com"}},
  };
  return rows;
}

std::string name_of(const testing::TestParamInfo<BitShapes::ParamType>& row) {
  const auto& [shape, layout] = row.param;
  return std::string(shape.name) + (layout == Layout::sectors_2x8 ? "_2x8" : "_4x4");
}

INSTANTIATE_TEST_SUITE_P(Kinds, BitShapes,
                         testing::Combine(testing::ValuesIn(shapes()),
                                          testing::Values(Layout::sectors_2x8, Layout::lines_4x4)),
                         name_of);

TEST(Lookup, AnUnlistedHostIsAskedOnlyKindsMarksAndLabelsThatExist) {
  Subject hosts({.entries = {"S example.com", "S b.example.org"}});
  EXPECT_THAT(hosts.ask("w.x.y.z.test/a?b").told, ElementsAre("S y.z.test: no", "S z.test: no"));
  EXPECT_EQ(hosts.ask("w.x.y.z.test/a?b").questions, 2U);
  Subject paths({.entries = {"U example.com/a", "D example.com/a/b/"}});
  EXPECT_THAT(paths.ask("x.test/a?b").told, ElementsAre("mark U x.test: no", "mark D2 x.test: no"));
  Subject kinds({.entries = {"X a.example.com", "W example.com"}});
  EXPECT_THAT(kinds.ask("a.b.test").told, ElementsAre("X a.b.test: no", "W b.test: no"));
  Subject addresses({.entries = {"X 192.0.2.1", "S example.com"}});
  EXPECT_THAT(addresses.ask("192.0.2.9/x").told, ElementsAre("X 192.0.2.9: no"));
  EXPECT_THAT(addresses.ask("a.example.org").told, ElementsAre("S example.org: no"));
}

TEST(Lookup, AHostOutsideTheRangeOfLabelsIsNotAsked) {
  Subject subject({.entries = {"S a.b.example.com"}});
  EXPECT_THAT(subject.ask("example.com").told, IsEmpty());
  EXPECT_THAT(subject.ask("x.a.b.example.com").told, ElementsAre("S a.b.example.com: yes"));
  Subject addresses({.entries = {"X 192.0.2.1"}});
  EXPECT_THAT(addresses.ask("a.example.com").told, ElementsAre("X a.example.com: no")) << "no range is known";
  Subject raw({.entries = {"R anything"}});
  EXPECT_THAT(raw.ask("example.com/a").told, IsEmpty());
}

TEST(Lookup, AMarkedHostIsAskedWhatItsMarksAnnounceAndTheRequestHas) {
  Subject subject({.entries = {"U example.com/u", "D example.com/x/y/", "Q other.test/q?q", "D other.test/x/"}});
  EXPECT_THAT(subject.ask("example.com/a/b/c?q").told,
              ElementsAre("mark U example.com: yes", "mark Q example.com: no", "mark D1 example.com: no",
                          "mark D2 example.com: yes", "U example.com/a/b/c: no", "D example.com/a/b/: no"));
  EXPECT_THAT(subject.ask("example.com/a").told, Not(Contains("D example.com/a/: no"))) << "no entry at depth 1 there";
  EXPECT_THAT(subject.ask("other.test/a").told,
              AllOf(Not(Contains("Q other.test/a?: no")), Contains("D other.test/a/: no")));
  EXPECT_EQ(subject.ask("example.com/a/b/c?q").questions, 6U);
}

TEST(Lookup, DepthsBeyondTheDeepestEntryAreNotAsked) {
  std::string path;
  for (int i = 0; i < 20; ++i) path += "/d";
  Subject subject({.entries = {"D example.com" + path + "/"}});
  const Outcome out = subject.ask("example.com" + path + "/e/f/g");
  EXPECT_EQ(out.match, "D example.com" + path + "/");
  const Outcome other = subject.ask("example.com/x" + path + "/e/f/g");
  EXPECT_EQ(other.match, "");
  EXPECT_EQ(other.questions, 1U + 5U) << "the mark, then depths 16 to 20 of 24";
}

TEST(Lookup, NamesThePagesOfEachRoundBeforeItReadsThem) {
  std::string path;
  for (int i = 0; i < 60; ++i) path += "/d";
  Subject subject({.entries = {"D example.com" + path + "/", "U example.com/u"}, .path_pages = 64});
  EXPECT_THAT(subject.ask("other.com/a/b").pages, IsEmpty()) << "an unlisted host touches no page of P";
  EXPECT_THAT(subject.ask("example.com/a").pages, ElementsAre(1U));
  const Outcome out = subject.ask("example.com/x" + path);
  EXPECT_THAT(out.pages, ElementsAre(16U, 16U, 14U)) << "U and the depths 16 to 60";
  EXPECT_EQ(out.questions, 2U + 46U);
}

TEST(Lookup, AHitEndsIt) {
  Subject subject({.entries = {"S com", "S a.com", "U a.com/x"}});
  EXPECT_THAT(subject.ask("a.com/x").told, ElementsAre("S a.com: yes", "mark U a.com: yes"));
  Subject paths({.entries = {"U a.com/x", "D a.com/x/"}});
  EXPECT_THAT(paths.ask("a.com/x").told, Contains("U a.com/x: yes"));
  EXPECT_THAT(paths.ask("a.com/x").told, Not(Contains(testing::StartsWith("D a.com"))));
}

TEST(Lookup, AHostOf127LabelsIsAskedToTheLast) {
  std::string host = "a";
  for (int i = 1; i < 126; ++i) host += ".a";
  Subject subject({.entries = {"S b", "X b." + host, "S example.com"}});
  const Outcome out = subject.ask("b." + host);
  EXPECT_EQ(out.match, "X b." + host);
  const Outcome none = subject.ask("c." + host);
  EXPECT_EQ(none.match, "");
  EXPECT_EQ(none.questions, 127U + 1U) << "S of each suffix, X of the host";
  EXPECT_EQ(subject.ask(host.substr(2) + ".b").match, "S b");
}

TEST(Lookup, ManyMarkedSuffixesAreAllAsked) {
  FilterRecipe recipe;
  std::string host = "a";
  for (int i = 0; i < 20; ++i) {
    recipe.entries.push_back("U " + host + "/" + std::to_string(i));
    host = "a." + host;
  }
  Subject subject(recipe);
  const std::string deepest = host.substr(2);
  for (int i = 0; i < 20; ++i) {
    const Outcome out = subject.ask(deepest + "/" + std::to_string(i));
    EXPECT_EQ(out.match, recipe.entries[static_cast<std::size_t>(i)]);
  }
  EXPECT_EQ(subject.ask(deepest + "/20").questions, 40U);
}

TEST(LookupWithDelta, AnAddedEntryIsAHitWhateverTheHeaderSays) {
  Subject subject({.entries = {"S a.b.example.com"}},
                  "+test\n+http://example.org/a/b/c/\n+X 192.0.2.1\n+http://example.net/u?q\n+W w.example\n");
  for (const auto& [url, match] :
       std::vector<std::pair<std::string, std::string>>{{"x.y.test/z", "S test"},
                                                        {"s.example.org/a/b/c/d", "D example.org/a/b/c/"},
                                                        {"192.0.2.1/x", "X 192.0.2.1"},
                                                        {"example.net/u?q", "Q example.net/u?q"},
                                                        {"a.w.example", "W w.example"}}) {
    const Outcome out = subject.ask(url);
    EXPECT_EQ(out.match, match);
    EXPECT_TRUE(out.by_delta);
    EXPECT_EQ(out.questions, 0U) << "the bits are not asked";
    EXPECT_THAT(out.told, ElementsAre(match + ": added"));
  }
  for (const std::string_view url : {"example.org/a/b", "example.net/u", "w.example", "192.0.2.2", "tests"}) {
    EXPECT_EQ(subject.ask(url).match, "") << url;
  }
}

TEST(LookupWithDelta, ARemovedEntryIsNotAskedAndTheOthersAre) {
  Subject subject({.entries = {"S example.com", "X example.com", "U x.test/a", "D x.test/a/", "D x.test/a/b/",
                               "Q x.test/a?q", "U y.x.test/a/b/c"}},
                  "-example.com\n-http://x.test/a\n-http://x.test/a/b/\n");
  EXPECT_EQ(subject.ask("example.com/a").match, "");
  EXPECT_THAT(subject.ask("example.com/a").told,
              AllOf(Contains("S example.com: removed"), Contains("X example.com: removed"),
                    Not(Contains("S example.com: yes"))));
  EXPECT_EQ(subject.ask("a.example.com").match, "") << "the S of the parent is gone";
  EXPECT_EQ(subject.ask("x.test/a").match, "D x.test/a/") << "the directory of that name stays";
  EXPECT_EQ(subject.ask("x.test/a?q").match, "Q x.test/a?q");
  EXPECT_EQ(subject.ask("x.test/a/b/z").match, "D x.test/a/");
  EXPECT_EQ(subject.ask("y.x.test/a/b/c").match, "U y.x.test/a/b/c");
}

TEST(LookupWithDelta, RemovedPathsOfSeveralSuffixesAreToldApart) {
  Subject subject(
      {.entries = {"D a.test/x/", "D b.a.test/x/", "D c.b.a.test/x/", "D c.b.a.test/x/y/", "D a.test/x/y/z/"}},
      "-http://c.b.a.test/x/\n-http://b.a.test/x/\n-http://a.test/x/\n-http://a.test/x/y/z/\n");
  EXPECT_EQ(subject.ask("c.b.a.test/x/1").match, "");
  EXPECT_EQ(subject.ask("c.b.a.test/x/y/z").match, "D c.b.a.test/x/y/");
  EXPECT_EQ(subject.ask("b.a.test/x/y/z").match, "");
}

TEST(LookupWithDelta, AParentsEntryStillHoldsWhereTheChildsIsRemoved) {
  Subject subject({.entries = {"S a.example.com", "S example.com"}}, "-a.example.com\n");
  EXPECT_EQ(subject.ask("a.example.com").match, "S example.com");
}

TEST(LookupOfAHost, AsksHostKindsAndNotesMarks) {
  Subject subject({.entries = {"S example.com", "U example.org/a"}}, "+http://added.test/x\n");
  EXPECT_EQ(subject.ask("example.com/a", Scope::host).match, "S example.com");
  const Outcome marked = subject.ask("www.example.org/a", Scope::host);
  EXPECT_EQ(marked.match, "");
  EXPECT_TRUE(marked.host_has_marks);
  EXPECT_THAT(marked.pages, IsEmpty());
  EXPECT_TRUE(subject.ask("added.test", Scope::host).host_has_marks);
  EXPECT_FALSE(subject.ask("plain.test", Scope::host).host_has_marks);
}

}  // namespace
}  // namespace bloomwall::filter
