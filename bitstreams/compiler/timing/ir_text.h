// SPDX-License-Identifier: Apache-2.0
//
// Parses the text of LLVM's IR (clang -S -emit-llvm): functions, blocks, instructions and positions
// of loops.
//
// It reads only what the time model needs, from LLVM 14 to 19, with typed or opaque pointers.
// Unwinding edges are ignored: a kernel that throws has no time. Cost: linear in the text. Errors:
// none; text that is not understood becomes an instruction with an unknown opcode. Pure. Source:
// LLVM Language Reference.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tandem::timing {

struct SourceLine {
  std::string file;
  int line = 0;  // 0: not known
};

struct IrInstruction {
  std::string result;  // "%x"; empty: none
  std::string opcode;
  std::string type;                   // of the result; for a store: of the value
  std::vector<std::string> operands;  // values of this function ("%x"), in order
  std::vector<std::string> globals;   // "@f", in order
  std::string callee;                 // for calls: the name without '@'; empty: not known
  std::string text;
  int location = -1;     // number of the !dbg
  std::size_t line = 0;  // index into IrModule::lines
};

struct IrBlock {
  std::string label;
  std::vector<IrInstruction> instructions;
  std::vector<int> successors;  // by index
  std::vector<int> predecessors;
  bool unwinds = false;  // begins with a landing pad
  int loop = -1;         // number of the !llvm.loop of its branch
};

struct IrFunction {
  std::string name;
  std::vector<std::string> parameters;
  std::vector<IrBlock> blocks;
  int location = -1;  // number of its !dbg, where the function begins
};

struct IrModule {
  std::vector<std::string> lines;
  std::vector<IrFunction> functions;
  std::set<std::string> constants;   // global ones, without '@'
  std::map<int, SourceLine> places;  // by !dbg number
  std::map<int, int> owners;         // by !dbg number of a place: that of its function
  std::map<int, std::pair<SourceLine, SourceLine>> loop_ends;  // by !llvm.loop: first, last line
};

IrModule read_ir(std::string_view text);

// The size of a value of this type in memory; 8 if it is not known.
unsigned bytes_of_type(const std::string& type);
// The bytes of one element, if `size` bytes of an array of this type are copied. `size` divided by
// the number of elements if that is whole; otherwise the size of the element type.
double copied_bytes(const std::string& type, const std::string& size);

}  // namespace tandem::timing
