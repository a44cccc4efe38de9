// SPDX-License-Identifier: Apache-2.0
//
// clang's plugin: which loops get a version without checks, what is looked at before them, and what
// keeps its checks. C stands for OpenCL C, whose pointers are the same to the optimiser.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "bitstreams/compiler/compiler_process.h"
#include "bitstreams/xclbin/whole_file.h"

namespace tandem::opencl_loops {
namespace {

std::string function_part(const std::string& ir) {
  const size_t begin = ir.find("define ");
  return ir.substr(begin, ir.find("\n}\n", begin) - begin);
}

// The IR of a function that the plugin has seen.
std::string versioned(const std::string& source, const std::string& language = "c") {
  const std::string stem = ::testing::TempDir() + "/tandem-loops-" +
                           ::testing::UnitTest::GetInstance()->current_test_info()->name();
  xclbin::write_text(stem + ".c", source);
  xclbin::run_tool(
      {TANDEM_LOOPS_CLANG, "-x", language, "-O1", "-g1", "-fsanitize=memory",
       "-fsanitize=array-bounds,alignment", "-fsanitize-recover=all", "-Xclang",
       "-disable-llvm-passes", "-S", "-emit-llvm", "-o", stem + ".raw.ll", stem + ".c"},
      "the source does not compile");
  xclbin::run_tool(
      {TANDEM_LOOPS_CLANG, "-x", "ir", "-O1", std::string("-fpass-plugin=") + TANDEM_LOOPS_PLUGIN,
       "-S", "-emit-llvm", "-o", stem + ".ll", stem + ".raw.ll"},
      "the plugin fails");
  return function_part(xclbin::read_text(stem + ".ll"));
}

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

// The line with `part`, the first one behind `from`.
std::string line_with(const std::string& text, const std::string& part) {
  const size_t at = text.find(part);
  if (at == std::string::npos) return "";
  const size_t begin = text.rfind('\n', at) + 1;
  return text.substr(begin, text.find('\n', at) - begin);
}

// The lines of copied blocks that load or store without the mark.
size_t checked_accesses(const std::string& ir) {
  size_t found = 0;
  bool is_fast = false;
  for (size_t at = 0; at < ir.size();) {
    const size_t end = std::min(ir.find('\n', at), ir.size());
    const std::string line = ir.substr(at, end - at);
    if (!line.starts_with(" ") && line.find(':') != std::string::npos)
      is_fast = line.find(".fast:") != std::string::npos;
    const bool is_access = line.find(" load ") != std::string::npos || line.starts_with("  store ");
    if (is_fast && is_access && line.find("!nosanitize") == std::string::npos) ++found;
    at = end + 1;
  }
  return found;
}

TEST(LoopVersionTest, ALoopThatCopiesIsLookedAtBefore) {
  const std::string ir = versioned(
      "void f(int* out, const int* in, int n) { for (int i = 0; i < n; ++i) out[i] = in[i]; }");
  EXPECT_EQ(count(ir, "call i32 @tandem_check_span_ok("), 2u);
  EXPECT_EQ(count(ir, "call void @tandem_cl_span_done("), 2u);
  EXPECT_EQ(count(ir, "call i32 @tandem_cl_known("), 1u);
  EXPECT_EQ(checked_accesses(ir), 0u);
  // The version as it was, with its checks.
  EXPECT_EQ(count(ir, "call void @__ubsan_handle_type_mismatch_v1"), 2u);
  EXPECT_NE(line_with(ir, "call i32 @tandem_check_span_ok(").find("i64 4, i64 "),
            std::string::npos);
}

TEST(LoopVersionTest, FewTurnsAreNotWorthALook) {
  const std::string ir = versioned(
      "void f(int* out, const int* in, int n) { for (int i = 0; i < n; ++i) out[i] = in[i]; }");
  EXPECT_NE(ir.find(", label %tandem.look, label %tandem.slow"), std::string::npos);
  EXPECT_NE(ir.find("icmp uge i64 %"), std::string::npos);
  EXPECT_NE(ir.find(", 20, !nosanitize"), std::string::npos);
}

TEST(LoopVersionTest, AnIndexIsComparedWithItsArrayBefore) {
  const std::string ir = versioned(
      "void use(int*);\n"
      "int f(const int* in, int n) { int a[64]; use(a); int sum = 0;\n"
      "  for (int i = 0; i < n; ++i) sum += a[i]; return sum; }");
  const std::string below = line_with(ir, "call i32 @tandem_cl_stays_below(");
  EXPECT_NE(below.find("(i64 0, i64 64, i64 1, i64 %"), std::string::npos) << below;
  EXPECT_EQ(count(ir, "call void @__ubsan_handle_out_of_bounds"), 1u);
  EXPECT_EQ(checked_accesses(ir), 0u);
}

TEST(LoopVersionTest, ANestIsOneLook) {
  const std::string ir = versioned(
      "void f(int* out, const int* in, long h) {\n"
      "  for (long y = 0; y < h; ++y) for (long x = 0; x < 200; ++x) out[y * 256 + x] = in[x]; }");
  EXPECT_NE(ir.find("i64 4, i64 199, i64 1024, i64 %"), std::string::npos);  // the step of a row
  EXPECT_NE(ir.find("i64 4, i64 199, i64 0, i64 0)"), std::string::npos);
  EXPECT_EQ(checked_accesses(ir), 0u);
  EXPECT_EQ(count(ir, "\ntandem.fast"), 2u);  // the inner loop too
}

TEST(LoopVersionTest, LoopsInsideHaveLooksOfTheirOwnIfTheNestIsNotKnown) {
  const std::string ir = versioned(
      "void f(int* out, const int* in, const long* at, long h) {\n"
      "  for (long y = 0; y < h; ++y) {\n"
      "    const long row = at[y]; for (long x = 0; x < 200; ++x) out[row + x] = 1; } }");
  EXPECT_NE(ir.find("i64 4, i64 199, i64 0, i64 0)"), std::string::npos);
  EXPECT_EQ(checked_accesses(ir), 0u);
  EXPECT_EQ(count(ir, "\ntandem.fast"), 1u);
}

TEST(LoopVersionTest, StoresOfSomeTurnsDoNotHinderANest) {
  const std::string ir = versioned(
      "void f(int* restrict out, const int* in, long h) {\n"
      "  for (long y = 0; y < h; ++y) for (long x = 0; x < 200; ++x)\n"
      "    if (in[x * 64 + y] > 3) out[x] = 1; }");
  EXPECT_NE(ir.find("i64 256, i64 199, i64 4, i64 %"), std::string::npos);
  EXPECT_GE(checked_accesses(ir), 1u);
}

TEST(LoopVersionTest, WhatIsNotKnownBeforeKeepsItsChecks) {
  const std::string ir = versioned(
      "void f(int* out, const int* at, int n) { for (int i = 0; i < n; ++i) out[at[i]] = 7; }");
  EXPECT_EQ(count(ir, "call i32 @tandem_check_span_ok("), 1u);
  EXPECT_EQ(checked_accesses(ir), 1u);
}

TEST(LoopVersionTest, AStoreOfSomeTurnsKeepsItsChecks) {
  const std::string ir = versioned(
      "void f(int* out, const int* in, int n) {\n"
      "  for (int i = 0; i < n; ++i) if (in[i] > 0) out[i] = 1; }");
  EXPECT_EQ(count(ir, "call i32 @tandem_check_span_ok("), 1u);
  EXPECT_EQ(checked_accesses(ir), 1u);
}

constexpr const char* kGather =
    " f(GLOBAL int* out, GLOBAL const int* in, GLOBAL const int* at, int n) {\n"
    "  for (int i = 0; i < n; ++i) out[at[i]] = in[at[i]]; }";

TEST(LoopVersionTest, WhatTheLoopMayTakeAwayIsFollowed) {
  // The store may leave a missing value in at[].
  const std::string ir = versioned("#define GLOBAL\nvoid" + std::string(kGather));
  EXPECT_EQ(ir.find("tandem"), std::string::npos);
}

TEST(LoopVersionTest, NothingIsTakenAwayFromDeviceMemory) {
  const std::string ir =
      versioned("#define GLOBAL global\nkernel void" + std::string(kGather), "cl");
  EXPECT_EQ(count(ir, "call i32 @tandem_check_span_ok("), 1u);
  EXPECT_EQ(checked_accesses(ir), 2u);
}

TEST(LoopVersionTest, ALoopThatCallsIsNotCopied) {
  const std::string ir = versioned(
      "void barrier(void);\n"
      "void f(int* out, const int* in, int n) {\n"
      "  for (int i = 0; i < n; ++i) { out[i] = in[i]; barrier(); } }");
  EXPECT_EQ(ir.find("tandem"), std::string::npos);
}

TEST(LoopVersionTest, SumsLeaveBothVersions) {
  const std::string ir = versioned(
      "int f(const int* in, int n) { int sum = 0;\n"
      "  for (int i = 0; i < n; ++i) sum += in[i]; return sum; }");
  EXPECT_EQ(checked_accesses(ir), 0u);
  EXPECT_NE(ir.find(".fast ]"), std::string::npos);
}

TEST(LoopVersionTest, VolatileAccessesAreNotCovered) {
  const std::string ir = versioned(
      "void f(volatile int* out, const int* in, int n) {\n"
      "  for (int i = 0; i < n; ++i) out[i] = in[i]; }");
  EXPECT_EQ(count(ir, "call i32 @tandem_check_span_ok("), 1u);
  EXPECT_EQ(checked_accesses(ir), 1u);
}

TEST(LoopVersionTest, AccessesSideBySideAreOneSpan) {
  const std::string ir = versioned(
      "int f(const int* in, int n) { int sum = 0;\n"
      "  for (int i = 0; i < n; ++i) sum += in[2 * i] * in[2 * i + 1]; return sum; }");
  EXPECT_EQ(count(ir, "call i32 @tandem_check_span_ok("), 1u);
  EXPECT_NE(line_with(ir, "call i32 @tandem_check_span_ok(").find(", i64 8, i64 "),
            std::string::npos);
}

}  // namespace
}  // namespace tandem::opencl_loops
