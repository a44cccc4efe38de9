// SPDX-License-Identifier: Apache-2.0
//
// Exchange with annealers: a QUBO out as `.qubo` or as Ising JSON, samples in.
//
// `.qubo`: comments "c ...", one line "p qubo 0 bits diagonals couplings", then "i i value" and "i
// j value" with i < j. Ising JSON: {"offset", "h": {"i": value}, "J": {"i,j": value}}. Samples: one
// per line, as many 0 and 1 (or -1 and 1) as bits, with or without blanks; or JSON, an array of
// numbers or of such arrays, alone or as "samples". Threads: pure. Errors: Error with the line or
// the sample.
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
