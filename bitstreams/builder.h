// SPDX-License-Identifier: Apache-2.0
//
// Builds an emulation xclbin from a recipe, and describes any xclbin.
//
// build() compiles each kernel's source with its glue by a C++ compiler, links the shared object,
// asks it for the kernels' argument lists and writes the file. Cost: one compiler run per kernel.
// Errors: Error with the compiler's output, the recipe's file and key, or the xclbin's field and
// offset. Threads: any; builds to different outputs may run at once.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bitstreams/recipe.h"
#include "bitstreams/xclbin_file.h"
#include "bitstreams/xclbin_writer.h"

namespace tandem::xclbin {

struct BuildOptions {
  std::string output;  // "<name>.xclbin" in the current folder when empty
  std::string compiler = "c++";
  std::vector<std::string> hls_include_dirs;  // replaces Tandem's HLS headers, e.g. Vitis' own
  std::vector<std::string> extra_flags;       // after all others
  std::string depfile;                        // a make-style dependency file, when not empty
  bool verbose = false;                       // prints the compiler's command lines
};

// Builds `recipe`; returns the path of the xclbin.
std::string build(const Recipe& recipe, const BuildOptions& options = {});

struct KernelInfo {
  std::string name;
  std::string control;
  std::vector<Argument> arguments;
};

struct XclbinInfo {
  std::string path;
  uint64_t size_bytes = 0;
  std::string uuid;
  std::string platform;
  bool emulated = false;  // BITSTREAM holds code an emulated card can run
  std::vector<Section> sections;
  std::vector<Memory> memories;  // banks, then bank ranges
  std::vector<ComputeUnit> compute_units;
  std::vector<Connection> connections;
  std::vector<KernelInfo> kernels;
};

// Name of a section kind, "BITSTREAM" and so on.
std::string section_kind_name(uint32_t kind);

// Reads and checks the file at `path`.
XclbinInfo inspect(const std::string& path);
// The same from bytes in memory; `file_name` for messages.
XclbinInfo inspect(std::span<const std::byte> bytes, const std::string& file_name);

}  // namespace tandem::xclbin
