// SPDX-License-Identifier: Apache-2.0
//
// The constructors of all algorithms; registry.cpp names them.
#pragma once

#include <memory>

#include "collectives/sparsifier/algorithm.h"

namespace tandem::collectives {

using AlgorithmFactory = std::unique_ptr<SparsifierAlgorithm> (*)(ResidualStore& store,
                                                                  const SparsifierOptions& options);

std::unique_ptr<SparsifierAlgorithm> make_topk(ResidualStore&, const SparsifierOptions&);
std::unique_ptr<SparsifierAlgorithm> make_cltk(ResidualStore&, const SparsifierOptions&);
std::unique_ptr<SparsifierAlgorithm> make_randomk(ResidualStore&, const SparsifierOptions&);
std::unique_ptr<SparsifierAlgorithm> make_hard_threshold(ResidualStore&, const SparsifierOptions&);
std::unique_ptr<SparsifierAlgorithm> make_dgc(ResidualStore&, const SparsifierOptions&);
std::unique_ptr<SparsifierAlgorithm> make_sidco(ResidualStore&, const SparsifierOptions&);
std::unique_ptr<SparsifierAlgorithm> make_gaussiank(ResidualStore&, const SparsifierOptions&);
std::unique_ptr<SparsifierAlgorithm> make_redsync(ResidualStore&, const SparsifierOptions&);
std::unique_ptr<SparsifierAlgorithm> make_deft(ResidualStore&, const SparsifierOptions&);
std::unique_ptr<SparsifierAlgorithm> make_micro(ResidualStore&, const SparsifierOptions&);
std::unique_ptr<SparsifierAlgorithm> make_exdyna(ResidualStore&, const SparsifierOptions&);
std::unique_ptr<SparsifierAlgorithm> make_ok_topk(ResidualStore&, const SparsifierOptions&);
std::unique_ptr<SparsifierAlgorithm> make_chunk_topk(ResidualStore&, const SparsifierOptions&);

}  // namespace tandem::collectives
