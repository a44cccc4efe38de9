// SPDX-License-Identifier: Apache-2.0
//
// `tandem map --qasm`: maps a circuit to the qubits of a machine.
//
// Threads: main. Errors: Error naming file and line.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace tandem::apps {

struct MapCircuitOptions {
  std::string qasm, coupling, out;  // empty: no output file
  int trials = 0, threads = 1;      // trials 0: chosen by the circuit's size
  std::uint64_t seed = 1;
};

nlohmann::json map_circuit_json(const MapCircuitOptions& options);

}  // namespace tandem::apps
