// SPDX-License-Identifier: Apache-2.0
//
// What the addresses of loads and stores say: the variable, and the indices as sums of values.
//
// An index is `constant + sum of factor * value`; multiplications by constants are followed, others
// are values of their own. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "bitstreams/compiler/timing/ir_text.h"

namespace tandem::timing {

struct LinearIndex {
  std::map<std::string, long> terms;
  long constant = 0;
  bool operator==(const LinearIndex&) const = default;
};

struct MemoryAddress {
  std::string root;    // the variable's or parameter's name in the IR, without '%' or '@'
  std::string type;    // of a local array
  bool local = false;  // an alloca or a global variable: never device memory
  std::vector<LinearIndex> indices;
};

class Addresses {
 public:
  explicit Addresses(const IrFunction& function);

  // The pointer operand of a load or store; empty: it is a constant.
  static std::string pointer_of(const IrInstruction& access);
  MemoryAddress address_of(const IrInstruction& access) const;
  MemoryAddress address_of_value(const std::string& pointer) const;
  LinearIndex linear(const std::string& text) const;
  // The block that defines a value; -1: a parameter.
  int block_of(const std::string& value) const;

 private:
  struct Definition {
    const IrInstruction* instruction = nullptr;
    int block = -1;
  };
  void add_indices(const IrInstruction& element, MemoryAddress& address) const;

  std::map<std::string, Definition> definitions_;
};

// The name that the source gave: without the suffixes of inlined copies.
std::string source_name(const std::string& ir_name);

}  // namespace tandem::timing
