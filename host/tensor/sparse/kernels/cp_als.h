// SPDX-License-Identifier: Apache-2.0
//
// cp_als: the canonical polyadic decomposition of a tensor by alternating least squares.
//
// A tensor is approximated by the sum over r of weights[r] * the outer product of column r of every
// factor; columns have length 1. An iteration solves for each factor in turn with the others fixed:
// normal equations from the MTTKRP and the Gram matrices, solved by Cholesky. A matrix that is not
// positive definite (collinear columns, rank above a mode's size) gets a small ridge. The fit, 1 -
// |X - model| / |X|, therefore does not fall between iterations, except for rounding. Memory: two
// factors per mode. Threads: one caller; `pool` runs the parts. Errors: Error for sizes that the
// blocks' curve does not support, and for overflow. Source: Kolda, Bader, SIAM Review 51(3), 2009,
// section 3.4.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "common/thread_pool.h"
#include "tensor/sparse/formats/coo_tensor.h"
#include "tensor/sparse/kernels/mttkrp.h"

namespace tandem::sparse {

struct CpModel {
  std::vector<FactorMatrix<double>> factors;  // [order]
  std::vector<double> weights;                // [rank]
  std::vector<double> fits;                   // [iterations] the fit after each iteration
};

// Pseudo-random factors from 0 to 1.
std::vector<FactorMatrix<double>> initial_factors(const CooTensor& tensor, std::size_t rank,
                                                  std::uint64_t seed);

// What multiplies in a mode: null is the generic kernel. Asked once per mode; it may overwrite
// `out`.
using MttkrpChoice = std::function<MttkrpFunction<double>(
    const BlockPartition<double>& tensor, std::span<const FactorMatrix<double>> factors,
    std::size_t mode, FactorMatrix<double>& out)>;

// The tensor must have no duplicates. The fit of a tensor of zeros is 1.
CpModel cp_als(const CooTensor& tensor, std::vector<FactorMatrix<double>> factors,
               std::size_t iterations, ThreadPool& pool, const MttkrpChoice& choice = {});

}  // namespace tandem::sparse
