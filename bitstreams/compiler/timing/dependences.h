// SPDX-License-Identifier: Apache-2.0
//
// DependenceFinder: finds the results of earlier iterations for which an iteration of a loop must
// wait.
//
// Values: from a phi of the loop header to the value that returns to it. Local arrays: from a load
// to a store, if the store's address equals the load's address in a later iteration or in all
// iterations, depends on data, or cannot be compared. In the last case the dependence is uncertain.
// A `dependence` pragma excludes its variable. Pure.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "bitstreams/compiler/timing/addresses.h"
#include "bitstreams/compiler/timing/body_schedule.h"
#include "bitstreams/compiler/timing/kernel_model.h"
#include "bitstreams/compiler/timing/loop_tree.h"

namespace tandem::timing {

class DependenceFinder {
 public:
  DependenceFinder(const IrFunction& function, const std::vector<IrLoop>& loops, int loop,
                   const Addresses& addresses, const BodySchedule& body,
                   const std::set<std::string>& independent)
      : function_(function),
        loops_(loops),
        loop_(loop),
        addresses_(addresses),
        body_(body),
        independent_(independent) {}

  // `line` of the result is a !dbg number. Dependences that delay no iteration are not listed.
  std::vector<Recurrence> find() const;
  // Cycles, or parts of one, that an iteration waits for the one before; indices left out.
  // `balanced`: by one operation that may be done in any order.
  double chain(bool& balanced) const;

 private:
  struct Carried {
    double distance = 0;  // 0: none
    bool certain = true;
  };
  void add_values(std::vector<Recurrence>& found) const;
  void add_memory(std::vector<Recurrence>& found) const;
  Carried carried(const MemoryAddress& load, const MemoryAddress& store) const;
  // The step of the induction variable in this loop; 0 if it is not one.
  long step_of(const std::string& phi) const;
  double device_reads(const Path& path) const;
  bool changes(const std::string& value) const;

  const IrFunction& function_;
  const std::vector<IrLoop>& loops_;
  const int loop_;
  const Addresses& addresses_;
  const BodySchedule& body_;
  const std::set<std::string>& independent_;
};

}  // namespace tandem::timing
