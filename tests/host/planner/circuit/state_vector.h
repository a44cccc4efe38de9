// SPDX-License-Identifier: Apache-2.0
//
// state_of: the amplitudes of a circuit without measurements, from all qubits at 0. Qubit q is bit
// q of an index. Up to 16 qubits. Source of the matrices: qelib1.inc.
#pragma once

#include <array>
#include <cmath>
#include <complex>
#include <cstdlib>
#include <string>
#include <vector>

#include "planner/circuit/circuit.h"

namespace tandem::planner {

using Amplitude = std::complex<double>;
using GateMatrix = std::array<Amplitude, 4>;  // by rows

inline GateMatrix general_gate(double theta, double phi, double lambda) {
  const double c = std::cos(theta / 2), s = std::sin(theta / 2);
  return {c, -std::polar(s, lambda), std::polar(s, phi), std::polar(c, phi + lambda)};
}

inline GateMatrix matrix_of(const std::string& name, const std::vector<double>& p) {
  const double pi = std::acos(-1.0), half = std::sqrt(0.5);
  const Amplitude i(0, 1);
  const auto turn = [](double angle) { return GateMatrix{1, 0, 0, std::polar(1.0, angle)}; };
  if (name == "U" || name == "u3" || name == "u") return general_gate(p[0], p[1], p[2]);
  if (name == "u2") return general_gate(pi / 2, p[0], p[1]);
  if (name == "u1" || name == "p") return turn(p[0]);
  if (name == "id" || name == "u0") return {1, 0, 0, 1};
  if (name == "x") return {0, 1, 1, 0};
  if (name == "y") return {0, -i, i, 0};
  if (name == "z") return turn(pi);
  if (name == "h") return {half, half, half, -half};
  if (name == "s") return turn(pi / 2);
  if (name == "sdg") return turn(-pi / 2);
  if (name == "t") return turn(pi / 4);
  if (name == "tdg") return turn(-pi / 4);
  if (name == "sx") return {(1.0 + i) / 2.0, (1.0 - i) / 2.0, (1.0 - i) / 2.0, (1.0 + i) / 2.0};
  if (name == "sxdg") return {(1.0 - i) / 2.0, (1.0 + i) / 2.0, (1.0 + i) / 2.0, (1.0 - i) / 2.0};
  if (name == "rx") return general_gate(p[0], -pi / 2, pi / 2);
  if (name == "ry") return general_gate(p[0], 0, 0);
  if (name == "rz") return {std::polar(1.0, -p[0] / 2), 0, 0, std::polar(1.0, p[0] / 2)};
  std::abort();
}

// The gate on the second qubit where the first one is 1.
inline GateMatrix controlled_matrix(const std::string& name, const std::vector<double>& p) {
  if (name == "CX") return matrix_of("x", p);
  if (name != "cu") return matrix_of(name.substr(1), p);
  GateMatrix matrix = general_gate(p[0], p[1], p[2]);
  for (Amplitude& entry : matrix) entry *= std::polar(1.0, p[3]);
  return matrix;
}

inline void apply(std::vector<Amplitude>& state, const GateMatrix& matrix, int qubit, int control) {
  const std::size_t bit = std::size_t{1} << qubit;
  for (std::size_t at = 0; at < state.size(); ++at) {
    if ((at & bit) != 0 || (control >= 0 && (at >> control & 1) == 0)) continue;
    const Amplitude zero = state[at], one = state[at | bit];
    state[at] = matrix[0] * zero + matrix[1] * one;
    state[at | bit] = matrix[2] * zero + matrix[3] * one;
  }
}

inline void apply(std::vector<Amplitude>& state, const Operation& operation) {
  const std::vector<int>& q = operation.qubits;
  const std::vector<double>& p = operation.parameters;
  if (operation.kind == OperationKind::kBarrier) return;
  if (operation.kind != OperationKind::kGate) std::abort();
  if (q.size() == 1) return apply(state, matrix_of(operation.name, p), q[0], -1);
  const auto turn = [&](std::initializer_list<const char*> around) {
    for (const char* name : around) {
      for (const int qubit : q) apply(state, matrix_of(name, {}), qubit, -1);
    }
  };
  if (operation.name == "swap") {
    for (const int side : {0, 1, 0}) {
      apply(state, matrix_of("x", {}), q[static_cast<std::size_t>(side)],
            q[static_cast<std::size_t>(1 - side)]);
    }
  } else if (operation.name == "rzz" || operation.name == "rxx") {
    if (operation.name == "rxx") turn({"h"});
    apply(state, matrix_of("x", {}), q[1], q[0]);
    apply(state, matrix_of("rz", p), q[1], -1);
    apply(state, matrix_of("x", {}), q[1], q[0]);
    if (operation.name == "rxx") turn({"h"});
  } else {
    apply(state, controlled_matrix(operation.name, p), q[1], q[0]);
  }
}

inline std::vector<Amplitude> state_of(const Circuit& circuit) {
  std::vector<Amplitude> state(std::size_t{1} << circuit.num_qubits);
  state[0] = 1;
  for (const Operation& operation : circuit.operations) apply(state, operation);
  return state;
}

}  // namespace tandem::planner
