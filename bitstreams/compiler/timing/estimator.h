// SPDX-License-Identifier: Apache-2.0
//
// Estimator: adds up the cycles of a kernel's functions, loops and ports from the counts of a run.
//
// It serves estimate.h, and tells what each loop costs per trip and per entry, so that the replay
// of streams can place every access in time. Pure.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "bitstreams/compiler/timing/estimate.h"
#include "bitstreams/compiler/timing/loop_interval.h"
#include "bitstreams/compiler/timing/port_times.h"

namespace tandem::timing {

class Estimator {
 public:
  // `pessimistic`: addresses that may be equal are. `regions`: cycles of regions of processes that
  // a replay gave, by the number of the function.
  Estimator(const KernelModel& model, const RunCounts& counts,
            const std::vector<TimedArgument>& arguments, const TimedCard& card, bool pessimistic,
            const std::map<int, double>& regions = {})
      : model_(model),
        counts_(counts),
        ports_(model, counts, arguments, card),
        intervals_(model, counts, pessimistic),
        regions_(regions) {
    for (const FunctionModel& each : model.functions) functions_[each.name] = &each;
  }

  double run();

  const std::vector<LoopTime>& loops() const { return loops_; }
  const std::vector<PortUse>& port_uses() const { return all_uses_; }
  const std::vector<WorkCost>& costs() const { return costs_; }
  const std::string& limit() const { return limit_; }
  const std::string& why() const { return why_; }

 private:
  struct Total {
    double cycles = 0;
    double fill = 0;  // until its first value
  };

  double count(int counter) const { return intervals_.count(counter); }
  double trips(const LoopModel& loop) const { return intervals_.trips(loop); }

  // Of all calls of a function. One that calls itself counts once.
  Total total(const FunctionModel& function);

  // The steps of a function or of a loop's iterations, of which some run at the same time.
  double phases_cycles(const FunctionModel& function, int home);

  double phase_cycles(const FunctionModel& function, const PhaseModel& phase);

  int number_of(const FunctionModel& function) const {
    return static_cast<int>(&function - model_.functions.data());
  }

  // How many copies of an unrolled loop's body run side by side.
  double copies(const LoopModel& loop) const;

  // The share of a function's cycles that its calls take, of which copies of a body make some at
  // the same time.
  double share_of_calls(const FunctionModel& function) const;

  // Its latency is part of the schedule around it.
  static bool is_operation(const FunctionModel& function);

  double outside_of_loops(const FunctionModel& function);

  // Of accesses that nothing overlaps with; copies are steps of their own.
  double blocking_cycles(std::vector<SiteTraffic> sites);

  // A copy is a loop that moves an element per cycle.
  double copy_cycles(int writing);

  const SiteModel& site_of_use(const std::vector<SiteTraffic>& sites, const PortUse& use) const;

  // `processes`: those that streams join alone; the others are steps.
  void add_calls(const FunctionModel& function, int loop, bool processes, Total& result);

  bool uses_streams(const FunctionModel& function) const;

  double loop_cycles(const FunctionModel& function, int index);

  // `outer`: the loop whose entries count, of a perfect nest the outermost.
  double pipelined_cycles(const FunctionModel& function, int index, int outer);

  // Of the loop and those in it.
  std::vector<PortUse> uses_in(const FunctionModel& function, int index) const;

  // Of the busiest channel; raises the interval where that is more.
  double port_cycles(const std::vector<PortUse>& uses, Interval& interval, double steps);

  void note(double cycles, const std::string& limit, const std::string& why);

  void note_cycles(double cycles, const PortUse& use, int line);

  // Processes and units that share a bank cannot move more than it gives.
  void bound_by_channels();

  const KernelModel& model_;
  const RunCounts& counts_;
  const PortTimes ports_;
  const LoopIntervals intervals_;
  const std::map<int, double> regions_;
  std::set<int> added_regions_;
  std::map<std::string, const FunctionModel*> functions_;
  std::map<std::string, Total> totals_;
  std::vector<LoopTime> loops_;
  std::vector<PortUse> all_uses_;
  std::vector<WorkCost> costs_;
  std::map<int, double> copies_;  // cycles, by function
  double cycles_ = 0;
  double most_ = 0;
  std::string limit_ = "kernel";
  std::string why_ = "it has no loops";
};

}  // namespace tandem::timing
