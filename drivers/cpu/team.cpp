// SPDX-License-Identifier: Apache-2.0
//
// The share of a node is its number of workers.
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
