// SPDX-License-Identifier: Apache-2.0
//
// DependenceFinder: finds the results of earlier iterations for which an iteration of a loop must
// wait.
//
// Values: from a phi of the loop header to the value that returns to it. Local arrays: from a load
// to a store, if the store's address equals the load's address in a later iteration or in all
// iterations, depends on data, or cannot be compared. In the last case the dependence is uncertain.
// The loops inside count as unrolled: a copy waits for the same copy of the iteration before where
// both use one place. A `dependence` pragma excludes its variable; one that is declared in the loop
// is new in each iteration. Pure.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "bitstreams/compiler/timing/addresses.h"
#include "bitstreams/compiler/timing/body_schedule.h"
#include "bitstreams/compiler/timing/kernel_model.h"
#include "bitstreams/compiler/timing/loop_tree.h"

namespace tandem::timing {

struct LocalMemory {
  const std::set<std::string>& independent;                // variables of `dependence ... false`
  const std::map<std::string, double>& distances;          // of those whose pragma says one
  std::function<bool(const MemoryAddress&)> is_registers;  // which are read in no time
};

class DependenceFinder {
 public:
  // `bodies`: of all loops.
  DependenceFinder(const IrFunction& function, const std::vector<IrLoop>& loops, int loop,
                   const Addresses& addresses, const std::vector<BodySchedule>& bodies,
                   const LocalMemory& memory)
      : function_(function),
        loops_(loops),
        loop_(loop),
        addresses_(addresses),
        bodies_(bodies),
        body_(bodies[static_cast<std::size_t>(loop)]),
        memory_(memory) {}

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
  // A load, and a store of a value that depends on it, of one variable.
  struct Update {
    MemoryAddress from, to;
    int store = -1;  // location
    Path path;
  };
  std::vector<Update> updates_in(const BodySchedule& body) const;
  void add_memory(std::vector<Recurrence>& found) const;
  void add_copies(int inner, std::vector<Recurrence>& found) const;
  // The cycles from a load to the next one that can read what was stored.
  double cycles_of(const Update& update) const;
  bool is_index(const std::string& value) const;
  bool begins_here(const std::string& variable) const;
  Carried carried(const MemoryAddress& load, const MemoryAddress& store) const;
  // As carried(), or what the variable's pragma says.
  Carried claimed(const MemoryAddress& load, const MemoryAddress& store) const;
  // The step of the induction variable in this loop; 0 if it is not one.
  long step_of(const std::string& phi) const;
  double device_reads(const Path& path) const;
  bool changes(const std::string& value) const;

  const IrFunction& function_;
  const std::vector<IrLoop>& loops_;
  const int loop_;
  const Addresses& addresses_;
  const std::vector<BodySchedule>& bodies_;
  const BodySchedule& body_;
  const LocalMemory& memory_;
};

}  // namespace tandem::timing
