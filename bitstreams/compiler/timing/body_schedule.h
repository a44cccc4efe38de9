// SPDX-License-Identifier: Apache-2.0
//
// When the operations of one loop iteration finish, as early as their operands allow.
//
// An operation of whole cycles begins when its operands are there. One of nanoseconds is chained
// behind them while it fits into the cycle. Branches are taken together, as in a pipeline. What
// loops inside compute counts as there from the begin. Pure. Source: "as soon as possible"
// scheduling with operation chaining (De Micheli, "Synthesis and Optimization of Digital
// Circuits").
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "bitstreams/compiler/timing/ir_text.h"
#include "bitstreams/compiler/timing/loop_tree.h"

namespace tandem::timing {

struct Instant {
  double cycle = 0;
  double ns = 0;
};

struct Path {
  double cycles = 0;  // until the next iteration can begin with the value
  std::string slowest;
  int location = -1;  // of the slowest operation
};

class BodySchedule {
 public:
  // `loop`: -1: what is in no loop. `calls`: cycles of called functions without loops.
  BodySchedule(const IrFunction& function, const std::vector<IrLoop>& loops, int loop,
               double clock_mhz, const std::map<std::string, double>& calls);

  const std::vector<int>& blocks() const { return blocks_; }
  double depth() const { return depth_; }
  // From a value to another that depends on it; none where it does not.
  std::optional<Path> path(const std::string& from, const std::string& to) const;
  // Functions that no table names.
  const std::set<std::string>& unknown() const { return unknown_; }

 private:
  void order_blocks(const std::vector<IrLoop>& loops, int loop);
  Instant after(const Instant& start, const IrInstruction& instruction) const;
  void schedule();

  const IrFunction& function_;
  const double clock_mhz_;
  const std::map<std::string, double>& calls_;
  int header_ = -1;
  std::vector<int> blocks_;
  std::map<std::string, Instant> values_;
  double depth_ = 1;
  mutable std::set<std::string> unknown_;
};

}  // namespace tandem::timing
