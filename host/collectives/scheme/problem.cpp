// SPDX-License-Identifier: Apache-2.0
//
// Closed forms of independent supports.
#include "collectives/scheme/problem.h"

#include <algorithm>
#include <cmath>

namespace tandem::collectives {

double Problem::value_bytes() const {
  return domain.width * static_cast<double>(dtype_block_bytes(wire));
}

double Problem::dense_bytes() const {
  return static_cast<double>(domain.num_units) * value_bytes();
}

DType partial_type(DType wire, Reduction reduction) {
  return reduction == Reduction::kMax ? wire : accumulation_type(wire);
}

Problem of_partials(Problem problem) {
  problem.wire = partial_type(problem.wire, problem.reduction);
  return problem;
}

void fill_independent(Problem& problem, double density) {
  const auto units = static_cast<double>(problem.domain.num_units);
  // As the blocks codec has it.
  const double units_per_block =
      std::clamp(std::floor(256.0 / problem.domain.width), 1.0, std::max(1.0, units));
  const double blocks = std::ceil(units / units_per_block);
  const double block_density = 1 - std::pow(1 - density, units_per_block);
  problem.union_entries.assign(static_cast<std::size_t>(problem.world) + 1, 0);
  problem.union_blocks = problem.union_entries;
  for (int ranks = 1; ranks <= problem.world; ++ranks) {
    const auto k = static_cast<std::size_t>(ranks);
    problem.union_entries[k] = units * (1 - std::pow(1 - density, ranks));
    problem.union_blocks[k] = blocks * (1 - std::pow(1 - block_density, ranks));
  }
}

double measured_delta_ratio(const SparseVector& own) {
  if (own.num_entries() == 0 || !codec_supports(Codec::kDelta, own.domain())) return 1;
  ByteBuffer body;
  encode(own, Codec::kDelta, own.type(), Reduction::kSum, body);
  return static_cast<double>(body.size()) /
         encoded_bytes(Codec::kDelta, encoding_statistics(own), own.type());
}

}  // namespace tandem::collectives
