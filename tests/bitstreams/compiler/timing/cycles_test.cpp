// SPDX-License-Identifier: Apache-2.0
//
// The modelled cycles of each kernel that benchmarks/bitstreams/kernel_time compares, by clang 14's
// IR; the benchmark says how far they are from co-simulation.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <ostream>

#include "benchmarks/bitstreams/kernel_time/cosimulated.h"
#include "benchmarks/bitstreams/kernel_time/timed_kernel.h"
#include "bitstreams/compiler/compiler_process.h"
#include "common/scratch_folder.h"

namespace tandem::kernel_time {
namespace {

struct Pinned {
  const char* name;
  double cycles;
  double ii;     // of the loop in `line`
  double depth;  // of the same
  int line;
};

// Its name alone: test lists show it.
void PrintTo(const Pinned& pinned, std::ostream* out) { *out << pinned.name; }

constexpr Pinned kPinned[] = {
    {"square_roots", 1650, 1, 8, 21},     {"filter", 21915, 1, 4, 13},
    {"fixed_window", 1645, 1, 3, 19},     {"float_window", 1647, 1, 5, 14},
    {"two_calls", 143, 1, 2, 14},         {"imperfect_nest", 125, 1, 9, 19},
    {"conditional_read", 44, 1, 2, 14},   {"perfect_nest", 494, 1, 8, 21},
    {"nested_sum", 442, 1, 5, 18},        {"shift_and_sum", 116, 1, 2, 12},
    {"bytes_of_words", 1450, 1, 2, 14},   {"three_reads", 272, 1, 2, 17},
    {"one_read", 273, 1, 2, 18},          {"short_window", 845, 1, 3, 15},
    {"matrix_product", 32803, 33, 4, 11}, {"merge_stages", 373, 11, 3, 11},
    {"two_loops", 143, 1, 2, 24},         {"bounded_loops", 144, 1, 2, 26},
    {"two_processes", 75, 2, 2, 13},
};

// Why the cycles that are pinned cannot be compared; empty if they can.
std::string why_not_pinned() {
  const std::string clang = find_clang();
  if (clang.empty()) return "no clang";
  const std::string found = xclbin::run_tool({clang, "-dumpversion"}, clang + " tells no version");
  if (found.starts_with("14.")) return {};
  return "pinned with clang 14, whose IR differs from that of " + clang + " " + found;
}

class KernelCycles : public testing::TestWithParam<Pinned> {};

TEST_P(KernelCycles, AreAsPinned) {
  if (const std::string why = why_not_pinned(); !why.empty()) GTEST_SKIP() << why;
  const Pinned& pinned = GetParam();
  const ScratchFolder folder("time", "tandem-kernel-cycles.");
  const timing::RunTime time = time_kernel(std::string(TANDEM_KERNELS) + "/" + pinned.name + ".cpp",
                                           folder.path(), TANDEM_HLS_HEADERS, cosimulation());
  EXPECT_NEAR(time.cycles, pinned.cycles, 1);
  bool found = false;
  for (const timing::LoopTime& loop : time.loops) {
    if (loop.line != pinned.line || found) continue;
    found = true;
    EXPECT_EQ(loop.ii, pinned.ii) << loop.why;
    EXPECT_EQ(loop.depth, pinned.depth);
  }
  EXPECT_TRUE(found) << "no loop in line " << pinned.line;
}

TEST(ComparedKernels, ArePinned) {
  for (const CosimulatedKernel& each : kCosimulated) {
    EXPECT_TRUE(std::any_of(std::begin(kPinned), std::end(kPinned), [&each](const Pinned& pinned) {
      return std::string(pinned.name) == each.name;
    })) << each.name;
  }
}

// A loop in order, two processes joined by a stream, and the same with a buffer.
TEST(DirectiveKernels, AreAsPinned) {
  if (const std::string why = why_not_pinned(); !why.empty()) GTEST_SKIP() << why;
  const std::map<std::string, double> pinned = {
      {"sum", 36}, {"processes, sum", 59}, {"processes, product, buffer", 114}};
  const ScratchFolder folder("time", "tandem-kernel-cycles.");
  size_t found = 0;
  for (const DirectiveKernel& each : directive_kernels()) {
    const auto cycles = pinned.find(each.variant);
    if (cycles == pinned.end()) continue;
    ++found;
    const timing::RunTime time =
        time_kernel(std::string(TANDEM_KERNELS) + "/directives.cpp", folder.path(),
                    TANDEM_HLS_HEADERS, cosimulation(300.3), each.flags, each.depth);
    EXPECT_NEAR(time.cycles, cycles->second, 1) << each.variant;
  }
  EXPECT_EQ(found, pinned.size());
}

class SynthesisedVariants : public testing::TestWithParam<SynthesisedKernel> {};

// The II of a sum at 250 MHz, nests that become one loop, trees of sums
// and copies of two-dimensional arrays must all be right.
TEST_P(SynthesisedVariants, TakeWhatTheirReportsSay) {
  if (const std::string why = why_not_pinned(); !why.empty()) GTEST_SKIP() << why;
  const SynthesisedKernel& variant = GetParam();
  const ScratchFolder folder("time", "tandem-kernel-cycles.");
  const timing::RunTime time = time_kernel(
      std::string(TANDEM_KERNELS) + "/" + variant.name + ".cpp", folder.path(), TANDEM_HLS_HEADERS,
      cosimulation(250), unrolled_flags(variant.unroll, variant.size));
  EXPECT_NEAR(time.cycles, variant.csynth, 0.04 * variant.csynth);
}

// Another unrolling of gesummv than one that divides its trips ends inside of its copies. Of 250
// trips nothing was used to find the rules.
INSTANTIATE_TEST_SUITE_P(Some, SynthesisedVariants,
                         testing::Values(kSynthesised[0], kSynthesised[3], kSynthesised[5],
                                         kSynthesised[6], kSynthesised[9], kSynthesised[11],
                                         kSynthesised[16], kSynthesised[19], kSynthesised[20],
                                         kSynthesised[21], kPredicted[6], kPredicted[8],
                                         kPredicted[12]),
                         [](const auto& each) {
                           return std::string(each.param.name) + "_" +
                                  std::to_string(each.param.unroll) +
                                  (each.param.size > 0 ? "_of_" + std::to_string(each.param.size)
                                                       : "");
                         });

INSTANTIATE_TEST_SUITE_P(Patterns, KernelCycles, testing::ValuesIn(kPinned),
                         [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace tandem::kernel_time
