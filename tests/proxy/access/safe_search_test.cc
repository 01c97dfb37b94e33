// SPDX-License-Identifier: Apache-2.0
#include "proxy/access/safe_search.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "tests/support/temp_dir.h"

namespace bloomwall::proxy {
namespace {

conf::Config with_groups(const std::vector<std::vector<std::string>>& engines) {
  conf::Config settings;
  for (const auto& of : engines) {
    conf::Group& group = settings.groups.emplace_back();
    group.name = "g" + std::to_string(settings.groups.size());
    group.clients = {"10.0.0.0/8"};
    group.safe_search = of;
  }
  return settings;
}

std::string dialled(const SafeSearch& of, std::size_t group, std::string_view host) {
  return std::string(of.find(group, host).dialled);
}

TEST(SafeSearchMap, ReadsWhatItsLinesSay) {
  const auto map = SafeSearchMap::parse(
      "\xef\xbb\xbf# ours\r\n\r\nfind safe.find.test www.find. test Example # two\n"
      "strict strict.find.test www.find.test\nfind other.find.test B\xc3\xbc"
      "cher.test\n");
  ASSERT_TRUE(map) << map.error();
  EXPECT_EQ(map->engines(), (std::vector<std::string>{"find", "strict"}));
  EXPECT_EQ(map->size(), 3U);
  const auto* const rules = map->find("www.find.test");
  ASSERT_NE(rules, nullptr);
  ASSERT_EQ(rules->size(), 2U);
  EXPECT_EQ(rules->front().dialled, "safe.find.test");
  EXPECT_EQ(rules->back().dialled, "strict.find.test");
  EXPECT_EQ(map->find("www.find.example")->front().dialled, "safe.find.test");
  EXPECT_EQ(map->find("xn--bcher-kva.test")->front().dialled, "other.find.test");
  EXPECT_EQ(map->find("find.test"), nullptr) << "no suffixes are meant";
}

struct WrongMap {
  std::string_view name;
  std::string text;
  std::string_view why;
};
void PrintTo(const WrongMap& test, std::ostream* out) { *out << test.name; }

class WrongMaps : public testing::TestWithParam<WrongMap> {};

TEST_P(WrongMaps, AreRefusedWithTheirLine) {
  const auto map = SafeSearchMap::parse("# first\n" + GetParam().text);
  ASSERT_FALSE(map);
  EXPECT_TRUE(map.error().starts_with(std::string("2: ") + std::string(GetParam().why))) << map.error();
}

std::string many(std::size_t count, std::string_view before, std::string_view behind) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += std::string(before) + std::to_string(i) + std::string(behind);
  return text;
}

INSTANTIATE_TEST_SUITE_P(
    Rows, WrongMaps,
    testing::Values(WrongMap{"AnEngineAlone", "find", "\"\" is not a host name"},
                    WrongMap{"NoHosts", "find safe.test", "no host is named"},
                    WrongMap{"ABadEngine", "fi/nd safe.test www.test", "\"fi/nd\" is not the name of an engine"},
                    WrongMap{"ABadDialledName", "find 192.0.2.1 www.test", "\"192.0.2.1\" is not a host name"},
                    WrongMap{"ABadHost", "find safe.test www.test/x", "\"www.test/x\" is not a host name"},
                    WrongMap{"AnAddress", "find safe.test 192.0.2.1", "\"192.0.2.1\" is not a host name"},
                    WrongMap{"APrefixAlone", "find safe.test www.", "nothing follows \"www.\""},
                    WrongMap{"AHostTwice", "find safe.test a.test A.test", "a.test is given twice for find"},
                    WrongMap{"TooManyHosts", "find safe.test" + many(SafeSearchMap::kMostHosts + 1, " h", ".test"),
                             "more than 10000 hosts"}),
    [](const auto& row) { return std::string(row.param.name); });

TEST(SafeSearchMap, HasItsLimits) {
  EXPECT_TRUE(SafeSearchMap::parse(many(SafeSearchMap::kMostEngines, "e", " s.test a.test\n")));
  const auto engines = SafeSearchMap::parse(many(SafeSearchMap::kMostEngines + 1, "e", " s.test a.test\n"));
  ASSERT_FALSE(engines);
  EXPECT_EQ(engines.error(), "65: more than 64 engines");
  EXPECT_FALSE(SafeSearchMap::parse(std::string(SafeSearchMap::kMostBytes + 1, '\n')));
}

TEST(SafeSearchMap, TheOneThatIsBuiltInCanBeRead) {
  const auto map = SafeSearchMap::parse(built_in_safe_search());
  ASSERT_TRUE(map) << map.error();
  EXPECT_EQ(map->engines(), (std::vector<std::string>{"google", "youtube_strict", "youtube_moderate", "bing",
                                                      "duckduckgo", "ecosia", "brave", "qwant", "yandex", "pixabay"}));
  EXPECT_EQ(map->find("search.brave.com")->front().dialled, "forcesafe.search.brave.com");
  EXPECT_EQ(map->find("api.qwant.com")->front().dialled, "safeapi.qwant.com");
  EXPECT_EQ(map->find("www.yandex.com.tr")->front().dialled, "familysearch.yandex.ru");
  for (const char* host : {"www.google.com", "www.google.de", "www.google.co.uk", "www.google.com.au", "google.com"}) {
    ASSERT_NE(map->find(host), nullptr) << host;
    EXPECT_EQ(map->find(host)->front().dialled, "forcesafesearch.google.com") << host;
  }
  EXPECT_EQ(map->find("mail.google.com"), nullptr);
  EXPECT_EQ(map->find("www.youtube.com")->size(), 2U);
  EXPECT_GT(map->size(), 190U);
}

TEST(SafeSearch, IsWhatAGroupAsksFor) {
  const auto made = SafeSearch::compile(with_groups({{"google", "youtube_moderate"}, {}, {"youtube_strict"}}));
  ASSERT_TRUE(made) << made.error().front();
  const SafeSearch& of = **made;
  EXPECT_EQ(dialled(of, 0, "www.google.com"), "forcesafesearch.google.com");
  EXPECT_EQ(of.find(0, "www.google.com").engine, "google");
  EXPECT_EQ(dialled(of, 0, "www.youtube.com"), "restrictmoderate.youtube.com");
  EXPECT_EQ(dialled(of, 0, "www.bing.com"), "");
  EXPECT_EQ(dialled(of, 1, "www.google.com"), "");
  EXPECT_EQ(dialled(of, 2, "www.youtube.com"), "restrict.youtube.com");
  EXPECT_EQ(dialled(of, 2, "www.google.com"), "");
  EXPECT_EQ(dialled(of, 3, "www.google.com"), "") << "whoever is in no group";
}

TEST(SafeSearch, IsNothingWhereNobodyAsks) {
  EXPECT_EQ(SafeSearch::compile(with_groups({{}, {}})).value(), nullptr);
  EXPECT_EQ(SafeSearch::compile({}).value(), nullptr);
}

TEST(SafeSearch, TakesAMapOfYours) {
  const test::TempDir dir;
  conf::Config settings = with_groups({{"find"}});
  settings.safe_search_map = dir.write("map.txt", "find safe.test www.find.test\n");
  EXPECT_EQ(dialled(**SafeSearch::compile(settings), 0, "www.find.test"), "safe.test");
  settings.groups.front().safe_search = {"google"};
  EXPECT_EQ(SafeSearch::compile(settings).error().front(),
            "groups[0].safe_search: there is no engine \"google\"; there are find");
  settings.safe_search_map = dir.write("map.txt", "\nfind safe.test\n");
  EXPECT_EQ(SafeSearch::compile(settings).error().front(),
            "safe_search_map: " + settings.safe_search_map.string() + ":2: no host is named");
  settings.groups.clear();
  EXPECT_FALSE(SafeSearch::compile(settings)) << "what is wrong is told even so";
  settings.safe_search_map = dir.path() / "none.txt";
  EXPECT_NE(SafeSearch::compile(settings).error().front().find("No such file"), std::string::npos);
}

}  // namespace
}  // namespace bloomwall::proxy
