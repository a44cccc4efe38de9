// SPDX-License-Identifier: Apache-2.0
//
// Messages for unknown words of the command line, with suggestions, with and without a command.
#include "apps/option_names.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace tandem::apps {
namespace {

struct Program {
  Program() {
    app.require_subcommand(1);
    app.fallthrough();
    app.add_option("--log-level", text);
    CLI::App* serve = app.add_subcommand("serve", "");
    serve->add_option("--model", text)->required();
    serve->add_flag("--trace-all", flag);
    CLI::App* tensor = app.add_subcommand("tensor", "");
    tensor->require_subcommand(1);
    tensor->add_subcommand("bench", "")->add_option("--op", text)->required();
  }

  // The message for these words, which do not parse.
  std::string said_of(std::vector<std::string> words) {
    std::reverse(words.begin(), words.end());
    try {
      app.parse(words);
    } catch (const CLI::ParseError&) {
      return app.remaining_size(true) > 0 ? unknown_words(app) : "nothing was left over";
    }
    return "parsed";
  }

  CLI::App app;
  std::string text;
  bool flag = false;
};

TEST(UnknownWords, AreOptionsWhereTheyBeginWithDashes) {
  EXPECT_EQ(Program().said_of({"serve", "--model", "m", "--trace-al"}),
            "unknown option --trace-al (did you mean '--trace-all'?); see `tandem serve --help`");
  EXPECT_EQ(Program().said_of({"serve", "--model", "m", "--log_levle=debug"}),
            "unknown option --log_levle (did you mean '--log-level'?); see `tandem serve --help`");
  EXPECT_EQ(Program().said_of({"serve", "--model", "m", "word"}),
            "'word' is not expected here; see `tandem serve --help`");
}

TEST(UnknownWords, OfASubcommandNameItsHelp) {
  EXPECT_EQ(Program().said_of({"tensor", "bench", "--opp=spmm"}),
            "unknown option --opp (did you mean '--op'?); see `tandem tensor bench --help`");
}

TEST(UnknownWords, AreSaidBeforeWhatIsMissingForThem) {
  EXPECT_EQ(Program().said_of({"serve", "--modle=m"}),
            "unknown option --modle (did you mean '--model'?); see `tandem serve --help`");
  EXPECT_EQ(Program().said_of({"serve"}), "nothing was left over");
}

TEST(UnknownWords, WithoutACommandAreOptionsOrACommand) {
  EXPECT_EQ(Program().said_of({"--hlep"}),
            "unknown option --hlep (did you mean '--help'?); see `tandem --help`");
  EXPECT_EQ(Program().said_of({"--colour", "red"}), "unknown option --colour; see `tandem --help`");
  EXPECT_EQ(Program().said_of({"srve", "--model", "m"}),
            "unknown command 'srve' (did you mean 'serve'?); see `tandem --help`");
}

TEST(OptionSuggestion, HasNoDashesInAConfigurationFile) {
  Program program;
  const CLI::App& serve = *program.app.get_subcommand("serve");
  EXPECT_EQ(option_suggestion(serve, "modle"), " (did you mean 'model'?)");
  EXPECT_EQ(option_suggestion(serve, "colour"), "");
}

}  // namespace
}  // namespace tandem::apps
