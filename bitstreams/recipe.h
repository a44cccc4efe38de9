// SPDX-License-Identifier: Apache-2.0
//
// A bitstream recipe: a TOML manifest, and a Vitis connectivity file for compute units and memory
// banks.
//
// clang-format off
//   name = "vector_add"
//   platform = "u55c"
//   connectivity = "vector_add.cfg"           # nk=kernel:count[:unit.unit...], sp=unit.argument:HBM[a] or HBM[a:b]
//   include = ["../../fpga_hls"]              # optional, like all below
//   flags = ["-DPAGE_TOKENS=16"]
//   optimisation = ["-O3", "-march=native"]   # replaces the default
//   [[kernel]]
//   name = "vadd"
//   source = "../../fpga_hls/vector_add/vadd.cpp"
//   arguments = ["a", "b"]                    # else taken from the source
// clang-format on
//
// Relative paths are relative to the file they stand in. Unknown keys are errors. Errors: Error
// naming file and key or line. Threads: any.
#pragma once

#include <string>
#include <vector>

#include "bitstreams/xclbin_writer.h"

namespace tandem::xclbin {

struct KernelRecipe {
  std::string name;
  std::string source;                  // absolute path
  std::vector<std::string> arguments;  // empty: from the source
};

struct UnitCount {
  std::string kernel;
  std::vector<std::string> unit_names;
};

struct Connectivity {
  std::vector<UnitCount> units;
  std::vector<BankConnection> connections;
};

struct Recipe {
  std::string path;
  std::string name;
  std::string platform = "u55c";
  std::string connectivity_path;  // empty: one unit per kernel, all in bank 0
  std::vector<std::string> include_dirs;
  std::vector<std::string> flags;
  std::vector<std::string> optimisation = {"-O3", "-march=native"};
  std::vector<KernelRecipe> kernels;
  Connectivity connectivity;
};

Recipe load_recipe(const std::string& path);

// Parses the text of a connectivity file; `file_name` for messages.
Connectivity parse_connectivity(const std::string& text, const std::string& file_name,
                                const Platform& platform);

}  // namespace tandem::xclbin
