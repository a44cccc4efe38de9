// SPDX-License-Identifier: Apache-2.0
//
// A swap is rated by the gates of the two qubits that it exchanges; all others keep their distance.
#include "planner/circuit/routing_pass.h"

#include <algorithm>
#include <limits>
#include <random>
#include <utility>

namespace tandem::planner {
namespace {

constexpr std::size_t kLookedAhead = 20;
constexpr double kAheadWeight = 0.5, kDecayStep = 0.001;
constexpr int kSwapsPerDecay = 5;

class RoutingPass {
 public:
  RoutingPass(const GateOrder& order, const CouplingMap& map, const QubitLayout& layout,
              std::uint64_t seed, Circuit* out)
      : order_(order),
        operations_(order.circuit().operations),
        map_(map),
        place_(layout),
        at_place_(layout.size()),
        missing_(order.num_before()),
        partner_(layout.size(), kNobody),
        ahead_(layout.size()),
        decay_(layout.size(), 1),
        seen_(operations_.size(), -1),
        random_(seed),
        out_(out) {
    for (std::size_t qubit = 0; qubit < place_.size(); ++qubit) {
      at_place_[at(place_[qubit])] = static_cast<int>(qubit);
    }
    if (out_ == nullptr) return;
    out_->num_qubits = map.num_qubits();
    out_->registers = order.circuit().registers;
    out_->operations.clear();
  }

  PassResult run() {
    for (int id = 0; id < static_cast<int>(operations_.size()); ++id) {
      if (missing_[at(id)] == 0) ready_.push_back(id);
    }
    // Beyond this many swaps without a gate, the search goes in circles.
    const std::int64_t patience = 3 * static_cast<std::int64_t>(place_.size()) + 10;
    std::int64_t without_gate = 0;
    for (;;) {
      if (run_ready()) {
        without_gate = 0;
        reset_decay();
        look_ahead();
      }
      if (front_.empty()) break;
      if (++without_gate > patience) {
        join_nearest();
        continue;
      }
      const auto [one, other] = best_swap();
      make_swap(one, other);
      if (++swaps_since_decay_ % kSwapsPerDecay == 0) {
        reset_decay();
      } else {
        decay_[at(at_place_[at(one)])] += kDecayStep;
        decay_[at(at_place_[at(other)])] += kDecayStep;
      }
    }
    return {place_, num_swaps_};
  }

 private:
  static constexpr int kNobody = -1;
  static std::size_t at(int id) { return static_cast<std::size_t>(id); }

  int distance(int qubit, int other) const {
    return map_.distance(place_[at(qubit)], place_[at(other)]);
  }

  // Operations that can run do, front gates among them. Whether any did.
  bool run_ready() {
    for (std::size_t i = 0; i < front_.size();) {
      const auto& qubits = operations_[at(front_[i])].qubits;
      if (distance(qubits[0], qubits[1]) > 1) {
        ++i;
        continue;
      }
      partner_[at(qubits[0])] = partner_[at(qubits[1])] = kNobody;
      ready_.push_back(front_[i]);
      front_.erase(front_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    const bool has_run = !ready_.empty();  // or the front is another one
    for (std::size_t i = 0; i < ready_.size(); ++i) {
      const int id = ready_[i];
      const Operation& operation = operations_[at(id)];
      if (operation.joins_two() && distance(operation.qubits[0], operation.qubits[1]) > 1) {
        front_.push_back(id);
        partner_[at(operation.qubits[0])] = operation.qubits[1];
        partner_[at(operation.qubits[1])] = operation.qubits[0];
        continue;
      }
      emit(operation);
      for (const int next : order_.next(id)) {
        if (--missing_[at(next)] == 0) ready_.push_back(next);
      }
    }
    ready_.clear();
    return has_run;
  }

  void emit(const Operation& operation) {
    if (out_ == nullptr) return;
    out_->operations.push_back(operation);
    for (int& qubit : out_->operations.back().qubits) qubit = place_[at(qubit)];
  }

  // The next two-qubit gates after the front, in the order of the circuit's levels.
  void look_ahead() {
    for (const int qubit : ahead_qubits_) ahead_[at(qubit)].clear();
    ahead_qubits_.clear();
    num_ahead_ = 0;
    walk_.assign(front_.begin(), front_.end());
    ++walk_number_;
    for (std::size_t i = 0; i < walk_.size() && num_ahead_ < kLookedAhead; ++i) {
      for (const int next : order_.next(walk_[i])) {
        if (seen_[at(next)] == walk_number_) continue;
        seen_[at(next)] = walk_number_;
        walk_.push_back(next);
        const Operation& operation = operations_[at(next)];
        if (!operation.joins_two() || num_ahead_ == kLookedAhead) continue;
        ++num_ahead_;
        for (const int side : {0, 1}) {
          const int qubit = operation.qubits[at(side)];
          if (ahead_[at(qubit)].empty()) ahead_qubits_.push_back(qubit);
          ahead_[at(qubit)].push_back(operation.qubits[at(1 - side)]);
        }
      }
    }
  }

  // The increase of the distances of a qubit's gates if it moves to `to`; `fellow` moves to its
  // place.
  void add_change(int qubit, int fellow, int to, std::int64_t& front, std::int64_t& ahead) const {
    const int from = place_[at(qubit)];
    const auto change = [&](int other) -> std::int64_t {
      if (other == fellow) return 0;
      return map_.distance(to, place_[at(other)]) - map_.distance(from, place_[at(other)]);
    };
    if (partner_[at(qubit)] != kNobody) front += change(partner_[at(qubit)]);
    for (const int other : ahead_[at(qubit)]) ahead += change(other);
  }

  std::pair<int, int> best_swap() {
    std::int64_t front_sum = 0, ahead_sum = 0;
    for (const int id : front_) {
      front_sum += distance(operations_[at(id)].qubits[0], operations_[at(id)].qubits[1]);
    }
    for (const int qubit : ahead_qubits_) {
      for (const int other : ahead_[at(qubit)]) {
        if (qubit < other) ahead_sum += distance(qubit, other);
      }
    }
    double least = std::numeric_limits<double>::infinity();
    std::pair<int, int> best{0, 0};
    std::int64_t num_equal = 0;
    for (const int id : front_) {
      for (const int qubit : operations_[at(id)].qubits) {
        for (const int to : map_.neighbours(place_[at(qubit)])) {
          const double cost = swap_cost(qubit, to, front_sum, ahead_sum);
          constexpr double kSame = 1e-9;
          if (cost > least + kSame) continue;
          if (cost < least - kSame) num_equal = 0;
          ++num_equal;
          // Equal ones have the same probability.
          if (num_equal > 1 && random_() % static_cast<std::uint64_t>(num_equal) != 0) continue;
          least = std::min(least, cost);
          best = {place_[at(qubit)], to};
        }
      }
    }
    return best;
  }

  double swap_cost(int qubit, int to, std::int64_t front, std::int64_t ahead) const {
    const int other = at_place_[at(to)];
    add_change(qubit, other, to, front, ahead);
    add_change(other, qubit, place_[at(qubit)], front, ahead);
    double cost = static_cast<double>(front) / static_cast<double>(front_.size());
    if (num_ahead_ > 0) {
      cost += kAheadWeight * static_cast<double>(ahead) / static_cast<double>(num_ahead_);
    }
    return cost * std::max(decay_[at(qubit)], decay_[at(other)]);
  }

  void make_swap(int place, int other_place) {
    const int qubit = at_place_[at(place)], other = at_place_[at(other_place)];
    std::swap(at_place_[at(place)], at_place_[at(other_place)]);
    std::swap(place_[at(qubit)], place_[at(other)]);
    ++num_swaps_;
    if (out_ == nullptr) return;
    Operation swap;
    swap.name = "swap";
    swap.qubits = {place, other_place};
    out_->operations.push_back(std::move(swap));
  }

  void reset_decay() {
    std::ranges::fill(decay_, 1);
    swaps_since_decay_ = 0;
  }

  // Brings the gate of the front whose qubits are nearest together, along a shortest way.
  void join_nearest() {
    const auto length = [&](int id) {
      return distance(operations_[at(id)].qubits[0], operations_[at(id)].qubits[1]);
    };
    const Operation& gate = operations_[at(*std::ranges::min_element(front_, {}, length))];
    const int qubit = gate.qubits[0], other = gate.qubits[1];
    while (distance(qubit, other) > 1) {
      const auto& around = map_.neighbours(place_[at(qubit)]);
      make_swap(place_[at(qubit)], *std::ranges::min_element(around, {}, [&](int place) {
                  return map_.distance(place, place_[at(other)]);
                }));
    }
  }

  const GateOrder& order_;
  const std::vector<Operation>& operations_;
  const CouplingMap& map_;
  QubitLayout place_, at_place_;
  std::vector<int> missing_, ready_, front_, partner_;
  std::vector<std::vector<int>> ahead_;  // [qubits] partners of the gates after the front
  std::vector<int> ahead_qubits_;        // those with an entry
  std::size_t num_ahead_ = 0;
  std::vector<double> decay_;
  std::vector<std::int64_t> seen_;  // [operations] the walk that saw it last
  std::vector<int> walk_;
  std::int64_t walk_number_ = 0, num_swaps_ = 0;
  int swaps_since_decay_ = 0;
  std::mt19937_64 random_;
  Circuit* out_;
};

}  // namespace

PassResult routing_pass(const GateOrder& order, const CouplingMap& map, const QubitLayout& layout,
                        std::uint64_t seed, Circuit* out) {
  return RoutingPass(order, map, layout, seed, out).run();
}

}  // namespace tandem::planner
