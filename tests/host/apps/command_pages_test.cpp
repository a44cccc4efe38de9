// SPDX-License-Identifier: Apache-2.0
//
// Manual pages and completions say what the program declares.
#include "apps/command_pages.h"

#include <gmock/gmock.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "support/scratch_path.h"

namespace tandem::apps {
namespace {

using testing::HasSubstr;
using testing::Not;

class CommandPagesTest : public testing::Test {
 protected:
  void SetUp() override {
    CLI::App* serve = app_.add_subcommand("serve", "Serve a model");
    serve->add_option("-m,--model", text_, ".begins with a dot and has a \\")->group("Model");
    serve->add_option("--kv-dtype", text_, "type")->check(CLI::IsMember({"f16", "i8"}));
    serve->add_option("file", text_, "to read");
    serve->add_flag("--strict", flag_, "flag");
    app_.add_option("--log-level", text_, "of all")->check(CLI::IsMember({"info", "debug"}));
    app_.add_subcommand("elsewhere", "Another program")->prefix_command();
    app_.add_subcommand("help", "Help");
    add_pages(app_, "9.8", WrittenPages::kAll);
  }
  // What bash would offer for the words, the last of which is being typed. `help`: of `elsewhere`
  // and of its subcommand `deep`.
  std::string completed(const std::string& words) {
    const test::ScratchPath script("completion");
    std::ofstream(script.string()) << R"(tandem() {
  case "$*" in
    "elsewhere --help") echo "Options:
  -h,--help                   Print
  --time {model,none}         as --log-level
  --long-list-of-words
      {one,two,
      three}                  words on two lines
  --out TEXT                  a file
  --strict                    a flag

Subcommands:
  deep                        Deeper" ;;
    "elsewhere deep --help") echo "Options:
  --depth {1,2}               how deep [1 to 2]" ;;
    *) return 2 ;;
  esac
}
)" << bash_completion(app_);
    const std::string command = "bash -c 'source " + script.string() + "; COMP_WORDS=(" + words +
                                "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _tandem; "
                                "echo \"${COMPREPLY[*]}\"'";
    FILE* pipe = popen(command.c_str(), "r");
    char text[512] = {};
    const std::size_t count = std::fread(text, 1, sizeof text - 1, pipe);
    EXPECT_EQ(pclose(pipe), 0) << command;
    return {text, count == 0 ? 0 : count - 1};
  }

  std::string text_;
  bool flag_ = false;
  CLI::App app_{"Runs models", "tandem"};
};

TEST_F(CommandPagesTest, AManualHasEveryOptionOfTheCommand) {
  const std::string page = manual_page(app_, app_.get_subcommand("serve"), "9.8");
  EXPECT_THAT(page, HasSubstr(".TH \"tandem\\-serve\" 1 \"\" \"tandem 9.8\""));
  EXPECT_THAT(page, HasSubstr("\\fB\\-m, \\-\\-model\\fR"));
  EXPECT_THAT(page, HasSubstr("\n\\&.begins with a dot and has a \\e\n"));
  EXPECT_THAT(page, HasSubstr("\\-\\-kv\\-dtype\\fR \\fI{f16,i8}\\fR\ntype\n"));
  EXPECT_THAT(page, HasSubstr(".SS Model"));
}

TEST_F(CommandPagesTest, AManualHasTheCommandsOfTheCommandWithTheirOptions) {
  CLI::App* tensor = app_.add_subcommand("tensor", "Tensors");
  tensor->add_subcommand("spy", "Draw")->add_option("--svg", text_, "a drawing");
  const std::string page = manual_page(app_, tensor, "9.8");
  EXPECT_THAT(page, HasSubstr(".SH COMMANDS\n.TP\n\\fBspy\\fR\nDraw\n"));
  EXPECT_THAT(page, HasSubstr(".SH OPTIONS OF spy\n"));
  EXPECT_THAT(page, HasSubstr("\\fB\\-\\-svg\\fR"));
  EXPECT_THAT(manual_page(app_, app_.get_subcommand("serve"), "9.8"), Not(HasSubstr("COMMANDS")));
}

TEST_F(CommandPagesTest, TheProgramsManualListsItsCommands) {
  const std::string page = manual_page(app_, nullptr, "9.8");
  EXPECT_THAT(page, HasSubstr("\\fBserve\\fR\nServe a model"));
  EXPECT_THAT(page, HasSubstr("\\fBtandem\\-serve\\fR(1)"));
  EXPECT_THAT(page, Not(HasSubstr("tandem\\-elsewhere"))) << "no page is written for it";
  EXPECT_THAT(page, Not(HasSubstr("\\fBpages")));
}

TEST_F(CommandPagesTest, BashCompletesCommandsOptionsAndWords) {
  EXPECT_EQ(completed("tandem s"), "serve");
  EXPECT_EQ(completed("tandem serve --m"), "--model");
  EXPECT_EQ(completed("tandem serve --kv-dtype \"\""), "f16 i8");
  EXPECT_EQ(completed("tandem serve --kv-dtype i"), "i8");
  EXPECT_EQ(completed("tandem serve --strict --kv"), "--kv-dtype");
  EXPECT_EQ(completed("tandem pa"), "") << "hidden";
}

TEST_F(CommandPagesTest, BashCompletesValuesOfTheProgramsOwnOptionsAnywhere) {
  EXPECT_EQ(completed("tandem --log-level d"), "debug");
  EXPECT_EQ(completed("tandem serve --log-level \"\""), "info debug");
}

TEST_F(CommandPagesTest, BashLeavesOtherValuesToItsFileNames) {
  EXPECT_EQ(completed("tandem serve --model \"\""), "");
  EXPECT_THAT(completed("tandem serve --strict \"\""), HasSubstr("--model")) << "a flag takes none";
}

TEST_F(CommandPagesTest, BashAsksAnotherProgramForItsWords) {
  EXPECT_EQ(completed("tandem else"), "elsewhere");
  EXPECT_EQ(completed("tandem elsewhere d"), "deep");
  EXPECT_EQ(completed("tandem elsewhere --st"), "--strict");
  EXPECT_EQ(completed("tandem elsewhere --time \"\""), "model none");
  EXPECT_EQ(completed("tandem elsewhere --time n"), "none");
  EXPECT_EQ(completed("tandem elsewhere --long-list-of-words \"\""), "one two three");
  EXPECT_EQ(completed("tandem elsewhere --out \"\""), "") << "a file";
  EXPECT_THAT(completed("tandem elsewhere --strict \"\""), HasSubstr("deep"))
      << "a flag takes none";
  EXPECT_EQ(completed("tandem elsewhere deep --\"\""), "--depth");
  EXPECT_EQ(completed("tandem elsewhere deep --depth \"\""), "1 2");
  EXPECT_EQ(completed("tandem elsewhere some-file --st"), "--strict");
}

TEST_F(CommandPagesTest, TheProgramsManualNamesThePagesThatOtherProgramsWroteBefore) {
  const test::ScratchPath folder("pages");
  const auto manual = [&] {
    write_pages(app_, "9.8", folder.string(), WrittenPages::kAll);
    std::ifstream file(folder.path() / "man1" / "tandem.1");
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  EXPECT_THAT(manual(), Not(HasSubstr("tandem\\-elsewhere")));
  std::ofstream(folder.path() / "man1" / "tandem-elsewhere.1") << "its page";
  EXPECT_THAT(manual(), HasSubstr("\\fBtandem\\-elsewhere\\fR(1)"));
  std::ifstream file(folder.path() / "man1" / "tandem-elsewhere.1");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "its page");
}

TEST_F(CommandPagesTest, WritesAPagePerCommand) {
  const test::ScratchPath folder("pages");
  write_pages(app_, "9.8", folder.string(), WrittenPages::kAll);
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "man1" / "tandem.1"));
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "man1" / "tandem-serve.1"));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "man1" / "tandem-elsewhere.1"))
      << "its own program writes it";
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "completions" / "tandem"));
}

TEST_F(CommandPagesTest, AProgramOfSomeCommandsLeavesThePagesOfTheWholeAlone) {
  const test::ScratchPath folder("pages");
  write_pages(app_, "9.8", folder.string(), WrittenPages::kOfCommands);
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "man1" / "tandem-serve.1"));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "man1" / "tandem.1"));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "completions"));
}

}  // namespace
}  // namespace tandem::apps
