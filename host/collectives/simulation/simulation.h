// SPDX-License-Identifier: Apache-2.0
//
// Simulation: the library's schemes, unchanged, over a simulated network of up to 1,024 ranks.
//
// The simulation really reduces a tensor of 1 / scale the size, and counts each of its bytes
// `scale` times on the network. Virtual times are therefore those of the full tensor, except for
// rounding (with fewer units the balance of hashed owners looks slightly worse). Every scheme gets
// the smallest scale at which all ranks' data fit into `memory_bytes`: AGsparse holds world^2
// vectors, dense schemes world tensors, the others world unions. Rows become narrower before units
// are left out. Times include only the network: computing costs nothing, and all ranks start at
// once. Deterministic. Cost: seconds per scheme at 128 ranks. Threads: any. Errors: Error for
// options that contradict each other; those of a scheme.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "collectives/codec/codec.h"
#include "collectives/scheme/problem.h"
#include "tensor/sparse/generate/synthetic.h"
#include "tensor/sparse/supports.h"
#include "transport/simulated/network.h"

namespace tandem::collectives {

struct SimulationOptions {
  std::string model;     // a name of tensor/sparse/generate/model_shapes.h; empty: `workload`
  bool as_rows = false;  // with a model: units are rows, not single values
  sparse::SyntheticOptions workload;             // at full size
  transport::simulated::NetworkOptions network;  // world included; its scale is set here
  std::vector<std::string> schemes;              // names; empty: all
  Codec codec = Codec::kAuto;
  DType wire = DType::kF32;
  std::uint64_t seed = 1;
  std::uint64_t memory_bytes = std::uint64_t{2} << 30;
  // Called before each scheme runs, with its name, its number from 1, and the number of schemes.
  // The dense ring, with which all are compared, runs first and once. May be empty.
  std::function<void(const std::string& scheme, std::size_t number, std::size_t count)> progress;
};

struct SimulatedScheme {
  std::string name;
  std::string refusal;         // not empty: it cannot run; nothing else is set
  double seconds = 0;          // until the last rank is done
  double predicted_s = 0;      // by the scheme's cost model from exact statistics
  double ratio_to_dense = 0;   // seconds of the dense ring, divided by `seconds`
  double ratio_with_rest = 0;  // the same with the model's dense part added to both
  double steps = 0;            // most steps of a rank
  double bytes_sent = 0;       // most bytes that a rank sends, at full size
  double bytes_received = 0;
  double total_bytes = 0;
  std::uint64_t scale = 1;
};

struct SimulationResult {
  sparse::SyntheticOptions workload;     // at full size
  std::uint64_t dense_values = 0;        // values of the model that are reduced densely in addition
  sparse::SupportStatistics statistics;  // measured on the data of the least scale
  double densification = 1;              // entries of the union, divided by the entries of a rank
  double dense_ring_s = 0;  // time of the dense ring for the sparse tensor, sent densely
  std::vector<SimulatedScheme> schemes;  // in the requested order
};

SimulationResult simulate_collectives(const SimulationOptions& options);

}  // namespace tandem::collectives
