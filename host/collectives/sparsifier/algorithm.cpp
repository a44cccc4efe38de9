// SPDX-License-Identifier: Apache-2.0
//
// Functions that all algorithms share.
#include "collectives/sparsifier/algorithm.h"

#include "collectives/sparsifier/exchange.h"

namespace tandem::collectives {

void SparsifierAlgorithm::accumulate(GradientPieces gradient, device::AccumulateStep add,
                                     std::uint64_t, int) {
  store_.add(gradient, add, Measured::kNothing);
}

void SparsifierAlgorithm::send_own(StepContext& context, const Indices& own) {
  reduce_own(context, store_, own, options_.reduce);
  keep_remainder(store_, own, context.remainder);
}

void keep_remainder(ResidualStore& store, const Indices& exchanged,
                    const RawVector<float>& remainder) {
  store.clear_at(exchanged);
  if (!remainder.empty()) store.add_at(exchanged, remainder);
}

const std::vector<double>& numbers_of(const SparsifierState& state, const std::string& field,
                                      std::size_t count) {
  const auto found = state.numbers.find(field);
  if (found == state.numbers.end() || found->second.size() != count) {
    throw Error("sparsifier", "the state of " + state.name + " must have " + std::to_string(count) +
                                  " numbers '" + field + "'");
  }
  return found->second;
}

}  // namespace tandem::collectives
