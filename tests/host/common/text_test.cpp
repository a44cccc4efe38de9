// SPDX-License-Identifier: Apache-2.0
//
// Texts that are numbers, parts of texts, and texts in drawings.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/counted.h"
#include "common/number.h"
#include "common/text_parts.h"
#include "common/xml_text.h"

namespace tandem {
namespace {

TEST(Number, IsAllOfTheText) {
  EXPECT_EQ(number_of<int>("-12"), -12);
  EXPECT_EQ(number_of<double>("2.5e3"), 2500);
  for (const char* text : {"", " 1", "1 ", "+1", "1x", "x", "1.5"}) {
    EXPECT_FALSE(number_of<int>(text)) << text;
  }
}

TEST(Number, IsFiniteAndFitsItsType) {
  for (const char* text : {"nan", "inf", "-inf", "1e999"}) {
    EXPECT_FALSE(number_of<double>(text)) << text;
  }
  EXPECT_FALSE(number_of<int>("2147483648"));
  EXPECT_EQ(number_of<int>("2147483647"), 2147483647);
}

TEST(TextParts, AreBetweenSeparatorsAlsoWhenTheyAreEmpty) {
  using testing::ElementsAre;
  EXPECT_THAT(parts_of("a,,b,", ','), ElementsAre("a", "", "b", ""));
  EXPECT_THAT(parts_of("", ','), ElementsAre(""));
}

TEST(TextParts, ATagInFrontIsLeftOut) {
  EXPECT_EQ(without_tag("[serve] no [x] here"), "no [x] here");
  EXPECT_EQ(without_tag("no [serve] here"), "no [serve] here");
  EXPECT_EQ(without_tag("[serve]"), "[serve]");
}

TEST(TextParts, OfACutAreBeforeAndBehindTheFirstSeparator) {
  EXPECT_EQ(cut_at("a=b=c", '='), (std::pair<std::string_view, std::string_view>("a", "b=c")));
  EXPECT_EQ(cut_at("abc", '='), (std::pair<std::string_view, std::string_view>("abc", "")));
}

TEST(TextParts, AreTrimmedAtBothEnds) {
  EXPECT_EQ(trimmed("\t a b \r"), "a b");
  EXPECT_EQ(trimmed(" \t"), "");
  EXPECT_EQ(trimmed("--a-", "-"), "a");
}

TEST(Counted, OnlyOneIsSingular) {
  EXPECT_EQ(counted(0, "key"), "0 keys");
  EXPECT_EQ(counted(1u, "key"), "1 key");
  EXPECT_EQ(counted(std::int64_t{-1}, "key"), "-1 keys");
  EXPECT_EQ(counted(std::size_t{2}, "key"), "2 keys");
}

TEST(XmlText, HasNoTagsAndNoEntities) {
  EXPECT_EQ(xml_text("a<b && c>d"), "a&lt;b &amp;&amp; c>d");
  EXPECT_EQ(xml_text("&lt;"), "&amp;lt;");
}

}  // namespace
}  // namespace tandem
