// SPDX-License-Identifier: Apache-2.0
//
// What copies of an unrolled loop in a pipelined one wait for.
#include <gtest/gtest.h>

#include "bitstreams/compiler/timing/analysis.h"
#include "bitstreams/compiler/timing/loop_interval.h"

namespace tandem::timing {
namespace {

// k: for i { for lane { sums[at] = operation of sums[at], %old } }.
std::string lanes_ir(const std::string& at, const std::string& operation = "fadd float %old, %x") {
  const std::string element = operation.find("i32") == std::string::npos ? "float" : "i32";
  const std::string type = "[64 x " + element + "]";
  return R"(
define void @k(float %x, i64 %n) #0 {
entry:
  %sums = alloca )" +
         type + R"(, align 16
  br label %outer
outer:                                            ; preds = %entry, %next
  %i = phi i64 [ 0, %entry ], [ %i.next, %next ]
  br label %lane
lane:                                             ; preds = %outer, %lane
  %j = phi i64 [ 0, %outer ], [ %j.next, %lane ]
  %four = shl nuw nsw i64 %i, 2
  %both = add nuw nsw i64 %four, %j
  %after = add nuw nsw i64 %j, 1
  %odd = xor i64 %j, 3
  %at = getelementptr inbounds )" +
         type + ", " + type + "* %sums, i64 0, i64 " + at + R"(
  %old = load )" +
         element + ", " + element + "* %at, align 4\n  %sum = " + operation + R"(
  %to = getelementptr inbounds )" +
         type + ", " + type + "* %sums, i64 0, i64 " + (at == "%after" ? "%j" : at) + "\n  store " +
         element + " %sum, " + element +
         R"(* %to, align 4
  %j.next = add nuw nsw i64 %j, 1
  %lanes = icmp eq i64 %j.next, 4
  br i1 %lanes, label %next, label %lane
next:                                             ; preds = %lane
  %i.next = add nuw nsw i64 %i, 1
  %done = icmp eq i64 %i.next, 8
  br i1 %done, label %end, label %outer
end:                                              ; preds = %next
  ret void
}
)";
}

constexpr const char* kRegisters = "#pragma HLS array_partition variable=sums complete\n";

// Loops come after those around them.
std::vector<Recurrence> lane_recurrences(int loop, const std::string& ir,
                                         const std::string& source) {
  const KernelModel model = analyse(read_ir(ir), find_pragmas(source), "k", 300).model;
  return model.functions.at(0).loops.at(static_cast<size_t>(loop)).recurrences;
}
std::vector<Recurrence> outer_recurrences(const std::string& ir, const std::string& source = "") {
  return lane_recurrences(0, ir, source);
}

TEST(UnrolledLanes, ACopyWaitsForTheSameCopyOfTheIterationBefore) {
  const auto found = outer_recurrences(lanes_ir("%j"));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].cycles, 7);  // a cycle to load, six to add
  EXPECT_EQ(found[0].distance, 1);
  EXPECT_EQ(found[0].inner, -1);
  EXPECT_EQ(found[0].what, "fadd");
}

TEST(UnrolledLanes, AFunctionsStaticArrayHasItsPartition) {
  std::string ir = lanes_ir("%j");
  const std::string name = "@_ZZ1kE4sums";
  for (size_t at = ir.find("%sums,"); at != std::string::npos; at = ir.find("%sums,", at)) {
    ir.replace(at, 5, name);
  }
  for (const bool is_partitioned : {false, true}) {
    const KernelModel model =
        analyse(read_ir(ir), find_pragmas(is_partitioned ? kRegisters : ""), "k", 300).model;
    const std::vector<ArrayUse>& arrays = model.functions.at(0).loops.at(1).arrays;
    ASSERT_EQ(arrays.size(), 1u);
    EXPECT_EQ(arrays[0].banks, is_partitioned ? 0 : 1);
    EXPECT_EQ(arrays[0].reads + arrays[0].writes, 2);
  }
}

TEST(UnrolledLanes, RegistersAreReadInNoTime) {
  const auto found = outer_recurrences(lanes_ir("%j"), kRegisters);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].cycles, 6);
}

TEST(UnrolledLanes, CopiesOfOnePlaceWaitForEachOther) {
  const auto found = outer_recurrences(lanes_ir("3"));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].inner, 1);
  EXPECT_EQ(found[0].cycles, 7);
  const auto registers = outer_recurrences(lanes_ir("3"), kRegisters);
  ASSERT_EQ(registers.size(), 1u);
  EXPECT_EQ(registers[0].cycles, 6);
}

TEST(UnrolledLanes, WhatTakesNoCycleDelaysNoIteration) {
  EXPECT_TRUE(outer_recurrences(lanes_ir("%j", "fneg float %old"), kRegisters).empty());
  EXPECT_EQ(outer_recurrences(lanes_ir("%j", "fneg float %old")).size(), 1u);  // of a memory
  EXPECT_TRUE(lane_recurrences(1, lanes_ir("3", "fneg float %old"), kRegisters).empty());
}

// Of short operations several follow each other in a cycle.
TEST(UnrolledLanes, ShortOperationsOfCopiesShareACycle) {
  const auto found = outer_recurrences(lanes_ir("3", "add i32 %old, 1"), kRegisters);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_GT(found[0].cycles, 0.3);
  EXPECT_LT(found[0].cycles, 0.5);
  EXPECT_EQ(lane_recurrences(1, lanes_ir("3"), "").size(), 1u);  // its own, once
}

TEST(UnrolledLanes, AnotherArrayIsNoDependence) {
  std::string ir = lanes_ir("%j");
  const std::string load = "load float, float* %at";
  ir.replace(ir.find(load), load.size(), "load float, float* %from");
  ir.insert(ir.find("  %sums = alloca"), "  %other = alloca [64 x float], align 16\n");
  ir.insert(ir.find("  %at ="),
            "  %from = getelementptr inbounds [64 x float], [64 x float]* %other, i64 0, i64 %j\n");
  EXPECT_TRUE(outer_recurrences(ir).empty());
  EXPECT_TRUE(lane_recurrences(1, ir, "").empty());
}

// Ten iterations with four copies each.
TEST(UnrolledLanes, AllCopiesCountWhereOneWaitsForTheOther) {
  KernelModel model;
  FunctionModel function;
  function.name = "k";
  function.loops.resize(2);
  function.loops[0].pipeline = "pragma";
  function.loops[0].header = 0;
  function.loops[0].recurrences = {{0.4, 1, 1}};
  function.loops[1].parent = 0;
  function.loops[1].header = 1;
  function.loops[1].recurrences = {{3, 1}};
  model.functions = {function};
  RunCounts counts;
  counts.counters = {10, 40};
  const auto ii = [&] {
    return LoopIntervals(model, counts, true).interval(model.functions[0], 0, 1, 0).ii;
  };
  EXPECT_EQ(ii(), 2);
  model.functions[0].loops[0].recurrences[0].cycles = 0;  // the inner loop's own
  EXPECT_EQ(ii(), 12);
}

// 10 iterations with 4 lanes of 8 digits: digits wait for each other, lanes only if they pass it
// on.
TEST(UnrolledLanes, LanesDoNotWaitForEachOthersDigits) {
  KernelModel model;
  FunctionModel function;
  function.loops.resize(3);
  for (int loop = 0; loop < 3; ++loop) {
    function.loops[static_cast<size_t>(loop)].header = loop;
    function.loops[static_cast<size_t>(loop)].parent = loop - 1;
  }
  function.loops[2].chain = 2;
  model.functions = {function};
  RunCounts counts;
  counts.counters = {10, 40, 320};
  const auto depth = [&] {
    return LoopIntervals(model, counts, true).depth(model.functions[0], 0, 1);
  };
  EXPECT_EQ(depth(), 1 + (8 - 1) * 2);
  model.functions[0].loops[1].recurrences = {{0, 1, 2}};
  EXPECT_EQ(depth(), 1 + (32 - 1) * 2);
}

TEST(UnrolledLanes, PlacesThatMoveWithTheLoopDifferOrAreNotKnownAreNoDependence) {
  EXPECT_TRUE(outer_recurrences(lanes_ir("%both")).empty());   // of each iteration another one
  EXPECT_TRUE(outer_recurrences(lanes_ir("%after")).empty());  // a register that shifts
  EXPECT_TRUE(outer_recurrences(lanes_ir("%odd")).empty());    // computed
}

// `before`: of "br label %outer", once, or of "br label %lane", in each iteration.
TEST(UnrolledLanes, AVariableOfTheLoopIsNewInEachIteration) {
  const auto with_start = [](const std::string& before) {
    std::string ir = lanes_ir("%j");
    ir.insert(ir.find(before),
              "%raw = bitcast [64 x float]* %sums to i8*\n"
              "  call void @llvm.lifetime.start.p0i8(i64 256, i8* nonnull %raw)\n  ");
    return outer_recurrences(ir);
  };
  EXPECT_EQ(with_start("br label %outer").size(), 1u);
  EXPECT_TRUE(with_start("br label %lane").empty());
}

TEST(UnrolledLanes, APragmaDeniesTheDependence) {
  EXPECT_TRUE(
      outer_recurrences(lanes_ir("%j"), "#pragma HLS dependence variable=sums inter false\n")
          .empty());
}

}  // namespace
}  // namespace tandem::timing
