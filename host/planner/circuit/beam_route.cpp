// SPDX-License-Identifier: Apache-2.0
//
// Children are rated by what a swap changes; only those that go on are made, and those that let a
// gate run. Equal states of a round are found by a hash of layout and gates that have run.
#include "planner/circuit/beam_route.h"

#include <algorithm>
#include <array>
#include <random>
#include <unordered_set>
#include <utility>

namespace tandem::planner {
namespace {

constexpr std::size_t kGatesAhead = 30;
constexpr double kFirstAhead = 1, kNextAhead = 0.94;

std::size_t index_of(int id) { return static_cast<std::size_t>(id); }

struct RouteState {
  QubitLayout place, at_place;
  std::vector<int> num_run_of;  // [wires]
  int num_run = 0;
  int first_left = 0;  // all gates before it have run
  std::uint64_t hash = 0;
};

struct RouteStep {
  int parent = 0;  // in the round before
  std::pair<int, int> swap;
};

struct RouteChild {
  double rating = 0;
  std::uint64_t hash = 0;
  RouteStep step;
  int made = -1;  // its number among the states that are made already
};

class BeamSearch {
 public:
  BeamSearch(const GateWires& gates, const CouplingMap& map, const BeamLimits& limits)
      : gates_(gates), map_(map), limits_(limits) {
    constexpr std::uint64_t kSeedOfKeys = 2025;
    std::mt19937_64 random(kSeedOfKeys);
    place_keys_.resize(index_of(gates.num_qubits()) * index_of(map.num_qubits()));
    gate_keys_.resize(index_of(gates.num_gates()));
    std::ranges::generate(place_keys_, random);
    std::ranges::generate(gate_keys_, random);
    double weight = kFirstAhead;
    for (double& each : weights_) {
      each = weight;
      weight *= kNextAhead;
    }
  }

  SwapPlan run(const std::vector<QubitLayout>& starts) {
    for (const QubitLayout& layout : starts) states_.push_back(first_state(layout));
    for (;;) {
      const auto done = std::ranges::find(states_, gates_.num_gates(), &RouteState::num_run);
      if (done != states_.end()) {
        return plan_of(starts, static_cast<int>(done - states_.begin()));
      }
      if (static_cast<std::int64_t>(rounds_.size()) >= limits_.most_swaps) return {};
      next_round();
    }
  }

 private:
  std::uint64_t key(int qubit, int place) const {
    if (qubit >= gates_.num_qubits()) return 0;  // unused ones are all alike
    return place_keys_[index_of(qubit) * index_of(map_.num_qubits()) + index_of(place)];
  }

  RouteState first_state(const QubitLayout& layout) {
    RouteState state;
    state.place = layout;
    state.at_place.resize(layout.size());
    state.num_run_of.resize(index_of(gates_.num_wires()));
    for (std::size_t qubit = 0; qubit < layout.size(); ++qubit) {
      const int id = static_cast<int>(qubit);
      state.at_place[index_of(layout[qubit])] = id;
      state.hash ^= key(id, layout[qubit]);
    }
    for (int wire = 0; wire < gates_.num_wires(); ++wire) run_from(state, wire);
    return state;
  }

  int distance(const RouteState& state, const WireGate& gate) const {
    return map_.distance(state.place[index_of(gate.one)], state.place[index_of(gate.other)]);
  }

  bool has_run(const RouteState& state, int id) const {
    const auto& [wire, number] = gates_.gate(id).wires.front();
    return state.num_run_of[index_of(wire)] > number;
  }

  // The wire's next gate if all gates before that have run; otherwise nullptr.
  const WireGate* ready_gate(const RouteState& state, int wire, int& id) const {
    const std::vector<int>& list = gates_.gates_of(wire);
    const std::size_t next = index_of(state.num_run_of[index_of(wire)]);
    if (next >= list.size()) return nullptr;
    id = list[next];
    const WireGate& gate = gates_.gate(id);
    for (const auto& [each, number] : gate.wires) {
      if (state.num_run_of[index_of(each)] != number) return nullptr;
    }
    return &gate;
  }

  // Runs what can run, from the next gate of `first_wire` on.
  void run_from(RouteState& state, int first_wire) {
    stack_.assign(1, first_wire);
    while (!stack_.empty()) {
      const int wire = stack_.back();
      int id = 0;
      const WireGate* gate = ready_gate(state, wire, id);
      if (gate == nullptr || (gate->needs_link() && distance(state, *gate) > 1)) {
        stack_.pop_back();
        continue;
      }
      for (const auto& [each, number] : gate->wires) {
        state.num_run_of[index_of(each)] = number + 1;
        if (each != wire) stack_.push_back(each);
      }
      ++state.num_run;
      state.hash ^= gate_keys_[index_of(id)];
    }
    while (state.first_left < gates_.num_gates() && has_run(state, state.first_left)) {
      ++state.first_left;
    }
  }

  // Fills ahead_ with the next gates; returns the state's rating.
  double look_ahead(const RouteState& state) {
    ahead_.clear();
    double rating = state.num_run;
    for (int id = state.first_left; id < gates_.num_gates() && ahead_.size() < kGatesAhead; ++id) {
      const WireGate& gate = gates_.gate(id);
      if (!gate.needs_link() || has_run(state, id)) continue;
      rating -= weights_[ahead_.size()] * (distance(state, gate) - 1);
      ahead_.push_back(&gate);
    }
    return rating;
  }

  // How much the swap shortens the gates ahead.
  double gain_of(const RouteState& state, int place, int other_place) const {
    const int qubit = state.at_place[index_of(place)];
    const int other = state.at_place[index_of(other_place)];
    double gain = 0;
    for (std::size_t i = 0; i < ahead_.size(); ++i) {
      const WireGate& gate = *ahead_[i];
      const bool has_qubit = gate.one == qubit || gate.other == qubit;
      const bool has_other = gate.one == other || gate.other == other;
      if (has_qubit == has_other) continue;
      const int mover = has_qubit ? qubit : other;
      const int fixed = state.place[index_of(gate.one == mover ? gate.other : gate.one)];
      const int change = map_.distance(place, fixed) - map_.distance(other_place, fixed);
      gain += weights_[i] * (has_qubit ? change : -change);
    }
    return gain;
  }

  // Whether a gate of the qubit can run once the qubit is at `to`.
  bool lets_run(const RouteState& state, int qubit, int to) const {
    int id = 0;
    if (qubit >= gates_.num_qubits()) return false;
    const WireGate* gate = ready_gate(state, qubit, id);
    if (gate == nullptr || !gate->needs_link()) return false;
    const int partner = gate->one == qubit ? gate->other : gate->one;
    return map_.distance(to, state.place[index_of(partner)]) == 1;
  }

  void make_swap(RouteState& state, const std::pair<int, int>& swap) const {
    int& qubit = state.at_place[index_of(swap.first)];
    int& other = state.at_place[index_of(swap.second)];
    state.hash ^= key(qubit, swap.first) ^ key(qubit, swap.second) ^ key(other, swap.first) ^
                  key(other, swap.second);
    std::swap(state.place[index_of(qubit)], state.place[index_of(other)]);
    std::swap(qubit, other);
  }

  void add_child(const RouteState& state, const RouteStep& step, double rating) {
    const auto [place, other_place] = step.swap;
    const int qubit = state.at_place[index_of(place)];
    const int other = state.at_place[index_of(other_place)];
    RouteChild child;
    child.step = step;
    if (lets_run(state, qubit, other_place) || lets_run(state, other, place)) {
      RouteState next = state;
      make_swap(next, step.swap);
      for (const int each : {qubit, other}) {
        if (each < gates_.num_qubits()) run_from(next, each);
      }
      if (!seen_.insert(next.hash).second) return;
      child.made = static_cast<int>(made_.size());
      child.hash = next.hash;
      made_.push_back(std::move(next));
    } else {
      child.hash = state.hash ^ key(qubit, place) ^ key(qubit, other_place) ^ key(other, place) ^
                   key(other, other_place);
      if (!seen_.insert(child.hash).second) return;
      child.rating = rating + gain_of(state, place, other_place);
    }
    children_.push_back(child);
  }

  void add_children(int number) {
    const RouteState& state = states_[index_of(number)];
    const double rating = look_ahead(state);
    tried_.clear();
    for (int qubit = 0; qubit < gates_.num_qubits(); ++qubit) {
      int id = 0;
      const WireGate* gate = ready_gate(state, qubit, id);
      if (gate == nullptr || !gate->needs_link()) continue;
      const int place = state.place[index_of(qubit)];
      for (const int to : map_.neighbours(place)) {
        const std::pair<int, int> swap = std::minmax(place, to);
        if (std::ranges::find(tried_, swap) != tried_.end()) continue;
        tried_.push_back(swap);
        add_child(state, {number, swap}, rating);
      }
    }
  }

  void next_round() {
    children_.clear();
    made_.clear();
    seen_.clear();
    for (int number = 0; number < static_cast<int>(states_.size()); ++number) add_children(number);
    for (RouteChild& child : children_) {
      if (child.made >= 0) child.rating = look_ahead(made_[index_of(child.made)]);
    }
    const std::size_t count = std::min(children_.size(), index_of(limits_.width));
    std::ranges::partial_sort(children_, children_.begin() + static_cast<std::ptrdiff_t>(count),
                              [](const RouteChild& one, const RouteChild& other) {
                                return std::pair(-one.rating, one.hash) <
                                       std::pair(-other.rating, other.hash);
                              });
    children_.resize(count);
    std::vector<RouteState> next;
    std::vector<RouteStep>& steps = rounds_.emplace_back();
    for (const RouteChild& child : children_) {
      steps.push_back(child.step);
      if (child.made >= 0) {
        next.push_back(std::move(made_[index_of(child.made)]));
      } else {
        next.push_back(states_[index_of(child.step.parent)]);
        make_swap(next.back(), child.step.swap);
      }
    }
    states_ = std::move(next);
  }

  SwapPlan plan_of(const std::vector<QubitLayout>& starts, int number) const {
    SwapPlan plan;
    for (auto round = rounds_.rbegin(); round != rounds_.rend(); ++round) {
      const RouteStep& step = (*round)[index_of(number)];
      plan.swaps.push_back(step.swap);
      number = step.parent;
    }
    std::ranges::reverse(plan.swaps);
    plan.first_layout = starts[index_of(number)];
    return plan;
  }

  const GateWires& gates_;
  const CouplingMap& map_;
  BeamLimits limits_;
  std::array<double, kGatesAhead> weights_;
  std::vector<std::uint64_t> place_keys_, gate_keys_;
  std::vector<RouteState> states_, made_;
  std::vector<std::vector<RouteStep>> rounds_;
  std::vector<RouteChild> children_;
  std::unordered_set<std::uint64_t> seen_;
  std::vector<const WireGate*> ahead_;
  std::vector<std::pair<int, int>> tried_;
  std::vector<int> stack_;
};

}  // namespace

SwapPlan beam_route(const GateWires& gates, const CouplingMap& map,
                    const std::vector<QubitLayout>& starts, const BeamLimits& limits) {
  return BeamSearch(gates, map, limits).run(starts);
}

}  // namespace tandem::planner
