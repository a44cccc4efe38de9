// SPDX-License-Identifier: Apache-2.0
//
// What the help says of the value of an option.
#include "apps/option_form.h"

#include <gtest/gtest.h>

#include <vector>

#include "apps/command_words.h"

namespace tandem::apps {
namespace {

class OptionFormTest : public testing::Test {
 protected:
  static std::string form_text(const CLI::Option* option) {
    const OptionForm form = form_of(*option);
    return form.value + " | " + form.facts;
  }

  CLI::App app_{"", "tandem"};
  std::string text_ = "f16";
  int number_ = 8;
  double share_ = 0;
  std::uint64_t bytes_ = 0;
  bool flag_ = false;
  std::vector<int> list_ = {1, 2};
};

TEST_F(OptionFormTest, RangesAndDefaultsAreWords) {
  EXPECT_EQ(
      form_text(app_.add_option("--a", number_)->check(CLI::Range(1, 64))->capture_default_str()),
      "INT | 1 to 64; default: 8");
  EXPECT_EQ(form_text(app_.add_option("--b", share_)->check(in_range(0, 0.5))),
            "NUMBER | 0 to 0.5");
  EXPECT_EQ(form_text(app_.add_option("--c", share_)->check(positive())), "NUMBER | above 0");
  EXPECT_EQ(form_text(app_.add_option("--d", share_)->check(not_negative())), "NUMBER | 0 or more");
  EXPECT_EQ(form_text(app_.add_option("--e", bytes_)->transform(size_value())), "SIZE | ");
  EXPECT_EQ(form_text(app_.add_option("--f", list_)->capture_default_str()),
            "INT ... | default: 1,2");
}

TEST_F(OptionFormTest, WordsThatAreTakenStandInBraces) {
  EXPECT_EQ(form_text(app_.add_option("--a", text_)
                          ->check(CLI::IsMember({"f16", "i8"}))
                          ->capture_default_str()
                          ->envname("TANDEM_A")),
            "{f16,i8} | default: f16; or by $TANDEM_A");
  EXPECT_EQ(form_text(app_.add_option("--b", text_)->check(CLI::ExistingFile)->required()),
            "FILE | required");
}

TEST_F(OptionFormTest, SwitchesTakeNoValueAndOtherOptionsAreNamed) {
  CLI::Option* file = app_.add_option("--file", text_);
  CLI::Option* flag = app_.add_flag("--flag", flag_)->needs(file);
  EXPECT_EQ(form_text(flag), " | needs --file");
  EXPECT_EQ(form_text(app_.add_flag("--other", flag_)->excludes(flag)), " | not with --flag");
  EXPECT_EQ(form_text(app_.add_flag("--third", flag_)), " | ");
  EXPECT_EQ(form_text(app_.add_flag("--fourth", flag_)->needs(flag)->needs(file)),
            " | needs --file, --flag");
  EXPECT_EQ(form_text(app_.add_flag("--fifth", flag_)
                          ->needs(app_.add_flag("--z", flag_))
                          ->needs(app_.add_flag("--a", flag_))),
            " | needs --a, --z");
}

TEST_F(OptionFormTest, FactsStandInBracketsBehindTheDescription) {
  EXPECT_EQ(description_of(*app_.add_option("--a", number_, "tokens")->check(CLI::Range(1, 9))),
            "tokens [1 to 9]");
  EXPECT_EQ(description_of(*app_.add_option("--b", text_, "a text")), "a text");
  app_.formatter(std::make_shared<HelpFormatter>(80));
  app_.add_flag("--no-verify{false}", flag_, "compare nothing");
  EXPECT_NE(app_.help().find("  --no-verify                 compare nothing\n"), std::string::npos);
}

}  // namespace
}  // namespace tandem::apps
