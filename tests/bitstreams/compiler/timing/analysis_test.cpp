// SPDX-License-Identifier: Apache-2.0
//
// From IR and pragmas to a kernel's description: loops, depths, dependences, accesses, counters.
#include "bitstreams/compiler/timing/analysis.h"

#include <gtest/gtest.h>

#include "bitstreams/compiler/timing/instrument.h"
#include "common/error.h"

namespace tandem::timing {
namespace {

// for (i...) acc += in[i] (line 5 to 7) of a kernel `sum`.
constexpr const char* kSumIr = R"(
define void @sum(float* noundef %in, float* noundef %out, i32 noundef %n) #0 !dbg !4 {
entry:
  br label %for.body, !dbg !10

for.body:                                         ; preds = %entry, %for.body
  %i = phi i64 [ 0, %entry ], [ %i.next, %for.body ]
  %acc = phi float [ 0.000000e+00, %entry ], [ %add, %for.body ]
  %at = getelementptr inbounds float, float* %in, i64 %i, !dbg !11
  %0 = load float, float* %at, align 4, !dbg !11
  %add = fadd float %acc, %0, !dbg !11
  %i.next = add nuw nsw i64 %i, 1, !dbg !10
  %done = icmp eq i64 %i.next, 64, !dbg !10
  br i1 %done, label %end, label %for.body, !dbg !10, !llvm.loop !12

end:                                              ; preds = %for.body
  store float %add, float* %out, align 4, !dbg !13
  ret void, !dbg !13
}

!3 = !DIFile(filename: "src/sum.cpp", directory: "/")
!4 = distinct !DISubprogram(name: "sum", scope: !3, file: !3, line: 4)
!10 = !DILocation(line: 5, column: 3, scope: !4)
!11 = !DILocation(line: 6, column: 3, scope: !4)
!12 = distinct !{!12, !10, !14}
!13 = !DILocation(line: 9, column: 3, scope: !4)
!14 = !DILocation(line: 7, column: 3, scope: !4)
)";

// Loop over a local array: `body` is what it does between %at (&a[i]) and the branch.
std::string array_ir(const std::string& body) {
  return R"(
define void @k() #0 {
entry:
  %a = alloca [64 x i32], align 16
  br label %loop

loop:                                             ; preds = %entry, %loop
  %i = phi i64 [ 0, %entry ], [ %i.next, %loop ]
  %at = getelementptr inbounds [64 x i32], [64 x i32]* %a, i64 0, i64 %i
)" + body +
         R"(
  %i.next = add nuw nsw i64 %i, 1
  %done = icmp eq i64 %i.next, 32
  br i1 %done, label %end, label %loop

end:                                              ; preds = %loop
  ret void
}
)";
}

KernelModel model_of(const std::string& ir, const std::string& kernel,
                     const std::string& source = "") {
  return analyse(read_ir(ir), find_pragmas(source), kernel, 300).model;
}

std::vector<Recurrence> recurrences_of(const std::string& body, const std::string& source = "") {
  return model_of(array_ir(body), "k", source).functions.at(0).loops.at(0).recurrences;
}

TEST(TimeAnalysis, ALoopHasItsPlaceDepthAndAccumulation) {
  const KernelModel model = model_of(kSumIr, "sum");
  ASSERT_EQ(model.functions.size(), 1u);
  ASSERT_EQ(model.functions[0].loops.size(), 1u);
  const LoopModel& loop = model.functions[0].loops[0];
  EXPECT_EQ(loop.file, "src/sum.cpp");
  EXPECT_EQ(loop.line, 5);
  EXPECT_EQ(loop.pipeline, "auto");
  EXPECT_EQ(loop.depth, 8);  // a cycle to load, six to add, and the state itself
  EXPECT_FALSE(loop.tests_first);
  ASSERT_EQ(loop.recurrences.size(), 1u);
  EXPECT_EQ(loop.recurrences[0].what, "fadd");
  EXPECT_EQ(loop.recurrences[0].cycles, 6);
  EXPECT_EQ(loop.recurrences[0].line, 6);
  EXPECT_EQ(model.sites.size(), 2u);
  EXPECT_FALSE(model.sites[0].writes);
  EXPECT_EQ(model.sites[0].loop, 0);
  EXPECT_TRUE(model.sites[1].writes);
  EXPECT_EQ(model.sites[1].loop, -1);
}

// The loop with another operation behind the addition.
LoopModel loop_with(const std::string& operation, const std::string& type) {
  std::string ir = kSumIr;
  const auto replace = [&ir](const std::string& from, const std::string& to) {
    for (size_t at = 0; (at = ir.find(from, at)) != std::string::npos; at += to.size()) {
      ir.replace(at, from.size(), to);
    }
  };
  replace("[ %add, %for.body ]", "[ %then, %for.body ]");
  replace("  %i.next =", "  %then = " + operation + "\n  %i.next =");
  if (type == "i32") {
    replace("float", "i32");
    replace("fadd", "add");
    replace("0.000000e+00", "0");
  }
  return model_of(ir, "sum").functions.at(0).loops.at(0);
}

TEST(TimeAnalysis, APathIsNamedAfterItsSlowestOperation) {
  const LoopModel loop = loop_with("fmul float %add, %0", "float");
  ASSERT_EQ(loop.recurrences.size(), 1u);
  EXPECT_EQ(loop.recurrences[0].what, "fadd");
  EXPECT_EQ(loop.recurrences[0].cycles, 9);
}

TEST(TimeAnalysis, OneOperationCanBeDoneInAnyOrderTwoCannot) {
  EXPECT_TRUE(loop_with("add i32 %add, 0", "i32").chain > 0);
  EXPECT_FALSE(loop_with("xor i32 %add, %0", "i32").balanced);
  EXPECT_TRUE(loop_with("freeze i32 %add", "i32").balanced);
}

TEST(TimeAnalysis, ASlowerClockNeedsFewerCycles) {
  const Analysis slow = analyse(read_ir(kSumIr), {}, "sum", 100);
  EXPECT_EQ(slow.model.functions[0].loops[0].recurrences[0].cycles, 4);
}

TEST(TimeAnalysis, APragmaBelongsToTheLoopAroundItsLine) {
  const std::string pipeline = "# 6 \"src/sum.cpp\"\n#pragma HLS PIPELINE II=3\n";
  EXPECT_EQ(model_of(kSumIr, "sum", pipeline).functions[0].loops[0].wanted_ii, 3);
  EXPECT_EQ(model_of(kSumIr, "sum", pipeline).functions[0].loops[0].pipeline, "pragma");
  const std::string outside = "# 8 \"src/sum.cpp\"\n#pragma HLS PIPELINE II=3\n";
  EXPECT_EQ(model_of(kSumIr, "sum", outside).functions[0].loops[0].wanted_ii, 0);
  const std::string off = "# 6 \"src/sum.cpp\"\n#pragma HLS pipeline off\n";
  EXPECT_EQ(model_of(kSumIr, "sum", off).functions[0].loops[0].pipeline, "off");
  const std::string unroll = "# 6 \"src/sum.cpp\"\n#pragma HLS unroll factor=4\n";
  EXPECT_EQ(model_of(kSumIr, "sum", unroll).functions[0].loops[0].unroll, 4);
}

TEST(TimeAnalysis, AKernelIsFoundByItsCppNameToo) {
  std::string ir = kSumIr;
  ir.replace(ir.find("@sum("), 5, "@_Z3sumPfS_i(");
  EXPECT_EQ(model_of(ir, "sum").kernel, "_Z3sumPfS_i");
  EXPECT_TRUE(model_of(ir, "su").functions.empty());
}

const std::string kAhead =
    "  %j = add nuw nsw i64 %i, 2\n"
    "  %to = getelementptr inbounds [64 x i32], [64 x i32]* %a, i64 0, i64 %j\n";
constexpr const char* kLoadAdd = "  %v = load i32, i32* %at, align 4\n  %w = add i32 %v, 1\n";

TEST(TimeAnalysis, TheSameElementInEveryIterationIsNoDependence) {
  EXPECT_TRUE(recurrences_of(std::string(kLoadAdd) + "  store i32 %w, i32* %at, align 4").empty());
}

TEST(TimeAnalysis, AnElementStoredForALaterIterationIsADependence) {
  const auto found = recurrences_of(kAhead + kLoadAdd + "  store i32 %w, i32* %to, align 4");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].distance, 2);
  EXPECT_TRUE(found[0].certain);
  // One that was read before it is stored is none.
  const std::string behind =
      "  %j = add nsw i64 %i, -2\n"
      "  %to = getelementptr inbounds [64 x i32], [64 x i32]* %a, i64 0, i64 %j\n";
  EXPECT_TRUE(recurrences_of(behind + kLoadAdd + "  store i32 %w, i32* %to, align 4").empty());
  for (const std::string less :
       {"  %j = sub nsw i64 %i, 2\n",
        "  %sum = add i64 %i, 4294967294\n  %j = and i64 %sum, 4294967295\n"}) {
    const std::string at =
        less + "  %to = getelementptr inbounds [64 x i32], [64 x i32]* %a, i64 0, i64 %j\n";
    EXPECT_TRUE(recurrences_of(at + kLoadAdd + "  store i32 %w, i32* %to, align 4").empty()) << at;
  }
}

constexpr const char* kHistogram =
    "  %index = load i32, i32* %at, align 4\n  %wide = zext i32 %index to i64\n"
    "  %bin = getelementptr inbounds [64 x i32], [64 x i32]* %a, i64 0, i64 %wide\n"
    "  %v = load i32, i32* %bin, align 4\n  %w = add i32 %v, 1\n"
    "  store i32 %w, i32* %bin, align 4";

TEST(TimeAnalysis, AnIndexFromDataIsADependenceUnlessAPragmaDeniesIt) {
  const auto found = recurrences_of(kHistogram);
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found.back().distance, 1);
  EXPECT_EQ(found.back().cycles, 2);
  EXPECT_TRUE(
      recurrences_of(kHistogram, "#pragma HLS dependence variable=a inter false\n").empty());
  // For a member of the struct `a`, but not for another variable.
  EXPECT_TRUE(
      recurrences_of(kHistogram, "#pragma HLS dependence variable=a.sums inter false\n").empty());
  EXPECT_FALSE(
      recurrences_of(kHistogram, "#pragma HLS dependence variable=all.sums inter false\n").empty());
  EXPECT_FALSE(
      recurrences_of(kHistogram, "#pragma HLS dependence variable=a_2 inter false\n").empty());
}

TEST(TimeAnalysis, APragmaSaysAfterHowManyIterationsADependenceComes) {
  const auto distance = [](const std::string& words) {
    const auto found = recurrences_of(kHistogram, "#pragma HLS dependence " + words + "\n");
    return found.empty() ? 0 : found.back().distance;
  };
  EXPECT_EQ(distance("variable=a inter RAW distance=4 true"), 4);
  EXPECT_EQ(distance("variable = a type = inter direction = RAW distance = 12 true"), 12);
  EXPECT_EQ(distance("variable=a.sums inter distance=4 true"), 4);
  EXPECT_EQ(distance("variable=b inter RAW distance=4 true"), 1);
  for (const std::string words : {"intra RAW", "type=inter direction=WAR", "inter WAW"}) {
    EXPECT_EQ(distance("variable=a distance=4 true " + words), 1) << words;
  }
}

TEST(TimeAnalysis, APragmaMakesNoDependenceAndNoneCloser) {
  const std::string pragma = "#pragma HLS dependence variable=a inter RAW distance=1 true\n";
  const std::string add = std::string(kLoadAdd) + "  store i32 %w, i32* %";
  EXPECT_TRUE(recurrences_of(add + "at, align 4", pragma).empty());
  const auto found = recurrences_of(kAhead + add + "to, align 4", pragma);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].distance, 2);
}

TEST(TimeAnalysis, PartitionsMakeBanksOfAnArray) {
  const auto banks = [](const std::string& pragma, const std::string& type) {
    return banks_of(find_pragmas(pragma).partitions["a"], type);
  };
  EXPECT_EQ(banks("", "[16 x [8 x float]]"), 1);
  EXPECT_EQ(banks("#pragma HLS array_partition variable=a complete dim=2", "[16 x [8 x float]]"),
            8);
  EXPECT_EQ(banks("#pragma HLS array_partition variable=a complete dim=0", "[16 x [8 x float]]"),
            0);
  EXPECT_EQ(banks("#pragma HLS array_partition variable=a type=cyclic factor=4", "[16 x float]"),
            4);
  EXPECT_EQ(banks("#pragma HLS array_partition variable=a complete", "[16 x float]"), 0);
}

TEST(TimeAnalysis, StreamsAreNotInlinedAndNoOtherFunctionIs) {
  const std::string read = "define i32 @_ZN3hls6streamIiLi0EE4readEv(i8* %s) #4 {\n}\n";
  const std::string other = "define i32 @helper(i8* %s) #4 {\n}\n";
  EXPECT_EQ(keep_functions(read + other, "k"),
            "define i32 @_ZN3hls6streamIiLi0EE4readEv(i8* %s) noinline #4 {\n}\n" + other);
  const std::string test = "define i1 @_ZNK3hls6streamIiLi0EE5emptyEv(i8* %s) ";
  EXPECT_EQ(keep_functions(test + "#4 {\n}\n", "k"), test + "noinline #4 {\n}\n");
}

// read() of a large struct has the place of its result as first argument, by clang 14 and 15.
TEST(TimeAnalysis, TheStreamOfAReadIsNotTheStructThatItReturns) {
  const std::string name = "@_ZN3hls6streamI4WordLi0EE4readEv";
  for (const std::string stream : {"%\"class.hls::stream\"*", "ptr"}) {
    const std::string result = stream == "ptr" ? "ptr" : "%struct.Word*";
    const IrModule module =
        read_ir("define void @k(" + stream +
                " %s) {\n"
                "entry:\n"
                "  %word = alloca %struct.Word, align 64\n"
                "  call void " +
                name + "(" + result + " nonnull sret(%struct.Word) align 64 %word, " + stream +
                " noundef nonnull align 8 dereferenceable(464) %s)\n"
                "  ret void\n"
                "}\n"
                "declare void " +
                name + "(" + result + ", " + stream + ")\n");
    const Analysis analysis = analyse(module, {}, "k", 300);
    ASSERT_EQ(analysis.streams.size(), 1u);
    EXPECT_EQ(analysis.streams[0].pointer, "%s");
    EXPECT_EQ(analysis.streams[0].pointer_type, stream);
  }
}

TEST(TimeAnalysis, AReadWithoutItsStreamIsNoAccess) {
  const std::string name = "@_ZN3hls6streamI4WordLi0EE4readEv";
  const IrModule module =
      read_ir("define void @k(ptr %word) {\nentry:\n  call void " + name +
              "(ptr sret(%struct.Word) %word)\n  ret void\n}\ndeclare void " + name + "(ptr)\n");
  EXPECT_TRUE(analyse(module, {}, "k", 300).streams.empty());
}

// A pointer to a function is no access of its own type; neither is what it points to.
TEST(TimeAnalysis, APointerToAFunctionIsOneType) {
  const IrModule module = read_ir(
      "define void @k(i1 (i8*)** %at, i32* %out) {\n"
      "entry:\n"
      "  %f = load i1 (i8*)*, i1 (i8*)** %at, align 8\n"
      "  %cast = bitcast i1 (i8*)* %f to i8*\n"
      "  %r = call i1 (i8*, ...) @printf(i8* %cast)\n"
      "  store i32 1, i32* %out, align 4\n"
      "  ret void\n"
      "}\n");
  EXPECT_EQ(module.functions.at(0).blocks.at(0).instructions.at(0).type, "i1 (i8*)*");
  EXPECT_EQ(module.functions.at(0).blocks.at(0).instructions.at(2).type, "i1");
  const Analysis analysis = analyse(module, {}, "k", 300);
  ASSERT_EQ(analysis.model.sites.size(), 1u);
  EXPECT_TRUE(analysis.model.sites[0].writes);
}

TEST(TimeAnalysis, OperationsOfWideIntegersAreInlinedWhereTheyMayBe) {
  const std::string name = "@_ZNK11ap_int_baseILi30ELb0EE12shifted_leftEi(i8* %s)";
  const std::string plain = "attributes #4 = { nounwind }\n";
  EXPECT_EQ(keep_functions("define i32 " + name + " #4 {\n}\n" + plain, "k"),
            "define i32 " + name + " alwaysinline #4 {\n}\n" + plain);
  const std::string kept = "define i32 " + name + " #4 {\n}\nattributes #4 = { cold noinline }\n";
  EXPECT_EQ(keep_functions(kept, "k"), kept);
  // A function of the user's own that takes one is left alone.
  const std::string own = "define i32 @_Z5scaleRK6ap_intILi30EE(i8* %s) #4 {\n}\n" + plain;
  EXPECT_EQ(keep_functions(own, "k"), own);
}

// for (i...) until 2 * (i + 1) is 64.
TEST(TimeAnalysis, TripsAreThoseOfTheIndexWhateverIsCompared) {
  std::string ir = kSumIr;
  EXPECT_EQ(analyse(read_ir(ir), {}, "sum", 300).model.functions[0].loops[0].fixed_trips, 64);
  const std::string test = "%done = icmp eq i64 %i.next, 64";
  ir.replace(ir.find(test), test.size(),
             "%twice = shl nuw nsw i64 %i.next, 1\n  %done = icmp eq i64 %twice, 64");
  EXPECT_EQ(analyse(read_ir(ir), {}, "sum", 300).model.functions[0].loops[0].fixed_trips, 32);
}

// Each sum has both sums before it: 2^40 terms if all were followed.
TEST(TimeAnalysis, SumsOfSumsTakeNoTime) {
  std::string ir = kSumIr;
  std::string sums = "%s0 = add i64 %old, 1\n  %s1 = add i64 %s0, %old\n";
  for (int number = 2; number < 60; ++number) {
    const auto sum = [number](int back) { return "%s" + std::to_string(number - back); };
    sums += "  " + sum(0) + " = add i64 " + sum(1) + ", " + sum(2) + "\n";
  }
  ir.insert(ir.find("  %at ="), "  " + sums);
  ir.insert(ir.find("  %acc ="), "  %old = phi i64 [ 3, %entry ], [ %s59, %for.body ]\n");
  const Analysis analysis = analyse(read_ir(ir), {}, "sum", 300);
  EXPECT_EQ(analysis.model.functions[0].loops[0].fixed_trips, 64);
}

TEST(TimeInstrument, CountsBlocksEntriesAndAccesses) {
  const IrModule module = read_ir(kSumIr);
  const Analysis analysis = analyse(module, {}, "sum", 300);
  EXPECT_EQ(analysis.model.num_counters, 4);  // three blocks and the entries of the loop
  const std::string text = instrument(module, analysis, "sum");
  EXPECT_NE(text.find("phi i64 [ 1, %\"entry\" ], [ 0, %\"for.body\" ]"), std::string::npos)
      << text;
  EXPECT_NE(text.find("bitcast float* %\"at\" to i8*"), std::string::npos);
  EXPECT_NE(text.find("@tandem_time_counts_sum = global [4 x i64] zeroinitializer"),
            std::string::npos);
  EXPECT_NE(text.find("declare void @tandem_time_access(i8*, i64*, i64)"), std::string::npos);
  const size_t phi = text.find("%acc = phi float");
  EXPECT_LT(phi, text.find("load i64, i64*", phi)) << "no counter before the last phi";
}

TEST(TimeInstrument, WritesPointersAsTheIrDoes) {
  std::string ir = kSumIr;
  for (size_t at = 0; (at = ir.find("float* ", at)) != std::string::npos;) ir.replace(at, 6, "ptr");
  const IrModule module = read_ir(ir);
  const std::string text = instrument(module, analyse(module, {}, "sum", 300), "sum");
  EXPECT_NE(text.find("declare void @tandem_time_access(ptr, ptr, i64)"), std::string::npos);
  EXPECT_EQ(text.find("bitcast"), std::string::npos);
  const std::string first = "(ptr noundef %in, ptr noundef %out, i32 noundef %n)";
  ir.replace(ir.find(first), first.size(), "(i32 noundef %n, ptr noundef %in, ptr noundef %out)");
  const IrModule later = read_ir(ir);
  EXPECT_EQ(instrument(later, analyse(later, {}, "sum", 300), "sum").find("i64*"),
            std::string::npos);
  // IR without any pointer among its parameters has typed ones.
  const IrModule none = read_ir(array_ir(""));
  EXPECT_NE(instrument(none, analyse(none, {}, "k", 300), "k").find("load i64, i64* "),
            std::string::npos);
}

// As clang writes it before and since version 15.
TEST(TimeAnalysis, AProcessWaitsForTheOneThatHasTheSameVariable) {
  for (const std::string pointer : {"[8 x i32]*", "ptr"}) {
    const std::string any = pointer == "ptr" ? "ptr" : "i8*";
    const std::string object = pointer == "ptr" ? "ptr" : pointer + "*";
    std::string ir, body;
    for (const std::string name : {"p1", "p2"}) {
      ir += "define void @" + name + "(" + any + " %o) #0 {\nentry:\n  ret void\n}\n";
      body += "  store " + pointer + " %buffer, " + object + " %of." + name + ", align 8\n" +
              "  call void @tandem_region_start_using(" + any + " null, " + any + " @" + name +
              ", " + object + " %of." + name + ")\n";
    }
    ir += "define void @k(" + any + " %in) #0 {\nentry:\n  %buffer = alloca [8 x i32], align 16\n" +
          "  %of.p1 = alloca " + pointer + ", align 8\n  %of.p2 = alloca " + pointer +
          ", align 8\n" + body + "  ret void\n}\n";
    const KernelModel model = analyse(read_ir(ir), {}, "k", 300).model;
    const std::vector<PhaseModel>& phases = model.functions.back().phases;
    ASSERT_EQ(phases.size(), 2u) << pointer;
    EXPECT_EQ(phases[1].after, std::vector<int>({0})) << pointer;
    ASSERT_EQ(model.functions.back().calls.size(), 2u);
    EXPECT_TRUE(model.functions.back().calls[0].process);
  }
}

TEST(TimeModelText, IsReadAsItWasWritten) {
  const KernelModel model = model_of(kSumIr, "sum");
  const KernelModel copy = read_model(write_model(model));
  EXPECT_EQ(write_model(copy), write_model(model));
  EXPECT_EQ(copy.functions.at(0).loops.at(0).recurrences.at(0).what, "fadd");
  EXPECT_THROW(read_model("{\"kernel\": 1}"), Error);
}

}  // namespace
}  // namespace tandem::timing
