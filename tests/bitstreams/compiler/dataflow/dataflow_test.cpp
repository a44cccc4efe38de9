// SPDX-License-Identifier: Apache-2.0
//
// The dataflow rewriter: what it changes and what it keeps; damaged text must not crash it.
// tests/fpga_hls/runtime/rewritten_test.cpp compiles and runs its output.
#include "bitstreams/compiler/dataflow/dataflow.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "bitstreams/compiler/dataflow/dataflow_tokens.h"

namespace tandem::xclbin {
namespace {

// Without what Region::start() is told of the variables a process uses.
std::string without_uses(std::string text) {
  const std::string opening = ", ::tandem_hls::use<";
  for (size_t at = text.find(opening); at != std::string::npos; at = text.find(opening)) {
    size_t end = at;
    for (int depth = 0; end < text.size(); ++end) {
      depth += text[end] == '(' ? 1 : text[end] == ')' ? -1 : 0;
      if (depth < 0) break;
    }
    text.erase(at, end - at);
  }
  return text;
}

// The rewritten body of a function whose block is a region.
std::string rewritten(const std::string& body) {
  const std::string text = "# 1 \"k.cpp\"\nvoid k() {\n#pragma HLS dataflow\n" + body + "\n}\n";
  const std::string out = without_uses(rewrite_dataflow(text));
  const std::string open = "#pragma HLS dataflow\n";
  const size_t begin = out.find(open) + open.size();
  return out.substr(begin, out.rfind("\ntandem_region_1.join(); }") - begin);
}

std::string process(const std::string& name, const std::string& call) {
  return "tandem_region_1.start(\"" + name + "\", [&] { " + call + "; });";
}

TEST(Dataflow, LeavesTextWithoutRegionsAsItIs) {
  const std::string text = "# 1 \"k.cpp\"\nvoid k(int* a) {\n#pragma HLS pipeline\n f(a);\n}\n";
  EXPECT_EQ(rewrite_dataflow(text), text);
  EXPECT_EQ(rewrite_dataflow(""), "");
}

// g++ 12 fails if the first mention of a class is in a generic lambda.
TEST(Dataflow, DeclaresTheClassesThatACallIsTheFirstToName) {
  const auto declared = [](const std::string& call) {
    const std::string text = rewritten(call + ";");
    return text.substr(0, text.find("tandem_region_1"));
  };
  EXPECT_EQ(rewritten("f<class tag>(a);"),
            "{ class tag; " + process("f", "f<class tag>(a)") + " }");
  EXPECT_EQ(declared("f<int, struct one, union two>(a)"), "{ struct one; union two; ");
  EXPECT_EQ(declared("f<class ns::tag>(a)"), "");
  EXPECT_EQ(declared("f<classy>(a)"), "");
  EXPECT_EQ(declared("f((struct s*)a)"), "");
  for (const char* const end : {";", " {};", " : base {};"}) {
    const std::string text = rewritten(std::string("class tag") + end + " f<class tag>(a);");
    EXPECT_EQ(text.find("{ class tag;"), std::string::npos) << end;
  }
  const std::string twice = rewritten("f<class tag>(a); f<class tag>(b);");
  EXPECT_NE(twice.find("{ class tag; ", 5), std::string::npos);
}

TEST(Dataflow, MakesCallsProcesses) {
  EXPECT_EQ(rewritten("f(a, b);"), process("f", "f(a, b)"));
  EXPECT_EQ(rewritten("f(\n  a,\n  b);"), process("f", "f(\n  a,\n  b)"));
  EXPECT_EQ(rewritten("ns::f<3, int>(a);"), process("ns::f", "ns::f<3, int>(a)"));
  EXPECT_EQ(rewritten("::f(a);"), process("f", "::f(a)"));
  EXPECT_EQ(rewritten("f<(3 > 2)>(a);"), process("f", "f<(3 > 2)>(a)"));
  EXPECT_EQ(rewritten("f<g<2>>(a);"), process("f", "f<g<2>>(a)"));
  EXPECT_EQ(rewritten("(void)f(a);"), process("f", "(void)f(a)"));
  EXPECT_EQ(rewritten("f([](int x) { g(x); }, a);"), process("f", "f([](int x) { g(x); }, a)"));
  EXPECT_EQ(rewritten("f(\"); g(\", ')');"), process("f", "f(\"); g(\", ')')"));
  EXPECT_EQ(rewritten("f(R\"x(\";)x\");"), process("f", "f(R\"x(\";)x\")"));
  EXPECT_EQ(rewritten("f(1'000, 0x1p-3);"), process("f", "f(1'000, 0x1p-3)"));
}

TEST(Dataflow, ReachesIntoLoopsAndConditions) {
  const std::string f = process("f", "f(a)");
  EXPECT_EQ(rewritten("for (;;) {\n#pragma HLS unroll\n f(a); }"),
            "for (;;) {\n#pragma HLS unroll\n " + f + " }");
  EXPECT_EQ(rewritten("if (x) f(a); else { f(a); }"), "if (x) " + f + " else { " + f + " }");
  EXPECT_EQ(rewritten("if (x) ; else if (y) f(a);"), "if (x) ; else if (y) " + f);
  EXPECT_EQ(rewritten("if constexpr (x) f(a);"), "if constexpr (x) " + f);
  EXPECT_EQ(rewritten("switch (x) { case 1: f(a); break; default: f(a); }"),
            "switch (x) { case 1: " + f + " break; default: " + f + " }");
  EXPECT_EQ(rewritten("try { f(a); } catch (...) { f(a); }"),
            "try { " + f + " } catch (...) { " + f + " }");
  EXPECT_EQ(rewritten("stage: f(a);"), "stage: " + f);
  EXPECT_EQ(rewritten("{ f(a); }"), "{ " + f + " }");
}

TEST(Dataflow, MakesALoopOneProcess) {
  const auto loop = [](const std::string& name, const std::string& text) {
    return "tandem_region_1.start(\"" + name + "\", [&] { " + text + " });";
  };
  for (const char* text :
       {"for (int i = 0; i < 4; i++) f(a);", "while (x) f(a);", "do f(a); while (x);",
        "for (;;) s.write(t.read());", "for (;;) { if (x) break; y = 1; }"}) {
    EXPECT_EQ(rewritten(text), loop("loop", text));
  }
  EXPECT_EQ(rewritten("for (;;) { f(a); g(a); }"), loop("loop of f", "for (;;) { f(a); g(a); }"));
  EXPECT_EQ(rewritten("rows: while (x) f(a);"), "rows: " + loop("rows", "while (x) f(a);"));
  const std::string nest = "for (;;) { for (;;) {\n#pragma HLS unroll\n f(a); } }";
  EXPECT_EQ(rewritten(nest), loop("loop of f", nest));
  // A process cannot leave the function: the calls run in order.
  EXPECT_EQ(rewritten("for (;;) { f(a); return; }"),
            "{ tandem_region_1.join(); for (;;) { f(a); { tandem_region_1.join(); return; } } }");
}

// The text of a function that a region calls, and of one that it does not call.
std::string called(const std::string& pragma, const std::string& head, const std::string& body) {
  const std::string text = "# 1 \"k.cpp\"\n" + head + " {\n" + pragma + "\n" + body +
                           "\n}\nvoid k() {\n#pragma HLS dataflow\n f(a);\n}\n";
  const std::string out = without_uses(rewrite_dataflow(text));
  const std::string open = pragma + "\n";
  const size_t begin = out.find(open) + open.size();
  return out.substr(begin, out.find("\n", begin) - begin);
}

TEST(Dataflow, TakesTheCallsOfAnInlinedFunctionForProcesses) {
  const std::string inlined = "#pragma HLS inline";
  const std::string started = "tandem_region_2.start(\"g\", [&] { g(a); });";
  for (const char* head :
       {"void f(int* a)", "template <int N> static void f(S<N> (&a)[N])",
        "__attribute__((noinline)) void f(int* a)", "[[deprecated(\"old\")]] void f(int* a)"}) {
    EXPECT_EQ(called(inlined, head, "g(a);"), started) << head;
  }
  EXPECT_EQ(called(inlined, "constexpr void f(int* a)", "g(a);"), "g(a);")
      << "it may have no variable of a class such as Region";
  EXPECT_EQ(called("#pragma HLS INLINE recursive", "void f(int* a)", "g(a);"), started);
  EXPECT_EQ(called("#pragma HLS inline off", "void f(int* a)", "g(a);"), "g(a);");
  EXPECT_EQ(called("#pragma HLS pipeline", "void f(int* a)", "g(a);"), "g(a);");
  EXPECT_EQ(called(inlined, "void h(int* a)", "g(a);"), "g(a);");
  EXPECT_EQ(called(inlined, "void f(int* a)", "if (x) g<2>(a);"),
            "if (x) tandem_region_2.start(\"g\", [&] { g<2>(a); });");
  EXPECT_EQ(called(inlined, "void f(int* a)", "for (;;) a[0] = 1;"), "for (;;) a[0] = 1;");
}

// They would run while the call still computes what they read.
TEST(Dataflow, KeepsAnInlinedFunctionOneProcessIfStatementsFollowACall) {
  const std::string inlined = "#pragma HLS inline", head = "void f(int* a, int n)";
  for (const char* body :
       {"g(a); s.write(n);", "g(a); n = 2;", "g(a); int m = n; h(m);", "g(a); if (n) h(a);",
        "for (int i = 0; i < 3; ++i) a[i] = i; n = a[0]; g(a);",
        "switch (n) { case 1: g(a); ++n; }", "if (n) g(a); else { h(a); n = 1; }"}) {
    EXPECT_EQ(called(inlined, head, body), body);
  }
  for (const char* body :
       {"n = 2; g(a);", "g(a); int m; h(m);", "g(a); return;", "g(a); if (2 > 1) h(a);",
        "switch (n) { case 1: g(a); break; default: h(a); }", "{ g(a); } h(a);"}) {
    EXPECT_NE(called(inlined, head, body), body);
  }
}

TEST(Dataflow, FollowsInlinedFunctionsThatCallInlinedFunctions) {
  const std::string out =
      without_uses(rewrite_dataflow("void h() {\n#pragma HLS inline\n i();\n}\n"
                                    "void g() {\n#pragma HLS inline\n h(); ns::g();\n}\n"
                                    "void k() {\n#pragma HLS dataflow\n ns::g();\n}\n"));
  EXPECT_NE(out.find("start(\"i\", "), std::string::npos) << out;
  EXPECT_NE(out.find("start(\"h\", "), std::string::npos) << out;
}

TEST(Dataflow, JoinsWhereAnInnerBlockWithVariablesEnds) {
  const std::string f = process("f", "f(a)");
  EXPECT_EQ(rewritten("{ int a; f(a); }"), "{ int a; " + f + " tandem_region_1.join(); }");
  EXPECT_EQ(rewritten("if (x) { hls::stream<int> a(\"a\"); f(a); }"),
            "if (x) { hls::stream<int> a(\"a\"); " + f + " tandem_region_1.join(); }");
  EXPECT_EQ(
      rewritten("while (x) {\n#pragma HLS unroll\n int a[4]; if (y) break; f(a); }"),
      "while (x) {\n#pragma HLS unroll\n int a[4]; if (y) { tandem_region_1.join(); break; } " + f +
          " tandem_region_1.join(); }");
}

TEST(Dataflow, KeepsTheCountersOfUnrolledLoops) {
  const std::string text = rewritten("for (int i = 0; i < 4; ++i) {\n#pragma HLS unroll\n f(i); }");
  EXPECT_NE(text.find("[&, i]() mutable { f(i); }"), std::string::npos) << text;
  const std::string range = rewritten("for (auto& s : t) {\n#pragma HLS unroll\n f(s); }");
  EXPECT_NE(range.find("[&] { f(s); }"), std::string::npos) << range;
}

TEST(Dataflow, TellsWhatAProcessUses) {
  const auto uses = [](const std::string& body, const std::string& variable) {
    const std::string text =
        rewrite_dataflow("void k(int n, int* out) {\n#pragma HLS dataflow\n" + body + "\n}");
    return text.find("::place(" + variable + "); })") != std::string::npos;
  };
  for (const char* argument : {"a", "a[1]", "a.b", "&a", "*a", "a + 3", "ns::a", "a[i].b"}) {
    EXPECT_TRUE(uses("f(1, " + std::string(argument) + ");", argument)) << argument;
  }
  for (const char* argument : {"3", "a++", "--a", "g(a)", "a = b", "\"a\"", "a[b()]", "a ? b : c",
                               "nullptr", "sizeof a", "a - --b", "[&] { return a; }", "int(a)"}) {
    EXPECT_FALSE(uses("f(1, " + std::string(argument) + ");", argument)) << argument;
  }
  const std::string loop =
      "int a[4]; T b = c<d, e>(1), g; hls::stream<int> s;\n"
      "for (int i = 0; i < n; ++i) { int q; q = a[i] + m(q); x.g = out; }";
  for (const char* variable : {"a", "n", "out"}) EXPECT_TRUE(uses(loop, variable)) << variable;
  for (const char* other : {"i", "q", "m", "x", "g", "b", "int", "c", "d", "e"}) {
    EXPECT_FALSE(uses(loop, other)) << other;
  }
}

TEST(Dataflow, LeavesAloneWhatIsNoCall) {
  for (const char* statement : {"int x = f(a);",
                                "x = f(a);",
                                "s.write(a);",
                                "p->write(a);",
                                "hls::task t(f, a, b);",
                                "hls_thread_local hls::task u(f, a);",
                                "T x(f(a));",
                                "T x{1, 2};",
                                "T x = {f(a)};",
                                "auto g = [&](int v) { f(v); };",
                                "static_assert(sizeof(int) == 4);",
                                "using ns::f;",
                                "typedef int (*pointer)(int);",
                                "struct L { void m() { f(1); } int v = 2; };",
                                "static_cast<void>(x);",
                                "delete p;",
                                "throw X(1);",
                                "*p = f(a);",
                                "++x;",
                                "a[f(1)] = 2;",
                                "f(a), g(b);",
                                "f(a)(b);",
                                "f(a).g(b);",
                                "(f)(a);",
                                "x < y > (z + 1) + 2;",
                                "goto done;",
                                "asm volatile(\"nop\");",
                                "sizeof(x);",
                                ";",
                                "[&] { f(a); }();",
                                "T<int> x(a);",
                                "hls::stream<int> s(\"x\");",
                                "((x) ? void(0) : __assert_fail(\"x\"));"}) {
    EXPECT_EQ(rewritten(statement), statement);
  }
}

TEST(Dataflow, JoinsWhereARegionIsLeft) {
  EXPECT_EQ(rewritten("if (x) return;"), "if (x) { tandem_region_1.join(); return; }");
  const std::string last = rewrite_dataflow("int k() {\n#pragma HLS dataflow\nreturn f(a);\n}\n");
  EXPECT_TRUE(last.ends_with("\n{ tandem_region_1.join(); return f(a); }\n}\n"))
      << "g++ -O0 takes a statement behind it for an end without a value";
  EXPECT_EQ(rewritten("switch (x) { case 1: break; }"), "switch (x) { case 1: break; }");
  const std::string loop =
      rewrite_dataflow("void k() { for (;;) {\n#pragma HLS DATAFLOW\n if (x) continue; f(a); } }");
  EXPECT_NE(loop.find("if (x) { tandem_region_1.join(); continue; }"), std::string::npos);
}

TEST(Dataflow, KnowsThePragmaInAnyForm) {
  for (const char* pragma :
       {"#pragma HLS dataflow", "#pragma HLS DATAFLOW disable_start_propagation",
        "#pragma  hls\tDataFlow", "# pragma HLS \\\n dataflow"}) {
    const std::string out =
        without_uses(rewrite_dataflow(std::string("void k() {\n f(a);\n") + pragma + "\n}"));
    EXPECT_NE(out.find(process("f", "f(a)")), std::string::npos) << pragma;
  }
  for (const char* text : {"void k() {\n f(a);\n// #pragma HLS dataflow\n}",
                           "#pragma HLS dataflow\nvoid k() { f(a); }",
                           "void k() {\n f(\"\\\n#pragma HLS dataflow\\\n\");\n}",
                           "struct S {\n#pragma HLS dataflow\n int f(int); };",
                           "namespace n {\n#pragma HLS dataflow\n}"}) {
    EXPECT_EQ(rewrite_dataflow(text), text);
  }
}

TEST(Dataflow, FindsTheFunctionBehindAnyHead) {
  for (const char* head :
       {"extern \"C\" void k(int* a) ", "extern \"C\" { void k(int* a) ", "struct S k(int* a) ",
        "template <class T> void k(T* a) ", "namespace n { static inline void k(int* a) ",
        "struct S { void k(int* a) const noexcept ", "__attribute__((noinline)) void k(int* a) ",
        "auto k(int* a) -> void ", "S::S(int* a) : b(a), c{a} "}) {
    std::string text = std::string(head) + "{\n#pragma HLS dataflow\n f(a);\n}";
    if (std::count(text.begin(), text.end(), '{') > std::count(text.begin(), text.end(), '}')) {
      text += "}";
    }
    EXPECT_NE(without_uses(rewrite_dataflow(text)).find(process("f", "f(a)")), std::string::npos)
        << text;
  }
  for (const char* head :
       {"extern \"C\" ", "struct alignas(8) S ", "enum E : int ", "namespace n "}) {
    const std::string text = std::string(head) + "{\n#pragma HLS dataflow\n f(a);\n}";
    EXPECT_EQ(rewrite_dataflow(text), text);
  }
}

TEST(Dataflow, NestsRegions) {
  const std::string out =
      without_uses(rewrite_dataflow("void k() {\n#pragma HLS dataflow\n f(a);\n for (;;) "
                                    "{\n#pragma HLS dataflow\n g(a);\n }\n}"));
  EXPECT_NE(out.find(process("f", "f(a)")), std::string::npos);
  EXPECT_NE(out.find("tandem_region_2.start(\"g\", [&] { g(a); });\n tandem_region_2.join(); }"),
            std::string::npos)
      << out;
}

TEST(Dataflow, KeepsLineNumbers) {
  const std::string text =
      "# 1 \"k.cpp\"\nvoid k() {\n#pragma HLS dataflow\n hls::stream<int> s;\n"
      "#pragma HLS stream variable=s depth=4\n f(s);\n\n g(s);\n}\nint last;\n";
  const std::string out = rewrite_dataflow(text);
  const size_t begin = out.find("# 1 \"k.cpp\"");
  ASSERT_NE(begin, std::string::npos);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'),
            std::count(out.begin() + static_cast<std::ptrdiff_t>(begin), out.end(), '\n'));
}

TEST(Dataflow, SetsDepthsAndNamesOfLocalStreams) {
  const auto contains = [](const std::string& body, const std::string& part) {
    return rewritten(body).find(part) != std::string::npos;
  };
  const std::string declared = "hls::stream<int> s, t[2];\n";
  EXPECT_TRUE(contains(declared, "::tandem_hls::stream_name(s, \"s\");"));
  EXPECT_TRUE(contains(declared, "::tandem_hls::stream_name(t, \"t\");"));
  EXPECT_TRUE(contains(declared + "#pragma HLS STREAM variable = s depth = 8\nf(s);",
                       "::tandem_hls::stream_depth(s, 8);"));
  EXPECT_TRUE(contains(declared + "#pragma HLS stream variable=t[1] depth=8 type=fifo\nf(s);",
                       "::tandem_hls::stream_depth(t[1], 8);"));
  EXPECT_TRUE(contains(declared + "{ f(s); }\n#pragma HLS stream variable=s depth=8\nf(s);",
                       "::tandem_hls::stream_depth(s, 8);"));
  EXPECT_TRUE(
      contains("const int N = 4;\n" + declared + "#pragma HLS stream depth=N variable=s\nf(s);",
               "::tandem_hls::stream_depth(s, N);"));
  for (const char* type :
       {"using words = hls::stream<int>;\n", "typedef ::hls::stream<int, 4> words;\n"}) {
    EXPECT_TRUE(
        contains(type + std::string("words w;\n#pragma HLS stream variable=w depth=8\nf(w);"),
                 "::tandem_hls::stream_depth(w, 8);"))
        << type;
  }
  EXPECT_FALSE(
      contains("using words = std::vector<hls::stream<int>>;\nwords w;\n#pragma HLS stream "
               "variable=w depth=8\nf(w);",
               "stream_depth("));
  const auto has = [&](const std::string& pragma, const char* text) {
    return contains("int a[4];\n" + declared + "#pragma HLS stream " + pragma + "\nf(s);", text);
  };
  // A stranger's stream, an array, no depth, no variable.
  for (const char* pragma : {"variable=u depth=4", "variable=a depth=4", "variable=s",
                             "variable=s] depth=4", "variable= depth=4", "depth=4"}) {
    EXPECT_FALSE(has(pragma, "stream_depth(")) << pragma;
  }
  // A macro of the source, garbage.
  for (const char* depth : {"DEPTH", "4x", "99999999999"}) {
    EXPECT_TRUE(has(std::string("variable=s depth=") + depth, "stream_depth(s, 1000000);"))
        << depth;
  }
}

TEST(Dataflow, GivesUnbalancedTextBack) {
  for (const char* text :
       {"void k() {\n#pragma HLS dataflow\n f(a);\n", "}\n#pragma HLS dataflow\n{",
        "void k() {\n#pragma HLS dataflow\n f(a];\n}", "void f() {\n#pragma HLS inline\n g(a);\n",
        "(", "\"", "R\"(", "/*"}) {
    EXPECT_EQ(rewrite_dataflow(text), text);
  }
}

// Never crashes, adds to balanced text only what is balanced, and moves no character of the text.
TEST(Dataflow, SurvivesRandomMutations) {
  const std::string seed =
      "# 1 \"k.cpp\"\nvoid h(int* a) {\n#pragma HLS inline\n q(a); if (a) f<2>(a);\n}\n"
      "template <int N> void k(hls::stream<int>& in, int* out) {\n"
      "#pragma HLS dataflow\n hls::stream<int, 4> a(\"a\"), b[2];\n"
      "#pragma HLS stream variable=b[1] depth=16\n for (int i = 0; i < N; ++i) {\n f<N>(in, a);\n"
      " if (i > 2) { g(a, b[0]); } else h(a);\n do q(b[i]); while (i < 3);\n }\n"
      " switch (N) { case 1: f(a); break; default: return; }\n"
      " auto l = [&](int x) { return f(x); }; label: z(R\"(;{)\", '\\'', \"\\\"\"); "
      "(void)w(a);\n}\n";
  const std::string pieces[] = {
      "{",     "}",    "(",  ")",      ";",  "<",  ">",  "::",  "#pragma HLS dataflow\n",
      "\"",    "R\"(", "'",  "/*",     "*/", "//", "\\", "\n",  "else",
      "for",   "case", "do", "return", ":",  "[",  "]",  "try", "catch",
      "while", "if",   "#"};
  std::mt19937 random(7);
  const auto pick = [&random](size_t count) { return random() % count; };
  for (int round = 0; round < 20000; ++round) {
    std::string text = seed;
    for (size_t edit = 0; edit <= pick(6); ++edit) {
      const size_t at = pick(text.size());
      switch (pick(3)) {
        case 0:
          text.erase(at, pick(20));
          break;
        case 1:
          text.insert(at, pieces[pick(std::size(pieces))]);
          break;
        default:
          text.insert(at, text.substr(pick(text.size()), pick(40)));
      }
      if (text.empty()) text = "{";
    }
    const std::string out = rewrite_dataflow(text);
    if (out == text) continue;
    const auto tokens = tokenize(out);
    ASSERT_FALSE(match_brackets(out, tokens).empty()) << text;
    size_t at = 0;
    for (const char c : text) {
      at = out.find(c, at);
      ASSERT_NE(at, std::string::npos) << text;
      ++at;
    }
  }
}

}  // namespace
}  // namespace tandem::xclbin
