// SPDX-License-Identifier: Apache-2.0
//
// Streams between tasks get the names of their variables, with and without a region.
#include <gtest/gtest.h>

#include <string>

#include "bitstreams/compiler/dataflow/dataflow.h"

namespace tandem::xclbin {
namespace {

constexpr const char* kNamesBoth =
    " ::tandem_hls::stream_name(a, \"a\"); ::tandem_hls::stream_name(b, \"b\");";

int count_of(const std::string& text, const std::string& part) {
  int count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(StreamNames, OfTasksNeedNoRegion) {
  const std::string out = rewrite_dataflow(
      "void k() {\n thread_local hls::stream<int, 4> a, b;\n thread_local hls::task t(f, a, "
      "b);\n}");
  EXPECT_EQ(count_of(out, kNamesBoth), 1) << out;
}

// As the preprocessor leaves a macro of a system header.
TEST(StreamNames, AreBehindLineMarkers) {
  const std::string declared =
      "\n# 2 \"k.cpp\" 3 4\nthread_local\n# 2 \"k.cpp\"\n hls::stream<int> a, b;\n";
  const std::string region = "void k() {" + declared + "#pragma HLS dataflow\n f(a, b);\n}";
  EXPECT_EQ(count_of(rewrite_dataflow(region), kNamesBoth), 1);
  EXPECT_EQ(count_of(rewrite_dataflow("void k() {" + declared + "}"), kNamesBoth), 1);
}

TEST(StreamNames, AreNotGivenOutsideOfFunctions) {
  for (const char* text : {"thread_local hls::stream<int> a;", "struct k { hls::stream<int> a; };",
                           "namespace n { thread_local hls::stream<int> a; }",
                           "struct k { static thread_local hls::stream<int> a; };"}) {
    EXPECT_EQ(rewrite_dataflow(text), text);
  }
}

}  // namespace
}  // namespace tandem::xclbin
