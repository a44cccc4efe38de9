// SPDX-License-Identifier: Apache-2.0
//
// Addresses: finds the variable and the indices that a load or store uses.
//
// An index is `constant + sum of factor * value`. Multiplications by constants become factors;
// results of other operations are values. Pure.
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
  std::string type;    // for a local array
  bool local = false;  // an alloca or a global variable, which is never in device memory
  std::vector<LinearIndex> indices;
};

class Addresses {
 public:
  explicit Addresses(const IrFunction& function);

  // The pointer operand of a load or store; empty if it is a constant.
  static std::string pointer_of(const IrInstruction& access);
  MemoryAddress address_of(const IrInstruction& access) const;
  MemoryAddress address_of_value(const std::string& pointer) const;
  LinearIndex linear(const std::string& text) const;
  // The block that defines a value; -1 for a parameter.
  int block_of(const std::string& value) const;
  // What computes a value; none for a parameter.
  const IrInstruction* definition(const std::string& value) const;
  // By how much a phi grows per iteration of its loop; 0: it is no such index.
  long step_of(const std::string& phi) const;

 private:
  struct Definition {
    const IrInstruction* instruction = nullptr;
    int block = -1;
  };
  // From a value back to those that it is made of.
  struct Walk {
    std::string word;
    LinearIndex result;
    long factor = 1;  // of the word
    bool is_low_word = false;
    LinearIndex finished() const;
  };
  // False: the word is a term.
  bool step_back(Walk& walk, int& steps) const;
  // steps: left for the index and all values that it adds up; then they are terms.
  LinearIndex linear_within(const std::string& text, int& steps) const;
  void add_indices(const IrInstruction& element, MemoryAddress& address) const;

  // Of a local variable that is written once: what is written.
  std::string only_value(const std::string& pointer) const;

  std::map<std::string, Definition> definitions_;
  std::map<std::string, std::vector<std::string>> stored_;  // by the pointer, without steps
};

// The name in the source, without the suffixes of inlined copies.
std::string source_name(const std::string& ir_name);
// A name that variables of the same name in several functions do not share if they are static.
std::string array_name(const std::string& ir_name);

}  // namespace tandem::timing
