// Every command with every exit status, through the command line, on streams.
// SPDX-License-Identifier: Apache-2.0
#include "filter/cli/program.h"
#include "base/encoding.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "filter/file/filter_file.h"
#include "filter/policy/delta.h"
#include "tests/filter/cli/run.h"
#include "tests/support/temp_dir.h"

namespace bloomwall::filter {
namespace {

using test::Ran;
using test::run;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class ProgramTest : public testing::Test {
 protected:
  ProgramTest() {
    list_ = write("list.txt", "bad.example\nworse.example\n");
    urls_ =
        write("urls.txt", "http://half.example/bad/thing.html\nhttp://half.example/dir/\nhttp://half.example/q?x=1\n");
    filter_ = (dir_.path() / "f.bwf").string();
  }
  std::string write(const std::string& name, std::string_view text) const { return dir_.write(name, text).string(); }
  Ran build() { return run({"build", "-o", filter_, list_, urls_}); }
  void damage(std::streamoff at) const {
    std::fstream file(filter_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(at);
    const char byte = static_cast<char>(file.get() ^ 1);
    file.seekp(at);
    file.put(byte);
  }
  test::TempDir dir_;
  std::string list_, urls_, filter_;
};

TEST_F(ProgramTest, HelpAndVersionGoToStdout) {
  for (const char* command : {"", "build", "info", "query", "verify", "plan"}) {
    std::vector<std::string> arguments{"--help"};
    if (*command != 0) arguments.insert(arguments.begin(), command);
    const Ran ran = run(arguments);
    EXPECT_EQ(ran.status, 0);
    EXPECT_THAT(ran.out, HasSubstr("Usage:")) << command;
    EXPECT_EQ(ran.err, "");
  }
  EXPECT_EQ(run({"--version"}).out, "bloomwall-filter " BLOOMWALL_VERSION "\n");
}

TEST_F(ProgramTest, WhatIsMisspeltIsNamedBeforeWhatIsMissing) {
  const struct {
    std::vector<std::string> arguments;
    const char* unknown;
  } kCases[] = {{{"biuld"},
                 "unknown command 'biuld'; there are build, merge, info, query, verify, plan, dedup, count, map, "
                 "reduce, assemble, keygen, sign, update, emit, release"},
                {{"--versoin"}, "unknown argument: --versoin"},
                {{"build", "--ouput", "x", list_}, "unknown argument: --ouput"},
                {{"info", filter_, "second", "third"}, "unknown argument: second"}};
  for (const auto& [arguments, unknown] : kCases) {
    const Ran ran = run(arguments);
    EXPECT_EQ(ran.status, 2);
    EXPECT_EQ(ran.err, fmt::format("bloomwall-filter: {}\n", unknown));
  }
}

TEST_F(ProgramTest, HelpNamesEveryOption) {
  const std::string help = run({"build", "--help"}).out;
  for (const char* option : {"--output",
                             "--format",
                             "--csv-column",
                             "--raw",
                             "--exact",
                             "--hosts-as-suffix",
                             "--strict-wildcard",
                             "--allow-tld",
                             "--aggressive",
                             "--path-info",
                             "--index-files",
                             "--query-spellings",
                             "--white",
                             "--allow-unsupported",
                             "--allow-out",
                             "--report-marks",
                             "--category",
                             "--fpr",
                             "--memory",
                             "--series-key",
                             "--new-series",
                             "--file-id",
                             "--created",
                             "--sequence",
                             "--valid-until",
                             "--max-shrink",
                             "--known-good",
                             "--exact-side",
                             "--ram",
                             "--threads",
                             "--measure",
                             "--json",
                             "--quiet",
                             "SOURCE_DATE_EPOCH",
                             "Exit status"}) {
    EXPECT_THAT(help, HasSubstr(option));
  }
  for (const char* option : {"--delta", "--raw", "--json", "listed<TAB>URL<TAB>expression"}) {
    EXPECT_THAT(run({"query", "--help"}).out, HasSubstr(option));
  }
  for (const char* option : {"--fpr", "--force", "--measure", "--known-good", "--no-provenance", "--json"}) {
    EXPECT_THAT(run({"merge", "--help"}).out, HasSubstr(option));
  }
  EXPECT_THAT(run({"merge", "--help"}).out, Not(HasSubstr("{false}"))) << "the library's word for a negated flag";
  for (const char* option : {"--entries", "--hosts", "--kinds", "--memory", "--fpr", "--json"}) {
    EXPECT_THAT(run({"plan", "--help"}).out, HasSubstr(option));
  }
}

TEST_F(ProgramTest, WrongUsageIs2AndSaysWhy) {
  struct Case {
    std::vector<std::string> arguments;
    const char* message;
  };
  for (const auto& [arguments, message] :
       {Case{{}, "subcommand"}, Case{{"frobnicate"}, "frobnicate"}, Case{{"build", list_}, "--output"},
        Case{{"build", "-o", filter_}, "lists"},
        Case{{"build", "-o", filter_, list_, "--fpr", "2"}, "'2' is not a rate between 0 and 1"},
        Case{{"build", "-o", filter_, list_, "--memory", "lots"}, "'lots' is not a size"},
        Case{{"build", "-o", filter_, list_, "--format", "xml"}, "'xml' is none of auto, domains, hosts"},
        Case{{"build", "-o", filter_, list_, "--file-id", "12"}, "'12' is not 32 hexadecimal digits"},
        Case{{"build", "-o", filter_, list_, "--max-shrink", "120"}, "'120' is not a percentage from 0 to 100"},
        Case{{"build", "-o", filter_, list_, "--white", "maybe"}, "'maybe' is none of refuse, allow, block"},
        Case{{"build", "-o", filter_, list_, "--threads", "0"}, "--threads"},
        Case{{"build", "-o", filter_, list_, "--no-such-option"}, "--no-such-option"}, Case{{"info"}, "file"},
        Case{{"plan"}, "--entries"}, Case{{"plan", "--entries", "many"}, "'many' is not a whole count"},
        Case{{"plan", "--entries", "10", "--kinds", "Z=1"}, "'Z=1' is not KIND=SHARE"},
        Case{{"plan", "--entries", "10", "--kinds", "S"}, "'S' is not KIND=SHARE"},
        Case{{"plan", "--entries", "10", "--kinds", "S=0"}, "add up to nothing"},
        Case{{"plan", "--entries", "0"}, "at least 1"}}) {
    const Ran ran = run(arguments);
    EXPECT_EQ(ran.status, 2) << message;
    EXPECT_THAT(ran.err, HasSubstr(message));
    EXPECT_EQ(ran.out, "");
  }
}

TEST_F(ProgramTest, BuildReportsOnStderrAndIsQuietWhenTold) {
  const Ran ran = build();
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_EQ(ran.out, "");
  for (const char* part : {"list.txt: domains (detected)",
                           "5 distinct entries on 3 hosts (host and subdomains: 2; URL, any query: 1; URL with query: "
                           "1; directory: 1); 0 duplicates",
                           "sequence 1", "error of a request at p99, predicted:", "on a listed one"}) {
    EXPECT_THAT(ran.err, HasSubstr(part));
  }
  EXPECT_THAT(ran.err, Not(HasSubstr("\r"))) << "no progress where there is no terminal";
  const Ran quiet = run({"build", "-q", "-o", filter_, list_});
  EXPECT_EQ(quiet.status, 0);
  EXPECT_EQ(quiet.err + quiet.out, "");
}

TEST_F(ProgramTest, ProgressIsForTerminalsAndLeavesNoTrace) {
  const Ran ran = run({"build", "-q", "-o", filter_, list_}, {}, true);
  EXPECT_THAT(ran.err, HasSubstr("\r\x1b[Kwriting"));
  EXPECT_TRUE(ran.err.ends_with("\r\x1b[K")) << "the last thing is an empty line";
}

TEST_F(ProgramTest, BuildAsJson) {
  const Ran ran = run({"build", "--json", "-o", filter_, list_, urls_, "--category", "malware"});
  EXPECT_EQ(ran.status, 0);
  EXPECT_EQ(ran.err, "");
  const auto json = ran.json();
  EXPECT_EQ(json["status"], "done");
  EXPECT_EQ(json["entries"], 5);
  EXPECT_EQ(json["files"].size(), 2U);
  EXPECT_EQ(json["files"][0]["taken"], 2);
  EXPECT_EQ(json["info"]["category"], "malware");
  EXPECT_EQ(json["header"]["kinds"]["D"]["keys"], 1);
  EXPECT_FALSE(json["header"].contains("series_key"));
}

TEST_F(ProgramTest, RefusedBuildsAre2WithTheReport) {
  const auto list = write("ad.txt", "[Adblock Plus 2.0]\n||a.example^\nexample.com##.ad\n");
  const Ran ran = run({"build", "-q", "-o", filter_, list});
  EXPECT_EQ(ran.status, 2);
  EXPECT_THAT(ran.err, HasSubstr("cosmetic rule"));
  EXPECT_THAT(ran.err, HasSubstr("bloomwall-filter: " + list + ": 1 of 2 rules can't be used (50.0 %, more than 5 %)"));
  EXPECT_FALSE(std::filesystem::exists(filter_));
  const Ran json = run({"build", "--json", "-o", filter_, list});
  EXPECT_EQ(json.status, 2);
  EXPECT_EQ(json.json()["status"], "refused");
  EXPECT_EQ(json.json()["error"]["code"], "bad_syntax");
  EXPECT_EQ(json.json()["files"][0]["unsupported"][0]["count"], 1);
  EXPECT_EQ(run({"build", "-q", "--allow-unsupported", "-o", filter_, list}).status, 0);
}

TEST_F(ProgramTest, BuildOptionsReachTheBuilder) {
  const auto key = write("key", std::string(64, '7'));
  std::filesystem::permissions(key, std::filesystem::perms::owner_read);
  const auto hosts = write("hosts", "0.0.0.0 bad.example\n0.0.0.0 ok.example\n");
  const auto allow = (dir_.path() / "allow.txt").string();
  const Ran ran = run({"build",         "--json",     "-o",           filter_,
                       hosts,           "--format",   "hosts",        "--hosts-as-suffix",
                       "--fpr",         "1e-3",       "--memory",     "1MB",
                       "--series-key",  key,          "--file-id",    "000102030405060708090a0b0c0d0e0f",
                       "--created",     "1700000000", "--sequence",   "9",
                       "--valid-until", "1800000000", "--ram",        "100MiB",
                       "--threads",     "1",          "--measure",    "2k",
                       "--allow-out",   allow,        "--max-shrink", "10%"});
  ASSERT_EQ(ran.status, 0) << ran.err;
  const auto header = ran.json()["header"];
  EXPECT_EQ(header["file_id"], "000102030405060708090a0b0c0d0e0f");
  EXPECT_EQ(header["created"], 1'700'000'000);
  EXPECT_EQ(header["sequence"], 9);
  EXPECT_EQ(header["valid_until"], 1'800'000'000);
  EXPECT_EQ(header["measured"]["samples"], 2000);
  EXPECT_EQ(header["kinds"]["S"]["keys"], 2);
  EXPECT_THAT(header["converter_options"].get<std::vector<std::string>>(), ElementsAre("--hosts-as-suffix"));
  EXPECT_TRUE(std::filesystem::exists(allow));
  const Ran shrunk = run({"build", "-q", "-o", filter_, list_ + ".none"});
  EXPECT_EQ(shrunk.status, 2);
}

TEST_F(ProgramTest, SourceDateEpochIsTheDefaultOfCreated) {
  setenv("SOURCE_DATE_EPOCH", "1234567", 1);
  const Ran ran = run({"build", "--json", "-o", filter_, list_});
  const Ran given = run({"build", "--json", "-o", filter_, list_, "--created", "7654321"});
  setenv("SOURCE_DATE_EPOCH", "yesterday", 1);
  const Ran wrong = run({"build", "-o", filter_, list_});
  unsetenv("SOURCE_DATE_EPOCH");
  EXPECT_EQ(ran.json()["header"]["created"], 1234567);
  EXPECT_EQ(given.json()["header"]["created"], 7654321);
  EXPECT_EQ(wrong.status, 2);
  EXPECT_THAT(wrong.err, HasSubstr("SOURCE_DATE_EPOCH: 'yesterday'"));
}

TEST_F(ProgramTest, WarningsGoToStderr) {
  const auto key = write("key", std::string(64, '7'));
  std::filesystem::permissions(key, std::filesystem::perms(0644));
  const Ran ran = run({"build", "--json", "-o", filter_, list_, "--series-key", key});
  EXPECT_EQ(ran.status, 0);
  EXPECT_THAT(ran.err, HasSubstr("bloomwall-filter: warning: " + key));
  EXPECT_EQ(ran.json()["warnings"].size(), 1U);
}

TEST_F(ProgramTest, QueryAnswersArgumentsInOrder) {
  build();
  const Ran ran =
      run({"query", filter_, "http://www.bad.example/x", "http://fine.example/", "http://half.example/bad/thing.html?y",
           "http://half.example/dir/sub/page", "HALF.example:80/q?x=1", "foo://bar", "http://half.example/"});
  EXPECT_EQ(ran.status, 1);
  EXPECT_EQ(ran.out,
            "listed\thttp://www.bad.example/x\tbad.example\n"
            "clear\thttp://fine.example/\n"
            "listed\thttp://half.example/bad/thing.html?y\thalf.example/bad/thing.html\n"
            "listed\thttp://half.example/dir/sub/page\thalf.example/dir/\n"
            "listed\tHALF.example:80/q?x=1\thalf.example/q?x=1\n"
            "invalid\tfoo://bar\t" +
                std::string(to_string(UrlReason::unknown_scheme)) +
                "\n"
                "clear\thttp://half.example/\n");
  EXPECT_EQ(ran.err, "");
}

// As the proxy answers; in text and in JSON alike.
TEST_F(ProgramTest, QueryKnowsWhatListsExcept) {
  const std::string rules = write("rules.txt", "||a.example^\n||b.example^\n@@||fine.a.example^\n@@||gone.example^\n");
  ASSERT_EQ(run({"build", "-q", "-o", filter_, rules}).status, 0);
  const struct {
    const char* url;
    bool is_listed;
  } rows[] = {{"http://a.example/", true},
              {"http://x.fine.a.example/y", false},
              {"http://b.example/", true},
              {"http://gone.example/", false}};
  for (const auto& row : rows) {
    const Ran text = run({"query", filter_, row.url});
    EXPECT_EQ(text.status, row.is_listed ? 1 : 0) << row.url;
    EXPECT_THAT(text.out, StartsWith(row.is_listed ? "listed\t" : "clear\t")) << row.url;
    const Ran json = run({"query", "--json", filter_, row.url});
    EXPECT_EQ(json.status, text.status) << row.url;
    EXPECT_EQ(json.json()["verdict"], row.is_listed ? "blocked" : "allowed") << row.url;
  }
}

TEST_F(ProgramTest, QueryReadsStdinWhereNothingIsGiven) {
  build();
  const std::string input = "http://a.example/\r\nbad.example\n\n";
  const Ran ran = run({"query", filter_}, input);
  EXPECT_EQ(ran.status, 1);
  EXPECT_THAT(ran.out, StartsWith("clear\thttp://a.example/\nlisted\tbad.example\tbad.example\ninvalid\t\t"));
  EXPECT_EQ(run({"query", filter_, "-"}, input).out, ran.out);
  EXPECT_EQ(run({"query", filter_}, "http://a.example/\n").status, 0);
  EXPECT_EQ(run({"query", filter_}, "").status, 0);
}

TEST_F(ProgramTest, QueryShowsOddOctetsAndBoundsLines) {
  build();
  const Ran ran =
      run({"query", filter_}, "http://a.example/\x1b[2J\tx\n" + std::string(100'000, 'a') + "\nbad.example\n");
  EXPECT_EQ(ran.status, 1);
  EXPECT_THAT(ran.out, Not(HasSubstr("\x1b")));
  EXPECT_THAT(ran.out, HasSubstr("\\x1B[2J\\x09x"));
  EXPECT_THAT(ran.out, HasSubstr("aaa\tover 64 KiB\nlisted\tbad.example"));
}

TEST_F(ProgramTest, QueryAsJsonTellsTheStory) {
  run({"build", "-q", "-o", filter_, list_, urls_, "--category", "malware"});
  const Ran ran =
      run({"query", "--json", filter_}, "http://WWW.bad.example:8080/a/b?c\nhttp://a.example/x%2f..%2fy\nfoo://x\n");
  EXPECT_EQ(ran.status, 1);
  std::istringstream lines(ran.out);
  std::string line;
  std::vector<nlohmann::json> json;
  while (std::getline(lines, line)) json.push_back(nlohmann::json::parse(line));
  ASSERT_EQ(json.size(), 3U);
  for (const auto& j : json) {
    for (const char* key :
         {"url", "action", "canonical", "alternatives", "expressions", "verdict", "filter", "expression", "reason"}) {
      EXPECT_TRUE(j.contains(key)) << key;
    }
    EXPECT_EQ(j.size(), 9U);
  }
  EXPECT_EQ(json[0]["url"], "http://WWW.bad.example:8080/a/b?c");
  EXPECT_EQ(json[0]["action"], "lookup");
  EXPECT_EQ(json[0]["canonical"], "http://www.bad.example/a/b?c");
  EXPECT_EQ(json[0]["verdict"], "blocked");
  EXPECT_EQ(json[0]["filter"], "malware");
  EXPECT_EQ(json[0]["expression"], "bad.example");
  EXPECT_EQ(json[0]["reason"], "listed");
  EXPECT_EQ(json[1]["verdict"], "allowed");
  EXPECT_TRUE(json[1]["filter"].is_null());
  EXPECT_FALSE(json[1]["alternatives"].empty());
  EXPECT_EQ(json[2]["action"], "reject");
  EXPECT_EQ(json[2]["verdict"], "rejected");
  EXPECT_TRUE(json[2]["canonical"].is_null());
}

TEST_F(ProgramTest, QueryNamesTheFilterAfterItsFileWithoutACategory) {
  build();
  EXPECT_EQ(run({"query", "--json", filter_, "bad.example"}).json()["filter"], "f");
}

TEST_F(ProgramTest, QueryWithADelta) {
  build();
  const auto file = FilterFile::open(filter_);
  ASSERT_TRUE(file);
  const std::string first = Delta::first_line(content_id((*file)->header()));
  const auto delta = write("f.delta", first + "\n+new.example\n-bad.example\n");
  const Ran ran = run({"query", filter_, "--delta", delta, "new.example", "bad.example", "worse.example"});
  EXPECT_EQ(ran.status, 1);
  EXPECT_EQ(ran.out, "listed\tnew.example\tnew.example\nclear\tbad.example\nlisted\tworse.example\tworse.example\n");
  EXPECT_EQ(run({"query", "--json", filter_, "--delta", delta, "new.example"}).json()["reason"], "delta");
  const auto foreign = write("g.delta", Delta::first_line(FileId{}) + "\n+new.example\n");
  const Ran wrong = run({"query", filter_, "--delta", foreign, "new.example"});
  EXPECT_EQ(wrong.status, 2);
  EXPECT_THAT(wrong.err, HasSubstr("g.delta"));
  EXPECT_EQ(wrong.out, "");
}

// What a damaged exact side refutes would seem to be clear.
TEST_F(ProgramTest, QueryBelievesNoDamagedExactSide) {
  ASSERT_EQ(run({"build", "-q", "--exact-side", "-o", filter_, list_, urls_}).status, 0);
  const std::string exact = (dir_.path() / "f.bwx").string();
  const auto ask = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments{"query", filter_, "--exact", exact, "bad.example"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
  };
  EXPECT_EQ(ask({}).status, 1);
  std::fstream(exact, std::ios::in | std::ios::out | std::ios::binary).seekp(4096).write("12345678", 8);
  for (const auto& more : {std::vector<std::string>{}, {"--json"}}) {
    const Ran ran = ask(more);
    EXPECT_EQ(ran.status, 2);
    EXPECT_EQ(ran.out, "");
    EXPECT_THAT(ran.err, HasSubstr("f.bwx"));
  }
}

TEST_F(ProgramTest, RawKeysAreAskedRaw) {
  const auto mail = write("mail.txt", "me@example.com\nYOU@example.com\n");
  ASSERT_EQ(run({"build", "-q", "--raw", "-o", filter_, mail}).status, 0);
  const Ran ran = run({"query", "--raw", filter_}, "me@example.com\nyou@example.com\nYOU@example.com\n");
  EXPECT_EQ(ran.status, 1);
  EXPECT_EQ(
      ran.out,
      "listed\tme@example.com\tme@example.com\nclear\tyou@example.com\nlisted\tYOU@example.com\tYOU@example.com\n");
  const auto json = run({"query", "--raw", "--json", filter_, "me@example.com"}).json();
  EXPECT_EQ(json["verdict"], "blocked");
  EXPECT_EQ(json["expression"], "me@example.com");
  EXPECT_EQ(json["filter"], "f");
  const Ran unasked = run({"query", filter_, "me@example.com"});
  EXPECT_EQ(unasked.status, 2);
  EXPECT_THAT(unasked.err, HasSubstr("holds raw keys alone; ask with --raw"));
  build();
  run({"build", "-q", "--new-series", "-o", filter_, list_});
  EXPECT_THAT(run({"query", "--raw", filter_, "x"}).err, HasSubstr("holds no raw keys"));
}

TEST_F(ProgramTest, RepeatedLinesAreToldFromDistinctEntriesEverywhere) {
  const Ran built = run({"build", "-o", filter_, write("twice.txt", "a.example\na.example\nb.example\n")});
  ASSERT_EQ(built.status, 0);
  EXPECT_THAT(built.err, HasSubstr("2 distinct entries on 2 hosts (host and subdomains: 2); 1 duplicate"));
  EXPECT_THAT(run({"info", filter_}).out, testing::ContainsRegex("with repeats +entries\nS +[^0-9]+ 3 +2\n"));
  const auto kinds = run({"info", "--json", filter_}).json()["kinds"]["S"];
  EXPECT_EQ(kinds["entries"], 3);
  EXPECT_EQ(kinds["keys"], 2);
}

TEST_F(ProgramTest, InfoShowsTheFile) {
  run({"build", "-q", "-o", filter_, list_, urls_, "--category", "malware", "--exact"});
  const Ran ran = run({"info", filter_});
  EXPECT_EQ(ran.status, 0);
  for (const char* part : {"category          malware", "built by          bloomwall-filter", "list.txt (domains",
                           "build options     --exact", "marks             3 (U, Q, D1)", "X     host alone", "paths",
                           "leaves", "unlisted host", "error, measured\n  not done"}) {
    EXPECT_THAT(ran.out, HasSubstr(part));
  }
  EXPECT_THAT(ran.out, HasSubstr("secret"));
  const auto json = run({"info", "--json", filter_}).json();
  EXPECT_EQ(json["category"], "malware");
  EXPECT_EQ(json["sources"].size(), 2U);
  EXPECT_FALSE(json.contains("series_key"));
  const auto secret = run({"info", "--json", "--show-secret", filter_}).json();
  const auto file = FilterFile::open(filter_);
  ASSERT_TRUE(file);
  EXPECT_EQ(secret["series_key"], to_hex((*file)->header().series_key));
  EXPECT_THAT(run({"info", "--show-secret", filter_}).out, HasSubstr(to_hex((*file)->header().series_key)));
}

TEST_F(ProgramTest, VerifySaysOkOrWhatIsWrong) {
  build();
  EXPECT_EQ(run({"verify", filter_}).out, filter_ + ": ok\n");
  EXPECT_EQ(run({"verify", filter_}).status, 0);
  EXPECT_TRUE(run({"verify", "--json", filter_}).json()["ok"].get<bool>());
  damage(5000);  // in the host section
  const Ran ran = run({"verify", filter_});
  EXPECT_EQ(ran.status, 1);
  EXPECT_EQ(ran.out, "");
  EXPECT_THAT(ran.err, HasSubstr(filter_));
  const Ran json = run({"verify", "--json", filter_});
  EXPECT_EQ(json.status, 1);
  EXPECT_FALSE(json.json()["ok"].get<bool>());
  EXPECT_EQ(json.json()["error"]["code"], "bad_digest");
}

TEST_F(ProgramTest, CorruptIs1AndMissingIs2) {
  build();
  damage(100);  // in the header
  for (const char* command : {"info", "verify"}) {
    EXPECT_EQ(run({command, filter_}).status, 1) << command;
    const Ran json = run({command, "--json", filter_});
    EXPECT_EQ(json.status, 1);
    EXPECT_EQ(json.json()["error"]["code"], "bad_digest");
    EXPECT_EQ(run({command, filter_ + ".none"}).status, 2) << command;
  }
  EXPECT_EQ(run({"query", filter_, "bad.example"}).status, 2) << "1 would mean listed";
  EXPECT_EQ(run({"query", filter_ + ".none", "bad.example"}).status, 2);
}

TEST_F(ProgramTest, WhatIsNoFilterIsNamedWithWhatToDo) {
  const std::string id(32, 'a');
  const struct {
    std::string file;
    const char* says;
  } kCases[] = {
      {list_, "magic: is no filter but looks like a list: make a filter of it with `bloomwall-filter build -o"},
      {write("l.gz", "\x1f\x8b\x08 and so on"), "looks like a list"},
      {write("d.delta", "bloomwall-delta 1 base=" + id + "\n"), "is no filter but a delta"},
      {write("f.bwx",
             "\x89"
             "BWX\r\n\x1a\n and so on"),
       "is no filter but an exact side"},
      {write("noise", std::string("\x01\x02\x03\x00 noise", 10)), "is no filter of bloomwall"}};
  for (const auto& [file, says] : kCases) {
    const Ran ran = run({"query", file, "bad.example"});
    EXPECT_EQ(ran.status, 2);
    EXPECT_THAT(ran.err, HasSubstr(says));
  }
}

TEST_F(ProgramTest, AListOfKeysIsToldOfRaw) {
  std::string mails, ids;
  for (int i = 0; i < 50; ++i) mails += fmt::format("Some.Body+{}@mail.example\n", i);
  for (int i = 0; i < 50; ++i) ids += fmt::format("k{:08x}\n", i * 7919);
  for (const std::string& list : {write("mails", mails), write("ids", ids)}) {
    const Ran ran = run({"build", "-o", filter_, list});
    EXPECT_EQ(ran.status, 2);
    EXPECT_THAT(ran.err, HasSubstr("--raw if the")) << list;
    EXPECT_EQ(run({"build", "-q", "--raw", "-o", filter_, list}).status, 0);
  }
}

TEST_F(ProgramTest, OnATerminalItSaysThatItReads) {
  build();
  const auto on_terminal = [](const std::vector<std::string>& arguments) {
    std::istringstream in;
    std::ostringstream out, err;
    run_program(arguments, {.in = in, .out = out, .err = err, .in_is_terminal = true});
    return err.str();
  };
  const char* const says = "bloomwall-filter: reading from the terminal, a URL a line; Ctrl-D ends it\n";
  EXPECT_EQ(on_terminal({"query", filter_}), says);
  EXPECT_EQ(on_terminal({"query", filter_, "-"}), says);
  EXPECT_EQ(on_terminal({"query", filter_, "bad.example"}), "");
  EXPECT_EQ(run({"query", filter_}).err, "");

  const int input = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ASSERT_EQ(::dup2(input, STDIN_FILENO), STDIN_FILENO);  // lists are read from the descriptor
  ::close(input);
  const std::string out = (dir_.path() / "other.bwf").string(),
                    entries = "bloomwall-filter: reading from the terminal, an entry a line";
  EXPECT_THAT(on_terminal({"build", "-o", out, "-"}), StartsWith(entries));
  EXPECT_THAT(on_terminal({"build", "--counting", "-o", out, "-"}), StartsWith(entries));
  const std::string known = "bloomwall-filter: reading from the terminal, a URL a line";
  EXPECT_THAT(on_terminal({"merge", "-o", out, "--known-good", "-", filter_}), StartsWith(known));
}

TEST_F(ProgramTest, PlanShowsATable) {
  const Ran ran =
      run({"plan", "--entries", "100k", "--memory", "400kB", "--kinds", "S=0.1,U=0.8,D=0.1", "--hosts", "5k"});
  EXPECT_EQ(ran.status, 0) << ran.err;
  for (const char* part :
       {"S 10,000, U 80,000, D 10,000; 15,000 hosts, 5,100 marks", "textbook", "2x8", "4x4", "chosen", "k = 22"}) {
    EXPECT_THAT(ran.out, HasSubstr(part));
  }
  const auto json = run({"plan", "--json", "--entries", "10k", "--fpr", "1e-4"}).json();
  EXPECT_EQ(json["rows"].size(), 4U);
  EXPECT_EQ(json["rows"][3]["layout"], "chosen");
  EXPECT_LE(json["rows"][3]["predicted"]["listed_host"]["p99"].get<double>(), 1e-4);
  EXPECT_EQ(json["kinds"]["U"], 8000);
}

TEST_F(ProgramTest, PlanIs1WhereBuildWouldRefuse) {
  const Ran ran = run({"plan", "--entries", "10k", "--memory", "20kB", "--fpr", "1e-6"});
  EXPECT_EQ(ran.status, 1);
  EXPECT_THAT(ran.out, HasSubstr("can't be had"));
  EXPECT_THAT(ran.err, HasSubstr("20.0 kB do not suffice"));
  const Ran json = run({"plan", "--json", "--entries", "10k", "--memory", "20kB", "--fpr", "1e-6"});
  EXPECT_EQ(json.status, 1);
  EXPECT_EQ(json.json()["error"]["code"], "unmet_target");
}

TEST_F(ProgramTest, AnOutputThatFailsIs2) {
  build();
  std::istringstream in("bad.example\n");
  std::ostringstream err;
  std::ostream broken(nullptr);
  EXPECT_EQ(run_program({"query", filter_}, {.in = in, .out = broken, .err = err}), 2);
  EXPECT_THAT(err.str(), HasSubstr("standard output: can't be written"));
  std::ostream broken_too(nullptr);
  EXPECT_EQ(run_program({"info", filter_}, {.in = in, .out = broken_too, .err = err}), 2);
}

}  // namespace
}  // namespace bloomwall::filter
