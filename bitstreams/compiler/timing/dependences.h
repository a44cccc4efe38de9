// SPDX-License-Identifier: Apache-2.0
//
// What the iterations of one loop wait for from earlier ones.
//
// Values: from a phi of the header to what comes back to it. Local arrays: from a load to a store
// whose address is the same in a later iteration, is the same for all, depends on data, or cannot
// be compared; the last kind is uncertain. A `dependence` pragma excludes its variable. Pure.
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

  // `line` of the result is the number of a !dbg. Those that no iteration waits for are left out.
  std::vector<Recurrence> find() const;

 private:
  struct Carried {
    double distance = 0;  // 0: none
    bool certain = true;
  };
  void add_values(std::vector<Recurrence>& found) const;
  void add_memory(std::vector<Recurrence>& found) const;
  Carried carried(const MemoryAddress& load, const MemoryAddress& store) const;
  // The induction variable's step in this loop; 0: it is none.
  long step_of(const std::string& phi) const;
  bool changes(const std::string& value) const;

  const IrFunction& function_;
  const std::vector<IrLoop>& loops_;
  const int loop_;
  const Addresses& addresses_;
  const BodySchedule& body_;
  const std::set<std::string>& independent_;
};

}  // namespace tandem::timing
