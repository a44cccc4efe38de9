// SPDX-License-Identifier: Apache-2.0
//
// Builds an RTL kernel for the emulated card: Verilator translates its Verilog to C++, which is
// compiled with its glue to one object.
//
// The object exports what `keep` of the options names, and nothing else. Errors: Error("v++", ...)
// with Verilator's message (the packaged path and line), or saying that Verilator is missing.
// Threads: any, with different folders. Cost: some seconds for the C++ compiler.
#pragma once

#include <string>
#include <vector>

#include "bitstreams/compiler/rtl/rtl_archive.h"
#include "bitstreams/compiler/rtl/rtl_arguments.h"

namespace tandem::rtl {

struct RtlToolchain {
  std::string verilator = "verilator";
  std::string compiler = "c++";
  std::string glue_folder;   // bitstreams/compiler/glue
  std::string hls_folder;    // Tandem's HLS headers
  std::string macro_folder;  // models of the vendor's macros
  std::vector<std::string> flags;
  std::string stubs;              // C++ text at the end of the glue
  std::vector<std::string> keep;  // options of objcopy
  bool debug = false;
  double clock_mhz = 300;
};

struct RtlKernel {
  std::string object;  // in the folder
  std::string source;  // of the top module
  RtlDescription description;
};

RtlKernel build_rtl(const RtlArchive& archive, const RtlToolchain& toolchain,
                    const std::string& folder);

}  // namespace tandem::rtl
