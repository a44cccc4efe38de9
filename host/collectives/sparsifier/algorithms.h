// SPDX-License-Identifier: Apache-2.0
//
// The constructors of all algorithms; registry.cpp names them.
#pragma once

#include <memory>

#include "collectives/sparsifier/algorithm.h"

namespace tandem::collectives {

using AlgorithmFactory = std::unique_ptr<SparsifierAlgorithm> (*)(std::uint64_t num_values,
                                                                  const SparsifierOptions& options);

std::unique_ptr<SparsifierAlgorithm> make_topk(std::uint64_t, const SparsifierOptions&);
std::unique_ptr<SparsifierAlgorithm> make_cltk(std::uint64_t, const SparsifierOptions&);
std::unique_ptr<SparsifierAlgorithm> make_randomk(std::uint64_t, const SparsifierOptions&);
std::unique_ptr<SparsifierAlgorithm> make_hard_threshold(std::uint64_t, const SparsifierOptions&);
std::unique_ptr<SparsifierAlgorithm> make_dgc(std::uint64_t, const SparsifierOptions&);
std::unique_ptr<SparsifierAlgorithm> make_sidco(std::uint64_t, const SparsifierOptions&);
std::unique_ptr<SparsifierAlgorithm> make_gaussiank(std::uint64_t, const SparsifierOptions&);
std::unique_ptr<SparsifierAlgorithm> make_redsync(std::uint64_t, const SparsifierOptions&);
std::unique_ptr<SparsifierAlgorithm> make_deft(std::uint64_t, const SparsifierOptions&);
std::unique_ptr<SparsifierAlgorithm> make_micro(std::uint64_t, const SparsifierOptions&);
std::unique_ptr<SparsifierAlgorithm> make_exdyna(std::uint64_t, const SparsifierOptions&);
std::unique_ptr<SparsifierAlgorithm> make_ok_topk(std::uint64_t, const SparsifierOptions&);
std::unique_ptr<SparsifierAlgorithm> make_chunk_topk(std::uint64_t, const SparsifierOptions&);

}  // namespace tandem::collectives
