// SPDX-License-Identifier: Apache-2.0
//
// The II of a pipelined loop and what asks for it, and how many cycles an iteration takes, with the
// loops in it unrolled. Pure.
#pragma once

#include <string>

#include "bitstreams/compiler/timing/kernel_model.h"
#include "bitstreams/compiler/timing/run_counts.h"

namespace tandem::timing {

// The II of a loop, and what asks for it.
struct Interval {
  double ii = 1;
  std::string why = "no dependence and enough memory ports";
  void raise(double to, const std::string& reason) {
    if (to <= ii) return;
    ii = to;
    why = reason;
  }
};

class LoopIntervals {
 public:
  // `pessimistic`: addresses that may be equal are.
  LoopIntervals(const KernelModel& model, const RunCounts& counts, bool pessimistic)
      : model_(model), counts_(counts), pessimistic_(pessimistic) {}

  double count(int counter) const {
    return static_cast<double>(counts_.counters[static_cast<std::size_t>(counter)]);
  }
  double trips(const LoopModel& loop) const;
  // Trips in groups of `unroll` copies, over all entries.
  double iterations(const LoopModel& loop, double unroll) const;
  static bool is_inside(const FunctionModel& function, int loop, int outer);

  // `unroll`: copies of the body. `read_latency`: cycles of a read of device memory.
  Interval interval(const FunctionModel& function, int index, double unroll,
                    double read_latency) const;
  double depth(const FunctionModel& function, int index, double unroll) const;
  // Cycles of an entry before the first iteration: reads that all iterations share.
  double shared_reads(const FunctionModel& function, int index) const;

 private:
  double copies(const LoopModel& inner, const LoopModel& outer) const;
  double copies_in_line(const FunctionModel& function, int each, int index) const;
  static double copies_in_order(const LoopModel& loop, double unroll);
  double longest_recurrence(const LoopModel& loop, double read_latency,
                            std::string* what = nullptr) const;
  void raise_by_dependences(const FunctionModel& function, const LoopModel& loop, double unroll,
                            double read_latency, Interval& interval) const;
  void raise_by_streams(const FunctionModel& function, int index, double unroll,
                        Interval& interval) const;
  void raise_by_arrays(const FunctionModel& function, int index, double unroll,
                       Interval& interval) const;

  const KernelModel& model_;
  const RunCounts& counts_;
  const bool pessimistic_;
};

std::string number(double value);

}  // namespace tandem::timing
