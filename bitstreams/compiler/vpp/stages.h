// SPDX-License-Identifier: Apache-2.0
//
// The three stages of v++: kernel source to kernel object, kernel objects to xclbin, xclbin to
// package.
//
// A stage writes its outputs completely, or on failure not at all. Its temporary files are removed
// at its end or on an interruption, unless --save-temps keeps them. Errors: Error with the
// compiler's messages (the user's file and line), or the configuration's file and line. Threads:
// any; runs with different outputs may overlap, also in one --temp_dir.
#pragma once

#include <string>
#include <vector>

#include "bitstreams/compiler/vpp/options.h"

namespace tandem::vpp {

// The tools and headers of the machine.
struct Toolchain {
  std::string compiler = "c++";
  std::string clang;                      // for OpenCL C; empty: the first that is found
  std::string glue_folder;                // bitstreams/compiler/glue
  std::string own_hls_folder;             // Tandem's HLS headers
  std::vector<std::string> hls_includes;  // folders of the HLS headers to use
  std::string opencl_loops;               // clang's plugin, opencl_c/loops/plugin.cpp; empty: none
  std::string loop_checks;                // g++'s plugin, loop_checks/plugin.cpp; empty: none
  std::string verilator = "verilator";    // for RTL kernels
  std::string rtl_macros;                 // models of the vendor's macros, in Verilog
  bool checks = true;                     // a checked copy of each kernel: kernel_checks.h
  bool times = true;                      // a copy with counters of each kernel: timed_copy.h
  bool coverage = false;                  // neither, but kernels for gcov: kernel_coverage.h
};

// The result of a stage, for the log and the summary.
struct StageResult {
  std::vector<std::string> messages;  // messages of the compiler
  std::vector<std::string> warnings;
  std::vector<std::string> dependencies;  // files that went into the output
  std::vector<std::string> kernels;
};

StageResult compile(const Options& options, const Toolchain& toolchain);
StageResult link(const Options& options, const Toolchain& toolchain);
StageResult package(const Options& options);

// The variables that the program reads from its environment.
struct Environment {
  std::string compiler;        // TANDEM_CXX; empty: c++
  std::string hls_includes;    // TANDEM_HLS_INCLUDE, folders between ':'
  std::string kernel_flags;    // TANDEM_KERNEL_FLAGS, flags between blanks
  std::string clang;           // TANDEM_CLANG, for OpenCL C; empty: the first one found
  std::string tree;            // the folder of bin/v++, with the headers that kernels get
  std::string checks = {};     // TANDEM_KERNEL_CHECKS: on (also empty) or off
  std::string times = {};      // TANDEM_KERNEL_TIME: the same
  std::string coverage = {};   // TANDEM_KERNEL_COVERAGE: on or off (also empty)
  std::string verilator = {};  // TANDEM_VERILATOR, for RTL kernels; empty: verilator
};

// The program itself; returns its exit status.
int run_program(const std::vector<std::string>& arguments, const Environment& environment);

}  // namespace tandem::vpp
