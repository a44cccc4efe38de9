// SPDX-License-Identifier: Apache-2.0
//
// The bodies of the calls that have a blocking and an asynchronous form.
//
// `ticket` is the call's position in the group's order; the user's thread takes it. Arguments are
// borrowed until the function returns. Threads and errors: as Group::State::run.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "collectives/collective.h"
#include "collectives/group_state.h"

namespace tandem::collectives {

void run_sparse_allreduce(Group::State& group, std::uint64_t ticket, Deadline deadline,
                          const SparseView& input, const ReduceOptions& options,
                          SparseTensor& result);

void run_sparse_allreduce_dense(Group::State& group, std::uint64_t ticket, Deadline deadline,
                                DenseView tensor, std::uint32_t width,
                                const ReduceOptions& options);

void run_sparse_allreduce_fused(Group::State& group, std::uint64_t ticket, Deadline deadline,
                                std::span<const SparseView> inputs, const ReduceOptions& options,
                                std::vector<SparseTensor>& results);

void run_sparse_reduce_scatter(Group::State& group, std::uint64_t ticket, Deadline deadline,
                               const SparseView& input, const ReduceOptions& options,
                               SparseTensor& result);

void run_allreduce(Group::State& group, std::uint64_t ticket, Deadline deadline, DenseView tensor,
                   const ReduceOptions& options);

}  // namespace tandem::collectives
