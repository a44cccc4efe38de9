// SPDX-License-Identifier: Apache-2.0
//
// What a node can do is how many workers it has.
#include "cpu/team.h"

namespace tandem::device::cpu {

std::vector<int> Team::workers_of_nodes() const {
  std::vector<int> workers(static_cast<std::size_t>(num_nodes()), 0);
  for (int worker = 0; worker < size(); ++worker) {
    workers[static_cast<std::size_t>(node_of(worker))] += 1;
  }
  return workers;
}

}  // namespace tandem::device::cpu
