// SPDX-License-Identifier: Apache-2.0
//
// Rules of synthesis: which functions are inlined, where loops are, and which of them are pipelined
// or become one.
#include <gtest/gtest.h>

#include "bitstreams/compiler/timing/addresses.h"
#include "bitstreams/compiler/timing/analysis.h"
#include "bitstreams/compiler/timing/inlined_functions.h"
#include "bitstreams/compiler/timing/loop_pipelining.h"

namespace tandem::timing {
namespace {

using Names = std::set<std::string>;

// Three functions in lines 4 to 8, 10 to 14 and, of another file, 10 to 14.
constexpr const char* kThreeIr = R"(
define i32 @first(i32 %x) #0 !dbg !4 {
  %y = add i32 %x, 1, !dbg !10
  ret i32 %y, !dbg !11
}
define internal i32 @"second.$_1"(i32 %x) #0 !dbg !5 {
  %y = add i32 %x, 1, !dbg !12
  ret i32 %y, !dbg !13
}
define i32 @other(i32 %x) #0 !dbg !6 {
  ret i32 %x, !dbg !14
}
attributes #0 = { nounwind }
!1 = !DIFile(filename: "src/k.cpp", directory: "/")
!2 = !DIFile(filename: "src/other.cpp", directory: "/")
!4 = distinct !DISubprogram(name: "first", scope: !1, file: !1, line: 4)
!5 = distinct !DISubprogram(name: "second", scope: !1, file: !1, line: 10)
!6 = distinct !DISubprogram(name: "other", scope: !2, file: !2, line: 10)
!7 = distinct !DILexicalBlock(scope: !5, file: !1, line: 11)
!10 = !DILocation(line: 6, column: 3, scope: !4)
!11 = !DILocation(line: 8, column: 3, scope: !4)
!12 = !DILocation(line: 13, column: 3, scope: !7)
!13 = !DILocation(line: 14, column: 3, scope: !5)
!14 = !DILocation(line: 14, column: 3, scope: !6)
)";

Names inlined_at(int line, const std::string& pragma = "#pragma HLS inline") {
  const std::string text = "# " + std::to_string(line) + " \"/tree/src/k.cpp\"\n" + pragma + "\n";
  return inlined_by_pragma(read_ir(kThreeIr), find_pragmas(text));
}

TEST(InlinedFunctions, APragmaInlinesTheFunctionThatHoldsIt) {
  EXPECT_EQ(inlined_at(5), Names({"first"}));
  EXPECT_EQ(inlined_at(8), Names({"first"}));
  EXPECT_EQ(inlined_at(10), Names({"second.$_1"}));
  EXPECT_EQ(inlined_at(14), Names({"second.$_1"}));
}

// As in a function that nobody calls, which is not in the IR.
TEST(InlinedFunctions, APragmaBetweenFunctionsInlinesNone) {
  EXPECT_EQ(inlined_at(9), Names());
  EXPECT_EQ(inlined_at(3), Names());
  EXPECT_EQ(inlined_at(15), Names());
}

// A lambda stands in lines of the function around it.
TEST(InlinedFunctions, APragmaInlinesTheInnermostFunction) {
  std::string ir = kThreeIr;
  ir.replace(ir.find("scope: !1, file: !1, line: 4"), 28, "scope: !1, file: !1, line: 12");
  ir.replace(ir.find("DILocation(line: 8"), 18, "DILocation(line: 13");
  const auto inlined = [&ir](int line) {
    const std::string text = "# " + std::to_string(line) + " \"k.cpp\"\n#pragma HLS inline\n";
    return inlined_by_pragma(read_ir(ir), find_pragmas(text));
  };
  EXPECT_EQ(inlined(11), Names({"second.$_1"}));
  EXPECT_EQ(inlined(12), Names({"first"}));
  EXPECT_EQ(inlined(14), Names({"second.$_1"}));
}

TEST(InlinedFunctions, OffInlinesNone) {
  EXPECT_EQ(inlined_at(5, "#pragma HLS INLINE off"), Names());
  EXPECT_EQ(inlined_at(5, "#pragma HLS unroll"), Names());
}

// Instances of one template have the same lines.
TEST(InlinedFunctions, APragmaInlinesAllInstances) {
  std::string ir = kThreeIr;
  ir.replace(ir.find("scope: !2, file: !2, line: 10"), 29, "scope: !1, file: !1, line: 10");
  const KernelPragmas pragmas = find_pragmas("# 12 \"k.cpp\"\n#pragma HLS inline\n");
  EXPECT_EQ(inlined_by_pragma(read_ir(ir), pragmas), Names({"second.$_1", "other"}));
}

TEST(InlinedFunctions, AreMarkedAlsoWhereTheirNamesAreQuoted) {
  const std::string kept = keep_functions(kThreeIr, "k", {"second.$_1"});
  EXPECT_NE(kept.find("(i32 %x) alwaysinline #0 !dbg !5 {"), std::string::npos) << kept;
  EXPECT_EQ(kept.find("alwaysinline #0 !dbg !4"), std::string::npos) << kept;
  // The kernel stays a function.
  EXPECT_NE(keep_functions(kThreeIr, "first", {"first"}).find("noinline #0 !dbg !4"),
            std::string::npos);
}

// k: a loop in block `loop` that calls f, which calls g; then a call of h.
std::string calling_ir(const std::string& body_of_g) {
  return R"(
define i32 @g(i32 %x, i32* %a) #0 {
)" + body_of_g +
         R"(
}
define i32 @f(i32 %x, i32* %a) #0 {
  %y = call i32 @g(i32 %x, i32* %a)
  ret i32 %y
}
define i32 @h(i32 %x, i32* %a) #0 {
  ret i32 %x
}
define void @k(i32* %a) #0 {
entry:
  br label %loop
loop:                                             ; preds = %entry, %loop
  %i = phi i32 [ 0, %entry ], [ %i.next, %loop ]
  %v = call i32 @f(i32 %i, i32* %a), !dbg !11
  %i.next = add nuw nsw i32 %i, 1
  %done = icmp eq i32 %i.next, 8
  br i1 %done, label %end, label %loop, !llvm.loop !12
end:                                              ; preds = %loop
  %w = call i32 @h(i32 3, i32* %a)
  ret void
}
!3 = !DIFile(filename: "k.cpp", directory: "/")
!4 = distinct !DISubprogram(name: "k", scope: !3, file: !3, line: 4)
!10 = !DILocation(line: 5, column: 3, scope: !4)
!11 = !DILocation(line: 6, column: 3, scope: !4)
!12 = distinct !{!12, !10, !11}
)";
}

constexpr const char* kPlain = "  %y = add i32 %x, 1\n  ret i32 %y";
constexpr const char* kLooping = R"(
entry:
  br label %inner
inner:                                            ; preds = %entry, %inner
  %j = phi i32 [ 0, %entry ], [ %j.next, %inner ]
  %at = getelementptr inbounds i32, i32* %a, i32 %j
  store i32 %x, i32* %at, align 4
  %j.next = add nuw nsw i32 %j, 1
  %over = icmp eq i32 %j.next, 4
  br i1 %over, label %out, label %inner
out:                                              ; preds = %inner
  ret i32 %x)";

KernelModel calling_model(const std::string& body_of_g, const std::string& pragma = "") {
  const std::string text = pragma.empty() ? "" : "# 6 \"k.cpp\"\n#pragma HLS " + pragma + "\n";
  return analyse(read_ir(calling_ir(body_of_g)), find_pragmas(text), "k", 300).model;
}

TEST(InlinedFunctions, APipelinedLoopTakesAllThatItCalls) {
  EXPECT_EQ(inlined_into_pipelines(calling_model(kPlain)), Names({"f", "g"}));
  EXPECT_EQ(inlined_into_pipelines(calling_model(kLooping, "pipeline")), Names({"f", "g"}));
  EXPECT_EQ(inlined_into_pipelines(calling_model(kPlain, "pipeline off")), Names());
}

TEST(LoopPipelining, ALoopThatCallsLoopsIsNotPipelinedByItself) {
  const auto pipeline_of = [](const KernelModel& model) {
    return model.functions.back().loops.at(0).pipeline;
  };
  EXPECT_EQ(pipeline_of(calling_model(kPlain)), "auto");
  EXPECT_EQ(pipeline_of(calling_model(kLooping)), "");
  EXPECT_EQ(pipeline_of(calling_model(kLooping, "pipeline")), "pragma");
  EXPECT_EQ(inlined_into_pipelines(calling_model(kLooping)), Names());
}

std::vector<LoopModel> nest_of(double inner_trips) {
  std::vector<LoopModel> loops(2);
  loops[0].perfect = true;
  loops[1].parent = 0;
  loops[1].pipeline = "auto";
  loops[1].fixed_trips = inner_trips;
  return loops;
}

TEST(LoopPipelining, ANestWithAnInnerLoopOfVaryingTripsStaysANest) {
  EXPECT_EQ(flattened(nest_of(8), 0), 1);
  EXPECT_EQ(flattened(nest_of(0), 0), -1);
  EXPECT_EQ(flattened(nest_of(0), 1), 1);
}

TEST(LoopPipelining, ANestWithWorkBesideItsInnerLoopOrWithTwoStaysANest) {
  std::vector<LoopModel> loops = nest_of(8);
  loops[0].perfect = false;
  EXPECT_EQ(flattened(loops, 0), -1);
  loops = nest_of(8);
  loops.push_back(loops[1]);
  EXPECT_EQ(flattened(loops, 0), -1);
}

TEST(LoopPipelining, ALoopThatCallsLoopsTakesNoInnerLoops) {
  std::vector<LoopModel> loops = nest_of(8);
  loops[0].perfect = false;
  loops[1].pipeline = "";
  std::vector<LoopModel> calling = loops;
  apply_pragmas(loops, {}, {});
  EXPECT_EQ(loops[0].pipeline, "auto");
  EXPECT_EQ(loops[1].pipeline, "");
  apply_pragmas(calling, {}, {}, {0});
  EXPECT_EQ(calling[0].pipeline, "");
  EXPECT_EQ(calling[1].pipeline, "auto");
}

TEST(StreamPoints, AccessesOfOneStreamFollowEachOtherByACycle) {
  const std::string read = "@_ZN3hls6streamIiLi0EE4readEv";
  const std::string ir = "define void @k(ptr %s, ptr %t) {\nentry:\n  %a = call i32 " + read +
                         "(ptr %s)\n  %b = call i32 " + read + "(ptr %s)\n  %c = call i32 " + read +
                         "(ptr %t)\n  ret void\n}\ndeclare i32 " + read + "(ptr)\n";
  const KernelModel model = analyse(read_ir(ir), {}, "k", 300).model;
  ASSERT_EQ(model.points.size(), 3u);
  EXPECT_EQ(model.points[0].offset, 0);
  EXPECT_EQ(model.points[1].offset, 1);
  EXPECT_EQ(model.points[2].offset, 0);
}

// k copies `bytes` from one variable to another.
std::vector<PhaseModel> copy_phases(const std::string& from, const std::string& to, int bytes) {
  const std::string ir = "define void @k(i8* %out) #0 {\nentry:\n  %a = alloca " + from +
                         ", align 64\n  %b = alloca " + to + ", align 64\n  %p = bitcast " + from +
                         "* %a to i8*\n  %q = bitcast " + to +
                         "* %b to i8*\n  call void @llvm.memcpy.p0i8.p0i8.i64(i8* %q, i8* %p, "
                         "i64 " +
                         std::to_string(bytes) + ", i1 false)\n  ret void\n}\n";
  return analyse(read_ir(ir), {}, "k", 300).model.functions.at(0).phases;
}

TEST(Copies, AWordThatPassesBetweenRegistersIsNoStep) {
  EXPECT_TRUE(copy_phases("float", "i32", 4).empty());
  EXPECT_TRUE(copy_phases("%\"class.hls::vector\"", "%struct.Word", 512).empty());
  EXPECT_EQ(copy_phases("%struct.Big", "%struct.Big", 513).size(), 1u);
  EXPECT_EQ(copy_phases("[16 x i32]", "%struct.Word", 64).size(), 1u);
  EXPECT_EQ(copy_phases("%struct.Word", "[16 x i32]", 64).size(), 1u);
}

TEST(LoopPragmas, AVariableHasThePartitionsOfItsNameOrOfItsMembers) {
  const KernelPragmas pragmas = find_pragmas(
      "#pragma HLS array_partition variable=tile.values complete dim=1\n"
      "#pragma HLS array_partition variable=row cyclic factor=4\n");
  ASSERT_NE(partition_of(pragmas, "tile"), nullptr);
  EXPECT_TRUE(partition_of(pragmas, "tile")->at(0).complete);
  ASSERT_NE(partition_of(pragmas, "row"), nullptr);
  EXPECT_EQ(partition_of(pragmas, "row")->at(0).factor, 4);
  EXPECT_EQ(partition_of(pragmas, "row12"), partition_of(pragmas, "row"));
  EXPECT_EQ(partition_of(pragmas, "tiles"), nullptr);
  EXPECT_EQ(partition_of(pragmas, "til"), nullptr);
  EXPECT_EQ(partition_of(pragmas, "rows"), nullptr);
}

TEST(SourceNames, AVariableHasTheNameOfTheSource) {
  for (const char* name : {"keys", "keys.i", "_ZZ1kE4keys", "_ZZ4sortPiE4keys_0", "_ZZ1kE4keys.2",
                           "_ZL4keys", "_ZN3libL4keysE", "__const.k.keys", "__const.k.keys.3"}) {
    EXPECT_EQ(source_name(name), "keys") << name;
  }
  for (const char* name : {"_Zebra", "_ZGVZ1kE4keys"}) EXPECT_EQ(source_name(name), name);
}

// With typed pointers and without.
TEST(Addresses, OfAStaticVariableTheTypeIsKnown) {
  for (const bool is_opaque : {false, true}) {
    const std::string of_array = is_opaque ? "ptr" : "[8 x [4 x i32]]*";
    const std::string of_number = is_opaque ? "ptr" : "i32*";
    const std::string step = "getelementptr inbounds ";
    const std::string array = "[8 x [4 x i32]], " + of_array + " @_ZZ1kE4keys, i64 0, i64 ";
    const std::string ir = "define i32 @k(i64 %i) #0 {\nentry:\n  %p = " + step + array +
                           "%i, i64 2\n  %a = load i32, " + of_number +
                           " %p, align 4\n  %b = load i32, " + of_number + " " + step + "(" +
                           array + "0, i64 1), align 4\n  %c = load i32, " + of_number +
                           " @_ZZ1kE5count, align 4\n  ret i32 %a\n}\n";
    const IrModule module = read_ir(ir);
    const Addresses addresses(module.functions.at(0));
    const auto& code = module.functions.at(0).blocks.at(0).instructions;
    EXPECT_EQ(addresses.address_of(code.at(1)).type, "[8 x [4 x i32]]");
    EXPECT_EQ(addresses.address_of(code.at(2)).type, "[8 x [4 x i32]]");
    EXPECT_EQ(addresses.address_of(code.at(3)).type, is_opaque ? "" : "i32");
  }
}

// Two functions may have arrays of one name.
TEST(SourceNames, StaticArraysOfTwoFunctionsAreTwo) {
  for (const char* name : {"_ZZ1kE4keys", "__const.k.keys"}) EXPECT_EQ(array_name(name), name);
  for (const char* name : {"keys", "keys.i"}) EXPECT_EQ(array_name(name), "keys");
}

TEST(LoopPlaces, ALoopHasTheLinesThatItsEndTells) {
  EXPECT_EQ(calling_model(kPlain).functions.back().loops.at(0).line, 5);
}

// Without !llvm.loop the lines are those of the loop's own instructions.
TEST(LoopPlaces, ALoopWithoutMetadataHasTheLinesOfItsInstructions) {
  std::string ir = calling_ir(kPlain);
  const std::string metadata = ", !llvm.loop !12";
  ir.erase(ir.find(metadata), metadata.size());
  const std::string next = "%i.next = add nuw nsw i32 %i, 1";
  ir.replace(ir.find(next), next.size(), next + ", !dbg !11\n  %in = add i32 %v, 1, !dbg !21");
  const std::string call = "i32* %a), !dbg !11";
  ir.replace(ir.find(call), call.size(), "i32* %a), !dbg !20");
  ir +=
      "!20 = !DILocation(line: 9, column: 3, scope: !23)\n"
      "!23 = distinct !DILexicalBlock(scope: !4, file: !3, line: 5)\n"
      "!21 = !DILocation(line: 90, column: 3, scope: !22, inlinedAt: !20)\n"
      "!22 = distinct !DISubprogram(name: \"in\", scope: !3, file: !3, line: 80)\n";
  const auto loop_with = [&ir](int line) {
    const std::string text =
        "# " + std::to_string(line) + " \"k.cpp\"\n#pragma HLS pipeline II=3\n";
    return analyse(read_ir(ir), find_pragmas(text), "k", 300).model.functions.back().loops.at(0);
  };
  EXPECT_EQ(loop_with(6).line, 6);
  EXPECT_EQ(loop_with(6).file, "k.cpp");
  EXPECT_EQ(loop_with(6).wanted_ii, 3);
  EXPECT_EQ(loop_with(9).wanted_ii, 3);
  EXPECT_EQ(loop_with(10).wanted_ii, 0);
  EXPECT_EQ(loop_with(90).wanted_ii, 0);
}

}  // namespace
}  // namespace tandem::timing
