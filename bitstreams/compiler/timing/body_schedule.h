// SPDX-License-Identifier: Apache-2.0
//
// BodySchedule: schedules the operations of one loop iteration, each as early as its operands
// allow.
//
// An operation that takes whole cycles starts when its operands are ready. An operation that takes
// nanoseconds is chained to them while it fits into the same cycle. All branches are scheduled
// together, as in a pipeline. Results of inner loops count as ready from the start. Pure. Source:
// "as soon as possible" scheduling with operation chaining (De Micheli, "Synthesis and Optimization
// of Digital Circuits").
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
  double cycles = 0;  // until the next iteration can start with the value
  std::string slowest;
  int location = -1;   // of the slowest operation
  double length = 0;   // the same in cycles and parts of one
  int operations = 0;  // that take time
  std::vector<const IrInstruction*> loads;
};

class BodySchedule {
 public:
  // `loop`: an index, or -1 for code outside loops. `calls`: the cycles of called functions without
  // loops.
  BodySchedule(const IrFunction& function, const std::vector<IrLoop>& loops, int loop,
               double clock_mhz, const std::map<std::string, double>& calls);

  const std::vector<int>& blocks() const { return blocks_; }
  double depth() const { return depth_; }
  // The cycle in which an operation begins; 0 if it is not of this body.
  double cycle_of(const IrInstruction& instruction) const;
  // The path from a value to another one that depends on it; nothing if it does not depend.
  std::optional<Path> path(const std::string& from, const std::string& to) const;
  // Functions that are in no latency table.
  const std::set<std::string>& unknown() const { return unknown_; }

 private:
  struct Reached {
    Instant at;
    double slowest = 0;
    Path path;
  };
  Reached next(const Reached& before, const IrInstruction& instruction) const;
  // What an instruction waits for: its operands; a phi also for the branches that choose.
  std::vector<std::string> inputs(const IrInstruction& instruction, int block) const;
  void order_blocks(const std::vector<IrLoop>& loops, int loop);
  Instant after(const Instant& start, const IrInstruction& instruction) const;
  void schedule();

  const IrFunction& function_;
  const double clock_mhz_;
  const std::map<std::string, double>& calls_;
  int header_ = -1;
  std::vector<int> blocks_;
  std::map<std::string, Instant> values_;
  std::map<std::size_t, double> starts_;  // by the instruction's line
  double depth_ = 1;
  mutable std::set<std::string> unknown_;
};

}  // namespace tandem::timing
