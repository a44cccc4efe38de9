// SPDX-License-Identifier: Apache-2.0
//
// Each wire keeps the operation that touched it last.
#include "planner/circuit/gate_order.h"

#include <algorithm>
#include <utility>

namespace tandem::planner {

GateOrder::GateOrder(const Circuit& circuit, bool is_reversed) : circuit_(&circuit) {
  const auto count = static_cast<int>(circuit.operations.size());
  std::vector<int> last(static_cast<std::size_t>(circuit.num_qubits + circuit.num_bits()), -1);
  std::vector<std::pair<int, int>> edges;
  std::vector<int> before;
  num_before_.assign(static_cast<std::size_t>(count), 0);
  for (int step = 0; step < count; ++step) {
    const int id = is_reversed ? count - 1 - step : step;
    before.clear();
    for (const int wire : wires_of(circuit, circuit.operations[static_cast<std::size_t>(id)])) {
      int& at = last[static_cast<std::size_t>(wire)];
      if (at >= 0 && std::ranges::find(before, at) == before.end()) before.push_back(at);
      at = id;
    }
    num_before_[static_cast<std::size_t>(id)] = static_cast<int>(before.size());
    for (const int from : before) edges.emplace_back(from, id);
  }
  std::ranges::stable_sort(edges, {}, &std::pair<int, int>::first);
  begins_.assign(static_cast<std::size_t>(count) + 1, 0);
  for (const auto& [from, to] : edges) {
    ++begins_[static_cast<std::size_t>(from) + 1];
    next_.push_back(to);
  }
  for (std::size_t i = 1; i < begins_.size(); ++i) begins_[i] += begins_[i - 1];
}

}  // namespace tandem::planner
