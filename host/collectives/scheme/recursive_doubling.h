// SPDX-License-Identifier: Apache-2.0
//
// All-reduce of whole vectors by recursive doubling, with or without SparCML's dense switch.
//
// After round k every rank holds the sum of its block of 2^k active ranks; a rank and its peer
// exchange all they have. Ranks beyond a power of two are folded (folding.h). With the switch, a
// sum becomes dense when (nnz1 + nnz2) (index + value bytes) >= N x value bytes, value bytes those
// of partial sums: the same decision on both sides, since both know both counts. Never for max,
// where a dense sum could not tell absent units. Steps: log2(active), and 2 more where ranks are
// folded. Messages open with 8 bytes that tell sparse from dense. Numerics: the lower block's sum
// comes first in every addition; partial sums travel in the accumulation type (partial_type), so
// all ranks of a block hold the same bits, and every active rank finishes the same sum. Threads: as
// the communicator.
#pragma once

#include "collectives/scheme/scheme.h"

namespace tandem::collectives {

enum class DenseSwitch : std::uint8_t { kNever, kWhenSmaller };

Reduced recursive_doubling(Communicator& ranks, SparseVector own, const SchemeSettings& settings,
                           DenseSwitch dense_switch);

Cost recursive_doubling_cost(const Problem& problem, const LinkModel& link,
                             const ComputeModel& compute, DenseSwitch dense_switch);

}  // namespace tandem::collectives
