// SPDX-License-Identifier: Apache-2.0
//
// What the markers of a checked copy insert: loops with claims, stores, restricted pointers.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "bitstreams/compiler/vpp/dependence_marks.h"
#include "bitstreams/compiler/vpp/restrict_marks.h"
#include "bitstreams/compiler/vpp/store_marks.h"

namespace {

using tandem::vpp::mark_dependences;
using tandem::vpp::mark_restricts;
using tandem::vpp::mark_stores;

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

// The text behind the declarations that a marker puts before the source's first line.
std::string behind_prefix(const std::string& marked) {
  return marked.substr(std::min(marked.find("# 1 \"k.cpp\" 2"), marked.size()));
}

std::string kernel(const std::string& body) {
  return "# 1 \"k.cpp\"\nvoid f(int* x, int n) {\n" + body + "\n}\n";
}

std::string loop_with(const std::string& options) {
  return kernel("L: for (int i = 0; i < n; ++i) {\n#pragma HLS dependence " + options +
                "\n x[i] = 1;\n}");
}

TEST(DependenceMarks, TheInnermostLoopTellsItsBeginItsTurnsAndTheClaim) {
  const std::string text = mark_dependences(kernel(
      "for (int k = 0; k < n; ++k) {\n for (int i = 0; i < n; ++i) {\n#pragma HLS DEPENDENCE "
      "variable = x inter RAW false\n x[i] = 1;\n}}"));
  EXPECT_EQ(count(text, "if (tandem_dependence_loop tandem_loop_0{}) {} else for (int i"), 1u);
  EXPECT_EQ(count(text, "else for (int k"), 0u);
  EXPECT_TRUE(contains(text,
                       "{\n#pragma HLS DEPENDENCE variable = x inter RAW false\n "
                       "tandem_dependence_turn(&tandem_loop_0); tandem_loop_0.claim(x, "
                       "\"x\", __builtin_FILE(), __builtin_LINE() - 1, 1, 0); x[i] = 1;"));
}

TEST(DependenceMarks, APragmaOutsideOfLoopsIsForTheInnermostLoopsAfterIt) {
  const std::string text = mark_dependences(
      kernel("for (;n > 9;) { --n; }\n#pragma HLS dependence variable=x false\nwhile (n > 0) { do "
             "{ --n; } while (n > 3); }"));
  EXPECT_EQ(count(text, "tandem_dependence_loop tandem_loop_"), 1u);
  EXPECT_TRUE(contains(text, "{}) {} else do {"));
}

TEST(DependenceMarks, ClaimsHaveTheirOrdersAndDistance) {
  const auto ends_with = [](const std::string& options) {
    const std::string text = mark_dependences(loop_with(options));
    const size_t at = text.find("__builtin_LINE() - 1, ");
    return at == std::string::npos ? "" : text.substr(at + 22, text.find(')', at + 18) - at - 22);
  };
  EXPECT_EQ(ends_with("variable=x inter false"), "7, 0");
  EXPECT_EQ(ends_with("variable=x type=inter direction=WAR dependent=false"), "2, 0");
  EXPECT_EQ(ends_with("variable=x inter WAW false"), "4, 0");
  EXPECT_EQ(ends_with("variable=raw inter false"), "7, 0") << "a name, not an order";
  EXPECT_EQ(ends_with("variable=x inter RAW distance=4 true"), "1, 4");
  EXPECT_EQ(ends_with("variable=x intra false"), "9, 0");
  EXPECT_EQ(ends_with("variable=x intra WAW false"), "12, 0");
  // Nothing that a run could disprove.
  for (const char* options : {"variable=x inter true", "variable=x intra WAR false", "inter false",
                              "variable=x inter distance=1 true", "variable=f(x) false"}) {
    EXPECT_EQ(mark_dependences(loop_with(options)), loop_with(options)) << options;
  }
}

// g++ takes `int* __restrict` for another type than `int*`: the claim is about the memory, too.
TEST(DependenceMarks, ARestrictedPointerStandsForItsMemory) {
  const std::string text = mark_dependences(loop_with("variable=x inter false"));
  for (const char* type : {"<T*>", "<T* const>", "<T* __restrict>", "<T* const __restrict>"}) {
    EXPECT_TRUE(contains(text, std::string("struct tandem_extent") + type)) << type;
  }
}

TEST(DependenceMarks, LinesStay) {
  const std::string before = loop_with("variable=x inter false");
  const std::string after = behind_prefix(mark_dependences(before));
  EXPECT_EQ(std::count(after.begin(), after.end(), '\n'),
            std::count(before.begin(), before.end(), '\n'));
  // Declarations of another rewriter come before the source's name, and stay there.
  EXPECT_TRUE(mark_stores("int first;\n" + kernel("x[0] += 1;"))
                  .starts_with("int first;\n# 1 \"k.cpp\"\n# 1 \"tandem_marks.h\" 1 3\n"));
  const std::string unmatched = kernel("{ #pragma HLS dependence variable=x false");
  EXPECT_EQ(mark_dependences(unmatched), unmatched);
}

std::string stored(const std::string& statement) {
  const std::string text = behind_prefix(mark_stores(kernel(statement)));
  if (text.empty()) return statement;
  const size_t begin = text.find("{\n") + 2;
  return text.substr(begin, text.rfind("\n}") - begin);
}

TEST(StoreMarks, ElementsThatAreReadAndWrittenAreMarked) {
  EXPECT_EQ(stored("x[i] += 1;"), "tandem_store(x[i]) += 1;");
  EXPECT_EQ(stored("x[i].a[2] <<= 1;"), "tandem_store(x[i].a[2]) <<= 1;");
  EXPECT_EQ(stored("if (n) ++x[i];"), "if (n) ++tandem_store(x[i]);");
  EXPECT_EQ(stored("x[i]--;"), "tandem_store(x[i])--;");
  EXPECT_EQ(stored("x[i] = n + x[i];"), "tandem_store(x[i]) = n + x[i];");
  EXPECT_EQ(stored("*x |= 1; else p->x[0] -= 1;"),
            "tandem_store(*x) |= 1; else tandem_store(p->x[0]) -= 1;");
}

TEST(StoreMarks, NothingElseIsMarked) {
  for (const char* statement :
       {"x[i] = y[i];", "n += x[i];", "int x[3] = {1};", "f(x[i] == 1);", "x[i] == x[i];",
        "x(1)[i] += 1;", "f(*x++);", "n = (*x--);", "*x++ = 1;", "++*x++;", "a * x[i] + 1;",
        "return x[i] - 1;", "x[i] << 1;", "y = x[i] + x[i];"}) {
    EXPECT_EQ(stored(statement), statement);
  }
  const std::string system = "# 1 \"s.h\" 1 3\nvoid f(int* x) { x[1] += 1; }\n";
  EXPECT_EQ(mark_stores(system), system);
}

TEST(RestrictMarks, EachTwoRestrictedParametersAreTold) {
  const std::string begin =
      "# 1 \"k.cpp\"\nvoid f(const int* __restrict a, int n, int* __restrict__ b";
  const std::string two = behind_prefix(mark_restricts(begin + ") {\n n = 1;\n}\n"));
  EXPECT_TRUE(contains(two,
                       ") { tandem_restrict_scope tandem_restricts; tandem_restricted("
                       "&tandem_restricts, a, b, \"a' and 'b\", __builtin_FILE(), "
                       "__builtin_LINE());\n n = 1;"))
      << two;
  const std::string three = mark_restricts(begin + ", int *__restrict c) { }\n");
  EXPECT_EQ(count(three, "tandem_restricted(&"), 3u);
}

TEST(RestrictMarks, NothingElseIsChanged) {
  for (const char* text :
       {"# 1 \"k.cpp\"\nvoid f(int* __restrict a, int* b) {}\n",
        "# 1 \"k.cpp\"\nvoid f(int* __restrict a, int* __restrict b);\n",
        "# 1 \"s.h\" 1 3\nvoid f(int* __restrict a, int* __restrict b) {}\n",
        "# 1 \"k.cpp\"\nvoid f() { if (__restrict a, __restrict b) {} }\n", "void f( {"}) {
    EXPECT_EQ(mark_restricts(text), text);
  }
}

}  // namespace
