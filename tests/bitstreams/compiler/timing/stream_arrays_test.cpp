// SPDX-License-Identifier: Apache-2.0
//
// Arrays of streams: each copy of an unrolled loop may have one of its own; making them takes no
// time.
#include <gtest/gtest.h>

#include "bitstreams/compiler/timing/analysis.h"
#include "bitstreams/compiler/timing/loop_interval.h"

namespace tandem::timing {
namespace {

constexpr const char* kWrite = "_ZN3hls6streamIiLi0EE5writeERKi";
constexpr const char* kMake = "_ZN3hls6streamIiLi8EEC2EN10tandem_hls4FileEi";

// for i { for lane < 4 { call @`callee`(`stream`) } } with %moves = &s[lane], %stays = &s[0].
KernelModel model_of_calls(const std::string& callee, const std::string& stream,
                           const std::string& more = "") {
  const std::string ir = R"(
define void @k([4 x i64]* %s, i32* %x, i64 %n) #0 {
entry:
  %stays = getelementptr inbounds [4 x i64], [4 x i64]* %s, i64 0, i64 0
  br label %outer
outer:                                            ; preds = %entry, %next
  %i = phi i64 [ 0, %entry ], [ %i.next, %next ]
  br label %lane
lane:                                             ; preds = %outer, %lane
  %j = phi i64 [ 0, %outer ], [ %j.next, %lane ]
  %moves = getelementptr inbounds [4 x i64], [4 x i64]* %s, i64 0, i64 %j
  call void @)" + callee +
                         "(i64* " + stream + R"(, i32* %x)
)" + more + R"(  %j.next = add nuw nsw i64 %j, 1
  %lanes = icmp eq i64 %j.next, 4
  br i1 %lanes, label %next, label %lane
next:                                             ; preds = %lane
  %i.next = add nuw nsw i64 %i, 1
  %done = icmp eq i64 %i.next, 8
  br i1 %done, label %end, label %outer
end:                                              ; preds = %next
  ret void
}
declare void @)" + callee +
                         "(i64*, i32*)\n";
  return analyse(read_ir(ir), {}, "k", 300).model;
}

// Of the outer loop, after 8 iterations with 4 lanes each.
double outer_interval(const KernelModel& model) {
  RunCounts counts;
  counts.counters.assign(64, 0);
  const FunctionModel& function = model.functions.at(0);
  counts.counters.at(static_cast<size_t>(function.loops.at(0).header)) = 8;
  for (const int latch : function.loops[0].latches) {
    counts.counters.at(static_cast<size_t>(latch)) = 8;
  }
  counts.counters.at(static_cast<size_t>(function.loops.at(1).header)) = 32;
  return LoopIntervals(model, counts, true).interval(function, 0, 1, 0).ii;
}

TEST(StreamArrays, CopiesThatChooseTheirStreamDoNotWaitForEachOther) {
  const KernelModel own = model_of_calls(kWrite, "%moves");
  ASSERT_EQ(own.points.size(), 1u);
  EXPECT_TRUE(own.points[0].varies);
  EXPECT_EQ(outer_interval(own), 1);
  const KernelModel one = model_of_calls(kWrite, "%stays");
  ASSERT_EQ(one.points.size(), 1u);
  EXPECT_FALSE(one.points[0].varies);
  EXPECT_EQ(outer_interval(one), 4);
}

// Of its own loop a stream gets a value per iteration either way.
TEST(StreamArrays, AVariableStreamStillTakesOneValuePerCycle) {
  const std::string again = std::string("  call void @") + kWrite + "(i64* %moves, i32* %x)\n";
  EXPECT_EQ(outer_interval(model_of_calls(kWrite, "%moves", again)), 2);
}

TEST(StreamArrays, MakingStreamsTakesNoTime) {
  for (const std::string member : {"C1", "C2", "D1", "D2"}) {
    const std::string name = "_ZN3hls6streamIiLi8EE" + member + "Ev";
    EXPECT_EQ(model_of_calls(name, "%moves").functions.at(0).loops.at(1).unroll, 0) << member;
  }
}

TEST(StreamArrays, ALoopThatAlsoUsesThemTakesTime) {
  const std::string write = std::string("  call void @") + kWrite + "(i64* %moves, i32* %x)\n";
  EXPECT_EQ(model_of_calls(kMake, "%moves", write).functions.at(0).loops.at(1).unroll, 1);
  EXPECT_EQ(model_of_calls(kWrite, "%moves").functions.at(0).loops.at(1).unroll, 1);
  EXPECT_EQ(model_of_calls("llvm.donothing", "%moves").functions.at(0).loops.at(1).unroll, 1);
}

}  // namespace
}  // namespace tandem::timing
