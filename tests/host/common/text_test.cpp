// SPDX-License-Identifier: Apache-2.0
//
// Texts that are numbers, and texts in drawings.
#include <gtest/gtest.h>

#include "common/number.h"
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

TEST(XmlText, HasNoTagsAndNoEntities) {
  EXPECT_EQ(xml_text("a<b && c>d"), "a&lt;b &amp;&amp; c>d");
  EXPECT_EQ(xml_text("&lt;"), "&amp;lt;");
}

}  // namespace
}  // namespace tandem
