// SPDX-License-Identifier: Apache-2.0
//
// Keys and values of a configuration file: what is wrong is told with file and line.
#include "apps/config_file.h"

#include <gmock/gmock.h>

#include <fstream>

#include "common/error.h"
#include "support/scratch_path.h"

namespace tandem::apps {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

int port = 0;
std::string text, level;
std::vector<std::string> aliases;
bool is_quiet = false, has_run = false;

void add_commands(CLI::App& app) {
  app.add_option("--level", level)->check(CLI::IsMember({"high", "low"}));
  CLI::App* command = app.add_subcommand("serve");
  command->add_option("--config", "a file");
  command->add_option("--port", port)->check(CLI::Range(0, 65535));
  command->add_option("--name", text)->required();
  command->add_option("--alias", aliases);
  command->add_flag("--quiet", is_quiet);
  command->callback([] { has_run = true; });
}

class ConfigFileTest : public testing::Test {
 protected:
  void SetUp() override {
    has_run = false;
    add_commands(app_);
  }
  // The words of the command line, or the error.
  std::vector<std::string> words(const std::string& file) {
    std::ofstream(path_.string()) << file;
    try {
      return with_config_file(app_, {"serve", "--config", path_.string(), "--port=1"},
                              add_commands);
    } catch (const Error& error) {
      return {error.what()};
    }
  }
  std::string error(const std::string& file) {
    const std::vector<std::string> found = words(file);
    return found.size() == 1 ? found.front() : "no error";
  }
  std::string line(int number) const { return path_.string() + ":" + std::to_string(number) + ":"; }

  CLI::App app_;
  const test::ScratchPath path_{"tandem.toml"};
};

TEST_F(ConfigFileTest, KeysComeBeforeTheWordsThatAreTyped) {
  EXPECT_THAT(words("name = \"x\"\n[http]\nquiet = true\nport = 2\n"),
              ElementsAre("serve", "--name=x", "--quiet", "--port=2", "--config", path_.string(),
                          "--port=1"));
}

TEST_F(ConfigFileTest, KeysOfTheProgramComeBeforeAllWords) {
  std::ofstream(path_.string()) << "port = 2\nlevel = \"low\"\n";
  const std::vector<std::string> typed = {"--level", "high", "serve", "--config", path_.string()};
  EXPECT_THAT(with_config_file(app_, typed, add_commands),
              ElementsAre("--level=low", "--level", "high", "serve", "--port=2", "--config",
                          path_.string()));
}

TEST_F(ConfigFileTest, AWrongValueNamesFileAndLine) {
  EXPECT_THAT(error("name = \"x\"\n\nport = 70000\n"), HasSubstr(line(3) + " --port: "));
  EXPECT_THAT(error("[a]\nport = \"many\"\n"), HasSubstr(line(2)));
  EXPECT_THAT(error("quiet = 3.5\n"), HasSubstr(line(1)));
  EXPECT_FALSE(has_run) << "values are checked without running the command";
}

TEST_F(ConfigFileTest, OptionsOfTheProgramAreKeysToo) {
  EXPECT_THAT(words("level = \"low\"\n"), testing::Contains("--level=low"));
  EXPECT_THAT(error("\nlevel = \"middle\"\n"), HasSubstr(line(2)));
}

TEST_F(ConfigFileTest, AKeyOfTwoTablesIsGivenTwice) {
  const std::string found = error("port = 1\n[http]\nport = 2\n");
  EXPECT_THAT(found, HasSubstr(line(3) + " 'port' is given twice; see " + path_.string() + ":1"));
  EXPECT_THAT(error("port = 1\nport = 2\n"), HasSubstr(line(2)));
}

TEST_F(ConfigFileTest, AFileThatNamesAnotherIsToldSo) {
  const std::string found = error("config = \"other.toml\"\n");
  EXPECT_THAT(found, HasSubstr("cannot name another one"));
  EXPECT_THAT(found, testing::Not(HasSubstr("did you mean")));
}

TEST_F(ConfigFileTest, AnUnknownKeySuggestsOneThatIs) {
  EXPECT_THAT(error("\nprt = 1\n"),
              HasSubstr(line(2) + " unknown key 'prt' (did you mean 'port'?)"));
  EXPECT_THAT(error("help = true\n"), HasSubstr("unknown key"));
}

TEST_F(ConfigFileTest, EveryFaultIsFoundInTheOrderOfTheFile) {
  std::ofstream(path_.string()) << "port = -1\nprt = 2\nlevel = \"x\"\nname = \"y\"\n"
                                   "[a]\nquiet = 3\nname = \"z\"\nconfig = \"c\"\n";
  const Config config = read_config(*app_.get_subcommand("serve"), path_.string(), add_commands);
  std::vector<std::string> texts;
  for (const ConfigFault& fault : config.faults) texts.push_back(fault.text);
  EXPECT_THAT(texts, ElementsAre(HasSubstr(line(1) + " --port"), HasSubstr(line(2) + " unknown"),
                                 HasSubstr(line(3) + " --level"), HasSubstr(line(6) + " 'quiet'"),
                                 HasSubstr(line(7) + " 'name' is given twice"),
                                 HasSubstr(line(8) + " a configuration file cannot")));
  ASSERT_EQ(config.entries.size(), 1u);
  EXPECT_EQ(config.entries[0].key, "name");
  EXPECT_EQ(config.entries[0].line, 4u);
}

TEST_F(ConfigFileTest, AListGivesAnOptionSeveralValues) {
  EXPECT_THAT(words("name = \"x\"\nalias = [\"a\", \"b\"]\n"),
              ElementsAre("serve", "--name=x", "--alias=a", "--alias=b", "--config", path_.string(),
                          "--port=1"));
  EXPECT_THAT(error("\nport = [1, 2]\n"), HasSubstr(line(2) + " 'port' takes one value"));
  EXPECT_THAT(error("quiet = [true]\n"), HasSubstr("is a switch"));
  EXPECT_THAT(error("alias = [[\"a\"]]\n"), HasSubstr("must be a string"));
}

}  // namespace
}  // namespace tandem::apps
