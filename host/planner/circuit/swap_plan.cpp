// SPDX-License-Identifier: Apache-2.0
//
// Plays the swaps.
#include "planner/circuit/swap_plan.h"

#include <algorithm>
#include <stdexcept>

namespace tandem::planner {
namespace {

class PlanPlayer {
 public:
  PlanPlayer(const GateOrder& order, const CouplingMap& map, const SwapPlan& plan)
      : order_(order),
        map_(map),
        place_(plan.first_layout),
        at_place_(place_.size()),
        missing_(order.num_before()) {
    for (std::size_t qubit = 0; qubit < place_.size(); ++qubit) {
      at_place_[static_cast<std::size_t>(place_[qubit])] = static_cast<int>(qubit);
    }
    out_.num_qubits = map.num_qubits();
    out_.registers = order.circuit().registers;
    for (int id = 0; id < num_operations(); ++id) {
      if (missing_[static_cast<std::size_t>(id)] == 0) waiting_.push_back(id);
    }
  }

  Circuit play(const std::vector<std::pair<int, int>>& swaps) {
    run_waiting();
    for (const auto& [place, other] : swaps) {
      make_swap(place, other);
      run_waiting();
    }
    if (!waiting_.empty()) throw std::logic_error("a plan of swaps leaves gates that cannot run");
    return std::move(out_);
  }

 private:
  int num_operations() const { return static_cast<int>(order_.circuit().operations.size()); }

  bool can_run(const Operation& operation) const {
    return !operation.joins_two() ||
           map_.distance(place_[static_cast<std::size_t>(operation.qubits[0])],
                         place_[static_cast<std::size_t>(operation.qubits[1])]) == 1;
  }

  void run_waiting() {
    std::vector<int> still_waiting;
    for (std::size_t i = 0; i < waiting_.size(); ++i) {
      const int id = waiting_[i];
      const Operation& operation = order_.circuit().operations[static_cast<std::size_t>(id)];
      if (!can_run(operation)) {
        still_waiting.push_back(id);
        continue;
      }
      out_.operations.push_back(operation);
      for (int& qubit : out_.operations.back().qubits) {
        qubit = place_[static_cast<std::size_t>(qubit)];
      }
      for (const int next : order_.next(id)) {
        if (--missing_[static_cast<std::size_t>(next)] == 0) waiting_.push_back(next);
      }
    }
    waiting_ = std::move(still_waiting);
  }

  void make_swap(int place, int other) {
    int& qubit = at_place_[static_cast<std::size_t>(place)];
    int& other_qubit = at_place_[static_cast<std::size_t>(other)];
    std::swap(place_[static_cast<std::size_t>(qubit)],
              place_[static_cast<std::size_t>(other_qubit)]);
    std::swap(qubit, other_qubit);
    Operation swap;
    swap.name = "swap";
    swap.qubits = {place, other};
    out_.operations.push_back(std::move(swap));
  }

  const GateOrder& order_;
  const CouplingMap& map_;
  QubitLayout place_, at_place_;
  std::vector<int> missing_, waiting_;
  Circuit out_;
};

}  // namespace

QubitLayout last_layout_of(const SwapPlan& plan) {
  QubitLayout at_place(plan.first_layout.size()), layout(at_place.size());
  for (std::size_t qubit = 0; qubit < layout.size(); ++qubit) {
    at_place[static_cast<std::size_t>(plan.first_layout[qubit])] = static_cast<int>(qubit);
  }
  for (const auto& [place, other] : plan.swaps) {
    std::swap(at_place[static_cast<std::size_t>(place)], at_place[static_cast<std::size_t>(other)]);
  }
  for (std::size_t place = 0; place < layout.size(); ++place) {
    layout[static_cast<std::size_t>(at_place[place])] = static_cast<int>(place);
  }
  return layout;
}

SwapPlan reversed(SwapPlan plan) {
  plan.first_layout = last_layout_of(plan);
  std::ranges::reverse(plan.swaps);
  return plan;
}

Circuit planned_circuit(const GateOrder& order, const CouplingMap& map, const SwapPlan& plan) {
  return PlanPlayer(order, map, plan).play(plan.swaps);
}

}  // namespace tandem::planner
