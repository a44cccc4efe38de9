// SPDX-License-Identifier: Apache-2.0
//
// Dependency files with every character that make treats specially.
#include "bitstreams/compiler/depfile.h"

#include <gmock/gmock.h>

namespace tandem::xclbin {
namespace {

using testing::ElementsAre;

TEST(Depfile, PathsLoseTheirEscapes) {
  EXPECT_THAT(parse_depfile("/tmp/k.o: /a\\ b/k.cpp \\\n /c\\#d/e.h \\\r\n /$$f/g.h /h\\i.h\n"),
              ElementsAre("/a b/k.cpp", "/c#d/e.h", "/$f/g.h", "/h\\i.h"));
  EXPECT_TRUE(parse_depfile("").empty());
  EXPECT_THAT(parse_depfile("a: b\\"), ElementsAre("b\\"));
}

TEST(Depfile, EscapedPathsAreReadBack) {
  for (const char* path : {"plain.h", "a b.h", "a  b.h", "#.h", "$x$.h", "back\\slash.h",
                           "back\\ slash.h", "two\\\\ # $.h"}) {
    EXPECT_THAT(parse_depfile("out: " + escape_for_make(path) + "\n"), ElementsAre(path));
  }
}

}  // namespace
}  // namespace tandem::xclbin
