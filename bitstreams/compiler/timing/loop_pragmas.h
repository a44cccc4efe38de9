// SPDX-License-Identifier: Apache-2.0
//
// Finds the pragmas of a preprocessed source that change a kernel's time, with their positions:
// pipeline, unroll, inline, array_partition, array_reshape, dependence, and the m_axi ports.
//
// A pragma applies to the innermost loop whose lines contain it; inline to the function. Input:
// `c++ -E` with line markers. Cost: linear in the text. Pure.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "bitstreams/compiler/timing/ir_text.h"

namespace tandem::timing {

struct LoopPragma {
  SourceLine place;
  bool pipeline = false;  // false: unroll
  bool off = false;
  double ii = 0;   // 0: not given
  int factor = 0;  // factor of unroll; 0: completely
};

struct Partition {
  bool complete = false;
  int factor = 1;
  int dimension = 0;  // 0: all
};

struct KernelPragmas {
  std::vector<LoopPragma> loops;
  std::map<std::string, std::vector<Partition>> partitions;  // by variable
  std::set<std::string> independent;                         // variables of `dependence ... false`
  std::map<std::string, double> distances;                   // of `dependence ... distance=N true`
  std::map<std::string, std::string> ports;                  // m_axi arguments, with their bundles
  std::vector<SourceLine> inlined;                           // of `inline` without `off`
};

KernelPragmas find_pragmas(std::string_view preprocessed);

// The pragmas of a variable; null: none. Further variables of one name have a number behind it. Of
// a struct with pragmas for its members, those of the first: the IR has members without names.
const std::vector<Partition>* partition_of(const KernelPragmas& pragmas, const std::string& name);

// Whether two places have files of the same name; paths differ between text and IR.
bool in_same_file(const SourceLine& a, const SourceLine& b);

// The number of banks of an array of LLVM type `type` ("[16 x [8 x float]]"); 0: registers.
double banks_of(const std::vector<Partition>& partitions, const std::string& type);

}  // namespace tandem::timing
