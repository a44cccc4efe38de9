// SPDX-License-Identifier: Apache-2.0
//
// The depth of a stream's pragma: numbers, constants and macros; what is not known
// counts as a million and gives a warning.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "bitstreams/compiler/dataflow/dataflow.h"

namespace tandem::xclbin {
namespace {

TEST(StreamDepths, AreTakenFromConstantsAndMacros) {
  int asked = 0;
  const auto rewrite = [&asked](const std::string& before, const std::string& depth,
                                std::vector<std::string>* warnings) {
    DataflowNotes notes;
    notes.macros = [&asked] {
      ++asked;
      return std::map<std::string, std::string>{
          {"DEPTH", "(2 * ROWS)"}, {"ROWS", "0x10u"}, {"LOOP", "LOOP + 1"}, {"TEXT", "\"4\""},
          {"CALL", "f(3)"},        {"EMPTY", ""},     {"OPEN", "("},        {"PAIR", "4, 8"}};
    };
    const std::string out = rewrite_dataflow(
        "# 7 \"k.cpp\"\n" + before + "void k() {\n#pragma HLS dataflow\n hls::stream<int> s;\n" +
            "#pragma HLS stream variable=s depth=" + depth + "\n f(s);\n}\n",
        &notes);
    *warnings = notes.warnings;
    const size_t at = out.find("::tandem_hls::stream_depth(s, ");
    return at == std::string::npos ? "" : out.substr(at + 30, out.find(");", at) - at - 30);
  };
  std::vector<std::string> warnings;
  EXPECT_EQ(rewrite("", "16", &warnings), "16");
  EXPECT_EQ(rewrite("constexpr int N = 4;\n", "N", &warnings), "N");
  EXPECT_EQ(rewrite("static const unsigned N = 4;\n", "2*N+1", &warnings), "2*N+1");
  EXPECT_EQ(rewrite("enum { kRows = 2, N };\n", "N", &warnings), "N");
  EXPECT_EQ(rewrite("template <typename T, int N>\n", "N", &warnings), "N");
  EXPECT_EQ(asked, 0);
  EXPECT_EQ(rewrite("", "DEPTH", &warnings), "((2*(0x10u)))");
  EXPECT_EQ(rewrite("", "ROWS/2", &warnings), "(0x10u)/2");
  EXPECT_EQ(rewrite("", "(4 * 8)", &warnings), "(4*8)");
  EXPECT_EQ(rewrite("", "4 * 8 / ROWS", &warnings), "4*8/(0x10u)");
  EXPECT_EQ(rewrite("", "( DEPTH % 7 )", &warnings), "(((2*(0x10u)))%7)");
  EXPECT_EQ(rewrite("", "(8 - -8)", &warnings), "(8- -8)");
  EXPECT_EQ(rewrite("constexpr int N = 4;\n", "(N == 4 ? 2 : 8)", &warnings), "(N==4?2:8)");
  const std::string function =
      "template <class T> constexpr T up(T a, T b) { return a / b + 1; }\n";
  EXPECT_EQ(rewrite(function, "(4 * up(9, 2))", &warnings), "(4*up(9,2))");
  EXPECT_TRUE(warnings.empty());
  for (const char* const other :
       {"int up(int a);\n", "constexpr int N = up(4);\n", "constexpr int N = 4; int up(int a);\n",
        "constexpr int n() { return 1; } int up(int a);\n",
        "constexpr int n() {\n# 3 \"k.cpp\"\n int a = up(3); return a; }\n"}) {
    EXPECT_EQ(rewrite(other, "up(3)", &warnings), "1000000") << other;
  }
  for (const char* depth : {"LOOP", "TEXT", "CALL", "EMPTY", "OPEN", "PAIR", "NONE", "T"}) {
    EXPECT_EQ(rewrite("template <typename T>\n", depth, &warnings), "1000000") << depth;
    ASSERT_EQ(warnings.size(), 1u) << depth;
    EXPECT_EQ(warnings[0].find("k.cpp:11: "), 0u) << warnings[0];
    EXPECT_NE(warnings[0].find(depth), std::string::npos) << warnings[0];
  }
}

// As in classes around a stream whose depth is a parameter of their template.
TEST(StreamDepths, AreTakenFromPragmasOfMembers) {
  DataflowNotes notes;
  const std::string out = rewrite_dataflow(
      "template <class T, size_t depth>\nclass Pipe : public Base<T> {\n Pipe(const char* name) : "
      "Base<T>(name) {\n#pragma HLS stream variable=this->stream_ depth=depth\n }\n};\nvoid k() {\n"
      "#pragma HLS dataflow\n Pipe<int, 8> s;\n f(s);\n}\n",
      &notes);
  EXPECT_NE(out.find("::tandem_hls::stream_depth(this->stream_, depth); }"), std::string::npos);
  EXPECT_TRUE(notes.warnings.empty());
}

}  // namespace
}  // namespace tandem::xclbin
