// What a switch puts over what a group does, and until when.
// SPDX-License-Identifier: Apache-2.0
#include "proxy/access/switches.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace bloomwall::proxy {
namespace {

using filter::FilterAction;
using filter::Otherwise;

Switch switch_of(const std::string& text, Instant until, const std::string& group = "pupils") {
  auto made = read_switch(text);
  EXPECT_TRUE(made.has_value()) << text;
  made->group = group;
  made->until = until;
  return *made;
}

// "block off monitor no_decrypt; allow" of the filters games, malware (which takes no exceptions), ads and banks.
std::string view_of(const std::vector<Switch>& switches, Instant at) {
  static const std::vector<std::string> names{"games", "malware", "ads", "banks"};
  static const std::vector<bool> take_exceptions{true, false, true, true};
  filter::PolicyView view{
      .actions = {FilterAction::block, FilterAction::block, FilterAction::monitor, FilterAction::no_decrypt}};
  apply_switches(switches, "pupils", at, {names, take_exceptions}, view);
  std::string out;
  for (const FilterAction action : view.actions) out += std::string(out.empty() ? "" : " ") + to_string(action);
  return out + "; " + to_string(view.otherwise);
}

TEST(SwitchText, ReadsBack) {
  for (const std::string text : {"pause", "otherwise=deny", "otherwise=allow", "filters.games=off", "filters.a.b=block",
                                 "filters.games=monitor", "filters.games=allow"}) {
    const auto made = read_switch(text);
    ASSERT_TRUE(made.has_value()) << text;
    EXPECT_EQ(made->text(), text);
    EXPECT_EQ(made->key(), text.substr(0, text.find('=')));
  }
}

TEST(SwitchText, NothingElseIsOne) {
  for (const std::string& text :
       {std::string(), std::string("pause=1"), std::string("otherwise"), std::string("otherwise=maybe"),
        std::string("filters.=off"), std::string("filters.games"), std::string("filters.games=no_decrypt"),
        std::string("games=off"), "filters." + std::string(200, 'a') + "=off"}) {
    EXPECT_FALSE(read_switch(text).has_value()) << text;
  }
}

TEST(Switches, StandOverTheirGroupUntilTheyEnd) {
  EXPECT_EQ(view_of({}, 100), "block block monitor no_decrypt; allow");
  const std::vector<Switch> some{switch_of("filters.games=off", 200), switch_of("otherwise=deny", 150),
                                 switch_of("filters.ads=block", 200, "staff"), switch_of("filters.nobody=off", 200)};
  EXPECT_EQ(view_of(some, 149), "off block monitor no_decrypt; deny");
  EXPECT_EQ(view_of(some, 150), "off block monitor no_decrypt; allow");
  EXPECT_EQ(view_of(some, 200), "block block monitor no_decrypt; allow");
}

TEST(Switches, APauseLeavesWhatTakesNoExceptionsAndWhatStopsNothing) {
  const Switch pause = switch_of("pause", 200);
  EXPECT_EQ(view_of({pause}, 100), "off block off no_decrypt; allow");
  EXPECT_EQ(view_of({pause, switch_of("filters.ads=block", 200)}, 100), "off block off no_decrypt; allow")
      << "it counts before others";
  EXPECT_EQ(view_of({pause, switch_of("otherwise=deny", 200)}, 100), "off block off no_decrypt; deny");
}

TEST(Switches, AFilterThatTakesNoExceptionsCanOnlyBeMadeToBlock) {
  for (const std::string action : {"off", "monitor", "allow"}) {
    EXPECT_EQ(view_of({switch_of("filters.malware=" + action, 200)}, 100), "block block monitor no_decrypt; allow")
        << action;
  }
  filter::PolicyView view{.actions = {FilterAction::monitor}};
  const std::vector<std::string> names{"malware"};
  const std::vector<bool> take_exceptions{false};
  apply_switches(std::vector{switch_of("filters.malware=block", 200)}, "pupils", 100, {names, take_exceptions}, view);
  EXPECT_EQ(view.actions.front(), FilterAction::block);
}

TEST(Switches, TheNextEndIsTheFirstThatComes) {
  const std::vector<Switch> some{switch_of("pause", 200), switch_of("otherwise=deny", 150)};
  EXPECT_EQ(next_end(some, 100, 1000), 150);
  EXPECT_EQ(next_end(some, 150, 1000), 200);
  EXPECT_EQ(next_end(some, 200, 1000), 1000);
  EXPECT_EQ(next_end(some, 100, 120), 120);
}

}  // namespace
}  // namespace bloomwall::proxy
