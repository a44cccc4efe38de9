// SPDX-License-Identifier: Apache-2.0
//
// What the command line says of values, and how its help is laid out.
#include "apps/command_words.h"

#include <gmock/gmock.h>

#include <sstream>

namespace tandem::apps {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::string said(const CLI::Validator& check, std::string text) { return check(text); }

TEST(CommandWords, RangesArePrintedAsTheyAreWritten) {
  EXPECT_THAT(said(in_range(1e-12, 1), "0.5"), IsEmpty());
  EXPECT_EQ(said(in_range(1e-12, 1), "2"), "'2' is not a number from 1e-12 to 1");
  EXPECT_THAT(said(in_range(0.001, 1e6), "0"), HasSubstr("0.001 to 1000000"));
  for (const char* text : {"x", "", "nan", "0.5x"}) {
    EXPECT_THAT(said(in_range(0, 1), text), Not(IsEmpty())) << text;
  }
}

TEST(CommandWords, BoundsOnOneSideNameNoOther) {
  EXPECT_THAT(said(positive(), "1e-9"), IsEmpty());
  EXPECT_EQ(said(positive(), "0"), "'0' is not a number above 0");
  EXPECT_THAT(said(not_negative(), "0"), IsEmpty());
  EXPECT_EQ(said(not_negative(), "-1"), "'-1' is not a number from 0 on");
  for (const char* text : {"x", "", "nan", "inf", "1x"}) {
    EXPECT_EQ(said(positive(), text), "'" + std::string(text) + "' is not a number above 0");
    EXPECT_EQ(said(not_negative(), text), "'" + std::string(text) + "' is not a number from 0 on");
  }
}

TEST(CommandWords, ACountHasDigitsOnly) {
  for (const char* text : {"0", "18446744073709551615"})
    EXPECT_THAT(said(count_value(), text), IsEmpty());
  for (const char* text : {"-1", "+1", "1.5", "1e3", " 1", "x", ""}) {
    EXPECT_EQ(said(count_value(), text), "'" + std::string(text) + "' is not a number from 0");
  }
  EXPECT_EQ(said(count_value(), "18446744073709551616"),
            "'18446744073709551616' does not fit 64 bits");
}

TEST(CommandWords, SizesBecomeBytes) {
  for (const auto& [text, bytes] : {std::pair("512", "512"), std::pair("4MiB", "4194304"),
                                    std::pair("2 GB", "2147483648"), std::pair("1k", "1024")}) {
    std::string value = text;
    EXPECT_EQ(size_value()(value), "") << text;
    EXPECT_EQ(value, bytes);
  }
}

TEST(CommandWords, AWrongSizeIsToldInOneSentence) {
  for (const char* text : {"4 apples", "-1", "", "x", "99999999999999999999GiB"}) {
    EXPECT_EQ(said(size_value(), text), "'" + std::string(text) +
                                            "' is not a size; write a number of bytes, or one with "
                                            "KiB, MiB or GiB, such as 2GiB");
  }
}

TEST(CommandWords, HelpIsAWordToo) {
  EXPECT_THAT(with_help_word({"help"}), ElementsAre("--help"));
  EXPECT_THAT(with_help_word({"help", "serve", "x"}), ElementsAre("serve", "--help"));
  EXPECT_THAT(with_help_word({"serve", "help"}), ElementsAre("serve", "help"));
  EXPECT_THAT(with_help_word({}), IsEmpty());
}

TEST(CommandWords, LinesAreCutAtBlanksOrCommas) {
  EXPECT_EQ(wrapped("one two three", 2, 9), "one two\n  three");
  EXPECT_EQ(wrapped("{aaa,bbb,ccc}", 2, 10), "{aaa,\n  bbb,ccc}");
  EXPECT_EQ(wrapped("unbreakable", 2, 6), "unbreakable");
  EXPECT_EQ(wrapped("a\nb", 0, 9), "a\nb");
}

CLI::App& program(CLI::App& app) {
  app.formatter(std::make_shared<HelpFormatter>(60));
  static std::string text;
  app.add_option("--short", text, "a description of so many words that one line cannot hold them");
  app.add_option("--a-long-name-of-an-option", text, "what it does")
      ->check(CLI::IsMember({"first-word", "second-word", "third-word", "fourth-word"}));
  app.add_subcommand("command", "whose description also has more words than a line can hold");
  app.footer("A footer that is longer than the width of the page, so it is wrapped like the rest.");
  return app;
}

TEST(CommandWords, NoLineOfTheHelpIsWiderThanThePage) {
  CLI::App app(
      "A program with a description of more words than one line of the page has room for.");
  std::istringstream help(program(app).help());
  int count = 0;
  for (std::string line; std::getline(help, line); ++count) EXPECT_LE(line.size(), 60u) << line;
  EXPECT_GT(count, 12);
  EXPECT_THAT(app.help(), HasSubstr("fourth-word"));
}

TEST(CommandWords, ErrorsNameTheHelpOfTheirCommand) {
  CLI::App app("", "tandem");
  int port = 0;
  app.add_subcommand("serve")->add_option("--port", port)->check(CLI::Range(0, 9));
  try {
    app.parse("serve --port 10");
    FAIL() << "10 is out of range";
  } catch (const CLI::ParseError& error) {
    EXPECT_EQ(parse_error_text(app, error),
              "--port: Value 10 not in range 0 to 9; see `tandem serve --help`");
  }
}

TEST(CommandWords, ErrorsNameTheProgramThatWasCalled) {
  CLI::App app("", "tandem-planner");
  try {
    app.parse("--nonsense");
    FAIL() << "there is no such option";
  } catch (const CLI::ParseError& error) {
    EXPECT_THAT(parse_error_text(app, error), HasSubstr("see `tandem-planner --help`"));
  }
}

TEST(CommandWords, ErrorsNameTheHelpOfTheirSubcommand) {
  CLI::App app("", "tandem");
  std::string operation;
  app.add_subcommand("tensor")->add_subcommand("bench")->add_option("--op", operation)->required();
  try {
    app.parse("tensor bench");
    FAIL() << "--op is missing";
  } catch (const CLI::ParseError& error) {
    EXPECT_EQ(parse_error_text(app, error), "--op is required; see `tandem tensor bench --help`");
  }
}

}  // namespace
}  // namespace tandem::apps
