// SPDX-License-Identifier: Apache-2.0
//
// Exchanges problems with annealers: writes a QUBO as `.qubo` or Ising JSON, and reads samples.
//
// `.qubo`: comments "c ...", one line "p qubo 0 bits diagonals couplings", then lines "i i value"
// and "i j value" with i < j. Ising JSON: {"offset", "h": {"i": value}, "J": {"i,j": value}}.
// Samples: one per line, a 0 or 1 (or -1 or 1) per bit, with or without blanks. Samples may also be
// JSON: an array of numbers, an array of such arrays, or an object with such an array as "samples".
// Threads: pure. Errors: Error with the line or the sample.
#pragma once

#include <cstdint>
#include <istream>
#include <string>
#include <vector>

#include "planner/mapping/qubo.h"

namespace tandem::planner {

std::string qubo_text(const Qubo& qubo);
std::string ising_json(const Qubo& qubo);

// [samples][num_bits]
std::vector<std::vector<std::uint8_t>> read_samples(std::istream& in, int num_bits);

}  // namespace tandem::planner
