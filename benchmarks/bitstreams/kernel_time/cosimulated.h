// SPDX-License-Identifier: Apache-2.0
//
// Kernels in the shape of public ones whose cycles were co-simulated, with those cycles.
//
// Source of the cycles: RealProbe (github.com/sharc-lab/RealProbe, examples/cosim_result and
// examples/csynth_result; Vitis HLS 2023.1, xc7z020, 100 MHz, ports of latency 0 that are not
// widened). The kernels are our own; their order, sizes and loops are those of the examples.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "bitstreams/compiler/timing/run_counts.h"

namespace tandem::kernel_time {

struct CosimulatedKernel {
  const char* name;     // kernels/<name>.cpp
  const char* example;  // of RealProbe
  double cosim;         // cycles of one call
  double csynth;        // what the synthesis report says
};

inline constexpr std::array<CosimulatedKernel, 19> kCosimulated = {{
    {"square_roots", "01", 1659, 1580},     {"filter", "02", 23417, 23870},
    {"fixed_window", "03", 1647, 1565},     {"float_window", "04", 1649, 1568},
    {"two_calls", "05", 141, 122},          {"imperfect_nest", "06", 112, 104},
    {"conditional_read", "07", 47, 42},     {"perfect_nest", "08", 481, 473},
    {"nested_sum", "09", 440, 441},         {"shift_and_sum", "10", 113, 117},
    {"bytes_of_words", "11", 1450, 1452},   {"three_reads", "13", 272, 273},
    {"one_read", "14", 274, 275},           {"short_window", "15", 847, 797},
    {"matrix_product", "16", 50789, 34446}, {"merge_stages", "17", 407, 285},
    {"two_loops", "18", 141, 122},          {"bounded_loops", "19", 142, 123},
    {"two_processes", "20", 76, 48},
}};

// Variants of kernels of which only the cycles of the synthesis report are public. Source:
// HLSFactory (github.com/sharc-lab/HLSFactory, hlsyn-vitis; Vitis HLS 2025.1, U200, 250 MHz,
// unsafe_math_optimizations): all valid points of gemm-ncubed and gesummv that unroll the inner
// loop only. Rules were found on these.
struct SynthesisedKernel {
  const char* name;
  const char* example;
  int unroll;
  double csynth;
  int size = 0;  // TANDEM_SIZE; 0: the kernel's own
};
inline constexpr std::array<SynthesisedKernel, 22> kSynthesised = {{
    {"matrix_product_doubles", "gemm-ncubed", 1, 1581077},
    {"matrix_product_doubles", "gemm-ncubed", 2, 794651},
    {"matrix_product_doubles", "gemm-ncubed", 4, 401456},
    {"matrix_product_doubles", "gemm-ncubed", 8, 204850},
    {"matrix_product_doubles", "gemm-ncubed", 16, 106560},
    {"matrix_product_doubles", "gemm-ncubed", 32, 57412},
    {"two_products", "gesummv", 1, 56827},
    {"two_products", "gesummv", 2, 32535},
    {"two_products", "gesummv", 3, 24432},
    {"two_products", "gesummv", 4, 55836},
    {"two_products", "gesummv", 5, 17962},
    {"two_products", "gesummv", 6, 16344},
    {"two_products", "gesummv", 8, 58996},
    {"two_products", "gesummv", 9, 13644},
    {"two_products", "gesummv", 10, 13115},
    {"two_products", "gesummv", 15, 11485},
    {"two_products", "gesummv", 16, 33629},
    {"two_products", "gesummv", 18, 10952},
    {"two_products", "gesummv", 30, 9877},
    {"two_products", "gesummv", 32, 20950},
    {"two_products", "gesummv", 45, 9342},
    {"two_products", "gesummv", 64, 51364},
}};

// The same of gesummv-medium, 250 x 250: no rule was found on them.
inline constexpr std::array<SynthesisedKernel, 13> kPredicted = {{
    {"two_products", "gesummv-medium", 1, 437788, 250},
    {"two_products", "gesummv-medium", 2, 250295, 250},
    {"two_products", "gesummv-medium", 4, 425038, 250},
    {"two_products", "gesummv-medium", 5, 137806, 250},
    {"two_products", "gesummv-medium", 8, 438797, 250},
    {"two_products", "gesummv-medium", 10, 100319, 250},
    {"two_products", "gesummv-medium", 16, 250810, 250},
    {"two_products", "gesummv-medium", 25, 77819, 250},
    {"two_products", "gesummv-medium", 32, 156821, 250},
    {"two_products", "gesummv-medium", 50, 70325, 250},
    {"two_products", "gesummv-medium", 64, 109867, 250},
    {"two_products", "gesummv-medium", 125, 65829, 250},
    {"two_products", "gesummv-medium", 128, 86365, 250},
}};

// Kernels of one directive each, with the cycles of their synthesis reports; co-simulation agrees
// but for `histogram` (100 and 85). Source: github.com/rgantonio/hls-directives (notes/summary.md
// and the lessons' pages; Vitis HLS 2023.2, xcku5p, 3.33 ns, no pipelining by itself, arguments are
// memories). No rule was made of them.
struct DirectiveKernel {
  const char* variant;
  double csynth;
  std::vector<std::string> flags;
  double depth = 0;  // of the stream
};
inline std::vector<DirectiveKernel> directive_kernels() {
  const auto kernel = [](int number) { return "-DTANDEM_KERNEL=" + std::to_string(number); };
  const auto pragma = [](const char* text) { return "-DTANDEM_PRAGMA=HLS " + std::string(text); };
  const std::string banks = "-DTANDEM_BANKS", sum = "-DTANDEM_BY=+", product = "-DTANDEM_BY=*";
  return {
      {"sum", 33, {kernel(1)}},
      {"sum, pipelined", 18, {kernel(1), pragma("pipeline")}},
      {"sum, II 2", 34, {kernel(1), pragma("pipeline II=2")}},
      {"sum, 2 copies", 17, {kernel(2), pragma("unroll factor=2")}},
      {"sum, 4 copies", 13, {kernel(2), pragma("unroll factor=4")}},
      {"sum, 4 copies, 4 banks", 9, {kernel(2), pragma("unroll factor=4"), banks}},
      {"two loops", 66, {kernel(3)}},
      {"nest", 209, {kernel(4)}},
      {"histogram", 102, {kernel(5), pragma("dependence variable=other inter false")}},
      {"histogram, independent", 87, {kernel(5), pragma("dependence variable=counts inter false")}},
      {"four neighbours", 17, {kernel(6)}},
      {"four neighbours, 4 banks", 13, {kernel(6), banks}},
      {"two calls", 33, {kernel(7)}},
      {"processes, sum", 51, {kernel(8), sum}, 16},
      {"processes, product", 83, {kernel(8), product}, 16},
      {"processes, product, depth 2", 83, {kernel(8), product}, 2},
      {"processes, product, buffer", 115, {kernel(9)}}};
}

// The compiler's flags of such a variant; 0: none.
inline std::vector<std::string> unrolled_flags(int unroll, int size = 0) {
  if (unroll == 0) return {};
  std::vector<std::string> flags = {"-DTANDEM_UNROLL=" + std::to_string(unroll),
                                    "-funsafe-math-optimizations"};
  if (size != 0) flags.push_back("-DTANDEM_SIZE=" + std::to_string(size));
  return flags;
}

// The memory that the simulation of a port puts behind it. It answers a read at once; the gap
// between bursts of a write and the time until its response are fits to examples 01, 15 and 18.
inline timing::TimedCard cosimulation(double clock_mhz = 100) {
  timing::TimedCard card;
  card.name = "co-simulation";
  card.clock_mhz = clock_mhz;
  card.widest_bytes = 1;  // a beat is an element
  timing::TimedBank bank;
  bank.name = "memory";
  bank.size_bytes = std::uint64_t{1} << 30;
  bank.gb_per_s = 1000;
  bank.share = 1;
  bank.round_trip_ns = 0;
  bank.response_ns = 170;
  bank.write_gap = 2;
  card.banks = {bank};
  return card;
}

}  // namespace tandem::kernel_time
