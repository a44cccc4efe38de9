// SPDX-License-Identifier: Apache-2.0
//
// All-reduce of whole vectors by recursive doubling, with or without SparCML's dense switch.
//
// After round k every rank holds the sum of its block of 2^k active ranks; a rank and its peer
// exchange their whole sums. Ranks beyond a power of two are folded (folding.h). Steps:
// log2(active), and 2 more if ranks are folded. Messages begin with 8 bytes that distinguish sparse
// from dense. Numerics: every addition takes the lower block's sum first. Partial sums travel in
// the accumulation type (partial_type), so all ranks of a block hold the same bits. Threads: as the
// communicator.
#pragma once

#include "collectives/scheme/scheme.h"

namespace tandem::collectives {

// With the switch, a sum becomes dense when (nnz1 + nnz2) (index + value bytes) >= N x value bytes,
// where value bytes are those of partial sums. Both sides know both counts, so they decide alike.
// Max never switches, because a dense vector cannot represent absent units.
enum class DenseSwitch : std::uint8_t { kNever, kWhenSmaller };

Reduced recursive_doubling(Communicator& ranks, SparseVector own, const SchemeSettings& settings,
                           DenseSwitch dense_switch);

Cost recursive_doubling_cost(const Problem& problem, const LinkModel& link,
                             const ComputeModel& compute, DenseSwitch dense_switch);

}  // namespace tandem::collectives
