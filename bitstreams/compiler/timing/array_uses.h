// SPDX-License-Identifier: Apache-2.0
//
// What an iteration of a loop accesses of each local array.
//
// Branches that exclude each other share their accesses. Of loads that read what an earlier
// iteration read, one counts: the others come from registers, as Vitis makes them where nothing
// writes the array. A load whose address is the same in all iterations of the pipelined loop around
// it is needed once. Pure.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bitstreams/compiler/timing/addresses.h"
#include "bitstreams/compiler/timing/kernel_model.h"
#include "bitstreams/compiler/timing/loop_tree.h"

namespace tandem::timing {

class ArrayUses {
 public:
  using Banks = std::function<double(const MemoryAddress&)>;
  ArrayUses(const IrFunction& function, const std::vector<IrLoop>& loops,
            const Addresses& addresses, Banks banks)
      : function_(function), loops_(loops), addresses_(addresses), banks_(std::move(banks)) {}

  // `pipelined`: the loop that is pipelined, `loop` or one around it; -1: none is.
  std::vector<ArrayUse> of_loop(int loop, int pipelined) const;

 private:
  struct Access {
    int block = 0;
    bool writes = false;
    MemoryAddress address;
  };
  std::vector<Access> accesses_of(int loop, int pipelined) const;
  int home_of(const MemoryAddress& address, int loop, int pipelined) const;
  bool is_written_in(const std::string& array, int loop) const;
  bool is_invariant(const Access& access, int loop, int pipelined) const;
  void drop_repeated_loads(std::vector<Access>& accesses, int loop) const;
  ArrayUse along_busiest_path(const std::vector<Access>& accesses, int loop) const;

  const IrFunction& function_;
  const std::vector<IrLoop>& loops_;
  const Addresses& addresses_;
  const Banks banks_;
};

}  // namespace tandem::timing
