// SPDX-License-Identifier: Apache-2.0
//
// The steps of a function and of the loops in it that are not pipelined, and which of them wait for
// which.
//
// Vitis makes a module of each pipelined loop and each function; modules that share no data run at
// the same time. A step waits for an earlier one that computes a value it needs, or one of the two
// writes memory that the other uses. A loop that is not pipelined is part of the function's own
// states, so all wait for it. Processes of a
// dataflow region are steps too, which use what their calls name. Cost: quadratic in the number of
// steps. Pure.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "bitstreams/compiler/timing/addresses.h"
#include "bitstreams/compiler/timing/kernel_model.h"
#include "bitstreams/compiler/timing/loop_tree.h"

namespace tandem::timing {

class PhaseFinder {
 public:
  // `globals_of`: the variables that a called function uses. `model`: has its loops, calls and
  // sites; `sites`: of the kernel.
  PhaseFinder(const IrFunction& function, const std::vector<IrLoop>& loops,
              const Addresses& addresses,
              std::function<std::set<std::string>(const std::string&)> globals_of)
      : function_(function),
        loops_(loops),
        addresses_(addresses),
        globals_of_(std::move(globals_of)) {}

  // A step of the IR: blocks of a loop, or one instruction.
  struct Step {
    PhaseModel phase;
    std::vector<const IrInstruction*> instructions;
    bool is_module = true;
  };

  // `calls`, `copies`: the index of the call or of the writing site, by the instruction's line.
  std::vector<PhaseModel> find(const FunctionModel& model, const std::map<std::size_t, int>& calls,
                               const std::map<std::size_t, int>& copies) const;

 private:
  struct Use {
    std::set<std::string> reads, writes;  // variables; "*": any
    std::set<int> steps;                  // whose values it needs
  };
  std::vector<Step> steps_of(int home, const FunctionModel& model,
                             const std::map<std::size_t, int>& calls,
                             const std::map<std::size_t, int>& copies) const;
  Use use_of(const Step& step, const std::map<std::string, int>& makers) const;
  void add_operands(const IrInstruction& each, const std::map<std::string, int>& makers,
                    std::set<std::string>& seen, Use& use) const;
  void add_memory(const IrInstruction& each, Use& use) const;
  void add_captured(const IrInstruction& start, Use& use) const;
  bool is_constant_scalar(const std::string& name) const;
  std::string variable(const MemoryAddress& address) const;

  const IrFunction& function_;
  const std::vector<IrLoop>& loops_;
  const Addresses& addresses_;
  const std::function<std::set<std::string>(const std::string&)> globals_of_;
};

}  // namespace tandem::timing
