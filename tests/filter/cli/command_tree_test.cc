// What completions and manual pages are written from, on a command line of this test. That the shells and groff take
// what the programs print is tested with these (tests/documents_test.py).
// SPDX-License-Identifier: Apache-2.0
#include "filter/cli/command_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "filter/cli/completion.h"
#include "filter/cli/manual.h"
#include "tests/filter/cli/option_places.h"
#include "tests/filter/cli/run.h"
#include "tests/support/temp_dir.h"

namespace bloomwall::filter {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class CommandTree : public testing::Test {
 protected:
  CommandTree() {
    CLI::App* const sample = app_.add_subcommand("sample", "takes a sample: [it's so]");
    sample->footer("Words first,\nand a table:\n  a    b_c\nthen words.");
    sample->add_option("-o,--output", text_, "the file")->type_name("FILE")->required();
    sample->add_option("--name", text_, "a name")->type_name("NAME");
    sample->add_option("--secret", text_, "not shown")->group("");
    sample->add_flag("-q,--quiet", quiet_, "no words");
    sample->add_option("lists", texts_, "lists to read")->type_name("LIST")->required();
    CLI::App* const pair = app_.add_subcommand("pair", "two of a kind");
    pair->add_subcommand("make", "makes it");
    pair->add_subcommand("break", "breaks it");
    app_.add_subcommand("hidden", "not shown")->group("");
  }
  std::string script(const char* shell) { return completion(describe(app_), shell).value_or(""); }

  CLI::App app_{"A program.", "two-words"};
  std::string text_;
  bool quiet_ = false;
  std::vector<std::string> texts_;
};

TEST_F(CommandTree, HoldsWhatHelpShows) {
  const CommandInfo info = describe(app_);
  ASSERT_EQ(info.commands.size(), 2U);
  const CommandInfo& sample = info.commands[0];
  EXPECT_EQ(sample.name, "sample");
  ASSERT_EQ(sample.options.size(), 4U);
  EXPECT_THAT(sample.options[0].names, ElementsAre("-h", "--help"));
  EXPECT_EQ(sample.options[0].value, "");
  EXPECT_THAT(sample.options[1].names, ElementsAre("-o", "--output"));
  EXPECT_EQ(sample.options[1].value, "FILE");
  EXPECT_TRUE(sample.options[1].required);
  EXPECT_TRUE(takes_file(sample.options[1]));
  EXPECT_FALSE(takes_file(sample.options[2]));
  ASSERT_EQ(sample.arguments.size(), 1U);
  EXPECT_THAT(sample.arguments[0].names, ElementsAre("lists"));
  EXPECT_TRUE(sample.arguments[0].repeated);
  EXPECT_EQ(info.commands[1].commands.size(), 2U);
}

TEST_F(CommandTree, TheManualHoldsEveryOptionAndKeepsTables) {
  const std::string text = manual(describe(app_));
  EXPECT_THAT(
      text,
      HasSubstr("## sample\n\n*sample* *--output* _FILE_ [_OPTION_...] _lists_...\n\nTakes a sample: [it's so].\n"));
  EXPECT_THAT(text, HasSubstr("*-o*, *--output* _FILE_\n\tThe file.\n"));
  EXPECT_THAT(text, HasSubstr("Words first, and a table:\n\n```\na    b_c\n```\n\nthen words.\n"));
  EXPECT_THAT(text, HasSubstr("## pair break\n"));
  EXPECT_THAT(text, Not(HasSubstr("not shown")));
  EXPECT_THAT(text, Not(HasSubstr("## pair\n"))) << "nothing can be said with it alone";
}

TEST_F(CommandTree, EachShellHasItsScript) {
  EXPECT_THAT(script("bash"), HasSubstr("complete -F _two_words two-words\n"));
  EXPECT_THAT(script("bash"), HasSubstr("'/pair') words='make break -h --help' ;;\n"));
  EXPECT_THAT(script("bash"), HasSubstr("'/sample:-o' | '/sample:--output')"));
  EXPECT_THAT(script("zsh"), HasSubstr("'sample:takes a sample\\: \\[it'\\''s so\\]'"));
  EXPECT_THAT(script("fish"), HasSubstr("-a sample -d 'takes a sample: [it\\'s so]'\n"));
  for (const char* shell : {"bash", "zsh", "fish"}) EXPECT_THAT(script(shell), Not(HasSubstr("not shown"))) << shell;
  EXPECT_FALSE(completion(describe(app_), "ksh").has_value());
}

TEST(CommandLine, EveryOptionMeansTheSameWhereverItStands) {
  std::istringstream in;
  std::ostringstream out, err;
  with_command_line({.in = in, .out = out, .err = err}, [](CLI::App& app, const int&) {
    EXPECT_GT(test::OptionPlaces(app).check(), 100U) << "options, flags among them";
    return 0;
  });
}

TEST(CommandLine, AWordInBracketsStaysWhole) {
  test::TempDir dir;
  const std::string list = dir.write("list", "http://[2001:db8::1]/a\n[2001:db8::2]\n").string();
  const std::string filter = (dir.path() / "f.bwf").string();
  ASSERT_EQ(test::run({"build", "-q", "-o", filter, "--format", "urls", list}).status, 0);
  EXPECT_EQ(test::run({"query", filter, "[2001:db8::1]", "[a,b]"}).out,
            "clear\t[2001:db8::1]\ninvalid\t[a,b]\tmalformed IPv6 address\n");
  EXPECT_EQ(test::run({"info", filter, "[x,y]"}).err, "bloomwall-filter: unknown argument: [x,y]\n");
}

// The value is empty, and the word behind it a list like others.
TEST(CommandLine, AnOptionWithoutAWordBehindItsSignTakesNoOther) {
  test::TempDir dir;
  const std::string first = dir.write("first", "a.example\n").string();
  const std::string second = dir.write("second", "b.example\n").string();
  const std::string filter = (dir.path() / "f.bwf").string();
  ASSERT_EQ(test::run({"build", "-q", "-o", filter, "--category=", first, second}).status, 0);
  EXPECT_THAT(test::run({"query", filter, "a.example", "b.example"}).out, Not(HasSubstr("clear")));
  EXPECT_EQ(test::run({"build", "-q", "-o", filter, "--known-good=", first, second}).status, 2);
  EXPECT_THAT(test::run({"build", "-q", "-o", filter, "--fpr=", first}).err, HasSubstr("--fpr: '' is not a rate"));
  EXPECT_EQ(test::run({"build", "-o", filter, "--quiet=", first}).status, 2);
  EXPECT_THAT(test::run({"query", filter, "--", "--a="}).out, Not(HasSubstr("\\x00")));
}

TEST(SelfDescription, TheProgramPrintsItAndHelpDoesNotNameIt) {
  EXPECT_THAT(test::run({"completion", "bash"}).out, HasSubstr("complete -F _bloomwall_filter bloomwall-filter\n"));
  EXPECT_THAT(test::run({"manual"}).out, HasSubstr("## build\n"));
  EXPECT_THAT(test::run({"--help"}).out, Not(HasSubstr("completion")));
  const auto ksh = test::run({"completion", "ksh"});
  EXPECT_EQ(ksh.status, 2);
  EXPECT_EQ(ksh.err, "bloomwall-filter: ksh: none of bash, zsh, fish\n");
}

}  // namespace
}  // namespace bloomwall::filter
