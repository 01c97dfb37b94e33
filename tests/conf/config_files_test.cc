// Several files as one configuration: what is joined, in which order, and how mistakes in any of them are told.
// SPDX-License-Identifier: Apache-2.0
#include "conf/config_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "conf/config.h"
#include "tests/support/temp_dir.h"

namespace bloomwall::conf {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class ConfigFilesTest : public testing::Test {
 protected:
  ConfigFilesTest() { std::filesystem::create_directory(dir_.path() / "conf.d"); }

  std::filesystem::path write(const std::string& name, const std::string& text) const { return dir_.write(name, text); }
  std::filesystem::path path(const std::string& name) const { return dir_.path() / name; }

  Config load(const std::string& text) const {
    auto loaded = load_file(write("main.yaml", text));
    EXPECT_TRUE(loaded.has_value()) << loaded.error().front().text();
    return loaded.value_or(Config{});
  }
  // Each error without the folder of this test.
  std::vector<std::string> errors(const std::string& text) const {
    const auto loaded = load_file(write("main.yaml", text));
    std::vector<std::string> lines;
    if (loaded.has_value()) return lines;
    for (const ConfigError& error : loaded.error()) {
      std::string line = error.text();
      const std::string folder = dir_.path().string() + "/";
      for (auto at = line.find(folder); at != std::string::npos; at = line.find(folder)) line.erase(at, folder.size());
      lines.push_back(line);
    }
    return lines;
  }

  test::TempDir dir_;
};

TEST_F(ConfigFilesTest, ListsAreJoinedInTheOrderOfNames) {
  write("conf.d/20-b.yaml", "filters: [{name: b, file: b.bwf}]\nallow_lists: [b.txt]\n");
  write("conf.d/10-a.yaml", "filters:\n- {name: a, file: /a.bwf}\n");
  write("conf.d/readme.txt", "not: [YAML");
  write("conf.d/.hidden.yaml", "not: [YAML");
  const Config config = load("include: [conf.d/*.yaml]\nfilters: [{name: first, file: first.bwf}]\nworkers: 3\n");
  ASSERT_EQ(config.filters.size(), 3U);
  EXPECT_EQ(config.filters[0].file, path("first.bwf"));
  EXPECT_EQ(config.filters[1].file, "/a.bwf");
  EXPECT_EQ(config.filters[2].file, path("conf.d/b.bwf")) << "a relative path is of the folder of its file";
  EXPECT_THAT(config.allow_lists, ElementsAre(path("conf.d/b.txt")));
  EXPECT_EQ(config.workers, 3U);
  EXPECT_THAT(config.included, ElementsAre(path("conf.d/10-a.yaml"), path("conf.d/20-b.yaml")));
}

TEST_F(ConfigFilesTest, TheFirstFolderOfAnyNameIsWhereProgramsMayPutFiles) {
  EXPECT_EQ(load("include: [one.d/a*.yaml, two.d/*.yaml, conf.d/*.yaml]").drop_in_folder, path("two.d"));
  EXPECT_EQ(load("include: conf.d/*.yaml").drop_in_folder, path("conf.d"));
  EXPECT_EQ(load("include: [one.d/*.yml]").drop_in_folder, "");
}

TEST_F(ConfigFilesTest, SectionsAreJoinedKeyByKey) {
  write("conf.d/a.yaml",
        "timeouts: {idle: 5s}\ndns: {hosts: {b.test: 192.0.2.2}}\naccess:\nlog: {access: {format: squid}}\n");
  const Config config = load(
      "include: conf.d/a.yaml\ntimeouts: {connect: 3s}\ndns: {hosts: {a.test: 192.0.2.1}}\n"
      "access: {clients: [10.0.0.0/8]}\nlog: {level: debug}\n");
  EXPECT_EQ(config.timeouts.connect, Milliseconds(3000));
  EXPECT_EQ(config.timeouts.idle, Milliseconds(5000));
  EXPECT_EQ(config.dns.hosts.size(), 2U);
  EXPECT_THAT(config.access.clients, ElementsAre("10.0.0.0/8"));
  EXPECT_EQ(config.log.level, Log::Level::debug);
  EXPECT_EQ(config.log.access.format, AccessLog::Format::squid);
}

TEST_F(ConfigFilesTest, AListReplacesTheDefaultAsInOneFile) {
  write("conf.d/a.yaml", "access: {clients: [10.0.0.0/8]}\nlisteners: [{address: ':8080'}]\n");
  const Config config = load("include: [conf.d/*.yaml]\n");
  EXPECT_THAT(config.access.clients, ElementsAre("10.0.0.0/8"));
  ASSERT_EQ(config.listeners.size(), 1U);
  EXPECT_EQ(config.listeners[0].address, ":8080");
}

TEST_F(ConfigFilesTest, APatternMayMatchNothingAndItsFolderMayBeMissing) {
  Config nothing;
  nothing.drop_in_folder = path("conf.d");
  EXPECT_EQ(load("include: [conf.d/*.yaml, gone.d/*.yaml]\n"), nothing);
  EXPECT_EQ(load("include: []\n"), Config{});
}

TEST_F(ConfigFilesTest, AFileIsReadOnce) {
  write("conf.d/a.yaml", "filters: [{name: a, file: a.bwf}]\n");
  std::filesystem::create_symlink(path("conf.d/a.yaml"), path("conf.d/b.yaml"));
  const Config config = load("include: [conf.d/*.yaml, conf.d/a.yaml, '*.yaml']\n");
  EXPECT_EQ(config.filters.size(), 1U);
}

TEST_F(ConfigFilesTest, MistakesAreToldWithTheirFile) {
  write("conf.d/a.yaml", "workers: 2\nfilters:\n- {name: x, file: x.bwf}\n");
  write("conf.d/b.yaml", "limits: {handshakes: many}\nfiltres: []\nfilters: [{name: x, file: y.bwf}]\n");
  EXPECT_THAT(errors("include: [conf.d/*.yaml]\nworkers: 1\n"),
              ElementsAre("conf.d/a.yaml:1:1: workers: given twice; first in main.yaml, line 2"));
  EXPECT_THAT(
      errors("include: [conf.d/*.yaml]\n"),
      ElementsAre("conf.d/b.yaml:1:22: limits.handshakes: expected a whole number from 1 to 1000000, found \"many\"",
                  "conf.d/b.yaml:2:1: filtres: unknown key; did you mean filters?",
                  "conf.d/b.yaml:3:18: filters[1].name: given twice; first in conf.d/a.yaml, line 3"));
}

TEST_F(ConfigFilesTest, AllFilesAreReadWhateverIsWrongWithOne) {
  write("conf.d/a.yaml", "a: [\n");
  write("conf.d/b.yaml", "[1, 2]\n");
  write("conf.d/c.yaml", "include: [d.yaml]\n");
  std::filesystem::create_directory(path("conf.d/d.yaml"));
  const auto lines = errors("include: [conf.d/*.yaml, gone.yaml, 'x*/a.yaml', {a: b}]\n");
  ASSERT_EQ(lines.size(), 7U);
  EXPECT_THAT(lines[0], HasSubstr("conf.d/a.yaml:1:1: not YAML: "));
  EXPECT_EQ(lines[1], "conf.d/b.yaml:1:1: expected a map (key: value)");
  EXPECT_EQ(lines[2], "conf.d/c.yaml:1:1: include: a file that is included cannot include others");
  EXPECT_EQ(lines[3], "main.yaml:1:11: include[0]: conf.d/d.yaml: is not a file");
  EXPECT_EQ(lines[4], "main.yaml:1:26: include[1]: gone.yaml: No such file or directory");
  EXPECT_EQ(lines[5], "main.yaml:1:37: include[2]: * ? and [ may stand in the last part of a path alone");
  EXPECT_EQ(lines[6], "main.yaml:1:50: include[3]: expected paths, such as conf.d/*.yaml");
}

TEST_F(ConfigFilesTest, KindsThatDifferAreNotJoined) {
  write("conf.d/a.yaml", "timeouts: 5s\nallow_lists: {}\nstate_dir: null\n");
  EXPECT_THAT(errors("include: [conf.d/*.yaml]\ntimeouts: {idle: 5s}\nallow_lists: []\nstate_dir: /var/lib/x\n"),
              ElementsAre("conf.d/a.yaml:1:1: timeouts: given twice; first in main.yaml, line 2",
                          "conf.d/a.yaml:2:1: allow_lists: given twice; first in main.yaml, line 3",
                          "conf.d/a.yaml:3:1: state_dir: given twice; first in main.yaml, line 4"));
}

TEST_F(ConfigFilesTest, TheirNumberAndSizeAreBounded) {
  for (std::size_t i = 0; i <= kMaxIncluded; ++i) write("conf.d/" + std::to_string(i) + ".yaml", "");
  const std::string all = "include: [conf.d/*.yaml]\n";
  EXPECT_THAT(errors(all), ElementsAre("main.yaml:1:11: include[0]: at most 256 files may be included"));
  std::filesystem::remove(path("conf.d/0.yaml"));
  EXPECT_THAT(errors(all), ElementsAre());
  write("conf.d/1.yaml", "#" + std::string(kMaxYamlBytes / 2, ' '));
  EXPECT_THAT(errors(all), ElementsAre());
  write("conf.d/2.yaml", "#" + std::string(kMaxYamlBytes / 2, ' '));
  EXPECT_THAT(errors(all), ElementsAre("conf.d/2.yaml: all files together are larger than 1024 KiB"));
}

TEST_F(ConfigFilesTest, AFirstFileThatIsMissingIsTheOnlyError) {
  const auto loaded = load_file(path("gone.yaml"));
  ASSERT_FALSE(loaded.has_value());
  ASSERT_EQ(loaded.error().size(), 1U);
  EXPECT_EQ(loaded.error()[0].text(), path("gone.yaml").string() + ": No such file or directory");
}

TEST_F(ConfigFilesTest, NamesWhatNoPatternTakesThoughItLooksLikeAConfiguration) {
  for (const char* const name : {"conf.d/a.yaml", "conf.d/b.yml", "conf.d/c.YAML", "conf.d/d.conf", "conf.d/e.json",
                                 "conf.d/notes.txt", "conf.d/f.yaml.off", "conf.d/.g.yml", "conf.d/h.yml"}) {
    write(name, "{}\n");
  }
  const Config config = load("include: [conf.d/*.yaml, conf.d/h.yml]");
  EXPECT_THAT(config.left_out,
              ElementsAre(path("conf.d/b.yml"), path("conf.d/c.YAML"), path("conf.d/d.conf"), path("conf.d/e.json")));
  EXPECT_THAT(load("include: [conf.d/a.yaml]").left_out, testing::IsEmpty()) << "without a pattern nobody looks";
}

TEST_F(ConfigFilesTest, AFileMayStandInForTheFirstOne) {
  write("conf.d/a.yaml", "filters: [{name: a, file: a.bwf}]\n");
  const auto draft = write("draft", "include: [conf.d/*.yaml]\nfilters: [{name: own, file: own.bwf}]\n");
  std::filesystem::create_directory(path("etc"));
  std::filesystem::rename(path("conf.d"), path("etc/conf.d"));
  const auto loaded = load_in_place(draft, path("etc/main.yaml"));  // which is not there
  ASSERT_TRUE(loaded.has_value()) << loaded.error().front().text();
  ASSERT_EQ(loaded->filters.size(), 2U);
  EXPECT_EQ(loaded->filters[0].file, path("etc/own.bwf"));
  EXPECT_EQ(loaded->filters[1].file, path("etc/conf.d/a.bwf"));
}

TEST_F(ConfigFilesTest, AFileMayStandInForOneThatIsIncluded) {
  write("bloomwall.yaml", "include: [conf.d/*.yaml]\nfilters: [{name: own, file: own.bwf}]\n");
  write("conf.d/a.yaml", "filters: [{name: a, file: a.bwf}]\n");
  const auto draft = write("draft", "filters: [{name: new, file: new.bwf}]\n");
  const auto names = [&](const std::string& place) {
    const auto loaded = load_in_place(draft, path(place));
    std::vector<std::string> out;
    if (!loaded) return std::vector{loaded.error().front().text()};
    for (const Filter& filter : loaded->filters) out.push_back(filter.name + " " + filter.file.string());
    return out;
  };
  const std::string own = "own " + path("own.bwf").string(), made = "new " + path("conf.d/new.bwf").string();
  EXPECT_THAT(names("conf.d/a.yaml"), ElementsAre(own, made)) << "in the place of what is there";
  EXPECT_THAT(names("conf.d/b.yaml"), ElementsAre(own, "a " + path("conf.d/a.bwf").string(), made)) << "as a new one";
  EXPECT_THAT(names("conf.d/../conf.d/a.yaml"), ElementsAre(own, made));
  EXPECT_THAT(names("conf.d/b.yml"), ElementsAre(made)) << "which no pattern takes: by itself";
  write("draft", "nonsense: 1\n");
  EXPECT_THAT(names("conf.d/a.yaml"), ElementsAre(HasSubstr("draft:1:1: nonsense: unknown key")));
}

}  // namespace
}  // namespace bloomwall::conf
