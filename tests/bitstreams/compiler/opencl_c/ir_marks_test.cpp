// SPDX-License-Identifier: Apache-2.0
//
// The changes of IR for the checked copy: where variables begin, and which accesses get calls.
#include <gtest/gtest.h>

#include <string>

#include "bitstreams/compiler/opencl_c/access_functions.h"
#include "bitstreams/compiler/opencl_c/access_marks.h"
#include "bitstreams/compiler/opencl_c/ir_lines.h"
#include "bitstreams/compiler/opencl_c/value_marks.h"

namespace tandem::opencl_c {
namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}
size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(IrLinesTest, ALineHasAResultAnOpcodeAndParts) {
  const IrLine line = parse_line("  %x.1 = load <4 x i32>, <4 x i32>* %\"a b\", align 16, !dbg !7");
  EXPECT_EQ(line.result, "%x.1");
  EXPECT_EQ(line.opcode, "load");
  const auto parts = parts_of(line.rest);
  ASSERT_EQ(parts.size(), 4u);
  EXPECT_EQ(parts[0], "<4 x i32>");
  EXPECT_EQ(type_before(parts[1]), "<4 x i32>*");
  EXPECT_EQ(names_in(parts[1]).at(0), "%\"a b\"");
  EXPECT_EQ(parse_line("  tail call void @f(i32 1, i32 2)").opcode, "call");
  EXPECT_EQ(parse_line("  ret void").opcode, "ret");
}

TEST(IrLinesTest, TypesEndBeforeTheirValues) {
  EXPECT_EQ(type_before("%struct.s* %p"), "%struct.s*");
  EXPECT_EQ(type_before("[2 x { i8, i32 }] zeroinitializer"), "[2 x { i8, i32 }]");
  EXPECT_EQ(type_before("ptr %p"), "ptr");
  EXPECT_EQ(type_before("i32"), "i32");
}

constexpr const char* kTyped =
    "@k.tile = internal global [8 x i32] undef, align 16\n"
    "@other.tile = internal global i32 undef, align 4\n"
    "@k.table = internal global i32 0, align 4\n"
    "define spir_kernel void @k(i32* %in) {\n"
    "  %in.addr = alloca i32*, align 8\n"
    "  %x = alloca i32, align 4\n"
    "  %s = alloca %struct.s, align 4\n"
    "  %big = alloca [400 x i32], align 16\n"
    "  %slot = alloca i8, align 1\n"
    "  %0 = bitcast i32* %x to i8*\n"
    "  call void @llvm.lifetime.start.p0i8(i64 4, i8* %0)\n"
    "  %1 = bitcast %struct.s* %s to i8*\n"
    "  call void @llvm.lifetime.start.p0i8(i64 8, i8* %1)\n"
    "  %2 = bitcast [400 x i32]* %big to i8*\n"
    "  call void @llvm.lifetime.start.p0i8(i64 1600, i8* %2)\n"
    "  %v = shufflevector <3 x i32> %a, <3 x i32> undef, <4 x i32> <i32 0, i32 1, i32 2, i32 "
    "undef>\n"
    "  ret void\n"
    "}\n";

TEST(ValueMarksTest, VariablesBeginWithoutAValueWhereTheirLifetimeBegins) {
  const std::string out = begin_without_values(kTyped, {"k"});
  EXPECT_TRUE(has(out, "(i64 4, i8* %0)\n  %tandem.value"));
  EXPECT_TRUE(
      has(out, "= load i32, i32* bitcast ([128 x i8]* @tandem_cl_no_value to i32*), align 4\n"));
  EXPECT_EQ(count(out, "store i32 %tandem.value"), 1u);
  EXPECT_TRUE(has(out, "call void @llvm.memcpy.p0i8.p0i8.i64(i8* %tandem.value"));
  EXPECT_TRUE(has(out, "declare void @llvm.memcpy.p0i8.p0i8.i64(i8*, i8*, i64, i1)"));
  EXPECT_EQ(count(out, ", i64 8, i1 false)"), 1u);
  EXPECT_FALSE(has(out, "i64 1600, i1"));  // an array that stays in memory
}

TEST(ValueMarksTest, AVariableWithoutALifetimeBeginsAtItsAllocationAParameterDoesNot) {
  const std::string out = begin_without_values(kTyped, {"k"});
  EXPECT_TRUE(has(out, "%slot = alloca i8, align 1\n  %tandem.value"));
  EXPECT_FALSE(has(out, "%in.addr = alloca i32*, align 8\n  %tandem"));
}

TEST(ValueMarksTest, PaddingOfThreeElementsIsTheLastOne) {
  const std::string out = begin_without_values(kTyped, {"k"});
  EXPECT_TRUE(has(out, "<4 x i32> <i32 0, i32 1, i32 2, i32 2>"));
}

TEST(ValueMarksTest, TheTableListsTheLocalVariablesOfItsKernel) {
  const std::string out = begin_without_values(kTyped, {"k", "none"});
  EXPECT_TRUE(has(
      out, "@tandem_cl_locals_k = hidden constant [4 x i64] [i64 ptrtoint ([8 x i32]* @k.tile"));
  EXPECT_TRUE(has(out, "@tandem_cl_locals_none = hidden constant [2 x i64] [i64 0, i64 0]"));
  EXPECT_FALSE(has(out, "(i32* @other.tile"));
}

TEST(ValueMarksTest, AnAbsoluteValueIsAChoice) {
  const std::string out = expand_absolute_values(
      "  %r = call i32 @llvm.abs.i32(i32 %x, i1 true), !dbg !5\n"
      "  %v = tail call <4 x i16> @llvm.abs.v4i16(<4 x i16> %y, i1 false)\n"
      "declare i32 @llvm.abs.i32(i32, i1)\n");
  EXPECT_TRUE(has(out, "icmp slt i32 %x, 0\n"));
  EXPECT_TRUE(has(out, "%r = select i1 %tandem.abs1.less, i32 %tandem.abs1.minus, i32 %x\n"));
  EXPECT_TRUE(has(out, "%v = select <4 x i1> %tandem.abs2.less, <4 x i16> "));
  EXPECT_TRUE(has(out, "declare i32 @llvm.abs.i32(i32, i1)\n"));
}

TEST(ValueMarksTest, OpaquePointersNeedNoCasts) {
  const std::string out = begin_without_values(
      "define void @k(ptr %in) {\n  %x = alloca float, align 4\n"
      "  call void @llvm.lifetime.start.p0(i64 4, ptr %x)\n  ret void\n}\n",
      {"k"});
  EXPECT_TRUE(has(
      out, "load float, ptr @tandem_cl_no_value, align 4\n  store float %tandem.value1, ptr %x"));
}

// What the pass leaves of `*p = a[i]` with an array of the function's own.
constexpr const char* kFollowed =
    "@__msan_retval_tls = external thread_local(initialexec) global [100 x i64]\n"
    "@__msan_va_arg_overflow_size_tls = external thread_local(initialexec) global i64\n"
    "define void @k(i32* %p) #0 {\n"
    "  %a = alloca [4 x i32], align 16\n"
    "  %e = getelementptr [4 x i32], [4 x i32]* %a, i64 0, i64 %i\n"
    "  %v = load i32, i32* %e, align 4, !dbg !5\n"
    "  %n = ptrtoint i32* %p to i64\n"
    "  %m = and i64 %n, -123145302310913\n"
    "  %o = add i64 %m, 52776558133248\n"
    "  %q = inttoptr i64 %o to i32*\n"
    "  %_msld = load i32, i32* %q, align 4, !dbg !5\n"
    "  store i32 %_msld, i32* %q, align 4, !dbg !6\n"
    "  store i32 -1, i32* %q, align 4\n"
    "  store i32 %v, i32* %p, align 4, !dbg !6\n"
    "  %w = load atomic i32, i32* %p seq_cst, align 4\n"
    "  %r = atomicrmw add i32* %p, i32 1 seq_cst, align 4, !dbg !9\n"
    "  %c = cmpxchg volatile i64* %l, i64 0, i64 1 seq_cst seq_cst, align 8\n"
    "  call void @llvm.memset.p0i8.i64(i8* align 4 %q, i8 -1, i64 16, i1 false), !dbg !6\n"
    "  ret void\n"
    "}\n"
    "attributes #0 = { nounwind sanitize_memory }\n";

TEST(AccessMarksTest, StoresOfStatesCallAFunctionAndOthersStay) {
  const std::string out = mark_accesses(kFollowed);
  EXPECT_TRUE(has(out, "call void @tandem_cl_state_0(i32 %_msld, i32* %q), !dbg !6\n"));
  EXPECT_TRUE(has(out, "store i32 -1, i32* %q, align 4, !nosanitize !{}\n"));
  EXPECT_TRUE(has(out, "%_msld = load i32, i32* %q, align 4, !dbg !5, !nosanitize !{}\n"));
  EXPECT_TRUE(has(out, "define internal void @tandem_cl_state_0(i32 %s, i32* %p) alwaysinline"));
}

TEST(AccessMarksTest, OnlyMemoryThatItemsMayShareIsTouched) {
  const std::string out = mark_accesses(kFollowed);
  EXPECT_TRUE(has(out, "call void @tandem_cl_touch_0(i32* %p), !dbg !6\n  store i32 %v"));
  EXPECT_FALSE(has(out, "call void @tandem_cl_touch_0(i32* %e)"));
  EXPECT_EQ(count(out, "call void @tandem_cl_touch"), 1u);  // no own array, no atomic access
}

TEST(AccessMarksTest, EachAccessIsCheckedThatIsNoneOfStates) {
  const std::string out = mark_accesses(kFollowed);
  EXPECT_TRUE(
      has(out, "call void @tandem_cl_within_0(i32* %e, [4 x i32]* %a), !dbg !5\n  %v = load"));
  EXPECT_TRUE(
      has(out, "call void @tandem_cl_check_0(i32* %p), !dbg !6\n  call void @tandem_cl_touch"));
  EXPECT_EQ(count(out, "call void @tandem_cl_check_"), 1u);
  EXPECT_EQ(count(out, "call void @tandem_cl_within_"), 1u);
}

TEST(AccessFunctionsTest, AByteOfTheShadowDecidesWhetherTheCardIsCalled) {
  const std::string load = check_function("i32", false, 3, false);
  EXPECT_TRUE(has(load, "@tandem_cl_check_3(i32* %p) alwaysinline"));
  EXPECT_TRUE(has(load, "add i64 %s, 2147450880\n"));
  EXPECT_TRUE(has(load, "%t = and i8 %h, 127\n"));
  EXPECT_TRUE(has(load, "%l = add i8 %f, 3\n"));
  EXPECT_TRUE(has(load, "call void @tandem_check_load4(i8* %b)\n"));
  const std::string store = check_function("double", true, 0, true);
  EXPECT_FALSE(has(store, " and i8 %h"));
  EXPECT_FALSE(has(store, "part:"));
  EXPECT_TRUE(has(store, "call void @tandem_check_store8(ptr %p)\n"));
}

TEST(AccessMarksTest, ObjectsAreKnownThroughStepsAndAsGlobals) {
  const std::string out = mark_accesses(
      "@k.tile = internal global [8 x i32] undef, align 16\n"
      "@far = external global [8 x i32]\n"
      "define void @k(i64 %i) {\n"
      "  %e = getelementptr inbounds [8 x i32], [8 x i32]* @k.tile, i64 0, i64 %i\n"
      "  %f = bitcast i32* %e to i16*\n"
      "  %v = load i16, i16* %f, align 2\n"
      "  %w = load i32, i32* getelementptr inbounds ([8 x i32], [8 x i32]* @k.tile, i64 0, i64 3)\n"
      "  %x = load i32, i32* getelementptr inbounds ([8 x i32], [8 x i32]* @far, i64 0, i64 3)\n"
      "  ret void\n}\n");
  EXPECT_TRUE(has(out, "call void @tandem_cl_within_0(i16* %f, [8 x i32]* @k.tile)\n"));
  EXPECT_TRUE(has(out, "i64 0, i64 3), [8 x i32]* @k.tile)\n"));
  EXPECT_EQ(count(out, "call void @tandem_cl_within_"), 2u);
  EXPECT_EQ(count(out, "call void @tandem_cl_check_"), 1u);
  EXPECT_TRUE(has(out, "call void @tandem_check_load2(i8* %b)\n"));
}

TEST(AccessFunctionsTest, WideAccessesLookAtSeveralBytesOrCall) {
  EXPECT_TRUE(has(check_function("<4 x float>", false, 0, false), "and i16 %h, 32639\n"));
  const std::string wide = check_function("<16 x i32>", true, 0, false);
  EXPECT_TRUE(has(wide, "load i64, i64* %g"));
  EXPECT_TRUE(has(wide, "call void @tandem_check_store_bytes(i8* %b, i64 64)\n"));
  const std::string three = check_function("<3 x i32>", false, 0, false);
  EXPECT_FALSE(has(three, "br i1"));
  EXPECT_TRUE(has(three, "call void @tandem_check_load_bytes(i8* %b, i64 12)\n"));
  EXPECT_TRUE(has(check_function("{ i8, i32 }", false, 0, false), "getelementptr ({ i8, i32 }"));
}

TEST(AccessFunctionsTest, AStateThatIsGoodIsNotWrittenAgain) {
  const std::string number = state_function("i32", 0, false);
  EXPECT_TRUE(has(number, "br i1 %missing, label %told, label %good\n"));
  EXPECT_TRUE(has(number, "br i1 %dirty, label %clear, label %done\n"));
  const std::string lanes = state_function("<4 x i16>", 0, false);
  EXPECT_TRUE(has(lanes, "bitcast <4 x i16> %s to i64\n"));
  EXPECT_TRUE(has(lanes, "getelementptr (i16, i16* null, i32 1) to i64))\n"));
}

TEST(AccessMarksTest, AtomicAccessesAreCheckedForTheirBounds) {
  const std::string out = mark_accesses(kFollowed);
  EXPECT_TRUE(has(out, "call void @tandem_cl_atomic_0(i32* %p), !dbg !9\n  %r = atomicrmw"));
  EXPECT_TRUE(has(out, "call void @tandem_cl_atomic_1(i64* %l)\n  %c = cmpxchg"));
  EXPECT_TRUE(has(out, "call void @tandem_cl_atomic_0(i32* %p)\n  %w = load atomic"));
}

TEST(AccessMarksTest, TheLookBeforeALoopAsksForTheStatesOfItsArgument) {
  const std::string call = "  %known = call i32 @tandem_cl_known(i64 %sum)\n";
  const std::string typed =
      mark_accesses("define void @k(i32* %p) {\n  store i32 0, i32* %p, align 4, !nosanitize !0\n" +
                    call + "  ret void\n}\ndeclare i32 @tandem_cl_known(i64)\n");
  EXPECT_FALSE(has(typed, "declare i32 @tandem_cl_known"));
  EXPECT_TRUE(has(typed, "define internal i32 @tandem_cl_known(i64 %x) alwaysinline"));
  EXPECT_TRUE(
      has(typed, "load i64, i64* bitcast ([100 x i64]* @__msan_param_tls to i64*), align 8"));
  EXPECT_TRUE(has(typed, "%known = icmp eq i64 %s, 0\n"));
  EXPECT_TRUE(has(typed, call));
  EXPECT_FALSE(has(typed, "@tandem_cl_check_0(i32* %p), "));
  EXPECT_EQ(count(typed, "call void @tandem_cl_"), 0u);  // the look covers the store
  EXPECT_TRUE(has(known_function(true), "load i64, ptr @__msan_param_tls, align 8"));
}

TEST(AccessMarksTest, StatesOfParametersAreVariablesOfTheCopy) {
  const std::string out = mark_accesses(kFollowed);
  EXPECT_TRUE(has(out, "@__msan_retval_tls = internal global [100 x i64] zeroinitializer\n"));
  EXPECT_TRUE(has(out, "@__msan_va_arg_overflow_size_tls = internal global i64 zeroinitializer\n"));
}

TEST(AccessMarksTest, AddressesAreCheckedNext) {
  const std::string out = mark_accesses(kFollowed);
  EXPECT_TRUE(has(out, "{ nounwind sanitize_address }"));
  EXPECT_TRUE(has(out, "call void @tandem_cl_fill_states(i8* %q, i8 -1, i64 16), !dbg !6\n"));
}

}  // namespace
}  // namespace tandem::opencl_c
